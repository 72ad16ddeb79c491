"""Which assumptions a figure hangs on, over the whole ranges that their priors allow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd

from nicperf.charts import labels
from nicperf.charts.frame import require
from nicperf.charts.theme import BLUE, GREY, INK, TOOLTIP, VERMILLION, WIDTH, panel_title
from nicperf.errors import DataError, closest

NAMES = ["id", "parameter"]
NUMBERS = ["mu_percent", "mu_star_percent", "mu_star_confidence_percent", "sigma_percent"]
SHOWN = 8
# A mean effect that is so much of the mean size has one sign nearly everywhere.
ONE_WAY = 0.9
COLOURS = {"raises the figure": BLUE, "lowers the figure": VERMILLION, "either, by the place": GREY}
SIGNS = dict(zip(COLOURS, "+−±", strict=True))


def morris(
    frame: pd.DataFrame, ids: Sequence[str] | None = None, *, title: str = "Which assumptions decide?"
) -> alt.VConcatChart:
    """Draw mean sizes of elementary effects as bars, one panel for each figure, the strongest on top.

    Parameters
    ----------
    frame : pandas.DataFrame
        From `Experiment.sensitivity`: columns `id, parameter` and the numbers `mu_percent, mu_star_percent,
        mu_star_confidence_percent, sigma_percent`.
    ids : sequence of str, optional
        Figures to draw, in this order; all of the frame when not given.
    title : str
        The question that the chart answers.

    Returns
    -------
    altair.VConcatChart
        Bars of mu*, lines over their 95 % confidence interval, and beside them mu* with the direction. The 8
        strongest of each figure are drawn, and none that does nothing. Each panel has an axis of its own.

    Raises
    ------
    DataError
        A column is missing or holds no numbers, or a figure is not in the frame or hangs on nothing.
    """
    data = require(frame, "morris", NAMES, NUMBERS)
    panels = list(dict.fromkeys(data["id"])) if ids is None else list(ids)
    found = {}
    for name in panels:
        own = data[(data["id"] == name) & (data["mu_star_percent"] > 0)]
        if own.empty:
            seen = data.loc[data["mu_star_percent"] > 0, "id"]
            raise DataError(
                "no parameter acts on this figure",
                place="charts.morris",
                field="id",
                value=name,
                cure=closest(name, seen),
            )
        found[name] = own.sort_values("mu_star_percent", ascending=False, kind="stable").head(SHOWN)
    spoken = [
        f"{name}: "
        + ", ".join(
            f"{row['parameter']} {labels.number(float(row['mu_star_percent']), 2)} %"
            for row in own.head(3).to_dict("records")
        )
        for name, own in found.items()
    ]
    subtitle = "Size of the effect of a whole prior range. Line: 95 % confidence of its mean."
    return alt.vconcat(
        *(_panel(own, name, name == panels[-1]) for name, own in found.items()), spacing=6
    ).properties(
        title=alt.Title(title, subtitle=subtitle),
        description=f"{title} Mean size of the effect, strongest first, {'; '.join(spoken)}.",
    )


def _panel(own: pd.DataFrame, name: str, last: bool) -> alt.LayerChart:
    """One figure: a bar for each parameter; only the last panel says what the axis is."""
    data = own[[*NAMES, *NUMBERS]].copy()
    share = data["mu_percent"] / data["mu_star_percent"]
    ways = list(COLOURS)
    data["way"] = [ways[0] if s >= ONE_WAY else ways[1] if s <= -ONE_WAY else ways[2] for s in share]
    spread = data["mu_star_confidence_percent"]
    data["from"] = (data["mu_star_percent"] - spread).clip(lower=0)
    data["to"] = data["mu_star_percent"] + spread
    data["said"] = [
        f"{SIGNS[way]}{labels.number(float(size), 2)}"
        for way, size in zip(data["way"], data["mu_star_percent"], strict=True)
    ]
    scale = alt.Scale(domain=[0, 1.12 * float(data["to"].max())], nice=False)
    axis = alt.Axis(
        title="mean size of the effect (% of the figure at the fit)" if last else None, tickCount=6
    )
    place = alt.Chart().encode(y=alt.Y("parameter:N", title=None, sort=None))
    colour = alt.Color("way:N", title=None, scale=alt.Scale(domain=ways, range=list(COLOURS.values())))
    bars = place.mark_bar(height=11, tooltip=TOOLTIP).encode(
        x=alt.X("mu_star_percent:Q", scale=scale, axis=axis), color=colour
    )
    rules = place.mark_rule(color=INK).encode(x=alt.X("from:Q", scale=scale, axis=axis), x2="to:Q")
    text = place.mark_text(align="left", dx=5, color=INK).encode(
        x=alt.X("to:Q", scale=scale, axis=axis), text="said:N"
    )
    drawn: Any = alt.layer(bars, rules, text, data=data)
    return drawn.properties(width=WIDTH - 200, height=alt.Step(18), title=panel_title(name))
