"""A shared parallel bus, seen as clocks per transaction."""

from __future__ import annotations

from dataclasses import dataclass

from nicperf.parameter import choice, parameter

USES = (
    "tx_descriptor_read",
    "tx_data_read",
    "tx_writeback",
    "rx_descriptor_read",
    "rx_data_write",
    "rx_writeback",
    "mmio_read",
    "mmio_write",
)


@dataclass(frozen=True)
class ParallelBus:
    """Conventional PCI between the NIC and the host bridge.

    Notes
    -----
    A read burst of n words takes `arbitration + 1 (address) + 1 (turnaround) + read_latency + n + 1 (idle)`
    clocks, a write burst `arbitration + 1 + write_latency + n + 1`. A burst ends at the NIC's own limit, at
    the latency timer, or where the bridge disconnects. A register read by the CPU takes `arbitration + 1 + 1
    + register_latency + 1 + 1` clocks, a posted write `arbitration + 1 + 1 + 1`; both slip between two bursts
    of a running DMA and delay it by their own length.

    Not modelled: a second device on the bus, retries and delayed transactions, fast back-to-back, parity
    errors, memory-read-line against memory-read-multiple (their effect is `read_latency_clocks` and
    `read_line_bytes`).

    Source
    ------
    PCI Local Bus Specification 2.2, chapter 3: address phase, turnaround on reads, one word per data phase,
    latency timer in configuration space. The latencies are not in the standard; their origin is stated in the
    experiment's config.
    """

    clock_mhz: float = parameter(100 / 3, "MHz", 8.0, 533.0, "Bus clock.")
    width_bytes: int = choice(4, (4, 8), "Data bus width.", unit="bytes")
    arbitration_clocks: int = parameter(
        1, "clocks", 0, 16, "Clocks from request to address phase that no transfer hides."
    )
    read_latency_clocks: float = parameter(
        4.0, "clocks", 0.0, 64.0, "Target latency until the first word of a read."
    )
    write_latency_clocks: float = parameter(
        1.0, "clocks", 0.0, 64.0, "Target latency until the first word of a write."
    )
    register_latency_clocks: float = parameter(
        4.0, "clocks", 0.0, 64.0, "The NIC's latency when a register is read."
    )
    latency_timer_clocks: int = parameter(
        64, "clocks", 8, 255, "Longest burst of a master while others may want the bus."
    )
    read_line_bytes: int = choice(
        64, (0, 32, 64, 128, 256), "The bridge disconnects reads at this boundary; 0 never.", unit="bytes"
    )
    write_line_bytes: int = choice(
        0, (0, 32, 64, 128, 256), "The bridge disconnects writes at this boundary; 0 never.", unit="bytes"
    )

    @property
    def read_overhead_clocks(self) -> float:
        """Clocks of a read burst besides its data phases."""
        return self.arbitration_clocks + 3 + self.read_latency_clocks

    @property
    def write_overhead_clocks(self) -> float:
        """Clocks of a write burst besides its data phases."""
        return self.arbitration_clocks + 2 + self.write_latency_clocks

    @property
    def register_read_clocks(self) -> float:
        """Clocks of one register read."""
        return self.arbitration_clocks + 4 + self.register_latency_clocks

    @property
    def register_write_clocks(self) -> float:
        """Clocks of one posted register write."""
        return self.arbitration_clocks + 3
