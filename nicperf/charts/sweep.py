"""Sweep over one parameter: a panel for each quantity and one marker to move through all of them."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import pandas as pd

from nicperf.charts import labels, setting
from nicperf.charts.frame import require
from nicperf.charts.theme import BLUE, INK, PALETTE, PUBLISHED, WIDTH

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
) -> alt.VConcatChart:
    """Draw a pre-computed sweep, one panel for each quantity, with a marker that reads the values out.

    The marker follows the pointer and a control below the chart: a slider where the settings are evenly
    spaced, otherwise a list. All it can show is in the page: it works without a kernel and without a network.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row for each setting (and seed): the columns `x` and `y`, and `by` and `bound` where given.
        Rows that differ in the seed only are drawn as their mean with the range around it.
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
    altair.VConcatChart
        Interactive chart; its description says in words where each quantity starts and ends.

    Raises
    ------
    DataError
        A column is missing or holds no numbers.
    """
    keys = [c for c in (bound, by, x) if c]
    keys = [c for c in (bound, by, x) if c]
    frame = require(frame, "sweep", keys, numeric=y)
    data = _mean_and_range(frame, keys, list(y))
    points = _published(published, keys, list(y))
    settings = setting.ordered(data[labels.field(x)])
    if start is None:
        start = settings[len(settings) // 2] if points is None else points[labels.field(x)].iloc[0]
    marker = alt.selection_point(
        name="at",
        encodings=["x"],
        nearest=True,
        on="click, mouseover",
        clear=False,
        value=[{"x": setting.nearest(settings, start)}],
        bind=setting.control(settings, x),
    )
    panels = []
    for name in y:
        axis = setting.axis(settings, x, unit, shown=name == y[-1])
        panel = _panel(name, axis, marker, data, points, by and labels.field(by))
        panels.append(panel)
    chart = alt.vconcat(*panels, spacing=18)
    if bound:
        options = setting.ordered(data[labels.field(bound)])
        shown = alt.param(
            name="shown", value=options[0], bind=alt.binding_select(options=options, name=f"{bound} ")
        )
        chart = chart.add_params(shown).transform_filter(f"datum.{labels.field(bound)} == shown")
    return chart.properties(
        title=alt.Title(title or labels.title(x), offset=16),
        description=_describe(data, x, y, title, bound or by),
        usermeta={"columns": {labels.field(c): c for c in keys}},
    ).resolve_scale(color="shared")


def _mean_and_range(frame: pd.DataFrame, keys: list[str], y: list[str]) -> pd.DataFrame:
    """One row for each setting; `<y>_low` and `<y>_high` are added where several seeds were run."""
    groups = frame.groupby(keys, sort=False)[y]
    mean, count = groups.mean(), groups.size()
    if (count > 1).any():
        mean = mean.join(groups.min().add_suffix("_low")).join(groups.max().add_suffix("_high"))
    return mean.reset_index().rename(columns={k: labels.field(k) for k in keys})


def _published(points: pd.DataFrame | None, keys: list[str], y: list[str]) -> pd.DataFrame | None:
    if points is None or points.empty:
        return None
    points = require(points, "sweep(published)", keys)
    columns = [*keys, *(c for c in y if c in points.columns)]
    return points[columns].rename(columns={k: labels.field(k) for k in keys})


def _panel(
    name: str,
    x: alt.X,
    marker: alt.Parameter,
    data: pd.DataFrame,
    points: pd.DataFrame | None,
    by: str | None,
) -> alt.LayerChart | alt.FacetChart:
    """One quantity: line, range, moving marker with its value in the corner, published point."""
    y = alt.Y(f"{name}:Q", title=None, scale=alt.Scale(zero=True, nice=True), axis=alt.Axis(tickCount=4))
    lines = list(dict.fromkeys(data[by])) if by else []
    tips = [alt.Tooltip(x.shorthand), *([alt.Tooltip(f"{by}:N")] if by else [])]
    value = alt.Tooltip(f"{name}:Q", title=labels.title(name), format=",.4r")
    base = alt.Chart(data).encode(x=x, y=y, tooltip=[*tips, value], color=alt.value(BLUE))
    if by:
        scale = alt.Scale(domain=lines, range=PALETTE[: len(lines)])
        base = base.encode(
            color=alt.Color(f"{by}:N", title=by, scale=scale, legend=alt.Legend(symbolType="stroke"))
        )
    line = base.encode(strokeDash=alt.StrokeDash(f"{by}:N", legend=None)) if by else base
    dots = base.mark_point(filled=True, size=36, opacity=1).add_params(marker)
    layers: list[alt.Chart] = [dots, line.mark_line()]
    if f"{name}_low" in data.columns:
        area = base.mark_area(opacity=0.2).encode(y=alt.Y(f"{name}_low:Q", title=None), y2=f"{name}_high:Q")
        layers.append(area)
    here = base.transform_filter(marker)
    layers.append(here.mark_rule(strokeDash=[2, 2]).encode(y=alt.Undefined, color=alt.value(INK)))
    layers.append(here.mark_point(filled=True, size=150, opacity=1))
    for i, one in enumerate(lines or [None]):
        chosen = here.transform_filter(alt.FieldEqualPredicate(field=by, equal=one)) if by else here
        place = alt.value(alt.expr(f"width * {(i + 1) / max(len(lines), 1):.4g}"))
        text = chosen.mark_text(align="right", baseline="bottom", fontWeight=600, dy=-5)
        layers.append(text.encode(x=place, y=alt.value(0), text=alt.Text(f"{name}:Q", format=",.4r")))
    if points is not None and name in points.columns:
        mark = alt.Chart(points).mark_point(**PUBLISHED)
        value = alt.Tooltip(f"{name}:Q", title="published", format=",.4r")
        layers.append(mark.encode(x=x, y=y, color=alt.value(INK), tooltip=[*tips, value]))
    # A text mark and not a title: it shares its line with the values at the marker.
    heading = alt.Chart(alt.InlineData([{}])).mark_text(
        text=labels.title(name), align="left", baseline="bottom", dy=-5
    )
    layers.append(heading.encode(x=alt.value(0), y=alt.value(0)))
    return alt.layer(*layers).properties(width=WIDTH, height=PANEL_HEIGHT)


def _describe(data: pd.DataFrame, x: str, y: Sequence[str], title: str, group: str | None) -> str:
    first = data[data[labels.field(group)] == data[labels.field(group)].iloc[0]] if group else data
    ends = first.iloc[[0, -1]]
    parts = [
        f"{labels.title(n)} goes from {labels.number(ends[n].iloc[0])} to {labels.number(ends[n].iloc[1])}"
        for n in y
    ]
    span = " to ".join(str(v) for v in ends[labels.field(x)])
    shown = f", shown for {group} = {first[labels.field(group)].iloc[0]}" if group else ""
    return f"{title or 'Sweep'} Lines over {x} from {span}{shown}: " + "; ".join(parts) + "."
