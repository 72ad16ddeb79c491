"""Map over two swept parameters."""

from __future__ import annotations

import altair as alt
import pandas as pd

from nicperf.charts import labels
from nicperf.charts.frame import require
from nicperf.charts.theme import VERMILLION, WIDTH


def sweep2d(
    frame: pd.DataFrame,
    x: str,
    y: str,
    value: str = "throughput_mbit_s",
    *,
    start: dict | None = None,
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
    title : str
        The question that the chart answers.

    Returns
    -------
    altair.LayerChart

    Raises
    ------
    DataError
        A column is missing or `value` holds no numbers.
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
    ink = alt.when("datum.dark").then(alt.value("#ffffff")).otherwise(alt.value("#1a1a1a"))
    text = base.mark_text(fontSize=11).encode(text="label:N", color=ink)
    best = data.iloc[int(data[value].argmax())]
    span = f"from {labels.number(low)} to {labels.number(high)}"
    peak = f"{x} = {best[labels.field(x)]}, {y} = {best[labels.field(y)]}"
    described = f"{title or 'Map'}: {labels.title(value)} over {x} and {y}, {span}; highest at {peak}."
    return (cells + outline + text).properties(
        title=title or labels.title(value),
        width=WIDTH,
        height=alt.Step(26),
        description=described,
        usermeta={"columns": columns},
    )
