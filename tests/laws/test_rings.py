"""A descriptor has one owner, a ring never holds more than its size, and what returns returns in fours."""

from __future__ import annotations

import pytest
from hypothesis import given

from nicperf.simulation._run import QUEUE_NAMES

from ..observed import Observed, Side, Snapshot
from .scenarios import eventful, runs

RX_GROUP = 4


def one_owner(at: Snapshot) -> None:
    """The OWN bits in memory say what each side believes to own."""
    for host in (at.local, at.remote):
        assert host["tx_owned"] == host["tx_ring"] - host["tx_done"]
        assert host["rx_owned"] == host["rx_credit"]
        rx_size = host.spec.driver.rx_ring // RX_GROUP * RX_GROUP
        assert host["rx_owned"] + host["rx_ring"] + host["rx_returned"] == rx_size


def capacities(host: Side) -> dict[str, int]:
    driver, nic, stack = host.spec.driver, host.spec.nic, host.spec.stack
    shortest_bytes = 14 + 20  # an IP header alone
    return {
        "qdisc": stack.qdisc_packets,
        "tx_ring": driver.tx_ring,
        "tx_fifo": nic.tx_fifo_bytes // shortest_bytes,
        "rx_fifo": nic.rx_fifo_bytes // shortest_bytes,
        "rx_ring": driver.rx_ring // RX_GROUP * RX_GROUP,
        "backlog": stack.backlog_packets,
    }


def within_size(at: Snapshot) -> None:
    for host in (at.local, at.remote):
        assert all(0 <= host[queue] <= size for queue, size in capacities(host).items())
        assert 0 <= host["tx_done"] <= host["tx_ring"]
        assert host["tx_fifo"] <= host["tx_owned"]


def returned_in_fours(at: Snapshot) -> None:
    """The driver keeps fewer than four; everything before has gone back in whole groups, one register write
    per batch.
    """
    for host in (at.local, at.remote):
        reaped = host["rx_frames"] - host["rx_ring"]
        assert 0 <= host["rx_returned"] < RX_GROUP
        assert (reaped - host["rx_returned"]) % RX_GROUP == 0
        assert host["refills"] <= reaped // RX_GROUP
        assert (host["refills"] == 0) == (reaped < RX_GROUP)


def stopped_and_woken(at: Snapshot) -> None:
    """The queue wakes as often as it stopped, unless it stands still now; a doorbell for each frame."""
    for host in (at.local, at.remote):
        full = host["tx_ring"] == host.spec.driver.tx_ring
        assert host["tx_stops"] == host["tx_wakes"] + full
        assert host["doorbells"] == host["tx_frames"]


LAWS = [one_owner, within_size, returned_in_fours, stopped_and_woken]


@pytest.mark.parametrize("law", LAWS)
def test_holds(law) -> None:
    @given(runs())
    def at_every_instant(run: Observed) -> None:
        for at in run.snapshots:
            law(at)

    at_every_instant()


@given(runs(events=20_000))
def test_sizes_hold_after_every_event(run: Observed) -> None:
    for side in ("local", "remote"):
        limits = capacities(getattr(run.end, side))
        for queue in QUEUE_NAMES:
            lengths = run.trace.lengths[f"{side}.{queue}"]
            assert lengths.min() >= 0 and lengths.max() <= limits[queue]


FALSIFIED = {
    one_owner: {
        "tx_owned": 1,
        "tx_ring": 1,
        "tx_done": 1,
        "rx_owned": 1,
        "rx_credit": -1,
        "rx_ring": 1,
        "rx_returned": 1,
    },
    within_size: {
        "qdisc": 2000,
        "tx_ring": 65,
        "tx_fifo": -70,
        "rx_fifo": 2000,
        "rx_ring": -65,
        "backlog": 2000,
        "tx_done": -65,
    },
    returned_in_fours: {"rx_returned": 4, "rx_frames": 1, "rx_ring": -1, "refills": 1000},
    stopped_and_woken: {"tx_stops": 1, "tx_wakes": 1, "doorbells": -1, "tx_frames": -1},
}


@pytest.mark.parametrize(("law", "name"), [(law, name) for law in LAWS for name in FALSIFIED[law]])
@pytest.mark.parametrize("side", ["local", "remote"])
def test_can_fail(law, name: str, side: str) -> None:
    at = eventful("tcp_stream")
    law(at)
    with pytest.raises(AssertionError):
        law(at.doctored(side, name, FALSIFIED[law][name]))
