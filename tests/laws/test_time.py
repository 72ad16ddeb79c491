"""No picosecond is lost: each core and each DMA engine is busy or idle, and the ledgers say what it was busy
with.
"""

from __future__ import annotations

import pytest
from hypothesis import given

from nicperf.engine.ledger import CONTEXTS

from ..observed import Observed, Snapshot
from .scenarios import eventful, runs

MOVES = ("tx_descriptor_read", "tx_data_read", "rx_descriptor_read", "rx_data_write", "rx_writeback")


def busy_or_idle(at: Snapshot) -> None:
    for host in (at.local, at.remote):
        assert host.total("busy_ps.*") + host["cpu_idle_ps"] == at.time_ps
        assert host["dma_busy_ps"] + host["dma_idle_ps"] == at.time_ps


def the_cost_ledger_is_complete(at: Snapshot) -> None:
    """All that was charged has been spent, or is what the jobs under way still need."""
    for host in (at.local, at.remote):
        assert host.total("ledger_ps.*") == host.total("busy_ps.*") + host["cpu_left_ps"]
        for context in CONTEXTS:
            unspent = host.total(f"ledger_ps.{context}.*") - host[f"busy_ps.{context}"]
            assert 0 <= unspent <= host["cpu_left_ps"]


def the_bus_ledger_is_complete(at: Snapshot) -> None:
    """The engine's time is set-up, moves, and delay by others: at most the registers and write-backs that met
    it.
    """
    for host in (at.local, at.remote):
        moved = host["gap_ps"] + sum(host[f"bus_ps.{move}"] for move in MOVES)
        others = host["bus_ps.mmio_read"] + host["bus_ps.mmio_write"] + host["bus_ps.tx_writeback"]
        delayed = host["dma_busy_ps"] + host["dma_left_ps"] - moved
        assert 0 <= delayed <= others


def the_bus_carries_one_at_a_time(at: Snapshot) -> None:
    """Bus time adds up to at most the time that has passed, less what a move under way has booked ahead."""
    for host in (at.local, at.remote):
        assert host.total("bus_ps.*") - host["dma_left_ps"] <= at.time_ps


LAWS = [busy_or_idle, the_cost_ledger_is_complete, the_bus_ledger_is_complete, the_bus_carries_one_at_a_time]


@pytest.mark.parametrize("law", LAWS)
def test_holds(law) -> None:
    @given(runs())
    def at_every_instant(run: Observed) -> None:
        for at in run.snapshots:
            law(at)

    at_every_instant()


MS = 10**9
FALSIFIED = {
    busy_or_idle: {
        "busy_ps.process": 1,
        "busy_ps.soft_irq": -1,
        "cpu_idle_ps": 1,
        "dma_busy_ps": -1,
        "dma_idle_ps": 1,
    },
    the_cost_ledger_is_complete: {"ledger_ps.hard_irq.irq_entry": 1, "busy_ps.process": -1, "cpu_left_ps": 1},
    the_bus_ledger_is_complete: {"gap_ps": 10 * MS, "bus_ps.tx_data_read": -10 * MS, "dma_busy_ps": -10 * MS},
    the_bus_carries_one_at_a_time: {"bus_ps.mmio_write": 32 * MS, "dma_left_ps": -32 * MS},
}


@pytest.mark.parametrize(("law", "name"), [(law, name) for law in LAWS for name in FALSIFIED[law]])
def test_can_fail(law, name: str) -> None:
    at = eventful("tcp_stream")
    law(at)
    with pytest.raises(AssertionError):
        law(at.doctored("local", name, FALSIFIED[law][name]))
