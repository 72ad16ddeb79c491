"""A frame as an HTML table that is the same on every run: units, right-aligned numbers, four digits.

pandas' own tables print floats to six decimals, and its Styler draws random identifiers; a strict comparison
of notebook outputs can use neither.
"""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from nicperf.charts import labels

MARKS = {"reproduced": "✓", "direction only": "↗", "not reproduced": "✗", "cannot tell": "?"}
WORDS = {"held_out": "held out", True: "yes", False: "no"}
SCROLLED = 16
# JupyterLab sets every cell to the right, other viewers to the left.
STYLE = (
    "<style>table.nicperf th, table.nicperf td { text-align: left } "
    "table.nicperf th.n, table.nicperf td.n { text-align: right }</style>"
)


@dataclass(frozen=True)
class Table:
    """A frame to be shown in a notebook and in a report.

    Attributes
    ----------
    frame : pandas.DataFrame
        What is shown, one column each; the index is not.
    caption : str
        One line above the table.
    titles : mapping
        Column name to heading, where the name with spaces for underscores does not do.
    folded : bool
        Show the caption only, until the reader opens the table.
    """

    frame: pd.DataFrame
    caption: str = ""
    titles: Mapping[str, str] = field(default_factory=dict)
    folded: bool = False

    def __repr__(self) -> str:
        return f"<table: {self.caption or ', '.join(map(str, self.frame.columns))} ({len(self.frame)} rows)>"

    def _repr_html_(self) -> str:
        table = (
            f'<table class="nicperf"><thead>{self._head()}</thead><tbody>\n{self._body()}\n</tbody></table>'
        )
        if len(self.frame) > SCROLLED and not self.folded:
            table = f'<div class="nicperf-scroll" style="max-height:30em;overflow:auto">{table}</div>'
        caption = html.escape(self.caption)
        if self.folded:
            return f"{STYLE}<details><summary>{caption}</summary>{table}</details>"
        return f"{STYLE}<p><b>{caption}</b></p>{table}" if caption else STYLE + table

    def _head(self) -> str:
        cells = []
        for column in self.frame.columns:
            name = self.titles.get(column, str(column).replace("_", " "))
            cells.append(_cell("th", html.escape(name), self._is_number(column)))
        return f"<tr>{''.join(cells)}</tr>"

    def _body(self) -> str:
        columns = [(self.frame[c].tolist(), self._is_number(c)) for c in self.frame.columns]
        rows = zip(*(values for values, _ in columns), strict=True)
        right = [number for _, number in columns]
        # A line for each row: a reader of a diff sees which figure moved.
        return "\n".join(
            f"<tr>{''.join(_cell('td', text(v), r) for v, r in zip(row, right, strict=True))}</tr>"
            for row in rows
        )

    def _is_number(self, column: Any) -> bool:
        values = [v for v in self.frame[column] if not _missing(v)]
        return bool(values) and all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values)


def text(value: Any) -> str:
    """One cell as HTML text: numbers to four digits, verdicts with a mark that does not need colour."""
    if _missing(value):
        return "–"
    if isinstance(value, str) and value in MARKS:
        return f'<span class="verdict {value.replace(" ", "-")}">{MARKS[value]} {value}</span>'
    if isinstance(value, (bool, str)) and value in WORDS:
        return WORDS[value]
    if isinstance(value, (int, float)):
        return labels.number(value)
    if isinstance(value, (list, tuple)):
        return html.escape(", ".join(map(str, value))) or "–"
    return html.escape(str(value))


def _cell(tag: str, content: str, number: bool) -> str:
    return f'<{tag} class="n">{content}</{tag}>' if number else f"<{tag}>{content}</{tag}>"


def _missing(value: Any) -> bool:
    return value is None or value is pd.NA or (isinstance(value, float) and value != value)
