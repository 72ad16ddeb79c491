"""Many netperf instances in a closed loop: windows, percentiles, timers, and what a full wire allows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nicperf.analytic import queues
from nicperf.errors import ScenarioError
from nicperf.simulation import simulate, sweep
from nicperf.simulation.exchanges import Exchanges, percentile_us

SMALL = {"workload.instances": 20, "workload.request_bytes": 1000, "workload.response_bytes": 1}
SMALL |= {"workload.window_s": 0.05, "workload.start_skew_s": 0.0, "cpu.cores": 2}
LARGE = {
    **SMALL,
    "workload.request_bytes": 14000,
    "workload.response_bytes": 14000,
    "workload.instances": 100,
}


def exchange(params: dict[str, Any], seed: int = 0):
    return simulate("ixgbe", "tcp_rr", params, seed=seed)


# the tool ----------------------------------------------------------------------------------------------------------


def histogram(*latencies_us: int) -> np.ndarray:
    counts = np.zeros(800, dtype=np.int64)
    for us in latencies_us:
        decade = 0
        while us >= 100:
            us //= 10
            decade += 1
        counts[100 * decade + us] += 1
    return counts


def test_percentiles_by_hand() -> None:
    """Ten transactions: 5 of 50 us, 4 of 200, 1 of 3,000 us; buckets of 1, 10 and 100 us."""
    counts = histogram(*[50] * 5, *[200] * 4, 3000)
    # Rank 5 ends the first bucket: 50 + 5/5 of 1 us. Rank 9 ends the second: 200 + 4/4 of 10. Rank 7 is its middle.
    assert percentile_us(counts, 50) == 51
    assert percentile_us(counts, 70) == 205
    assert percentile_us(counts, 90) == 210
    assert percentile_us(counts, 99) == 210  # floor(9.9) is 9
    assert percentile_us(counts, 100) == 3100
    assert np.isnan(percentile_us(np.zeros(800, dtype=np.int64), 50))


def test_averages_of_instances_are_not_those_of_transactions() -> None:
    """A slow instance counts as much as a fast one, which has done ten times as many."""
    fast, slow = histogram(*[10] * 100), histogram(*[1000] * 10)
    both = np.stack([fast, slow]).reshape(2, 8, 100).astype(np.uint32)
    figures = np.array([[0, 100, 0, 1000, 10_000, 0], [1, 10, 0, 10_000, 10_000_000, 0]])
    found = Exchanges(1.0, 1.5, figures, both)
    assert found.latency_us(50, "pooled") == 10
    assert found.latency_us(50, "mean_of_instances") == pytest.approx((10 + 1050) / 2, abs=1)
    summary = found.summary("pooled")
    assert summary["transactions_per_s"] == 110
    assert summary["transactions_per_s_of_the_whole"] == pytest.approx(110 / 1.5)
    assert summary["latency_mean_us"] == 100


# the loop ----------------------------------------------------------------------------------------------------------


def test_nothing_is_lost_between_request_and_response() -> None:
    run = exchange({**SMALL, "workload.response_bytes": 3000})
    local, remote = (
        run.counters.query("side == @side").set_index("counter")["value"] for side in ("local", "remote")
    )
    assert local["messages"] <= remote["messages"] <= local["messages"] + 20
    assert remote["received_bytes"] == pytest.approx(1000 * remote["messages"], abs=20 * 1000)
    assert local["received_bytes"] == pytest.approx(3000 * local["messages"], abs=20 * 3000)
    counted = run.exchanges.instances["transactions"].sum()
    assert counted <= local["messages"] <= counted + 20  # one of each instance may end behind its window
    assert local["retransmits"] == remote["retransmits"] == 0


@pytest.mark.parametrize("cores", [1, 3, 8])
def test_littles_law_holds_for_the_instances(cores: int) -> None:
    """Instances = rate x mean latency, up to the transaction that is open at the end."""
    run = exchange({**SMALL, "cpu.cores": cores})
    rate, mean_us = run.summary["transactions_per_s"], run.summary["latency_mean_us"]
    assert rate * mean_us * 1e-6 == pytest.approx(20, rel=0.02)


def test_one_instance_waits_for_each_part_in_turn() -> None:
    """With nothing else to do: two turns of a process, and for each packet interrupt, poll and stack; all by the ledger."""
    alone = {**SMALL, "workload.instances": 1, "cpu.cores": 1, "cpu.jitter_percent": 0.0}
    run = exchange({**alone, "driver.itr": "fixed", "driver.itr_us": 1.0})
    n = run.exchanges.figures[0, 1]
    busy_us = sum(run.summary[f"cpu_percent_{side}"] for side in ("local", "remote")) / 100 * 0.05e6 / n
    wire_us = (1066 + 24 + 67 + 24) * 8e-4  # request and response
    bus_us = 4 * 0.7 + (1066 + 67) / 3200  # each is fetched by two reads, and written to memory
    # A completion's poll runs beside the wire, not in the way of the next packet.
    assert run.summary["latency_mean_us"] < busy_us + wire_us + bus_us + 1
    assert run.summary["latency_mean_us"] > 0.5 * (busy_us + wire_us + bus_us)


def test_a_core_that_is_the_bottleneck_is_full() -> None:
    slow = exchange({**SMALL, "remote.cpu.frequency_mhz": 800.0, "cpu.cores": 1})
    assert slow.summary["cpu_percent_remote"] == pytest.approx(100, abs=1)
    demand_s = slow.summary["cpu_percent_remote"] / 100 / slow.summary["transactions_per_s"]
    assert slow.summary["transactions_per_s"] <= queues.closed_throughput(20, 0.0, demand_s) * 1.001


def test_a_full_wire_carries_no_more_than_its_slots() -> None:
    """14,000 bytes are ten segments; an ACK goes with each message, since more than one segment wants one."""
    run = exchange({**LARGE, "workload.window_s": 0.2, "workload.instances": 200, "cpu.cores": 4})
    slots = 14000 + 11 * (66 + 24)
    assert run.summary["transactions_per_s_of_the_whole"] == pytest.approx(10e9 / 8 / slots, rel=0.02)


def test_own_windows_add_up_to_more_than_the_wire() -> None:
    """The rates of windows that lie apart are those of a longer test, counted as if of one window."""
    many = {**LARGE, "workload.instances": 300, "workload.window_s": 0.2, "cpu.cores": 4}
    apart, together = (exchange({**many, "workload.start_skew_s": skew_s}) for skew_s in (0.02, 0.0))
    gain = apart.summary["transactions_per_s"] / together.summary["transactions_per_s"]
    assert 1.06 < gain < 1.1  # a few instances, at both ends of the test, do not fill the wire
    assert apart.summary["transactions_per_s_of_the_whole"] == pytest.approx(
        together.summary["transactions_per_s"], rel=0.02
    )


def test_equal_seeds_equal_results() -> None:
    first, second, other = (exchange(SMALL, seed) for seed in (1, 1, 2))
    assert (first.exchanges.histogram == second.exchanges.histogram).all()
    assert (first.rows == second.rows).all()
    assert (first.exchanges.histogram != other.exchanges.histogram).any()


# timers ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rto_us", [200_000.0, 40_000.0])
def test_a_lost_message_waits_for_its_timeout(rto_us: float) -> None:
    lossy = {**LARGE, "wire.buffer_bytes": 150_000.0, "workload.window_s": 0.5, "socket.rto_us": rto_us}
    run = exchange(lossy)
    assert run.summary["timeouts"] > 20
    longest_us = run.exchanges.instances["longest_us"]
    stalled = longest_us[longest_us > 0.9 * rto_us]
    assert stalled.min() >= rto_us
    assert len(stalled) > 10
    assert run.summary["latency_p50_us"] < 1000


def test_a_probe_ends_the_stall_early() -> None:
    lossy = {**LARGE, "wire.buffer_bytes": 150_000.0, "workload.window_s": 0.5}
    without, with_it = (exchange({**lossy, "socket.tail_probe_us": us}) for us in (0.0, 10_000.0))
    assert with_it.summary["timeouts"] < without.summary["timeouts"]
    assert 10_000 < with_it.exchanges.latency_us(99, "pooled") < 20_000


def test_a_message_of_one_segment_is_acknowledged_late_or_with_the_answer() -> None:
    prompt = exchange(SMALL).counters.query("counter == 'acks_sent'")["value"].sum()
    slow = {
        **SMALL,
        "workload.instances": 1,
        "remote.cpu.wakeup_cycles": 90_000.0,
        "remote.cpu.frequency_mhz": 300.0,
    }
    late = exchange({**slow, "socket.delayed_ack_us": 100.0}).counters.query("counter == 'acks_sent'")
    assert prompt == 0
    assert late.set_index("side").loc["remote", "value"] > 50


def test_a_way_without_room_carries_nothing_and_says_so() -> None:
    run = exchange({**SMALL, "wire.buffer_bytes": 50.0})
    assert run.summary["transactions_per_s"] == 0
    assert np.isnan(run.summary["latency_p50_us"])


def test_messages_longer_than_a_super_packet() -> None:
    run = exchange(
        {**SMALL, "workload.request_bytes": 200_000, "workload.response_bytes": 1, "workload.instances": 4}
    )
    assert run.summary["transactions_per_s"] > 1000
    assert run.summary["throughput_mbit_s"] == pytest.approx(
        run.summary["transactions_per_s"] * 200_000 * 8e-6, rel=0.1
    )


# asking ------------------------------------------------------------------------------------------------------------


def test_a_closed_loop_has_no_stopping_rule() -> None:
    with pytest.raises(ScenarioError, match="closed loop"):
        simulate("ixgbe", "tcp_rr", SMALL, stop_width=0.01)


def test_both_ends_must_agree() -> None:
    with pytest.raises(ScenarioError, match="request_bytes"):
        exchange({**SMALL, "local.workload.request_bytes": 5})


def test_a_sweep_has_the_figures_of_the_loop() -> None:
    frame = sweep(
        "ixgbe", "tcp_rr", SMALL, {"workload.instances": [1, 20], "workload.start_skew_s": [0.0, 0.01]}
    )
    assert frame["transactions_per_s"].is_monotonic_increasing or frame["transactions_per_s"].iloc[3] > 0
    same = exchange({**SMALL, "workload.start_skew_s": 0.01}).summary
    assert frame["transactions_per_s"].iloc[3] == same["transactions_per_s"]
    assert frame["cpu_percent_local"].iloc[3] == pytest.approx(same["cpu_percent_local"], rel=1e-3)


def test_percentiles_of_a_run_show_both_rules() -> None:
    table = exchange(SMALL).percentiles.set_index("quantity")
    assert {"transaction_us_pooled", "transaction_us_mean_of_instances"} < set(table.index)
    assert (table["p50"] <= table["p99"]).all()
