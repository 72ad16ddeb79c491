"""Sweeps: one run for each combination of settings and each seed, in parallel."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from itertools import product
from typing import TYPE_CHECKING, Any

from nicperf.errors import ScenarioError
from nicperf.simulation.batches import run_all
from nicperf.simulation.cache import open_cache
from nicperf.simulation.scenario import (
    check_seed,
    check_settings,
    check_together,
    defaults,
    parameters,
    scenario,
    split_side,
)
from nicperf.units import unit_of

if TYPE_CHECKING:
    from concurrent.futures import Executor

    import pandas as pd

PLACE = "grid"


def sweep(
    driver: str,
    workload: str,
    params: Mapping[str, Any],
    grid: Mapping[str, Iterable[Any]],
    *,
    seeds: Iterable[int] = range(1),
    executor: Executor | None = None,
    progress: bool | None = None,
    cache: bool | str | os.PathLike[str] = False,
    duration_s: float = 0.25,
    warmup_s: float = 0.05,
    slices: int | None = None,
    stop_width: float | None = None,
    confidence: float = 0.95,
) -> pd.DataFrame:
    """Run every combination of the grid's values with every seed.

    Parameters
    ----------
    driver, workload : str
        As for `nicperf.simulation.simulate`.
    params : mapping
        Dotted name -> value, the same for all runs.
    grid : mapping
        Dotted name -> values to try. A name wins over `params`, a plain one on both hosts; inside the grid
        one with ``local.`` or ``remote.`` wins over a plain one.
    seeds : iterable of int
        Every combination runs once with each.
    executor : concurrent.futures.Executor, optional
        Where to run; None is a pool with one thread for each core (a run releases the GIL). A process pool
        and ``distributed.Client(...).get_executor()`` work as well. The result is the same with all. Runs
        travel in batches, so that the overhead of a task hardly matters.
    progress : bool, optional
        Show a bar with the time left. None: if the sweep is long and a terminal or an open notebook is there
        to see it.
    cache : bool or path-like
        Where runs are looked up, and kept as soon as they are done: a folder, or True for the one that
        ``NICPERF_CACHE`` names or else the user's own. Figures are those of a fresh run to the last bit: see
        `nicperf.simulation.cache`. With it, a sweep that was interrupted goes on where it stopped.
    duration_s, warmup_s, slices, stop_width, confidence
        As for `nicperf.simulation.simulate`, for each run.

    Returns
    -------
    DataFrame
        One row for each run, in the order of the grid (the seed moves fastest, then its last name): a column
        for each name of the grid, ``seed``, and the figures of `Run.summary`. With `stop_width` also
        ``measured_s`` and ``half_width_percent``. ``attrs["units"]`` has the unit of each column, which the
        names of the figures also end in; ``1`` for counts, empty for choices and switches.

    Raises
    ------
    ScenarioError
        Before anything runs: an unknown name (close ones are suggested), no values, a value out of range,
        settings that exclude each other, a cache that cannot be written to.
    KeyboardInterrupt
        As it came, with a note that says how much was done and where it is kept.

    Examples
    --------
    >>> grid = {"nic.dma_burst_dwords": [8, 64]}
    >>> frame = sweep("velocity", "tcp_stream", {}, grid, seeds=range(2), duration_s=0.02)
    >>> list(frame["nic.dma_burst_dwords"]), list(frame["seed"])
    ([8, 8, 64, 64], [0, 1, 0, 1])
    """
    if slices is None and stop_width is None:
        slices = 1  # nothing of a run is kept but its summary
    base = scenario(
        driver,
        workload,
        params,
        duration_s=duration_s,
        warmup_s=warmup_s,
        slices=slices,
        stop_width=stop_width,
        confidence=confidence,
    )
    axes = {name: _values(driver, name, values) for name, values in grid.items()}
    numbers = [check_seed(seed, "sweep") for seed in _listed("seeds", seeds, "sweep")]
    points = [
        check_settings(driver, dict(zip(axes, chosen, strict=True)), PLACE)
        for chosen in product(*axes.values())
    ]
    common = {**defaults(driver), **dict(base.settings)}
    for point in points:
        check_together(workload, {**common, **point})
    jobs = [(point, seed) for point in points for seed in numbers]
    figures = run_all(base, jobs, executor, progress, open_cache(cache))

    import pandas as pd

    rows = pd.DataFrame(list(product(*axes.values(), numbers)), columns=[*axes, "seed"]).assign(**figures)
    known = parameters(driver)
    units = {name: known[split_side(name)[1]].unit for name in axes}
    rows.attrs["units"] = {**units, "seed": "1", **{name: unit_of(name) for name in figures}}
    return rows


def _values(driver: str, name: str, values: Iterable[Any]) -> list[Any]:
    """The values of one axis, each in the parameter's own type."""
    return [next(iter(check_settings(driver, {name: v}, PLACE).values())) for v in _listed(name, values)]


def _listed(name: str, values: Iterable[Any], place: str = PLACE) -> list[Any]:
    """The values as a list; a single value and an empty list are refused."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise ScenarioError(
            "not a list of values", place=place, field=name, value=values, cure=f"write [{values!r}]"
        )
    listed = list(values)
    if not listed:
        raise ScenarioError(
            "no values", place=place, field=name, value=listed, cure="give at least one, or leave it out"
        )
    return listed
