"""The host of `pktgen.py`."""
from libc.stdint cimport int32_t, int64_t
from nicperf.drivers._desktop cimport desktop_stats_t
from nicperf.stack._host cimport Host

cdef struct pktgen_stats_t:             # names in pktgen.py, in this order
    desktop_stats_t common              # of these, what the wire carried
    int64_t late, returned_bytes, paused


cdef class PktgenHost(Host):
    cdef pktgen_stats_t device_stats
    cdef int32_t frame_bytes
    cdef int64_t interval_ps            # 0 = line rate
    cdef int64_t datagram               # number of the next
    cdef int32_t frame                  # on the wire, -1 = none
    cdef bint due                       # the next one's time has come
