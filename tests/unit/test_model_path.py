"""The first datagram from system call to system call: every step's time by hand, to the picosecond.

Round numbers: a cycle is 1 ns (1000 MHz), a bus clock 10 ns (100 MHz), a byte on the wire 8 ns; no jitter.
"""

from __future__ import annotations

import pytest

from ..observed import Observed, observe

CYCLE = 1000
CLOCK = 10_000
BYTE = 8000
EXACT = {
    "cpu.frequency_mhz": 1000.0,
    "cpu.jitter_percent": 0.0,
    "bus.clock_mhz": 100.0,
    "nic.frame_gap_ns": 1000.0,
    "nic.dma_burst_dwords": 16,
    "bus.read_line_bytes": 0,
    "workload.message_bytes": 18,
}
# Clocks of a burst besides its words: arbitration 1, address 1, turnaround 1 (reads), latency 4 or 1, idle 1.
READ, WRITE = 8, 4
READ_STALL = 9 * CLOCK + 300_000  # a register: 9 clocks, and what the bridge adds


@pytest.fixture(scope="module")
def run() -> Observed:
    return observe("udp_stream", EXACT, 0.0001, events=200)


# System call, UDP, sk_buff; payload and UDP header copied from the cache.
BUILT = (700 + 800 + 500) * CYCLE + 26 * 680
# IP, device queue, descriptor, one buffer, doorbell.
POSTED = BUILT + (400 + 250 + 300 + 60 + 100) * CYCLE
# Set-up; descriptor of 16 bytes; frame of 60.
ON_CHIP = POSTED + 1_000_000 + (READ + 4 + READ + 15) * CLOCK
GONE = ON_CHIP + (60 + 24) * BYTE
# Entry, shared handler and its read; ISR; two register writes.
IRQ = (2500 + 400) * CYCLE + 700_000 + READ_STALL + 2 * 100 * CYCLE
# Set-up; descriptor; frame; status word.
STORED = GONE + 1_000_000 + (READ + 4 + WRITE + 15 + WRITE + 1) * CLOCK
HANDLED = STORED + IRQ
# Acknowledge; descriptor, sk_buff, copy from memory; ISR again.
SERVED = HANDLED + 100 * CYCLE + (400 + 500) * CYCLE + 60 * 1200 + READ_STALL
# Softirq, backlog, IP, UDP.
DELIVERED = SERVED + (500 + 200 + 500 + 800) * CYCLE
AWAKE = DELIVERED + 4000 * CYCLE
# System call, UDP, copy from memory, free.
READ_OUT = AWAKE + (700 + 800) * CYCLE + 18 * 1200 + 300 * CYCLE


def test_sender(run: Observed) -> None:
    assert run.trace.times_ps("local.cpu")[:2].tolist() == [BUILT, POSTED]
    assert run.trace.times_ps("local.dma")[0] == ON_CHIP
    assert run.trace.times_ps("local.wire")[0] == GONE


def test_receiver(run: Observed) -> None:
    assert run.trace.times_ps("remote.dma")[0] == STORED
    assert run.trace.times_ps("remote.cpu")[:2].tolist() == [HANDLED, SERVED]
    # The next datagram interrupts the softirq: the sender needs POSTED for each.
    assert STORED + POSTED < DELIVERED


def test_receiver_undisturbed() -> None:
    """When the sender needs 49 us more for each datagram, the receiver is done before the next one comes."""
    slow = {"local.stack.udp_cycles": 50_000.0, "remote.stack.udp_cycles": 800.0}
    trace = observe("udp_stream", EXACT | slow, 0.0001, events=200).trace
    shift = (50_000 - 800) * CYCLE
    steps = [HANDLED, SERVED, DELIVERED, AWAKE, READ_OUT]
    assert (trace.times_ps("remote.cpu")[:5] - shift).tolist() == steps


def test_the_sender_handles_its_completion(run: Observed) -> None:
    """The interrupt takes the CPU from the second datagram, frees the first, and gives the CPU back."""
    begun = GONE
    handled = begun + IRQ
    serve = (100 + 200 + 300) * CYCLE + READ_STALL  # acknowledge, take back, free
    cpu = run.trace.times_ps("local.cpu").tolist()
    assert BUILT + POSTED < begun < 2 * POSTED  # in the middle of the second output job
    assert cpu[2] == BUILT + POSTED
    assert cpu[3:5] == [handled, handled + serve]
    assert cpu[5] == 2 * POSTED + IRQ + serve


def test_lengths_after_each_step(run: Observed) -> None:
    at = dict(zip(run.trace.time_ps.tolist(), range(200), strict=False))
    steps = [at[t] for t in (BUILT, POSTED, ON_CHIP, GONE, STORED, SERVED)]
    lengths = {name: column[steps].tolist() for name, column in run.trace.lengths.items()}
    # At SERVED the first has been taken back and the second posted.
    assert lengths["local.tx_ring"] == [0, 1, 1, 1, 1, 1]
    assert lengths["local.tx_fifo"][:4] == [0, 0, 1, 0]
    assert lengths["remote.rx_fifo"][:5] == [0, 0, 0, 1, 0]
    assert lengths["remote.rx_ring"] == [0, 0, 0, 0, 1, 0]
    assert lengths["remote.backlog"] == [0, 0, 0, 0, 0, 1]
