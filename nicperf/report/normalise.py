"""The stored form of a notebook: what two runs, two machines and two editors agree on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import nbformat

from nicperf.charts.render import MIME

# A model of the kernel that made it, under a random name: nothing can be done with it once that kernel has gone.
LIVE = "application/vnd.jupyter.widget-view+json"
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def normalised(notebook: Any) -> Any:
    """Strip what changes from run to run: times, tool versions, random cell identifiers, live widgets.

    Parameters
    ----------
    notebook : nbformat.NotebookNode
        Executed from top to bottom in a fresh kernel.

    Returns
    -------
    nbformat.NotebookNode
        A copy with outputs, tags and execution counts; cells are numbered in order.
    """
    copy = nbformat.from_dict(notebook)
    copy.metadata = nbformat.from_dict({"kernelspec": KERNEL, "language_info": {"name": "python"}})
    copy.nbformat, copy.nbformat_minor = 4, 5
    for number, cell in enumerate(copy.cells):
        cell.id = f"cell-{number:03d}"
        cell.metadata = nbformat.from_dict({k: v for k, v in cell.metadata.items() if k == "tags"})
        for output in cell.get("outputs", []):
            output.get("data", {}).pop(LIVE, None)
    return copy


def stored(notebook: Any) -> str:
    """Text of the normalised notebook, as it is written to the file.

    Each chart stands on one line: indented like the rest of the file it would take twice the room.
    """
    copy = normalised(notebook)
    charts: dict[str, str] = {}
    for cell in copy.cells:
        for output in cell.get("outputs", []):
            if MIME in output.get("data", {}):
                token = f"chart {len(charts)} of this notebook"
                spec = output.data[MIME]
                charts[token] = json.dumps(spec, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
                output.data[MIME] = token
    text: str = nbformat.writes(copy, version=nbformat.NO_CONVERT)
    for token, line in charts.items():
        text = text.replace(json.dumps(token), line, 1)
    return text + "\n"


def complaints(path: Path) -> list[str]:
    """What keeps a notebook file from being in its stored form.

    Parameters
    ----------
    path : Path
        A notebook file.

    Returns
    -------
    list of str
        One phrase each: not normalised, a cell that was not run, run out of order, or failed. Empty when the
        file is as `update` would leave it; whether its outputs still hold, a strict comparison must say.
    """
    text = path.read_text(encoding="utf-8")
    notebook = nbformat.reads(text, as_version=4)
    found = [] if stored(notebook) == text else ["is not in its stored form"]
    counts = [cell.execution_count for cell in notebook.cells if cell.cell_type == "code"]
    if counts != list(range(1, len(counts) + 1)):
        found.append("was not run from top to bottom in a fresh kernel")
    if any(o.output_type == "error" for c in notebook.cells if c.cell_type == "code" for o in c.outputs):
        found.append("holds a failed cell")
    return found
