"""Many timers behind one event slot: a binary heap of deadlines. None is taken back; its owner may ignore it when it comes."""
from libc.stdint cimport INT64_MAX, int32_t, int64_t

cdef struct deadline_t:
    int64_t at_ps
    int32_t owner
    int32_t kind

cdef struct timers_t:
    deadline_t* heap
    int32_t room, count


cdef inline bint timers_before(const deadline_t* a, const deadline_t* b) noexcept nogil:
    """Equal times go by owner and kind, so that the order does not depend on who was put first."""
    if a.at_ps != b.at_ps:
        return a.at_ps < b.at_ps
    if a.owner != b.owner:
        return a.owner < b.owner
    return a.kind < b.kind


cdef inline int64_t timers_next_ps(const timers_t* t) noexcept nogil:
    return t.heap[0].at_ps if t.count else INT64_MAX


cdef inline void timers_put(timers_t* t, int64_t at_ps, int32_t owner, int32_t kind) noexcept nogil:
    """The caller sees to it that there is room."""
    cdef int32_t i = t.count, up
    cdef deadline_t d
    d.at_ps, d.owner, d.kind = at_ps, owner, kind
    t.count += 1
    while i:
        up = (i - 1) // 2
        if not timers_before(&d, &t.heap[up]):
            break
        t.heap[i] = t.heap[up]
        i = up
    t.heap[i] = d


cdef inline deadline_t timers_take(timers_t* t) noexcept nogil:
    """The first deadline; there is one."""
    cdef deadline_t first = t.heap[0], last
    cdef int32_t i = 0, down
    t.count -= 1
    last = t.heap[t.count]
    while True:
        down = 2 * i + 1
        if down >= t.count:
            break
        if down + 1 < t.count and timers_before(&t.heap[down + 1], &t.heap[down]):
            down += 1
        if not timers_before(&t.heap[down], &last):
            break
        t.heap[i] = t.heap[down]
        i = down
    t.heap[i] = last
    return first
