"""Headers that the stack builds, software checksums, and the receiving stack's checks.

Nothing here decides what happens or when, that is for the timing model: a damaged frame is counted, not dropped.
"""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from nicperf.packets._checksum cimport checksum_add
from nicperf.packets._dissection cimport datagram_add, datagram_good, dissection_read, dissection_t
from nicperf.packets._fields cimport fields_get32
from nicperf.packets._headers cimport (
    IPV4_BYTES, IPV4_DONT_FRAGMENT, IPV4_MORE_FRAGMENTS, PROTOCOL_TCP, PROTOCOL_UDP, TIMESTAMP_AT, TRANSPORT_AT,
    UDP_BYTES, UDP_CHECKSUM_AT, headers_complete, headers_ipv4, headers_tcp, headers_udp,
)
from nicperf.packets._payload cimport payload_matches, payload_sum
from nicperf.parts._frames cimport TCP_ACK, UDP_FRAGMENT, frame_t

cdef enum:
    DATAGRAM_SHIFT = 16                 # position of a datagram's byte: the datagram's number, then the place in it


cdef inline int32_t content_fragment_room(const content_t* c) noexcept nogil:
    return (c.set.mtu_bytes - IPV4_BYTES) & ~7


cdef int64_t content_position(const content_t* c, const frame_t* f) noexcept nogil:
    """Where the payload of a frame stands in all that its sender sends."""
    if f.kind != UDP_FRAGMENT:
        return f.sequence
    return (f.sequence << DATAGRAM_SHIFT) + max(f.index * content_fragment_room(c) - UDP_BYTES, 0)


cdef int32_t content_headers(content_t* c, uint8_t* head, const frame_t* f, int64_t now_ps) noexcept nogil:
    """Write all headers of a frame and return their length; a datagram in fragments is summed here."""
    cdef uint32_t place
    cdef int64_t window_bytes
    if f.kind != UDP_FRAGMENT:
        window_bytes = f.window_edge - f.ack if f.kind == TCP_ACK else c.set.receive_buffer_bytes
        return headers_tcp(
            head, &c.me, c.other, f.sequence, f.ack, <int32_t>window_bytes, now_ps, f.payload_bytes,
        )
    place = f.index * content_fragment_room(c) // 8
    if not f.last:
        place |= IPV4_MORE_FRAGMENTS
    elif f.index == 0:
        place |= IPV4_DONT_FRAGMENT
    headers_ipv4(head, &c.me, c.other, PROTOCOL_UDP, <uint32_t>f.sequence, place, f.payload_bytes)
    if f.index:
        return TRANSPORT_AT
    headers_udp(head, &c.me, c.other, c.set.message_bytes)
    if not f.last:
        headers_complete(head + UDP_CHECKSUM_AT, payload_sum(
            checksum_add(0, head + TRANSPORT_AT, UDP_BYTES), content_position(c, f), c.set.message_bytes,
        ), True)
    return TRANSPORT_AT + UDP_BYTES


cdef void content_receive(content_t* c, const uint8_t* frame, const frame_t* f, bint vouched) noexcept nogil:
    """The protocol takes a frame, for whose TCP or UDP checksum the driver has vouched or not."""
    cdef bint first_of_datagram = f.kind == UDP_FRAGMENT and f.index == 0
    cdef int32_t at = f.length_bytes - f.payload_bytes + (UDP_BYTES if first_of_datagram else 0)
    cdef bint wrong = not payload_matches(frame + at, content_position(c, f), f.length_bytes - at)
    cdef bint good
    cdef dissection_t found
    dissection_read(&found, frame, f.length_bytes)
    c.stats.frames += 1
    if not found.ipv4_good:                 # the stack sums these twenty bytes whatever hardware says
        c.stats.bad_checksums += 1
        return
    good = found.transport_good
    if found.fragment:
        datagram_add(&c.datagram, &found, frame, f.sequence, vouched, wrong)
        if not f.last or c.datagram.fragments <= f.index:
            return
        vouched, wrong, good = c.datagram.vouched, c.datagram.wrong, datagram_good(&c.datagram)
        c.datagram.fragments = 0
    if not vouched:
        c.stats.software_sums += 1
    if not vouched and not good:
        c.stats.bad_checksums += 1
    elif wrong:
        c.stats.bad_payloads += 1
    if c.me.timestamps and found.protocol == PROTOCOL_TCP:
        # RFC 7323, 4.3: echo the time of the segment that the last ACK asked for, or of an older one.
        if <int32_t>(fields_get32(frame + TRANSPORT_AT + 4) - c.me.last_ack) <= 0:
            c.me.echo = fields_get32(frame + TIMESTAMP_AT)
