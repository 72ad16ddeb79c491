"""A frame as an HTML table that is the same on every run: units, right-aligned numbers, four digits.

pandas' own tables print floats to six decimals, and its Styler draws random identifiers; a strict comparison
of notebook outputs can use neither.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from nicperf.charts import labels

MARKS = {"reproduced": "✓", "direction only": "↗", "not reproduced": "✗", "cannot tell": "?"}
WORDS = {"held_out": "held&nbsp;out", True: "yes", False: "no"}
SCROLLED = 18
PROSE = 48
# JupyterLab sets every cell to the right, other viewers to the left.
STYLE = (
    "<style>table.nicperf th, table.nicperf td { text-align: left } "
    "table.nicperf th.n, table.nicperf td.n { text-align: right } "
    "table.nicperf td.p { min-width: 15em }</style>"
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
    filtered : bool
        On a page of the report, let the reader filter rows by a word and sort them by a column.
    """

    frame: pd.DataFrame
    caption: str = ""
    titles: Mapping[str, str] = field(default_factory=dict)
    folded: bool = False
    filtered: bool = False

    def __repr__(self) -> str:
        return f"<table: {self.caption or ', '.join(map(str, self.frame.columns))} ({len(self.frame)} rows)>"

    def _repr_html_(self) -> str:
        mark = " filtered" if self.filtered else ""
        table = f'<table class="nicperf{mark}"><thead>{self._head()}</thead><tbody>\n{self._body()}\n</tbody></table>'
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
            cells.append(_cell("th", html.escape(name), self._kind(column)))
        return f"<tr>{''.join(cells)}</tr>"

    def _body(self) -> str:
        columns = [self.frame[column].tolist() for column in self.frame.columns]
        kinds = [self._kind(column) for column in self.frame.columns]
        # A line for each row: a reader of a diff sees which figure moved.
        return "\n".join(
            f"<tr>{''.join(_cell('td', text(v), kind) for v, kind in zip(row, kinds, strict=True))}</tr>"
            for row in zip(*columns, strict=True)
        )

    def _kind(self, column: Any) -> str:
        """Class of a column's cells: `n` for numbers, `p` for prose, none for names and words."""
        values = [v for v in self.frame[column] if not _missing(v)]
        if values and all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values):
            return "n"
        return "p" if any(isinstance(v, str) and len(v) > PROSE and " " in v for v in values) else ""


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
        return ", ".join(_breakable(html.escape(str(item))) for item in value) or "–"
    return _breakable(html.escape(str(value)))


def _breakable(words: str) -> str:
    """Let a long dotted name break after dots and underscores, so that it leaves room for prose."""
    return re.sub(r"([._])(?=\w)", r"\1<wbr>", words) if len(words) > 24 and " " not in words else words


def _cell(tag: str, content: str, kind: str) -> str:
    return f'<{tag} class="{kind}">{content}</{tag}>' if kind else f"<{tag}>{content}</{tag}>"


def _missing(value: Any) -> bool:
    return value is None or value is pd.NA or (isinstance(value, float) and value != value)
