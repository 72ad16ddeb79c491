"""Sweep over one parameter: a panel for each quantity and one marker to move through all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd

from nicperf.charts import labels, setting
from nicperf.charts.frame import require
from nicperf.charts.theme import BLUE, INK, PALETTE, PUBLISHED, TOOLTIP, WIDTH

QUANTITIES = ("throughput_mbit_s", "cpu_percent_local", "interrupts_per_s_local")
PANEL_HEIGHT = 105


def sweep(
    frame: pd.DataFrame,
    x: str,
    y: Sequence[str] = QUANTITIES,
    *,
    by: str | None = None,
    bound: str | None = None,
    published: pd.DataFrame | None = None,
    start: setting.Setting | None = None,
    title: str = "",
    unit: str | None = None,
) -> alt.FacetChart:
    """Draw a pre-computed sweep, one panel for each quantity, with a marker that reads the values out.

    The marker follows the pointer and a control below the chart: a slider where the settings are evenly
    spaced, otherwise a list. All it can show is in the page: it works without a kernel and without a network.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row for each setting (and seed): the columns `x` and `y`, and `by` and `bound` where given.
        Rows that differ in the seed only are drawn as dots, with a line through their means.
    x : str
        Swept parameter, a dotted name such as `nic.dma_burst_dwords`.
    y : sequence of str
        Quantities of the run's summary, one panel each.
    by : str, optional
        Column whose values become lines of their own, told apart by colour and dash.
    bound : str, optional
        Column chosen by a second control; the chart shows one of its values at a time.
    published : pandas.DataFrame, optional
        Published points: column `x`, any of the `y`, and `by` and `bound` where given. Drawn hollow.
    start : number, bool or str, optional
        Setting at which the marker starts; the first published one, otherwise the middle one, when not given.
    title : str
        The question that the chart answers.
    unit : str, optional
        Unit of `x` where its name does not say it.

    Returns
    -------
    altair.FacetChart
        Interactive chart; its description says in words where each quantity starts and ends.

    Raises
    ------
    DataError
        A column is missing or holds no numbers.
    """
    keys = [c for c in (bound, by, x) if c]
    frame = require(frame, "sweep", keys, numeric=y)
    data = _rows(frame, keys, y)
    settings = setting.ordered(frame[x])
    marks = None if published is None or published.empty else require(published, "sweep(published)", keys)
    if marks is not None:
        data = pd.concat([data, _rows(marks, keys, y).assign(published=True)], ignore_index=True)
    if start is None:
        start = settings[len(settings) // 2] if marks is None else marks[x].iloc[0]
    marker = alt.selection_point(
        name="at",
        encodings=["x"],
        nearest=True,
        on="click, mouseover",
        clear=False,
        value=[{"x": setting.nearest(settings, start)}],
        bind=setting.control(settings, x),
    )
    lines = setting.ordered(frame[by]) if by else []
    quantities = [labels.title(name) for name in y]
    legend = labels.title(by) if by and "." in by else by
    axis = setting.axis(settings, x, unit)
    chart = _panel(data, quantities, axis, marker, by and labels.field(by), lines, legend)
    if bound:
        options = setting.ordered(frame[bound])
        shown = alt.param(
            name="shown", value=options[0], bind=alt.binding_select(options=options, name=f"{bound} ")
        )
        chart = chart.add_params(shown).transform_filter(f"datum.{labels.field(bound)} == shown")
    heading = alt.Header(labelPadding=-13, labelFontWeight="normal")
    row = alt.Row("quantity:N", title=None, sort=quantities, header=heading)
    return (
        chart.facet(row=row, spacing=14)
        .resolve_scale(y="independent")
        .properties(
            title=alt.Title(title or labels.title(x), offset=16),
            description=_describe(frame, x, y, title, bound or by),
            usermeta={"columns": {labels.field(c): c for c in keys}},
        )
    )


def _rows(frame: pd.DataFrame, keys: Sequence[str], y: Sequence[str]) -> pd.DataFrame:
    """What is drawn, still one row for each setting: Vega unfolds it, which keeps the file small."""
    names = {key: labels.field(key) for key in keys} | {name: labels.title(name) for name in y}
    kept = [name for name in names if name in frame.columns]
    return frame[kept].rename(columns=names).assign(published=False)


def _panel(
    data: pd.DataFrame,
    quantities: list[Any],
    x: alt.X,
    marker: alt.Parameter,
    by: str | None,
    lines: list[Any],
    legend: str | None,
) -> alt.LayerChart:
    """One panel: points, line through their means, moving marker with its value on top, published mark."""
    predicted = alt.Chart().transform_filter("!datum.published")
    dash = {"strokeDash": alt.StrokeDash(f"{by}:N", legend=None)} if by else {}
    mean = alt.Y("mean(value):Q", title=None)
    here = predicted.transform_filter(marker)
    layers = [
        predicted.mark_point(filled=True, size=36, opacity=1, tooltip=TOOLTIP).add_params(marker),
        predicted.mark_line().encode(y=mean, **dash),
        here.mark_rule(strokeDash=[2, 2]).encode(
            y=alt.value(0), y2=alt.value("height"), color=alt.value(INK)
        ),
        here.mark_point(filled=True, size=150, opacity=1).encode(y=mean),
    ]
    for i, one in enumerate(lines or [None]):
        chosen = here.transform_filter(alt.FieldEqualPredicate(field=by, equal=one)) if by else here
        place = alt.value(alt.expr(f"child_width * {(i + 1) / max(len(lines), 1):.4g}"))
        text = chosen.mark_text(align="right", baseline="bottom", fontWeight=600, dy=-5)
        layers.append(text.encode(x=place, y=alt.value(0), text=alt.Text("mean(value):Q", format=",.4r")))
    if data["published"].any():
        published = alt.Chart().transform_filter("datum.published").mark_point(**PUBLISHED)
        layers.append(published.encode(color=alt.value(INK)))
    colour: Any = alt.value(BLUE)
    if by:
        scale = alt.Scale(domain=lines, range=PALETTE[: len(lines)])
        colour = alt.Color(f"{by}:N", title=legend, scale=scale, legend=alt.Legend(symbolType="stroke"))
    y = alt.Y("value:Q", title=None, scale=alt.Scale(zero=True, nice=True), axis=alt.Axis(tickCount=4))
    panel = alt.layer(*layers, data=data).encode(x=x, y=y, color=colour)
    panel = panel.transform_fold(quantities, as_=["quantity", "value"]).transform_filter(
        "isValid(datum.value)"
    )
    return panel.properties(width=WIDTH, height=PANEL_HEIGHT)


def _describe(frame: pd.DataFrame, x: str, y: Sequence[str], title: str, group: str | None) -> str:
    """Where each quantity starts and ends, for the first value of the group."""
    first = frame[frame[group] == frame[group].iloc[0]] if group else frame
    ends = [first[first[x] == value] for value in (first[x].iloc[0], first[x].iloc[-1])]
    values = {name: [labels.number(end[name].mean()) for end in ends] for name in y}
    parts = [f"{labels.title(name)} goes from {low} to {high}" for name, (low, high) in values.items()]
    span = " to ".join(str(end[x].iloc[0]) for end in ends)
    shown = f", shown for {group} = {first[group].iloc[0]}" if group else ""
    return f"{title or 'Sweep.'} Lines over {x} from {span}{shown}: " + "; ".join(parts) + "."
