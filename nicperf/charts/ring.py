"""Descriptors of one packet, slot by slot, as they stand on a transmit ring."""

from __future__ import annotations

import altair as alt
import pandas as pd

from nicperf.charts.frame import require
from nicperf.charts.theme import BLUE, INK, ORANGE, PALETTE, TOOLTIP, VERMILLION, WIDTH

COLOURS = {"payload": BLUE, "mapped header": VERMILLION, "header memory": ORANGE}
SLOT_HEIGHT = 24
GAP = 0.15


def ring(frame: pd.DataFrame, *, title: str = "What stands on the ring?") -> alt.FacetChart:
    """Draw the slots that a packet takes on the ring, one row for each way to send it.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row for each descriptor: columns `way, kind`, `last_of_call` (bool), and the numbers `slot, segment,
        length_bytes`.
    title : str
        The question that the chart answers.

    Returns
    -------
    altair.FacetChart
        A triangle marks where a call of the driver ends: its doorbell, and the slot that its sk_buff hangs on.

    Raises
    ------
    DataError
        A column is missing or holds no numbers.
    """
    data = require(frame, "ring", ["way", "kind", "last_of_call"], ["slot", "segment", "length_bytes"])
    kinds = list(dict.fromkeys(data["kind"]))
    others = [colour for colour in PALETTE if colour not in COLOURS.values()]
    shades = [COLOURS.get(kind) or others.pop(0) for kind in kinds]
    colour = alt.Color("kind:N", title=None, scale=alt.Scale(domain=kinds, range=shades))
    x = alt.X("slot:Q", title="slot of the ring", scale=alt.Scale(nice=False, zero=True))
    bars = alt.Chart().transform_calculate(end=f"datum.slot + {1 - GAP}")
    bars = bars.mark_rect(tooltip=TOOLTIP).encode(x=x, x2="end:Q", color=colour)
    calls = (
        alt.Chart()
        .transform_filter("datum.last_of_call")
        .mark_point(shape="triangle-down", filled=True, size=30, opacity=1, color=INK, yOffset=-19)
        .encode(x=x)
    )
    ways = list(dict.fromkeys(data["way"]))
    sizes = data.groupby("way", sort=False)["slot"].size()
    rung = data.groupby("way", sort=False)["last_of_call"].sum()
    spoken = "; ".join(f"{way}: {sizes[way]} descriptors, {rung[way]} calls of the driver" for way in ways)
    header = alt.Header(labelPadding=4)
    return (
        alt.layer(bars, calls, data=data)
        .properties(width=WIDTH, height=SLOT_HEIGHT)
        .facet(row=alt.Row("way:N", title=None, sort=ways, header=header), spacing=26)
        .properties(
            title=alt.Title(
                title, subtitle="Triangle: a call of the driver ends, with its sk_buff and its doorbell."
            ),
            description=f"{title} {spoken}.",
        )
    )
