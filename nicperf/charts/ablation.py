"""What each patch of a series does, alone and on top of the ones before it."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import pandas as pd

from nicperf.charts import labels
from nicperf.charts.frame import require
from nicperf.charts.sweep import QUANTITIES
from nicperf.charts.theme import BLUE, INK, VERMILLION, WIDTH

MODES = {"alone": "alone", "in order": "on top of those before it"}
NUMBERS = ["step", "change", "change_low", "change_high"]


def ablation(
    frame: pd.DataFrame, quantities: Sequence[str] = QUANTITIES, *, title: str = "What does each patch do?"
) -> alt.VConcatChart:
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
    altair.VConcatChart
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
    data = data.assign(patch=patches, mode=data["mode"].replace(MODES))
    units = dict(zip(data["quantity"], data["unit"], strict=True))
    drawn = data[["patch", "mode", "workload", "quantity", *NUMBERS[1:]]]
    workloads = list(dict.fromkeys(drawn["workload"]))
    shown = alt.param(
        name="shown", value=workloads[0], bind=alt.binding_select(options=workloads, name="workload ")
    )
    panels = [_panel(drawn, name, units[name]) for name in quantities if name in units]
    return (
        alt.vconcat(*panels, spacing=20)
        .add_params(shown)
        .properties(
            title=alt.Title(title, subtitle="Lines: range over parameter sets that fit equally well."),
            description=f"{title} {_largest(drawn[drawn['workload'] == workloads[0]], units, workloads[0])}",
        )
    )


def _panel(data: pd.DataFrame, quantity: str, unit: str) -> alt.LayerChart:
    """One quantity: the patches from top to bottom, both modes of each side by side."""
    axis = alt.Axis(title=f"{labels.title(quantity, with_unit=False)}: change ({unit})", format="+,.4~r")
    scale = alt.Scale(domain=list(MODES.values()), range=[BLUE, VERMILLION])
    base = (
        alt.Chart(data)
        .transform_filter(f"datum.quantity == '{quantity}' && datum.workload == shown")
        .encode(
            y=alt.Y("patch:N", title=None, sort=None),
            yOffset=alt.YOffset("mode:N", sort=list(MODES.values())),
            color=alt.Color("mode:N", title=None, scale=scale),
            tooltip=["patch:N", "mode:N", *(alt.Tooltip(f"{n}:Q", format="+,.4~r") for n in NUMBERS[1:])],
        )
    )
    zero = alt.Chart(alt.InlineData([{}])).mark_rule(color=INK, opacity=0.5).encode(x=alt.datum(0))
    ranges = base.mark_rule(strokeWidth=2).encode(x=alt.X("change_low:Q", axis=axis), x2="change_high:Q")
    marks = base.mark_point(filled=True, size=70, opacity=1).encode(x=alt.X("change:Q", axis=axis))
    return (zero + ranges + marks).properties(width=WIDTH - 160, height=alt.Step(20, **{"for": "position"}))


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
