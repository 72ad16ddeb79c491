"""Streaming DMA mappings: cache lines cleaned and invalidated, and IOMMU work, for each call of the kernel's API."""
from libc.stdint cimport int32_t, int64_t

cdef enum:                              # directions, numbered as the kernel numbers them
    DMA_BIDIRECTIONAL, DMA_TO_DEVICE, DMA_FROM_DEVICE

cdef enum:                              # calls, those that hand the buffer to the device first; names in dma.py
    DMA_MAP, DMA_SYNC_FOR_DEVICE, DMA_SYNC_FOR_CPU, DMA_UNMAP, DMA_CALLS

cdef enum:
    DMA_DIRECT, DMA_IOMMU_STRICT, DMA_IOMMU_LAZY        # choices of `iommu` in dma.py in the same order
    DMA_PAGE_BYTES = 4096               # the IOMMU maps pages of this size

cdef struct dma_params_t:
    bint coherent                       # the device snoops the caches: nothing to maintain
    bint invalidates_for_device         # before v5.19 a buffer that the device fills was invalidated, not cleaned
    int32_t line_bytes
    int32_t iommu
    int32_t lazy_calls                  # unmaps that share one IOTLB flush
    int64_t call_ps                     # a call that maintains no line
    int64_t sync_ps                     # a call that does, besides its lines
    int64_t clean_ps                    # per line
    int64_t invalidate_ps
    int64_t iommu_map_ps                # per call
    int64_t iommu_unmap_ps
    int64_t iommu_page_ps               # per page of a map or unmap
    int64_t iommu_flush_ps

cdef struct dma_stats_t:
    int64_t calls[DMA_CALLS]
    int64_t cleaned_lines[DMA_CALLS]
    int64_t invalidated_lines[DMA_CALLS]
    int64_t iommu_pages[DMA_CALLS]
    int64_t iommu_flushes

cdef struct dma_t:
    dma_params_t p
    dma_stats_t s
    int64_t due_ps                      # cost of what was done since `dma_take_ps`
    int64_t map_due_ps                  # that of maps and unmaps among it
    int32_t unflushed                   # unmaps whose flush is still to come


cdef inline void dma_init(dma_t* d, const dma_params_t* p) noexcept nogil:
    cdef int32_t i
    d.p = p[0]
    d.due_ps = d.map_due_ps = 0
    d.unflushed = 0
    d.s.iommu_flushes = 0
    for i in range(DMA_CALLS):
        d.s.calls[i] = d.s.cleaned_lines[i] = d.s.invalidated_lines[i] = d.s.iommu_pages[i] = 0


cdef inline int32_t dma_units(int32_t offset_bytes, int32_t n_bytes, int32_t unit_bytes) noexcept nogil:
    """Lines or pages that `n_bytes` touch."""
    return (offset_bytes % unit_bytes + n_bytes + unit_bytes - 1) // unit_bytes


cdef inline void dma_translate(dma_t* d, int32_t call, int32_t pages) noexcept nogil:
    d.s.iommu_pages[call] += pages
    d.due_ps += (d.p.iommu_map_ps if call == DMA_MAP else d.p.iommu_unmap_ps) + pages * d.p.iommu_page_ps
    if call == DMA_UNMAP:
        d.unflushed += 1
        if d.p.iommu == DMA_IOMMU_STRICT or d.unflushed >= d.p.lazy_calls:
            d.unflushed = 0
            d.s.iommu_flushes += 1
            d.due_ps += d.p.iommu_flush_ps


cdef inline void dma_call(dma_t* d, int32_t call, int32_t offset_bytes, int32_t n_bytes, int32_t direction,
                          bint skip_sync) noexcept nogil:
    """One call for `n_bytes` that start `offset_bytes` into a page; `skip_sync` is DMA_ATTR_SKIP_CPU_SYNC."""
    cdef int32_t lines
    cdef int64_t before_ps = d.due_ps
    cdef bint for_device = call <= DMA_SYNC_FOR_DEVICE
    d.s.calls[call] += 1
    if d.p.coherent or skip_sync or (not for_device and direction == DMA_TO_DEVICE):
        d.due_ps += d.p.call_ps
    else:
        lines = dma_units(offset_bytes, n_bytes, d.p.line_bytes)
        if not for_device or (d.p.invalidates_for_device and direction == DMA_FROM_DEVICE):
            d.s.invalidated_lines[call] += lines
            d.due_ps += d.p.sync_ps + lines * d.p.invalidate_ps
        else:
            d.s.cleaned_lines[call] += lines
            d.due_ps += d.p.sync_ps + lines * d.p.clean_ps
    if call == DMA_MAP or call == DMA_UNMAP:
        if d.p.iommu != DMA_DIRECT:
            dma_translate(d, call, dma_units(offset_bytes, n_bytes, DMA_PAGE_BYTES))
        d.map_due_ps += d.due_ps - before_ps


cdef inline int64_t dma_take_ps(dma_t* d) noexcept nogil:
    """Cost of all calls since the last time."""
    cdef int64_t due_ps = d.due_ps
    d.due_ps = d.map_due_ps = 0
    return due_ps


cdef inline int64_t dma_take_map_ps(dma_t* d) noexcept nogil:
    """Of these, the maps and unmaps alone."""
    cdef int64_t due_ps = d.map_due_ps
    d.due_ps -= due_ps
    d.map_due_ps = 0
    return due_ps
