"""All full segments at once: one row of an array for each, every field and every sum over the whole column."""

from __future__ import annotations

import numpy as np

from benchmarks.segments import ETHERNET_BYTES, HEADER_BYTES, IPV4_BYTES

IPV4, TCP = ETHERNET_BYTES, ETHERNET_BYTES + IPV4_BYTES
FIN, PSH, CWR = 0x01, 0x08, 0x80


def fold(total: np.ndarray) -> np.ndarray:
    for _ in range(4):
        total = (total & 0xFFFF) + (total >> 16)
    return total.astype(np.uint16)


def words(rows: np.ndarray) -> np.ndarray:
    """Sum of each row's words in the machine's byte order; 32 bits at a time where that fits, an odd byte by itself."""
    even = rows.shape[1] & ~1
    total = rows[:, :even].view(np.uint16 if even % 4 else np.uint32).sum(axis=1, dtype=np.uint64)
    return total + rows[:, even] if rows.shape[1] % 2 else total


def finish(rows: np.ndarray, first: int, mss: int, last: bool) -> None:
    """Fields and checksums of frames of one length that hold headers and payload; `first` is the number of the first."""
    number = np.arange(first, first + len(rows))

    def field(at: int, kind: str) -> np.ndarray:
        return rows[:, at : at + np.dtype(kind).itemsize].view(kind)[:, 0]

    transport_bytes = rows.shape[1] - TCP
    field(IPV4 + 2, ">u2")[:] = IPV4_BYTES + transport_bytes
    field(IPV4 + 4, ">u2")[:] += number.astype(np.uint16)
    field(IPV4 + 10, "u2")[:] = 0
    field(IPV4 + 10, "u2")[:] = ~fold(words(rows[:, IPV4:TCP]))
    field(TCP + 4, ">u4")[:] += (number * mss).astype(np.uint32)
    flags = rows[:, TCP + 13]
    flags &= 0xFF if last else 0xFF ^ (FIN | PSH)
    flags[1 if first == 0 else 0 :] &= 0xFF ^ CWR
    pseudo = np.array([[0, 6, transport_bytes >> 8, transport_bytes & 0xFF]], np.uint8)
    field(TCP + 16, "u2")[:] = 0
    total = words(pseudo) + words(rows[:, IPV4 + 12 : TCP]) + words(rows[:, TCP:])
    field(TCP + 16, "u2")[:] = ~fold(total)


def segment(frame: bytes, mss: int) -> np.ndarray:
    """The frames one behind the other; the last may be shorter than the others."""
    given = np.frombuffer(frame, np.uint8)
    payload = given[HEADER_BYTES:]
    full = (len(payload) - 1) // mss
    step = HEADER_BYTES + mss
    out = np.empty(full * step + HEADER_BYTES + len(payload) - full * mss, np.uint8)
    rows, rest = out[: full * step].reshape(full, step), out[full * step :].reshape(1, -1)
    for some in (rows, rest):
        some[:, :HEADER_BYTES] = given[:HEADER_BYTES]
    rows[:, HEADER_BYTES:] = payload[: full * mss].reshape(full, mss)
    rest[:, HEADER_BYTES:] = payload[full * mss :]
    finish(rows, 0, mss, last=False)
    finish(rest, full, mss, last=True)
    return out
