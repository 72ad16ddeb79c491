"""The index page: a notebook that is made here, and then executed and cached like the others."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import altair as alt
import nbformat
import pandas as pd

import nicperf
from nicperf import charts
from nicperf.report import views
from nicperf.report.execute import Executed, write_whole
from nicperf.report.table import Table

INTRODUCTION = """# nicperf: published figures and an executed model, side by side

Each page takes one netdev thread, sets its published measurements beside what a packet-by-packet model of
both machines predicts, and lets you move the parameters. Figures marked *held out* the fit has not seen."""

TITLES = {"slug": "thread", "error_percent": "error (%)"}
CELLS = (
    INTRODUCTION,
    "## Ledger",
    "from nicperf.report import overview\n\nledger = overview.ledger()\noverview.standing(ledger)",
    "overview.chart(ledger)",
    "overview.rows(ledger)",
    "## Arithmetic of the published figures",
    "overview.arithmetic()",
)


def write_notebook(path: Path) -> None:
    """Write the index's notebook, not yet executed."""
    kinds = {True: nbformat.v4.new_markdown_cell, False: nbformat.v4.new_code_cell}
    cells = [kinds[source.startswith("#")](source) for source in CELLS]
    write_whole(path, nbformat.writes(nbformat.v4.new_notebook(cells=cells)))


def with_listing(index: Any, executed: Sequence[Executed]) -> Any:
    """The executed index with the list of the other notebooks and their run times under its introduction."""
    lines = ["## Notebooks", "", "| notebook | run time |", "| :-- | --: |"]
    lines += [f"| [{title(e.notebook)}]({e.path.stem}.html) | {e.run_s:.0f} s |" for e in executed]
    copy = nbformat.from_dict(index)
    copy.cells.insert(1, nbformat.v4.new_markdown_cell("\n".join(lines)))
    return copy


def title(notebook: Any) -> str:
    """Text of a notebook's first heading."""
    lines = (
        line for cell in notebook.cells if cell.cell_type == "markdown" for line in cell.source.split("\n")
    )
    return next((line[2:].strip() for line in lines if line.startswith("# ")), "untitled")


def ledger() -> pd.DataFrame:
    """Ledgers of all experiments that have a model, with the slug in the first column."""
    from nicperf.experiments import available

    ledgers = {slug: nicperf.experiment(slug).ledger() for slug in available()}
    return pd.concat(ledgers, names=["slug"]).reset_index("slug").reset_index(drop=True)


def standing(frame: pd.DataFrame) -> Table:
    """Number of rows by experiment, role and verdict."""
    counts = pd.crosstab([frame["slug"], frame["role"]], frame["verdict"]).reset_index()
    return Table(counts, "Verdicts", {"slug": "experiment"})


def chart(frame: pd.DataFrame) -> alt.LayerChart:
    """Every predicted figure of a joined ledger against its published one."""
    return charts.ledger(frame[frame["role"] != "claim"])


def rows(frame: pd.DataFrame) -> views.Tables:
    """Rows of a joined ledger, folded by role."""
    names = {
        "held_out": "Held-out figures",
        "fit": "Fitted figures",
        "claim": "Claims",
        "context": "Derived figures and settings",
    }
    groups = [(name, frame[frame["role"] == role]) for role, name in names.items()]
    return views.Tables(
        views.ledger(group, caption=f"{name} ({len(group)} rows)", folded=True)
        for name, group in groups
        if len(group)
    )


def arithmetic() -> views.Tables:
    """Consistency of the published figures of all threads."""
    checks = nicperf.consistency()
    wrong = checks["verdict"] != "consistent"
    counts = pd.crosstab(checks["slug"], checks["verdict"]).reset_index()
    return views.Tables(
        [
            Table(counts, "Checks by verdict", TITLES),
            Table(checks[wrong], f"What does not add up ({wrong.sum()} of {len(checks)} checks)", TITLES),
            Table(checks[~wrong], f"What adds up ({(~wrong).sum()} checks)", TITLES, folded=True),
        ]
    )
