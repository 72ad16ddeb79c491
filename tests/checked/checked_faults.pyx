"""Deliberate faults in the engine's own primitives, for the checked build to find. No other build has this module."""
from libc.stdint cimport INT64_MAX, int32_t, int64_t
from libc.stdlib cimport free
from libc.string cimport memset
from nicperf.engine._ledger cimport OP_COPY, PROCESS, ledger_charge, ledger_t
from nicperf.engine._queue cimport QUEUE_SLOTS, queue_init, queue_set, queue_t
from nicperf.engine._server cimport SERVER_CLASSES, server_init, server_submit, server_t
from nicperf.parts._fifo cimport fifo_alloc, fifo_put, fifo_t, fifo_take

import numpy as np


def slot_beyond_the_queue(int32_t beyond=1):
    """An index past the end of an array in a struct."""
    cdef queue_t q
    queue_init(&q)
    with nogil:
        queue_set(&q, QUEUE_SLOTS - 1 + beyond, 0)


def ledger_overflow(int64_t ps=INT64_MAX):
    """A sum beyond 63 bits, in a function that may not raise."""
    cdef ledger_t a
    memset(&a, 0, sizeof(ledger_t))
    with nogil:
        ledger_charge(&a, PROCESS, OP_COPY, ps, 1)
        ledger_charge(&a, PROCESS, OP_COPY, ps, 1)
    return a.open_ps


def class_beyond_the_server(int32_t beyond=30):
    """A shift out of 32 bits."""
    cdef server_t s
    server_init(&s, 0)
    with nogil:
        server_submit(&s, SERVER_CLASSES - 1 + beyond, 0)


def fifo_after_free():
    """Memory that has been given back."""
    cdef fifo_t f
    fifo_alloc(&f, 16)
    fifo_put(&f, 1)
    free(f.item)
    return fifo_take(&f)


def fifo_with_a_wrong_mask(int32_t mask=31):
    """An index past the end of what was allocated."""
    cdef fifo_t f
    cdef int32_t i
    fifo_alloc(&f, 16)
    f.mask = mask
    with nogil:
        for i in range(mask + 1):
            fifo_put(&f, i)
    free(f.item)


def cycles_beyond_an_integer(double cycles=1e300):
    """A cost that no 64-bit number of picoseconds holds."""
    return <int64_t>cycles


def row_beyond_the_view(Py_ssize_t row=4):
    """An index past the end of a memoryview: Cython raises IndexError."""
    cdef int64_t[::1] view = np.zeros(4, dtype=np.int64)
    return view[row]
