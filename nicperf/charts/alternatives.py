"""Explanations that compete: the errors that each makes, row by row."""

from __future__ import annotations

import altair as alt
import pandas as pd

from nicperf.charts.frame import require
from nicperf.charts.theme import INK, PALETTE, ROLE_TITLES, TOOLTIP, WIDTH, panel_title

NAMES = ["explanation", "id", "role", "verdict"]
NUMBERS = ["published", "predicted", "error_percent", "tolerance_percent"]


def alternatives(
    frame: pd.DataFrame, *, title: str = "Which explanation do the rows allow?"
) -> alt.VConcatChart:
    """Draw the error of every row under each explanation, beside the row's tolerance.

    Parameters
    ----------
    frame : pandas.DataFrame
        A row for each explanation and figure: columns `explanation, id, role, verdict` and the numbers
        `published, predicted, error_percent, tolerance_percent`.
    title : str
        The question that the chart answers.

    Returns
    -------
    altair.VConcatChart
        One panel for each role; each explanation has its own colour and shape.

    Raises
    ------
    DataError
        A column is missing or holds no numbers.
    """
    data = require(frame, "alternatives", NAMES, NUMBERS)
    data["row"] = [" · ".join(name.split(".")[:2]) for name in data["id"]]
    data["role"] = data["role"].replace(ROLE_TITLES)
    roles = [role for role in ROLE_TITLES.values() if role in set(data["role"])]
    counts = data.assign(good=data["verdict"] == "reproduced").groupby("explanation", sort=False)["good"]
    spoken = "; ".join(f"{name} {good.sum()} of {len(good)} rows inside" for name, good in counts)
    drawn = data[["row", "explanation", "role", "verdict", *NUMBERS]]
    return alt.vconcat(*(_panel(drawn, role) for role in roles), spacing=16).properties(
        title=alt.Title(title, subtitle="Each mark is one explanation, refitted. Grey band: tolerance."),
        description=f"{title} Errors in percent of the published figure: {spoken}.",
    )


def _panel(data: pd.DataFrame, role: str) -> alt.LayerChart | alt.FacetChart:
    """Rows of one role; the explanations of a row stand side by side in its band."""
    names = list(dict.fromkeys(data["explanation"]))
    reach = [*data["error_percent"], *data["tolerance_percent"], *-data["tolerance_percent"]]
    x = alt.X(
        "error_percent:Q",
        axis=alt.Axis(title="error (%)", format="+,.4~r"),
        scale=alt.Scale(domain=[min(reach), max(reach)], nice=True, padding=8),
    )
    place = alt.Chart().encode(
        y=alt.Y("row:N", title=None, sort=None), yOffset=alt.YOffset("explanation:N", sort=names)
    )
    zero = alt.Chart().mark_rule(opacity=0.4).encode(x=alt.datum(0))
    band = place.transform_calculate(low="-datum.tolerance_percent").mark_bar(color=INK, opacity=0.14)
    legend = alt.Legend(columns=3)
    colours = alt.Scale(domain=names, range=PALETTE[: len(names)])
    marks = place.mark_point(filled=True, size=55, opacity=1, tooltip=TOOLTIP).encode(
        x=x,
        color=alt.Color("explanation:N", title=None, scale=colours, legend=legend),
        shape=alt.Shape("explanation:N", title=None, scale=alt.Scale(domain=names), legend=legend),
    )
    inside = band.encode(x=alt.X("low:Q"), x2="tolerance_percent:Q")
    return (
        alt.layer(inside, zero, marks, data=data)
        .transform_filter(f"datum.role == '{role}'")
        .properties(width=WIDTH - 150, height=alt.Step(40, **{"for": "position"}), title=panel_title(role))
    )
