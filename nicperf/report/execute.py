"""Runs notebooks, two at a time, and keeps the results until the notebook or the package changes."""

from __future__ import annotations

import asyncio
import hashlib
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

import nicperf
from nicperf.errors import NicperfError
from nicperf.files import write_whole
from nicperf.paths import data_dir

AT_ONCE = 2
LIBRARIES = ("altair", "numpy", "pandas", "scipy", "vl-convert-python")
# Templates only shape the page around the outputs.
NOT_SOURCES = {"__pycache__", "templates"}
TIMEOUT_S = 600
Say = Callable[[str], Any]


class NotebookError(NicperfError):
    """A cell of a notebook failed."""


@dataclass(frozen=True)
class Executed:
    """A notebook that has been run.

    Attributes
    ----------
    path : Path
        The notebook's file.
    notebook : nbformat.NotebookNode
        With the outputs of this run.
    run_s : float
        Wall time of the run, start of the kernel included.
    cached : bool
        Whether the run was made earlier.
    """

    path: Path
    notebook: Any
    run_s: float
    cached: bool


def execute(paths: Sequence[Path], cache: Path, *, fresh: bool = False, say: Say = print) -> list[Executed]:
    """Run notebooks, or take the stored run where nothing that it depends on has changed.

    Parameters
    ----------
    paths : sequence of Path
        Notebook files.
    cache : Path
        Folder of stored runs; entries of other versions of the same notebook are removed.
    fresh : bool
        Run everything again.
    say : callable
        Takes one line of progress.

    Returns
    -------
    list of Executed
        In the order of `paths`.

    Raises
    ------
    NotebookError
        Naming notebook, cell and error of the first cell that failed; stored runs of the others are kept.
    """
    cache.mkdir(parents=True, exist_ok=True)
    surroundings = package_hash()
    return asyncio.run(_all(paths, cache, surroundings, fresh, say))


def package_hash() -> str:
    """Hash of all that a notebook's outputs depend on besides itself: package, published data, libraries."""
    digest = hashlib.sha256(
        f"{sys.version_info[:2]} {[(name, version(name)) for name in LIBRARIES]}".encode()
    )
    for root in (Path(nicperf.__file__).parent, data_dir()):
        for path in _sources(root):
            digest.update(f"{path.relative_to(root)}\0".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


def source_hash(notebook: Any, surroundings: str) -> str:
    """Hash of what a notebook's outputs depend on: its cells, and the package."""
    digest = hashlib.sha256(surroundings.encode())
    for cell in notebook.cells:
        digest.update(f"\0{cell.cell_type}\0{cell.source}".encode())
    return digest.hexdigest()[:16]


def _sources(root: Path) -> Iterable[Path]:
    return sorted(p for p in root.rglob("*") if p.is_file() and not NOT_SOURCES & set(p.parts))


async def _all(
    paths: Sequence[Path], cache: Path, surroundings: str, fresh: bool, say: Say
) -> list[Executed]:
    slots = asyncio.Semaphore(AT_ONCE)
    tasks = [asyncio.create_task(_one(path, cache, surroundings, fresh, say, slots)) for path in paths]
    try:
        return list(await asyncio.gather(*tasks))
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise


async def _one(
    path: Path, cache: Path, surroundings: str, fresh: bool, say: Say, slots: asyncio.Semaphore
) -> Executed:
    notebook = nbformat.read(path, as_version=4)
    key = source_hash(notebook, surroundings)
    kept = cache / f"{path.stem}.{key}.ipynb"
    if kept.exists() and not fresh:
        notebook = nbformat.read(kept, as_version=4)
        say(f"{path.stem}: unchanged, kept from an earlier run")
        return Executed(path, notebook, float(notebook.metadata["nicperf"]["seconds"]), cached=True)
    async with slots:
        start = time.monotonic()
        await _run(path, notebook, say)
        seconds = time.monotonic() - start
    say(f"{path.stem}: done in {seconds:.0f} s")
    notebook.metadata["nicperf"] = {"seconds": round(seconds, 1)}
    write_whole(kept, nbformat.writes(notebook))
    for older in cache.glob(f"{path.stem}.*.ipynb"):
        if older != kept:
            older.unlink()
    return Executed(path, notebook, seconds, cached=False)


async def _run(path: Path, notebook: Any, say: Say) -> None:
    total = sum(cell.cell_type == "code" for cell in notebook.cells)
    started = iter(range(1, total + 1))

    def tell(cell: Any, cell_index: int) -> None:
        if cell.cell_type == "code":
            say(f"{path.stem}: cell {next(started)} of {total}")

    client = NotebookClient(
        notebook,
        timeout=TIMEOUT_S,
        kernel_name="python3",
        record_timing=False,
        store_widget_state=False,
        resources={"metadata": {"path": str(path.parent)}},
        on_cell_execute=tell,
        # Not the kernel's remark that its connection, which never leaves this machine, is not encrypted.
        extra_arguments=["--log-level=ERROR"],
    )
    try:
        await client.async_execute()
    except CellExecutionError as error:
        raise _located(path, notebook, error) from None


def _located(path: Path, notebook: Any, error: CellExecutionError) -> NotebookError:
    """Say which cell failed, with its first line: cells have no other name that a reader sees."""
    number = next(
        i
        for i, cell in enumerate(notebook.cells)
        if any(o.output_type == "error" for o in cell.get("outputs", []))
    )
    first = notebook.cells[number].source.strip().split("\n")[0]
    return NotebookError(
        f"{error.ename}: {error.evalue}",
        place=f"{path.name}: cell {number} ({first})",
        cure="open it with `make lab` and run the cell, then try again",
    )
