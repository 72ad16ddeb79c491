"""How latencies are distributed: the share of transactions that took longer, on two logarithmic axes."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from nicperf.charts import labels
from nicperf.charts.frame import require
from nicperf.charts.theme import PALETTE, PUBLISHED, TOOLTIP, WIDTH

NUMBERS = ["latency_us", "slower_percent"]
DASHES = [[1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [3, 6], [1, 0], [6, 3], [2, 2]]


def latency(
    frame: pd.DataFrame, published: pd.DataFrame | None = None, *, by: str = "variant", title: str
) -> alt.LayerChart:
    """Draw the tails of latency distributions.

    Parameters
    ----------
    frame : pandas.DataFrame
        A row for each step of each line: `by`, `latency_us`, and `slower_percent`, the share of transactions that
        took longer.
    published : pandas.DataFrame, optional
        Published percentiles: `latency_us` and `slower_percent`. Drawn hollow.
    by : str
        Column that tells the lines apart.
    title : str
        The question that the chart answers.

    Returns
    -------
    altair.LayerChart

    Raises
    ------
    DataError
        A column is missing or holds no numbers.
    """
    data = require(frame, "latency", [by], NUMBERS)[[by, *NUMBERS]]
    data = data[(data["slower_percent"] > 0) & (data["latency_us"] > 0)]
    lines = list(dict.fromkeys(data[by]))
    y = alt.Y(
        "slower_percent:Q",
        title="transactions that took longer (%)",
        scale=alt.Scale(type="log", domain=[0.01, 100], clamp=True),
        axis=alt.Axis(values=[100, 10, 1, 0.1, 0.01]),
    )
    x = alt.X("latency_us:Q", title="latency (µs)", scale=alt.Scale(type="log", nice=False))
    colour = alt.Color(
        f"{by}:N",
        title=None,
        scale=alt.Scale(domain=lines, range=PALETTE[: len(lines)]),
        legend=alt.Legend(symbolType="stroke", columns=2),
    )
    dash = alt.StrokeDash(f"{by}:N", scale=alt.Scale(domain=lines, range=DASHES[: len(lines)]), legend=None)
    layers: list[Any] = [
        alt.Chart(data)
        .mark_line(interpolate="step-after", tooltip=TOOLTIP)
        .encode(x=x, y=y, color=colour, strokeDash=dash)
    ]
    hollow = ""
    if published is not None:
        points = require(published, "latency", [], NUMBERS)[NUMBERS]
        layers.append(alt.Chart(points).mark_point(**PUBLISHED, tooltip=TOOLTIP).encode(x=x, y=y))
        hollow = "Hollow: published percentiles."
    middles = "; ".join(
        f"{line}: {labels.number(own.loc[own['slower_percent'] <= 50, 'latency_us'].min(), 3)} µs"
        for line, own in data.groupby(by, sort=False)
    )
    drawn: Any = alt.layer(*layers)
    return drawn.properties(
        width=WIDTH,
        height=280,
        title=alt.Title(title, subtitle=hollow),
        description=f"{title} Share of transactions that took longer, over latency. Half took longer than: {middles}. {hollow}",
    )
