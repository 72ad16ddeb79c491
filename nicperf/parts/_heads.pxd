"""Heads of sk_buffs: the slab, and the cache per CPU that takes from it and gives to it in bulk. A head is only counted."""
from libc.stdint cimport int32_t, int64_t
from nicperf.parts._pages cimport (
    PAGE_HEAD_ALLOC, PAGE_HEAD_BULK_ALLOC, PAGE_HEAD_BULK_FREE, PAGE_HEAD_CACHED, PAGE_HEAD_FREE, pages_step, pages_t,
)

cdef struct heads_t:
    pages_t* pages                      # whose account pays
    int32_t cache_heads                 # room of the cache; half of it goes back to the slab when it is full
    int32_t bulk_heads                  # taken from the slab when it is empty
    int32_t n_cache
    int64_t outside                     # heads of live sk_buffs
    int64_t slab                        # objects that the slab has handed out


cdef inline void heads_init(heads_t* h, pages_t* pages, int32_t cache_heads, int32_t bulk_heads) noexcept nogil:
    h.pages = pages
    h.cache_heads = cache_heads
    h.bulk_heads = bulk_heads
    h.n_cache = 0
    h.outside = h.slab = 0


cdef inline void heads_take(heads_t* h, bint through_cache) noexcept nogil:
    """A head; through the cache for napi_build_skb and napi_alloc_skb, from the slab for build_skb and netdev_alloc_skb."""
    h.outside += 1
    if not through_cache:
        h.slab += 1
        pages_step(h.pages, PAGE_HEAD_ALLOC, 1)
        return
    if h.n_cache == 0:
        h.n_cache = h.bulk_heads
        h.slab += h.bulk_heads
        pages_step(h.pages, PAGE_HEAD_BULK_ALLOC, 1)
    h.n_cache -= 1
    pages_step(h.pages, PAGE_HEAD_CACHED, 1)


cdef inline void heads_give(heads_t* h, bint through_cache) noexcept nogil:
    """A head comes back; through the cache where NAPI frees it, to the slab from a process."""
    cdef int32_t keep = h.cache_heads // 2
    h.outside -= 1
    if not through_cache:
        h.slab -= 1
        pages_step(h.pages, PAGE_HEAD_FREE, 1)
        return
    h.n_cache += 1
    pages_step(h.pages, PAGE_HEAD_CACHED, 1)
    if h.n_cache >= h.cache_heads:
        h.slab -= h.n_cache - keep
        h.n_cache = keep
        pages_step(h.pages, PAGE_HEAD_BULK_FREE, 1)
