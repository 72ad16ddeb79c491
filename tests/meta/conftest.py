"""The files that the meta tests read."""

import subprocess
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def tracked(root: Path) -> dict[str, Path]:
    """Every file that git tracks or would add, by its path from the top."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout.split("\0")
    return {name: root / name for name in names if name and (root / name).is_file()}


@pytest.fixture(scope="session")
def texts(tracked: dict[str, Path]) -> dict[str, str]:
    """Content of every text file among them."""
    return {name: file.read_text() for name, file in tracked.items() if b"\0" not in file.read_bytes()}
