"""Pages, page_pool, fragments, heads, DMA calls and copies for tests: each structure as Python sees it, nothing added."""
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset
from nicperf.parts._copies cimport (
    copies_application_ps, copies_configure, copies_destroy, copies_dma_read_ps, copies_dma_write, copies_init, copies_level,
    copies_params_t, copies_read_ps, copies_state_t, copies_stats_t, copies_write_ps,
)
from nicperf.parts._dma cimport (
    DMA_CALLS, DMA_IOMMU_LAZY, dma_call, dma_init, dma_params_t, dma_t, dma_take_ps,
)
from nicperf.parts._fragments cimport fragments_drain, fragments_init, fragments_t, fragments_take
from nicperf.parts._frags cimport frag_alloc, frag_drain, frag_free, frag_init, frag_t
from nicperf.parts._heads cimport heads_give, heads_init, heads_t, heads_take
from nicperf.parts._page_pool cimport (
    page_pool_alloc, page_pool_destroy, page_pool_drain, page_pool_inflight, page_pool_init, page_pool_params_t, page_pool_put,
    page_pool_release, page_pool_t, page_pool_update_node,
)
from nicperf.parts._pages cimport (
    PAGE_STEPS, pages_alloc, pages_alloc_bulk, pages_destroy, pages_get, pages_init, pages_params_t, pages_put, pages_t,
    pages_take_ps,
)

N_STEPS = PAGE_STEPS
N_CALLS = DMA_CALLS
LAST_IOMMU = DMA_IOMMU_LAZY
PUT = ("cache", "ring", "ring_full", "released")


cdef class Dma:
    """`dma_t`. Keywords are the fields of `dma_params_t`."""

    cdef dma_t d

    def __init__(self, **params):
        cdef dma_params_t p = dict(
            coherent=False, invalidates_for_device=False, line_bytes=64, iommu=0, lazy_calls=256, call_ps=0, sync_ps=0,
            clean_ps=0, invalidate_ps=0, iommu_map_ps=0, iommu_unmap_ps=0, iommu_page_ps=0, iommu_flush_ps=0
        ) | params
        dma_init(&self.d, &p)

    def call(self, int32_t call, int32_t offset_bytes, int32_t n_bytes, int32_t direction, bint skip_sync=False):
        dma_call(&self.d, call, offset_bytes, n_bytes, direction, skip_sync)

    def take_ps(self):
        return dma_take_ps(&self.d)

    @property
    def stats(self):
        return self.d.s


cdef class Pages:
    """`pages_t`, and the parts that share its account."""

    cdef pages_t a

    def __cinit__(self, limit_pages=1000, batch_pages=8, high_pages=32, step_ps=(0,) * PAGE_STEPS):
        cdef pages_params_t p
        p.limit_pages, p.batch_pages, p.high_pages = limit_pages, batch_pages, high_pages
        for i, ps in enumerate(step_ps):
            p.costs.ps[i] = ps
        if pages_init(&self.a, &p) < 0:
            raise MemoryError

    def __dealloc__(self):
        pages_destroy(&self.a)

    def alloc(self, int32_t order=0, int32_t node=0):
        return pages_alloc(&self.a, order, node)

    def alloc_bulk(self, int32_t n, int32_t node=0):
        cdef int32_t[64] out
        return [out[i] for i in range(pages_alloc_bulk(&self.a, out, min(n, 64), node))]

    def get(self, int32_t i):
        pages_get(&self.a, i)

    def put(self, int32_t i):
        return pages_put(&self.a, i)

    def take_ps(self):
        return pages_take_ps(&self.a)

    def page(self, int32_t i):
        return self.a.page[i]

    def corrupt(self, int32_t i, **values):
        """Write into a page's structure what no operation would."""
        self.a.page[i] = self.a.page[i] | values

    @property
    def local(self):
        return [self.a.local[i] for i in range(self.a.n_local)]

    @property
    def unused(self):
        """Indices in the buddy lists that were in use before."""
        return [self.a.free[i] for i in range(self.a.n_free)]

    @property
    def known(self):
        """Indices below this were in use at least once."""
        return self.a.n_fresh

    @property
    def used_pages(self):
        return self.a.used_pages

    @property
    def stats(self):
        return self.a.s


cdef class PagePool:
    """`page_pool_t`. Keywords are the fields of `page_pool_params_t`; `count` is where hold and release counts start."""

    cdef page_pool_t o
    cdef Pages pages
    cdef Dma dma

    def __cinit__(self, Pages pages, Dma dma, count=0, **params):
        cdef page_pool_params_t p = dict(
            id=1, cache_pages=128, refill_pages=64, bulk_pages=64, ring_pages=256, order=0, node=0, maps=True, syncs=True,
            direction=2, offset_bytes=256, max_len_bytes=3520
        ) | params
        self.pages, self.dma = pages, dma
        if page_pool_init(&self.o, &p, &pages.a, &dma.d) < 0:
            raise MemoryError
        self.o.hold_count = self.o.release_count = count

    def __dealloc__(self):
        page_pool_destroy(&self.o)

    def alloc(self):
        return page_pool_alloc(&self.o)

    def put(self, int32_t i, int32_t sync_bytes=-1, bint allow_direct=False):
        return PUT[page_pool_put(&self.o, i, sync_bytes, allow_direct)]

    def release(self, int32_t i):
        page_pool_release(&self.o, i)

    def update_node(self, int32_t node):
        page_pool_update_node(&self.o, node)

    def drain(self):
        return page_pool_drain(&self.o)

    def corrupt_ring(self, int32_t i):
        """Put a page into the ring that is somewhere else."""
        self.o.ring.item[self.o.ring.head] = i

    @property
    def inflight(self):
        return page_pool_inflight(&self.o)

    @property
    def cache(self):
        return [self.o.cache[i] for i in range(self.o.n_cache)]

    @property
    def ring(self):
        return [self.o.ring.item[(self.o.ring.head + i) & self.o.ring.mask] for i in range(self.o.ring.count)]

    @property
    def stats(self):
        return self.o.s


cdef class Fragments:
    """`fragments_t`."""

    cdef fragments_t f
    cdef Pages pages

    def __init__(self, Pages pages, order=3, node=0):
        self.pages = pages
        fragments_init(&self.f, &pages.a, order, node)

    def take(self, int32_t n_bytes):
        """Page and offset, or None."""
        i = fragments_take(&self.f, n_bytes)
        return None if i < 0 else (i, self.f.offset_bytes)

    def drain(self):
        fragments_drain(&self.f)

    @property
    def stats(self):
        return self.f.s


cdef class Heads:
    """`heads_t`."""

    cdef heads_t h
    cdef Pages pages

    def __init__(self, Pages pages, cache_heads=64, bulk_heads=16):
        self.pages = pages
        heads_init(&self.h, &pages.a, cache_heads, bulk_heads)

    def take(self, bint through_cache):
        heads_take(&self.h, through_cache)

    def give(self, bint through_cache):
        heads_give(&self.h, through_cache)

    @property
    def state(self):
        return {"outside": self.h.outside, "slab": self.h.slab, "cached": self.h.n_cache}


cdef class Frags:
    """`frag_t`, one process."""

    cdef frag_t f
    cdef Pages pages

    def __init__(self, Pages pages):
        self.pages = pages
        frag_init(&self.f, &pages.a)

    def alloc(self, int32_t n_bytes):
        """Address and length, or None."""
        cdef int32_t chunk_bytes
        cdef int64_t address = frag_alloc(&self.f, n_bytes, &chunk_bytes)
        return None if address < 0 else (address, chunk_bytes)

    def free(self, int64_t address):
        frag_free(&self.pages.a, address)

    def drain(self):
        frag_drain(&self.f)

    @property
    def stats(self):
        return self.f.s


cdef class Copying:
    """`copies_state_t` with its parameters, from a `Copies`."""

    cdef copies_params_t p
    cdef copies_state_t s
    cdef copies_stats_t st

    def __cinit__(self, spec, double frequency_mhz=1e6, int64_t address_bytes=1 << 20):
        memset(&self.st, 0, sizeof(copies_stats_t))
        copies_configure(&self.p, spec, frequency_mhz)
        if copies_init(&self.s, &self.p, address_bytes) < 0:
            raise MemoryError

    def __dealloc__(self):
        copies_destroy(&self.s)

    def write_ps(self, int64_t address, int32_t n_bytes):
        return copies_write_ps(&self.p, &self.s, &self.st, address, n_bytes)

    def read_ps(self, int64_t address, int32_t n_bytes):
        return copies_read_ps(&self.p, &self.s, &self.st, address, n_bytes)

    def dma_read_ps(self, int64_t address, int32_t n_bytes):
        return copies_dma_read_ps(&self.p, &self.s, &self.st, address, n_bytes)

    def dma_write(self, int64_t address, int32_t n_bytes):
        copies_dma_write(&self.p, &self.s, &self.st, address, n_bytes)

    def application_ps(self, int32_t accesses):
        return copies_application_ps(&self.p, &self.s, &self.st, accesses)

    def level(self, int64_t address):
        return copies_level(&self.p, &self.s, &self.s.line[address // 64])

    def dirty(self, int64_t address):
        return bool(self.s.line[address // 64].dirty)

    @property
    def stats(self):
        """Counters in the order of the structure."""
        cdef int64_t* value = <int64_t*>&self.st
        return [value[i] for i in range(sizeof(copies_stats_t) // sizeof(int64_t))]
