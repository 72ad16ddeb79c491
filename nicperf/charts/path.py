"""The way of a packet: numbered steps in the lanes of those who do them, with the cost of each."""

from __future__ import annotations

import altair as alt
import pandas as pd

from nicperf.charts import labels
from nicperf.charts.frame import require
from nicperf.charts.theme import BLUE, INK, VERMILLION, WIDTH

STEP_HEIGHT = 30


def path(
    frame: pd.DataFrame, *, title: str = "How does the packet travel, and what does each step cost?"
) -> alt.VConcatChart:
    """Draw the numbered steps of a data path from top to bottom, one lane for each context.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row for each step in order: columns `side, context, operation` and the number `ns_per_frame`; a
        column `changed` (bool) marks the steps that the patches change.
    title : str
        The question that the chart answers.

    Returns
    -------
    altair.VConcatChart
        One panel for each side; the area of a step's disc is its cost.

    Raises
    ------
    DataError
        A column is missing or holds no numbers.
    """
    data = require(frame, "path", ["side", "context", "operation"], ["ns_per_frame"])
    if "changed" not in data.columns:
        data["changed"] = False
    data["step"] = data.groupby("side", sort=False).cumcount() + 1
    data["label"] = data["step"].astype(str) + "  " + data["operation"].map(labels.spaced)
    for column in ("context", "operation"):
        data[column] = data[column].map(labels.spaced)
    lanes = list(dict.fromkeys(data["context"]))
    most = float(data["ns_per_frame"].max())
    drawn = data[["side", "step", "label", "context", "ns_per_frame", "changed"]]
    panels = [_lanes(drawn, str(side), lanes, most) for side in dict.fromkeys(data["side"])]
    hint = "Number in ns per frame; the disc's area is the cost."
    hint += " Orange: the patches change this step." if data["changed"].any() else ""
    top = data.iloc[int(data["ns_per_frame"].argmax())]
    dearest = f"{top['operation']} ({top['context']}, {labels.SIDES.get(top['side'], top['side'])})"
    cost = labels.number(top["ns_per_frame"], 3)
    return alt.vconcat(*panels, spacing=24).properties(
        title=alt.Title(title, subtitle=hint),
        description=f"{title} {len(data)} steps; the dearest is {dearest} with {cost} ns per frame.",
    )


def _lanes(data: pd.DataFrame, side: str, lanes: list[str], most: float) -> alt.LayerChart:
    here = alt.Chart(data).transform_filter(f"datum.side == '{side}'")
    y = alt.Y("step:O", title=None, axis=None)
    base = here.encode(
        x=alt.X(
            "context:N",
            title=None,
            scale=alt.Scale(domain=lanes),
            axis=alt.Axis(orient="top", labelAngle=0, grid=True),
        ),
        y=y,
        tooltip=["label:N", "context:N", alt.Tooltip("ns_per_frame:Q", format=",.4r")],
    )
    colour = alt.when("datum.changed").then(alt.value(VERMILLION)).otherwise(alt.value(BLUE))
    size = alt.Size("ns_per_frame:Q", legend=None, scale=alt.Scale(domain=[0, most], range=[0, 700]))
    way = base.mark_line(color=INK, opacity=0.35, strokeWidth=1.5).encode(
        order="step:O", tooltip=alt.Undefined
    )
    stop = base.mark_point(filled=True, opacity=1, size=22).encode(color=colour)
    disc = base.mark_point(filled=True, opacity=0.35).encode(color=colour, size=size)
    cost = base.mark_text(align="left", dx=16, fontWeight=600).encode(
        text=alt.Text("ns_per_frame:Q", format=",.3~r")
    )
    name = here.mark_text(align="left", x=0).encode(y=y, text="label:N")
    heading = alt.Title(labels.SIDES.get(side, side), fontSize=13, offset=6)
    steps = alt.layer(way, disc, stop, cost).properties(width=WIDTH - 250, height=alt.Step(STEP_HEIGHT))
    names = name.properties(width=240, height=alt.Step(STEP_HEIGHT))
    return alt.hconcat(names, steps, spacing=0).properties(title=heading).resolve_scale(y="shared")
