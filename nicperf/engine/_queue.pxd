"""Pending events: one per slot, kept in a tournament tree.

Every actor (a CPU, a DMA engine, a timer) owns one slot and has at most one pending event, so moving an event
is an update in place: log2(slots) comparisons, no allocation, no tombstones.
Events at the same picosecond run in the order of their slots. That makes a key one integer (time, then slot), and the
outcome independent of who set an event first.
"""
from libc.stdint cimport INT64_MAX, int32_t, int64_t

cdef enum:
    QUEUE_SLOTS = 16
    QUEUE_SLOT_BITS = 4

cdef struct queue_t:
    int64_t now_ps
    int64_t key[2 * QUEUE_SLOTS]        # time_ps << 4 | slot; 1 is the root, 16..31 are the slots


cdef inline void queue_put(queue_t* q, int32_t slot, int64_t key) noexcept nogil:
    cdef int32_t i = slot + QUEUE_SLOTS
    q.key[i] = key
    while i > 1:
        key = min(key, q.key[i ^ 1])    # a select, not a branch: which of two actors is next cannot be predicted
        i >>= 1
        q.key[i] = key


cdef inline void queue_set(queue_t* q, int32_t slot, int64_t time_ps) noexcept nogil:
    """Set or move the slot's event."""
    queue_put(q, slot, time_ps << QUEUE_SLOT_BITS | slot)


cdef inline void queue_clear(queue_t* q, int32_t slot) noexcept nogil:
    queue_put(q, slot, INT64_MAX)


cdef inline bint queue_pending(const queue_t* q, int32_t slot) noexcept nogil:
    return q.key[slot + QUEUE_SLOTS] != INT64_MAX


cdef inline int64_t queue_next_ps(const queue_t* q) noexcept nogil:
    return q.key[1] >> QUEUE_SLOT_BITS


cdef inline int32_t queue_next_slot(const queue_t* q) noexcept nogil:
    return q.key[1] & (QUEUE_SLOTS - 1)


cdef inline void queue_init(queue_t* q) noexcept nogil:
    cdef int32_t i
    q.now_ps = 0
    for i in range(2 * QUEUE_SLOTS):
        q.key[i] = INT64_MAX
