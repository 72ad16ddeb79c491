"""All segments at once: one row of an array for each, every field and every sum over the whole column.

Sums are taken modulo 65535, where the carries of a ones' complement sum vanish and swapping the bytes of a word is a
multiplication by 256. What all headers have in common is summed once.
"""

from __future__ import annotations

import sys

import numpy as np

from benchmarks.segments import ETHERNET_BYTES, HEADER_BYTES, IPV4_BYTES

IPV4, TCP = ETHERNET_BYTES, ETHERNET_BYTES + IPV4_BYTES
FIN, PSH, CWR = 0x01, 0x08, 0x80
SWAP = 256 if sys.byteorder == "little" else 1


def words(header: bytes | bytearray) -> int:
    return sum(memoryview(header).cast("H").tolist()) * SWAP


def segment(frame: bytes, mss: int) -> np.ndarray:
    """The frames one behind the other; only the last may be shorter than the others. `mss` is a multiple of four."""
    header, payload = bytearray(frame[:HEADER_BYTES]), np.frombuffer(frame, np.uint8)[HEADER_BYTES:]
    number, sequence = int.from_bytes(header[IPV4 + 4 : IPV4 + 6]), int.from_bytes(header[TCP + 4 : TCP + 8])
    flags = header[TCP + 13]
    for at, size in ((IPV4 + 2, 4), (IPV4 + 10, 2), (TCP + 4, 4), (TCP + 13, 1), (TCP + 16, 2)):
        header[at : at + size] = bytes(size)

    n, full = -(-len(payload) // mss), len(payload) // mss
    rows = np.empty((n, HEADER_BYTES + mss), np.uint8)
    rows[:, :HEADER_BYTES] = np.frombuffer(header, np.uint8)
    rows[:full, HEADER_BYTES:] = payload[: full * mss].reshape(full, mss)
    rows[full:, HEADER_BYTES:] = 0
    rows.reshape(-1)[n * HEADER_BYTES + full * mss :][: len(payload) - full * mss] = payload[full * mss :]

    def field(at: int, kind: str) -> np.ndarray:
        return rows[:, at : at + np.dtype(kind).itemsize].view(kind)[:, 0]

    segments = np.arange(n)
    lengths = np.full(n, HEADER_BYTES - IPV4 + mss)
    lengths[-1] += len(payload) - n * mss
    numbers = (segments + number) & 0xFFFF
    field(IPV4 + 2, ">u2")[:] = lengths
    field(IPV4 + 4, ">u2")[:] = numbers
    field(IPV4 + 10, ">u2")[:] = -(lengths + numbers + words(header[IPV4:TCP])) % 0xFFFF

    sequences = (segments * mss + sequence) & 0xFFFF_FFFF
    marks = np.full(n, flags & ~(FIN | PSH | CWR))
    marks[0] |= flags & CWR
    marks[-1] |= flags & (FIN | PSH)
    field(TCP + 4, ">u4")[:] = sequences
    field(TCP + 13, "u1")[:] = marks
    common = words(header[IPV4 + 12 : TCP]) + 6 - IPV4_BYTES + words(header[TCP:])
    sums = (
        rows[:, HEADER_BYTES:].view(np.uint32).sum(axis=1, dtype=np.uint64).astype(np.int64) % 0xFFFF * SWAP
    )
    field(TCP + 16, ">u2")[:] = -(sums + lengths + sequences + marks + common) % 0xFFFF
    return rows.reshape(-1)[: n * HEADER_BYTES + len(payload)]
