"""Which printed differences exceed their deviations: the statistic of each pair, and where rounding may have left it."""

from __future__ import annotations

import altair as alt
import pandas as pd

from nicperf.charts import labels
from nicperf.charts.frame import require
from nicperf.charts.theme import GREY, INK, PUBLISHED, TOOLTIP, VERMILLION, WIDTH

WORDS = ["workload", "quantity", "significant", "called_equal"]
NUMBERS = ["t", "t_low", "t_high", "p_holm", "freedom", "delta_percent"]
CALLED = {"called equal in the post": VERMILLION, "other rows": GREY}


def significance(
    frame: pd.DataFrame, *, title: str = "Which differences exceed the printed deviations?"
) -> alt.LayerChart | alt.FacetChart:
    """Draw Welch's t of each pair of printed means.

    Parameters
    ----------
    frame : pandas.DataFrame
        What `nicperf.experiments.significance` returns: `workload, quantity, significant, called_equal` and the
        numbers `t, t_low, t_high, p_holm, freedom, delta_percent`.
    title : str
        The question that the chart answers.

    Returns
    -------
    altair.LayerChart
        A hollow mark for the printed numbers, a bar over all numbers that print the same, a band where a single
        test at 5 % sees no difference. The axis is linear near 0 and logarithmic beyond.

    Raises
    ------
    DataError
        A column is missing or holds no numbers.
    """
    from scipy.special import stdtrit

    data = require(frame, "significance", WORDS, NUMBERS)[[*WORDS, *NUMBERS]]
    data["row"] = [
        f"{w} · {labels.title(q)}" for w, q in zip(data["workload"], data["quantity"], strict=True)
    ]
    data["post"] = data.pop("called_equal").map(dict(zip((True, False), CALLED, strict=True)))
    data["critical"] = stdtrit(data["freedom"], 0.975)
    axis = alt.Axis(
        values=[-30, -10, -3, -1, 0, 1, 3, 10, 30],
        labelExpr="(datum.value > 0 ? '+' : '') + datum.label",
        title="Welch's t",
    )
    x = alt.X("t:Q", scale=alt.Scale(type="symlog", constant=1), axis=axis)
    base = alt.Chart(data).encode(y=alt.Y("row:N", title=None, sort=None))
    band = (
        base.transform_calculate(minus="-datum.critical")
        .mark_bar(color=INK, opacity=0.12, height=alt.RelativeBandSize(band=1))
        .encode(x=alt.X("minus:Q"), x2="critical:Q")
    )
    colour = alt.Color("post:N", title=None, scale=alt.Scale(domain=[*CALLED], range=[*CALLED.values()]))
    reach = base.mark_rule(strokeWidth=3).encode(x=alt.X("t_low:Q"), x2="t_high:Q", color=colour)
    style = {**PUBLISHED, "size": 80, "tooltip": TOOLTIP}
    marks = base.mark_point(**style).encode(x=x)
    zero = alt.Chart(pd.DataFrame({"t": [0]})).mark_rule(opacity=0.4).encode(x="t:Q")
    denied = data[(data["post"] == next(iter(CALLED))) & (data["significant"] == "yes")]
    words = "; ".join(
        f"{r} t = {labels.number(t, 3)}" for r, t in zip(denied["row"], denied["t"], strict=True)
    )
    spoken = (
        f"Called equal in the post and different nevertheless: {words}."
        if words
        else "No row contradicts the post."
    )
    yes = int((data["significant"] == "yes").sum())
    return alt.layer(band, zero, reach, marks, data=data).properties(
        width=WIDTH - 190,
        height=alt.Step(24),
        title=alt.Title(
            title, subtitle="Bar: all numbers that print the same. Grey band: no difference at 5 %."
        ),
        description=f"{title} {yes} of {len(data)} rows, all corrected for {len(data)} tests (Holm). {spoken}",
    )
