"""One chart as part of a page: its question, its drawing, what it says in words, the numbers behind it."""

from __future__ import annotations

import html
import io
import json
from typing import Any

import pandas as pd

from nicperf.charts.theme import INK
from nicperf.report.table import Table


def figure_html(spec: dict[str, Any]) -> str:
    """HTML of one chart.

    Parameters
    ----------
    spec : dict
        Specification as stored in a notebook.

    Returns
    -------
    str
        A `figure`: title, place labelled with the chart's description, specification (which the page's script
        draws there) and the data behind it as a table to unfold.
    """
    drawn = json.dumps(on_page(spec), separators=(",", ":"), ensure_ascii=False).replace("</", "<\\/")
    spoken = html.escape(spec.get("description", ""), quote=True)
    return (
        f'<figure class="chart">{_caption(spec.get("title", ""))}'
        f'<div class="vega" aria-label="{spoken}"><noscript>{spoken}</noscript></div>'
        f'<script type="application/json">{drawn}</script>{data_tables(spec)}</figure>'
    )


def on_page(spec: dict[str, Any]) -> dict[str, Any]:
    """Specification whose text and axes take the colour of the page: light or dark, on screen or on paper."""
    drawn: dict[str, Any] = json.loads(json.dumps(spec).replace(f'"{INK}"', '"currentColor"'))
    drawn["config"] = {**drawn.get("config", {}), "background": None}
    return drawn


def data_tables(spec: dict[str, Any]) -> str:
    """The data sets of a chart as folded tables; the page's script adds a button that saves them as CSV."""
    titles = spec.get("usermeta", {}).get("columns", {})
    parts = []
    for name, text in spec.get("datasets", {}).items():
        if isinstance(text, str):
            frame = pd.read_csv(io.StringIO(text), keep_default_na=False, na_values=[""])
            table = Table(frame, f"Data behind this chart ({len(frame)} rows)", titles, folded=True)
            parts.append(f'<div class="data" data-name="{name}">{table._repr_html_()}</div>')
    return "".join(parts)


def _caption(title: Any) -> str:
    """A title in HTML wraps on a phone, which one inside of a drawing does not."""
    parts = title if isinstance(title, dict) else {"text": title}
    text, note = (html.escape(parts.get(key, "")) for key in ("text", "subtitle"))
    note = f"<span>{note}</span>" if note else ""
    return f"<figcaption><strong>{text}</strong>{note}</figcaption>" if text else ""
