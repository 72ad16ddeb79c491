"""What passed the wire during a run with bytes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nicperf.packets._wiretap import STATS

if TYPE_CHECKING:
    import numpy as np

    from nicperf.packets._wiretap import Wiretap


@dataclass(frozen=True, eq=False)
class Capture:
    """The first frames of both directions, in the order in which they arrived.

    Attributes
    ----------
    time_ps : int64 array, shape (n,)
        Simulated time at which the frame had left the wire, its gap included; the handshake that opens a TCP
        connection stands before time zero, when the model starts with an open one.
    outbound : uint8 array, shape (n,)
        1 for a frame from local to remote, 0 for one the other way.
    length_bytes : int32 array, shape (n,)
        Ethernet header to end of padding, without FCS.
    data : uint8 array, shape (n, 1536)
        Contents; only the first `length_bytes` of each row count.
    passed_frames : int
        How many there were, kept or not.
    counters : list of (side, part, counter, value)
        What the receivers found: ``frames`` that reached the protocol, ``software_sums`` (packets and
        datagrams that the stack had to sum), ``bad_checksums`` (damage that was found), ``bad_payloads``
        (damage that was not).
    """

    time_ps: np.ndarray
    outbound: np.ndarray
    length_bytes: np.ndarray
    data: np.ndarray
    passed_frames: int
    counters: list[tuple[str, str, str, int]]

    @classmethod
    def of(cls, wiretap: Wiretap) -> Capture:
        """Read a wiretap after its run."""
        found = zip(("local", "remote"), wiretap.counters(), strict=True)
        rows = [(side, "bytes", n, v) for side, values in found for n, v in zip(STATS, values, strict=True)]
        return cls(*wiretap.record(), rows)

    def __len__(self) -> int:
        """How many frames were kept."""
        return len(self.time_ps)

    def frames(self) -> Iterator[bytes]:
        """Contents of the frames, one after the other."""
        for row, length_bytes in zip(self.data, self.length_bytes, strict=True):
            yield row[:length_bytes].tobytes()
