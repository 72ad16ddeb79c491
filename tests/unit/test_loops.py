"""A closed loop under several explanations, and another machine's copies in an experiment."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from nicperf import report
from nicperf.live import read_copy
from nicperf.report.instances import tail
from nicperf.simulation import simulate

LOOP = {"workload.instances": 20, "workload.request_bytes": 100, "workload.response_bytes": 100}
LOOP |= {"workload.window_s": 0.02, "workload.start_skew_s": 0.0, "cpu.cores": 2}
PUBLISHED = {"transactions_per_s": 50_000.0, "latency_p50_us": 100.0, "latency_p90_us": 200.0}
PUBLISHED |= {"latency_p95_us": 300.0, "latency_p99_us": 400.0}


def experiment(driver_workload: str, base: dict[str, Any], settings: dict[str, Any] | None = None) -> Any:
    """What the views ask of an experiment, around a run of the model without any fit."""
    figures = pd.DataFrame(
        [
            {"configuration": "off", "workload": "w", "quantity": name, "value": value}
            for name, value in PUBLISHED.items()
        ]
    )

    def run(configuration: str, workload: str, **changes: Any) -> Any:
        mode = {"local.copies.mode": "nocache" if configuration == "on" else "cached"}
        return simulate("ixgbe", driver_workload, {**base, **mode, **changes}, duration_s=0.02)

    workload = SimpleNamespace(
        workload=driver_workload, elapsed_s=10.0, settings={**base, **(settings or {})}
    )
    return SimpleNamespace(simulate=run, figures=figures, workloads={"w": workload})


def test_the_table_sets_each_variant_beside_what_was_published() -> None:
    loops = report.loops(
        experiment("tcp_rr", LOOP), "off", "w", {"as it is": {}, "fewer": {"workload.instances": 2}}
    )
    frame = loops.table("A loop").frame.set_index("variant")
    assert list(frame.index) == ["published", "as it is", "fewer"]
    assert frame.loc["published", "latency_mean_us"] == pytest.approx(1e6 * 20 / 50_000)  # Little's law
    assert frame.loc["as it is", "transactions_per_s"] > frame.loc["fewer", "transactions_per_s"] > 0
    chart = loops.chart("How long?").to_dict()
    points = next(iter(p for p in chart["datasets"].values() if len(p) == 4))
    assert sorted(row["latency_us"] for row in points) == [100.0, 200.0, 300.0, 400.0]
    assert sorted(row["slower_percent"] for row in points) == [1, 5, 10, 50]


def test_a_tail_falls_from_all_to_none() -> None:
    run = simulate("ixgbe", "tcp_rr", LOOP)
    line = tail(run)
    assert line["slower_percent"].is_monotonic_decreasing
    assert line["latency_us"].is_monotonic_increasing
    assert line["slower_percent"].iloc[-1] == 0
    half = line.loc[line["slower_percent"] <= 50, "latency_us"].iloc[0]
    assert half == pytest.approx(run.exchanges.latency_us(50, "pooled"), rel=0.2)
    with pytest.raises(ValueError, match="no closed loop"):
        tail(simulate("ixgbe", "tcp_stream", duration_s=0.001))


def test_copies_of_another_machine_change_the_demand() -> None:
    places = {"local.cpu.frequency_mhz": 3200.0, "local.cpu.process_core": "other"}
    exp = experiment("tcp_stream", places)
    frame = report.machine(read_copy(), exp, "w").frame
    assert frame["copies"].iloc[0] == "as fitted"
    assert (frame["off"] > 0).all()
    assert frame["change"].tolist() == pytest.approx((100 * (frame["on"] / frame["off"] - 1)).tolist())
    assert frame["off"].nunique() == 2  # the machine's prices did go in


def test_the_published_stream_lies_in_the_last_level() -> None:
    place = report.stream_place().iloc[0]
    assert place["size_bytes"] == 16384
    assert 256 << 10 < place["low_bytes"] < place["high_bytes"] < 8 << 20
