"""Segmentation of real bytes, as Linux, its drivers and DPDK do it."""
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

from enum import IntFlag

import numpy as np

from nicperf.errors import FrameError, ScenarioError, closest
from nicperf.packets._checksum cimport checksum_add, checksum_copy, checksum_fold
from nicperf.packets._fields cimport fields_get16, fields_get32, fields_put16, fields_put32
from nicperf.packets._headers cimport (
    ETHERNET_BYTES, ETHERTYPE_IPV4, IPV4_BYTES, IPV4_MORE_FRAGMENTS, IPV4_OFFSET_MASK, PROTOCOL_TCP, PROTOCOL_UDP, TCP_BYTES,
    UDP_BYTES,
)

cdef enum:
    ETHERTYPE_IPV6 = 0x86DD
    ETHERTYPE_VLAN = 0x8100
    ETHERTYPE_SERVICE_VLAN = 0x88A8
    VLAN_BYTES = 4
    VLAN_TAGS = 8                       # Linux looks no deeper
    IPV6_BYTES = 40
    IPV6_HOP_BY_HOP = 0
    IPV6_FRAGMENT = 44
    IPV6_DESTINATION_OPTIONS = 60
    IPV6_FRAGMENT_BYTES = 8
    IP_LONGEST = 0xFFFF                 # what the length field can say
    IP_SUPER_LONGEST = 8 * 0xFFFF       # Linux' GSO_MAX_SIZE
    MSS_LONGEST = 0xFFFE                # in Linux 0xFFFF stands for "by fragments"
    FRAGMENT_UNIT_BYTES = 8
    UDP_SEGMENTS = 128                  # Linux' UDP_MAX_SEGMENTS

cdef enum:
    TCP_FIN = 0x01
    TCP_RST = 0x04
    TCP_PSH = 0x08
    TCP_CWR = 0x80


# The plan ---------------------------------------------------------------------------------------------------------------

cdef bint segment_fails(segment_plan_t* p, segment_problem problem, int64_t detail) noexcept nogil:
    p.problem = problem
    p.detail = detail
    return False


cdef bint segment_reaches(segment_plan_t* p, int64_t n_bytes, int64_t head_bytes, int64_t frame_bytes) noexcept nogil:
    """Whether the headers may be read up to there."""
    if n_bytes > frame_bytes:
        return segment_fails(p, SEGMENT_TRUNCATED, frame_bytes)
    if n_bytes > head_bytes:
        return segment_fails(p, SEGMENT_HEADERS_SPLIT, head_bytes)
    return True


cdef bint segment_plan(
    segment_plan_t* p, const segment_rules_t* rules, const uint8_t* head, int64_t head_bytes, int64_t frame_bytes,
) noexcept nogil:
    cdef int64_t at = ETHERNET_BYTES, ip_bytes, told, whole, longest, unit
    cdef int32_t tags = 0, protocol
    cdef bint options = False
    cdef const uint8_t* ip
    cdef uint8_t* own
    p.rules = rules[0]
    p.problem = SEGMENT_FINE
    p.fragmented = False
    p.first_bytes = 0
    p.first_only = p.last_only = p.flags = 0
    p.sequence = p.id = 0
    p.network_sum = 0
    if not 1 <= rules.mss_bytes <= MSS_LONGEST:
        return segment_fails(p, SEGMENT_MSS, rules.mss_bytes)

    if not segment_reaches(p, at, head_bytes, frame_bytes):
        return False
    while fields_get16(head + at - 2) == ETHERTYPE_VLAN or fields_get16(head + at - 2) == ETHERTYPE_SERVICE_VLAN:
        tags += 1
        if tags > VLAN_TAGS:
            return segment_fails(p, SEGMENT_TAGS, tags)
        at += VLAN_BYTES
        if not segment_reaches(p, at, head_bytes, frame_bytes):
            return False
    p.network_at = <int32_t>at
    p.ipv6 = fields_get16(head + at - 2) == ETHERTYPE_IPV6
    if not p.ipv6 and fields_get16(head + at - 2) != ETHERTYPE_IPV4:
        return segment_fails(p, SEGMENT_ETHERTYPE, fields_get16(head + at - 2))

    ip = head + at
    at += IPV6_BYTES if p.ipv6 else IPV4_BYTES
    if not segment_reaches(p, at, head_bytes, frame_bytes):
        return False
    if ip[0] >> 4 != (6 if p.ipv6 else 4):
        return segment_fails(p, SEGMENT_IP_VERSION, ip[0] >> 4)
    if p.ipv6:
        ip_bytes = frame_bytes - at
        told = fields_get16(ip + 4)
        protocol = ip[6]
        while protocol == IPV6_HOP_BY_HOP or protocol == IPV6_DESTINATION_OPTIONS:
            options = True
            if not segment_reaches(p, at + 8, head_bytes, frame_bytes):
                return False
            protocol = head[at]
            at += 8 * (head[at + 1] + 1)
            if not segment_reaches(p, at, head_bytes, frame_bytes):
                return False
        if protocol == IPV6_FRAGMENT:
            return segment_fails(p, SEGMENT_IS_FRAGMENT, 0)
    else:
        if (ip[0] & 15) * 4 < IPV4_BYTES:
            return segment_fails(p, SEGMENT_IPV4_HEADER, ip[0] & 15)
        at = p.network_at + (ip[0] & 15) * 4
        if not segment_reaches(p, at, head_bytes, frame_bytes):
            return False
        ip_bytes = frame_bytes - p.network_at
        told = fields_get16(ip + 2)
        protocol = ip[9]
        if fields_get16(ip + 6) & (IPV4_MORE_FRAGMENTS | IPV4_OFFSET_MASK):
            return segment_fails(p, SEGMENT_IS_FRAGMENT, fields_get16(ip + 6))
        p.id = <uint16_t>fields_get16(ip + 4)
    if ip_bytes > IP_SUPER_LONGEST:
        return segment_fails(p, SEGMENT_FRAME_LONG, ip_bytes)
    # "BIG TCP": what is too long for the field says zero.
    if told != ip_bytes and not (told == 0 and ip_bytes > IP_LONGEST):
        return segment_fails(p, SEGMENT_IP_LENGTH, told)

    p.transport_at = <int32_t>at
    p.tcp = protocol == PROTOCOL_TCP
    if not p.tcp and protocol != PROTOCOL_UDP:
        return segment_fails(p, SEGMENT_PROTOCOL, protocol)
    if not segment_reaches(p, at + (TCP_BYTES if p.tcp else UDP_BYTES), head_bytes, frame_bytes):
        return False
    if p.tcp:
        if (head[at + 12] >> 4) * 4 < TCP_BYTES:
            return segment_fails(p, SEGMENT_TCP_HEADER, head[at + 12] >> 4)
        p.given_bytes = <int32_t>at + (head[at + 12] >> 4) * 4
        if not segment_reaches(p, p.given_bytes, head_bytes, frame_bytes):
            return False
        p.sequence = fields_get32(head + at + 4)
        p.flags = head[at + 13]
        p.last_only = TCP_FIN | TCP_PSH | (TCP_RST if rules.dialect == SEGMENT_TSO else 0)
        p.first_only = TCP_CWR if rules.dialect == SEGMENT_GSO else 0
    else:
        p.given_bytes = <int32_t>at + UDP_BYTES
        told = fields_get16(head + at + 4)
        if told != frame_bytes - at and not (told == 0 and frame_bytes - at > IP_LONGEST):
            return segment_fails(p, SEGMENT_UDP_LENGTH, told)
    if p.given_bytes > SEGMENT_HEADER_BYTES - IPV6_FRAGMENT_BYTES:
        return segment_fails(p, SEGMENT_HEADERS_LONG, p.given_bytes)

    # From here on it is known what the frame is; how many pieces does it become?
    p.header_bytes = p.given_bytes
    p.payload_bytes = whole = frame_bytes - p.given_bytes
    if rules.fragments and not p.tcp:
        unit = rules.mss_bytes & (FRAGMENT_UNIT_BYTES - 1)
        if unit or rules.mss_bytes < FRAGMENT_UNIT_BYTES:
            return segment_fails(p, SEGMENT_FRAGMENT_UNIT, rules.mss_bytes)
        whole += UDP_BYTES              # of which the first fragment holds the header
        p.fragmented = whole > rules.mss_bytes
    if p.fragmented:
        if ip_bytes > IP_LONGEST:
            return segment_fails(p, SEGMENT_FRAGMENT_LONG, ip_bytes)
        if options:
            return segment_fails(p, SEGMENT_FRAGMENT_OPTIONS, ip[6])
        if rules.checksums == SEGMENT_PARTIAL:
            return segment_fails(p, SEGMENT_FRAGMENT_CHECKSUM, 0)
        p.first_bytes = UDP_BYTES
        p.header_bytes += (IPV6_FRAGMENT_BYTES if p.ipv6 else 0) - UDP_BYTES
    p.segments = max((whole + rules.mss_bytes - 1) // rules.mss_bytes, 1)
    if not p.tcp and not p.fragmented and p.segments > UDP_SEGMENTS:
        return segment_fails(p, SEGMENT_UDP_SEGMENTS, rules.mss_bytes)
    longest = p.header_bytes - p.network_at - (IPV6_BYTES if p.ipv6 else 0) + min(whole, rules.mss_bytes)
    if longest > IP_LONGEST:
        return segment_fails(p, SEGMENT_MSS_LONG, rules.mss_bytes)

    # A copy of the headers in which what every segment sets is zero, so that it can be summed once.
    own = p.header
    memcpy(own, head, p.given_bytes)
    if p.ipv6:
        fields_put16(own + p.network_at + 4, 0)
    else:
        memset(own + p.network_at + 2, 0, 6 if p.fragmented else 4)
    if p.fragmented and p.ipv6:
        memcpy(own + p.transport_at + IPV6_FRAGMENT_BYTES, head + p.transport_at, UDP_BYTES)
        own[p.network_at + 6] = IPV6_FRAGMENT
        own[p.transport_at] = PROTOCOL_UDP
        own[p.transport_at + 1] = 0
        fields_put16(own + p.transport_at + 2, 0)
        fields_put32(own + p.transport_at + 4, rules.fragment_id)
        p.transport_at += IPV6_FRAGMENT_BYTES
    if p.tcp:
        fields_put32(own + p.transport_at + 4, 0)
        own[p.transport_at + 13] = 0
    else:
        fields_put16(own + p.transport_at + 4, 0)
    # Addresses and protocol of the pseudo-header; the length follows with each segment.
    p.transport_sum = checksum_add(segment_word(protocol), ip + (8 if p.ipv6 else 12), 32 if p.ipv6 else 8)
    if rules.checksums == SEGMENT_NONE:
        return True
    if not p.ipv6:
        fields_put16(own + p.network_at + 10, 0)
        p.network_sum = checksum_add(0, own + p.network_at, p.transport_at - p.network_at)
    fields_put16(own + p.transport_at + (16 if p.tcp else 6), 0)
    if rules.checksums == SEGMENT_FULL:
        p.transport_sum = checksum_add(
            p.transport_sum, own + p.transport_at, p.header_bytes + p.first_bytes - p.transport_at)
    return True


# The segments -----------------------------------------------------------------------------------------------------------

cdef inline uint64_t segment_word(uint32_t value) noexcept nogil:
    """A 16-bit field as it enters a sum, which reads words in the machine's own byte order."""
    cdef uint8_t at[2]
    cdef uint16_t word
    fields_put16(at, value)
    memcpy(&word, at, 2)
    return word


cdef int32_t segment_header(const segment_plan_t* p, int64_t index, uint8_t* out, uint64_t data_sum) noexcept nogil:
    cdef int32_t header_bytes = p.header_bytes + (p.first_bytes if index == 0 else 0)
    cdef bint last = index == p.segments - 1, full = p.rules.checksums == SEGMENT_FULL
    cdef uint8_t* network = out + p.network_at
    cdef uint8_t* transport = out + p.transport_at
    cdef int64_t data_at = segment_data_at(p, index), ip_bytes
    cdef uint32_t field, id, sequence, flags
    cdef uint64_t total
    cdef uint16_t check
    memcpy(out, p.header, header_bytes)
    ip_bytes = header_bytes - p.network_at + segment_data_bytes(p, index)

    if p.ipv6:
        fields_put16(network + 4, <uint32_t>(ip_bytes - IPV6_BYTES))
        if p.fragmented:
            fields_put16(transport - 6, <uint32_t>(index * p.rules.mss_bytes) | (not last))
    else:
        id = p.id if p.rules.id_fixed or p.fragmented else p.id + <uint32_t>index
        fields_put16(network + 2, <uint32_t>ip_bytes)
        fields_put16(network + 4, id)
        total = p.network_sum + segment_word(<uint32_t>ip_bytes) + segment_word(id)
        if p.fragmented:
            field = <uint32_t>(index * p.rules.mss_bytes // FRAGMENT_UNIT_BYTES) | (0 if last else IPV4_MORE_FRAGMENTS)
            fields_put16(network + 6, field)
            total += segment_word(field)
        if p.rules.checksums != SEGMENT_NONE:
            check = ~checksum_fold(total)
            memcpy(network + 10, &check, 2)

    if p.fragmented:
        if index > 0:
            return header_bytes
        ip_bytes = p.payload_bytes + p.transport_at - p.network_at + UDP_BYTES      # of the whole datagram
    ip_bytes -= p.transport_at - p.network_at
    total = p.transport_sum + segment_word(<uint32_t>ip_bytes)
    if p.tcp:
        sequence = p.sequence + <uint32_t>data_at
        flags = p.flags & ~(0 if index == 0 else p.first_only) & ~(0 if last else p.last_only)
        fields_put32(transport + 4, sequence)
        transport[13] = <uint8_t>flags
        if full:
            total += data_sum + segment_word(sequence >> 16) + segment_word(sequence & 0xFFFF) + segment_word(flags)
        transport += 16
    else:
        fields_put16(transport + 4, <uint32_t>ip_bytes)
        if full:
            total += data_sum + segment_word(<uint32_t>ip_bytes)
        transport += 6
    if p.rules.checksums != SEGMENT_NONE:
        check = checksum_fold(total)
        if full:
            check = ~check
            if check == 0 and not p.tcp:        # in UDP zero means "none" (RFC 768), so its other form is sent
                check = 0xFFFF
        memcpy(transport, &check, 2)
    return header_bytes


# The payload, in one or several pieces of memory ------------------------------------------------------------------------

cdef struct piece_t:
    const uint8_t* data
    int64_t n_bytes

cdef struct walk_t:                     # a place in the payload
    const piece_t* piece
    int64_t at                          # in the piece


cdef int64_t walk_step(walk_t* walk, int64_t most_bytes, const uint8_t** data) noexcept nogil:
    """Move on to the end of the piece, but not further than asked; returns by how many bytes, which begin at `data`."""
    cdef int64_t n
    while walk.at == walk.piece.n_bytes:
        walk.piece += 1
        walk.at = 0
    n = min(most_bytes, walk.piece.n_bytes - walk.at)
    data[0] = walk.piece.data + walk.at
    walk.at += n
    return n


cdef uint64_t walk_sum(walk_t* walk, uint8_t* out, int64_t n_bytes) noexcept nogil:
    """Sum of the next bytes, which are copied to `out` unless that is NULL."""
    cdef uint64_t total = 0, part
    cdef int64_t done = 0, n
    cdef const uint8_t* data
    while done < n_bytes:
        n = walk_step(walk, n_bytes - done, &data)
        part = checksum_add(0, data, n) if out == NULL else checksum_copy(0, out + done, data, n)
        if done & 1:                    # every byte stands in the other half of its word
            part = checksum_fold(part)
            part = part >> 8 | (part & 0xFF) << 8
        total += part
        done += n
    return total


cdef void walk_copy(walk_t* walk, uint8_t* out, int64_t n_bytes) noexcept nogil:
    cdef int64_t done = 0, n
    cdef const uint8_t* data
    while done < n_bytes:
        n = walk_step(walk, n_bytes - done, &data)
        memcpy(out + done, data, n)
        done += n


cdef uint64_t segment_frame(
    const segment_plan_t* p, walk_t* walk, int64_t index, uint8_t* out, uint64_t data_sum,
) noexcept nogil:
    """Write the next frame; `data_sum` is what earlier fragments have summed to. Returns the sum of the payload so far."""
    cdef int32_t header_bytes = p.header_bytes + (p.first_bytes if index == 0 else 0)
    if p.rules.checksums == SEGMENT_FULL:
        data_sum += walk_sum(walk, out + header_bytes, segment_data_bytes(p, index))
    else:
        walk_copy(walk, out + header_bytes, segment_data_bytes(p, index))
    segment_header(p, index, out, data_sum)
    return data_sum


# The face. It keeps the GIL: a super-frame takes a few microseconds ------------------------------------------------------

class Descriptor(IntFlag):
    """Bits of a descriptor's `flags`."""

    FIRST = 1
    LAST = 2


cdef enum:
    DESCRIPTOR_FIRST = 1
    DESCRIPTOR_LAST = 2
    HEADER_AREA = -1

cdef packed struct descriptor_t:
    int32_t fragment
    uint32_t offset_bytes
    uint32_t length_bytes
    uint32_t flags

cdef object FROM_BUFFER = np.frombuffer
cdef object OFFSET = np.dtype(np.int64)
cdef object DESCRIPTOR = np.dtype([("fragment", "i4"), ("offset_bytes", "u4"), ("length_bytes", "u4"), ("flags", "u4")])

cdef dict DIALECTS = {"gso": SEGMENT_GSO, "tso": SEGMENT_TSO, "dpdk": SEGMENT_DPDK}
cdef dict CHECKSUMS = {"full": SEGMENT_FULL, "partial": SEGMENT_PARTIAL, "none": SEGMENT_NONE}
cdef dict IP_IDS = {"increment": False, "fixed": True}
cdef dict UDP = {"segment": False, "fragment": True}

# Where it stands, what is wrong, and the cure; parameters are marked by the other kind of error.
cdef dict PROBLEMS = {
    SEGMENT_TRUNCATED: (FrameError, "length_bytes", "the frame ends inside its headers", "give the whole frame, without FCS"),
    SEGMENT_HEADERS_SPLIT: (
        FrameError, "length_bytes", "the first piece of memory ends inside the headers", "join it with the next one"),
    SEGMENT_HEADERS_LONG: (
        FrameError, "header_bytes", f"the headers do not fit the {SEGMENT_HEADER_BYTES} bytes that drivers keep for them",
        f"at most {SEGMENT_HEADER_BYTES - IPV6_FRAGMENT_BYTES} bytes, and {IPV6_FRAGMENT_BYTES} to make it a fragment"),
    SEGMENT_TAGS: (FrameError, "vlan.tags", "Linux follows no more than 8 VLAN tags", "take some off"),
    SEGMENT_ETHERTYPE: (FrameError, "ethernet.type", "neither IPv4 nor IPv6", "only these (2048, 34525) can be segmented"),
    SEGMENT_IP_VERSION: (FrameError, "ip.version", "the EtherType says another version", "repair one of the two"),
    SEGMENT_IPV4_HEADER: (FrameError, "ipv4.ihl", "an IPv4 header has at least five words", "set it to 5 plus the options"),
    SEGMENT_IP_LENGTH: (
        FrameError, "ip.length", "the IP header tells another length than the frame has",
        "take off padding and FCS, or set it to what follows; zero stands only for more than 65535 bytes"),
    SEGMENT_FRAME_LONG: (
        FrameError, "ip.length", "longer than any super-frame of Linux", f"at most {IP_SUPER_LONGEST} bytes behind Ethernet"),
    SEGMENT_IS_FRAGMENT: (
        FrameError, "ip.fragment", "a fragment of a packet cannot be segmented", "segment before fragmenting"),
    SEGMENT_PROTOCOL: (
        FrameError, "ip.protocol", "neither TCP nor UDP",
        "of the IPv6 extension headers, hop-by-hop and destination options may stand before these (6, 17)"),
    SEGMENT_TCP_HEADER: (FrameError, "tcp.doff", "a TCP header has at least five words", "set it to 5 plus the options"),
    SEGMENT_UDP_LENGTH: (
        FrameError, "udp.length", "the UDP header tells another length than the frame has", "set it to 8 plus the payload"),
    SEGMENT_MSS: (ScenarioError, "mss", f"out of range 1..{MSS_LONGEST}", "payload bytes of a segment, headers not counted"),
    SEGMENT_MSS_LONG: (
        ScenarioError, "mss", "a segment would be longer than an IP packet can be", "leave room for the headers in 65535 bytes"),
    SEGMENT_UDP_SEGMENTS: (
        ScenarioError, "mss", f"Linux makes no more than {UDP_SEGMENTS} datagrams out of one", "take a larger one"),
    SEGMENT_FRAGMENT_UNIT: (
        ScenarioError, "mss", "the fragment offset counts 8 bytes, so Linux would send the data to wrong places",
        "take a multiple of 8"),
    SEGMENT_FRAGMENT_CHECKSUM: (
        ScenarioError, "checksums", "no NIC can complete a checksum that covers several fragments", "take 'full'"),
    SEGMENT_FRAGMENT_OPTIONS: (
        FrameError, "ipv6.next_header", "a datagram behind extension headers is not fragmented here", "take them off"),
    SEGMENT_FRAGMENT_LONG: (FrameError, "ip.length", "longer than a datagram can be", "at most 65535 bytes of IP packet"),
}


cdef object choice(str field, dict known, name):
    try:
        return known[name]
    except (KeyError, TypeError):
        raise ScenarioError("unknown", field=field, value=name, cure=closest(str(name), known)) from None


cdef class Segments:
    """What became of a super-frame. Everything is made when it is first asked for, out of the memory given to `segment`.

    Attributes
    ----------
    buffer : bytes
        All frames, one behind the other, without padding and FCS.
    offsets : int64 array, shape (n + 1,)
        Frame i is ``buffer[offsets[i]:offsets[i + 1]]``.
    headers : bytes
        The header area of a driver: one slot for each segment, all of the same size. Of several UDP fragments only the first has
        the UDP header; in the other slots its place is zero.
    descriptors : structured array
        What a driver posts, in the order of the ring: one descriptor for the headers of a segment, then one for each piece of
        memory its payload lies in. Fields: ``fragment``, the piece of the super-frame as given to `segment`, or -1 for
        `headers`; ``offset_bytes`` in that; ``length_bytes``; ``flags``, bits of `Descriptor`: ``FIRST`` and ``LAST`` of a
        segment. There are never more than two for each segment and one more for each piece.
    """

    cdef segment_plan_t plan
    cdef Py_buffer view                 # the usual case of one piece needs no memory of its own
    cdef piece_t piece
    cdef Py_buffer* views
    cdef piece_t* pieces                # the payload: headers taken off the first
    cdef int64_t n_views
    cdef object _buffer, _offsets, _headers, _descriptors

    def __init__(self):
        raise TypeError("nicperf.segment makes these")

    def __dealloc__(self):
        cdef int64_t i
        for i in range(self.n_views):
            PyBuffer_Release(&self.views[i])
        if self.views != &self.view:
            free(self.views)
            free(self.pieces)

    cdef int hold(self, frame) except -1:
        """Keep a view of each piece of the super-frame."""
        cdef tuple several = tuple(frame) if isinstance(frame, (list, tuple)) else (frame,)
        cdef int64_t i
        if not several:
            raise FrameError("no frame at all", field="frame", value=frame, cure="give bytes, or pieces that hold some")
        if len(several) == 1:
            self.views, self.pieces = &self.view, &self.piece
        else:
            self.views = <Py_buffer*>calloc(len(several), sizeof(Py_buffer))
            self.pieces = <piece_t*>calloc(len(several), sizeof(piece_t))
            if self.views == NULL or self.pieces == NULL:
                raise MemoryError
        for i in range(len(several)):
            PyObject_GetBuffer(several[i], &self.views[i], PyBUF_SIMPLE)
            self.n_views += 1
            self.pieces[i].data = <const uint8_t*>self.views[i].buf
            self.pieces[i].n_bytes = self.views[i].len
        return 0

    cdef int lay(self, const segment_rules_t* rules) except -1:
        """Make the plan, or say what stands in its way."""
        cdef int64_t frame_bytes = 0, i
        for i in range(self.n_views):
            frame_bytes += self.pieces[i].n_bytes
        if not segment_plan(&self.plan, rules, self.pieces[0].data, self.pieces[0].n_bytes, frame_bytes):
            kind, field, problem, cure = PROBLEMS[self.plan.problem]
            value = "partial" if self.plan.problem == SEGMENT_FRAGMENT_CHECKSUM else self.plan.detail
            raise kind(problem, place="segment", field=field, value=value, cure=cure)
        self.pieces[0].data += self.plan.given_bytes
        self.pieces[0].n_bytes -= self.plan.given_bytes
        return 0

    cdef walk_t start(self) noexcept nogil:
        cdef walk_t walk
        walk.piece = self.pieces
        walk.at = 0
        return walk

    cdef int64_t frame_at(self, int64_t index) noexcept nogil:
        """Place of a frame in `buffer`."""
        cdef int64_t last = self.plan.segments * self.plan.header_bytes + self.plan.first_bytes + self.plan.payload_bytes
        return min(index * (self.plan.header_bytes + self.plan.rules.mss_bytes), last)

    def __len__(self):
        return self.plan.segments

    def __repr__(self):
        return f"<Segments: {self.plan.segments} frames, {self.plan.payload_bytes} bytes of payload>"

    @property
    def buffer(self):
        cdef uint8_t* out
        if self._buffer is None:
            buffer = PyBytes_FromStringAndSize(NULL, self.frame_at(self.plan.segments))
            out = <uint8_t*>PyBytes_AS_STRING(buffer)
            self.fill(out)
            self._buffer = buffer
        return self._buffer

    cdef void fill(self, uint8_t* out) noexcept nogil:
        cdef walk_t walk = self.start()
        cdef int64_t i
        cdef uint64_t total = 0
        for i in range(self.plan.segments):
            total = segment_frame(&self.plan, &walk, i, out + self.frame_at(i), total if self.plan.fragmented else 0)
        if self.plan.fragmented:        # now that the whole datagram has been summed
            segment_header(&self.plan, 0, out, total)

    @property
    def offsets(self):
        cdef int64_t* at
        cdef int64_t i
        if self._offsets is None:
            offsets = PyBytes_FromStringAndSize(NULL, (self.plan.segments + 1) * <int64_t>sizeof(int64_t))
            at = <int64_t*>PyBytes_AS_STRING(offsets)
            for i in range(self.plan.segments + 1):
                at[i] = self.frame_at(i)
            self._offsets = FROM_BUFFER(offsets, OFFSET)
        return self._offsets

    def frames(self):
        """Each frame by itself, without padding and FCS, as a list of bytes."""
        cdef walk_t walk = self.start()
        cdef int64_t i
        cdef uint64_t total = 0
        cdef list frames = []
        for i in range(self.plan.segments):
            frame = PyBytes_FromStringAndSize(NULL, self.frame_at(i + 1) - self.frame_at(i))
            total = segment_frame(
                &self.plan, &walk, i, <uint8_t*>PyBytes_AS_STRING(frame), total if self.plan.fragmented else 0)
            frames.append(frame)
        if self.plan.fragmented:
            segment_header(&self.plan, 0, <uint8_t*>PyBytes_AS_STRING(frames[0]), total)
        return frames

    @property
    def headers(self):
        if self._headers is None:
            self.post()
        return self._headers

    @property
    def descriptors(self):
        if self._descriptors is None:
            self.post()
        return self._descriptors

    cdef int post(self) except -1:
        cdef int64_t n_bytes = self.plan.segments * (self.plan.header_bytes + self.plan.first_bytes)
        headers = PyBytes_FromStringAndSize(NULL, n_bytes)
        rows = PyBytes_FromStringAndSize(NULL, self.count() * <int64_t>sizeof(descriptor_t))
        cdef uint8_t* area = <uint8_t*>PyBytes_AS_STRING(headers)
        cdef descriptor_t* row = <descriptor_t*>PyBytes_AS_STRING(rows)
        if self.plan.fragmented:
            memset(area, 0, n_bytes)
        self.describe(area, row)
        self._headers, self._descriptors = headers, FROM_BUFFER(rows, DESCRIPTOR)
        return 0

    cdef int64_t count(self) noexcept nogil:
        """Descriptors: a segment's data are cut in two where a new piece of memory begins inside them."""
        cdef int64_t n = 2 * self.plan.segments, i, at = 0
        n -= segment_data_bytes(&self.plan, 0) == 0     # an empty one, or a fragment filled by the UDP header
        for i in range(self.n_views - 1):
            at += self.pieces[i].n_bytes
            if self.pieces[i].n_bytes > 0 and at < self.plan.payload_bytes:
                n += (at + self.plan.first_bytes) % self.plan.rules.mss_bytes != 0
        return n

    cdef void describe(self, uint8_t* headers, descriptor_t* row) noexcept nogil:
        cdef const segment_plan_t* p = &self.plan
        cdef walk_t walk = self.start(), ahead = walk
        cdef int64_t i, left, n, stride = p.header_bytes + p.first_bytes
        cdef uint64_t total = 0
        cdef const uint8_t* data
        for i in range(p.segments):
            left = segment_data_bytes(p, i)
            if p.rules.checksums == SEGMENT_FULL:
                total = walk_sum(&ahead, NULL, left) + (total if p.fragmented else 0)
            row.fragment = HEADER_AREA
            row.offset_bytes = <uint32_t>(i * stride)
            row.length_bytes = segment_header(p, i, headers + i * stride, total)
            row.flags = DESCRIPTOR_FIRST
            while left:
                n = walk_step(&walk, left, &data)
                row += 1
                row.fragment = <int32_t>(walk.piece - self.pieces)
                row.offset_bytes = <uint32_t>(data - <const uint8_t*>self.views[row.fragment].buf)
                row.length_bytes = <uint32_t>n
                row.flags = 0
                left -= n
            row.flags |= DESCRIPTOR_LAST
            row += 1
        if p.fragmented:
            segment_header(p, 0, headers, total)


def segment(
    frame, int64_t mss, *, dialect="gso", checksums="full", ip_id="increment", udp="segment", uint32_t fragment_id=0,
):
    """Cut a TCP or UDP super-frame into frames for the wire, byte for byte as the kernel does it.

    Parameters
    ----------
    frame : bytes-like, or list or tuple of bytes-like
        Ethernet frame without FCS: VLAN tags, IPv4 with options or IPv6 with hop-by-hop and destination options, TCP with options
        or UDP, payload. In several pieces, as an skb has its linear part and fragments, the first must hold all headers. What
        the frame says in the fields that are made new (checksums, IPv4 flags of a datagram to be fragmented) does not matter.
    mss : int
        Payload bytes of every segment but the last, 1..65534; with ``udp="fragment"``, bytes behind the IP header of every
        fragment, a multiple of 8. A frame that needs no cutting comes out as one, its checksums made.
    dialect : {"gso", "tso", "dpdk"}
        Whose rules the TCP flags follow. All keep PSH and FIN for the last segment only. ``gso`` is Linux before the driver: CWR
        stays on the first only. ``tso``, Linux inside the driver (net/core/tso.c), keeps RST for the last segment only
        and CWR on all. ``dpdk`` (librte_gso) keeps RST and CWR on all. The other flags stay on all in all three.
    checksums : {"full", "partial", "none"}
        ``full`` for finished checksums; ``partial`` for finished ones in IPv4 and the sum of the pseudo-header, not complemented,
        in TCP and UDP, for a NIC to complete; ``none`` leaves what the super-frame has, as ``tso`` and ``dpdk`` do.
    ip_id : {"increment", "fixed"}
        Whether the IPv4 identification counts up, modulo 65536. Fragments of one datagram share it in any case.
    udp : {"segment", "fragment"}
        Whether the payload of UDP becomes datagrams of their own (UDP_SEGMENT, USO) or IP fragments of the one datagram (UFO).
    fragment_id : int
        Identification of IPv6 fragments; Linux takes an unpredictable one.

    Returns
    -------
    Segments
        ``frames()``, ``buffer`` with ``offsets``, ``headers`` with ``descriptors``. It refers to the memory of `frame`, as
        descriptors do: do not change that before you have read what you want.

    Raises
    ------
    FrameError
        The frame is truncated, contradicts itself or is none that can be segmented. Linux drops those, or sends broken ones.
    ScenarioError
        An unknown choice, or an `mss` that this frame cannot have.
    TypeError, BufferError
        Not bytes-like, or not contiguous.

    Notes
    -----
    Linux drops a frame with GSO set whose payload already fits into `mss` (it expects none there); here it comes out whole.
    Not modelled: tunnels, SCTP, IPv6 routing headers and the home address option (they change what is summed), accurate ECN
    (which keeps CWR on all segments), UDP without checksum (one is made).
    Checked by tests/oracle/test_kernel_segmentation.py: the running kernel segments the same super-frames.

    Source
    ------
    Linux 6.18 by its behaviour; Documentation/networking/segmentation-offloads.rst; net/core/tso.c; DPDK Programmer's Guide,
    "Generic Segmentation Offload Library". Checksums: RFC 1071, 9293 (3.1), 768, 8200 (4.5 and 8.1).

    Examples
    --------
    >>> head = bytes.fromhex("020000000002 020000000001 0800"
    ...                      "4500 0bde 0001 4000 40 06 0000 c0000201 c0000202"
    ...                      "c001 c002 000f4241 001e8481 5018 ffff 0000 0000")
    >>> [len(frame) for frame in segment(head + bytes(2998), 1460).frames()]
    [1514, 1514, 132]
    """
    cdef segment_rules_t rules
    cdef Segments segments = Segments.__new__(Segments)
    rules.mss_bytes = mss
    rules.dialect = choice("dialect", DIALECTS, dialect)
    rules.checksums = choice("checksums", CHECKSUMS, checksums)
    rules.id_fixed = choice("ip_id", IP_IDS, ip_id)
    rules.fragments = choice("udp", UDP, udp)
    rules.fragment_id = fragment_id
    segments.hold(frame)
    segments.lay(&rules)
    return segments
