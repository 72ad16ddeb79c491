"""Copies by residency and page frags, worked out by hand."""

from __future__ import annotations

import pytest
from nicperf.parts._parts_probe import Copying, Frags, Pages

from nicperf.parts.copies import COUNTERS, Copies

#: One cycle lasts 1000 ps; prices are powers of ten so that a sum tells what is in it.
PRICES = {
    "cached_call_cycles": 10.0,
    "cached_l1_cycles_per_byte": 0.001,
    "cached_l2_cycles_per_byte": 0.01,
    "cached_l3_cycles_per_byte": 0.1,
    "cached_dram_cycles_per_byte": 1.0,
    "read_dram_cycles_per_byte": 2.0,
    "nocache_penalty_cycles": 163.84,
    "nocache_cycles_per_byte": 0.5,
    "split_line_cycles": 7.0,
    "idle_fence_cycles": 3.0,
}
#: 2, 4 and 8 lines.
SMALL = {"l1_bytes": 128, "l2_bytes": 256, "l3_bytes": 512}


def make(**values: object) -> Copying:
    return Copying(Copies(**{**PRICES, **SMALL, **values}), 1000.0, 1 << 16)  # type: ignore[arg-type]


def counted(copying: Copying) -> dict[str, int]:
    """Counters that are not zero, without their prefix."""
    named = zip(COUNTERS, copying.stats, strict=True)
    return {name.removeprefix("copy_"): n for name, n in named if n}


def test_a_cached_copy_costs_what_its_lines_cost_where_they_are() -> None:
    copying = make()
    assert copying.write_ps(0, 64) == 10_000 + 64_000
    assert copying.write_ps(0, 64) == 10_000 + 64
    for line in (1, 2):  # two more lines push the first out of L1
        copying.write_ps(64 * line, 64)
    assert copying.level(0) == 1
    assert copying.write_ps(0, 64) == 10_000 + 640
    assert copying.level(0) == 0
    for line in range(3, 7):
        copying.write_ps(64 * line, 64)
    assert copying.write_ps(0, 64) == 10_000 + 6_400
    assert counted(copying) == {
        **{"cached_calls": 10, "owned_lines": 7, "dirtied_lines": 7},
        **{"write_l1_bytes": 64, "write_l2_bytes": 64, "write_l3_bytes": 64, "write_dram_bytes": 448},
    }


def test_a_copy_that_touches_lines_in_part_pays_for_its_bytes() -> None:
    copying = make()
    assert copying.write_ps(60, 8) == 10_000 + 8_000
    assert copying.write_ps(64, 100) == 10_000 + 64 + 36_000
    assert counted(copying)["owned_lines"] == 3


def test_a_ring_that_does_not_fit_is_never_found() -> None:
    copying = make()
    for _ in range(3):
        for line in range(9):
            assert copying.write_ps(64 * line, 64) == 10_000 + 64_000
    assert counted(copying)["writeback_lines"] == 18


def test_a_nocache_copy_pays_its_fence_and_leaves_nothing_in_the_cache() -> None:
    copying = make(mode="nocache")
    copying.read_ps(0, 64)
    assert copying.write_ps(0, 128) == 163_840 + 64_000
    assert copying.level(0) == 3
    assert copying.write_ps(128 + 8, 56) == 163_840 + 28_000 + 7_000
    assert copying.write_ps(0, 100) == 163_840 + 50_000
    assert copying.write_ps(1000, 8) == 163_840 + 4_000 + 7_000  # inside one line: one partial line, not two
    assert counted(copying) == {
        **{"nocache_calls": 4, "fences": 4, "nocache_bytes": 292, "partial_lines": 3, "split_lines": 2},
        **{"read_calls": 1, "read_dram_bytes": 64, "displaced_lines": 1},
    }


def test_few_bytes_are_stored_plainly_and_fenced_all_the_same() -> None:
    copying = make(mode="nocache")
    assert copying.write_ps(0, 7) == 10_000 + 7_000 + 3_000
    assert copying.write_ps(0, 1) == 10_000 + 1 + 3_000
    assert copying.level(0) == 0
    copying.write_ps(0, 64)
    assert counted(copying)["displaced_dirty_lines"] == 1 and not copying.dirty(0)


@pytest.mark.parametrize("n_bytes, per_call, per_byte", [(16384, 163_840, 163_840), (64, 163_840, 640)])
def test_two_readings_of_the_penalty_agree_at_16_kib(n_bytes: int, per_call: int, per_byte: int) -> None:
    for reading, penalty in (("per_call", per_call), ("per_byte", per_byte)):
        copying = make(mode="nocache", penalty_reading=reading)
        assert copying.write_ps(0, n_bytes) == n_bytes * 500 + penalty


def test_the_device_snoops_dirty_lines_or_reads_memory() -> None:
    copying = make(dma_cache_ns=10.0, dma_memory_ns=50.0, dma_writeback_ns=2.0)
    copying.write_ps(0, 128)
    assert copying.dma_read_ps(0, 128) == 14_000
    assert copying.dma_read_ps(0, 128) == 10_000  # clean now, and still there
    assert copying.dma_read_ps(0, 192) == 50_000
    assert counted(copying)["dma_writeback_lines"] == 2
    dropping = make(snooped_line="invalid")
    dropping.write_ps(0, 64)
    dropping.dma_read_ps(0, 64)
    assert dropping.level(0) == 3


def test_ddio_reads_and_writes_the_last_level() -> None:
    copying = make(ddio=True, dma_cache_ns=10.0, dma_writeback_ns=2.0)
    copying.write_ps(0, 64)
    assert copying.dma_read_ps(0, 64) == 10_000 and copying.dirty(0)
    copying.dma_write(0, 128)
    assert (copying.level(0), copying.level(64)) == (2, 2)
    assert copying.read_ps(0, 64) == 10_000 + 6_400
    moved = counted(copying)
    assert (moved["dma_allocated_lines"], moved["dma_overwritten_lines"]) == (1, 1)


def test_received_data_come_from_memory_without_ddio() -> None:
    copying = make()
    copying.write_ps(0, 64)
    copying.dma_write(0, 64)
    assert copying.read_ps(0, 64) == 10_000 + 128_000
    assert copying.read_ps(0, 64) == 10_000 + 64
    moved = counted(copying)
    assert (moved["dma_invalidated_lines"], moved["dma_overwritten_lines"]) == (1, 1)


def test_an_application_loses_lines_in_proportion_to_its_share() -> None:
    copying = make(application_bytes=384, application_miss_cycles=100.0)  # 6 of 8 lines: in L3
    assert copying.application_ps(12) == 0
    copying.write_ps(0, 64)  # takes 6/8 of a line from it
    assert copying.application_ps(12) == 12 * (0.75 / 6) * 100_000
    assert make(application_bytes=1024).application_ps(12) == 0  # in no level at all


def test_chunks_follow_each_other_and_cross_no_block() -> None:
    frags = Frags(Pages(limit_pages=24))
    got = [frags.alloc(14000) for _ in range(3)]
    assert got == [(0, 14000), (14000, 14000), (28000, 4768)]
    assert frags.alloc(9232) == (32768, 9232)
    assert frags.stats == {"chunks": 4, "blocks": 2, "rewinds": 0, "failed": 0}


def test_a_block_that_nobody_else_holds_starts_over() -> None:
    frags = Frags(Pages(limit_pages=24))
    frags.free(frags.alloc(1400)[0])
    assert frags.alloc(1400) == (0, 1400)
    assert frags.stats["rewinds"] == 1


def test_the_block_freed_last_is_taken_first() -> None:
    frags = Frags(Pages(limit_pages=24))
    first, second, third = (frags.alloc(32768)[0] for _ in range(3))
    assert frags.alloc(1) is None
    frags.free(first)
    frags.free(second)
    assert frags.alloc(1)[0] == second
    assert frags.stats["failed"] == 1 and third == 65536
