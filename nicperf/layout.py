"""How the command line prints: tidy frames and mappings as a table, as CSV or as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from pandas import DataFrame

LAYOUTS = ("table", "csv", "json")


def print_json(value: Any) -> None:
    """Print as JSON; what JSON cannot say (NaN, infinity) becomes null."""
    click.echo(json.dumps(jsonable(value), indent=2, ensure_ascii=False, allow_nan=False))


def jsonable(value: Any) -> Any:
    """Reduce frames, mappings, sequences and numpy scalars to what JSON knows."""
    if hasattr(value, "to_dict"):
        value = value.to_dict(orient="records")
    if isinstance(value, Mapping):
        return {str(key): jsonable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [jsonable(item) for item in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, (bool, int, float, str, type(None))) else str(value)


def print_frame(frame: DataFrame, layout: str, columns: Sequence[str] = ()) -> None:
    """Print a tidy frame; as a table only the named columns, if any are named."""
    if layout == "json":
        print_json(frame)
    elif layout == "csv":
        click.echo(frame.to_csv(index=False), nl=False)
    else:
        click.echo(as_table(frame, columns))


def as_table(frame: DataFrame, columns: Sequence[str] = ()) -> str:
    """Align a frame in columns: six significant digits, a dash for what is missing."""
    from tabulate import tabulate

    shown = frame[list(columns)] if columns else frame
    rows = [[cell(value) for value in row] for row in shown.itertuples(index=False)]
    return tabulate(rows, headers=list(shown.columns), floatfmt=".6g", missingval="-")


def cell(value: Any) -> Any:
    """One value of a table."""
    if isinstance(value, float):
        return None if math.isnan(value) else f"{value:.6g}"
    return value


def stacked(frames: Mapping[Any, DataFrame], key: str) -> DataFrame:
    """One frame below the other, the first column telling which is which."""
    import pandas as pd

    return pd.concat(frames, names=[key, None]).reset_index(level=key).reset_index(drop=True)
