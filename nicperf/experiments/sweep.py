"""Sweeps of an experiment: its model with some parameters moved over a grid."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from nicperf import simulation
from nicperf.experiments.experiment import Experiment

if TYPE_CHECKING:
    from concurrent.futures import Executor

    import pandas as pd


def sweep(
    exp: Experiment,
    configuration: str,
    workload: str,
    grid: Mapping[str, Iterable[Any]],
    *,
    seeds: Iterable[int] = range(1),
    executor: Executor | None = None,
    progress: bool | None = None,
    cache: bool | str | os.PathLike[str] = True,
    **options: Any,
) -> pd.DataFrame:
    """Run an experiment's fitted model for every combination of the grid's values with every seed.

    Parameters
    ----------
    exp : Experiment
    configuration, workload : str
        See `Experiment.scenario`.
    grid : mapping
        Dotted name -> values to try; a plain name sets both hosts, ``local.`` or ``remote.`` before it one.
    seeds, executor, progress
        As for `nicperf.simulation.sweep`.
    cache : bool or path-like
        As for `nicperf.simulation.sweep`, but on: an entry is used only if scenario, seed and code are the same
        to the byte and its checksum holds, so nothing but time tells the difference.
    **options
        `duration_s`, `warmup_s`, `slices`, `stop_width` and `confidence` of `nicperf.simulation.simulate`,
        where they shall differ from the experiment's own.

    Returns
    -------
    DataFrame
        One row for each run: a column for each name of the grid, ``seed``, and the figures of `Run.summary`;
        ``attrs["units"]`` has the unit of each column.

    Raises
    ------
    ScenarioError
        Before anything runs: an unknown name, no values, values that the model refuses, or a cache that
        cannot be written to.
    DataError
        The experiment has not been calibrated.

    Examples
    --------
    >>> import nicperf as nic
    >>> exp = nic.experiment("velocity-2009")
    >>> frame = nic.sweep(exp, "napi", "tcp_stream", {"nic.dma_burst_dwords": [8, 64]}, duration_s=0.02)
    >>> bool(frame["throughput_mbit_s"].is_monotonic_increasing)
    True
    """
    base = exp.scenario(configuration, workload) | options
    return simulation.sweep(**base, grid=grid, seeds=seeds, executor=executor, progress=progress, cache=cache)
