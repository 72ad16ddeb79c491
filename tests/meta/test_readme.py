"""What README shows can be typed as it stands."""

import json
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from nicperf.cli import main


def blocks(text: str, language: str) -> list[str]:
    """Fenced blocks of one language; empty for those that name none."""
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.M | re.S)
    return [block for named, block in fenced if named == language]


def problems(text: str) -> list[str]:
    """`nicperf` commands of a document that fail, or whose JSON is none."""
    bad = []
    for line in "\n".join(blocks(text, "")).splitlines():
        if line.startswith("nicperf "):
            result = CliRunner().invoke(main, shlex.split(line, comments=True)[1:])
            if result.exit_code:
                bad.append(f"{line}: {result.stderr.strip()}")
            elif "--format json" in line:
                json.loads(result.stdout)
    return bad


def test_commands_work(root: Path) -> None:
    assert problems((root / "README.md").read_text()) == []


def test_python_example_works(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for block in blocks((root / "README.md").read_text(), "python"):
        exec(block, {})
    assert capsys.readouterr().out


def test_checker_sees_a_command_that_fails() -> None:
    text = "```python\n1\n```\n\n```\nnicperf list\nnicperf lits  # no such command\nmake test\n```\n"
    assert len(problems(text)) == 1
