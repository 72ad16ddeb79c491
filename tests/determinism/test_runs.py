"""Same scenario and seed, same bytes: in any number of threads, in other processes, with any hash seed."""

import os
import subprocess
import sys
from concurrent.futures import Executor
from hashlib import sha256
from typing import Any

import pytest

from nicperf.simulation import Run, simulate

Scenarios = list[tuple[str, dict[str, Any], int]]
TIMES = {"duration_s": 0.02, "warmup_s": 0.005}


def digest(run: Run) -> str:
    return sha256(run.rows.tobytes() + run.latency.tobytes()).hexdigest()


@pytest.fixture(scope="module")
def expected(scenarios: Scenarios) -> list[str]:
    """Digests of the runs one after the other, here."""
    return [digest(simulate("velocity", w, params, seed=seed, **TIMES)) for w, params, seed in scenarios]


def test_on_every_executor(scenarios: Scenarios, expected: list[str], executor: Executor) -> None:
    # Three times over: with several threads the same scenarios then run beside each other.
    futures = [
        executor.submit(simulate, "velocity", workload, params, seed=seed, **TIMES)
        for workload, params, seed in 3 * scenarios
    ]
    assert [digest(future.result()) for future in futures] == 3 * expected


def test_the_digest_tells_runs_apart(expected: list[str]) -> None:
    assert len(set(expected)) == len(expected)


@pytest.mark.parametrize("hash_seed", ["0", "1", "random"])
def test_with_any_hash_seed(scenarios: Scenarios, expected: list[str], hash_seed: str) -> None:
    code = f"""
from hashlib import sha256
from nicperf.simulation import simulate
for workload, params, seed in {scenarios!r}:
    run = simulate("velocity", workload, params, seed=seed, **{TIMES!r})
    print(sha256(run.rows.tobytes() + run.latency.tobytes()).hexdigest())
"""
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == expected
