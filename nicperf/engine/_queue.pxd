"""Pending events: one per slot.

Every actor (a CPU, a DMA engine, a timer) owns one slot and has at most one pending event, so moving an event is one store:
no heap, no allocation, no tombstones. The next event is the least of few numbers. The first three slots of each eight
are for what moves with every frame; the others are for timers, whose least is kept up to date when one of them moves.
Events at the same picosecond run in the order of their slots. That makes a key one integer (time, then slot), and the
outcome independent of who set an event first.
"""
from libc.stdint cimport INT64_MAX, int32_t, int64_t

cdef enum:
    QUEUE_SLOTS = 16
    QUEUE_SLOT_BITS = 4
    QUEUE_BUSY = 3                      # of each eight slots

cdef struct queue_t:
    int64_t now_ps
    int64_t timer                       # the least key of the timers
    int64_t key[QUEUE_SLOTS]            # time_ps << 4 | slot


cdef inline void queue_set_busy(queue_t* q, int32_t slot, int64_t time_ps) noexcept nogil:
    """As `queue_set`, for a slot that is known to be a busy one."""
    q.key[slot] = time_ps << QUEUE_SLOT_BITS | slot


cdef inline void queue_clear_busy(queue_t* q, int32_t slot) noexcept nogil:
    q.key[slot] = INT64_MAX


cdef inline void queue_put(queue_t* q, int32_t slot, int64_t key) noexcept nogil:
    cdef int64_t a, b
    q.key[slot] = key
    if slot & 7 >= QUEUE_BUSY:
        a = min(min(q.key[3], q.key[4]), min(q.key[5], q.key[6]))
        b = min(min(q.key[11], q.key[12]), min(q.key[13], q.key[14]))
        q.timer = min(min(a, b), min(q.key[7], q.key[15]))


cdef inline void queue_set(queue_t* q, int32_t slot, int64_t time_ps) noexcept nogil:
    """Set or move the slot's event."""
    queue_put(q, slot, time_ps << QUEUE_SLOT_BITS | slot)


cdef inline void queue_clear(queue_t* q, int32_t slot) noexcept nogil:
    queue_put(q, slot, INT64_MAX)


cdef inline bint queue_pending(const queue_t* q, int32_t slot) noexcept nogil:
    return q.key[slot] != INT64_MAX


cdef inline int64_t queue_next(const queue_t* q) noexcept nogil:
    """Key of the next event, INT64_MAX if none is pending."""
    # Selects, not branches: which actor is next cannot be predicted.
    cdef int64_t a = min(min(q.key[0], q.key[1]), q.key[2])
    cdef int64_t b = min(min(q.key[8], q.key[9]), q.key[10])
    return min(min(a, b), q.timer)


cdef inline int32_t queue_advance(queue_t* q, int64_t key) noexcept nogil:
    """Time moves on to the event with this key, the next. Returns its slot, which its owner has to clear or to set anew."""
    q.now_ps = key >> QUEUE_SLOT_BITS
    return key & (QUEUE_SLOTS - 1)


cdef inline void queue_init(queue_t* q) noexcept nogil:
    cdef int32_t i
    q.now_ps = 0
    q.timer = INT64_MAX
    for i in range(QUEUE_SLOTS):
        q.key[i] = INT64_MAX
