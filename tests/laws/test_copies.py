"""What copies obey whatever the prices: dearer with size and footprint, and no line is lost."""

from __future__ import annotations

import random

import pytest
from nicperf.parts._parts_probe import Copying

from nicperf.parts.copies import COUNTERS, LEVELS, Copies

RINGS_BYTES = [16 << 10, 128 << 10, 1 << 20, 12 << 20]


def call_ps(spec: Copies, ring_bytes: int, size_bytes: int) -> float:
    """Mean time of a call in the second round of a ring."""
    copying = Copying(spec, 3200.0, ring_bytes)
    starts = range(0, ring_bytes - size_bytes + 1, size_bytes)
    for start in starts:
        copying.write_ps(start, size_bytes)
    return sum(copying.write_ps(start, size_bytes) for start in starts) / len(starts)


@pytest.mark.parametrize("mode", ["cached", "nocache"])
@pytest.mark.parametrize("reading", ["per_call", "per_byte"])
def test_more_bytes_take_longer(mode: str, reading: str) -> None:
    spec = Copies(mode=mode, penalty_reading=reading)
    for ring in RINGS_BYTES[:3]:
        costs = [call_ps(spec, ring, size) for size in (64, 256, 1408, 4096, 16384)]
        assert costs == sorted(set(costs))


def test_the_cached_cost_rises_with_the_footprint_and_the_other_does_not() -> None:
    cached = [call_ps(Copies(), ring, 16384) for ring in RINGS_BYTES]
    around = [call_ps(Copies(mode="nocache"), ring, 16384) for ring in RINGS_BYTES]
    assert cached == sorted(set(cached)) and len(set(around)) == 1


def unaccounted(counters: dict[str, int], dirty_lines: int) -> int:
    """Dirtied lines of which nobody knows what became."""
    cleaned = ("writeback", "displaced_dirty", "dma_writeback", "dma_overwritten")
    return counters["copy_dirtied_lines"] - dirty_lines - sum(counters[f"copy_{n}_lines"] for n in cleaned)


@pytest.mark.parametrize("mode", ["cached", "nocache"])
@pytest.mark.parametrize("ddio", [False, True])
def test_bytes_and_dirty_lines_are_conserved(mode: str, ddio: bool) -> None:
    space = 1 << 18
    spec = Copies(mode=mode, ddio=ddio, l1_bytes=4 << 10, l2_bytes=16 << 10, l3_bytes=64 << 10)
    copying, dice = Copying(spec, 3200.0, space), random.Random(3)
    written = read = 0
    for _ in range(2000):
        address, n_bytes = dice.randrange(space - 9000), dice.choice([1, 5, 64, 1400, 9000])
        match dice.choice(["write", "read", "dma_read", "dma_write"]):
            case "write":
                copying.write_ps(address, n_bytes)
                written += n_bytes
            case "read":
                copying.read_ps(address, n_bytes)
                read += n_bytes
            case "dma_read":
                copying.dma_read_ps(address, n_bytes)
            case _:
                copying.dma_write(address, n_bytes)
    counters = dict(zip(COUNTERS, copying.stats, strict=True))
    by_level = {
        kind: sum(counters[f"copy_{kind}_{level}_bytes"] for level in LEVELS) for kind in ("write", "read")
    }
    assert by_level["write"] + counters["copy_nocache_bytes"] == written
    assert by_level["read"] == read
    dirty = sum(copying.dirty(at) for at in range(0, space, 64))
    assert unaccounted(counters, dirty) == 0 < counters["copy_dma_overwritten_lines"]
    assert unaccounted({**counters, "copy_dirtied_lines": 1 + counters["copy_dirtied_lines"]}, dirty) == 1
