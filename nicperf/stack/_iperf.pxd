"""An iperf2 client on the TCP of Linux 6.0: writes of any size, Nagle, autocorking, TSO and TCP small queues."""
from libc.stdint cimport int32_t, int64_t
from nicperf.stack._host cimport Host
from nicperf.stack._tcp cimport TcpSender


cdef class IperfSender(TcpSender):
    cdef bint nodelay, autocorking
    cdef int32_t overhead_bytes         # of an sk_buff, beside its payload
    cdef int64_t tsq_bytes              # most that may be below TCP when it sends more, 0 = no limit
    cdef int64_t window_bytes           # the largest that the peer offers
    cdef int32_t goal_bytes             # an sk_buff takes this much payload
    cdef int64_t tail_start             # where the last sk_buff of the write queue begins; those before it are full
    cdef int64_t looked                 # stream offset up to which writes have been looked at
    cdef int64_t small_end              # where the last segment ended that was not full
    cdef int64_t below_bytes            # truesize in the device queue and the driver's ring
    cdef int64_t packets                # sent and not yet acknowledged
    cdef bint pushed                    # TCP shall send what it may
    cdef bint throttled                 # a completion shall push
    cdef bint recovering                # a lost segment is under way again, nothing else
    cdef bint probe                     # the window is shut: ask for it

    cdef void look(self, Host h) noexcept nogil
    cdef void append_begin(self, Host h) noexcept nogil
    cdef void go_back(self) noexcept nogil
    cdef int64_t freed_packets(self, int64_t freed_bytes) noexcept nogil
