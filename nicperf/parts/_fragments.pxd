"""Page fragments: buffers cut from a block from its end downwards, as netdev_alloc_frag does.

The block carries a large reference count from the start, so that handing out a fragment touches no shared counter. When the
block is used up, either all its fragments are back and it starts over, or it is left to those who still hold some.
"""
from libc.stdint cimport int32_t, int64_t
from nicperf.parts._pages cimport PAGE_FRAGMENT, PAGE_REWIND, pages_alloc, pages_put, pages_step, pages_t

cdef enum:
    FRAGMENT_PAGE_BYTES = 4096
    FRAGMENT_BIAS = 32768 + 1           # one more than the bytes of the largest block

cdef struct fragments_stats_t:
    int64_t taken
    int64_t blocks                      # allocated
    int64_t fallbacks                   # of these, single pages for want of a block in one piece
    int64_t rewinds                     # blocks started over
    int64_t failed

cdef struct fragments_t:
    pages_t* pages
    int32_t order                       # of a block; the kernel's is 32 KiB, 3 with pages of 4 KiB
    int32_t node
    int32_t block                       # index of its page, -1 = none
    int32_t block_bytes
    int32_t offset_bytes                # of the fragment handed out last
    int32_t bias                        # references of the block that no fragment holds
    fragments_stats_t s


cdef inline void fragments_init(fragments_t* f, pages_t* pages, int32_t order, int32_t node) noexcept nogil:
    f.pages = pages
    f.order = order
    f.node = node
    f.block = -1
    f.block_bytes = f.offset_bytes = f.bias = 0
    f.s.taken = f.s.blocks = f.s.fallbacks = f.s.rewinds = f.s.failed = 0


cdef inline void fragments_new_block(fragments_t* f) noexcept nogil:
    cdef int32_t order = f.order
    f.block = pages_alloc(f.pages, order, f.node)
    if f.block < 0 and order:
        order = 0
        f.block = pages_alloc(f.pages, 0, f.node)
        f.s.fallbacks += f.block >= 0
    if f.block >= 0:
        f.s.blocks += 1
        f.block_bytes = f.offset_bytes = FRAGMENT_PAGE_BYTES << order
        f.pages.page[f.block].refcount = f.bias = FRAGMENT_BIAS


cdef inline void fragments_finish_block(fragments_t* f) noexcept nogil:
    """Give up the references that no fragment holds; if none is left, start over."""
    f.pages.page[f.block].refcount -= f.bias
    if f.pages.page[f.block].refcount:
        f.block = -1                    # whoever frees the last fragment frees the block
    else:
        f.pages.page[f.block].refcount = f.bias = FRAGMENT_BIAS
        f.offset_bytes = f.block_bytes
        f.s.rewinds += 1
        pages_step(f.pages, PAGE_REWIND, 1)


cdef inline int32_t fragments_take(fragments_t* f, int32_t n_bytes) noexcept nogil:
    """Page that holds a fragment of `n_bytes` at `offset_bytes`, or -1. `pages_put` gives it back."""
    if f.block >= 0 and f.offset_bytes < n_bytes:
        fragments_finish_block(f)
    if f.block < 0:
        fragments_new_block(f)
    if f.block < 0 or f.offset_bytes < n_bytes:
        f.s.failed += 1
        return -1
    f.bias -= 1
    f.offset_bytes -= n_bytes
    f.s.taken += 1
    pages_step(f.pages, PAGE_FRAGMENT, 1)
    return f.block


cdef inline void fragments_drain(fragments_t* f) noexcept nogil:
    """Give the block up, at the end of its use."""
    if f.block >= 0:
        f.pages.page[f.block].refcount -= f.bias - 1
        pages_put(f.pages, f.block)
        f.block = -1
