"""What a run says about itself: summary, frames and binding resource, each against what it is made from."""

from __future__ import annotations

import numpy as np
import pytest

from nicperf.simulation import Run, simulate

from ..observed import observe

QUIET = {
    "driver.napi": True,
    "nic.dma_burst_dwords": 64,
    "driver.rx_suppress_frames": 31,
    "driver.tx_suppress_frames": 31,
}


@pytest.fixture(scope="module")
def run() -> Run:
    return simulate("velocity", "tcp_stream", {}, duration_s=0.05, warmup_s=0.01, slices=5)


def counter(run: Run, side: str, name: str) -> int:
    table = run.counters
    return int(table.value[(table.side == side) & (table.counter == name)].item())


def test_summary(run: Run) -> None:
    """The measurement is the difference of two instants."""
    instants = observe("tcp_stream", {}, 0.06, slices=6).snapshots
    begin, end = instants[1], instants[6]
    received = end.remote["received_bytes"] - begin.remote["received_bytes"]
    busy_ps = end.local.total("busy_ps.*") - begin.local.total("busy_ps.*")
    bus_ps = end.remote.total("bus_ps.*") - begin.remote.total("bus_ps.*")
    interrupts = end.local["interrupts"] - begin.local["interrupts"]
    expected = {
        "throughput_mbit_s": received * 8 / 50_000,
        "cpu_percent_local": busy_ps / 5e8,
        "service_demand_us_per_kb_local": busy_ps * 1e-6 / (received / 1024),
        "interrupts_per_s_local": interrupts / 0.05,
        "bus_percent_remote": bus_ps / 5e8,
    }
    assert {name: run.summary[name] for name in expected} == pytest.approx(expected)


def test_service_demand_is_netperf_s(run: Run) -> None:
    """81.92 x CPU % / (Mbit/s)."""
    for side in ("local", "remote"):
        handy = 81.92 * run.summary[f"cpu_percent_{side}"] / run.summary["throughput_mbit_s"]
        assert run.summary[f"service_demand_us_per_kb_{side}"] == pytest.approx(handy)


def test_costs_add_up(run: Run) -> None:
    for side in ("local", "remote"):
        costs = run.costs[run.costs.side == side]
        assert costs.share.sum() == pytest.approx(1)
        busy_ns = run.summary[f"cpu_percent_{side}"] / 100 * 0.05e9
        assert costs.ns_per_frame.sum() * counter(run, "local", "tx_frames") == pytest.approx(
            busy_ns, rel=1e-3
        )
        assert costs.cycles.sum() == pytest.approx(
            costs.ns_per_frame.sum() * counter(run, "local", "tx_frames") * 1.4
        )
        assert (costs.calls > 0).all()


def test_bus_adds_up(run: Run) -> None:
    for side in ("local", "remote"):
        bus = run.bus[(run.bus.side == side) & (run.bus.use != "dma_set_up")]
        assert 100 * bus.share.sum() == pytest.approx(run.summary[f"bus_percent_{side}"])
        assert bus.ns_per_frame.sum() * counter(run, "local", "tx_frames") == pytest.approx(
            bus.share.sum() * 0.05e9
        )


def test_timeline_averages_to_the_summary(run: Run) -> None:
    assert run.timeline.t_s.tolist() == pytest.approx([0.01, 0.02, 0.03, 0.04, 0.05])
    for name in ("throughput_mbit_s", "cpu_percent_local", "cpu_percent_remote", "interrupts_per_s_local"):
        assert run.timeline[name].mean() == pytest.approx(run.summary[name])


def test_percentiles_hold_the_latencies() -> None:
    """Against stays from the trace: a bucket of the histogram is 6 % wide."""
    observed = observe("udp_stream", {"workload.message_bytes": 1472}, 0.02, events=100_000)
    used, backlog = (
        np.diff(observed.trace.lengths[q], prepend=0) for q in ("local.tx_ring", "remote.backlog")
    )
    posted, taken = observed.trace.time_ps[used > 0], observed.trace.time_ps[backlog < 0]
    stays_us = (taken - posted[: len(taken)]) * 1e-6
    run = simulate("velocity", "udp_stream", {"workload.message_bytes": 1472}, duration_s=0.02, warmup_s=0.0)
    row = run.percentiles.iloc[0]
    for p in (50, 90, 95, 99):
        assert row[f"p{p}"] == pytest.approx(np.percentile(stays_us, p, method="inverted_cdf"), rel=0.04)


DEEP = {"remote.nic.rx_fifo_bytes": 1 << 20}  # a slow receiver holds the whole window instead of losing it


@pytest.mark.parametrize(
    ("workload", "params", "resource"),
    [
        ("udp_stream", {"wire.rate_mbit_s": 200.0}, "wire"),
        ("udp_stream", {"local.bus.clock_mhz": 20.0}, "sender bus"),
        ("udp_stream", {"local.nic.frame_gap_ns": 20000.0}, "sender DMA engine"),
        ("udp_stream", {"local.cpu.frequency_mhz": 160.0}, "sender CPU"),
        ("tcp_stream", {"wire.rate_mbit_s": 200.0}, "wire"),
        ("tcp_stream", {"local.bus.clock_mhz": 20.0}, "sender bus"),
        ("tcp_stream", {"local.nic.frame_gap_ns": 20000.0}, "sender DMA engine"),
        ("tcp_stream", {"local.cpu.frequency_mhz": 250.0}, "sender CPU"),
        ("tcp_stream", {"remote.bus.clock_mhz": 15.0} | DEEP, "receiver bus"),
        ("tcp_stream", {"remote.nic.frame_gap_ns": 20000.0} | DEEP, "receiver DMA engine"),
        ("tcp_stream", {"remote.cpu.frequency_mhz": 300.0}, "receiver CPU"),
    ],
)
def test_the_slow_one_binds(workload: str, params: dict[str, object], resource: str) -> None:
    """Make one resource slow enough: it has most of the elasticity. An engine also waits for its own bus, so
    the two share.
    """
    run = simulate("velocity", workload, QUIET | params, duration_s=0.1, warmup_s=0.02)
    assert run.binding == resource
    elasticity = run.elasticities.set_index("resource").elasticity
    assert 0.5 < elasticity[resource] < 1.3
    partner = resource.replace("DMA engine", "bus")
    assert elasticity.drop({resource, partner}).abs().max() < 0.3


def test_same_scenario_same_bytes(run: Run) -> None:
    again = simulate("velocity", "tcp_stream", {}, duration_s=0.05, warmup_s=0.01, slices=5)
    other = simulate("velocity", "tcp_stream", {}, duration_s=0.05, warmup_s=0.01, slices=5, seed=1)
    assert (again.rows == run.rows).all() and (again.latency == run.latency).all()
    assert (other.rows != run.rows).any()
