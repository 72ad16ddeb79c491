"""What each patch of a series does, alone and on top of the ones before it."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import pandas as pd

from nicperf.charts import labels
from nicperf.charts.frame import require
from nicperf.charts.sweep import QUANTITIES
from nicperf.charts.theme import BLUE, TOOLTIP, VERMILLION, WIDTH

MODES = ("alone", "in order")
NUMBERS = ["step", "change", "change_low", "change_high"]


def ablation(
    frame: pd.DataFrame, quantities: Sequence[str] = QUANTITIES, *, title: str = "What does each patch do?"
) -> alt.FacetChart:
    """Draw the change that each patch makes, with the range over equally good parameter sets.

    Parameters
    ----------
    frame : pandas.DataFrame
        An experiment's ablation: columns `mode` (``alone`` or ``in order``), `patch`, `workload`, `quantity`,
        `unit` and the numbers `step` (0 is the reference and not drawn), `change, change_low, change_high`.
    quantities : sequence of str
        Quantities to draw, one panel each.
    title : str
        The question that the chart answers.

    Returns
    -------
    altair.FacetChart
        The workload is chosen by a list below the chart. A line spans the range that the data leave open.

    Raises
    ------
    DataError
        A column is missing or holds no numbers, or no row has one of `quantities`.
    """
    data = require(frame, "ablation", ["mode", "patch", "workload", "quantity", "unit"], NUMBERS)
    data = data[(data["step"] > 0) & data["quantity"].isin(quantities)]
    data = require(data, "ablation(quantities)", [])
    patches = [
        f"{step} {labels.spaced(name)}" for step, name in zip(data["step"], data["patch"], strict=True)
    ]
    data = data.assign(patch=patches)
    units = dict(zip(data["quantity"], data["unit"], strict=True))
    drawn = data[["patch", "mode", "workload", "quantity", *NUMBERS[1:]]]
    workloads = list(dict.fromkeys(drawn["workload"]))
    spoken = _largest(drawn[drawn["workload"] == workloads[0]], units, workloads[0])
    titles = {q: f"{labels.title(q, with_unit=False)}: change ({units[q]})" for q in quantities if q in units}
    drawn = drawn.assign(quantity=drawn["quantity"].map(titles))
    shown = alt.param(
        name="shown", value=workloads[0], bind=alt.binding_select(options=workloads, name="workload ")
    )
    return (
        _panel(drawn)
        .add_params(shown)
        .transform_filter("datum.workload == shown")
        .facet(row=alt.Row("quantity:N", title=None, sort=list(titles.values())))
        .resolve_scale(x="independent")
        .properties(
            title=alt.Title(
                title,
                subtitle="By itself, and added to those before it. Lines: range over equally good fits.",
            ),
            description=f"{title} {spoken}",
        )
    )


def _panel(data: pd.DataFrame) -> alt.LayerChart | alt.FacetChart:
    """One quantity: the patches from top to bottom, both modes of each side by side."""
    axis = alt.Axis(title=None, format="+,.4~r")
    zero = alt.Chart().mark_rule(opacity=0.3).encode(x=alt.datum(0))
    place = alt.Chart().encode(
        y=alt.Y("patch:N", title=None, sort=None),
        yOffset=alt.YOffset("mode:N", sort=list(MODES)),
        color=alt.Color("mode:N", title=None, scale=alt.Scale(domain=list(MODES), range=[BLUE, VERMILLION])),
    )
    ranges = place.mark_rule(strokeWidth=2).encode(x=alt.X("change_low:Q", axis=axis), x2="change_high:Q")
    marks = place.mark_point(filled=True, size=70, opacity=1, tooltip=TOOLTIP)
    layers = alt.layer(zero, ranges, marks.encode(x=alt.X("change:Q", axis=axis)), data=data)
    return layers.properties(width=WIDTH - 160, height=alt.Step(20, **{"for": "position"}))


def _largest(data: pd.DataFrame, units: dict[str, str], workload: str) -> str:
    """The patch with the largest change of each quantity, in words."""
    parts = []
    for quantity, rows in data.groupby("quantity", sort=False):
        top = rows.iloc[int(rows["change"].abs().argmax())]
        name, unit = labels.title(str(quantity), with_unit=False), units[str(quantity)]
        parts.append(
            f"{name} changes most with patch {top['patch']}, {top['mode']}: {top['change']:+.4g} {unit} "
            f"({top['change_low']:+.4g} to {top['change_high']:+.4g})."
        )
    return f"For {workload}: {' '.join(parts)}"
