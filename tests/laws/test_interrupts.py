"""Every completion is accounted for: it fires, waits for a threshold or a timer, and is taken by an interrupt
or a poll.
"""

from __future__ import annotations

import pytest
from hypothesis import given

from ..observed import Observed, Snapshot
from .scenarios import eventful, runs

SERVICE_MOST = 16  # descriptors per service call
POLL_BUDGET = 64


def taken_by_interrupt_or_poll(at: Snapshot) -> None:
    """In the right context; work is charged when a service begins, so what the one under way will take is
    ahead of the ring.
    """
    for host in (at.local, at.remote):
        context, other = ("soft_irq", "hard_irq") if host.spec.driver.napi else ("hard_irq", "soft_irq")
        sent = host["tx_completions"] - host["tx_done"]
        received = host["rx_frames"] - host["rx_ring"]
        assert 0 <= host[f"calls.{context}.tx_reap"] - sent <= SERVICE_MOST
        assert (
            0
            <= host[f"calls.{context}.rx_reap"] - received
            <= (POLL_BUDGET if host.spec.driver.napi else SERVICE_MOST)
        )
        assert host[f"calls.{other}.tx_reap"] == host[f"calls.{other}.rx_reap"] == 0
        assert host["calls.process.tx_reap"] == host["calls.process.rx_reap"] == 0


def services_are_bounded(at: Snapshot) -> None:
    """At most 16 descriptors a service call; a poll makes two, an interrupt without NAPI as many as it reads
    ISR after the first.
    """
    for host in (at.local, at.remote):
        if host.spec.driver.napi:
            services = host["calls.soft_irq.napi_poll"]
            assert services <= 2 * host["polls"]
            assert host["calls.soft_irq.rx_reap"] <= POLL_BUDGET * host["polls"]
            assert host["polls"] >= host["interrupts"] - 1
        else:
            services = host["calls.hard_irq.mmio_read"] - host["interrupts"]
            assert services >= host["interrupts"] - 1
            assert host["calls.hard_irq.rx_reap"] <= SERVICE_MOST * services
            assert host["polls"] == 0
        assert host.total("calls.*.tx_reap") <= SERVICE_MOST * services


def moderated(at: Snapshot) -> None:
    """Completions = thresholds reached x threshold + those that a timer caught + those that wait."""
    for host in (at.local, at.remote):
        driver = host.spec.driver
        for way, done, threshold in (
            ("tx", host["tx_completions"], driver.tx_suppress_frames),
            ("rx", host["rx_frames"], driver.rx_suppress_frames),
        ):
            fired, timed = host[f"{way}_threshold_fires"], host[f"{way}_timer_fires"]
            if threshold:
                assert fired * threshold + timed <= done <= fired * threshold + (threshold - 1) * (timed + 1)
            else:
                assert fired == timed == 0


def interrupts_have_causes(at: Snapshot) -> None:
    for host in (at.local, at.remote):
        driver = host.spec.driver
        causes = host.total("*_threshold_fires") + host.total("*_timer_fires")
        causes += 0 if driver.tx_suppress_frames else host["tx_completions"]
        causes += 0 if driver.rx_suppress_frames else host["rx_frames"]
        assert host["interrupts"] <= causes
        assert (
            host["interrupts"]
            == host["calls.hard_irq.irq_entry"]
            == host["calls.hard_irq.irq_shared_handler"]
        )


def registers_are_paid_for(at: Snapshot) -> None:
    """What the CPU is charged for is what the bus carries; the job under way is charged, its writes are still
    to come.

    A job writes at most 4 times: acknowledge or unmask, mask, the count of returned descriptors, a doorbell;
    one per context.
    """
    for host in (at.local, at.remote):
        assert host.total("calls.*.mmio_read") == host["bus_bursts.mmio_read"]
        assert 0 <= host.total("calls.*.mmio_write") - host["bus_bursts.mmio_write"] <= 3 * 4


LAWS = [
    taken_by_interrupt_or_poll,
    services_are_bounded,
    moderated,
    interrupts_have_causes,
    registers_are_paid_for,
]


@pytest.mark.parametrize("law", LAWS)
def test_holds(law) -> None:
    @given(runs())
    def at_every_instant(run: Observed) -> None:
        for at in run.snapshots:
            law(at)

    at_every_instant()


FALSIFIED = [
    (taken_by_interrupt_or_poll, "local", "calls.hard_irq.tx_reap", -20),
    (taken_by_interrupt_or_poll, "local", "calls.soft_irq.tx_reap", 1),
    (taken_by_interrupt_or_poll, "remote", "calls.soft_irq.rx_reap", 65),
    (taken_by_interrupt_or_poll, "remote", "calls.process.rx_reap", 1),
    (services_are_bounded, "local", "calls.hard_irq.mmio_read", -10_000),
    (services_are_bounded, "remote", "polls", -1_000),
    (services_are_bounded, "remote", "calls.soft_irq.napi_poll", 10_000),
    (moderated, "local", "tx_completions", 4_000),
    (moderated, "local", "tx_threshold_fires", -100),
    (moderated, "local", "rx_timer_fires", 1),
    (moderated, "remote", "rx_threshold_fires", 100),
    (interrupts_have_causes, "local", "interrupts", 1),
    (interrupts_have_causes, "remote", "rx_threshold_fires", -10_000),
    (registers_are_paid_for, "local", "bus_bursts.mmio_read", 1),
    (registers_are_paid_for, "remote", "bus_bursts.mmio_write", 13),
    (registers_are_paid_for, "local", "calls.hard_irq.mmio_write", 13),
]


@pytest.mark.parametrize(("law", "side", "name", "change"), FALSIFIED)
def test_can_fail(law, side: str, name: str, change: int) -> None:
    at = eventful("tcp_stream")
    law(at)
    with pytest.raises(AssertionError):
        law(at.doctored(side, name, change))
