"""TCP_STREAM and TCP_SENDFILE: one connection, data one way."""
from libc.stdint cimport int32_t, int64_t
from nicperf.stack._host cimport Host, Socket, packet_t


cdef inline int32_t tcp_begun(int64_t start, int64_t end, int32_t unit) noexcept nogil:
    """How many units of the stream begin in [start, end)."""
    return <int32_t>((end + unit - 1) // unit - (start + unit - 1) // unit)


cdef class TcpSender(Socket):
    cdef int64_t written                # stream offset up to which the process has filled the socket
    cdef int64_t next_sequence          # next byte to send
    cdef int64_t acknowledged           # first byte not yet acknowledged
    cdef int64_t window_edge            # the peer accepts bytes before this one
    cdef int64_t progress_ps            # when an ACK last moved
    cdef int32_t left_bytes             # of the message that the process is writing
    cdef int32_t chunk_bytes            # that the write job under way adds
    cdef int32_t duplicates
    cdef int32_t output_owner           # context that sends a segment now, -1 = none
    cdef bint blocked                   # the process waits for send-buffer space
    cdef bint waking
    cdef packet_t out

    cdef int64_t buffer_room(self, Host h) noexcept nogil
    cdef int64_t output_bytes(self, Host h) noexcept nogil
    cdef void process_next(self, Host h) noexcept nogil
    cdef void write_begin(self, Host h) noexcept nogil


cdef class TcpReceiver(Socket):
    cdef int64_t expected               # next byte in order
    cdef int64_t unread_bytes           # in the receive queue
    cdef int64_t advertised_edge        # right edge of the window last offered
    cdef int64_t arrived_ps             # when data last came
    cdef int64_t unacknowledged         # bytes since the last ACK
    cdef int32_t reading_bytes          # that the receive job under way copies
    cdef bint blocked                   # the process waits for data
    cdef bint waking
    cdef bint short_segment             # has come since the last ACK
    cdef bint ack_now                   # the input job under way ends with an ACK
    cdef bint ack_wanted                # an ACK waits for a context to send it
    cdef int32_t ack_owner              # context that sends an ACK of its own now, -1 = none
    cdef packet_t out

    cdef void ack_charge(self, Host h, int32_t context) noexcept nogil
    cdef void ack_put(self, Host h, int32_t context) noexcept nogil
    cdef void read_begin(self, Host h) noexcept nogil
