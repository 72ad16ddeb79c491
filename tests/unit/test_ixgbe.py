"""The adapter of 10 Gbit/s: descriptors, bursts, coalescing, throttling, PAUSE and the buffer on the way."""

from __future__ import annotations

from typing import Any

import pytest

from nicperf.simulation import simulate

from .pairs import total, watch

MSS = 1448
EXACT = {"cpu.jitter_percent": 0.0}
SLOW_READER = {"remote.cpu.frequency_mhz": 300.0}


def stream(
    params: dict[str, Any] | None = None, duration_s: float = 0.02
) -> tuple[dict[str, int], dict[str, int]]:
    return watch(params or {}, duration_s, driver="ixgbe", workload="tcp_stream")[-1]


def test_a_super_packet_is_one_doorbell_and_six_descriptors() -> None:
    """45 segments, once the window is full: a context, a header and 4 pieces of at most 16 KiB."""
    seen = watch(EXACT, 0.04, driver="ixgbe", workload="tcp_stream")
    local = {name: seen[-1][0][name] - seen[2][0][name] for name in seen[0][0]}
    assert local["doorbells"] == local["tx_packets"] == total(local, "calls.", ".driver_xmit") > 300
    assert local["tx_descriptors"] == 6 * local["tx_packets"]
    assert local["tx_frames"] == 45 * local["tx_packets"]


def test_every_frame_takes_its_slot_on_the_wire() -> None:
    """Payload and, for every frame, 66 bytes of headers and 24 of preamble, FCS and gap; what waits in the ring has none yet."""
    local, remote = stream(EXACT)
    payload = local["wire_bytes"] - (66 + 24) * local["tx_frames"]
    assert remote["received_bytes"] <= payload + 90 * 45 * 60
    assert payload <= local["sent_bytes"]
    assert remote["wire_bytes"] == (66 + 24) * remote["tx_frames"]  # nothing but ACKs


def test_the_wire_is_full_of_payload() -> None:
    """1448 bytes of 1538 at 10 Gbit/s."""
    run = simulate("ixgbe", "tcp_stream", duration_s=0.05)
    assert run.summary["throughput_mbit_s"] == pytest.approx(10000 * 1448 / 1538, rel=1e-3)
    assert run.summary["wire_percent"] == pytest.approx(100, abs=0.1)


@pytest.mark.parametrize("itr_us", [20.0, 50.0, 250.0])
def test_a_fixed_throttle_spaces_interrupts(itr_us: float) -> None:
    for side in stream({"driver.itr": "fixed", "driver.itr_us": itr_us}, 0.05):
        assert 0.9 * 0.05e6 / itr_us <= side["interrupts"] <= 0.05e6 / itr_us + 1


def test_the_dynamic_throttle_finds_bulk_and_low_latency() -> None:
    """A full wire is bulk, 8,000 interrupts a second; a single small exchange goes towards the lowest latency."""
    for side in stream(duration_s=0.05):
        assert side["interrupts"] == pytest.approx(0.05 * 8000, rel=0.05)
        assert side["itr_bulk"] > 0.9 * side["polls"]
    one = simulate("ixgbe", "tcp_rr", {"workload.instances": 1, "cpu.cores": 1, "workload.window_s": 0.05})
    itr = one.counters.query("side == 'local' and counter.str.startswith('itr_')").set_index("counter")[
        "value"
    ]
    assert itr["itr_lowest"] > 10 * (itr["itr_low"] + itr["itr_bulk"])


def test_coalescing_saves_the_receiver() -> None:
    joined, single = (stream({"nic.rsc": on}, 0.05)[1] for on in (True, False))
    assert joined["rsc_merged"] > 0.9 * joined["rx_frames"]
    assert single["rsc_merged"] == 0
    assert single["rx_descriptors"] == single["rx_frames"] > 30_000
    # 22 segments in buffers of 2 KiB
    assert joined["rx_descriptors"] == pytest.approx(joined["rx_frames"] * 16 / 22, rel=0.1)
    assert total(joined, "busy_ps.", "") < 0.9 * total(single, "busy_ps.", "")


def test_without_tso_the_stack_cuts() -> None:
    local, _ = stream({**EXACT, "local.nic.tso": False})
    assert local["doorbells"] == local["tx_packets"] == local["tx_frames"]
    assert total(local, "calls.", ".gso_segment") > 0.9 * local["tx_frames"]


def test_a_slow_receiver_asks_for_silence_or_loses() -> None:
    paused = stream(
        {**SLOW_READER, "remote.socket.tcp_window_bytes": 1 << 24, "remote.nic.rx_ring": 64}, 0.05
    )[1]
    assert paused["pauses"] > 0
    assert paused["rx_missed"] == 0 == paused["socket_drops"]
    lossy = {**SLOW_READER, "remote.nic.pause": False, "remote.socket.tcp_window_bytes": 1 << 24}
    local, remote = stream({**lossy, "remote.nic.rx_ring": 64, "socket.rto_us": 5000.0}, 0.05)
    assert remote["pauses"] == 0
    assert remote["rx_no_descriptor"] > 0
    assert local["retransmits"] > 0
    assert remote["received_bytes"] > 1e6


def test_a_buffer_on_the_way_loses_whole_packets() -> None:
    local, remote = stream({"local.wire.buffer_bytes": 300_000.0, "socket.rto_us": 5000.0}, 0.05)
    assert local["lost_packets"] > 0
    assert local["retransmits"] > 0
    assert 0 < remote["received_bytes"] < local["sent_bytes"]


def test_a_second_core_costs_its_cache_lines() -> None:
    split = {"local.cpu.process_core": "other", **EXACT}
    without, with_it = (stream({**split, "local.cpu.handover_cycles": cycles}) for cycles in (0.0, 1000.0))
    calls = total(with_it[0], "calls.", ".handover")
    copies = with_it[0]["calls.process.copy"]
    packets = with_it[0]["calls.soft_irq.driver_xmit"] + with_it[0]["calls.soft_irq.tx_reap"]
    assert calls == copies + packets
    assert total(with_it[0], "ledger_ps.", ".handover") == pytest.approx(calls * 1000e6 / 3200, rel=1e-6)
    assert total(without[0], "calls.", ".handover") == 0
    same = stream({**EXACT, "local.cpu.handover_cycles": 1000.0})
    assert total(same[0], "calls.", ".handover") == 0


def test_a_slow_bus_limits() -> None:
    run = simulate("ixgbe", "tcp_stream", {"local.nic.pcie_mbyte_s": 400.0}, duration_s=0.05)
    assert run.summary["throughput_mbit_s"] == pytest.approx(3200 * 1448 / 1514, rel=0.01)
    assert run.binding == "sender PCI Express"
