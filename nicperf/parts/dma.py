"""What the kernel's streaming DMA API costs the processor."""

from __future__ import annotations

from dataclasses import dataclass

from nicperf.parameter import choice, parameter, switch

CALLS = ("map", "sync_for_device", "sync_for_cpu", "unmap")
IOMMU = ("off", "strict", "lazy")


@dataclass(frozen=True)
class Dma:
    """Streaming mappings between one device and the processor.

    Notes
    -----
    On a device that does not snoop the caches, `map` and `sync_for_device` clean the lines of the buffer;
    `unmap` and `sync_for_cpu` invalidate them, unless the device only read. A mapping may skip that
    (``DMA_ATTR_SKIP_CPU_SYNC``, as page_pool does) and leave it to explicit syncs. Such a call costs
    `sync_cycles` and a price per line; a call with nothing to maintain costs `call_cycles`.

    With an IOMMU each map and unmap also writes page tables. ``strict`` flushes the IOTLB at every unmap,
    ``lazy`` once for `iommu_lazy_calls` of them.

    Not modelled: bounce buffers, coherent allocations, the time after which a lazy flush comes anyway, the
    look-up of the address that a sync behind an IOMMU needs, lines that stay dirty or cached after all, and
    what cold data costs whoever reads it next.

    Source
    ------
    Linux v6.0, arch/arm64/mm/dma-mapping.c and kernel/dma/direct.h: which call maintains which lines. Since
    v5.19 (commit c50f11c6196f) `sync_for_device` cleans whatever the direction. Line of 64 bytes: Cortex-A35
    manual (100236). The prices: on an Espressobin (Cortex-A53, 1.0 GHz, mvneta; xdp-project,
    areas/arm64/board_espressobin08) cleaning 3520 bytes takes 638 ns and invalidating 64 bytes 168 ns, which
    two calls resolve into 8.8 cycles per line and 155 per call, or 11.6 per line without a fixed part. The
    defaults are a first guess for a Cortex-A35, in cycles; no figure for that core is published, nor for the
    IOMMU of any board here: those cycles are guesses.
    """

    coherent: bool = switch(False, "The device snoops the caches: no line needs cleaning or invalidating.")
    invalidates_for_device: bool = switch(
        False, "Buffers that the device fills are invalidated, not cleaned, for the device (before v5.19)."
    )
    line_bytes: int = choice(64, (32, 64, 128), "Cache line.", unit="bytes")
    call_cycles: float = parameter(
        15.0, "cycles", 0.0, 5000.0, "A call that maintains no line, without the IOMMU."
    )
    sync_cycles: float = parameter(
        150.0, "cycles", 0.0, 10000.0, "A call that maintains lines, besides the lines."
    )
    clean_cycles: float = parameter(10.0, "cycles", 0.0, 500.0, "Clean one line to the point of coherency.")
    invalidate_cycles: float = parameter(10.0, "cycles", 0.0, 500.0, "Invalidate one line.")
    iommu: str = choice("off", IOMMU, "Translation of the device's addresses, and when its TLB is flushed.")
    iommu_map_cycles: float = parameter(
        400.0, "cycles", 0.0, 50000.0, "Address and page tables of one map, besides its pages."
    )
    iommu_unmap_cycles: float = parameter(
        500.0, "cycles", 0.0, 50000.0, "The same of one unmap, without the flush."
    )
    iommu_page_cycles: float = parameter(50.0, "cycles", 0.0, 10000.0, "One page of a map or an unmap.")
    iommu_flush_cycles: float = parameter(1500.0, "cycles", 0.0, 100000.0, "One flush of the IOTLB.")
    iommu_lazy_calls: int = parameter(256, "calls", 1, 65536, "Unmaps that share one lazy flush.")
