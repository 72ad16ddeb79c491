"""Published against predicted: all rows of a ledger as a scatter, and one row each as a pair of marks."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import pandas as pd

from nicperf.charts import labels
from nicperf.charts.frame import require
from nicperf.charts.theme import INK, PUBLISHED, ROLE_TITLES, ROLES, TOOLTIP, WIDTH, panel_title

NAMES = ["id", "configuration", "workload", "side", "quantity", "unit", "role", "verdict"]
NUMBERS = ["published", "predicted", "error_percent"]
DRAWN = ["row", "quantity", "unit", "role", "verdict", *NUMBERS]
ROW_HEIGHT = 20
EVERY = "all"


def ledger(
    frame: pd.DataFrame, *, title: str = "Does the model predict what was published?"
) -> alt.LayerChart:
    """Draw every predicted row against its published figure on logarithmic axes.

    Parameters
    ----------
    frame : pandas.DataFrame
        Ledger: columns `id, configuration, workload, side, quantity, unit, role, verdict` and the numbers
        `published, predicted, error_percent`. Rows without a prediction are left out, and counted. Of several
        experiments, told apart by a column `slug`, one can be chosen by a list below the chart. What else is
        known of a row (`low, high, why, claims`) shows when the pointer rests on it.
    title : str
        The question that the chart answers.

    Returns
    -------
    altair.LayerChart
        A row on the diagonal is predicted exactly. Each role has its own colour; each experiment, or each
        quantity where there is one experiment only, its own mark.

    Raises
    ------
    DataError
        A column is missing or holds no numbers.
    """
    data = _predicted(require(frame, "ledger", NAMES, NUMBERS))
    data["quantity"] = data["quantity"].map(labels.title)
    low, high = 0.7 * data[NUMBERS[:2]].min().min(), 1.4 * data[NUMBERS[:2]].max().max()
    scale = alt.Scale(type="log", nice=False, domain=[low, high])
    axis = alt.Axis(format=",.6~r", values=[10.0**n for n in range(-3, 10)])
    diagonal = alt.Chart(alt.InlineData([{}])).mark_rule(strokeDash=[4, 4], opacity=0.6)
    diagonal = diagonal.encode(x=alt.datum(low), x2=alt.datum(high), y=alt.datum(low), y2=alt.datum(high))
    several = "slug" in data.columns
    told = [*(["slug"] if several else []), "id", *DRAWN[1:], "low", "high", "why", "claims"]
    marks = (
        alt.Chart(data[[name for name in told if name in data.columns]])
        .mark_point(filled=True, opacity=0.85, size=80, tooltip=TOOLTIP)
        .encode(
            x=alt.X("published:Q", title="published (unit of the row)", scale=scale, axis=axis),
            y=alt.Y("predicted:Q", title="predicted (same unit)", scale=scale, axis=axis),
            color=_role(data),
            shape=alt.Shape("slug:N" if several else "quantity:N", title=None, legend=alt.Legend(columns=3)),
        )
    )
    if several:
        options = [EVERY, *dict.fromkeys(data["slug"])]
        shown = alt.param(
            name="shown", value=EVERY, bind=alt.binding_select(options=options, name="experiment ")
        )
        marks = marks.add_params(shown).transform_filter(f"shown == '{EVERY}' || datum.slug == shown")
    missing = len(frame) - len(data)
    note = f"{len(data)} rows; {missing} more have no prediction" if missing else f"{len(data)} rows"
    return (diagonal + marks).properties(
        width=WIDTH,
        height=380,
        title=alt.Title(title, subtitle=f"{note}. On the dashed line, predicted equals published."),
        description=f"{title} Scatter of {note}: {_tally(data)}.",
    )


def figures(
    frame: pd.DataFrame,
    quantities: Sequence[str] | None = None,
    *,
    title: str = "Published and predicted, row by row",
) -> alt.VConcatChart:
    """Draw each row of a ledger as a line of its own: published mark, predicted mark, tolerance band.

    Parameters
    ----------
    frame : pandas.DataFrame
        Ledger as for `ledger`; a column `tolerance_percent` gives the band, columns `low` and `high` the
        range of predictions over equally good parameter sets.
    quantities : sequence of str, optional
        Quantities to draw, one panel each; all of the ledger's when not given.
    title : str
        The question that the chart answers.

    Returns
    -------
    altair.VConcatChart
        The published mark is hollow, the predicted one filled; held-out rows have their own colour.

    Raises
    ------
    DataError
        A column is missing, holds no numbers, or no row has one of `quantities`.
    """
    data = _predicted(require(frame, "figures", NAMES, NUMBERS))
    if quantities is not None:
        data = data[data["quantity"].isin(quantities)]
    data = require(data, "figures(quantities)", NAMES)
    data["row"] = (
        data["configuration"]
        + " · "
        + data["workload"]
        + " · "
        + data["side"].map(lambda side: labels.SIDES.get(side, side))
    )
    banded = "tolerance_percent" in data.columns
    if banded:
        data["inside_from"] = data["published"] * (1 - data["tolerance_percent"] / 100)
        data["inside_to"] = data["published"] * (1 + data["tolerance_percent"] / 100)
    ranged = {"low", "high"} <= set(data.columns)
    drawn = [*DRAWN, *(["inside_from", "inside_to"] if banded else []), *(["low", "high"] if ranged else [])]
    data = data[drawn]
    order = quantities or list(dict.fromkeys(data["quantity"]))
    hint = "Hollow: published. Filled: predicted." + (" Grey band: tolerance." if banded else "")
    panels = [_rows(data, name, banded, ranged) for name in order if name in set(data["quantity"])]
    return alt.vconcat(*panels, spacing=16).properties(
        title=alt.Title(title, subtitle=hint), description=f"{title}. {hint} {_tally(data)}."
    )


def _rows(data: pd.DataFrame, quantity: str, banded: bool, ranged: bool) -> alt.LayerChart:
    """Rows of one quantity: band, range over equally good parameters, predicted, published."""
    axis = alt.Axis(title=None, format=",.6~r", tickCount=6)
    x = alt.X("predicted:Q", axis=axis, scale=alt.Scale(zero=False, padding=12))
    layers = []
    if banded:
        band = alt.Chart().mark_bar(color=INK, opacity=0.14, height=12)
        layers.append(band.encode(x=alt.X("inside_from:Q", axis=axis), x2="inside_to:Q"))
    if ranged:
        spread = alt.Chart().mark_rule(strokeWidth=2)
        layers.append(spread.encode(x=alt.X("low:Q", axis=axis), x2="high:Q", color=_role(data)))
    layers.append(
        alt.Chart()
        .mark_point(filled=True, size=90, opacity=1, tooltip=TOOLTIP)
        .encode(x=x, color=_role(data))
    )
    layers.append(alt.Chart().mark_point(**PUBLISHED).encode(x=alt.X("published:Q", axis=axis)))
    return (
        alt.layer(*layers, data=data)
        .transform_filter(f"datum.quantity == '{quantity}'")
        .encode(y=alt.Y("row:N", title=None, sort=None))
        .properties(width=WIDTH - 180, height=alt.Step(ROW_HEIGHT), title=panel_title(labels.title(quantity)))
    )


def _role(data: pd.DataFrame) -> alt.Color:
    """Colour of each role that occurs."""
    colours = {ROLE_TITLES[role]: colour for role, colour in ROLES.items()}
    found = [title for title in colours if title in set(data["role"])]
    return alt.Color("role:N", title=None, scale=alt.Scale(domain=found, range=[colours[t] for t in found]))


def _predicted(frame: pd.DataFrame) -> pd.DataFrame:
    known = frame[frame["predicted"].notna()].reset_index(drop=True)
    return known.assign(role=known["role"].replace(ROLE_TITLES))


def _tally(data: pd.DataFrame) -> str:
    """Median error and number of reproduced rows for each role, in words."""
    parts = []
    for role, rows in data.groupby("role", sort=False):
        median = labels.number(rows["error_percent"].abs().median(), 2)
        good = int((rows["verdict"] == "reproduced").sum())
        parts.append(f"{role}: {good} of {len(rows)} reproduced, median error {median} %")
    return "; ".join(parts)
