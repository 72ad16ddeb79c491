"""A sweep on a Dask cluster that loses a worker is complete, and the same as in threads."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import pytest
from pandas.testing import assert_frame_equal

from nicperf.simulation import batches, sweep

distributed = pytest.importorskip("distributed", reason="Dask is missing: install the extra nicperf[dask]")

GRID = {"nic.frame_gap_ns": [float(gap) for gap in range(500, 1300, 10)]}
TIMES = {"duration_s": 0.05, "warmup_s": 0.005}


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[Path, list[subprocess.Popen[bytes]]]]:
    """A scheduler and two workers, each a process of its own; every port is one that was free."""
    address = tmp_path / "scheduler.json"
    scheduler = ["scheduler", "--port", "0", "--no-dashboard", "--no-show"]
    worker = ["worker", "--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory", str(tmp_path)]
    processes = []
    try:
        for words in (scheduler, worker, worker):
            command = [sys.executable, "-m", "dask", *words, "--scheduler-file", str(address)]
            with open(tmp_path / f"{len(processes)}.log", "wb") as log:
                processes.append(subprocess.Popen(command, stdout=log, stderr=log))
        yield address, processes
    finally:
        for process in processes:
            process.kill()  # a worker whose scheduler has gone may not heed anything less
            process.wait()


class Observed(Executor):
    """Hands everything to another executor, and calls back once when the first task is done."""

    def __init__(self, executor: Executor, then: Callable[[], object]) -> None:
        self.executor = executor
        self.then = then
        self.futures: list[Future[Any]] = []

    def submit(self, *words: Any, **options: Any) -> Future[Any]:
        future = self.executor.submit(*words, **options)
        self.futures.append(future)
        if len(self.futures) == 1:
            future.add_done_callback(lambda _: self.then())
        return future


def test_a_worker_dies_during_a_sweep(
    cluster: tuple[Path, list[subprocess.Popen[bytes]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "BATCH_S", 1e-9)  # a task for each run: many are left when the worker dies
    expected = sweep("velocity", "tcp_stream", {}, GRID, seeds=range(2), **TIMES)
    address, (_, _, victim) = cluster
    with distributed.Client(scheduler_file=str(address), timeout="120s") as client:
        client.wait_for_workers(2, timeout="120s")
        done_by_then = []

        def kill() -> None:
            victim.send_signal(signal.SIGKILL)
            done_by_then.append(sum(future.done() for future in executor.futures))

        executor = Observed(client.get_executor(), kill)
        frame = sweep("velocity", "tcp_stream", {}, GRID, seeds=range(2), executor=executor, **TIMES)
        assert victim.wait(60) == -signal.SIGKILL
        deadline = time.monotonic() + 60
        while len(client.scheduler_info(n_workers=-1)["workers"]) > 1 and time.monotonic() < deadline:
            time.sleep(0.1)
        assert len(client.scheduler_info(n_workers=-1)["workers"]) == 1
    assert len(executor.futures) == len(frame) - 1 and done_by_then[0] < len(frame) / 2
    assert_frame_equal(frame, expected, check_exact=True)
