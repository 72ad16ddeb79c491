"""A processor and what the basic kernel services cost on it."""

from __future__ import annotations

from dataclasses import dataclass

from nicperf.parameter import choice, parameter


@dataclass(frozen=True)
class Cpu:
    """One core with three contexts: hard irq > softirq > process; whatever is left is idle.

    Notes
    -----
    The process may have a core of its own. A more urgent context preempts the running one, which later
    resumes where it stopped. Every job has one length, fixed when it starts; its effects (a descriptor
    posted, a frame queued, a socket woken) happen at its end.

    Not modelled: more cores than that, the caches between them, ksoftirqd and the restart limit of softirqs,
    the timer tick, other processes, frequency changes, caches other than through `Memory`.
    """

    frequency_mhz: float = parameter(1400.0, "MHz", 50.0, 10000.0, "Core clock.")
    cycles_factor: float = parameter(
        1.0,
        "1",
        0.05,
        20.0,
        "Cycles that this core takes for each cycle stated, here and for every other part.",
    )
    process_core: str = choice(
        "same", ("same", "other"), "Whether the process shares the core of the interrupts."
    )
    irq_entry_cycles: float = parameter(
        2500.0, "cycles", 0.0, 50000.0, "Entry, exit and interrupt controller, per interrupt."
    )
    irq_shared_cycles: float = parameter(
        400.0,
        "cycles",
        0.0,
        50000.0,
        "Handler of the device that shares the line, without its register read.",
    )
    irq_shared_read_ns: float = parameter(
        700.0, "ns", 0.0, 10000.0, "Status read by the handler of the device that shares the line."
    )
    mmio_read_ns: float = parameter(
        300.0, "ns", 0.0, 10000.0, "CPU stall of a register read beyond its time on the NIC's bus."
    )
    mmio_write_cycles: float = parameter(
        100.0, "cycles", 0.0, 50000.0, "A posted register write, seen by the CPU."
    )
    softirq_cycles: float = parameter(
        500.0, "cycles", 0.0, 50000.0, "Raising softirqs and entering them, per activation."
    )
    syscall_cycles: float = parameter(
        700.0, "cycles", 1.0, 50000.0, "System call entry and exit with the socket layer, per call."
    )
    wakeup_cycles: float = parameter(
        4000.0, "cycles", 0.0, 100000.0, "Waking a blocked process and switching to it."
    )
    jitter_percent: float = parameter(
        5.0, "%", 0.0, 50.0, "Half width of the uniform variation of every job's length."
    )


@dataclass(frozen=True)
class MulticoreCpu(Cpu):
    """Several cores, where the workload has many processes.

    Notes
    -----
    Each core has a queue pair of the adapter with its interrupt, and an equal share of the processes, which stay where
    they are; a stream has one process and uses one core, or two (`process_core`).

    Not modelled: cores of two threads, cache lines that several cores write, other than through `handover_cycles`.
    """

    cores: int = parameter(4, "cores", 1, 8, "Cores that closed loops use, one queue pair each.")
    handover_cycles: float = parameter(
        0.0,
        "cycles",
        0.0,
        50000.0,
        "Where the process has a core of its own: cache lines that the other core wrote last, per copy between process and "
        "socket, and per packet that the softirq sends or takes back.",
    )


@dataclass(frozen=True)
class Memory:
    """Cost of touching payload with the CPU, by residency of the source.

    Notes
    -----
    A source is cached when the buffers that the sender cycles through fit into the last cache level; data
    that a device wrote by DMA is never cached. Copies cost a rate per byte: set-up is part of the operation
    that copies.

    Not modelled: partial residency, the destination's residency, bandwidth taken by DMA.
    """

    last_cache_bytes: int = parameter(1 << 20, "bytes", 0, 1 << 30, "Capacity of the last cache level.")
    copy_cached_cycles_per_byte: float = parameter(
        0.68, "cycles/byte", 0.0, 50.0, "Copy from a cached source."
    )
    copy_cold_cycles_per_byte: float = parameter(1.2, "cycles/byte", 0.0, 50.0, "Copy from memory.")
    checksum_cycles_per_byte: float = parameter(
        0.3, "cycles/byte", 0.0, 50.0, "Summing bytes while they are copied, on top of the copy."
    )
