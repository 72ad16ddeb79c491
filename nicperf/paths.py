"""Where the published figures lie, in a source checkout and in an installed package."""

from pathlib import Path


def data_dir() -> Path:
    """Folder that holds one sub-folder of published figures for each slug.

    Returns
    -------
    pathlib.Path
        `nicperf/_data` where the package was installed, `data` beside the package in a source checkout.
    """
    package = Path(__file__).parent
    installed = package / "_data"
    return installed if installed.is_dir() else package.parent / "data"
