"""A run over time."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import pandas as pd

from nicperf.charts import labels
from nicperf.charts.frame import require
from nicperf.charts.sweep import QUANTITIES
from nicperf.charts.theme import BLUE, WIDTH


def timeline(
    frame: pd.DataFrame, y: Sequence[str] = QUANTITIES, *, title: str = "Is the run in a steady state?"
) -> alt.VConcatChart:
    """Draw quantities of one run over simulated time, one panel each.

    Parameters
    ----------
    frame : pandas.DataFrame
        A run's timeline: `t_s` (seconds since the start of the measurement) and the columns `y`.
    y : sequence of str
        Quantities to draw.
    title : str
        The question that the chart answers.

    Returns
    -------
    altair.VConcatChart

    Raises
    ------
    DataError
        A column is missing or holds no numbers.
    """
    data = require(frame, "timeline", [], ["t_s", *y])[["t_s", *y]]
    panels = [
        alt.Chart(data)
        .mark_line(color=BLUE, interpolate="step-after")
        .encode(
            x=alt.X("t_s:Q", title="simulated time (s)" if name == y[-1] else None),
            y=alt.Y(f"{name}:Q", title=None, axis=alt.Axis(tickCount=4)),
            tooltip=[alt.Tooltip("t_s:Q"), alt.Tooltip(f"{name}:Q", format=",.4r")],
        )
        .properties(
            width=WIDTH,
            height=90,
            title=alt.Title(labels.title(name), fontSize=12, fontWeight="normal", offset=4),
        )
        for name in y
    ]
    spans = "; ".join(
        f"{labels.title(n)} {labels.number(data[n].min())} to {labels.number(data[n].max())}" for n in y
    )
    return alt.vconcat(*panels, spacing=10).properties(
        title=title, description=f"{title} Lines over time: {spans}."
    )
