"""The engine's primitives for tests: event queue, server and random streams, and two queueing systems made of nothing else."""
from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint64_t
from nicperf.engine._queue cimport (
    QUEUE_GROUP, QUEUE_SLOTS, QUEUE_USED, queue_advance, queue_clear, queue_init, queue_next, queue_next_of, queue_set,
    queue_t,
)
from nicperf.engine._random cimport random_init, random_next, random_t
from nicperf.engine._server cimport (
    SERVER_CLASSES, server_dispatch, server_extend, server_finish, server_has, server_init, server_submit, server_t,
)

import numpy as np

SLOTS = [slot for slot in range(QUEUE_SLOTS) if slot % QUEUE_GROUP < QUEUE_USED]

cdef enum:                              # slots of `serve`
    ARRIVAL, EXTENSION, SERVER

cdef enum:                              # slot of `repair`; the machines follow
    REPAIR


def random_stream(uint64_t seed, uint64_t stream, int n):
    """First `n` values of a stream, shape (n,)."""
    cdef random_t r
    cdef uint64_t[::1] out = np.empty(n, dtype=np.uint64)
    cdef int i
    random_init(&r, seed, stream)
    for i in range(n):
        out[i] = random_next(&r)
    return np.asarray(out)


cdef class Queue:
    """One event per slot, of the first groups."""

    cdef queue_t q
    cdef int32_t groups

    def __init__(self, int32_t groups=2):
        queue_init(&self.q)
        self.groups = groups

    def set(self, int32_t slot, int64_t time_ps):
        if slot not in SLOTS:
            raise IndexError("no such slot")
        queue_set(&self.q, slot & (QUEUE_SLOTS - 1), time_ps)

    def clear(self, int32_t slot):
        if slot not in SLOTS:
            raise IndexError("no such slot")
        queue_clear(&self.q, slot & (QUEUE_SLOTS - 1))

    def pop(self):
        """Take the next event: (time, slot)."""
        cdef int64_t key = queue_next(&self.q) if self.groups == 2 else queue_next_of(&self.q, self.groups)
        if key == INT64_MAX:
            raise IndexError("no event is pending")
        slot = queue_advance(&self.q, key)
        queue_clear(&self.q, slot)
        return self.q.now_ps, slot


def serve(const int64_t[::1] arrival_ps, const int32_t[::1] classes, const int64_t[::1] work_ps,
          int64_t extend_at_ps=-1, int64_t extra_ps=0):
    """One server with unlimited queues, first come first served within a class.

    Parameters
    ----------
    arrival_ps : array, shape (n,), ascending
    classes : array, shape (n,)
        0 is the most urgent.
    work_ps : array, shape (n,)
    extend_at_ps, extra_ps : int
        Lengthen the job that runs at this time; an arrival at the same time comes before it.

    Returns
    -------
    departure_ps : array, shape (n,)
    account : dict
        busy_ps per class, idle_ps, preemptions.
    """
    cdef queue_t q
    cdef server_t s
    cdef int32_t n = arrival_ps.shape[0], arrived = 0, served = 0, slot, cls, i
    cdef int32_t[SERVER_CLASSES] head, newest
    cdef int64_t[::1] out = np.empty(n, dtype=np.int64)
    cdef int32_t[::1] after = np.full(n, n, dtype=np.int32)     # next job of the same class
    for cls in range(SERVER_CLASSES):
        head[cls] = newest[cls] = n
    for i in range(n):
        cls = classes[i]
        if newest[cls] == n:
            head[cls] = i
        else:
            after[newest[cls]] = i
        newest[cls] = i
    queue_init(&q)
    server_init(&s, SERVER)
    queue_set(&q, ARRIVAL, arrival_ps[0])
    if extend_at_ps >= 0:
        queue_set(&q, EXTENSION, extend_at_ps)
    while served < n:
        slot = queue_advance(&q, queue_next(&q))
        if slot == EXTENSION:
            queue_clear(&q, EXTENSION)
            server_extend(&q, &s, extra_ps)
        elif slot == ARRIVAL:
            cls = classes[arrived]
            if not server_has(&s, cls):
                server_submit(&s, cls, work_ps[arrived])
            arrived += 1
            if arrived < n:
                queue_set(&q, ARRIVAL, arrival_ps[arrived])
            else:
                queue_clear(&q, ARRIVAL)
        else:
            cls = server_finish(&q, &s)
            out[head[cls]] = q.now_ps
            served += 1
            head[cls] = after[head[cls]]
            if head[cls] < arrived:
                server_submit(&s, cls, work_ps[head[cls]])
        server_dispatch(&q, &s)
    account = {"busy_ps": [s.busy_ps[cls] for cls in range(SERVER_CLASSES)], "idle_ps": s.idle_ps, "preemptions": s.preemptions}
    return np.asarray(out), account


def repair(int32_t machines, const int64_t[::1] think_ps, const int64_t[::1] work_ps):
    """A closed loop: each machine thinks, queues for the one server, is served, thinks again.

    Parameters
    ----------
    machines : int
        At most as many as a group of slots has beside the server's.
    think_ps, work_ps : array, shape (n + machines,) and (n,)
        Drawn in the order of use.

    Returns
    -------
    departure_ps : array, shape (n,)
    """
    cdef queue_t q
    cdef server_t s
    cdef int32_t[QUEUE_SLOTS] line
    cdef int32_t n = work_ps.shape[0], thought, started = 0, served = 0, head = 0, waiting = 0, slot
    cdef int64_t[::1] out = np.empty(n, dtype=np.int64)
    queue_init(&q)
    server_init(&s, REPAIR)
    for slot in range(1, machines + 1):
        queue_set(&q, slot, think_ps[slot - 1])
    thought = machines
    while served < n:
        slot = queue_advance(&q, queue_next(&q))
        if slot == REPAIR:
            server_finish(&q, &s)
            out[served] = q.now_ps
            served += 1
            queue_set(&q, line[head], q.now_ps + think_ps[thought])
            thought += 1
            head = (head + 1) % QUEUE_SLOTS
            waiting -= 1
        else:
            queue_clear(&q, slot)
            line[(head + waiting) % QUEUE_SLOTS] = slot
            waiting += 1
        if waiting and not server_has(&s, 0) and started < n:
            server_submit(&s, 0, work_ps[started])
            started += 1
        server_dispatch(&q, &s)
    return np.asarray(out)
