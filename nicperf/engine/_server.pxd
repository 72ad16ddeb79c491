"""A server with strict priorities and preempt-resume: a CPU (hard irq > softirq > process) or a DMA engine (RX > TX).

Each class holds at most one job. `server_submit` hands a job over, `server_dispatch` lets the most urgent one run;
a preempted job keeps what it has left.
"""
from libc.stdint cimport int32_t, int64_t
from nicperf.engine._queue cimport queue_clear_busy, queue_set_busy, queue_t

cdef extern from *:
    """
    #define trailing_zeros(x) __builtin_ctz(x)
    """
    int trailing_zeros(unsigned int x) noexcept nogil

cdef enum:
    SERVER_CLASSES = 3

cdef struct server_t:
    int32_t slot                        # its event in the queue, a busy one
    int32_t current                     # class that runs now, -1 when idle
    int32_t waiting                     # bit per class with a job, the running one included
    int64_t started_ps                  # since when `current` runs, or nothing does
    int64_t left_ps[SERVER_CLASSES]     # what the job still needs, counted from `started_ps` if it runs
    int64_t busy_ps[SERVER_CLASSES]     # statistics: time spent per class
    int64_t idle_ps
    int64_t preemptions


cdef inline void server_init(server_t* s, int32_t slot) noexcept nogil:
    cdef int32_t i
    s.slot = slot
    s.current = -1
    s.waiting = 0
    s.started_ps = 0
    s.idle_ps = 0
    s.preemptions = 0
    for i in range(SERVER_CLASSES):
        s.left_ps[i] = 0
        s.busy_ps[i] = 0


cdef inline void server_submit(server_t* s, int32_t cls, int64_t work_ps) noexcept nogil:
    s.left_ps[cls] = work_ps
    s.waiting |= 1 << cls


cdef inline void server_stop_clock(server_t* s, int64_t now_ps) noexcept nogil:
    cdef int64_t ran_ps = now_ps - s.started_ps
    s.left_ps[s.current] -= ran_ps
    s.busy_ps[s.current] += ran_ps
    s.started_ps = now_ps


cdef inline void server_dispatch(queue_t* q, server_t* s) noexcept nogil:
    cdef int32_t best
    if s.waiting == 0:
        return
    best = trailing_zeros(s.waiting)
    if best == s.current:
        return
    if s.current >= 0:
        server_stop_clock(s, q.now_ps)
        s.preemptions += 1
    else:
        s.idle_ps += q.now_ps - s.started_ps
    s.current = best
    s.started_ps = q.now_ps
    queue_set_busy(q, s.slot, q.now_ps + s.left_ps[best])


cdef inline int32_t server_finish(queue_t* q, server_t* s) noexcept nogil:
    """The running job is done; returns its class."""
    cdef int32_t cls = s.current
    queue_clear_busy(q, s.slot)
    server_stop_clock(s, q.now_ps)
    s.waiting &= ~(1 << cls)
    s.current = -1
    return cls


cdef inline void server_extend(queue_t* q, server_t* s, int64_t extra_ps) noexcept nogil:
    """Somebody else held the resource for `extra_ps`: the running job ends that much later."""
    s.left_ps[s.current] += extra_ps
    queue_set_busy(q, s.slot, s.started_ps + s.left_ps[s.current])


cdef inline bint server_has(const server_t* s, int32_t cls) noexcept nogil:
    return (s.waiting >> cls) & 1


cdef inline int64_t server_left_ps(const queue_t* q, const server_t* s) noexcept nogil:
    return s.left_ps[s.current] - (q.now_ps - s.started_ps)


cdef inline int64_t server_owed_ps(const queue_t* q, const server_t* s) noexcept nogil:
    """What all jobs together still need."""
    cdef int64_t owed_ps = 0
    cdef int32_t i
    for i in range(SERVER_CLASSES):
        if server_has(s, i):
            owed_ps += server_left_ps(q, s) if i == s.current else s.left_ps[i]
    return owed_ps
