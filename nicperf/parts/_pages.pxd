"""Pages: reference counts, and the allocator with its per-CPU list in front of the buddy lists.

A page stands for its memory; who holds its index holds a reference. Every operation books the steps that it took, here and in
the parts that build on pages; `pages_take_ps` hands over what they cost.
"""
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc

cdef enum:                              # steps with a cost each, in the order of the fields of PageCosts in pages.py
    PAGE_ALLOC, PAGE_BULK, PAGE_HOT, PAGE_COLD, PAGE_BUDDY, PAGE_HIGH_ORDER, PAGE_FREE, PAGE_DRAIN
    PAGE_FRAGMENT, PAGE_REWIND
    PAGE_POOL_FAST, PAGE_POOL_CONSUME, PAGE_POOL_HOLD, PAGE_POOL_CACHED, PAGE_POOL_RING, PAGE_POOL_RELEASE
    PAGE_HEAD_ALLOC, PAGE_HEAD_FREE, PAGE_HEAD_CACHED, PAGE_HEAD_BULK_ALLOC, PAGE_HEAD_BULK_FREE
    PAGE_STEPS

cdef struct page_t:
    int32_t refcount
    int32_t order                       # 2^order pages of 4 KiB in one piece
    int32_t node                        # NUMA node of its memory
    int32_t pool                        # the page_pool it belongs to; 0 = none
    bint mapped                         # for DMA, by that pool

cdef struct page_costs_t:
    int64_t ps[PAGE_STEPS]

cdef struct pages_params_t:
    int32_t limit_pages                 # memory there is, in pages of 4 KiB
    int32_t batch_pages                 # moved at once between the buddy lists and the per-CPU list
    int32_t high_pages                  # the per-CPU list gives a batch back when it is this long
    page_costs_t costs

cdef struct pages_stats_t:
    int64_t steps[PAGE_STEPS]
    int64_t allocated                   # page by page, of any order
    int64_t freed
    int64_t failed                      # allocations refused for want of memory

cdef struct pages_t:
    pages_params_t p
    pages_stats_t s
    int64_t due_ps                      # cost of the steps since `pages_take_ps`
    page_t* page
    int32_t* free                       # indices without memory, last in first out
    int32_t n_free
    int32_t n_fresh                     # indices used at least once; the memory of the others is never touched
    int32_t used_pages                  # memory outside the buddy lists
    int32_t* local                      # the per-CPU list, order 0; the first `n_cold` came from the buddy lists
    int32_t n_local
    int32_t n_cold


cdef inline int pages_init(pages_t* a, const pages_params_t* p) noexcept nogil:
    """-1 without memory; `pages_destroy` in any case."""
    cdef int32_t i
    a.p = p[0]
    a.p.high_pages = max(p.high_pages, p.batch_pages)
    a.due_ps = a.s.allocated = a.s.freed = a.s.failed = 0
    for i in range(PAGE_STEPS):
        a.s.steps[i] = 0
    a.n_free = a.n_fresh = a.used_pages = a.n_local = a.n_cold = 0
    a.page = <page_t*>malloc(p.limit_pages * sizeof(page_t))
    a.free = <int32_t*>malloc(p.limit_pages * sizeof(int32_t))
    a.local = <int32_t*>malloc(a.p.high_pages * sizeof(int32_t))
    return 0 if a.page != NULL and a.free != NULL and a.local != NULL else -1


cdef inline void pages_destroy(pages_t* a) noexcept nogil:
    free(a.page)
    free(a.free)
    free(a.local)


cdef inline void pages_step(pages_t* a, int32_t step, int32_t times) noexcept nogil:
    a.s.steps[step] += times
    a.due_ps += times * a.p.costs.ps[step]


cdef inline int64_t pages_take_ps(pages_t* a) noexcept nogil:
    """Cost of all steps since the last time."""
    cdef int64_t due_ps = a.due_ps
    a.due_ps = 0
    return due_ps


cdef inline int32_t pages_from_buddy(pages_t* a, int32_t order) noexcept nogil:
    """An index with memory behind it, or -1."""
    if a.used_pages > a.p.limit_pages - (1 << order):
        return -1
    a.used_pages += 1 << order
    if a.n_free:
        a.n_free -= 1
        return a.free[a.n_free]
    a.page[a.n_fresh].refcount = a.page[a.n_fresh].pool = 0
    a.page[a.n_fresh].order = a.page[a.n_fresh].node = a.page[a.n_fresh].mapped = 0
    a.n_fresh += 1                      # at most `limit_pages`: every index in use has a page or more
    return a.n_fresh - 1


cdef inline void pages_to_buddy(pages_t* a, int32_t i, int32_t order) noexcept nogil:
    a.used_pages -= 1 << order
    a.free[a.n_free] = i
    a.n_free += 1


cdef inline int32_t pages_start(pages_t* a, int32_t i, int32_t order, int32_t node) noexcept nogil:
    cdef page_t* page = &a.page[i]
    page.refcount = 1
    page.order = order
    page.node = node
    page.pool = 0
    page.mapped = 0
    a.s.allocated += 1
    return i


cdef inline int32_t pages_from_local(pages_t* a, int32_t node) noexcept nogil:
    """A page of order 0 from the per-CPU list, which takes a batch from the buddy lists when it is empty."""
    cdef int32_t i
    if a.n_local == 0:
        while a.n_local < a.p.batch_pages:
            i = pages_from_buddy(a, 0)
            if i < 0:
                break
            a.local[a.n_local] = i
            a.n_local += 1
        a.n_cold = a.n_local
        if a.n_local == 0:
            return -1
        pages_step(a, PAGE_BUDDY, 1)
    a.n_local -= 1
    if a.n_local < a.n_cold:
        a.n_cold = a.n_local
        pages_step(a, PAGE_COLD, 1)
    else:
        pages_step(a, PAGE_HOT, 1)
    return pages_start(a, a.local[a.n_local], 0, node)


cdef inline int32_t pages_alloc(pages_t* a, int32_t order, int32_t node) noexcept nogil:
    """One page with one reference, or -1."""
    cdef int32_t i
    if order:
        i = pages_from_buddy(a, order)
        if i >= 0:
            pages_step(a, PAGE_HIGH_ORDER, 1)
            return pages_start(a, i, order, node)
    else:
        i = pages_from_local(a, node)
        if i >= 0:
            pages_step(a, PAGE_ALLOC, 1)
            return i
    a.s.failed += 1
    return -1


cdef inline int32_t pages_alloc_bulk(pages_t* a, int32_t* out, int32_t n, int32_t node) noexcept nogil:
    """Up to `n` pages of order 0 in one call; how many there were."""
    cdef int32_t got = 0, i
    while got < n:
        i = pages_from_local(a, node)
        if i < 0:
            break
        out[got] = i
        got += 1
    if got:
        pages_step(a, PAGE_BULK, 1)
    else:
        a.s.failed += 1
    return got


cdef inline void pages_get(pages_t* a, int32_t i) noexcept nogil:
    a.page[i].refcount += 1


cdef inline bint pages_put(pages_t* a, int32_t i) noexcept nogil:
    """Give up one reference; whether it was the last, which frees the page."""
    cdef page_t* page = &a.page[i]
    page.refcount -= 1
    if page.refcount:
        return 0
    a.s.freed += 1
    pages_step(a, PAGE_FREE, 1)
    if page.order:
        pages_to_buddy(a, i, page.order)
        return 1
    a.local[a.n_local] = i
    a.n_local += 1
    if a.n_local >= a.p.high_pages:
        pages_step(a, PAGE_DRAIN, 1)
        while a.n_local > a.p.high_pages - a.p.batch_pages:
            a.n_local -= 1
            pages_to_buddy(a, a.local[a.n_local], 0)
        a.n_cold = min(a.n_cold, a.n_local)
    return 1
