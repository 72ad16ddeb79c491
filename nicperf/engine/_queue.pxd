"""Pending events: one per slot, kept in a tournament tree.

Every actor (a CPU, a DMA engine, a timer) owns one slot and has at most one pending event, so moving an event
is an update in place: log2(slots) comparisons, no allocation, no tombstones. Each inner node holds a copy of its
winner, so that a replay reads one sibling per level.
Events at the same picosecond run in the order in which they were set.
"""
from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint64_t

cdef extern from *:
    """
    typedef unsigned __int128 queue_key_t;
    """
    ctypedef unsigned long long queue_key_t         # 128 bits: time in ps, then the order of the set

cdef enum:
    QUEUE_SLOTS = 16

cdef struct entry_t:
    queue_key_t key
    int32_t slot

cdef struct queue_t:
    int64_t now_ps
    uint64_t next_order                 # grows with every set: breaks ties
    entry_t node[2 * QUEUE_SLOTS]       # 1 is the root, 16..31 are the slots


cdef inline void queue_put(queue_t* q, int32_t slot, int64_t time_ps, uint64_t order) noexcept nogil:
    cdef int32_t i = slot + QUEUE_SLOTS
    cdef queue_key_t key = (<queue_key_t>time_ps << 64) | order
    cdef bint sibling_first
    q.node[i].key = key
    while i > 1:
        # Selects, not branches: which of two actors comes next is not predictable.
        sibling_first = q.node[i ^ 1].key < key
        slot = q.node[i ^ 1].slot if sibling_first else slot
        key = q.node[i ^ 1].key if sibling_first else key
        i >>= 1
        q.node[i].key = key
        q.node[i].slot = slot


cdef inline void queue_set(queue_t* q, int32_t slot, int64_t time_ps) noexcept nogil:
    queue_put(q, slot, time_ps, q.next_order)
    q.next_order += 1


cdef inline void queue_clear(queue_t* q, int32_t slot) noexcept nogil:
    queue_put(q, slot, INT64_MAX, 0)


cdef inline int64_t queue_time_ps(const queue_t* q, int32_t slot) noexcept nogil:
    """When the slot's event is due; INT64_MAX = never."""
    return <int64_t>(q.node[slot + QUEUE_SLOTS].key >> 64)


cdef inline bint queue_pending(const queue_t* q, int32_t slot) noexcept nogil:
    return queue_time_ps(q, slot) != INT64_MAX


cdef inline int64_t queue_next_ps(const queue_t* q) noexcept nogil:
    return <int64_t>(q.node[1].key >> 64)


cdef inline void queue_init(queue_t* q) noexcept nogil:
    cdef int32_t i
    q.now_ps = 0
    q.next_order = 0
    for i in range(2 * QUEUE_SLOTS):
        q.node[i].key = <queue_key_t>INT64_MAX << 64
        q.node[i].slot = i - QUEUE_SLOTS if i >= QUEUE_SLOTS else 0
