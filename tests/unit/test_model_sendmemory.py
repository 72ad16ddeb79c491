"""Payload on its way: what a process has written, what the device reads, what the peer has acknowledged; and many timers."""

from __future__ import annotations

import heapq

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nicperf.parts._parts_probe import Pages, Sending, Timers

BLOCK = 32768


def pages(blocks: int = 64) -> Pages:
    return Pages(limit_pages=8 * blocks)


def test_two_sends_of_16_kib_fill_a_block() -> None:
    sending = Sending(pages(), 1 << 20)
    assert sending.write(16384) == [(0, 16384)]
    assert sending.write(16384) == [(16384, 16384)]
    assert sending.chunks == 1  # one fragment goes on
    assert sending.write(16384) == [(BLOCK, 16384)]
    assert sending.chunks == 2


def test_a_write_goes_over_the_end_of_a_block() -> None:
    sending = Sending(pages(), 1 << 20)
    sending.write(30000)
    assert sending.write(14000) == [(30000, 2768), (BLOCK, 11232)]
    assert sending.read(44000) == [(0, 32768), (BLOCK, 11232)]
    assert sending.read(1) == []


def test_what_is_acknowledged_is_filled_again() -> None:
    sending = Sending(pages(), 1 << 20)
    sending.write(1400)
    assert sending.read(1400) == [(0, 1400)]
    sending.acknowledge(1400)
    assert sending.chunks == 0
    assert sending.write(1400) == [(0, 1400)]  # nobody holds the block: from its start
    assert sending.read(1400) == [(0, 1400)]


def test_half_an_acknowledgement_frees_nothing_yet() -> None:
    sending = Sending(pages(), 1 << 20)
    sending.write(2 * BLOCK)
    sending.acknowledge(BLOCK - 1)
    assert sending.chunks == 2
    sending.acknowledge(1)
    assert sending.chunks == 1


@given(
    st.lists(
        st.tuples(st.sampled_from(["write", "read", "acknowledge"]), st.integers(1, 60_000)), max_size=60
    )
)
def test_the_device_reads_what_was_written_in_order(steps: list[tuple[str, int]]) -> None:
    """Against a list of bytes by their addresses; acknowledged is only what has been read."""
    sending = Sending(pages(), 1 << 22)
    written: list[tuple[int, int]] = []  # (first address, length), as written
    read = acknowledged = total = 0

    def addresses(start: int, end: int) -> list[tuple[int, int]]:
        out, at = [], 0
        for address, length in written:
            low, high = max(start, at), min(end, at + length)
            if low < high:
                out.append((address + low - at, high - low))
            at += length
        return joined(out)

    for what, n in steps:
        if what == "write" and total - acknowledged + n < 1 << 20:
            written += sending.write(n)
            total += n
        elif what == "read":
            n = min(n, total - read)
            assert joined(sending.read(n)) == addresses(read, read + n)
            read += n
        elif what == "acknowledge":
            n = min(n, read - acknowledged)
            sending.acknowledge(n)
            acknowledged += n
    assert sending.chunks <= (total - acknowledged) // BLOCK * 2 + 2


def joined(pieces: list[tuple[int, int]]) -> list[tuple[int, int]]:
    out: list[tuple[int, int]] = []
    for address, length in pieces:
        if out and sum(out[-1]) == address:
            out[-1] = (out[-1][0], out[-1][1] + length)
        else:
            out.append((address, length))
    return out


@given(st.lists(st.one_of(st.none(), st.tuples(st.integers(0, 50), st.integers(0, 3), st.integers(0, 2)))))
def test_timers_are_a_heap(steps: list[tuple[int, int, int] | None]) -> None:
    """Against heapq: None takes the first; equal times go by owner and kind."""
    timers, heap = Timers(len(steps) + 1), list[tuple[int, int, int]]()
    for step in steps:
        if step is not None:
            timers.put(*step)
            heapq.heappush(heap, step)
        elif heap:
            assert timers.next_ps == heap[0][0]
            assert timers.take() == heapq.heappop(heap)
        else:
            with pytest.raises(IndexError):
                timers.take()
    assert [timers.take() for _ in heap] == sorted(heap)
