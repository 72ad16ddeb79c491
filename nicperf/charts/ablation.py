"""What each patch of a series does, alone and on top of the ones before it."""

from __future__ import annotations

import altair as alt
import pandas as pd

from nicperf.charts import labels
from nicperf.charts.frame import require
from nicperf.charts.theme import BLUE, INK, VERMILLION, WIDTH

MODES = {"alone": "alone", "in order": "added in the order of the series"}


def ablation(frame: pd.DataFrame, *, title: str = "What does each patch do?") -> alt.VConcatChart:
    """Draw the change that each patch makes, with the range over equally good parameter sets.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row for each patch, mode and quantity: columns `patch`, `mode` (`alone` or `in order`), `quantity`
        and the numbers `change_percent, low_percent, high_percent`. Rows are drawn in the frame's order.
    title : str
        The question that the chart answers.

    Returns
    -------
    altair.VConcatChart
        One panel for each quantity. A line spans the range that the data leave open.

    Raises
    ------
    DataError
        A column is missing or holds no numbers.
    """
    numbers = ["change_percent", "low_percent", "high_percent"]
    data = require(frame, "ablation", ["patch", "mode", "quantity"], numbers)
    data["mode"] = data["mode"].replace(MODES)
    modes = [m for m in MODES.values() if m in set(data["mode"])] or sorted(data["mode"].unique())
    colour = alt.Color("mode:N", title=None, scale=alt.Scale(domain=modes, range=[BLUE, VERMILLION]))
    place = alt.YOffset("mode:N", sort=modes)
    panels = []
    for quantity, rows in data.groupby("quantity", sort=False):
        name = labels.title(str(quantity), with_unit=False)
        axis = alt.Axis(title=f"{name}: change (%)", format="+,.4~r")
        base = alt.Chart(rows).encode(
            y=alt.Y("patch:N", title=None, sort=None),
            yOffset=place,
            color=colour,
            tooltip=["patch:N", "mode:N", *(alt.Tooltip(f"{n}:Q", format="+.2f") for n in numbers)],
        )
        zero = alt.Chart(alt.InlineData([{}])).mark_rule(color=INK, opacity=0.5).encode(x=alt.datum(0))
        ranges = base.mark_rule(strokeWidth=2).encode(
            x=alt.X("low_percent:Q", axis=axis), x2="high_percent:Q"
        )
        marks = base.mark_point(filled=True, size=70, opacity=1).encode(
            x=alt.X("change_percent:Q", axis=axis)
        )
        panels.append(
            (zero + ranges + marks).properties(width=WIDTH - 160, height=alt.Step(17, **{"for": "position"}))
        )
    return alt.vconcat(*panels, spacing=20).properties(
        title=alt.Title(title, subtitle="Lines: range over parameter sets that fit equally well."),
        description=f"{title} {_largest(data)}",
    )


def _largest(data: pd.DataFrame) -> str:
    """The patch with the largest change of each quantity, in words."""
    parts = []
    for quantity, rows in data.groupby("quantity", sort=False):
        top = rows.iloc[int(rows["change_percent"].abs().argmax())]
        change = f"{top['change_percent']:+.3g} %, {top['low_percent']:+.3g} to {top['high_percent']:+.3g} %"
        parts.append(
            f"{labels.title(str(quantity), with_unit=False)} changes most with {top['patch']} ({change})."
        )
    return " ".join(parts)
