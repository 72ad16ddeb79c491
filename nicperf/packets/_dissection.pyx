"""Checking checksums as receivers do: hardware per packet, the stack per packet or per datagram."""
from libc.stdint cimport int32_t, int64_t, uint8_t
from nicperf.packets._checksum cimport checksum_add, checksum_fold
from nicperf.packets._fields cimport fields_get16
from nicperf.packets._headers cimport (
    ETHERTYPE_IPV4, IPV4_AT, IPV4_BYTES, IPV4_MORE_FRAGMENTS, IPV4_OFFSET_MASK, IPV4_START, PROTOCOL_TCP,
    PROTOCOL_UDP, TRANSPORT_AT, headers_pseudo_sum,
)

cdef enum:
    ALL_ONES = 0xFFFF                   # what data and their right checksum add up to


cdef void dissection_read(dissection_t* d, const uint8_t* frame, int32_t length_bytes) noexcept nogil:
    cdef const uint8_t* ipv4 = frame + IPV4_AT
    d.protocol = 0
    d.fragment = d.ipv4_good = d.transport_good = False
    if fields_get16(frame + 12) != ETHERTYPE_IPV4 or ipv4[0] != IPV4_START:
        return
    d.protocol = ipv4[9]
    d.fragment = fields_get16(ipv4 + 6) & (IPV4_MORE_FRAGMENTS | IPV4_OFFSET_MASK) != 0
    d.ipv4_good = checksum_fold(checksum_add(0, ipv4, IPV4_BYTES)) == ALL_ONES
    # A damaged length must not lead beyond the frame.
    d.transport_bytes = min(<int32_t>fields_get16(ipv4 + 2) - IPV4_BYTES, length_bytes - TRANSPORT_AT)
    d.transport_bytes = max(d.transport_bytes, 0)
    d.transport_sum = checksum_add(0, frame + TRANSPORT_AT, d.transport_bytes)
    if d.protocol == PROTOCOL_TCP or d.protocol == PROTOCOL_UDP:
        d.transport_good = checksum_fold(headers_pseudo_sum(ipv4, d.transport_bytes) + d.transport_sum) == ALL_ONES


cdef void datagram_add(
    datagram_t* g, const dissection_t* d, const uint8_t* frame, int64_t number, bint vouched, bint wrong,
) noexcept nogil:
    """Add the next fragment; one of another datagram gives up what was there."""
    if g.fragments == 0 or g.number != number:
        g.number = number
        g.fragments = 0
        g.total = 0
        g.vouched = True
        g.wrong = False
    if fields_get16(frame + IPV4_AT + 6) & IPV4_OFFSET_MASK == 0:   # the first has the UDP header, in it the length
        g.total += headers_pseudo_sum(frame + IPV4_AT, fields_get16(frame + TRANSPORT_AT + 4))
    g.fragments += 1
    g.total += d.transport_sum
    g.vouched = g.vouched and vouched
    g.wrong = g.wrong or wrong


cdef bint datagram_good(const datagram_t* g) noexcept nogil:
    return checksum_fold(g.total) == ALL_ONES
