"""The index page, made as a notebook in memory so that it looks and works like the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import nbformat
import pandas as pd
from IPython.core.formatters import DisplayFormatter

import nicperf
from nicperf import charts, published
from nicperf.report import views
from nicperf.report.execute import Executed
from nicperf.report.prose import Prose
from nicperf.report.table import Table

INTRODUCTION = """# nicperf: published figures and an executed model, side by side

Each page takes one netdev thread, sets its published measurements beside what a packet-by-packet model of
both machines predicts, and lets you move the parameters. Figures marked *held out* the fit has not seen."""


def overview(executed: Sequence[Executed]) -> Any:
    """Index of a report.

    Parameters
    ----------
    executed : sequence of Executed
        The notebooks of the report.

    Returns
    -------
    nbformat.NotebookNode
        List of the notebooks with their run times, ledger of all experiments that have a model, and the
        consistency of the published figures of all threads.
    """
    from nicperf.experiments import available

    cells = [_text(INTRODUCTION), _text("## Notebooks"), _shown(_listing(executed))]
    ledgers = {slug: nicperf.experiment(slug).ledger() for slug in available()}
    if ledgers:
        joined = pd.concat(ledgers, names=["slug"]).reset_index("slug").reset_index(drop=True)
        cells += [
            _text("## Ledger"),
            _shown(_standing(joined), charts.ledger(joined[joined["role"] != "claim"])),
            _shown(*(views.ledger(rows, caption=caption, folded=True) for caption, rows in _by_role(joined))),
        ]
    checks = published.consistency()
    wrong = checks["verdict"] != "consistent"
    counts = pd.crosstab(checks["slug"], checks["verdict"]).reset_index()
    cells += [
        _text("## Arithmetic of the published figures"),
        _shown(
            Table(counts, "Checks by verdict", {"slug": "thread"}),
            Table(checks[wrong], f"What does not add up ({wrong.sum()} of {len(checks)} checks)"),
            Table(checks[~wrong], f"What adds up ({(~wrong).sum()} checks)", folded=True),
        ),
    ]
    return nbformat.v4.new_notebook(cells=cells)


def _listing(executed: Sequence[Executed]) -> Prose:
    from nicperf.report.site import title

    lines = ["| notebook | run time |", "| :-- | --: |"]
    lines += [f"| [{title(e.notebook)}]({e.path.stem}.html) | {e.seconds:.0f} s |" for e in executed]
    return Prose("\n".join(lines))


def _standing(ledger: pd.DataFrame) -> Table:
    """Verdicts by experiment and role."""
    counts = pd.crosstab([ledger["slug"], ledger["role"]], ledger["verdict"]).reset_index()
    return Table(counts, "Verdicts", {"slug": "experiment"})


def _by_role(ledger: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    names = {
        "held_out": "Held-out figures",
        "fit": "Fitted figures",
        "claim": "Claims",
        "context": "Derived figures and settings",
    }
    groups = [(name, ledger[ledger["role"] == role]) for role, name in names.items()]
    return [(f"{name} ({len(rows)} rows)", rows) for name, rows in groups if len(rows)]


def _text(source: str) -> Any:
    return nbformat.v4.new_markdown_cell(source)


def _shown(*things: Any) -> Any:
    """A code cell without code, whose outputs are what a notebook would show of `things`."""
    show = DisplayFormatter()
    outputs = [nbformat.v4.new_output("display_data", data=show.format(thing)[0]) for thing in things]
    return nbformat.v4.new_code_cell("", outputs=outputs)
