"""Frames are neither lost nor doubled: what entered a stage has left it, was dropped with a count, or is
still there.
"""

from __future__ import annotations

import pytest
from hypothesis import given

from ..observed import Observed, Snapshot
from .scenarios import WORKLOADS, eventful, runs


def conserved(at: Snapshot) -> None:
    for sender, receiver in at.directions():
        # Descriptors in use, less those that wait to be taken back.
        on_chip = sender["tx_ring"] - sender["tx_done"]
        assert sender["tx_frames"] == sender["tx_completions"] + on_chip
        assert (
            sender["tx_completions"]
            == receiver["rx_fifo_drops"] + receiver["rx_fifo"] + receiver["rx_frames"]
        )
        reaped = receiver["rx_frames"] - receiver["rx_ring"]
        assert reaped == receiver["backlog_drops"] + receiver["backlog"] + receiver["delivered"]


def pool_balanced(at: Snapshot) -> None:
    posted = dropped = delivered = in_flight = 0
    for sender, receiver in at.directions():
        posted += sender["tx_frames"]
        dropped += receiver["rx_fifo_drops"] + receiver["backlog_drops"]
        delivered += receiver["delivered"]
        in_flight += sender["tx_ring"] - sender["tx_done"]
        in_flight += receiver["rx_fifo"] + receiver["rx_ring"] + receiver["backlog"]
    for host in (at.local, at.remote):
        assert host["allocated"] == posted
        assert host["freed"] == delivered + dropped
        assert host["allocated"] == host["freed"] + in_flight


def acknowledgements_counted(at: Snapshot) -> None:
    if at.workload != "udp_stream":
        assert at.local["delivered"] == at.local["acks_received"]
        assert (
            at.remote["acks_sent"] == at.remote["tx_frames"] + at.remote["qdisc"] + at.remote["qdisc_drops"]
        )


@pytest.mark.parametrize("law", [conserved, pool_balanced, acknowledgements_counted])
def test_holds(law) -> None:
    @given(runs())
    def at_every_instant(run: Observed) -> None:
        for at in run.snapshots:
            law(at)

    at_every_instant()


WAY = "tx_frames tx_ring tx_done rx_fifo rx_ring backlog rx_fifo_drops backlog_drops delivered".split()
FALSIFIED = {conserved: [*WAY, "tx_completions", "rx_frames"], pool_balanced: [*WAY, "allocated", "freed"]}


@pytest.mark.parametrize(("law", "name"), [(law, name) for law in FALSIFIED for name in FALSIFIED[law]])
@pytest.mark.parametrize("side", ["local", "remote"])
@pytest.mark.parametrize("change", [1, -1])
def test_can_fail(law, name: str, side: str, change: int) -> None:
    at = eventful("tcp_stream")
    law(at)
    with pytest.raises(AssertionError):
        law(at.doctored(side, name, change))


@pytest.mark.parametrize(
    ("side", "name"), [("local", "acks_received"), ("remote", "acks_sent"), ("remote", "qdisc_drops")]
)
def test_acknowledgements_can_fail(side: str, name: str) -> None:
    with pytest.raises(AssertionError):
        acknowledgements_counted(eventful("tcp_stream").doctored(side, name))


def test_the_example_has_drops() -> None:
    assert eventful("tcp_stream").remote["rx_fifo_drops"] > 0 < eventful("tcp_stream").remote["backlog_drops"]
    assert all(eventful(workload).remote["delivered"] > 100 for workload in WORKLOADS)
