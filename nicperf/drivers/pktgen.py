"""A packet generator in hardware: UDP frames of one size at one rate, for tests of XDP."""

from __future__ import annotations

from dataclasses import dataclass

from nicperf.drivers import desktop
from nicperf.parameter import parameter

#: What it counts, after what the PC counts that stands in its place under other workloads.
COUNTERS = (*desktop.COUNTERS, "late", "returned_bytes", "paused")


@dataclass(frozen=True)
class Pktgen:
    """The generator: no processor, no queue, no protocol.

    1. Frames leave one by one, a datagram in each: at the times that `rate_pps` sets, or one behind the other.
    2. A frame whose time comes while the one before is still on the wire, or while the peer's PAUSE holds, leaves
       as soon as it may (`late`). Time lost is not made up for: there are no bursts.
    3. What comes back is counted and dropped.

    Notes
    -----
    Not modelled: any process on this host; its processor stays idle. Changing addresses and ports, mixed sizes,
    imprecise clocks.

    Source
    ------
    What a traffic generator in hardware is asked to do (RFC 2544, section 21: frames evenly spaced); a kernel's
    pktgen comes close to it.
    """

    frame_bytes: int = parameter(
        60, "bytes", 60, 1514, "Frame without FCS: 60 is the smallest, called 64 with FCS."
    )
    rate_pps: float = parameter(0.0, "frames/s", 0.0, 6e8, "Frames per second; 0 = as the wire takes them.")
