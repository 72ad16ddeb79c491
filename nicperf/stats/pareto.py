"""Which settings are worth a thought when two or more figures count: those that none beats in all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from nicperf.errors import DataError, closest

if TYPE_CHECKING:
    import pandas as pd

FLAG = "on_front"


def pareto(
    frame: pd.DataFrame,
    maximise: Sequence[str] = ("throughput_mbit_s",),
    minimise: Sequence[str] = ("cpu_percent_local",),
) -> pd.DataFrame:
    """Mark the rows that are on the Pareto front.

    A row is on it unless another one is as good in every figure and better in at least one. Equal rows are
    on it together.

    Parameters
    ----------
    frame : DataFrame
        One row for each setting; average over seeds first, or the luckiest seed wins.
    maximise, minimise : sequence of str
        Columns of numbers. A row that lacks one of them is not on the front.

    Returns
    -------
    DataFrame
        The same rows with a last column ``on_front``.

    Raises
    ------
    DataError
        A column is missing, or none is named.

    Examples
    --------
    >>> import pandas as pd
    >>> runs = pd.DataFrame({"throughput_mbit_s": [500, 600, 600], "cpu_percent_local": [30, 40, 50]})
    >>> pareto(runs)["on_front"].tolist()
    [True, True, False]
    """
    names = [*maximise, *minimise]
    if not names:
        raise DataError("no figures to compare", place="pareto", cure="name what to maximise or minimise")
    for name in names:
        if name not in frame.columns:
            raise DataError(
                "column missing", place="pareto", field=name, cure=closest(name, map(str, frame.columns))
            )
    signs = np.array([-1.0] * len(maximise) + [1.0] * len(minimise))
    costs = frame[names].to_numpy(dtype=float) * signs
    return frame.assign(**{FLAG: [_unbeaten(row, costs) for row in costs]})


def _unbeaten(row: np.ndarray, costs: np.ndarray) -> bool:
    if np.isnan(row).any():
        return False
    return not ((costs <= row).all(axis=1) & (costs < row).any(axis=1)).any()
