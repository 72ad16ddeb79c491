"""What a parallel bus can carry at most, in closed form: each burst pays its own set-up."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd


@dataclass(frozen=True)
class ParallelBus:
    """A shared parallel bus on which a burst pays a fixed number of clocks before its data.

    Attributes
    ----------
    width_bytes : int
        4 for a 32-bit bus.
    clock_mhz : float
        100/3 for conventional PCI.
    overhead_clocks : float
        Address phase, turnaround, first-data latency and idle clock of one burst together. Not in the
        standard.
    """

    width_bytes: int = 4
    clock_mhz: float = 100 / 3
    overhead_clocks: float = 8.0


def burst_mbyte_s(burst_words: int, bus: ParallelBus | None = None) -> float:
    """Bandwidth of a bus that carries back-to-back bursts of one length.

    Parameters
    ----------
    burst_words : int
        Data phases of one burst, each `width_bytes` wide, >= 1.
    bus : ParallelBus, optional
        Default: 32 bit, 33 MHz, 8 clocks of overhead.

    Returns
    -------
    float
        Decimal megabytes per second: peak * n / (n + overhead).

    Examples
    --------
    >>> round(burst_mbyte_s(8), 1), round(burst_mbyte_s(16), 1)
    (66.7, 88.9)
    """
    if burst_words < 1:
        raise ValueError(f"burst_words = {burst_words}: a burst moves at least one word")
    bus = bus or ParallelBus()
    return bus.width_bytes * bus.clock_mhz * burst_words / (burst_words + bus.overhead_clocks)


def burst_table(
    words: tuple[int, ...] = (1, 4, 8, 16, 32, 64, 128, 379),
    overheads: tuple[float, ...] = (7, 8, 9),
    bus: ParallelBus | None = None,
) -> pd.DataFrame:
    """Burst bandwidth over burst length and overhead, as a tidy frame.

    Parameters
    ----------
    words : tuple of int
        Burst lengths in data phases.
    overheads : tuple of float
        Overhead clocks of one burst; these replace that of `bus`.
    bus : ParallelBus, optional
        Width and clock.

    Returns
    -------
    DataFrame
        burst_words, burst_bytes, overhead_clocks, mbyte_s.
    """
    base = bus or ParallelBus()
    rows = [
        (n, n * base.width_bytes, o, burst_mbyte_s(n, ParallelBus(base.width_bytes, base.clock_mhz, o)))
        for n in words
        for o in overheads
    ]
    return pd.DataFrame(rows, columns=["burst_words", "burst_bytes", "overhead_clocks", "mbyte_s"])


def frame_bus_ns(frame_bytes: int, burst_words: int | None, bus: ParallelBus | None = None) -> float:
    """Time one frame's data hold the bus when moved in bursts of at most `burst_words`.

    Parameters
    ----------
    frame_bytes : int
        Bytes moved by DMA: Ethernet header and packet, without preamble and FCS.
    burst_words : int or None
        Longest burst in data phases; None for one unbroken burst.
    bus : ParallelBus, optional
        Default: 32 bit, 33 MHz, 8 clocks of overhead.

    Returns
    -------
    float
        Nanoseconds. Descriptors, registers and waiting are not in it; the buffer starts at a word boundary.

    Examples
    --------
    >>> round(frame_bus_ns(1514, 8)), round(frame_bus_ns(1514, None))
    (22890, 11610)
    """
    bus = bus or ParallelBus()
    words = -(-frame_bytes // bus.width_bytes)
    bursts = -(-words // burst_words) if burst_words else 1
    return (words + bursts * bus.overhead_clocks) * 1000 / bus.clock_mhz
