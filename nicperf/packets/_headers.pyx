"""Writing headers. IPv4 gets its whole checksum; TCP and UDP the sum of the pseudo-header, for others to complete."""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset
from nicperf.packets._checksum cimport checksum_add, checksum_fold
from nicperf.packets._fields cimport fields_put16, fields_put32

cdef enum:
    TIME_TO_LIVE = 64
    OPTION_NOP = 1
    OPTION_MSS = 2
    OPTION_WINDOW_SCALE = 3
    OPTION_TIMESTAMPS = 8
    CLOCK_TICK_PS = 1000000000          # RFC 7323 asks for 1 ms to 1 s
    LARGEST_WINDOW = 0xFFFF             # before scaling
    FIRST_PORT = 49152                  # of those that nobody registers: no dissector claims them


cdef void endpoint_init(endpoint_t* e, int32_t number, bint timestamps, int64_t window_bytes) noexcept nogil:
    """Number 1 is the local host, 2 the remote one; sequence and clock start at figures that are easy to recognise."""
    e.number = <uint8_t>number
    e.port = <uint16_t>(FIRST_PORT + number)
    e.next_id = 0
    e.first_sequence = 1000000 * number
    e.clock_start = 5000000 * number
    e.echo = 0
    e.last_ack = 0
    e.timestamps = timestamps
    e.window_shift = 0                  # the smallest that fits, so that windows stay as exact as they can be
    while window_bytes >> e.window_shift >= LARGEST_WINDOW:
        e.window_shift += 1


cdef uint64_t headers_pseudo_sum(const uint8_t* ipv4, int32_t transport_bytes) noexcept nogil:
    """Sum of the pseudo-header (RFC 9293, 3.1): addresses and protocol out of the IPv4 header, and the length."""
    cdef uint8_t rest[4]
    fields_put16(rest, ipv4[9])
    fields_put16(rest + 2, transport_bytes)
    return checksum_add(checksum_add(0, ipv4 + 12, 8), rest, 4)


cdef void headers_complete(uint8_t* at, uint64_t total, bint udp) noexcept nogil:
    """Store the checksum of what has been summed; in UDP zero means "none" (RFC 768), so its other form is sent."""
    cdef uint16_t check = ~checksum_fold(total)
    if udp and check == 0:
        check = 0xFFFF
    memcpy(at, &check, 2)


cdef void headers_mac(uint8_t* at, uint8_t number) noexcept nogil:
    memset(at, 0, 5)
    at[0] = 0x02                        # locally administered
    at[5] = number


cdef void headers_address(uint8_t* at, uint8_t number) noexcept nogil:
    fields_put32(at, 0xC0000200U | number)     # 192.0.2.0/24 is for documentation (RFC 5737)


cdef void headers_ipv4(
    uint8_t* frame, const endpoint_t* source, const endpoint_t* target, int32_t protocol, uint32_t id,
    uint32_t fragment, int32_t payload_bytes,
) noexcept nogil:
    """Ethernet and IPv4 headers; `fragment` holds the flags and the offset in units of eight bytes."""
    cdef uint8_t* ipv4 = frame + IPV4_AT
    headers_mac(frame, target.number)
    headers_mac(frame + 6, source.number)
    fields_put16(frame + 12, ETHERTYPE_IPV4)
    fields_put16(ipv4, IPV4_START << 8)
    fields_put16(ipv4 + 2, IPV4_BYTES + payload_bytes)
    fields_put16(ipv4 + 4, id)
    fields_put16(ipv4 + 6, fragment)
    fields_put16(ipv4 + 8, TIME_TO_LIVE << 8 | protocol)
    fields_put16(ipv4 + 10, 0)
    headers_address(ipv4 + 12, source.number)
    headers_address(ipv4 + 16, target.number)
    headers_complete(frame + IPV4_CHECKSUM_AT, checksum_add(0, ipv4, IPV4_BYTES), False)


cdef void headers_udp(
    uint8_t* frame, const endpoint_t* source, const endpoint_t* target, int32_t message_bytes,
) noexcept nogil:
    cdef uint8_t* udp = frame + TRANSPORT_AT
    cdef uint16_t check
    fields_put16(udp, source.port)
    fields_put16(udp + 2, target.port)
    fields_put16(udp + 4, UDP_BYTES + message_bytes)
    check = checksum_fold(headers_pseudo_sum(frame + IPV4_AT, UDP_BYTES + message_bytes))
    memcpy(frame + UDP_CHECKSUM_AT, &check, 2)


cdef void headers_tcp_fixed(
    uint8_t* frame, endpoint_t* source, const endpoint_t* target, uint32_t sequence, uint32_t ack,
    int32_t options_bytes, uint32_t flags, int32_t window, int32_t payload_bytes,
) noexcept nogil:
    cdef uint8_t* tcp = frame + TRANSPORT_AT
    cdef int32_t header_bytes = TCP_BYTES + options_bytes
    cdef uint16_t check
    headers_ipv4(
        frame, source, target, PROTOCOL_TCP, source.next_id, IPV4_DONT_FRAGMENT, header_bytes + payload_bytes,
    )
    source.next_id += 1
    fields_put16(tcp, source.port)
    fields_put16(tcp + 2, target.port)
    fields_put32(tcp + 4, sequence)
    fields_put32(tcp + 8, ack)
    fields_put16(tcp + 12, <uint32_t>(header_bytes // 4) << 12 | flags)
    fields_put16(tcp + 14, min(window, LARGEST_WINDOW))
    check = checksum_fold(headers_pseudo_sum(frame + IPV4_AT, header_bytes + payload_bytes))
    memcpy(tcp + 16, &check, 2)
    fields_put16(tcp + 18, 0)


cdef int32_t headers_timestamps(uint8_t* at, const endpoint_t* source, int64_t now_ps) noexcept nogil:
    """The option of RFC 7323, aligned as its appendix A proposes; returns its length."""
    if not source.timestamps:
        return 0
    fields_put16(at, OPTION_NOP << 8 | OPTION_NOP)
    fields_put16(at + 2, OPTION_TIMESTAMPS << 8 | 10)
    fields_put32(at + 4, source.clock_start + <uint32_t>(now_ps // CLOCK_TICK_PS))
    fields_put32(at + 8, source.echo)
    return 12


cdef int32_t headers_tcp(
    uint8_t* frame, endpoint_t* source, const endpoint_t* target, int64_t sequence, int64_t ack,
    int32_t window_bytes, int64_t now_ps, int32_t payload_bytes,
) noexcept nogil:
    """All headers of a data segment or an ACK; returns their length. `sequence` and `ack` count payload from zero."""
    cdef int32_t unit = 1 << source.window_shift
    cdef int32_t options_bytes = headers_timestamps(frame + TRANSPORT_AT + TCP_BYTES, source, now_ps)
    source.last_ack = target.first_sequence + 1 + <uint32_t>ack
    # The scaled window is rounded up: rounded down, the peer would be seen to send what was not offered.
    headers_tcp_fixed(
        frame, source, target, source.first_sequence + 1 + <uint32_t>sequence, source.last_ack, options_bytes,
        TCP_ACKNOWLEDGES, (window_bytes + unit - 1) // unit, payload_bytes,
    )
    return TRANSPORT_AT + TCP_BYTES + options_bytes


cdef int32_t headers_syn(
    uint8_t* frame, endpoint_t* source, const endpoint_t* target, bint answers, int32_t window_bytes,
    int32_t mss_bytes, int64_t now_ps,
) noexcept nogil:
    """All headers of a SYN, or of the SYN that answers one; returns the frame's length. Its window is not scaled."""
    cdef uint8_t* option = frame + TRANSPORT_AT + TCP_BYTES
    cdef int32_t n
    fields_put16(option, OPTION_MSS << 8 | 4)
    fields_put16(option + 2, mss_bytes)
    n = 4 + headers_timestamps(option + 4, source, now_ps)
    fields_put16(option + n, OPTION_NOP << 8 | OPTION_WINDOW_SCALE)
    fields_put16(option + n + 2, 3 << 8 | source.window_shift)
    n += 4
    if answers:
        source.last_ack = target.first_sequence + 1
    headers_tcp_fixed(
        frame, source, target, source.first_sequence, source.last_ack if answers else 0, n,
        TCP_SYN | (TCP_ACKNOWLEDGES if answers else 0), window_bytes, 0,
    )
    return TRANSPORT_AT + TCP_BYTES + n
