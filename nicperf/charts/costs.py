"""Where the nanoseconds go: CPU cost and bus occupancy per frame, as bars that add up."""

from __future__ import annotations

from collections.abc import Mapping

import altair as alt
import pandas as pd

from nicperf.charts import labels
from nicperf.charts.frame import require
from nicperf.charts.theme import GREY, PALETTE, PUBLISHED, TOOLTIP, WIDTH

KEPT = 7
OTHER = "everything else"


def costs(
    frame: pd.DataFrame,
    *,
    by: str = "context",
    published: Mapping[str, float] | None = None,
    title: str = "Where does the CPU time of a frame go?",
) -> alt.FacetChart:
    """Draw the CPU cost of a frame as stacked bars, one colour for each operation.

    Parameters
    ----------
    frame : pandas.DataFrame
        A run's costs: columns `side, context, operation, ns_per_frame`, and `by`.
    by : str
        Column that makes the bars: `context` for one run, `configuration` for several runs in one frame.
    published : mapping, optional
        Bar -> published time of a frame, in ns; drawn hollow.
    title : str
        The question that the chart answers.

    Returns
    -------
    altair.FacetChart
        The largest operations have a colour each, the others share one. A side's bars add up to its CPU time.

    Raises
    ------
    DataError
        A column is missing or holds no numbers.
    """
    data = require(frame, "costs", ["side", "context", "operation", by], ["ns_per_frame"])
    return _stacks(data, by, title, "CPU time (ns per frame)", published or {})


def bus(frame: pd.DataFrame, *, by: str = "side", title: str = "What occupies the bus?") -> alt.FacetChart:
    """Draw the occupancy of the buses per frame as stacked bars, one colour for each use.

    Parameters
    ----------
    frame : pandas.DataFrame
        A run's bus ledger: columns `side, use, ns_per_frame`, and `by`.
    by : str
        Column that makes the bars: `side` for one run, `configuration` for several runs in one frame.
    title : str
        The question that the chart answers.

    Returns
    -------
    altair.FacetChart

    Raises
    ------
    DataError
        A column is missing or holds no numbers.
    """
    data = require(frame, "bus", ["side", "use", by], ["ns_per_frame"]).rename(columns={"use": "operation"})
    if by == "side":
        data = data.assign(bar=data["side"].map(lambda side: labels.SIDES.get(side, side)), side=" ")
        by = "bar"
    return _stacks(data, by, title, "bus time (ns per frame)", {})


def _stacks(
    data: pd.DataFrame, by: str, title: str, unit: str, published: Mapping[str, float]
) -> alt.FacetChart:
    data, operations = _fold(data, by)
    totals = data.groupby(["side", by], sort=False, as_index=False)["ns_per_frame"].sum()
    palette = [*PALETTE[: len(operations) - (OTHER in operations)], GREY]
    scale = alt.Scale(domain=operations, range=palette)
    colour = alt.Color("operation:N", title=None, scale=scale, legend=alt.Legend(columns=3))
    most = max([totals["ns_per_frame"].max(), *published.values()])
    # Room for the totals at the right; one axis for all sides, so that their bars can be compared.
    x = alt.X("ns_per_frame:Q", title=unit, scale=alt.Scale(domain=[0, most * 1.12]))
    bars = (
        alt.Chart().mark_bar(height=20, tooltip=TOOLTIP).encode(x=x, color=colour, order=alt.Order("rank:Q"))
    )
    # Vega sums the bars itself, so that all layers share one frame and one data table.
    text = alt.Text("total:Q", format=",.4~r")
    if not published:
        total = alt.Chart().transform_aggregate(total="sum(ns_per_frame)", groupby=["side", by])
        layers = [bars, total.mark_text(align="left", dx=5).encode(x="total:Q", text=text)]
    else:
        total = alt.Chart().transform_aggregate(
            total="sum(ns_per_frame)", mark="max(published)", groupby=["side", by]
        )
        # A number that the published mark would cover goes to the right of it.
        near = f"datum.mark > datum.total && datum.mark < datum.total + {most / 8:.0f}"
        total = total.transform_calculate(place=f"{near} ? datum.mark : datum.total")
        layers = [bars, total.mark_text(align="left", dx=10).encode(x="place:Q", text=text)]
        # On one piece of each bar.
        first = ~data.duplicated([by, "side"])
        data = data.assign(published=data[by].map(published).where(first))
        marks = alt.Chart().transform_filter("isValid(datum.published)").mark_point(**PUBLISHED)
        layers.append(marks.encode(x=alt.X("published:Q", title=unit)))
    named = [
        f"{r['side']} {r[by]} {labels.number(r['ns_per_frame'], 3)} ns".strip() for _, r in totals.iterrows()
    ]
    return (
        alt.layer(*layers, data=data)
        .encode(y=alt.Y(f"{by}:N", title=None, sort=list(dict.fromkeys(data[by]))))
        .properties(width=WIDTH - 130, height=alt.Step(28))
        .facet(row=alt.Row("side:N", title=None, sort=list(dict.fromkeys(data["side"]))))
        .properties(title=title, description=f"{title} Stacked bars in ns per frame: {'; '.join(named)}.")
    )


def _fold(data: pd.DataFrame, by: str) -> tuple[pd.DataFrame, list[str]]:
    """Keep the largest operations by name and sum up the others, in an order common to all bars."""
    data = data.assign(
        side=data["side"].map(lambda side: labels.SIDES.get(side, side)),
        operation=data["operation"].map(labels.spaced),
        **({"context": data["context"].map(labels.spaced)} if by == "context" else {}),
    )
    sizes = data.groupby("operation")["ns_per_frame"].sum().sort_values(ascending=False, kind="stable")
    kept = list(sizes.index[:KEPT])
    folded = data.assign(operation=data["operation"].where(data["operation"].isin(kept), OTHER))
    summed = folded.groupby(["side", by, "operation"], sort=False, as_index=False)["ns_per_frame"].sum()
    operations = kept + ([OTHER] if len(sizes) > KEPT else [])
    return summed.assign(rank=summed["operation"].map(operations.index)), operations
