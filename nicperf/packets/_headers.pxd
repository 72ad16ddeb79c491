"""Ethernet, IPv4, TCP and UDP headers of the two hosts' one conversation."""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

cdef enum:
    ETHERNET_BYTES = 14
    IPV4_BYTES = 20
    UDP_BYTES = 8
    TCP_BYTES = 20                      # without options
    IPV4_AT = ETHERNET_BYTES            # offsets in a frame
    TRANSPORT_AT = ETHERNET_BYTES + IPV4_BYTES
    IPV4_CHECKSUM_AT = IPV4_AT + 10
    UDP_CHECKSUM_AT = TRANSPORT_AT + 6
    TCP_CHECKSUM_AT = TRANSPORT_AT + 16
    TIMESTAMP_AT = TRANSPORT_AT + TCP_BYTES + 4     # after two NOPs, kind and length

cdef enum:
    PROTOCOL_TCP = 6
    PROTOCOL_UDP = 17
    IPV4_DONT_FRAGMENT = 0x4000
    IPV4_MORE_FRAGMENTS = 0x2000
    IPV4_OFFSET_MASK = 0x1FFF           # in units of eight bytes
    IPV4_START = 0x45                   # version 4, a header of five words
    ETHERTYPE_IPV4 = 0x0800
    TCP_SYN = 0x02
    TCP_ACKNOWLEDGES = 0x10

cdef struct endpoint_t:                 # what one host puts into its headers
    uint8_t number                      # last byte of its MAC and IPv4 addresses
    uint16_t port
    uint16_t next_id                    # IPv4 identification of its next packet
    uint32_t first_sequence             # of its SYN
    uint32_t clock_start                # its timestamp clock at simulated time zero
    uint32_t echo                       # the peer's timestamp that it returns
    uint32_t last_ack                   # that it sent
    int32_t window_shift
    bint timestamps


cdef void endpoint_init(endpoint_t* e, int32_t number, bint timestamps, int64_t window_bytes) noexcept nogil
cdef uint64_t headers_pseudo_sum(const uint8_t* ipv4, int32_t transport_bytes) noexcept nogil
cdef void headers_complete(uint8_t* at, uint64_t total, bint udp) noexcept nogil
cdef void headers_ipv4(
    uint8_t* frame, const endpoint_t* source, const endpoint_t* target, int32_t protocol, uint32_t id,
    uint32_t fragment, int32_t payload_bytes) noexcept nogil
cdef void headers_udp(
    uint8_t* frame, const endpoint_t* source, const endpoint_t* target, int32_t message_bytes) noexcept nogil
cdef int32_t headers_tcp(
    uint8_t* frame, endpoint_t* source, const endpoint_t* target, int64_t sequence, int64_t ack,
    int32_t window_bytes, int64_t now_ps, int32_t payload_bytes) noexcept nogil
cdef int32_t headers_syn(
    uint8_t* frame, endpoint_t* source, const endpoint_t* target, bint answers, int32_t window_bytes,
    int32_t mss_bytes, int64_t now_ps) noexcept nogil
