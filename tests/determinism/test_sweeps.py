"""A sweep gives the same frame whoever runs it, and however the runs are put into batches."""

from concurrent.futures import Executor
from typing import Any

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from nicperf.simulation import batches, simulate, sweep

GRID: dict[str, list[Any]] = {"nic.dma_burst_dwords": [8, 64], "local.driver.rx_timer_us": [5.0, 20.0, 80.0]}
TIMES = {"duration_s": 0.02, "warmup_s": 0.005}


def swept(**options: Any) -> pd.DataFrame:
    return sweep("velocity", "tcp_stream", {"driver.napi": True}, GRID, seeds=range(3), **TIMES, **options)


@pytest.fixture(scope="module")
def expected() -> pd.DataFrame:
    """The same rows, one `simulate` after the other."""
    rows = []
    for burst in GRID["nic.dma_burst_dwords"]:
        for timer in GRID["local.driver.rx_timer_us"]:
            point = {"nic.dma_burst_dwords": burst, "local.driver.rx_timer_us": timer}
            for seed in range(3):
                run = simulate("velocity", "tcp_stream", {"driver.napi": True} | point, seed=seed, **TIMES)
                rows.append({**point, "seed": seed, **run.summary})
    return pd.DataFrame(rows)


def test_on_every_executor(expected: pd.DataFrame, executor: Executor) -> None:
    assert_frame_equal(swept(executor=executor), expected, check_exact=True)


@pytest.mark.parametrize("batch_s", [1e-9, 1e9])
def test_in_batches_of_one_and_of_many(
    expected: pd.DataFrame, batch_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "BATCH_S", batch_s)
    monkeypatch.setattr(batches, "BATCHES_PER_CORE", (1, 1))
    assert_frame_equal(swept(), expected, check_exact=True)
