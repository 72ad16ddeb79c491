"""Every path that the documents name exists."""

import re
from collections.abc import Iterable
from fnmatch import fnmatch

import pytest

MADE_LATER = ("report/", ".venv", "build/")
NAMED = re.compile(r"`([\w.<>*/-]+/[\w.<>*/-]*|[\w-]+\.(?:md|toml|yml|txt|csv|py|cff))`|\]\(([^)#:]+)\)")


def problems(text: str, files: Iterable[str]) -> list[str]:
    """Paths in backticks or links that lead nowhere; a bare name may lie in any folder."""
    names = [code or link for code, link in NAMED.findall(text)]
    known = [f"/{file}/" for file in files]

    def exists(name: str) -> bool:
        glob = re.sub(r"<\w+>", "*", name).rstrip("/")
        return any(fnmatch(file, f"{'/' if '/' in name else '*/'}{glob}/*") for file in known)

    return [name for name in names if not name.startswith(MADE_LATER) and not exists(name)]


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md"])
def test_named_paths_exist(texts: dict[str, str], tracked: dict[str, object], document: str) -> None:
    assert problems(texts[document], tracked) == []


def test_checker_sees_a_missing_path() -> None:
    files = ["LICENSE", "nicperf/cli.py", "data/x/claims.toml"]
    fine = "`nicperf/` [y](LICENSE) `claims.toml`"
    text = f"{fine} `nicperf/gone.py` `data/<slug>/no.csv` [x](docs/no.png) `no.md`"
    assert problems(text, files) == ["nicperf/gone.py", "data/<slug>/no.csv", "docs/no.png", "no.md"]
