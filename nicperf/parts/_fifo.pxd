"""A bounded first-in first-out queue of small integers, such as frame indices."""
from libc.stdint cimport int32_t
from libc.stdlib cimport malloc

cdef struct fifo_t:
    int32_t* item
    int32_t mask
    int32_t head
    int32_t count


cdef inline int fifo_alloc(fifo_t* f, int32_t at_least) noexcept nogil:
    """Make room for `at_least` items; -1 without memory."""
    cdef int32_t size = 1
    while size < at_least:
        size *= 2
    f.item = <int32_t*>malloc(size * sizeof(int32_t))    # room for the worst case, of which a run touches little: not cleared
    f.mask = size - 1
    f.head = 0
    f.count = 0
    return 0 if f.item != NULL else -1


cdef inline void fifo_put(fifo_t* f, int32_t value) noexcept nogil:
    f.item[(f.head + f.count) & f.mask] = value
    f.count += 1


cdef inline int32_t fifo_take(fifo_t* f) noexcept nogil:
    cdef int32_t value = f.item[f.head]
    f.head = (f.head + 1) & f.mask
    f.count -= 1
    return value


cdef inline int32_t fifo_first(const fifo_t* f) noexcept nogil:
    return f.item[f.head]
