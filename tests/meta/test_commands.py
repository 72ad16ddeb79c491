"""CI runs the test command that README gives, every command README gives exists, and nothing is hidden."""

import re
from pathlib import Path

import pytest


def make_targets(text: str) -> list[str]:
    """Targets of the `make` lines, in order."""
    return re.findall(r"^make ([a-z]+)", text, re.M)


def problems(readme: str, ci: str, makefile: str) -> list[str]:
    known = re.findall(r"^([a-z]+):", makefile, re.M)
    told, run = make_targets(readme), make_targets(ci)
    bad = [f"README names no such target: {target}" for target in told if target not in known]
    bad += [] if "test" in told else ["README does not give the test command"]
    return bad + ([] if run[-1:] == ["test"] else ["CI does not end with the test command"])


@pytest.fixture
def files(root: Path) -> list[str]:
    return [(root / name).read_text() for name in ("README.md", ".ci/run", "Makefile")]


def test_ci_runs_what_readme_says(files: list[str]) -> None:
    assert problems(*files) == []


def test_checker_sees_a_difference(files: list[str]) -> None:
    _, ci, makefile = files
    assert len(problems("make all\n", ci.replace("make test", "make tests"), makefile)) == 3
