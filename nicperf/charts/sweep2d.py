"""Map over two swept parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
from contourpy import contour_generator

from nicperf.charts import labels, setting
from nicperf.charts.frame import require
from nicperf.charts.theme import VERMILLION, WIDTH
from nicperf.errors import DataError

CELL_HEIGHT = 26
LIGHT, DARK = "#ffffff", "#1a1a1a"  # on coloured cells, whatever the page's scheme


def sweep2d(
    frame: pd.DataFrame,
    x: str,
    y: str,
    value: str = "throughput_mbit_s",
    *,
    start: dict | None = None,
    isolines: int | Sequence[float] = 0,
    title: str = "",
) -> alt.LayerChart:
    """Draw a sweep of two parameters as a map, the value printed in each cell.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row for each pair of settings (and seed): columns `x`, `y` and `value`.
    x, y : str
        Swept parameters, dotted names.
    value : str
        Quantity of the run's summary that is coloured.
    start : dict, optional
        ``{x: setting, y: setting}`` of the published configuration, outlined.
    isolines : int or sequence of float
        Draw lines along which `value` is equal: at most so many at round values, or at these. Between the centres
        of cells they are interpolated, which asks for two axes of numbers; the values are then on the lines and
        not in the cells.
    title : str
        The question that the chart answers.

    Returns
    -------
    altair.LayerChart

    Raises
    ------
    DataError
        A column is missing, `value` holds no numbers, or iso-lines over words or switches.
    """
    frame = require(frame, "sweep2d", [x, y], numeric=[value])
    data = frame.groupby([x, y], sort=True)[[value]].mean().reset_index()
    data["label"] = [labels.number(v, 3) for v in data[value]]
    low, high = data[value].min(), data[value].max()
    data["dark"] = data[value] < (low + high) / 2
    data["configured"] = [
        start is not None and r[x] == start[x] and r[y] == start[y] for _, r in data.iterrows()
    ]
    columns = {labels.field(c): c for c in (x, y)}
    data = data.rename(columns={v: k for k, v in columns.items()})
    base = alt.Chart(data).encode(
        x=alt.X(f"{labels.field(x)}:O", title=labels.title(x), axis=alt.Axis(labelAngle=0)),
        y=alt.Y(f"{labels.field(y)}:O", title=labels.title(y), sort="descending"),
        tooltip=[
            *(alt.Tooltip(f"{k}:O", title=v) for k, v in columns.items()),
            alt.Tooltip(value, format=",.4r"),
        ],
    )
    colour = alt.Color(f"{value}:Q", title=labels.title(value), scale=alt.Scale(scheme="cividis"))
    cells = base.mark_rect().encode(color=colour)
    outline = base.transform_filter("datum.configured").mark_rect(
        filled=False, stroke=VERMILLION, strokeWidth=3, fillOpacity=0
    )
    chart = cells + outline
    levels = _levels(data[value], isolines)
    if levels:
        lines = _lines(data, labels.field(x), labels.field(y), value, levels)
        chart = alt.layer(chart, *lines).resolve_scale(x="independent", y="independent")
    else:
        ink = alt.when("datum.dark").then(alt.value(LIGHT)).otherwise(alt.value(DARK))
        chart = chart + base.mark_text(fontSize=11).encode(text="label:N", color=ink)
    best = data.iloc[int(data[value].argmax())]
    span = f"from {labels.number(low)} to {labels.number(high)}"
    peak = f"{x} = {best[labels.field(x)]}, {y} = {best[labels.field(y)]}"
    described = f"{title or 'Map'}: {labels.title(value)} over {x} and {y}, {span}; highest at {peak}."
    return chart.properties(
        title=title or labels.title(value),
        width=WIDTH,
        height=CELL_HEIGHT * data[labels.field(y)].nunique() if levels else alt.Step(CELL_HEIGHT),
        description=described,
        usermeta={"columns": columns},
    )


def _levels(values: pd.Series, asked: int | Sequence[float]) -> list[float]:
    """Where iso-lines are drawn: as asked, or at most so many at multiples of 1, 2 or 5 times a power of ten."""
    if not isinstance(asked, int):
        return [float(level) for level in asked]
    low, high = float(values.min()), float(values.max())
    if asked < 1 or not high > low:
        return []
    rough = (high - low) / (asked + 1)
    power = 10.0 ** np.floor(np.log10(rough))
    step = min(m * power for m in (1, 2, 5, 10) if m * power >= rough)
    return [
        float(level) for level in step * np.arange(np.ceil(low / step), high / step) if low < level < high
    ]


def _lines(data: pd.DataFrame, x: str, y: str, value: str, levels: list[float]) -> list[alt.Chart]:
    """Iso-lines and their values, over the cells: positions count cells, 0 is the centre of the first."""
    table: Any = data.pivot(index=y, columns=x, values=value)
    if not (setting.numeric(table.index) and setting.numeric(table.columns)) or min(table.shape) < 2:
        raise DataError(
            "nothing lies between these settings",
            place="charts.sweep2d",
            field="isolines",
            cure="sweep two parameters that are numbers, two settings or more of each, or leave iso-lines out",
        )
    generator: Any = contour_generator(z=np.ma.masked_invalid(table.to_numpy()))
    points, names = [], []
    for level in levels:
        lines = sorted(generator.lines(level), key=len)
        for n, line in enumerate(lines):
            path = {"level": level, "line": f"{level:g} {n}"}
            points += [{**path, "i": i, "column": c, "row": r} for i, (c, r) in enumerate(line.tolist())]
        if lines:  # the longest has room for the name
            column, row = lines[-1][len(lines[-1]) // 2].tolist()
            names.append({"column": column, "row": row, "label": labels.number(level)})
    if not points:
        return []
    height, width = table.shape
    axes: dict[str, Any] = {
        key: channel(f"{name}:Q", axis=None, scale=alt.Scale(domain=[-0.5, n - 0.5], nice=False, zero=False))
        for key, name, channel, n in (("x", "column", alt.X, width), ("y", "row", alt.Y, height))
    }
    drawn = alt.Chart(pd.DataFrame(points)).encode(
        **axes, order="i:Q", detail="line:N", tooltip=alt.Tooltip("level:Q", title=labels.title(value))
    )
    named = alt.Chart(pd.DataFrame(names)).encode(**axes, text="label:N")
    # Twice each: dark around light can be read on every colour of the scale.
    return [
        drawn.mark_line(color=DARK, strokeWidth=3.5),
        drawn.mark_line(color=LIGHT, strokeWidth=1.5),
        named.mark_text(color=DARK, stroke=DARK, strokeWidth=3, fontSize=11),
        named.mark_text(color=LIGHT, fontSize=11),
    ]
