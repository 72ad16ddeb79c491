"""A thousand settings of 10 ms of gigabit traffic each: one thread, two threads, a Dask cluster."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib import util

import pandas as pd

from benchmarks.measure import Row, interleave
from benchmarks.scenarios import FAST, velocity
from nicperf.simulation import sweep

SETTINGS = 1000
GROUP = f"{SETTINGS} settings x 10 ms"


def run(executor: Executor) -> pd.DataFrame:
    """Frame set-up times between 100 and 1099 ns, on hosts that leave the limit to the wire."""
    base = velocity("napi", 0.01, **FAST)
    grid = {"nic.frame_gap_ns": [100.0 + i for i in range(SETTINGS)]}
    return sweep(
        base.driver, base.workload, dict(base.settings), grid, executor=executor, progress=False,
        duration_s=base.duration_s, warmup_s=base.warmup_s,
    )  # fmt: skip


def seconds(work: Callable[[], object]) -> tuple[float, float]:
    """Wall clock, and CPU of this process with all its threads."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


@contextmanager
def dask() -> Iterator[Executor]:
    """The executor of a local cluster of two processes."""
    from distributed import Client, LocalCluster

    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with cluster, Client(cluster) as client:
        yield client.get_executor()


def measure(rounds: int) -> list[Row]:
    with ExitStack() as stack:
        pools = {f"{n} thread{'s' * (n > 1)}": stack.enter_context(ThreadPoolExecutor(n)) for n in (1, 2)}
        if util.find_spec("distributed"):
            pools["Dask, 2 processes"] = stack.enter_context(dask())
        expected = run(pools["1 thread"])
        for name, executor in pools.items():  # also lets every worker import before it is timed
            if not run(executor).equals(expected):
                raise RuntimeError(f"{name} gives other results than 1 thread")
        works = {name: partial(seconds, partial(run, executor)) for name, executor in pools.items()}
        return rows(interleave(works, rounds))


def rows(measured: dict[str, object]) -> list[Row]:
    """From (wall, CPU) of each round."""
    wall = {name: values[:, 0] for name, values in measured.items()}
    two = wall["2 threads"]
    out = [
        Row(GROUP, "1 thread", wall["1 thread"], "s", note="wall clock: other load shows here"),
        Row(GROUP, "2 threads", two, "s", at_most=0.5),
        Row(GROUP, "1 / 2 threads", wall["1 thread"] / two, "x", at_least=1.85),
        Row(GROUP, "CPU of 1 thread", measured["1 thread"][:, 1], "s"),
        Row(GROUP, "CPU of 2 threads", measured["2 threads"][:, 1], "s"),
    ]
    for name in list(wall)[2:]:
        out += [
            Row(GROUP, name, wall[name], "s"),
            Row(GROUP, f"{name} / 2 threads", wall[name] / two, "x", at_most=1.15),
        ]
    return out
