"""Explanations that compete: the errors that each makes, row by row."""

from __future__ import annotations

import altair as alt
import pandas as pd

from nicperf.charts.frame import require
from nicperf.charts.theme import INK, PALETTE, ROLE_TITLES, TOOLTIP, WIDTH

NAMES = ["explanation", "id", "role", "verdict"]
NUMBERS = ["published", "predicted", "error_percent", "tolerance_percent"]


def alternatives(
    frame: pd.DataFrame, *, title: str = "Which explanation do the rows allow?"
) -> alt.FacetChart:
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
    altair.FacetChart
        One panel for each role; each explanation has its own colour and shape.

    Raises
    ------
    DataError
        A column is missing or holds no numbers.
    """
    data = require(frame, "alternatives", NAMES, NUMBERS)
    data["row"] = [" · ".join(name.split(".")[:2]) for name in data["id"]]
    data["role"] = data["role"].replace(ROLE_TITLES)
    names = list(dict.fromkeys(data["explanation"]))
    roles = [role for role in ROLE_TITLES.values() if role in set(data["role"])]
    axis = alt.Axis(title="error (%)", format="+,.4~r")
    # Every layer has the offset: a layer without it would stand elsewhere in the row.
    place = alt.Chart().encode(
        y=alt.Y("row:N", title=None, sort=None), yOffset=alt.YOffset("explanation:N", sort=names)
    )
    band = place.transform_calculate(low="-datum.tolerance_percent").mark_bar(color=INK, opacity=0.14)
    scale = alt.Scale(domain=names, range=PALETTE[: len(names)])
    legend = alt.Legend(columns=2)
    marks = place.mark_point(filled=True, size=60, opacity=1, tooltip=TOOLTIP).encode(
        x=alt.X("error_percent:Q", axis=axis),
        color=alt.Color("explanation:N", title=None, scale=scale, legend=legend),
        shape=alt.Shape("explanation:N", title=None, scale=alt.Scale(domain=names), legend=legend),
    )
    zero = alt.Chart().mark_rule(opacity=0.4).encode(x=alt.datum(0))
    layers = alt.layer(
        band.encode(x=alt.X("low:Q", axis=axis), x2="tolerance_percent:Q"),
        zero,
        marks,
        data=data[["row", *NAMES, *NUMBERS]].drop(columns="id"),
    )
    counts = (
        data.assign(good=data["verdict"] == "reproduced")
        .groupby("explanation", sort=False)["good"]
        .agg(["sum", "size"])
    )
    spoken = "; ".join(f"{name} {r['sum']} of {r['size']} rows inside" for name, r in counts.iterrows())
    return (
        layers.properties(width=WIDTH - 150, height=alt.Step(36, **{"for": "position"}))
        .facet(row=alt.Row("role:N", title=None, sort=roles))
        .resolve_scale(y="independent")
        .properties(
            title=alt.Title(title, subtitle="Each mark is one explanation, refitted. Grey band: tolerance."),
            description=f"{title} Errors in percent of the published figure: {spoken}.",
        )
    )
