"""How the command line prints and writes: tidy frames and mappings as a table, as CSV, JSON or Parquet."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nicperf.errors import DataError
from nicperf.files import write_whole

if TYPE_CHECKING:
    from pandas import DataFrame

LAYOUTS = ("table", "csv", "json")
#: How a table's file may end.
SUFFIXES = (".csv", ".parquet")


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


def check_table(path: str) -> None:
    """Refuse a file for a table that `write_table` could not write, before the work for it is done.

    Raises
    ------
    DataError
        Another ending than `SUFFIXES`, or Parquet without pyarrow.
    """
    suffix = Path(path).suffix
    if suffix not in SUFFIXES:
        cure = f"use one of {', '.join(SUFFIXES)}"
        raise DataError("no kind of table", place="--out", field="suffix", value=suffix, cure=cure)
    if suffix == ".parquet" and find_spec("pyarrow") is None:
        raise DataError(
            "Parquet needs pyarrow, which is not installed",
            place="--out",
            value=path,
            cure="install nicperf[parquet], or write a .csv",
        )


def write_table(frame: DataFrame, path: str) -> None:
    """Write a tidy frame to a file, whole or not at all.

    A CSV has one line of names above its rows. A Parquet file also carries the frame's ``attrs``, with them the
    units of a sweep's columns; pandas hands both back.
    """
    check_table(path)
    content = io.BytesIO()
    if path.endswith(".parquet"):
        frame.to_parquet(content, index=False)
    else:
        frame.to_csv(content, index=False)
    write_whole(path, content.getvalue())
