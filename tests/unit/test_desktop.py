"""The PC: chains of descriptors, super-packets cut by the NIC, hold-off, poll, PAUSE."""

from __future__ import annotations

import pytest

from .pairs import total, watch

MSS = 1448
EXACT = {"cpu.jitter_percent": 0.0}
SLOW_READER = {
    "remote.pc.dma_mbyte_s": 90.0,
    "workload.message_bytes": 131072,
}


def test_one_doorbell_for_a_super_packet() -> None:
    """45 segments: a context, a header and 8 pieces of payload of at most 8 KiB."""
    end = watch(EXACT, 0.02)[-1][0]
    assert end["doorbells"] == end["tx_packets"] == total(end, "calls.", ".driver_xmit") > 20
    assert end["tx_descriptors"] == pytest.approx(10 * end["tx_packets"], rel=0.05)
    assert end["tx_frames"] == pytest.approx(45 * end["tx_packets"], rel=0.05)
    assert total(end, "calls.", ".gso_segment") == 0


def test_without_tso_the_stack_cuts() -> None:
    end = watch({**EXACT, "local.pc.tso": False}, 0.02)[-1][0]
    assert end["doorbells"] == end["tx_packets"] == end["tx_frames"] > 1000
    assert end["tx_descriptors"] == 2 * end["tx_packets"]
    # The last piece is what is left of the packet: nothing needs cutting.
    assert total(end, "calls.", ".gso_segment") == pytest.approx(44 / 45 * end["tx_frames"], rel=0.02)


def test_both_ways_deliver_the_same_faster_and_slower() -> None:
    with_tso, without = (watch({**EXACT, "local.pc.tso": tso}, 0.05)[-1] for tso in (True, False))
    assert with_tso[1]["received_bytes"] == pytest.approx(without[1]["received_bytes"], rel=0.01)
    assert total(with_tso[0], "busy_ps.", "") < 0.75 * total(without[0], "busy_ps.", "")


@pytest.mark.parametrize("payload", [1, 700, 1447, 1448, 1449, 2000, 5000])
def test_each_frame_has_its_true_payload(payload: int) -> None:
    """A write of this size, alone: the wire carries it in full frames and one of what is left, padded to 60 bytes."""
    params = {
        **EXACT,
        "workload.message_bytes": payload,
        "local.socket.nodelay": True,
        "local.cpu.syscall_cycles": 50_000.0,
        "local.cpu.frequency_mhz": 300.0,
        "local.socket.autocorking": False,
    }
    end = watch(params, 0.02)[-1]
    writes = end[0]["tx_packets"]
    assert writes > 20
    assert end[0]["tx_frames"] == writes * -(-payload // MSS)
    frames = [MSS] * (payload // MSS) + [payload % MSS] * (payload % MSS > 0)
    slots = sum(max(66 + size, 60) + 24 for size in frames)
    assert end[0]["wire_bytes"] == pytest.approx(writes * slots, abs=slots)
    assert 0 <= end[0]["sent_bytes"] - end[1]["received_bytes"] <= 20 * payload


@pytest.mark.parametrize("hold_off_us", [50.0, 100.0, 250.0])
def test_hold_off_spaces_interrupts(hold_off_us: float) -> None:
    end = watch({"pc.hold_off_us": hold_off_us}, 0.05)[-1]
    for side in end:
        assert 0.95 * 0.05e6 / hold_off_us <= side["interrupts"] <= 0.05e6 / hold_off_us + 1
        assert side["polls"] >= side["interrupts"] - 1


def test_without_hold_off_polls_are_short() -> None:
    end = watch({"pc.hold_off_us": 0.0}, 0.02)[-1][1]
    assert end["held_off"] == 0
    assert end["polls"] > 0.3 * end["rx_frames"]


def test_a_poll_takes_64_frames() -> None:
    """One core too slow for the wire: polls of 64 and no interrupt in between, until PAUSE slows the sender."""
    params = {**EXACT, "remote.cpu.frequency_mhz": 200.0, "remote.pc.rx_reap_cycles": 2000.0}
    params |= {"remote.stack.gro_segments": 0, "socket.tcp_window_bytes": 1 << 22}
    params |= {"local.socket.tcp_send_buffer_bytes": 1 << 22}
    end = watch(params, 0.05)[-1][1]
    assert end["calls.soft_irq.rx_reap"] <= 64 * end["polls"]
    assert end["calls.soft_irq.rx_reap"] > 30 * end["polls"]
    assert end["interrupts"] < 0.5 * end["polls"]


def test_the_queue_stops_and_wakes() -> None:
    """64 descriptors are six super-packets; more wait in the device queue."""
    params = {**EXACT, "local.pc.tx_ring": 64, "local.socket.tsq_bytes": 0}
    params |= {"local.socket.tcp_send_buffer_bytes": 1 << 22, "socket.tcp_window_bytes": 1 << 22}
    run = watch(params, 0.02, slices=400)
    assert run[-1][0]["tx_stops"] >= run[-1][0]["tx_wakes"] > 5
    assert run[-1][0]["tx_stops"] - run[-1][0]["tx_wakes"] <= 1
    assert max(at[0]["tx_ring"] for at in run) <= 64
    assert max(at[0]["qdisc"] for at in run) > 5


def test_pause_keeps_frames_on_the_sender() -> None:
    """An engine slower than the wire: with PAUSE nothing is lost and it is busy all the time."""
    with_pause = watch(SLOW_READER, 0.05)[-1]
    assert with_pause[1]["pauses"] > 10
    assert with_pause[1]["rx_fifo_drops"] == with_pause[0]["retransmits"] == 0
    assert with_pause[1]["dma_busy_ps"] > 0.9 * 0.05e12
    without = watch({**SLOW_READER, "remote.pc.pause": False, "socket.rto_us": 2000.0}, 0.05)[-1]
    assert without[1]["pauses"] == 0 < without[1]["rx_fifo_drops"]
    assert without[1]["received_bytes"] < with_pause[1]["received_bytes"]


@pytest.mark.parametrize("side", [0, 1])
def test_laws(side: int) -> None:
    """At any time each descriptor has one owner and each frame one place."""
    params = {"workload.message_bytes": 3000, "local.pc.tx_ring": 64, "remote.pc.rx_ring": 64}
    for at in watch(params, 0.02, slices=200):
        host, peer = at[side], at[1 - side]
        assert host["tx_ring"] == host["tx_done"] + host["tx_owned"]
        assert host["rx_credit"] == host["rx_owned"]
        assert host["rx_credit"] + host["rx_ring"] + host["rx_returned"] == (64 if side else 256)
        assert host["rx_returned"] < 16
        assert host["tx_packets"] >= host["tx_completions"]
        arrived = peer["rx_frames"] + peer["rx_fifo"] + peer["rx_fifo_drops"]
        assert (
            0
            <= host["tx_frames"] - arrived - host["tx_fifo"]
            <= 46 * (host["tx_packets"] - host["tx_completions"])
        )
        assert (
            host["dma_busy_ps"] + host["dma_idle_ps"]
            == host["cpu_idle_ps"]
            + sum(host[f"busy_ps.{context}"] for context in ("hard_irq", "soft_irq", "process"))
            + host["process_cpu_idle_ps"]
            - at[0]["dma_busy_ps"]
            - at[0]["dma_idle_ps"]
        )  # two cores


def test_one_core_or_two() -> None:
    """The process of a small writer fills its core; on the same one interrupts and ACKs take from it."""
    small = {**EXACT, "workload.message_bytes": 64}
    two, one = (watch({**small, "local.cpu.process_core": core}, 0.02)[-1][0] for core in ("other", "same"))
    assert one["messages"] < 0.97 * two["messages"]
    busy = total(one, "busy_ps.", "")
    assert busy == pytest.approx(0.02e12, rel=0.01) and total(two, "busy_ps.", "") > busy
