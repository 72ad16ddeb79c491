"""What a receiver finds in the bytes of a frame."""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

cdef struct dissection_t:
    int32_t protocol                    # of IPv4, 0 when it is something else
    int32_t transport_bytes             # after the IPv4 header, as far as they have arrived
    uint64_t transport_sum
    bint fragment
    bint ipv4_good                      # header checksum
    bint transport_good                 # TCP or UDP checksum; meaningless in a fragment

cdef struct datagram_t:                 # being put together from its fragments
    int64_t number
    int32_t fragments                   # that have come
    uint64_t total
    bint vouched                       # the driver has vouched for all of them
    bint wrong                          # a byte is not what was sent

cdef void dissection_read(dissection_t* d, const uint8_t* frame, int32_t length_bytes) noexcept nogil
cdef void datagram_add(
    datagram_t* g, const dissection_t* d, const uint8_t* frame, int64_t number, bint vouched, bint wrong) noexcept nogil
cdef bint datagram_good(const datagram_t* g) noexcept nogil
