"""How far held-out predictions are off: the model's beside those of predictors without a mechanism."""

from __future__ import annotations

import altair as alt
import pandas as pd

from nicperf.charts import labels
from nicperf.charts.frame import require
from nicperf.charts.theme import BLUE, GREY, TOOLTIP, WIDTH, panel_title

NAMES = ["predictor", "quantity"]
NUMBERS = ["rows", "median_error_percent", "worst_error_percent"]
MODEL = "model"
# A logarithmic axis has no zero; nobody measures a hundredth of a percent.
LEAST_PERCENT = 0.01


def scores(frame: pd.DataFrame, *, title: str = "Does the model beat a guess?") -> alt.VConcatChart:
    """Draw median and worst error of each predictor, one panel for each experiment and quantity.

    Parameters
    ----------
    frame : pandas.DataFrame
        From `nicperf.scores`: columns `predictor, quantity`, the numbers `rows, median_error_percent,
        worst_error_percent`, and `slug` where there are several experiments.
    title : str
        The question that the chart answers.

    Returns
    -------
    altair.VConcatChart
        The dot is the median, the line reaches to the worst row; the model has its own colour. Errors below
        0.01 % are drawn there.

    Raises
    ------
    DataError
        A column is missing or holds no numbers.
    """
    data = require(frame, "scores", NAMES, NUMBERS)
    slugs = data["slug"] + ": " if "slug" in data.columns else ""
    data["panel"] = slugs + data["quantity"].map(labels.title)
    data["who"] = (data["predictor"] == MODEL).map({True: "the model", False: "a baseline"})
    data["from"] = data["median_error_percent"].clip(lower=LEAST_PERCENT)
    data["to"] = data["worst_error_percent"].clip(lower=LEAST_PERCENT)
    spoken = [
        f"{panel}: "
        + ", ".join(
            f"{row['predictor']} {labels.number(float(row['median_error_percent']), 2)} %"
            for row in rows.to_dict("records")
        )
        for panel, rows in data.groupby("panel", sort=False)
    ]
    names = {name: labels.spaced(name) for name in dict.fromkeys(data["predictor"])}
    data["predictor"] = data["predictor"].map(names)
    scale = alt.Scale(
        type="log", domain=[LEAST_PERCENT, float(max(data["to"].max(), 100.0))], nice=False, padding=8
    )
    drawn = data[["panel", "predictor", "who", *NUMBERS, "from", "to"]]
    panels = list(dict.fromkeys(drawn["panel"]))
    return alt.vconcat(
        *(_panel(drawn, panel, list(names.values()), scale, panel == panels[-1]) for panel in panels),
        spacing=4,
    ).properties(
        title=alt.Title(title, subtitle="Held-out rows. Dot: median error. Line: up to the worst row."),
        description=f"{title} Median error, {'; '.join(spoken)}.",
    )


def _panel(
    data: pd.DataFrame, panel: str, order: list[str], scale: alt.Scale, last: bool
) -> alt.LayerChart | alt.FacetChart:
    """One experiment's quantity: a row for each predictor; only the last panel says what the axis is."""
    axis = alt.Axis(
        title="error (%)" if last else None,
        labels=last,
        ticks=last,
        format=",.6~r",
        values=[10.0**n for n in range(-2, 5)],
    )
    x = alt.X("from:Q", scale=scale, axis=axis)
    colours = alt.Scale(domain=["the model", "a baseline"], range=[BLUE, GREY])
    place = alt.Chart().encode(
        y=alt.Y("predictor:N", title=None, sort=order), color=alt.Color("who:N", title=None, scale=colours)
    )
    rules = place.mark_rule(strokeWidth=2).encode(x=x, x2="to:Q")
    dots = place.mark_point(filled=True, size=70, opacity=1, tooltip=TOOLTIP).encode(x=x)
    return (
        alt.layer(rules, dots, data=data)
        .transform_filter(f"datum.panel == '{panel}'")
        .properties(width=WIDTH - 140, height=alt.Step(15), title=panel_title(panel))
    )
