"""Cache lines and IOMMU work of each DMA call, counted by hand."""

from __future__ import annotations

from dataclasses import fields

import pytest
from nicperf.parts._parts_probe import LAST_IOMMU, N_CALLS, Dma, PagePool, Pages

from nicperf.parts import dma

MAP, FOR_DEVICE, FOR_CPU, UNMAP = range(4)
BOTH, TO_DEVICE, FROM_DEVICE = range(3)
HEADROOM, FRAME = 256, 3520  # page pool of the fec driver: 4096 - 256 - 320


def maintained(dma: Dma) -> tuple[int, int]:
    """Lines invalidated and cleaned by all calls together."""
    return sum(dma.stats["invalidated_lines"]), sum(dma.stats["cleaned_lines"])


def test_names_are_those_of_the_core() -> None:
    assert len(dma.CALLS) == N_CALLS and len(dma.IOMMU) == LAST_IOMMU + 1
    assert {field.name for field in fields(dma.Dma)} >= {"clean_cycles", "iommu_lazy_calls"}


@pytest.mark.parametrize("align", [0, 63])
def test_original_driver_invalidates_and_cleans_32_lines(align: int) -> None:
    # unmap of the full buffer, map of the fresh one, both 2048 less the alignment
    dma = Dma()
    dma.call(UNMAP, 0, 2048 - align, FROM_DEVICE)
    dma.call(MAP, 0, 2048 - align, FROM_DEVICE)
    assert maintained(dma) == (32, 32)


@pytest.mark.parametrize("frame_bytes, read, lines", [(1518, 24, 55), (64, 1, 55)])
def test_page_pool_cleans_55_lines_when_an_skb_is_recycled(frame_bytes: int, read: int, lines: int) -> None:
    pool_dma, pages = Dma(), Pages()
    pool = PagePool(pages, pool_dma, bulk_pages=1)
    page = pool.alloc()
    before = maintained(pool_dma)
    assert before == (0, 55)  # the first hand-over, at the slow allocation
    pool_dma.call(FOR_CPU, HEADROOM, frame_bytes, FROM_DEVICE)
    assert pool.put(page) == "ring"
    assert maintained(pool_dma) == (read, before[1] + lines)
    assert pool.alloc() == page
    assert maintained(pool_dma) == (read, before[1] + lines)  # nothing more to hand it over again


@pytest.mark.parametrize("frame_bytes, lines", [(64, 1), (66, 2), (1518, 24), (9000, 55)])
def test_a_drop_cleans_what_the_frame_touched(frame_bytes: int, lines: int) -> None:
    dma, pages = Dma(), Pages()
    pool = PagePool(pages, dma, bulk_pages=1)
    page = pool.alloc()
    assert pool.put(page, frame_bytes, allow_direct=True) == "cache"
    assert maintained(dma) == (0, 55 + lines)


def test_pool_maps_and_unmaps_without_maintenance() -> None:
    dma, pages = Dma(sync_ps=1, call_ps=1000), Pages()
    pool = PagePool(pages, dma, syncs=False, bulk_pages=4)
    page = pool.alloc()
    assert dma.stats["calls"] == [4, 0, 0, 0] and dma.take_ps() == 4000
    pool.release(page)
    assert dma.stats["calls"] == [4, 0, 0, 1] and dma.take_ps() == 1000
    assert maintained(dma) == (0, 0)


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize("direction", [BOTH, TO_DEVICE, FROM_DEVICE])
def test_what_each_call_does_on_a_device_that_does_not_snoop(old: bool, direction: int) -> None:
    dma = Dma(invalidates_for_device=old)
    for call in (MAP, FOR_DEVICE, FOR_CPU, UNMAP):
        dma.call(call, 0, 64, direction)
    toward_device = [1, 1, 0, 0]
    if old and direction == FROM_DEVICE:
        assert dma.stats["cleaned_lines"] == [0] * 4 and dma.stats["invalidated_lines"] == [1] * 4
    else:
        assert dma.stats["cleaned_lines"] == toward_device
        assert dma.stats["invalidated_lines"] == [0, 0, *[int(direction != TO_DEVICE)] * 2]


@pytest.mark.parametrize(
    "offset, n_bytes, line, lines",
    [(0, 64, 64, 1), (0, 65, 64, 2), (63, 1, 64, 1), (63, 2, 64, 2), (256, 1514, 64, 24), (32, 64, 128, 1)],
)
def test_lines_touched(offset: int, n_bytes: int, line: int, lines: int) -> None:
    dma = Dma(line_bytes=line)
    dma.call(FOR_CPU, offset, n_bytes, FROM_DEVICE)
    assert maintained(dma) == (lines, 0)
    touched = {byte // line for byte in range(offset, offset + n_bytes)}
    assert len(touched) == lines


def test_espressobin_profile() -> None:
    # 3520 bytes cleaned in 638 ns, 64 bytes invalidated in 168 ns (Cortex-A53, 1.0 GHz)
    dma = Dma(sync_ps=155_000, clean_ps=8_800, invalidate_ps=8_800)
    dma.call(FOR_DEVICE, HEADROOM, FRAME, FROM_DEVICE)
    assert dma.take_ps() == pytest.approx(638_000, rel=0.01)
    dma.call(FOR_CPU, HEADROOM, 64, FROM_DEVICE)
    assert dma.take_ps() == pytest.approx(168_000, rel=0.03)
    assert dma.take_ps() == 0


@pytest.mark.parametrize("params", [{"coherent": True}, {}], ids=["coherent", "skipped"])
def test_calls_that_maintain_nothing(params: dict[str, bool]) -> None:
    dma = Dma(call_ps=7, sync_ps=1000, clean_ps=1000, invalidate_ps=1000, **params)
    for call in (MAP, FOR_DEVICE, FOR_CPU, UNMAP):
        dma.call(call, 0, 4096, FROM_DEVICE, skip_sync=not params)
    assert maintained(dma) == (0, 0) and dma.take_ps() == 4 * 7


@pytest.mark.parametrize("iommu, flushes", [(0, 0), (1, 10), (2, 3)])
def test_iommu_translates_maps_and_unmaps_only(iommu: int, flushes: int) -> None:
    prices = {"iommu_map_ps": 1, "iommu_unmap_ps": 10, "iommu_page_ps": 100, "iommu_flush_ps": 10_000}
    dma = Dma(coherent=True, iommu=iommu, lazy_calls=3, **prices)
    for _ in range(10):
        for call in (MAP, FOR_DEVICE, FOR_CPU, UNMAP):
            dma.call(call, 4000, 1500, FROM_DEVICE)  # 4000..5500 lies on two pages
    pages = 20 if iommu else 0
    assert dma.stats["iommu_pages"] == [pages, 0, 0, pages]
    assert dma.stats["iommu_flushes"] == flushes
    assert dma.take_ps() == (10 * (1 + 10) + 40 * 100 + flushes * 10_000 if iommu else 0)
