"""How a chart becomes a notebook output: the same bytes on every run and machine, drawn without a network.

Altair's own renderers load Vega from a server, or embed a megabyte of it in every output, or carry random
names. This one emits the bare specification under the MIME type that JupyterLab draws with its own copy of
Vega; the report's pages bring theirs. A small PNG goes along for viewers that draw neither, such as
code-hosting sites.
"""

from __future__ import annotations

import base64
import csv
import io
import json
import re
import warnings
from typing import Any

import altair as alt

from nicperf.charts.theme import config

MIME = "application/vnd.vegalite.v5+json"
SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
DIGITS = 6

# Altair names data by a hash of unrounded values, views and parameters by a hash or a session's count.
_SESSION_NAMES = re.compile(r"\b(?:data-[0-9a-f]{32}|(?:view|param)_(?:[0-9a-f]{8,}|\d+)(?:_\d+)?)\b")


def enable() -> None:
    """Make this renderer and the project's theme the ones that Altair uses."""
    alt.theme.register("nicperf", enable=True)(_theme)
    alt.renderers.register("nicperf", bundle)
    alt.renderers.enable("nicperf")
    # A marker shared by all panels of a sweep is declared in each of them, and meant to be one.
    warnings.filterwarnings("ignore", "Automatically deduplicated selection parameter")


def bundle(spec: dict[str, Any], **_: Any) -> dict[str, Any]:
    """MIME bundle of one chart.

    Parameters
    ----------
    spec : dict
        Vega-Lite specification as Altair writes it.

    Returns
    -------
    dict
        The stable specification, a PNG at screen resolution and the chart's description as plain text.
    """
    spec = stable(spec)
    return {
        MIME: spec,
        "image/png": base64.b64encode(png(spec)).decode("ascii"),
        "text/plain": f"<chart: {spec.get('description', 'no description')}>",
    }


def stable(spec: dict[str, Any]) -> dict[str, Any]:
    """Specification without anything that differs between two equal runs.

    Names that Altair makes up are replaced by their order of appearance, and every float is rounded to 6
    significant digits: the last bits differ between processors, and a strict comparison would see them. Data
    become CSV text, which takes a fifth of the room of the same rows as JSON in a notebook file.

    Parameters
    ----------
    spec : dict
        Vega-Lite specification.

    Returns
    -------
    dict
        A new specification that draws the same picture.
    """
    order: dict[str, str] = {}

    def rename(match: re.Match[str]) -> str:
        # Vega-Lite calls its own data `data_0`, so ours are called frames.
        kind = re.split(r"[-_]", match[0])[0].replace("data", "frame")
        return order.setdefault(match[0], f"{kind}_{1 + sum(v.startswith(kind) for v in order.values())}")

    text = _SESSION_NAMES.sub(rename, json.dumps(spec))
    named = json.loads(text, parse_float=lambda number: _round(float(number)))
    frames = {name: rows for name, rows in named.get("datasets", {}).items() if rows and rows[0]}
    tables = {name: {"type": "csv", "parse": _types(rows)} for name, rows in frames.items()}
    compact = _with_format(named, tables)
    compact["datasets"] = {**named.get("datasets", {}), **{name: _csv(rows) for name, rows in frames.items()}}
    return {**compact, "$schema": SCHEMA}


def png(spec: dict[str, Any], scale: float = 0.8) -> bytes:
    """Picture of a specification, drawn without a browser, in 32 colours: charts need no more, and a file
    that is a tenth in size fits many to a notebook.

    Parameters
    ----------
    spec : dict
        Vega-Lite specification.
    scale : float
        Pixels per unit of the specification.

    Returns
    -------
    bytes
        A PNG file.
    """
    import vl_convert
    from PIL import Image

    drawn = Image.open(io.BytesIO(vl_convert.vegalite_to_png(spec, vl_version="5.21", scale=scale)))
    small = io.BytesIO()
    drawn.convert("RGB").quantize(32, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(
        small, "PNG", optimize=True
    )
    return small.getvalue()


def _with_format(part: Any, tables: dict[str, Any]) -> Any:
    """The same specification, each reference to a table told how to read it."""
    if isinstance(part, list):
        return [_with_format(item, tables) for item in part]
    if not isinstance(part, dict):
        return part
    if part.keys() == {"name"} and part["name"] in tables:
        return {**part, "format": tables[part["name"]]}
    return {key: _with_format(value, tables) for key, value in part.items() if key != "datasets"}


def _types(rows: list[dict[str, Any]]) -> dict[str, str]:
    """Type of each column; Vega's own guess takes words with a digit in them for dates."""
    words = {bool: "boolean", int: "number", float: "number"}
    types = {}
    for column in rows[0]:
        found = {words.get(type(row[column]), "string") for row in rows if row[column] is not None}
        types[column] = found.pop() if len(found) == 1 else "string"
    return types


def _csv(rows: list[dict[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(rows[0])
    writer.writerows([str(v).lower() if isinstance(v, bool) else v for v in row.values()] for row in rows)
    return text.getvalue()


def _theme() -> Any:
    return {"config": config()}


def _round(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
