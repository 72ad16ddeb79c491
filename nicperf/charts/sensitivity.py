"""Which parameter the result hangs on."""

from __future__ import annotations

import altair as alt
import pandas as pd

from nicperf.charts.frame import require
from nicperf.charts.theme import BLUE, INK, VERMILLION, WIDTH

SHOWN = 12


def sensitivity(
    frame: pd.DataFrame, *, title: str = "Which parameter does throughput hang on?"
) -> alt.LayerChart:
    """Draw elasticities as bars, the strongest on top.

    Parameters
    ----------
    frame : pandas.DataFrame
        A run's elasticities: columns `parameter` and `elasticity` (percent of throughput for each percent of
        the parameter). The 12 strongest are drawn.
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
    data = require(frame, "sensitivity", ["parameter"], ["elasticity"])[["parameter", "elasticity"]]
    data = data.sort_values("elasticity", key=abs, ascending=False, kind="stable").head(SHOWN)
    base = alt.Chart(data).encode(
        y=alt.Y("parameter:N", title=None, sort=None),
        x=alt.X("elasticity:Q", title="elasticity of throughput", scale=alt.Scale(padding=34)),
        tooltip=["parameter:N", alt.Tooltip("elasticity:Q", format="+.3f")],
    )
    colour = alt.when("datum.elasticity < 0").then(alt.value(VERMILLION)).otherwise(alt.value(BLUE))
    text = base.mark_text(color=INK).encode(text=alt.Text("elasticity:Q", format="+.2f"))
    right = text.transform_filter("datum.elasticity >= 0").mark_text(align="left", dx=4, color=INK)
    left = text.transform_filter("datum.elasticity < 0").mark_text(align="right", dx=-4, color=INK)
    spoken = ", ".join(f"{r['parameter']} {r['elasticity']:+.2f}" for _, r in data.head(3).iterrows())
    return (base.mark_bar(height=14).encode(color=colour) + right + left).properties(
        width=WIDTH - 200,
        height=alt.Step(22),
        title=title,
        description=f"{title} Elasticities, strongest first: {spoken}.",
    )
