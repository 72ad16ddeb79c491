"""Page frags of a sending process: a block of 32 KiB filled from its start, as sk_page_frag does.

A block that nobody else holds is filled again from its start at once. Otherwise the copy goes on behind the last one, and a
full block is left to those who hold its chunks. `_fragments.pxd` is the receive side's: it cuts from the end, in one piece.
"""
from libc.stdint cimport int32_t, int64_t
from nicperf.parts._pages cimport PAGE_FRAGMENT, PAGE_REWIND, pages_alloc, pages_get, pages_put, pages_step, pages_t

cdef enum:
    FRAG_ORDER = 3
    FRAG_BLOCK_BYTES = 32768

cdef struct frag_stats_t:
    int64_t chunks
    int64_t blocks                      # allocated
    int64_t rewinds                     # blocks started over
    int64_t failed

cdef struct frag_t:                     # one for each process; many may share `pages`
    pages_t* pages                      # of blocks only: an address is the block's index times its size, and an offset
    int32_t block                       # -1 = none
    int32_t offset_bytes
    frag_stats_t s


cdef inline void frag_init(frag_t* f, pages_t* pages) noexcept nogil:
    f.pages = pages
    f.block = -1
    f.offset_bytes = 0
    f.s.chunks = f.s.blocks = f.s.rewinds = f.s.failed = 0


cdef inline int64_t frag_alloc(frag_t* f, int32_t n_bytes, int32_t* chunk_bytes) noexcept nogil:
    """Address for a chunk of up to `n_bytes`, as far as the block goes; -1 without memory. `frag_free` gives it back."""
    if f.block >= 0:
        if f.pages.page[f.block].refcount == 1:
            f.offset_bytes = 0
            f.s.rewinds += 1
            pages_step(f.pages, PAGE_REWIND, 1)
        elif f.offset_bytes == FRAG_BLOCK_BYTES:
            pages_put(f.pages, f.block)
            f.block = -1
    if f.block < 0:
        f.block = pages_alloc(f.pages, FRAG_ORDER, 0)
        f.offset_bytes = 0
        if f.block < 0:
            f.s.failed += 1
            chunk_bytes[0] = 0
            return -1
        f.s.blocks += 1
    cdef int64_t address = <int64_t>f.block * FRAG_BLOCK_BYTES + f.offset_bytes
    chunk_bytes[0] = min(n_bytes, FRAG_BLOCK_BYTES - f.offset_bytes)
    f.offset_bytes += chunk_bytes[0]
    pages_get(f.pages, f.block)
    f.s.chunks += 1
    pages_step(f.pages, PAGE_FRAGMENT, 1)
    return address


cdef inline void frag_free(pages_t* pages, int64_t address) noexcept nogil:
    """Give up the reference of one chunk."""
    pages_put(pages, <int32_t>(address // FRAG_BLOCK_BYTES))


cdef inline void frag_drain(frag_t* f) noexcept nogil:
    """Give the block up, at the end of its use."""
    if f.block >= 0:
        pages_put(f.pages, f.block)
        f.block = -1
