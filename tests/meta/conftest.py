"""The texts that the meta tests read."""

import subprocess
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def texts(root: Path) -> dict[str, str]:
    """Content of every text file that git tracks or would add, by its path from the top."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout
    files = {name: root / name for name in names.split("\0") if name and (root / name).is_file()}
    return {name: file.read_text() for name, file in files.items() if b"\0" not in file.read_bytes()}
