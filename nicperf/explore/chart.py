"""The panel's chart: figures of this setting beside the one before and the published one, cost bar, limits.

The tables are named, so that a page can replace them while the drawing stays; colours of operations are those
of the first setting, so that they keep their meaning while a slider moves.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from nicperf.charts import labels
from nicperf.charts.theme import BLUE, GREY, INK, PALETTE, PUBLISHED, TOOLTIP
from nicperf.explore.outcome import Outcome
from nicperf.simulation.systems import SYSTEMS

KEPT = 7
OTHER = "everything else"
BAR_WIDTH = 230
NUMBER_WIDTH = 78
ROW_HEIGHT = 30
# The marks of the three columns, small, before their headings.
KEYS: dict[str, dict[str, Any]] = {
    "now": {"shape": "square", "filled": True, "color": BLUE, "size": 70, "opacity": 1},
    "before": {"shape": "stroke", "angle": 90, "color": INK, "size": 90, "strokeWidth": 2.5, "opacity": 0.75},
    "published": {**PUBLISHED, "size": 45, "strokeWidth": 1.5},
}
Rows = list[dict[str, Any]]


def kept_operations(start: Outcome) -> list[str]:
    """Operations that get a colour of their own: the dearest of the configuration without changes."""
    return list(dict.fromkeys(operation for _, operation in start.costs))[:KEPT]


def tables(now: Outcome, before: Outcome | None, start: Outcome) -> dict[str, Rows]:
    """What is drawn.

    Parameters
    ----------
    now, before, start : Outcome
        This setting, the one to compare with, and the configuration without changes, which sets the scales.

    Returns
    -------
    dict
        Table name -> rows: `figures`, `costs`, and `limits`, which takes further runs and is empty.
    """
    kept = kept_operations(start)
    costs = []
    for label, outcome in (("now", now), ("before", before)):
        if outcome is not None:
            costs += _bar(outcome, label, kept)
    return {"figures": _figures(now, before, start), "costs": costs, "limits": []}


def limit_rows(limits: Mapping[str, float]) -> Rows:
    """Rows of what limits, from `Outcome.limits`."""
    return [{"resource": name, "elasticity": value} for name, value in limits.items()]


def specification(
    start: Outcome, rows: dict[str, Rows], title: str, description: str, live: bool
) -> dict[str, Any]:
    """Vega-Lite specification with the tables in it.

    Parameters
    ----------
    start : Outcome
        The configuration without changes.
    rows : dict
        From `tables`.
    title, description : str
        What stands above, and what a reader hears who cannot see it.
    live : bool
        With a place for what limits, which comes later.
    """
    order = [row["quantity"] for row in rows["figures"]]
    compared = (
        ("now", "before")
        if live
        else tuple(dict.fromkeys(row["bar"].split(", ")[1] for row in rows["costs"]))
    )
    parts: list[Any] = [_figures_chart(order), _costs_chart(kept_operations(start), compared)]
    if live:
        parts.append(_limits_chart(list(SYSTEMS[start.setting.exp.config.driver].resources)))
    chart = alt.vconcat(*parts, spacing=22).resolve_scale(color="independent")
    spec: dict[str, Any] = chart.properties(title=title, description=description).to_dict()
    spec["datasets"] = rows
    return spec


def _figures(now: Outcome, before: Outcome | None, start: Outcome) -> Rows:
    """One row for each figure; lengths are shares of the longest, because each figure has a unit of its own."""
    published = now.published
    rows = []
    for name, value in now.figures.items():
        others = {
            "before": before.figures.get(name) if before else None,
            "published": published.get(name),
            "start": start.figures.get(name),
        }
        most = max([v for v in (value, *others.values()) if v is not None and math.isfinite(v)] + [1e-12])
        row: dict[str, Any] = {"quantity": _title(now, name)}
        for key, number in (("now", value), *others.items()):
            if key != "start":
                row[key] = number / most if number is not None and math.isfinite(number) else None
                row[f"{key}_text"] = None if number is None else labels.number(number)
        rows.append(row)
    return rows


def _title(outcome: Outcome, name: str) -> str:
    text = labels.title(name)
    cores = outcome.setting.exp.config.cores.get(name.removeprefix("cpu_percent_"), 1)
    return text.replace("(%)", f"(% of {cores})") if cores > 1 else text


def _bar(outcome: Outcome, label: str, kept: Sequence[str]) -> Rows:
    sums: dict[tuple[str, str], float] = {}
    for (side, operation), ns in outcome.costs.items():
        key = side, operation if operation in kept else OTHER
        sums[key] = sums.get(key, 0.0) + ns
    return [
        {
            "bar": f"{labels.SIDES.get(side, side)}, {label}",
            "operation": labels.spaced(operation),
            "ns_per_frame": ns,
            "rank": [*kept, OTHER].index(operation),
        }
        for (side, operation), ns in sums.items()
    ]


def _figures_chart(order: Sequence[str]) -> alt.LayerChart:
    y = alt.Y("quantity:N", title=None, sort=list(order), axis=alt.Axis(labelLimit=190))
    scale = alt.Scale(domain=[0, 1.04], range=[0, BAR_WIDTH])
    x = {key: alt.X(f"{key}:Q", scale=scale, axis=None) for key in ("now", "before", "published")}
    base = alt.Chart(alt.NamedData("figures"))
    there = {key: base.transform_filter(f"isValid(datum.{key})") for key in x}
    layers = [
        base.mark_bar(height=15, color=BLUE, tooltip=TOOLTIP).encode(x=x["now"]),
        there["before"].mark_tick(thickness=2.5, height=23, color=INK, opacity=0.75).encode(x=x["before"]),
        there["published"].mark_point(**{**PUBLISHED, "size": 110}).encode(x=x["published"]),
    ]
    weights: list[tuple[str, Any]] = [("now", 600), ("before", 400), ("published", 400)]
    for i, (key, weight) in enumerate(weights, 1):
        place = alt.value(BAR_WIDTH + i * NUMBER_WIDTH)
        text = base.transform_filter(f"isValid(datum.{key}_text)").mark_text(
            align="right", fontWeight=weight, fontSize=12.5
        )
        layers.append(text.encode(x=place, text=f"{key}_text:N"))
        once = base.transform_aggregate(n="count()")
        head = once.mark_text(align="right", opacity=0.8, fontSize=11)
        layers.append(head.encode(x=place, y=alt.value(-9), text=alt.value(key)))
        at = alt.value(BAR_WIDTH + i * NUMBER_WIDTH - 11 - 6 * len(key))
        layers.append(once.mark_point(**KEYS[key]).encode(x=at, y=alt.value(-9)))
    chart = alt.layer(*layers).encode(y=y)
    return chart.properties(width=BAR_WIDTH + 3 * NUMBER_WIDTH, height=alt.Step(ROW_HEIGHT))


def _costs_chart(kept: Sequence[str], compared: Sequence[str]) -> alt.LayerChart:
    operations = [labels.spaced(name) for name in [*kept, OTHER]]
    scale = alt.Scale(domain=operations, range=[*PALETTE[: len(kept)], GREY])
    colour = alt.Color("operation:N", title=None, scale=scale, legend=alt.Legend(columns=4, labelLimit=120))
    bars = [f"{side}, {label}" for side in labels.SIDES.values() for label in compared]
    title = alt.Title("Where does the CPU time of a frame go?", fontSize=13, offset=6)
    y = alt.Y("bar:N", title=None, sort=bars, scale=alt.Scale(domain=bars))
    base = alt.Chart(alt.NamedData("costs"))
    x = alt.X("ns_per_frame:Q", title="CPU time (ns per frame)", axis=alt.Axis(tickCount=5))
    stack = base.mark_bar(height=15, tooltip=TOOLTIP).encode(x=x, color=colour, order=alt.Order("rank:Q"))
    total = base.transform_aggregate(total="sum(ns_per_frame)", groupby=["bar"])
    text = total.mark_text(align="left", dx=5).encode(x="total:Q", text=alt.Text("total:Q", format=",.4~r"))
    layered = alt.layer(stack, text).encode(y=y)
    return layered.properties(title=title, width=BAR_WIDTH + 2.4 * NUMBER_WIDTH, height=alt.Step(22))


def _limits_chart(resources: Sequence[str]) -> alt.Chart:
    title = alt.Title("What limits it?", fontSize=13, offset=6)
    x = alt.X(
        "elasticity:Q",
        title="% of throughput per % that the resource gets faster",
        scale=alt.Scale(domain=[-0.2, 1.1], clamp=True),
        axis=alt.Axis(tickCount=6),
    )
    y = alt.Y("resource:N", title=None, sort=list(resources), scale=alt.Scale(domain=list(resources)))
    bars = alt.Chart(alt.NamedData("limits")).mark_bar(height=11, color=BLUE, tooltip=TOOLTIP)
    return bars.encode(x=x, y=y).properties(
        title=title, width=BAR_WIDTH + 2.4 * NUMBER_WIDTH, height=alt.Step(18)
    )
