"""Descriptor rings and their neighbours: stop and wake, doorbells, returns in fours, copybreak, PAUSE."""

from __future__ import annotations

import numpy as np
import pytest

from ..observed import observe

FRAMES = {"workload.message_bytes": 1472}
SLOW_SERVICE = {
    **FRAMES,
    "remote.driver.napi": True,
    "remote.driver.rx_suppress_frames": 31,
    "remote.driver.rx_timer_us": 500.0,
    "remote.cpu.frequency_mhz": 1000.0,
    "remote.driver.rx_reap_cycles": 24_000.0,
}


def test_a_doorbell_for_each_frame() -> None:
    for settings in ({}, {"driver.tx_scatter_gather": True}):
        host = observe("tcp_stream", settings, 0.005).end.local
        assert host["doorbells"] == host["tx_frames"] > 100


@pytest.mark.parametrize("ring", [16, 64, 256])
def test_the_queue_stops_when_the_ring_is_full(ring: int) -> None:
    """It wakes with the first free descriptor; the device queue grows only while the ring is full."""
    params = {
        **FRAMES,
        "local.driver.tx_ring": ring,
        "local.socket.udp_send_buffer_bytes": 1_000_000,
        "local.driver.tx_suppress_frames": 8,
    }
    run = observe("udp_stream", params, 0.01, events=20_000)
    used, waiting = run.trace.lengths["local.tx_ring"], run.trace.lengths["local.qdisc"]
    assert used.max() == ring
    grows = np.flatnonzero(np.diff(waiting) > 0)
    assert len(grows) > 20
    assert (
        used[grows] >= ring - 1
    ).all()  # ring - 1: the frame that takes the last place waits until it is posted
    host = run.end.local
    assert host["tx_stops"] >= host["tx_wakes"] > 20
    assert host["tx_stops"] - host["tx_wakes"] == (host["tx_ring"] == ring)


def test_the_queue_drops_when_it_is_full() -> None:
    """txqueuelen 5: what the socket may send beyond ring and queue is lost, and freed."""
    params = {
        **FRAMES,
        "local.driver.tx_ring": 16,
        "local.stack.qdisc_packets": 5,
        "local.driver.tx_suppress_frames": 8,
    }
    run = observe("udp_stream", params, 0.005, events=20_000)
    assert run.trace.lengths["local.qdisc"].max() == 5
    assert run.end.local["qdisc_drops"] > 20
    assert run.end.remote["socket_drops"] == run.end.remote["rx_fifo_drops"] == 0


def test_a_full_queue_does_not_lock_itself() -> None:
    """The receiver's process claims the queue for a window update, a softirq fills the one place: both must
    get through.
    """
    params = {
        "remote.stack.qdisc_packets": 1,
        "socket.tcp_window_bytes": 8000,
        "remote.workload.receive_bytes": 5000,
        "remote.cpu.frequency_mhz": 400.0,
        "remote.driver.napi": True,
        "socket.rto_us": 1000.0,
        "socket.delayed_ack_us": 100.0,
        "wire.rate_mbit_s": 10000.0,
    }
    run = observe("tcp_stream", params, 0.03, slices=3, seed=8)
    assert run.end.remote["window_updates"] > 0 < run.end.remote["qdisc_drops"]
    assert run.end.local["delivered"] > run.snapshots[2].local["delivered"]


@pytest.mark.parametrize(("asked", "size"), [(64, 64), (67, 64), (252, 252), (255, 252)])
def test_receive_ring_is_a_multiple_of_four(asked: int, size: int) -> None:
    at = observe("udp_stream", {**FRAMES, "remote.driver.rx_ring": asked}, 0.001).snapshots[0]
    assert at.remote["rx_credit"] == at.remote["rx_owned"] == size


def test_descriptors_return_in_fours() -> None:
    """One by one they come, four at a time they go back, with one write."""
    run = observe("udp_stream", {**FRAMES, "remote.driver.rx_copybreak_bytes": 0}, 0.003, slices=600)
    kept = [at.remote["rx_returned"] for at in run.snapshots]
    assert set(kept) == {0, 1, 2, 3}
    for at in run.snapshots:
        back = at.remote["rx_owned"] + at.remote["rx_frames"]  # what the NIC has ever been given
        assert (back - 64) % 4 == 0
    assert run.end.remote["refills"] == (run.end.remote["rx_frames"] - run.end.remote["rx_ring"]) // 4


def test_a_batch_of_returns_is_one_write() -> None:
    """A poll that reaps 31 frames returns 28 of them, and has written once."""
    params = {
        **FRAMES,
        "remote.driver.napi": True,
        "remote.driver.rx_suppress_frames": 31,
        "remote.nic.rx_timer_starts": "queue_empty",
    }
    params |= {"remote.driver.rx_timer_us": 4000.0}
    run = observe("udp_stream", params, 0.01)
    host = run.end.remote
    assert host["polls"] == host["rx_threshold_fires"] > 10
    assert host["refills"] <= 1.5 * host["polls"]


@pytest.mark.parametrize(("message_bytes", "copied"), [(157, True), (158, False)])
def test_copybreak_is_200(message_bytes: int, copied: bool) -> None:
    """14 + 20 + 8 + 157 = 199 bytes are copied into a small buffer, 200 are not: they cost a new one."""
    params = {"workload.message_bytes": message_bytes, "cpu.jitter_percent": 0.0, "cpu.frequency_mhz": 1000.0}
    host = observe("udp_stream", params, 0.002).end.remote
    reaped = host["calls.hard_irq.rx_reap"]
    assert host["calls.hard_irq.copy"] == reaped * copied
    assert host["calls.hard_irq.rx_refill"] == reaped * (not copied)
    # 1.2 cycles a byte, from memory.
    assert host["ledger_ps.hard_irq.copy"] == reaped * copied * (message_bytes + 42) * 1200
    assert abs(host["copybreaks"] - reaped * copied) <= 16


def test_acknowledgements_are_copied() -> None:
    """66 bytes."""
    host = observe("tcp_stream", {}, 0.005).end.local
    assert abs(host["copybreaks"] - host["acks_received"]) <= 2 < host["acks_received"]
    assert host.total("calls.*.rx_refill") == 0


def test_without_pause_a_slow_receiver_loses_frames() -> None:
    end = observe("udp_stream", {**SLOW_SERVICE, "remote.nic.pause": False}, 0.02).end
    assert end.remote["rx_fifo_drops"] > 50
    assert end.remote["rx_ring_empty"] > 0
    assert end.remote["pauses"] == 0


def test_pause_keeps_them_on_the_sender() -> None:
    """It stops at fewer than 24 free descriptors and goes on at 48; those 24 take what the FIFO and the wire
    still hold.
    """
    run = observe("udp_stream", SLOW_SERVICE, 0.02, slices=2000)
    assert run.end.remote["pauses"] > 5
    assert run.end.remote["rx_fifo_drops"] == 0
    assert run.end.remote["rx_ring_empty"] == 0
    assert run.end.local["dma_idle_ps"] > 0.2 * run.end.time_ps  # the sender's FIFO is full
    assert min(at.remote["rx_credit"] for at in run.snapshots) >= 24 - 1 - 16384 // 1514 - 2


def test_tcp_recovers_from_loss() -> None:
    """The stream goes on after each loss, in order: what arrives again or too early does not count."""
    params = {
        **SLOW_SERVICE,
        "remote.nic.pause": False,
        "remote.nic.rx_fifo_bytes": 2048,
        "remote.driver.rx_reap_cycles": 18_000.0,
        "socket.rto_us": 2000.0,
        "workload.message_bytes": 16384,
    }
    run = observe("tcp_stream", params, 0.1, slices=10)
    lost = run.end.remote["rx_fifo_drops"]
    assert lost > 0
    assert run.end.local["retransmits"] > 0
    for before, after in zip(run.snapshots, run.snapshots[1:], strict=False):
        assert after.remote["received_bytes"] > before.remote["received_bytes"]


def test_a_pause_ends_by_itself() -> None:
    """The old handler leaves descriptors behind that only a next arrival would make it take, and has paused
    the sender: 65535 quanta of 512 bits later the sender goes on.
    """
    params = {
        **FRAMES,
        "wire.rate_mbit_s": 10000.0,
        "remote.driver.rx_reap_cycles": 20000.0,
        "workload.message_bytes": 18,
    }
    trace = observe("udp_stream", params, 0.02, slices=20, events=200_000).trace
    quanta_ps = 65535 * 512 * 100
    ended = trace.times_ps("local.pause")
    assert len(ended) >= 2
    sent = trace.times_ps("local.wire")
    for end_ps in ended:
        silent = sent[(sent > end_ps - quanta_ps + 100_000) & (sent < end_ps)]
        assert len(silent) <= 1  # what was on the wire
        assert (sent > end_ps).any()
