"""Many runs on any executor, a batch at a time: a task costs 0.05 ms in a thread pool and 2 ms under Dask."""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import cache
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import numpy as np

from nicperf.errors import ScenarioError
from nicperf.progress import bar
from nicperf.simulation.cache import KeyMaker, RunCache, code_version, kept_in
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
    base: Scenario,
    jobs: Sequence[Job],
    executor: Executor | None = None,
    progress: bool | None = None,
    cache: RunCache | None = None,
) -> dict[str, np.ndarray]:
    """Run the jobs and return their figures.

    What the cache knows is not run. Of the rest the first one runs here, and shows how long one takes and so
    how many make a batch.

    Parameters
    ----------
    base : Scenario
        What all jobs share.
    jobs : sequence of (settings, seed)
        At least one. The settings have been checked.
    executor, progress
        As for `nicperf.simulation.sweep`.
    cache : RunCache, optional
        Where figures are looked up, and kept as soon as a batch is done.

    Returns
    -------
    dict
        Figure -> float array, shape (jobs,).

    Raises
    ------
    KeyboardInterrupt
        As it came, with a note of what was done by then and where it is kept.
    """
    table = _Table(base, jobs, cache)
    with bar("sweep", progress, len(jobs), "runs") as tick:
        tick(len(jobs) - len(table.left))
        try:
            _run_left(table, executor, tick)
        except KeyboardInterrupt as stop:
            stop.add_note(f"sweep: {table.state()}")
            raise
    return table.figures


def _run_left(table: _Table, executor: Executor | None, tick: Callable[[int], object]) -> None:
    """Fill the rows of the table that the cache did not know."""
    if not table.left:
        return

    def keep(batch: Batch, found: Mapping[str, np.ndarray]) -> None:
        table.keep(batch, found)
        tick(len(batch.places))

    first, rest = table.left[:1], table.left[1:]
    start_s = time.perf_counter()
    batch = table.batch(first)
    keep(batch, batch.run())
    size = _size(len(rest), time.perf_counter() - start_s, BATCHES_PER_CORE[executor is not None])
    with _pool(executor) as pool:
        futures: dict[Future[dict[str, np.ndarray]], Batch] = {}
        try:
            with _interrupted_afterwards():
                for i in range(0, len(rest), size):
                    batch = table.batch(rest[i : i + size])
                    futures[pool.submit(batch.run)] = batch
            for future in as_completed(futures):
                keep(futures.pop(future), future.result())
        except BaseException:
            for future in futures:
                future.cancel()
            for future, batch in futures.items():  # done, and not yet looked at
                if future.done() and not future.cancelled() and not future.exception():
                    table.keep(batch, future.result())
            raise


@contextmanager
def _interrupted_afterwards() -> Iterator[None]:
    """Let Ctrl-C wait: in the middle of `submit` it may leave a lock of the pool's taken for ever."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    came: list[int] = []
    signal.signal(signal.SIGINT, lambda number, frame: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        raise KeyboardInterrupt


class _Table:
    """The figures of all jobs, as far as they are known."""

    def __init__(self, base: Scenario, jobs: Sequence[Job], cache: RunCache | None) -> None:
        self.base = base
        self.jobs = jobs
        self.figures: dict[str, np.ndarray] = {}
        self.left = list(range(len(jobs)))
        self._cache = cache
        if cache:
            self._keys = KeyMaker(base)
            self._names = [self._keys.key(*job) for job in jobs]
            found = {place: cache.read(name) for place, name in enumerate(self._names)}
            self.left = [place for place, figures in found.items() if figures is None]
            for place, figures in found.items():
                if figures is not None:
                    self._put([place], figures)
        self._done = len(jobs) - len(self.left)

    def batch(self, places: Sequence[int]) -> Batch:
        """Rows that are run together."""
        jobs = [self.jobs[place] for place in places]
        return Batch(self.base, places, jobs, self._cache.code if self._cache else None)

    def keep(self, batch: Batch, found: Mapping[str, np.ndarray]) -> None:
        """Take what a batch found, and store it."""
        self._put(batch.places, found)
        for i, place in enumerate(batch.places):
            # A file that a setting names may have changed while it ran.
            if self._cache and self._keys.key(*self.jobs[place]) == self._names[place]:
                try:
                    self._cache.write(self._names[place], {name: values[i] for name, values in found.items()})
                except OSError as error:
                    warnings.warn(f"runs are not kept from here on: {error}", stacklevel=2)
                    self._cache = None
            self._done += 1

    def state(self) -> str:
        """What is done, in words."""
        return f"{self._done} of {len(self.jobs)} runs are done and {kept_in(self._cache)}"

    def _put(self, places: Sequence[int], found: Mapping[str, Any]) -> None:
        for name, values in found.items():
            if name not in self.figures:
                self.figures[name] = np.empty(len(self.jobs))
            self.figures[name][places] = values


@dataclass(frozen=True)
class Batch:
    """Runs that travel together.

    Attributes
    ----------
    base : Scenario
        What they share.
    places : sequence of int
        Their rows in the sweep.
    jobs : sequence of (settings, seed)
    code : str, optional
        The version of the code that must run them, where the figures will be kept under its name.
    """

    base: Scenario
    places: Sequence[int]
    jobs: Sequence[Job]
    code: str | None = None

    def run(self) -> dict[str, np.ndarray]:
        """Do it, one after the other: the figures of `Run.summary`, and those of a stopping rule.

        Raises
        ------
        ScenarioError
            This worker has another nicperf.
        """
        if self.code and self.code != code_version():
            raise ScenarioError(
                "a worker runs another nicperf, or another build of it",
                place="cache",
                field="code",
                value=code_version(),
                cure=f"install there what is here ({self.code}), or sweep without a cache",
            )
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
