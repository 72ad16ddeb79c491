"""Pending events: one per slot.

Every actor (a CPU, a DMA engine, a timer) owns one slot and has at most one pending event, so moving an event is one store:
no heap, no allocation, no tombstones. The next event is the least of few numbers. Of each sixteen slots the first four
are for what moves with every frame, five for timers, whose least is kept up to date when one of them moves, the rest unused.
Most systems have two groups of slots, one for each host; a host with several cores has one for each.
Events at the same picosecond run in the order of their slots. That makes a key one integer (time, then slot), and the
outcome independent of who set an event first.
"""
from libc.stdint cimport INT64_MAX, int32_t, int64_t

cdef enum:
    QUEUE_SLOTS = 256
    QUEUE_SLOT_BITS = 8
    QUEUE_GROUPS = 16
    QUEUE_GROUP = 16                    # slots, of one host or core
    QUEUE_BUSY = 4                      # the first ones of each group
    QUEUE_USED = 9                      # these and the timers

cdef struct queue_t:
    int64_t now_ps
    int64_t timer[QUEUE_GROUPS]         # the least key of each group's timers
    int64_t key[QUEUE_SLOTS]            # time_ps << 8 | slot


cdef inline void queue_set_busy(queue_t* q, int32_t slot, int64_t time_ps) noexcept nogil:
    """As `queue_set`, for a slot that is known to be a busy one."""
    q.key[slot] = time_ps << QUEUE_SLOT_BITS | slot


cdef inline void queue_clear_busy(queue_t* q, int32_t slot) noexcept nogil:
    q.key[slot] = INT64_MAX


cdef inline void queue_put(queue_t* q, int32_t slot, int64_t key) noexcept nogil:
    cdef int64_t* timer
    q.key[slot] = key
    if slot % QUEUE_GROUP >= QUEUE_BUSY:
        timer = &q.key[slot // QUEUE_GROUP * QUEUE_GROUP + QUEUE_BUSY]
        q.timer[slot // QUEUE_GROUP] = min(min(min(timer[0], timer[1]), min(timer[2], timer[3])), timer[4])


cdef inline void queue_set(queue_t* q, int32_t slot, int64_t time_ps) noexcept nogil:
    """Set or move the slot's event."""
    queue_put(q, slot, time_ps << QUEUE_SLOT_BITS | slot)


cdef inline void queue_clear(queue_t* q, int32_t slot) noexcept nogil:
    queue_put(q, slot, INT64_MAX)


cdef inline bint queue_pending(const queue_t* q, int32_t slot) noexcept nogil:
    return q.key[slot] != INT64_MAX


cdef inline int64_t queue_next(const queue_t* q) noexcept nogil:
    """Key of the next event of the first two groups, INT64_MAX if none is pending."""
    # Selects, not branches: which actor is next cannot be predicted.
    cdef int64_t a = min(min(q.key[0], q.key[1]), min(q.key[2], q.key[3]))
    cdef int64_t b = min(min(q.key[16], q.key[17]), min(q.key[18], q.key[19]))
    return min(min(a, b), min(q.timer[0], q.timer[1]))


cdef inline int64_t queue_next_of(const queue_t* q, int32_t groups) noexcept nogil:
    """Key of the next event of so many groups."""
    cdef int64_t least = INT64_MAX
    cdef int32_t g
    cdef const int64_t* key
    for g in range(groups):
        key = &q.key[g * QUEUE_GROUP]
        least = min(least, min(min(min(key[0], key[1]), min(key[2], key[3])), q.timer[g]))
    return least


cdef inline int32_t queue_advance(queue_t* q, int64_t key) noexcept nogil:
    """Time moves on to the event with this key, the next. Returns its slot, which its owner has to clear or to set anew."""
    q.now_ps = key >> QUEUE_SLOT_BITS
    return key & (QUEUE_SLOTS - 1)


cdef inline void queue_init(queue_t* q) noexcept nogil:
    cdef int32_t i
    q.now_ps = 0
    for i in range(QUEUE_GROUPS):
        q.timer[i] = INT64_MAX
    for i in range(QUEUE_SLOTS):
        q.key[i] = INT64_MAX
