"""One network interface with coalesced interrupts and NAPI, as every simulator here models it.

All times are integers in nanoseconds. Nothing is random.

1. A frame arrives every `frame_ns`, `frames` in all. It enters the FIFO, or is dropped if `fifo_frames` wait there.
2. The DMA engine takes the first frame of the FIFO when it is idle and one of `ring` descriptors is free. `dma_ns` later the
   frame lies in the ring.
3. While interrupts are enabled, the first frame in the ring starts a timer of `timer_ns` (ethtool's rx-usecs). The interrupt
   fires when it expires, or at once with the frame number `coalesced_frames` (rx-frames). Firing disables interrupts.
4. `irq_ns` later NAPI polls: it handles one frame in `packet_ns`, then frees its descriptor. After `budget` frames the next
   poll begins. When the ring is empty, interrupts are enabled again.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple


@dataclass(frozen=True)
class Nic:
    """Parameters, with the defaults that are timed: full frames at 1 Gbit/s."""

    frames: int
    frame_ns: int = 12304
    fifo_frames: int = 64
    dma_ns: int = 900
    ring: int = 256
    timer_ns: int = 50_000
    coalesced_frames: int = 32
    irq_ns: int = 3000
    budget: int = 64
    packet_ns: int = 1800


class Outcome(NamedTuple):
    """What a simulator must agree on with the others."""

    delivered: int
    dropped: int
    interrupts: int
    polls: int


def cases(frames: int) -> dict[str, Nic]:
    """Settings that go through every branch of the model; all but the first have times that never coincide."""
    line = Nic(frames)
    small = replace(line, frame_ns=1153, dma_ns=401, packet_ns=709)
    return {
        "timer": line,
        "threshold": small,
        "overload": replace(small, frame_ns=677, packet_ns=1801),
        "slow DMA": replace(small, dma_ns=1543),
    }
