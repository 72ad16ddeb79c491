"""A full-duplex Ethernet link."""

from __future__ import annotations

from dataclasses import dataclass

from nicperf.parameter import parameter


@dataclass(frozen=True)
class Wire:
    """Serialisation of frames, one at a time in each direction.

    Notes
    -----
    A frame occupies the wire for preamble, header, payload (padded to the minimum frame), FCS and gap. It
    arrives when its gap has ended.

    Not modelled: propagation time, loss, half duplex, the 672 ns that a PAUSE frame takes.

    Source
    ------
    IEEE 802.3, clauses 3 (frame), 4.4 (minimum frame and gap) and 31B (PAUSE).
    """

    rate_mbit_s: float = parameter(1000.0, "Mbit/s", 1.0, 400000.0, "Bit rate of the link.")
    mtu_bytes: int = parameter(1500, "bytes", 576, 1500, "Largest IP packet.")


@dataclass(frozen=True)
class BufferedWire(Wire):
    """A link whose sending end holds no more than a buffer: what does not fit is lost (drop-tail).

    Notes
    -----
    The buffer stands for the narrowest one on the path, wherever that is: two adapters of one rate with a
    switch between them fill none, so a size that explains a measurement is a hypothesis. A packet of the stack
    is lost whole, with all its segments.
    """

    buffer_bytes: float = parameter(
        0.0,
        "bytes",
        0.0,
        1e8,
        "Most that may wait for the wire in one direction; 0 = the device queues wait.",
    )
