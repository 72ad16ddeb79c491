"""What a byte costs to copy, through the cache and around it, by message size and footprint."""

from __future__ import annotations

import altair as alt
import pandas as pd

from nicperf.charts import labels
from nicperf.charts.frame import require
from nicperf.charts.theme import BLUE, INK, TOOLTIP, VERMILLION, WIDTH

MODES = {"cached": BLUE, "nocache": VERMILLION}
NUMBERS = ["footprint_bytes", "size_bytes", "p10_ns_per_byte", "median_ns_per_byte"]
WORDS = ["scenario", "source", "placement", "footprint", "mode", "routine"]
PANEL_HEIGHT = 150


def copies(
    cells: pd.DataFrame,
    crossovers: pd.DataFrame | None = None,
    *,
    placement: str = "aligned",
    title: str = "When does a copy around the cache pay?",
) -> alt.FacetChart:
    """Draw the cost of a copied byte against the message size, a panel for each footprint.

    Parameters
    ----------
    cells : pandas.DataFrame
        Results of a live copy experiment: columns `scenario, source, placement, footprint, mode, routine` and the
        numbers `footprint_bytes, size_bytes, p10_ns_per_byte, median_ns_per_byte`. Copies alone, from a hot
        source, are drawn.
    crossovers : pandas.DataFrame, optional
        Columns `placement, footprint, footprint_bytes, cached, nocache, crossover_bytes`: marked where a number.
    placement : str
        Destinations to draw, `aligned` or `packed`.
    title : str
        The question that the chart answers.

    Returns
    -------
    altair.FacetChart
        Lines through the 10th percentiles, a bar up to the median, a dashed rule at each crossover.

    Raises
    ------
    DataError
        A column is missing or holds no numbers, or no row is to be drawn.
    """
    data = require(cells, "copies", WORDS, NUMBERS)
    drawn = (data["scenario"] == "alone") & (data["source"] == "hot") & (data["placement"] == placement)
    data = require(data[drawn], "copies", WORDS, NUMBERS)[[*WORDS[3:], *NUMBERS]]
    routines = list(dict.fromkeys(data["routine"]))
    if crossovers is not None:
        marks = crossovers[crossovers["placement"] == placement].dropna(subset=["crossover_bytes"])
        data = pd.concat([data, marks.drop(columns="placement")], ignore_index=True)
    sizes = data.groupby("footprint", sort=False)["footprint_bytes"].first()
    data["panel"] = data["footprint"].map(
        {name: f"{name}: ring of {_size(sizes[name])}" for name in sizes.index}
    )

    ticks = alt.Axis(values=[4**power for power in range(3, 13)], format=",")
    scale = alt.Scale(type="log", base=2, nice=False, padding=8)
    x = alt.X("size_bytes:Q", title="Message (bytes)", scale=scale, axis=ticks)
    decades = alt.Axis(values=[10.0**power for power in range(-5, 5)], format="~r")
    y = alt.Y("p10_ns_per_byte:Q", title="ns per byte", scale=alt.Scale(type="log"), axis=decades)
    colour = alt.Color("mode:N", title=None, scale=alt.Scale(domain=[*MODES], range=[*MODES.values()]))
    shape = alt.Shape("routine:N", title=None, scale=alt.Scale(domain=routines))
    base = alt.Chart().transform_filter("isValid(datum.size_bytes)").encode(x=x, y=y, color=colour)
    lines = base.mark_line(strokeWidth=1.5).encode(detail="routine:N")
    spread = base.mark_rule(opacity=0.5).encode(y2="median_ns_per_byte:Q")
    points = base.mark_point(filled=True, size=45, opacity=1, tooltip=TOOLTIP).encode(shape=shape)
    layers = [lines, spread, points]
    if "crossover_bytes" in data:
        crossing = alt.Chart().transform_filter("isValid(datum.crossover_bytes)")
        rule = crossing.mark_rule(strokeDash=[4, 3], color=INK, tooltip=TOOLTIP)
        layers.append(rule.encode(x=alt.X("crossover_bytes:Q", title="Message (bytes)")))
    return (
        alt.layer(*layers, data=data)
        .properties(width=WIDTH / 2 - 60, height=PANEL_HEIGHT)
        .facet(alt.Facet("panel:N", title=None, sort=list(dict.fromkeys(data["panel"]))), columns=2)
        .properties(
            title=alt.Title(title, subtitle="10th percentile, bar to the median; dashed: crossover."),
            description=f"{title} In ns per byte at the largest message: {_spoken(data)}.",
        )
    )


def _spoken(data: pd.DataFrame) -> str:
    """The cheapest routine of each mode in each panel."""
    costs = data.dropna(subset=["size_bytes"])
    largest = costs[costs["size_bytes"] == costs.groupby("panel")["size_bytes"].transform("max")]
    best = largest.groupby(["panel", "mode"], sort=False)["p10_ns_per_byte"].min()
    rows = best.reset_index().to_dict("records")
    return "; ".join(f"{r['panel']}, {r['mode']} {labels.number(r['p10_ns_per_byte'], 3)}" for r in rows)


def _size(n_bytes: float) -> str:
    for unit, shift in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if n_bytes >= 1 << shift:
            return f"{labels.number(n_bytes / (1 << shift), 3)} {unit}"
    return f"{labels.number(n_bytes)} bytes"
