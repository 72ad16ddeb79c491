"""Sweeps: what is run, in which order, what is refused, and what happens when a run fails."""

import time
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import nicperf as nic
from nicperf.errors import ScenarioError
from nicperf.simulation import batches, simulate, sweep

SHORT = {"duration_s": 0.005, "warmup_s": 0.001}


def test_rows_are_tidy_and_in_the_order_of_the_grid() -> None:
    grid = {"driver.version": ["1.15", "1.14"], "driver.napi": [True, False], "nic.frame_gap_ns": [500, 2000]}
    frame = sweep("velocity", "udp_stream", {}, grid, seeds=[7, 3], **SHORT)
    assert list(frame["driver.version"]) == 8 * ["1.15"] + 8 * ["1.14"]
    assert list(frame["driver.napi"]) == 2 * (4 * [True] + 4 * [False])
    assert list(frame["nic.frame_gap_ns"]) == 4 * [500.0, 500.0, 2000.0, 2000.0]
    assert list(frame["seed"]) == 8 * [7, 3]
    run = simulate("velocity", "udp_stream", **SHORT)
    assert list(frame.columns) == [*grid, "seed", *run.summary]
    assert frame.drop(columns="driver.version").dtypes.map(lambda dtype: dtype.kind).to_list() == [
        "b",
        "f",
        "i",
        *("f" for _ in run.summary),
    ]


def test_values_come_as_lists_ranges_arrays_and_generators() -> None:
    frames = [
        sweep("velocity", "tcp_stream", {}, {"driver.rx_suppress_frames": values}, **SHORT)
        for values in ([8, 16], range(8, 17, 8), np.array([8, 16]), (n for n in (8, 16)), ["8", "16"])
    ]
    for frame in frames[1:]:
        pd.testing.assert_frame_equal(frame, frames[0], check_exact=True)


def test_no_axes_are_one_setting() -> None:
    frame = sweep("velocity", "tcp_stream", {}, {}, seeds=range(2), **SHORT)
    assert list(frame["seed"]) == [0, 1]
    assert frame["throughput_mbit_s"][1] == simulate(seed=1, **SHORT).summary["throughput_mbit_s"]


@pytest.mark.parametrize(
    ("grid", "same"),
    [
        ({"bus.clock_mhz": [66.0]}, {"bus.clock_mhz": 66.0}),
        ({"remote.bus.clock_mhz": [66.0]}, {"local.bus.clock_mhz": 25.0, "remote.bus.clock_mhz": 66.0}),
        (
            {"local.bus.clock_mhz": [33.0], "bus.clock_mhz": [66.0]},
            {"local.bus.clock_mhz": 33.0, "remote.bus.clock_mhz": 66.0},
        ),
    ],
)
def test_the_grid_wins_over_params_and_a_side_over_a_plain_name(
    grid: dict[str, list[float]], same: dict[str, float]
) -> None:
    (row,) = sweep("velocity", "tcp_stream", {"local.bus.clock_mhz": 25.0}, grid, **SHORT).to_dict("records")
    summary = simulate("velocity", "tcp_stream", same, **SHORT).summary
    assert {name: row[name] for name in summary} == summary


@pytest.mark.parametrize(
    ("grid", "named"),
    [
        ({"nic.dma_burst": [8]}, ["nic.dma_burst", "'nic.dma_burst_dwords'"]),
        ({"left.nic.pause": [True]}, ["left.nic.pause", "'nic.pause'"]),
        ({"nic.dma_burst_dwords": []}, ["nic.dma_burst_dwords", "no values"]),
        ({"nic.dma_burst_dwords": 8}, ["nic.dma_burst_dwords = 8", "[8]"]),
        ({"driver.version": "1.14"}, ["driver.version", "['1.14']"]),
        ({"driver.tx_ring": [64, 4096]}, ["driver.tx_ring = 4096", "16..256"]),
        ({"nic.frame_gap_ns": [1.0, float("nan")]}, ["nic.frame_gap_ns = nan", "finite"]),
        ({"local.wire.mtu_bytes": [1500, 1000]}, ["local.wire.mtu_bytes = 1000", "both sides"]),
    ],
)
def test_a_bad_grid_is_refused_before_anything_runs(
    grid: Any, named: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(batches, "execute")
    with pytest.raises(ScenarioError) as caught:
        sweep("velocity", "tcp_stream", {}, {"driver.napi": [True], **grid})
    assert all(words in str(caught.value) for words in named), caught.value


@pytest.mark.parametrize("seeds", [3, [], [-1], [0.5], [2**64], ["1"]])
def test_bad_seeds_are_refused(seeds: Any) -> None:
    with pytest.raises(ScenarioError, match=r"^sweep: seed"):
        sweep("velocity", "tcp_stream", {}, {}, seeds=seeds)


class Patient(Executor):
    """Starts nothing: keeps what was submitted."""

    def __init__(self) -> None:
        self.futures: list[Future[Any]] = []

    def submit(self, *_: Any, **__: Any) -> Future[Any]:
        self.futures.append(Future())
        return self.futures[-1]


def test_a_failing_run_tells_which_and_cancels_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    executor = Patient()

    def fail(futures: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(batches, "as_completed", fail)
    with pytest.raises(KeyboardInterrupt):
        sweep("velocity", "tcp_stream", {}, {}, seeds=range(20), executor=executor, **SHORT)
    assert executor.futures and all(future.cancelled() for future in executor.futures)

    real = batches.execute
    monkeypatch.undo()
    monkeypatch.setattr(batches, "execute", lambda *words: real(*words) if words[-1] < 5 else 1 / 0)
    with pytest.raises(ZeroDivisionError) as caught:
        sweep("velocity", "tcp_stream", {}, {"driver.napi": [True]}, seeds=range(6), **SHORT)
    assert caught.value.__notes__ == [
        "sweep: {'local.driver.napi': True, 'remote.driver.napi': True}, seed 5"
    ]


def test_a_given_executor_stays_open() -> None:
    with ThreadPoolExecutor(1) as executor:
        for _ in range(2):
            sweep("velocity", "tcp_stream", {}, {}, seeds=range(3), executor=executor, **SHORT)


def test_batches_take_about_their_time_and_leave_none_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "_cores", lambda: 2)
    assert batches._size(10_000, 0.001, per_core=8) == 50
    assert batches._size(10_000, 1.0, per_core=8) == 1
    assert batches._size(160, 1e-6, per_core=8) == 10
    assert batches._size(0, 1.0, per_core=8) == 1


def test_the_bar_shows_on_request_only(capsys: pytest.CaptureFixture[str]) -> None:
    for progress, shown in ((None, False), (False, False), (True, True)):
        sweep("velocity", "tcp_stream", {}, {}, seeds=range(3), progress=progress, **SHORT)
        assert ("3/3" in capsys.readouterr().err) == shown


def test_a_stopping_rule_adds_what_it_took() -> None:
    rule = {"duration_s": 0.5, "stop_width": 0.002}
    frame = sweep("velocity", "tcp_stream", {}, {"bus.clock_mhz": [25, 33]}, **rule)
    for row in frame.to_dict("records"):
        run = simulate("velocity", "tcp_stream", {"bus.clock_mhz": row["bus.clock_mhz"]}, **rule)
        assert (row["measured_s"], row["half_width_percent"]) == (run.measured_s, run.half_width_percent)
        assert {name: row[name] for name in run.summary} == run.summary


@pytest.fixture
def experiment() -> Any:
    exp = nic.experiment("velocity-2009")
    exp.fit = SimpleNamespace(values={})  # prior centres: these tests are not about the fit
    return exp


def test_a_sweep_of_an_experiment_is_its_simulate(experiment: Any) -> None:
    grid = {"nic.dma_burst_dwords": [8, 64], "remote.driver.rx_timer_us": [10.0, 40.0]}
    frame = nic.sweep(experiment, "napi", "tcp_stream", grid, seeds=[4])
    for row in frame.to_dict("records"):
        run = experiment.simulate("napi", "tcp_stream", seed=4, **{name: row[name] for name in grid})
        assert {name: row[name] for name in run.summary} == run.summary


def test_an_experiment_can_be_swept_for_another_time(experiment: Any) -> None:
    start = time.perf_counter()
    frame = nic.sweep(experiment, "all", "udp_stream", {}, duration_s=0.001, warmup_s=0.0)
    assert len(frame) == 1 and time.perf_counter() - start < 60
    with pytest.raises(ScenarioError, match="napi"):
        nic.sweep(experiment, "napy", "tcp_stream", {})
