"""Where a copy around the cache pays: message size against the memory that the destinations take."""

from __future__ import annotations

import math

import altair as alt
import numpy as np
import pandas as pd

from nicperf.charts import labels
from nicperf.charts.frame import require
from nicperf.charts.theme import INK, PUBLISHED, TOOLTIP, WIDTH
from nicperf.live.fit import crossover_bytes

NUMBERS = ["size_bytes", "footprint_bytes", "cached_cycles", "nocache_cycles", "ratio"]
PLACE = ["size_bytes", "low_bytes", "high_bytes"]
HEIGHT = 300


def copy_map(
    frame: pd.DataFrame,
    published: pd.DataFrame | None = None,
    *,
    title: str = "When does a copy around the cache pay?",
) -> alt.LayerChart:
    """Draw what a call around the cache costs, in calls through it.

    Parameters
    ----------
    frame : pandas.DataFrame
        A row for each pair of settings: numbers `size_bytes, footprint_bytes, cached_cycles, nocache_cycles, ratio`.
    published : pandas.DataFrame, optional
        Where a published measurement lies: `size_bytes` and the range `low_bytes`..`high_bytes` of its footprint.
        What it found is not drawn: it counts more than the copy.
    title : str
        The question that the chart answers.

    Returns
    -------
    altair.LayerChart
        Colour tells the ratio, a line where both cost the same.

    Raises
    ------
    DataError
        A column is missing or holds no numbers.
    """
    data = require(frame, "copy_map", [], NUMBERS)[NUMBERS]
    for name in ("size", "footprint"):
        low, high = _edges(data[f"{name}_bytes"])
        data[f"{name}_low"], data[f"{name}_high"] = low, high
    data["factor"] = np.log2(data["ratio"])
    reach = max(1.0, float(data["factor"].abs().max()))
    ticks = {"format": ",", "labelExpr": _BINARY}
    x = alt.X(
        "size_low:Q",
        title="Message (bytes)",
        scale=alt.Scale(type="log", base=2, nice=False),
        axis=alt.Axis(values=_powers(data["size_bytes"]), **ticks),
    )
    y = alt.Y(
        "footprint_low:Q",
        title="Destination footprint (bytes)",
        scale=alt.Scale(type="log", base=2, nice=False),
        axis=alt.Axis(values=_powers(data["footprint_bytes"]), **ticks),
    )
    doublings = list(range(-math.floor(reach), math.floor(reach) + 1))
    legend = alt.Legend(
        gradientLength=260,
        values=doublings,
        labelExpr="datum.value < 0 ? '1/' + pow(2, -datum.value) : '' + pow(2, datum.value)",
    )
    scale = alt.Scale(scheme="blueorange", domain=[-reach, reach], domainMid=0)
    cells = (
        alt.Chart(data)
        .mark_rect(tooltip=TOOLTIP)
        .encode(
            x=x,
            x2="size_high:Q",
            y=y,
            y2="footprint_high:Q",
            color=alt.Color("factor:Q", title="around / through the cache", scale=scale, legend=legend),
        )
    )
    layers: list[alt.Chart] = [cells]
    contour, spoken = _contour(data)
    if not contour.empty:
        line = alt.Chart(contour).mark_line(color=INK, strokeWidth=2, strokeDash=[5, 3])
        layers.append(line.encode(x="size_low:Q", y="footprint_low:Q", order="order:Q", detail="piece:N"))
    if published is not None:
        place = require(published, "copy_map", [], PLACE)[PLACE]
        place["middle_bytes"] = np.sqrt(place["low_bytes"] * place["high_bytes"])
        base = alt.Chart(place).encode(x=alt.X("size_bytes:Q"))
        layers.append(base.mark_rule(color=INK, strokeWidth=2).encode(y="low_bytes:Q", y2="high_bytes:Q"))
        layers.append(base.mark_point(**PUBLISHED, tooltip=TOOLTIP).encode(y="middle_bytes:Q"))
    hollow = "" if published is None else " Hollow: where the published measurement lies."
    low, high = (labels.number(value, 3) for value in (data["ratio"].min(), data["ratio"].max()))
    return alt.layer(*layers).properties(
        width=WIDTH,
        height=HEIGHT,
        title=alt.Title(title, subtitle=f"Dashed: both copies cost the same.{hollow}"),
        description=f"{title} Cost around the cache over cost through it, from {low} to {high}. {spoken}",
    )


_BINARY = (
    "datum.value >= 1048576 ? datum.value / 1048576 + ' Mi' : "
    "datum.value >= 1024 ? datum.value / 1024 + ' Ki' : '' + datum.value"
)


def _powers(values: pd.Series) -> list[int]:
    low, high = (math.log2(value) for value in (values.min(), values.max()))
    return [2**power for power in range(math.ceil(low), math.floor(high) + 1, 2)]


def _edges(values: pd.Series) -> tuple[pd.Series, pd.Series]:
    """Borders of the cells: half way to the neighbours, in the logarithm."""
    places = np.log2(np.sort(values.unique()))
    gaps = np.diff(places) / 2 if len(places) > 1 else np.array([0.5])
    low = dict(zip(2**places, 2 ** (places - np.append(gaps[:1], gaps)[: len(places)]), strict=True))
    high = dict(zip(2**places, 2 ** (places + np.append(gaps, gaps[-1:])[: len(places)]), strict=True))
    at = 2 ** np.log2(values)
    return at.map(low), at.map(high)


def _contour(data: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Corners of the line, footprint by footprint; a piece begins and ends at the right edge or that of the map."""
    ordered = data.sort_values(["footprint_bytes", "size_bytes"])
    left, right = data["size_low"].min(), data["size_high"].max()
    corners: list[tuple[float, float, int]] = []
    spoken: dict[str, str] = {}
    piece, open_below = 0, False
    for footprint, row in ordered.groupby("footprint_bytes"):
        low, high = row["footprint_low"].iloc[0], row["footprint_high"].iloc[0]
        at = crossover_bytes(
            *(row[name].tolist() for name in ("size_bytes", "cached_cycles", "nocache_cycles"))
        )
        if at == math.inf:
            corners += [(right, low, piece)] if corners and not open_below else []
            piece, open_below = piece + 1, row["size_high"].max() == right
            continue
        spoken.setdefault(f"{labels.number(at, 3)} bytes", f"{labels.number(footprint / 1024)} KiB")
        at = left if at == row["size_bytes"].min() else at
        corners += [(right, low, piece)] if open_below else []
        corners += [(at, low, piece), (at, high, piece)]
        open_below = False
    frame = pd.DataFrame(corners, columns=["size_low", "footprint_low", "piece"])
    if not corners:
        return frame, "It never pays."
    words = "; ".join(f"from {size} on at a footprint of {ring}" for size, ring in spoken.items())
    return frame.assign(order=range(len(frame))), f"It pays {words}."
