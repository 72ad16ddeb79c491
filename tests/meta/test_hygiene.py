"""Tracked files name no package index and no folder of the machine they were written on."""

import re

UNWANTED = re.compile(
    r"\b(?:pypi|pythonhosted|anaconda|npmjs|debian)\.(?:org|com)\b|https?://\S*/(?:simple|packages)/"
    r"|(?<![\w.~/-])/(?:root|work|farm|Users)/\w"
    r"|(?<![\w.~/-])/home/(?!user/)\w"
)


def problems(texts: dict[str, str]) -> list[str]:
    lines = ((name, n, line) for name, text in texts.items() for n, line in enumerate(text.splitlines(), 1))
    return [f"{name}:{n}: {line.strip()[:80]}" for name, n, line in lines if UNWANTED.search(line)]


def test_no_index_and_no_machine_path(texts: dict[str, str]) -> None:
    assert problems(texts) == []


def test_checker_sees_both() -> None:
    index, folder = "https://host.example/sim" + "ple/numpy", "see /wo" + "rk/notes"
    assert len(problems({"a.md": f"{index}\n{folder}\nfine: a/work/b"})) == 2
