"""Published throughput against what each resource could carry at most."""

from __future__ import annotations

import altair as alt
import pandas as pd

from nicperf.charts import labels
from nicperf.charts.frame import require
from nicperf.charts.theme import BLUE, GREEN, INK, PALETTE, PUBLISHED, TOOLTIP, VERMILLION, WIDTH

KNOWN = {"wire": GREEN, "bus": VERMILLION, "cpu": BLUE}


def ceilings(
    frame: pd.DataFrame, *, title: str = "Does any ceiling explain the figures by itself?"
) -> alt.LayerChart:
    """Draw each published throughput with the ceilings that closed forms give for it.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row for each ceiling of each published row: columns `configuration, workload, resource` (`wire`,
        `bus`, `cpu` or any other word) and the numbers `published, ceiling`, both in Mbit/s.
    title : str
        The question that the chart answers.

    Returns
    -------
    altair.LayerChart
        The published value is a hollow mark, each ceiling a tick. Ceilings above twice the largest published
        or wire value are drawn at the edge, with their value in the tooltip.

    Raises
    ------
    DataError
        A column is missing or holds no numbers.
    """
    data = require(frame, "ceilings", ["configuration", "workload", "resource"], ["published", "ceiling"])
    data["row"] = data["configuration"] + " · " + data["workload"]
    data["resource"] = data["resource"].map(lambda name: {"cpu": "CPU"}.get(name, name))
    names = list(dict.fromkeys(data["resource"]))
    spare = [c for c in PALETTE if c not in KNOWN.values()]
    colours = [KNOWN.get(n.lower()) or spare.pop(0) for n in names]
    edge = 2 * max(
        data["published"].max(),
        data.loc[data["resource"] == "wire", "ceiling"].max() if "wire" in names else 0,
    )
    data["drawn_at"] = data["ceiling"].clip(upper=edge)
    base = alt.Chart(data).encode(y=alt.Y("row:N", title=None, sort=None))
    axis = alt.Axis(title="Throughput (Mbit/s)", format=",.6~r")
    ticks = base.mark_tick(thickness=4, size=18, opacity=1, tooltip=TOOLTIP).encode(
        x=alt.X("drawn_at:Q", axis=axis, scale=alt.Scale(zero=True)),
        color=alt.Color("resource:N", title=None, scale=alt.Scale(domain=names, range=colours)),
    )
    span = base.mark_rule(color=INK, opacity=0.25).encode(x=alt.X("published:Q", axis=axis), x2="drawn_at:Q")
    published = base.mark_point(**PUBLISHED).encode(x=alt.X("published:Q", axis=axis))
    lowest = data.loc[data.groupby("row", sort=False)["ceiling"].idxmin()]
    spoken = "; ".join(
        f"{r['row']} {labels.number(r['published'])}, lowest {r['resource']} {labels.number(r['ceiling'])}"
        for _, r in lowest.iterrows()
    )
    return (span + ticks + published).properties(
        width=WIDTH - 130,
        height=alt.Step(26),
        title=alt.Title(title, subtitle="Hollow: published. Ticks: what each resource alone would allow."),
        description=f"{title} In Mbit/s: {spoken}.",
    )
