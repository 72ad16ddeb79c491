"""Little's law on every queue of the trace: length x time = arrival rate x mean stay.

Lengths are the queue's own; arrivals and departures are the events of its neighbours, matched in order:
nothing may be lost, doubled or overtaken. (The device queue and the end of the transmit ring have no such
neighbour: their own moves count.) The stays along the path add up to the latency that the frames' own time
stamps give.
"""

from __future__ import annotations

import numpy as np
import pytest

from ..observed import Observed, Trace, observe

PATIENT = {
    "driver.napi": True,
    "driver.rx_suppress_frames": 8,
    "driver.tx_suppress_frames": 31,
    "driver.rx_ring": 252,
}
CASES = {
    "udp": ("udp_stream", {"workload.message_bytes": 65507}),
    "udp, coalesced": ("udp_stream", {**PATIENT, "workload.message_bytes": 1472}),
    "tcp": ("tcp_stream", {}),
    "tcp, gso, coalesced": ("tcp_stream", {**PATIENT, "driver.tx_scatter_gather": True}),
}


@pytest.fixture(scope="module", params=CASES.values(), ids=CASES.keys())
def run(request: pytest.FixtureRequest) -> Observed:
    workload, params = request.param
    run = observe(workload, params, 0.02, events=100_000)
    assert len(run.trace.time_ps) == run.end.local["events"] < 100_000
    assert run.end.local.total("*_drops") == run.end.remote.total("*_drops") == 0
    return run


def moves(trace: Trace, queue: str, sign: int) -> np.ndarray:
    """Times at which a queue grew (`sign` 1) or shrank (-1), one per item."""
    change = sign * np.diff(trace.lengths[queue], prepend=0)
    return np.repeat(trace.time_ps, np.maximum(change, 0))


def stages(trace: Trace, sender: str, receiver: str) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Queues that hold the frames of one direction -> times of entering and leaving, from the events of its
    neighbours.
    """
    posted = moves(trace, f"{sender}.tx_ring", 1)
    on_chip = moves(trace, f"{sender}.tx_fifo", 1)
    left = trace.times_ps(f"{sender}.wire")
    stored = moves(trace, f"{receiver}.rx_ring", 1)
    reaped = moves(trace, f"{receiver}.backlog", 1)
    return {
        f"{sender}.qdisc": (moves(trace, f"{sender}.qdisc", 1), moves(trace, f"{sender}.qdisc", -1)),
        f"{sender}.tx_ring": (posted, moves(trace, f"{sender}.tx_ring", -1)),
        f"{sender}.tx_fifo": (on_chip, left),
        f"{receiver}.rx_fifo": (left, stored),
        f"{receiver}.rx_ring": (stored, reaped),
        f"{receiver}.backlog": (reaped, moves(trace, f"{receiver}.backlog", -1)),
    }


def stay_ps(entered: np.ndarray, left: np.ndarray, end_ps: int) -> int:
    """Time that all items together spend; those still there count up to the end."""
    assert len(left) <= len(entered)
    assert (left >= entered[: len(left)]).all()
    return int(left.sum() + (len(entered) - len(left)) * end_ps - entered.sum())


def length_ps(trace: Trace, queue: str) -> int:
    return int((np.diff(trace.time_ps) * trace.lengths[queue][:-1]).sum())


def test_every_queue(run: Observed) -> None:
    end_ps = int(run.trace.time_ps[-1])
    queues = stages(run.trace, "local", "remote") | stages(run.trace, "remote", "local")
    assert queues.keys() == run.trace.lengths.keys()
    for queue, (entered, left) in queues.items():
        assert length_ps(run.trace, queue) == stay_ps(entered, left, end_ps), queue


def test_the_stays_add_up_to_the_latency(run: Observed) -> None:
    posted = moves(run.trace, "local.tx_ring", 1)
    taken = moves(run.trace, "remote.backlog", -1)
    assert len(taken) == run.end.remote["delivered"] > 300
    assert int((taken - posted[: len(taken)]).sum()) == run.end.remote["latency_ps"]


def test_frames_in_flight(run: Observed) -> None:
    """Mean number on the way = frames per second x mean latency, up to those under way at the end."""
    trace, end = run.trace, run.end
    posted, taken = moves(trace, "local.tx_ring", 1), moves(trace, "remote.backlog", -1)
    in_flight = np.searchsorted(posted, trace.time_ps, "right") - np.searchsorted(
        taken, trace.time_ps, "right"
    )
    mean = (np.diff(trace.time_ps) * in_flight[:-1]).sum() / trace.time_ps[-1]
    rate = end.remote["delivered"] / end.time_ps
    latency_ps = end.remote["latency_ps"] / end.remote["delivered"]
    assert mean == pytest.approx(rate * latency_ps, rel=in_flight.max() / end.remote["delivered"])


def test_an_event_that_gets_lost_breaks_it(run: Observed) -> None:
    """Leave out one arrival in the middle: the two sides differ, or more leave than have come."""
    trace, queue = run.trace, "remote.rx_fifo"
    entered, left = stages(trace, "local", "remote")[queue]
    short = np.delete(entered, len(entered) // 2)
    with pytest.raises(AssertionError):
        assert length_ps(trace, queue) == stay_ps(short, left, int(trace.time_ps[-1]))
