"""The table on the screen and the same in JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from tabulate import tabulate

from benchmarks.measure import Row


def number(value: float, unit: str) -> str:
    """Three digits, with k or M where there are many."""
    for limit, letter in ((1e6, "M"), (1e3, "k")):
        if value >= limit:
            return f"{value / limit:.3g} {letter}{unit}"
    return f"{value:.3g} {unit}"


def goal(row: Row) -> str:
    if row.met is None:
        return ""
    sign, value = (">=", row.at_least) if row.at_least is not None else ("<=", row.at_most)
    return f"{sign} {number(value, row.unit)}: {'met' if row.met else 'MISSED'}"


def render(rows: Sequence[Row]) -> str:
    lines: list[list[str]] = []
    for i, row in enumerate(rows):
        if i == 0 or row.group != rows[i - 1].group:
            lines.append([row.group.upper(), "", "", "", ""])
        low, high = row.quartiles
        spread = f"{number(low, '')}.. {number(high, '')}".strip() if len(row.values) > 1 else ""
        lines.append(["  " + row.what, number(row.median, row.unit), spread, goal(row), row.note])
    return tabulate(lines, ["", "median", "quartiles", "goal", ""], disable_numparse=True)


def write(path: Path, rows: Sequence[Row], head: dict[str, object]) -> None:
    """Write beside, then rename."""
    entries = [
        {
            "group": row.group,
            "what": row.what,
            "unit": row.unit,
            "median": row.median,
            "quartiles": row.quartiles,
            "values": [float(value) for value in row.values],
            "at_least": row.at_least,
            "at_most": row.at_most,
            "met": row.met,
            "note": row.note,
        }
        for row in rows
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(".part")
    beside.write_text(json.dumps({**head, "rows": entries}, indent=1) + "\n")
    beside.replace(path)
