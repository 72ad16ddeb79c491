"""Pending events: one per slot, kept in a tournament tree.

Every actor (a CPU, a DMA engine, a timer) owns one slot and has at most one pending event, so moving an event
is an update in place: log2(slots) comparisons, no allocation, no tombstones.
Events at the same picosecond run in the order in which they were set.
"""
from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint64_t

cdef enum:
    QUEUE_SLOTS = 32

cdef struct queue_t:
    int64_t now_ps
    uint64_t next_order                 # grows with every set: breaks ties
    int64_t time_ps[QUEUE_SLOTS]        # INT64_MAX = no event
    uint64_t order[QUEUE_SLOTS]
    int32_t winner[QUEUE_SLOTS]         # inner nodes 1..31; node 1 is the root


cdef inline int32_t queue_earlier(const queue_t* q, int32_t a, int32_t b) noexcept nogil:
    if q.time_ps[b] < q.time_ps[a] or (q.time_ps[b] == q.time_ps[a] and q.order[b] < q.order[a]):
        return b
    return a


cdef inline void queue_replay(queue_t* q, int32_t slot) noexcept nogil:
    cdef int32_t node = (slot + QUEUE_SLOTS) >> 1
    q.winner[node] = queue_earlier(q, slot & ~1, slot | 1)
    while node > 1:
        node >>= 1
        q.winner[node] = queue_earlier(q, q.winner[2 * node], q.winner[2 * node + 1])


cdef inline void queue_set(queue_t* q, int32_t slot, int64_t time_ps) noexcept nogil:
    q.time_ps[slot] = time_ps
    q.order[slot] = q.next_order
    q.next_order += 1
    queue_replay(q, slot)


cdef inline void queue_clear(queue_t* q, int32_t slot) noexcept nogil:
    q.time_ps[slot] = INT64_MAX
    queue_replay(q, slot)


cdef inline bint queue_pending(const queue_t* q, int32_t slot) noexcept nogil:
    return q.time_ps[slot] != INT64_MAX


cdef inline void queue_init(queue_t* q) noexcept nogil:
    cdef int32_t i
    q.now_ps = 0
    q.next_order = 0
    for i in range(QUEUE_SLOTS):
        q.time_ps[i] = INT64_MAX
        q.order[i] = 0
        q.winner[i] = 0
    for i in range(0, QUEUE_SLOTS, 2):
        queue_replay(q, i)
