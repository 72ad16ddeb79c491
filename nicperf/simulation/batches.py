"""Many runs on any executor, a batch at a time: a task costs 0.05 ms in a thread pool and 2 ms under Dask."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor, as_completed
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cache
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import numpy as np

from nicperf.progress import bar
from nicperf.simulation.run import execute, half_width_percent
from nicperf.simulation.scenario import Scenario
from nicperf.simulation.summary import summarise
from nicperf.simulation.systems import SIDES, SYSTEMS

#: What differs from the base scenario in one run: settings by full dotted name, and the seed.
Job = tuple[Mapping[str, Any], int]

#: A batch takes about so long: much longer than any executor's overhead, short enough for a bar that moves.
BATCH_S = 0.05
#: No fewer batches than this for each core, so that no core waits long for the last one: in threads of our
#: own, and on an executor whose tasks may be dear.
BATCHES_PER_CORE = (16, 4)


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
    first = Batch(base, 0, jobs[:1])
    found = first.run()
    size = _size(len(jobs) - 1, time.perf_counter() - start_s, BATCHES_PER_CORE[executor is not None])
    figures = {name: np.empty(len(jobs)) for name in found}
    with bar("sweep", progress, len(jobs), "runs") as tick, _pool(executor) as pool:

        def keep(batch: Batch, found: Mapping[str, np.ndarray]) -> None:
            for name, values in found.items():
                figures[name][batch.number : batch.number + len(values)] = values
            tick(len(batch.jobs))

        keep(first, found)
        futures: dict[Future[dict[str, np.ndarray]], Batch] = {}
        try:
            for i in range(1, len(jobs), size):
                batch = Batch(base, i, jobs[i : i + size])
                futures[pool.submit(batch.run)] = batch
            for future in as_completed(futures):
                keep(futures[future], future.result())
        except BaseException:
            for future in futures:
                future.cancel()
            raise
    return figures


@dataclass(frozen=True)
class Batch:
    """Runs that travel together.

    Attributes
    ----------
    base : Scenario
        What they share.
    number : int
        Of the first one in the sweep.
    jobs : sequence of (settings, seed)
    """

    base: Scenario
    number: int
    jobs: Sequence[Job]

    def run(self) -> dict[str, np.ndarray]:
        """Do it, one after the other: the figures of `Run.summary`, and those of a stopping rule."""
        hosts = _assembly(self.base)
        changes, measured, widths, loops = [], [], [], []
        for settings, seed in self.jobs:
            try:
                local, remote = hosts(settings)
                rows, _, measured_s, exchanges = execute(self.base, local, remote, seed)
            except Exception as error:
                error.add_note(f"sweep: {dict(settings)}, seed {seed}")
                raise
            changes.append(rows[-1] - rows[0])
            measured.append(measured_s)
            if exchanges:
                loops.append(exchanges.summary(local.workload.percentiles))
            if self.base.stopping:
                widths.append(half_width_percent(self.base, rows))
        seconds = np.array(measured)
        figures = summarise(SYSTEMS[self.base.driver], np.stack(changes), seconds)
        if loops:
            figures |= {name: np.array([of_one[name] for of_one in loops]) for name in loops[0]}
        if self.base.stopping:
            figures |= {"measured_s": seconds, "half_width_percent": np.array(widths)}
        return figures

    def __dask_tokenize__(self) -> str:
        # Dask names a task by a hash of all that it finds in it, which took longer than to run short jobs.
        return uuid4().hex


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


def _size(jobs: int, seconds: float, per_core: int) -> int:
    """Jobs of one batch, if one takes so many seconds."""
    return max(1, min(round(BATCH_S / seconds), -(-jobs // (per_core * _cores()))))


def _pool(executor: Executor | None) -> Any:
    """The caller's executor, which stays open, or a pool of our own."""
    return nullcontext(executor) if executor else ThreadPoolExecutor(_cores())


def _cores() -> int:
    return getattr(os, "process_cpu_count", os.cpu_count)() or 1
