"""Cutting one super-frame into the frames that go onto the wire: TCP segmentation, UDP segmentation, UDP fragmentation.

A plan is made once for each super-frame: it checks every header, keeps a copy of them, and sums what all segments have in
common. After that a segment costs the copy of its headers, a few fields, and the sum of its own payload.
"""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

cdef enum:
    SEGMENT_HEADER_BYTES = 256          # Linux' TSO_HEADER_SIZE: 14 of MAC, 60 of IPv4 and 60 of TCP do not fit 128

cdef enum segment_dialect:              # whose rules the TCP flags follow
    SEGMENT_GSO                         # Linux before the driver
    SEGMENT_TSO                         # Linux in the driver
    SEGMENT_DPDK

cdef enum segment_checksums:
    SEGMENT_FULL                        # finished
    SEGMENT_PARTIAL                     # IPv4 finished, TCP and UDP have the sum of the pseudo-header
    SEGMENT_NONE                        # as they were in the super-frame: hardware fills them in

cdef enum segment_problem:
    SEGMENT_FINE
    SEGMENT_TRUNCATED                   # in all of these `detail` is the value that is wrong
    SEGMENT_HEADERS_SPLIT
    SEGMENT_HEADERS_LONG
    SEGMENT_TAGS
    SEGMENT_ETHERTYPE
    SEGMENT_IP_VERSION
    SEGMENT_IPV4_HEADER
    SEGMENT_IP_LENGTH
    SEGMENT_FRAME_LONG
    SEGMENT_IS_FRAGMENT
    SEGMENT_PROTOCOL
    SEGMENT_TCP_HEADER
    SEGMENT_UDP_LENGTH
    SEGMENT_MSS
    SEGMENT_MSS_LONG
    SEGMENT_UDP_SEGMENTS
    SEGMENT_FRAGMENT_UNIT
    SEGMENT_FRAGMENT_CHECKSUM
    SEGMENT_FRAGMENT_OPTIONS
    SEGMENT_FRAGMENT_LONG

cdef struct segment_rules_t:
    int64_t mss_bytes                   # most payload behind the headers; of a fragment, behind the IP header
    segment_dialect dialect
    segment_checksums checksums
    bint id_fixed                       # IPv4 identification stays what it was
    bint fragments                      # UDP datagrams become IP fragments
    uint32_t fragment_id                # of IPv6 fragments

cdef struct segment_plan_t:
    segment_rules_t rules
    segment_problem problem
    int64_t detail
    int64_t segments, payload_bytes     # payload: what follows the headers in the super-frame
    int32_t header_bytes                # in front of every segment
    int32_t first_bytes                 # of UDP header, which only the first of several fragments has
    int32_t given_bytes                 # of headers in the super-frame
    int32_t network_at, transport_at
    bint ipv6, tcp, fragmented
    uint64_t network_sum, transport_sum     # of what does not change: IPv4 header; pseudo-header, TCP or UDP header
    uint32_t sequence
    uint16_t id
    uint8_t flags, first_only, last_only    # TCP flags; those that only the first, or only the last segment keeps
    uint8_t header[SEGMENT_HEADER_BYTES]

# head: the first `head_bytes` of the super-frame, which must hold all headers. False and `problem` if it cannot be cut.
cdef bint segment_plan(
    segment_plan_t* p, const segment_rules_t* rules, const uint8_t* head, int64_t head_bytes,
    int64_t frame_bytes) noexcept nogil
# Write a segment's headers, given the sum of its payload (for the first fragment: of all payload); returns their length.
cdef int32_t segment_header(const segment_plan_t* p, int64_t index, uint8_t* out, uint64_t data_sum) noexcept nogil


# Place and length of a segment's payload in that of the super-frame.
cdef inline int64_t segment_data_at(const segment_plan_t* p, int64_t index) noexcept nogil:
    return max(index * p.rules.mss_bytes - p.first_bytes, 0)


cdef inline int64_t segment_data_bytes(const segment_plan_t* p, int64_t index) noexcept nogil:
    return min((index + 1) * p.rules.mss_bytes - p.first_bytes, p.payload_bytes) - segment_data_at(p, index)
