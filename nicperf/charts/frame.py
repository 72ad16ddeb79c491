"""Checks that a frame can carry a chart, before Altair draws an empty one without a word."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from nicperf.errors import DataError, closest


def require(
    frame: pd.DataFrame, chart: str, columns: Iterable[str], numeric: Iterable[str] = ()
) -> pd.DataFrame:
    """Hand back `frame` with a fresh index, or say what it lacks.

    Parameters
    ----------
    frame : pandas.DataFrame
        Tidy frame to be drawn.
    chart : str
        Name of the chart function, for the message.
    columns, numeric : iterable of str
        Columns that must exist; those in `numeric` must also hold numbers, at least one of them finite.

    Returns
    -------
    pandas.DataFrame
        A copy, so that charts may add columns.

    Raises
    ------
    DataError
        The frame is empty, a column is missing or a column is not numeric.
    """
    place = f"charts.{chart}"
    if frame.empty:
        raise DataError("the frame has no rows", place=place, cure="hand in at least one row")
    for column in (*columns, *numeric):
        if column not in frame.columns:
            raise DataError(
                "column missing", place=place, field=column, cure=closest(column, map(str, frame.columns))
            )
    for column in numeric:
        values = frame[column]
        if not pd.api.types.is_numeric_dtype(values) or not values.notna().any():
            seen = values.iloc[0]
            raise DataError(
                "not a column of numbers", place=place, field=column, value=seen, cure="convert it first"
            )
    return frame.reset_index(drop=True).copy()
