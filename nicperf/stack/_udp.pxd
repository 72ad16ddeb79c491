"""UDP_STREAM: datagrams one way, fragmented by IP when they exceed the MTU."""
from libc.stdint cimport int32_t, int64_t
from nicperf.stack._host cimport Host, Socket, packet_t


cdef class UdpSender(Socket):
    cdef int64_t datagram               # number of the one being built or sent
    cdef int64_t charged_bytes          # truesize of everything sent and not yet freed
    cdef int32_t fragments              # per datagram
    cdef int32_t built
    cdef int32_t sent_fragments
    cdef bint building                  # job under way
    cdef bint blocked
    cdef bint waking
    cdef int32_t output_owner
    cdef packet_t out

    cdef void process_next(self, Host h) noexcept nogil
    cdef void build_begin(self, Host h) noexcept nogil
    cdef int32_t fragment_payload(self, Host h, int32_t i) noexcept nogil


cdef class UdpReceiver(Socket):
    cdef int64_t datagram               # being reassembled
    cdef int32_t gathered, gathered_bytes
    cdef int64_t charged_bytes          # truesize of the receive queue
    cdef int32_t queued                 # datagrams in the receive queue
    cdef bint reading, blocked, waking
    cdef int32_t fragments

    cdef void read_begin(self, Host h) noexcept nogil
