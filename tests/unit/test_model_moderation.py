"""Interrupt suppression: a threshold, and a timer for what stays below it."""

from __future__ import annotations

import numpy as np
import pytest

from ..observed import observe

US = 10**6
FULL_FRAMES = {"workload.message_bytes": 1472, "cpu.jitter_percent": 0.0}
#: The sender needs 100 us for each datagram: every frame leaves an empty ring behind.
SPARSE = {
    **FULL_FRAMES,
    "local.cpu.frequency_mhz": 1000.0,
    "local.stack.udp_cycles": 50_000.0,
    "local.cpu.syscall_cycles": 50_000.0,
}
BUSY = {**FULL_FRAMES, "local.driver.napi": True, "wire.rate_mbit_s": 500.0}


def test_threshold() -> None:
    """A full ring: an interrupt for every fourth completion, the timer has no say."""
    host = observe("udp_stream", {**BUSY, "local.driver.tx_suppress_frames": 4}, 0.01).end.local
    assert host["tx_threshold_fires"] == host["tx_completions"] // 4 > 50
    assert host["interrupts"] == host["tx_threshold_fires"]
    assert host["tx_timer_fires"] == 0


@pytest.mark.parametrize("threshold", [0, 1])
def test_threshold_of_one_is_none(threshold: int) -> None:
    host = observe("udp_stream", {**BUSY, "local.driver.tx_suppress_frames": threshold}, 0.01).end.local
    assert host["interrupts"] == host["tx_completions"]
    assert host["tx_timer_fires"] == 0
    assert host["tx_threshold_fires"] == threshold * host["tx_completions"]


def test_timer_after_the_queue_has_run_empty() -> None:
    trace = observe(
        "udp_stream",
        {**SPARSE, "local.driver.tx_suppress_frames": 31, "local.driver.tx_timer_us": 20.0},
        0.002,
        events=2000,
    ).trace
    sent, fired = trace.times_ps("local.wire"), trace.times_ps("local.tx_timer")
    assert len(fired) > 15
    assert (fired - sent[: len(fired)] == 20 * US).all()


def test_the_next_frame_restarts_it() -> None:
    """Frames every 100 us and a timer of 150: it never expires, the threshold fires."""
    params = {**SPARSE, "local.driver.tx_suppress_frames": 5, "local.driver.tx_timer_us": 150.0}
    host = observe("udp_stream", params, 0.003).end.local
    assert host["tx_timer_fires"] == 0
    assert host["tx_threshold_fires"] == host["tx_completions"] // 5 > 3


def test_a_queue_that_never_runs_empty_starts_no_timer() -> None:
    params = {**BUSY, "local.driver.tx_suppress_frames": 31, "local.driver.tx_timer_us": 5.0}
    host = observe("udp_stream", params, 0.01).end.local
    assert host["tx_timer_fires"] == 0
    assert host["tx_threshold_fires"] == host["tx_completions"] // 31


def test_timer_from_the_first_pending() -> None:
    """It starts with a completion that finds none pending, and nothing restarts it."""
    params = {
        **BUSY,
        "local.nic.tx_timer_starts": "first_pending",
        "local.driver.tx_suppress_frames": 31,
        "local.driver.tx_timer_us": 60.0,
    }
    trace = observe("udp_stream", params, 0.005, events=5000).trace
    sent, fired = trace.times_ps("local.wire"), trace.times_ps("local.tx_timer")
    assert len(fired) > 40
    for last, now in zip([0, *fired], fired, strict=False):
        assert now - 60 * US == sent[np.searchsorted(sent, last, "right")]


def test_the_threshold_stops_the_timer() -> None:
    """Three frames need 73.8 us at 500 Mbit/s: with a timer of 60 from the first, a threshold of 3 is reached
    before it.
    """
    params = {
        **BUSY,
        "local.nic.tx_timer_starts": "first_pending",
        "local.driver.tx_suppress_frames": 3,
        "local.driver.tx_timer_us": 60.0,
    }
    host = observe("udp_stream", params, 0.005).end.local
    assert host["tx_timer_fires"] == 0
    assert host["tx_threshold_fires"] == host["tx_completions"] // 3


def test_without_a_timer_the_threshold_alone() -> None:
    params = {**SPARSE, "local.driver.tx_suppress_frames": 5, "local.driver.tx_timer_us": 0.0}
    host = observe("udp_stream", params, 0.003).end.local
    assert host["tx_timer_fires"] == 0
    assert host["interrupts"] == host["tx_completions"] // 5 > 3


@pytest.mark.parametrize("starts", ["queue_empty", "first_pending"])
def test_receive_timer(starts: str) -> None:
    """Frames 100 us apart: both rules start it with each, 20 us after the frame is in memory."""
    params = {
        **SPARSE,
        "remote.driver.rx_suppress_frames": 31,
        "remote.driver.rx_timer_us": 20.0,
        "remote.nic.rx_timer_starts": starts,
    }
    trace = observe("udp_stream", params, 0.002, events=2000).trace
    stored, fired = trace.times_ps("remote.dma"), trace.times_ps("remote.rx_timer")
    assert len(fired) > 15
    assert (fired - stored[: len(fired)] == 20 * US).all()


def test_directions_are_moderated_apart() -> None:
    params = {"local.driver.tx_suppress_frames": 31, "local.driver.napi": True}
    host = observe("tcp_stream", params, 0.02).end.local
    assert host["rx_threshold_fires"] == host["rx_timer_fires"] == 0
    assert host["interrupts"] == pytest.approx(host["rx_frames"] + host["tx_threshold_fires"], rel=0.05)
    assert host["tx_threshold_fires"] == host["tx_completions"] // 31
