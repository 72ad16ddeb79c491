"""Executors of every kind, and scenarios that between them run all of the data path."""

from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any

import pytest

PATCHES = {
    "driver.napi": True,
    "driver.tx_suppress_frames": 31,
    "driver.rx_suppress_frames": 31,
    "driver.tx_scatter_gather": True,
}
SCENARIOS = [
    (workload, params, seed)
    for workload in ("udp_stream", "tcp_stream", "tcp_sendfile")
    for params in ({}, {"local.driver.napi": True}, PATCHES)
    for seed in (0, 1)
]
EXECUTORS = ["1 thread", "2 threads", "8 threads", "processes", "dask"]


@contextmanager
def dask() -> Iterator[Executor]:
    distributed = pytest.importorskip(
        "distributed", reason="Dask is missing: install the extra nicperf[dask]"
    )
    # No dashboard: it would open a port and need bokeh.
    local = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with distributed.LocalCluster(**local) as cluster, distributed.Client(cluster) as client:
        yield client.get_executor()


@pytest.fixture(scope="session", params=EXECUTORS)
def executor(request: pytest.FixtureRequest) -> Iterator[Executor]:
    number, *_ = request.param.split()
    pools: dict[str, Any] = {
        "dask": dask,
        # A fresh interpreter, not a copy of this one.
        "processes": lambda: ProcessPoolExecutor(2, mp_context=get_context("spawn")),
    }
    with pools.get(number, lambda: ThreadPoolExecutor(int(number)))() as pool:
        yield pool


@pytest.fixture(scope="session")
def scenarios() -> list[tuple[str, dict[str, Any], int]]:
    """Workload, parameters and seed."""
    return SCENARIOS
