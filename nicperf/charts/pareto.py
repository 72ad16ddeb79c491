"""Throughput against CPU: every setting of a sweep, the front that none beats, and where the experiment stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import pandas as pd

from nicperf.charts import labels
from nicperf.charts.frame import require
from nicperf.charts.theme import BLUE, GREY, INK, PUBLISHED, VERMILLION, WIDTH
from nicperf.stats.pareto import FLAG
from nicperf.stats.pareto import pareto as on_front

HEIGHT = 320


def pareto(
    frame: pd.DataFrame,
    settings: Sequence[str],
    x: str = "cpu_percent_local",
    y: str = "throughput_mbit_s",
    *,
    published: pd.DataFrame | None = None,
    start: Mapping[str, Any] | None = None,
    title: str = "",
) -> alt.LayerChart:
    """Draw what is to be small against what is to be large, with the front of settings that none beats in both.

    Parameters
    ----------
    frame : pandas.DataFrame
        A sweep: the columns `settings`, `x` and `y`. Rows that differ in the seed only are averaged.
    settings : sequence of str
        Swept parameters, dotted names.
    x, y : str
        Quantities of the run's summary: the smaller `x` and the larger `y`, the better.
    published : pandas.DataFrame, optional
        Published points, with columns `x` and `y`; drawn hollow.
    start : mapping, optional
        Swept parameter -> its present setting; that point is ringed.
    title : str
        The question that the chart answers.

    Returns
    -------
    altair.LayerChart
        The pointer reads the settings of each point.

    Raises
    ------
    DataError
        A column is missing or holds no numbers.
    """
    names = list(settings)
    frame = require(frame, "pareto", names, numeric=[x, y])
    data = on_front(frame.groupby(names, sort=False)[[x, y]].mean().reset_index(), [y], [x])
    data["now"] = [start is not None and all(r[n] == start[n] for n in names) for _, r in data.iterrows()]
    columns = {labels.field(name): name for name in names}
    data = data.rename(columns={name: field for field, name in columns.items()})
    front = data[data[FLAG]].sort_values([x, y])
    scale = alt.Scale(zero=False, nice=True, padding=12)
    axes: dict[str, Any] = {
        "x": alt.X(f"{x}:Q", title=labels.title(x), scale=scale),
        "y": alt.Y(f"{y}:Q", title=labels.title(y), scale=scale),
    }
    tooltip = [
        *(alt.Tooltip(field, title=name) for field, name in columns.items()),
        *(alt.Tooltip(name, title=labels.title(name), format=",.4r") for name in (x, y)),
    ]
    base = alt.Chart(data).encode(**axes, tooltip=tooltip)
    layers: list[alt.Chart] = [
        # Steps: between two points of the front no setting is known that would do better.
        alt.Chart(front).mark_line(interpolate="step-after", color=BLUE).encode(**axes, order=f"{x}:Q"),
        base.transform_filter(f"!datum.{FLAG}").mark_point(filled=True, size=22, color=GREY, opacity=0.6),
        base.transform_filter(f"datum.{FLAG}").mark_point(filled=True, size=70, color=BLUE, opacity=1),
        base.transform_filter("datum.now").mark_point(
            filled=False, shape="circle", size=260, strokeWidth=2.5, color=VERMILLION, opacity=1
        ),
        _words(data[data["now"]].head(1), axes, "present setting", VERMILLION, 1),
    ]
    if published is not None and not published.empty:
        marks = require(published, "pareto(published)", [], numeric=[x, y])
        layers.append(alt.Chart(marks).mark_point(**PUBLISHED).encode(**axes))
        layers.append(_words(marks.head(1), axes, "published", INK, -1))
    ends = [front.iloc[0], front.iloc[-1]]
    low, high = (f"{labels.number(e[y])} at {labels.number(e[x])}" for e in ends)
    chart: Any = alt.layer(*layers)
    return chart.properties(
        title=alt.Title(title or "Which settings does none beat?", subtitle=_key(data)),
        width=WIDTH,
        height=HEIGHT,
        description=f"{title or 'Pareto front.'} {labels.title(y)} against {labels.title(x)}: {len(front)} of "
        f"{len(data)} settings are on the front, from {low} to {high}.",
        usermeta={"columns": columns},
    )


def _words(data: pd.DataFrame, axes: dict[str, Any], words: str, colour: str, side: int) -> alt.Chart:
    """A name beside a mark, so that it needs no legend: above on the right (1) or on the left (-1)."""
    place: dict[str, Any] = {"align": "left" if side > 0 else "right", "dx": 14 * side, "dy": -6 - 6 * side}
    return alt.Chart(data).mark_text(text=words, color=colour, **place).encode(**axes)


def _key(data: pd.DataFrame) -> str:
    return f"blue: the {data[FLAG].sum()} of {len(data)} settings that none beats in both; grey: the others"
