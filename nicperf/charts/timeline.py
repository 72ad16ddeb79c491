"""A run over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd

from nicperf.charts import labels, setting
from nicperf.charts.frame import require
from nicperf.charts.sweep import QUANTITIES
from nicperf.charts.theme import BLUE, PALETTE, TOOLTIP, WIDTH


def timeline(
    frame: pd.DataFrame,
    y: Sequence[str] = QUANTITIES,
    *,
    by: str | None = None,
    bound: str | None = None,
    title: str = "Is the run in a steady state?",
) -> alt.VConcatChart:
    """Draw quantities of one or several runs over simulated time, one panel each.

    Parameters
    ----------
    frame : pandas.DataFrame
        A run's timeline: `t_s`, or `t_ms` for a short one (since the start of the measurement), and the columns
        `y`, `by` and `bound`.
    y : sequence of str
        Quantities to draw.
    by : str, optional
        Column whose values become lines of their own, told apart by colour and dash.
    bound : str, optional
        Column chosen by a list; the chart shows one of its values at a time.
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
    time = "t_ms" if "t_ms" in frame.columns else "t_s"
    keys = [column for column in (by, bound) if column]
    data = require(frame, "timeline", keys, [time, *y])[[time, *keys, *y]]
    colour: Any = alt.value(BLUE)
    dash: dict[str, Any] = {}
    if by:
        lines = setting.ordered(data[by])
        scale = alt.Scale(domain=lines, range=PALETTE[: len(lines)])
        colour = alt.Color(f"{by}:N", title=None, scale=scale, legend=alt.Legend(symbolType="stroke"))
        dash = {"strokeDash": alt.StrokeDash(f"{by}:N", legend=None, sort=None)}
    shown = ""
    base = alt.Chart(data)
    if bound:
        options = setting.ordered(data[bound])
        chosen = alt.param(
            name="shown", value=options[0], bind=alt.binding_select(options=options, name=f"{bound} ")
        )
        base = base.add_params(chosen).transform_filter(f"datum.{labels.field(bound)} == shown")
        shown = f", shown for {bound} = {options[0]}"
    words = {"t_s": "simulated time (s)", "t_ms": "simulated time (ms)"}
    # Lines share one axis, under the last panel; a single run's panels are read one by one.
    x_axis = {True: alt.Axis(), False: alt.Axis(labels=by is None, ticks=by is None)}
    panels = [
        base.mark_line(interpolate="step-after", tooltip=TOOLTIP)
        .encode(
            x=alt.X(f"{time}:Q", title=words[time] if name == y[-1] else None, axis=x_axis[name == y[-1]]),
            y=alt.Y(f"{name}:Q", title=None, axis=alt.Axis(tickCount=4 if by is None else 2)),
            color=colour,
            **dash,
        )
        .properties(
            width=WIDTH,
            height=90 if by is None else 50,
            title=alt.Title(labels.title(name), fontSize=12, fontWeight="normal", offset=4),
        )
        for name in y
    ]
    spans = "; ".join(
        f"{labels.title(n)} {labels.number(data[n].min())} to {labels.number(data[n].max())}" for n in y
    )
    return alt.vconcat(*panels, spacing=10).properties(
        title=title, description=f"{title} Lines over time{shown}: {spans}."
    )
