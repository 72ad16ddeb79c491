"""The report: one page for each notebook, the first of them its front page, written beside the old one, then put in its place."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from nicperf.errors import DataError
from nicperf.report import overview
from nicperf.report.execute import Executed, Say, execute
from nicperf.report.exporter import ReportExporter


def build(
    output: str | Path = "report",
    *,
    notebooks: str | Path = "notebooks",
    cache: str | Path = "build/report",
    fresh: bool = False,
    say: Say = print,
) -> Path:
    """Execute all notebooks and write the HTML report.

    Parameters
    ----------
    output : path
        Folder to write; an earlier report there is replaced, anything else is refused.
    notebooks : path
        Folder of the notebooks; every ``*.ipynb`` in it is used, and the first by name is the front page.
    cache : path
        Where executed notebooks are kept.
    fresh : bool
        Execute everything again.
    say : callable
        Takes one line of progress.

    Returns
    -------
    Path
        The index page.

    Raises
    ------
    DataError
        There are no notebooks, or `output` holds something that is not a report.
    NotebookError
        A cell failed; the earlier report stays as it was.
    """
    output, cache = Path(output).resolve(), Path(cache)
    _refuse_to_overwrite(output)
    pages = execute(found(notebooks), cache, fresh=fresh, say=say)
    output.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(prefix=f".{output.name}-", dir=output.parent))
    try:
        beside.chmod(0o755)
        for page in pages:
            (beside / _file(page, pages)).write_text(_html(page, pages), encoding="utf-8")
        _put_in_place(beside, output)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    say(f"report: {output / 'index.html'}")
    return output / "index.html"


def found(notebooks: str | Path) -> list[Path]:
    """All notebooks of a folder, in the order of their names.

    Raises
    ------
    DataError
        The folder has none.
    """
    paths = sorted(Path(notebooks).glob("*.ipynb"))
    if not paths:
        raise DataError(
            "no notebooks here", place=str(notebooks), cure="run this in the project's root folder"
        )
    return paths


def _html(page: Executed, pages: Sequence[Executed]) -> str:
    links = [{"file": _file(p, pages), "name": p.path.stem.replace("_", " ")} for p in pages]
    site = {
        "pages": links,
        "file": _file(page, pages),
        "title": overview.title(page.notebook),
        "facts": _facts(page),
    }
    text, _ = ReportExporter().from_notebook_node(page.notebook, {"nicperf": site})
    for other in pages:  # in JupyterLab notebooks link to each other
        text = text.replace(f'href="{other.path.name}', f'href="{_file(other, pages)}')
    return text


def _file(page: Executed, pages: Sequence[Executed]) -> str:
    return "index.html" if page is pages[0] else f"{page.path.stem}.html"


def _facts(page: Executed) -> dict[str, str]:
    """What is true of this build only, and therefore not in the notebook's stored outputs."""
    libraries = ", ".join(f"{name} {version(name)}" for name in ("numpy", "pandas", "altair"))
    return {
        "run time": f"{page.run_s:.0f} s",
        "made": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": _commit(),
        "nicperf": version("nicperf"),
        "Python": platform.python_version(),
        "libraries": libraries,
    }


def _commit() -> str:
    """Commit of the checkout, with a plus sign where it has changes; unknown outside of one."""
    git = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty=+", "--exclude=*"]
    try:
        return subprocess.run(git, capture_output=True, text=True, check=True, timeout=10).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return "unknown"


def _refuse_to_overwrite(output: Path) -> None:
    index = output / "index.html"
    ours = index.is_file() and "nicperf" in index.read_text(encoding="utf-8", errors="replace")[:2000]
    if output.exists() and not ours and (not output.is_dir() or any(output.iterdir())):
        raise DataError(
            "exists and is not a report",
            field="output",
            value=str(output),
            cure="name another folder or remove it",
        )


def _put_in_place(beside: Path, output: Path) -> None:
    """Swap two folders; whoever opens the report meanwhile sees the old one or the new one."""
    old = beside.with_name(beside.name + "-old")
    if output.exists():
        os.replace(output, old)
    os.replace(beside, output)
    shutil.rmtree(old, ignore_errors=True)
