"""Every path that the documents name exists."""

import re
from pathlib import Path

import pytest

DOCUMENTS = ["README.md", "CONTRIBUTING.md"]
MADE_LATER = ("report/", ".venv", "build/")
NAMED = re.compile(r"`([\w.<>*/-]+/[\w.<>*/-]*|[\w-]+\.(?:md|toml|yml|txt|py|pyx|pxd|cff))`|\]\(([^)#:]+)\)")


def problems(text: str, root: Path) -> list[str]:
    """Paths named in backticks or links that lead nowhere; `<slug>` stands for any name."""
    names = [code or link for code, link in NAMED.findall(text)]
    tracked = [name for name in names if not name.startswith(MADE_LATER)]
    return [name for name in tracked if not any(root.glob(re.sub(r"<\w+>", "*", name).rstrip("/")))]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_named_paths_exist(root: Path, document: str) -> None:
    assert problems((root / document).read_text(), root) == []


def test_checker_sees_a_missing_path(root: Path) -> None:
    text = (
        "`nicperf/gone.py` `data/<slug>/nothing.csv` [x](docs/gone.png) `LICENSE/` `nicperf/` [y](Makefile)"
    )
    assert problems(text, root) == ["nicperf/gone.py", "data/<slug>/nothing.csv", "docs/gone.png"]
