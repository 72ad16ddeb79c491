"""Many runs on any executor, a batch at a time: a task costs 0.05 ms in a thread pool and 2 ms under Dask."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor, as_completed
from contextlib import nullcontext
from dataclasses import replace
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from nicperf.progress import bar
from nicperf.simulation.run import execute, half_width_percent, measured_s
from nicperf.simulation.scenario import SIDES, Scenario
from nicperf.simulation.summary import summarise

#: What differs from the base scenario in one run: settings by full dotted name, and the seed.
Job = tuple[Mapping[str, Any], int]

#: A batch takes about so long: much longer than any executor's overhead, short enough for a bar that moves.
BATCH_S = 0.05
#: No fewer batches than this for each core, so that no core waits long for the last one.
BATCHES_PER_CORE = 8


def run_all(
    base: Scenario, jobs: Sequence[Job], executor: Executor | None = None, progress: bool | None = None
) -> dict[str, np.ndarray]:
    """Run the jobs and return their figures.

    The first one runs here, and shows how long one takes and so how many make a batch.

    Parameters
    ----------
    base : Scenario
        What all jobs share.
    jobs : sequence of (settings, seed)
        At least one. The settings have been checked.
    executor, progress
        As for `nicperf.simulation.sweep`.

    Returns
    -------
    dict
        Figure -> float array, shape (jobs,).
    """
    start_s = time.perf_counter()
    first = run_batch(base, jobs[:1])
    size = _batch(len(jobs) - 1, time.perf_counter() - start_s)
    figures = {name: np.empty(len(jobs)) for name in first}
    with bar("sweep", progress, len(jobs), "runs") as tick, _pool(executor) as pool:

        def keep(batch: slice, found: Mapping[str, np.ndarray]) -> None:
            for name, values in found.items():
                figures[name][batch] = values
            tick(batch.stop - batch.start)

        keep(slice(0, 1), first)
        batches = [slice(i, min(i + size, len(jobs))) for i in range(1, len(jobs), size)]
        futures = {pool.submit(run_batch, base, jobs[batch]): batch for batch in batches}
        try:
            for future in as_completed(futures):
                keep(futures[future], future.result())
        except BaseException:
            for future in futures:
                future.cancel()
            raise
    return figures


def run_batch(base: Scenario, jobs: Sequence[Job]) -> dict[str, np.ndarray]:
    """Run jobs one after the other: the figures of `Run.summary`, and those of a stopping rule."""
    hosts = _assembly(base)
    changes, measured, widths = [], [], []
    for settings, seed in jobs:
        try:
            rows, _ = execute(base, *hosts(settings), seed)
        except Exception as error:
            error.add_note(f"sweep: {dict(settings)}, seed {seed}")
            raise
        changes.append(rows[-1] - rows[0])
        measured.append(measured_s(base, rows))
        if base.stopping:
            widths.append(half_width_percent(base, rows))
    seconds = np.array(measured)
    figures = summarise(np.stack(changes), seconds)
    if base.stopping:
        figures |= {"measured_s": seconds, "half_width_percent": np.array(widths)}
    return figures


def _assembly(base: Scenario) -> Callable[[Mapping[str, Any]], tuple[SimpleNamespace, SimpleNamespace]]:
    """A function from settings to both hosts of the compiled run; parts that recur are made once."""
    parts = {side: base.host(side) for side in SIDES}

    @cache
    def part(side: str, group: str, fields: tuple[tuple[str, Any], ...]) -> Any:
        return replace(parts[side][group], **dict(fields))

    def hosts(settings: Mapping[str, Any]) -> tuple[SimpleNamespace, SimpleNamespace]:
        changes: dict[tuple[str, str], tuple[tuple[str, Any], ...]] = {}
        for name, value in settings.items():
            side, group, field = name.split(".")
            changes[side, group] = (*changes.get((side, group), ()), (field, value))
        both = {side: SimpleNamespace(**parts[side]) for side in SIDES}
        for (side, group), fields in changes.items():
            setattr(both[side], group, part(side, group, fields))
        return both["local"], both["remote"]

    return hosts


def _batch(jobs: int, seconds: float) -> int:
    """Jobs of one batch, if one takes so many seconds."""
    return max(1, min(round(BATCH_S / seconds), -(-jobs // (BATCHES_PER_CORE * _cores()))))


def _pool(executor: Executor | None) -> Any:
    """The caller's executor, which stays open, or a pool of our own."""
    return nullcontext(executor) if executor else ThreadPoolExecutor(_cores())


def _cores() -> int:
    return getattr(os, "process_cpu_count", os.cpu_count)() or 1
