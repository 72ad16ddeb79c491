"""Writing files whole."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_whole(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write beside the file, then rename over it: a reader finds the old content or the new, never half.

    Parameters
    ----------
    path : path-like
        Its folder must exist.
    content : str or bytes
        Text is written in UTF-8.

    Raises
    ------
    OSError
        The folder does not exist or cannot be written to.
    """
    path = Path(path)
    handle, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
        os.chmod(beside, 0o644)  # mkstemp makes private files; these are for everybody
        os.replace(beside, path)
    except BaseException:
        os.unlink(beside)
        raise
