"""The one visual language of all charts: colours, marks, sizes.

Published values are hollow, predicted values are filled, held-out rows stand out in their own colour, and
intervals are drawn. The palette is that of Okabe and Ito, whose colours readers with any common colour vision
can tell apart; no chart relies on colour alone.

Source
------
M. Okabe, K. Ito, "Color Universal Design" (2008): the eight colours.
"""

from __future__ import annotations

from typing import Any

BLUE, VERMILLION, GREEN, PURPLE = "#0072b2", "#d55e00", "#009e73", "#cc79a7"
ORANGE, SKY, GREY, YELLOW = "#e69f00", "#56b4e9", "#8c8c8c", "#f0e442"
PALETTE = [BLUE, VERMILLION, GREEN, ORANGE, PURPLE, SKY, YELLOW, GREY]

# The report's pages replace these two colours by those of the reader's light or dark scheme, so every line of
# text, axis and rule uses exactly them.
INK, PAPER = "#24292f", "#ffffff"

ROLES = {"fit": BLUE, "held_out": VERMILLION, "context": GREY}
ROLE_TITLES = {"fit": "used to fit", "held_out": "held out", "context": "context"}

# A published value is always this mark: hollow, and in the colour of the text.
PUBLISHED: dict[str, Any] = {
    "filled": False,
    "shape": "diamond",
    "size": 150,
    "strokeWidth": 2,
    "opacity": 1,
    "color": INK,
}

WIDTH = 560
# Everything that is known of a mark; shorter in a file than a list of its columns.
TOOLTIP: dict[str, Any] = {"content": "data"}
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'Liberation Sans', Arial, sans-serif"


def panel_title(text: str) -> dict[str, Any]:
    """Title of one panel of several, in the look of a facet's header."""
    return {"text": text, "fontSize": 12, "offset": 6}


def config() -> dict[str, Any]:
    """Vega-Lite configuration that every chart carries.

    Returns
    -------
    dict
        The `config` object of a Vega-Lite 5 specification.
    """
    text = {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal"}
    ink = {"labelColor": INK, "titleColor": INK}
    return {
        "background": PAPER,
        "font": FONT,
        "title": {
            **{"anchor": "start", "frame": "group", "fontSize": 15, "fontWeight": 600, "offset": 12},
            **{"color": INK, "subtitleColor": INK, "subtitleFontSize": 12},
        },
        "axis": {
            **text,
            **ink,
            **{"domainColor": INK, "domainOpacity": 0.5, "tickColor": INK, "tickOpacity": 0.5},
            **{"gridColor": INK, "gridOpacity": 0.12, "labelLimit": 240},
        },
        "axisBand": {"grid": False, "domain": False, "ticks": False, "labelPadding": 8},
        "header": {**text, **ink, "labelAnchor": "start", "labelOrient": "top", "labelFontWeight": 600},
        "legend": {**text, **ink, "orient": "bottom", "direction": "horizontal", "labelLimit": 260},
        "view": {"stroke": None},
        "text": {"color": INK, "fontSize": 12},
        "rule": {"color": INK},
    }
