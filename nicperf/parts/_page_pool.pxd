"""page_pool: pages that stay mapped for DMA and come back to the driver that received into them.

A page of the pool is in the cache, in the ring, or with a holder. Allocation empties the cache, refills it from the ring, and
goes to the page allocator in bulk when both are empty. The counters are the kernel's.
"""
from libc.stdint cimport int32_t, int64_t, uint32_t
from libc.stdlib cimport free, malloc
from nicperf.parts._dma cimport DMA_MAP, DMA_SYNC_FOR_DEVICE, DMA_UNMAP, dma_call, dma_t
from nicperf.parts._fifo cimport fifo_alloc, fifo_put, fifo_t, fifo_take
from nicperf.parts._pages cimport (
    PAGE_POOL_CACHED, PAGE_POOL_CONSUME, PAGE_POOL_FAST, PAGE_POOL_HOLD, PAGE_POOL_RELEASE, PAGE_POOL_RING, page_t, pages_alloc,
    pages_alloc_bulk, pages_put, pages_step, pages_t,
)

cdef enum:                              # where `page_pool_put` left the page
    PAGE_POOL_TO_CACHE, PAGE_POOL_TO_RING, PAGE_POOL_RING_FULL, PAGE_POOL_RELEASED

cdef enum:
    PAGE_POOL_ALL = -1                  # sync all that the device may have written
    PAGE_POOL_PAGE_BYTES = 4096

cdef struct page_pool_params_t:
    int32_t id                          # > 0: what its pages carry
    int32_t cache_pages                 # room for pages that are put back directly
    int32_t refill_pages                # fetched from the ring for an empty cache
    int32_t bulk_pages                  # fetched from the allocator when the ring is empty too
    int32_t ring_pages
    int32_t order
    int32_t node                        # pages of other nodes are not taken from the ring
    bint maps                           # PP_FLAG_DMA_MAP
    bint syncs                          # PP_FLAG_DMA_SYNC_DEV
    int32_t direction
    int32_t offset_bytes                # where in the page the device writes
    int32_t max_len_bytes               # and how much at most

cdef struct page_pool_stats_t:          # struct page_pool_alloc_stats and page_pool_recycle_stats
    int64_t alloc_fast, alloc_slow, alloc_slow_high_order, alloc_empty, alloc_refill, alloc_waive
    int64_t recycle_cached, recycle_cache_full, recycle_ring, recycle_ring_full, recycle_released_refcnt
    int64_t alloc_failed                # not the kernel's: neither counter moves there

cdef struct page_pool_t:
    page_pool_params_t p
    page_pool_stats_t s
    pages_t* pages
    dma_t* dma
    int32_t* cache
    int32_t n_cache
    fifo_t ring
    uint32_t hold_count                 # pages that entered and that left, both wrapping
    uint32_t release_count


cdef inline int page_pool_init(page_pool_t* o, const page_pool_params_t* p, pages_t* pages, dma_t* dma) noexcept nogil:
    """-1 without memory; `page_pool_destroy` in any case."""
    o.p = p[0]
    o.pages = pages
    o.dma = dma
    o.n_cache = 0
    o.hold_count = o.release_count = 0
    o.s.alloc_fast = o.s.alloc_slow = o.s.alloc_slow_high_order = 0
    o.s.alloc_empty = o.s.alloc_refill = o.s.alloc_waive = 0
    o.s.recycle_cached = o.s.recycle_cache_full = o.s.recycle_ring = o.s.recycle_ring_full = 0
    o.s.recycle_released_refcnt = o.s.alloc_failed = 0
    o.cache = <int32_t*>malloc(max(p.cache_pages, p.refill_pages, p.bulk_pages, 1) * sizeof(int32_t))
    return -1 if fifo_alloc(&o.ring, p.ring_pages) < 0 or o.cache == NULL else 0


cdef inline void page_pool_destroy(page_pool_t* o) noexcept nogil:
    """Give back the memory of the bookkeeping; `page_pool_drain` gives back the pages."""
    free(o.cache)
    free(o.ring.item)


cdef inline uint32_t page_pool_inflight(const page_pool_t* o) noexcept nogil:
    """Pages that belong to the pool, those in its cache and ring included."""
    return o.hold_count - o.release_count


cdef inline void page_pool_hold(page_pool_t* o, int32_t i) noexcept nogil:
    cdef page_t* page = &o.pages.page[i]
    page.pool = o.p.id
    o.hold_count += 1
    pages_step(o.pages, PAGE_POOL_HOLD, 1)
    if o.p.maps:                        # mapped whole and once: the syncs are separate
        page.mapped = 1
        dma_call(o.dma, DMA_MAP, 0, PAGE_POOL_PAGE_BYTES << o.p.order, o.p.direction, True)
        if o.p.syncs:
            dma_call(o.dma, DMA_SYNC_FOR_DEVICE, o.p.offset_bytes, o.p.max_len_bytes, o.p.direction, False)


cdef inline void page_pool_release(page_pool_t* o, int32_t i) noexcept nogil:
    """The page leaves the pool (page_pool_release_page): unmapped, and an ordinary page from now on."""
    cdef page_t* page = &o.pages.page[i]
    if page.mapped:
        page.mapped = 0
        dma_call(o.dma, DMA_UNMAP, 0, PAGE_POOL_PAGE_BYTES << o.p.order, o.p.direction, True)
    page.pool = 0
    o.release_count += 1
    pages_step(o.pages, PAGE_POOL_RELEASE, 1)


cdef inline void page_pool_return(page_pool_t* o, int32_t i) noexcept nogil:
    """The page leaves the pool and goes back to the allocator."""
    page_pool_release(o, i)
    pages_put(o.pages, i)


cdef inline int32_t page_pool_refill(page_pool_t* o) noexcept nogil:
    """Pages that the empty cache got from the ring."""
    cdef int32_t i
    if o.ring.count == 0:
        o.s.alloc_empty += 1
        return 0
    while o.ring.count and o.n_cache < o.p.refill_pages:
        i = fifo_take(&o.ring)
        pages_step(o.pages, PAGE_POOL_CONSUME, 1)
        if o.pages.page[i].node != o.p.node:
            page_pool_return(o, i)      # one mismatch, and the allocator of the right node is asked
            o.s.alloc_waive += 1
            break
        o.cache[o.n_cache] = i
        o.n_cache += 1
    return o.n_cache


cdef inline int32_t page_pool_fetch(page_pool_t* o) noexcept nogil:
    """Pages that the empty cache got from the allocator: a bulk, or one of a higher order."""
    cdef int32_t i
    if o.p.order:
        o.cache[0] = pages_alloc(o.pages, o.p.order, o.p.node)
        o.n_cache = o.cache[0] >= 0
    else:
        o.n_cache = pages_alloc_bulk(o.pages, o.cache, o.p.bulk_pages, o.p.node)
    for i in range(o.n_cache):
        page_pool_hold(o, o.cache[i])
    return o.n_cache


cdef inline int32_t page_pool_alloc(page_pool_t* o) noexcept nogil:
    """A page of the pool with one reference, or -1. Each counts once: fast, refill, slow, slow_high_order or failed."""
    if o.n_cache:
        o.s.alloc_fast += 1
    elif page_pool_refill(o):
        o.s.alloc_refill += 1
    elif page_pool_fetch(o):
        if o.p.order:
            o.s.alloc_slow_high_order += 1
        else:
            o.s.alloc_slow += 1
    else:
        o.s.alloc_failed += 1
        return -1
    o.n_cache -= 1
    pages_step(o.pages, PAGE_POOL_FAST, 1)
    return o.cache[o.n_cache]


cdef inline int32_t page_pool_put(page_pool_t* o, int32_t i, int32_t sync_bytes, bint allow_direct) noexcept nogil:
    """Give up a reference to a page of the pool; where it went.

    `sync_bytes` is what the next frame must find clean (or PAGE_POOL_ALL), `allow_direct` whether the caller may touch the
    cache: the driver in its poll, and since v6.4 also an sk_buff freed there.
    """
    if o.pages.page[i].refcount != 1:
        o.s.recycle_released_refcnt += 1
        page_pool_return(o, i)          # somebody else still holds it and will free it
        return PAGE_POOL_RELEASED
    if o.p.syncs:
        if sync_bytes == PAGE_POOL_ALL or sync_bytes > o.p.max_len_bytes:
            sync_bytes = o.p.max_len_bytes
        dma_call(o.dma, DMA_SYNC_FOR_DEVICE, o.p.offset_bytes, sync_bytes, o.p.direction, False)
    if allow_direct:
        if o.n_cache < o.p.cache_pages:
            o.cache[o.n_cache] = i
            o.n_cache += 1
            o.s.recycle_cached += 1
            pages_step(o.pages, PAGE_POOL_CACHED, 1)
            return PAGE_POOL_TO_CACHE
        o.s.recycle_cache_full += 1
    if o.ring.count < o.p.ring_pages:
        fifo_put(&o.ring, i)
        o.s.recycle_ring += 1
        pages_step(o.pages, PAGE_POOL_RING, 1)
        return PAGE_POOL_TO_RING
    o.s.recycle_ring_full += 1
    page_pool_return(o, i)
    return PAGE_POOL_RING_FULL


cdef inline void page_pool_update_node(page_pool_t* o, int32_t node) noexcept nogil:
    """The poll moved to another node: the cache is emptied at once, the ring while it is refilled from."""
    o.p.node = node
    while o.n_cache:
        o.n_cache -= 1
        page_pool_return(o, o.cache[o.n_cache])


cdef inline uint32_t page_pool_drain(page_pool_t* o) noexcept nogil:
    """Empty cache and ring at the end of the pool's use; pages still in flight. Above 0, drain again a second later."""
    while o.n_cache:
        o.n_cache -= 1
        page_pool_return(o, o.cache[o.n_cache])
    while o.ring.count:
        page_pool_return(o, fifo_take(&o.ring))
    return page_pool_inflight(o)
