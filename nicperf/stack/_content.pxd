"""What the stack of one host writes into frames and finds in them, when they carry bytes."""
from libc.stdint cimport int32_t, int64_t, uint8_t
from nicperf.packets._dissection cimport datagram_t
from nicperf.packets._headers cimport endpoint_t
from nicperf.packets._wiretap cimport bytes_stats_t
from nicperf.parts._frames cimport UDP_FRAGMENT, frame_t
from nicperf.stack._host cimport settings_t

cdef struct content_t:
    endpoint_t me
    const endpoint_t* other
    const settings_t* set
    bytes_stats_t* stats
    datagram_t datagram                 # being received


cdef inline bint content_offloaded(const frame_t* f) noexcept nogil:
    """Whether hardware completes the TCP or UDP checksum: not where it is spread over fragments."""
    return f.kind != UDP_FRAGMENT or (f.index == 0 and f.last)


cdef int64_t content_position(const content_t* c, const frame_t* f) noexcept nogil
cdef int32_t content_headers(content_t* c, uint8_t* head, const frame_t* f, int64_t now_ps) noexcept nogil
cdef void content_receive(content_t* c, const uint8_t* frame, const frame_t* f, bint vouched) noexcept nogil
