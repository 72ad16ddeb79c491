"""A thousand settings of 10 ms of gigabit traffic each: one thread, two threads, a Dask cluster."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from importlib import util

from benchmarks.measure import Row, interleave
from benchmarks.scenarios import FAST, velocity
from nicperf.simulation.run import simulate_scenario
from nicperf.simulation.scenario import Scenario

SETTINGS = 1000
BATCH = 50


def settings() -> list[Scenario]:
    """Frame set-up times between 100 and 1099 ns, on a host that the wire limits."""
    return [velocity("napi", 0.01, **{**FAST, "nic.frame_gap_ns": 100.0 + i}) for i in range(SETTINGS)]


def throughputs(batch: list[Scenario]) -> list[float]:
    return [simulate_scenario(sc).summary["throughput_mbit_s"] for sc in batch]


def sweep(scenarios: list[Scenario], executor: Executor) -> list[float]:
    batches = [scenarios[i : i + BATCH] for i in range(0, len(scenarios), BATCH)]
    return [value for part in executor.map(throughputs, batches) for value in part]


def seconds(work: Callable[[], object]) -> tuple[float, float]:
    """Wall clock, and CPU of this process with all its threads."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


@contextmanager
def dask() -> Iterator[Executor]:
    """The executor of a local cluster of two processes."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield client.get_executor()


def measure(rounds: int) -> list[Row]:
    scenarios = settings()
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(2) as two:
        expected = sweep(scenarios, one)
        pools = {"one thread": one, "two threads": two}
        if util.find_spec("distributed"):
            with dask() as cluster:
                return rows(scenarios, expected, {**pools, "Dask, two processes": cluster}, rounds)
        return rows(scenarios, expected, pools, rounds)


def rows(
    scenarios: list[Scenario], expected: list[float], pools: dict[str, Executor], rounds: int
) -> list[Row]:
    for name, executor in pools.items():  # also lets every worker import before it is timed
        if sweep(scenarios, executor) != expected:
            raise RuntimeError(f"{name} gives other results than one thread")
    works = {name: partial(seconds, partial(sweep, scenarios, executor)) for name, executor in pools.items()}
    measured = interleave(works, rounds)
    wall = {name: values[:, 0] for name, values in measured.items()}
    group = f"{SETTINGS} settings of 10 ms"
    two = wall["two threads"]
    out = [
        Row(group, "one thread", wall["one thread"], "s", note="wall clock: other load shows here"),
        Row(group, "two threads", two, "s", at_most=0.5),
        Row(group, "one / two threads", wall["one thread"] / two, "x", at_least=1.85),
        Row(group, "CPU of one thread", measured["one thread"][:, 1], "s"),
        Row(group, "CPU of two threads", measured["two threads"][:, 1], "s"),
    ]
    for name in list(wall)[2:]:
        out += [
            Row(group, name, wall[name], "s", note=f"batches of {BATCH}"),
            Row(group, f"{name} / two threads", wall[name] / two, "x", at_most=1.15),
        ]
    return out
