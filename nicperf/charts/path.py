"""The way of a packet: numbered steps in the lanes of those who do them, with the cost of each."""

from __future__ import annotations

import altair as alt
import pandas as pd

from nicperf.charts import labels
from nicperf.charts.frame import require
from nicperf.charts.theme import BLUE, INK, TOOLTIP, VERMILLION, WIDTH, panel_title

# From the application down to the hardware; other contexts follow.
LANES = ("process", "soft irq", "hard irq", "bus")
STEP_HEIGHT = 26
NAMES_WIDTH = 170


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
    lanes = sorted(dict.fromkeys(data["context"]), key=lambda lane: (*LANES, lane).index(lane))
    hint = "Number in ns per frame; the disc's area is the cost."
    hint += " Orange: the patches change this step." if data["changed"].any() else ""
    top = data.iloc[int(data["ns_per_frame"].argmax())]
    dearest = f"{top['operation']} ({top['context']}, {labels.SIDES.get(top['side'], top['side'])})"
    cost = labels.number(top["ns_per_frame"], 3)
    drawn = data[["side", "step", "label", "context", "ns_per_frame", "changed"]]
    drawn = drawn.assign(side=drawn["side"].map(lambda side: labels.SIDES.get(side, side)))
    sides = dict.fromkeys(drawn["side"])
    return alt.vconcat(*(_lanes(drawn, str(side), lanes) for side in sides), spacing=20).properties(
        title=alt.Title(title, subtitle=hint),
        description=f"{title} {len(data)} steps; the dearest is {dearest} with {cost} ns per frame.",
    )


def _lanes(data: pd.DataFrame, side: str, lanes: list[str]) -> alt.LayerChart:
    """The way as a line from disc to disc; the axis on the left numbers and names the steps."""
    colour = alt.when("datum.changed").then(alt.value(VERMILLION)).otherwise(alt.value(BLUE))
    most = float(data["ns_per_frame"].max())
    size = alt.Size("ns_per_frame:Q", legend=None, scale=alt.Scale(domain=[0, most], range=[8, 700]))
    disc = alt.Chart().mark_point(filled=True, opacity=0.5, tooltip=TOOLTIP)
    cost = alt.Chart().mark_text(align="left", dx=16, fontWeight=600)
    top = alt.Axis(orient="top", labelAngle=0, grid=True)
    names = alt.Axis(orient="left", labelAlign="left", labelPadding=NAMES_WIDTH, labelLimit=NAMES_WIDTH)
    return (
        alt.layer(
            alt.Chart().mark_line(color=INK, opacity=0.35, strokeWidth=1.5).encode(order="step:O"),
            disc.encode(color=colour, size=size),
            cost.encode(text=alt.Text("ns_per_frame:Q", format=",.3~r")),
            data=data,
        )
        .transform_filter(f"datum.side == '{side}'")
        .encode(
            x=alt.X("context:N", title=None, scale=alt.Scale(domain=lanes), axis=top),
            y=alt.Y("label:N", title=None, sort=None, axis=names),
        )
        .properties(width=WIDTH - NAMES_WIDTH - 60, height=alt.Step(STEP_HEIGHT), title=panel_title(side))
    )
