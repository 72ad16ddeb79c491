"""The old handler and the NAPI poll: what an interrupt costs on the bus, how much a service takes, what waits
for the next.
"""

from __future__ import annotations

import numpy as np
import pytest

from ..observed import Observed, Side, observe

NAPI = {"driver.napi": True}


def at_rest(run: Observed, side: str) -> Side:
    """The last snapshot at which this host's processor was idle: every charge has been carried out."""
    hosts = [getattr(at, side) for at in run.snapshots]
    return [host for host in hosts if host["cpu_left_ps"] == 0][-1]


def takes(run: Observed, queue: str) -> list[int]:
    """How many items left a queue at each event that took any."""
    change = -np.diff(run.trace.lengths[queue])
    return change[change > 0].tolist()


def test_one_interrupt_for_each_sent_frame_comes_out() -> None:
    """No suppression: nobody says so, every completion finds the handler gone. Only a short last fragment may
    follow too soon.
    """
    end = observe("udp_stream", {"workload.message_bytes": 1472}, 0.02).end.local
    assert end["interrupts"] == end["tx_completions"] > 500
    end = observe("udp_stream", {"workload.message_bytes": 65507}, 0.02).end.local
    assert 0 <= end["tx_completions"] - end["interrupts"] <= end["messages"] + 1


def test_acknowledgements_that_find_the_handler_running_cost_no_interrupt() -> None:
    """One ACK for two frames costs half an interrupt a frame, or nothing: it depends on when the receiver
    sends it.
    """
    ratios = []
    for mhz in (1000.0, 2000.0):
        receiver = {"remote.driver.napi": True, "remote.cpu.frequency_mhz": mhz}
        end = observe("tcp_stream", {**receiver, "local.nic.dma_burst_dwords": 8}, 0.05).end.local
        assert end["acks_received"] == pytest.approx(end["tx_completions"] / 2, rel=0.02)
        ratios.append(end["interrupts"] / end["tx_completions"])
    assert ratios == pytest.approx([1.5, 1.0], abs=0.01)


def test_registers_of_the_old_handler() -> None:
    """Two reads and three writes; a receiver adds one write for every four frames."""
    params = {"workload.message_bytes": 1472}
    run = observe("udp_stream", params, 0.005, slices=500)
    host = at_rest(run, "remote")
    assert host["interrupts"] > 100
    assert host["bus_bursts.mmio_read"] == 2 * host["interrupts"]
    assert host["bus_bursts.mmio_write"] == 3 * host["interrupts"] + host["refills"]
    assert host["refills"] == host["delivered"] // 4


def test_each_further_loop_reads_and_writes_once_more() -> None:
    """Short frames that arrive while the handler runs find it reading ISR again."""
    params = {"workload.message_bytes": 18, "remote.cpu.frequency_mhz": 6000.0}
    host = at_rest(observe("udp_stream", params, 0.005, slices=500), "remote")
    loops = host["bus_bursts.mmio_read"] - host["interrupts"]
    assert loops > 1.3 * host["interrupts"] > 500
    assert host["bus_bursts.mmio_write"] == 2 * host["interrupts"] + loops + host["refills"]


def test_registers_of_napi() -> None:
    """One read and two writes in the interrupt, one write when the poll is done; two passes a poll."""
    run = observe("udp_stream", {**NAPI, "workload.message_bytes": 1472}, 0.005, slices=500)
    host = at_rest(run, "remote")
    assert host["polls"] == host["interrupts"] > 100
    assert host["bus_bursts.mmio_read"] == host["interrupts"]
    assert host["bus_bursts.mmio_write"] == (2 + 1) * host["interrupts"] + host["refills"]
    assert host["calls.hard_irq.mmio_read"] == host["interrupts"]
    assert host["calls.hard_irq.mmio_write"] == 2 * host["interrupts"]
    assert host["calls.soft_irq.napi_poll"] == 2 * host["polls"]


def test_a_service_takes_sixteen() -> None:
    """31 completions at once: the old handler takes 16, the poll 16 and then the rest."""
    params = {
        "workload.message_bytes": 1472,
        "local.driver.tx_suppress_frames": 31,
        "local.driver.tx_timer_us": 4000.0,
    }
    old = takes(observe("udp_stream", params, 0.002, events=5000), "local.tx_ring")
    assert old[0] == 16
    assert max(old) == 16
    poll = takes(
        observe("udp_stream", {**params, "local.driver.napi": True}, 0.002, events=5000), "local.tx_ring"
    )
    assert poll[:2] == [16, 15]


def test_what_a_service_leaves_waits_for_the_next_interrupt() -> None:
    """The old handler clears ISR before it serves: the 15 completions that it leaves raise nothing."""
    params = {
        "workload.message_bytes": 1472,
        "local.driver.tx_suppress_frames": 31,
        "local.driver.tx_timer_us": 4000.0,
    }
    run = observe("udp_stream", params, 0.002, slices=400)
    first = next(
        at.local
        for at in run.snapshots
        if at.local["calls.hard_irq.tx_reap"] == 16 and at.local["cpu_left_ps"] == 0
    )
    assert first["interrupts"] == 1
    assert first["tx_done"] >= 31 - 16


def test_a_poll_has_a_budget_of_64() -> None:
    """A receiver that cannot keep up: 32 and 32, again without an interrupt, and without the unmask write."""
    params = {
        **NAPI,
        "workload.message_bytes": 1472,
        "remote.driver.rx_ring": 252,
        "remote.driver.rx_reap_cycles": 50000.0,
        "remote.nic.pause": False,
    }
    run = observe("udp_stream", params, 0.02, events=100_000)
    end = run.end.remote
    assert end["polls"] > 2 * end["interrupts"]
    assert takes(run, "remote.rx_ring")[-6:] == [32] * 6
    writes = 2 * end["interrupts"] + end["refills"]
    assert end["bus_bursts.mmio_write"] - writes < end["polls"] / 2


def test_a_poll_without_budget_pays_for_no_unmask() -> None:
    """Every register write that was paid for has crossed the bus, but for those of the jobs under way."""
    params = {
        **NAPI,
        "workload.message_bytes": 1472,
        "remote.driver.rx_ring": 252,
        "remote.driver.rx_reap_cycles": 50000.0,
        "remote.nic.pause": False,
    }
    end = observe("udp_stream", params, 0.02).end.remote
    assert end["polls"] > 2 * end["interrupts"]
    assert 0 <= end.total("calls.*.mmio_write") - end["bus_bursts.mmio_write"] <= 2


def test_the_backlog_gets_its_turn() -> None:
    """An overloaded poll does not starve the protocol: between two polls up to 64 frames go up."""
    params = {
        **NAPI,
        "workload.message_bytes": 1472,
        "remote.driver.rx_ring": 252,
        "remote.driver.rx_reap_cycles": 50000.0,
        "remote.nic.pause": False,
    }
    end = observe("udp_stream", params, 0.02).end.remote
    assert end["polls"] > 5
    assert end["calls.soft_irq.rx_reap"] - end["delivered"] <= 2 * 64
    assert end["backlog_drops"] == 0


def test_the_handler_serves_what_isr_tells() -> None:
    """ACKs interrupt, sent frames are held back: the old handler leaves them alone, the poll takes them
    along.
    """
    params = {
        "local.driver.tx_suppress_frames": 255,
        "local.driver.tx_timer_us": 4000.0,
        "local.driver.tx_ring": 256,
        "socket.tcp_window_bytes": 65536,
    }
    old = observe("tcp_stream", params, 0.003).end.local
    assert old["acks_received"] > 30 and old["tx_completions"] > 60
    assert old["calls.hard_irq.tx_reap"] == 0
    poll = observe("tcp_stream", {**params, "local.driver.napi": True}, 0.003).end.local
    assert poll["calls.soft_irq.tx_reap"] > 50


@pytest.mark.parametrize("napi", [False, True])
def test_frames_go_up_through_the_backlog(napi: bool) -> None:
    """Both paths hand over with netif_rx: every frame makes a second hop in a softirq."""
    end = observe("udp_stream", {"driver.napi": napi, "workload.message_bytes": 1472}, 0.003).end.remote
    assert end["calls.soft_irq.netif_rx"] == pytest.approx(end["rx_frames"], abs=3)
    assert end["calls.hard_irq.netif_rx"] == 0
    assert end["calls.soft_irq.rx_reap" if napi else "calls.hard_irq.rx_reap"] == pytest.approx(
        end["rx_frames"], abs=3
    )


def test_the_shared_line_runs_the_other_handler_too() -> None:
    """2500 + 400 cycles and a read of 700 ns, each time."""
    params = {"workload.message_bytes": 1472, "cpu.frequency_mhz": 1000.0, "cpu.jitter_percent": 0.0}
    end = observe("udp_stream", params, 0.003).end.local
    assert end["ledger_ps.hard_irq.irq_entry"] == end["interrupts"] * 2_500_000
    assert end["ledger_ps.hard_irq.irq_shared_handler"] == end["interrupts"] * (400_000 + 700_000)
