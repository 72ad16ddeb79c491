"""A bytes run: what driver and chip do to the memory that the descriptors of `VelocityHost` point at.

Each method does its part and leaves every decision and all time to the timing model, so a run with bytes has the same
events as one without, whatever the bytes say.

Transmit
    1. `xmit` fills the buffers of the descriptor. The checksum field of a whole packet holds the sum of its
       pseudo-header, and the descriptor asks the chip for the rest.
    2. `fetch`: the chip collects the buffers and completes the checksums it was asked for.
    3. The frame passes the wiretap.
Receive
    1. `deliver`: the chip checks IPv4 and, in whole packets, TCP or UDP. It writes the frame into the next buffer and
       what it found into the descriptor.
    2. `netif_rx`: short frames are copied, others give their buffer away; the driver vouches by its rule (patch 1).
    3. `soft_done`: the stack takes the frame.

Not modelled: payload is written when its frame is posted, not when the process copies it; only its position counts.

Source
------
Command and status bits: via-velocity.h of Linux (TCR0, CSM); if_vgereg.h of FreeBSD has the same.
"""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy
from nicperf.drivers._velocity cimport (
    DMA_TX, FRAME_SPACE_BYTES, TX_COMMAND_SHIFT, VelocityHost, rx_descriptor_t, tx_descriptor_t,
)
from nicperf.packets._checksum cimport checksum_add
from nicperf.packets._dissection cimport dissection_read, dissection_t
from nicperf.packets._fields cimport fields_put16
from nicperf.packets._handshake cimport handshake_show
from nicperf.packets._headers cimport (
    IPV4_AT, IPV4_BYTES, IPV4_CHECKSUM_AT, PROTOCOL_TCP, PROTOCOL_UDP, TCP_BYTES, TCP_CHECKSUM_AT, TRANSPORT_AT,
    UDP_CHECKSUM_AT, endpoint_init, headers_complete,
)
from nicperf.packets._payload cimport payload_fill
from nicperf.packets._wiretap cimport Wiretap
from nicperf.parts._fifo cimport fifo_first
from nicperf.parts._frames cimport FRAME_POOL, UDP_FRAGMENT, frame_t
from nicperf.stack._content cimport content_headers, content_offloaded, content_position, content_receive
from nicperf.stack._host cimport SOFT_BACKLOG, Host, packet_t

cdef enum:
    RX_BUFFERS = 8192                   # more than ring and backlog hold: each is consumed before it is allocated again
    RX_BUFFER_BYTES = 2048
    RX_BUFFERS_AT = FRAME_POOL * FRAME_SPACE_BYTES


cdef class VelocityBytesHost(VelocityHost):

    def __cinit__(self, *args, **kwargs):
        self.memory = <uint8_t*>calloc(RX_BUFFERS_AT + RX_BUFFERS * RX_BUFFER_BYTES, 1)
        self.rx_data = <uint32_t*>calloc(FRAME_POOL, sizeof(uint32_t))
        self.rx_vouched = <uint8_t*>calloc(FRAME_POOL, 1)
        if self.memory == NULL or self.rx_data == NULL or self.rx_vouched == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.memory)
        free(self.rx_data)
        free(self.rx_vouched)

    cdef void power_up(self) noexcept nogil:
        cdef int32_t i
        for i in range(self.p.rx_ring):
            self.rx_ring[i].address_low = self.rx_allocate()
        VelocityHost.power_up(self)

    cdef uint32_t rx_allocate(self) noexcept nogil:
        self.rx_fresh = (self.rx_fresh + 1) % RX_BUFFERS
        return RX_BUFFERS_AT + self.rx_fresh * RX_BUFFER_BYTES + self.rx_offset()

    # Bytes move when the event comes that ends their move.

    cdef void dma_done(self) noexcept nogil:
        if self.dma.current == DMA_TX:
            self.fetch()
        else:
            self.deliver()
        VelocityHost.dma_done(self)

    cdef void wire_done(self) noexcept nogil:
        cdef int32_t frame = fifo_first(&self.tx_fifo)
        self.wire.see(self.q.now_ps, self.is_local, self.wire.frame(frame), self.frames.frame[frame].length_bytes)
        VelocityHost.wire_done(self)

    # transmit --------------------------------------------------------------------------------------------------------

    cdef void xmit(self, packet_t* p) noexcept nogil:
        cdef int32_t at = self.tx_driver
        VelocityHost.xmit(self, p)
        self.fill(&self.tx_ring[at], &self.frames.frame[self.tx_frame[at]])

    cdef void fill(self, tx_descriptor_t* d, const frame_t* f) noexcept nogil:
        cdef uint8_t* head = self.memory + d.buffer[0].address_low
        cdef int64_t position = content_position(&self.content, f)
        cdef int32_t written = content_headers(&self.content, head, f, self.q.now_ps)
        cdef int32_t i, room
        for i in range(<int32_t>(d.word1 >> TX_COMMAND_SHIFT) - 1):
            room = d.buffer[i].size - written
            payload_fill(self.memory + d.buffer[i].address_low + written, position, room)
            position += room
            written = 0
        if content_offloaded(f):
            d.word1 |= TX_COMMAND_IPV4_CHECKSUM
            d.word1 |= TX_COMMAND_UDP_CHECKSUM if f.kind == UDP_FRAGMENT else TX_COMMAND_TCP_CHECKSUM

    cdef void fetch(self) noexcept nogil:
        cdef tx_descriptor_t* d = &self.tx_ring[self.tx_nic]
        cdef uint8_t* frame = self.wire.frame(self.tx_frame[self.tx_nic])
        cdef bint udp = d.word1 & TX_COMMAND_UDP_CHECKSUM != 0
        cdef int32_t i, n = 0
        for i in range(<int32_t>(d.word1 >> TX_COMMAND_SHIFT) - 1):
            memcpy(frame + n, self.memory + d.buffer[i].address_low, d.buffer[i].size)
            n += d.buffer[i].size
        if d.word1 & TX_COMMAND_IPV4_CHECKSUM:
            fields_put16(frame + IPV4_CHECKSUM_AT, 0)
            headers_complete(frame + IPV4_CHECKSUM_AT, checksum_add(0, frame + IPV4_AT, IPV4_BYTES), False)
        if udp or d.word1 & TX_COMMAND_TCP_CHECKSUM:
            headers_complete(
                frame + (UDP_CHECKSUM_AT if udp else TCP_CHECKSUM_AT),
                checksum_add(0, frame + TRANSPORT_AT, n - TRANSPORT_AT), udp,
            )

    # receive ---------------------------------------------------------------------------------------------------------

    cdef void deliver(self) noexcept nogil:
        cdef rx_descriptor_t* d = &self.rx_ring[self.rx_nic]
        cdef int32_t index = fifo_first(&self.rx_fifo)
        cdef int32_t length_bytes = self.frames.frame[index].length_bytes
        cdef const uint8_t* frame = self.wire.frame(index)
        cdef dissection_t found
        dissection_read(&found, frame, length_bytes)
        d.word1 = (RX_IPV4 if found.protocol else 0) | (RX_IPV4_GOOD if found.ipv4_good else 0)
        if found.fragment:
            d.word1 |= RX_FRAGMENT
        else:
            d.word1 |= RX_TCP if found.protocol == PROTOCOL_TCP else RX_UDP if found.protocol == PROTOCOL_UDP else 0
            d.word1 |= RX_TRANSPORT_GOOD if found.transport_good else 0
        memcpy(self.memory + d.address_low, frame, length_bytes)

    cdef void netif_rx(self, int32_t frame) noexcept nogil:
        cdef rx_descriptor_t* d = &self.rx_ring[self.rx_clean]
        cdef int32_t length_bytes = self.frames.frame[frame].length_bytes
        cdef uint32_t fresh = self.rx_allocate()
        if length_bytes < self.p.copybreak_bytes:
            memcpy(self.memory + fresh, self.memory + d.address_low, length_bytes)
            self.rx_data[frame] = fresh
        else:
            self.rx_data[frame] = d.address_low
            d.address_low = fresh
        self.rx_vouched[frame] = self.vouches(d.word1)
        Host.netif_rx(self, frame)

    cdef bint vouches(self, uint32_t found) noexcept nogil:
        """Mainline trusts a good IPv4 header where the chip looks no further, as in fragments; VIA's rule does not."""
        if not found & RX_IPV4_GOOD:
            return False
        if found & (RX_TCP | RX_UDP):
            return found & RX_TRANSPORT_GOOD != 0
        return self.set.fragments_verified

    cdef void soft_done(self) noexcept nogil:
        cdef int32_t frame = self.soft_frame
        if self.soft_job == SOFT_BACKLOG:
            content_receive(
                &self.content, self.memory + self.rx_data[frame], &self.frames.frame[frame], self.rx_vouched[frame],
            )
        Host.soft_done(self)


cdef int velocity_bytes_connect(
    VelocityBytesHost local, VelocityBytesHost remote, Wiretap wire, bint tcp,
) except -1:
    """Lay a tapped wire between two hosts whose parameters are in place; with TCP, show how their connection began."""
    cdef VelocityBytesHost host, other
    cdef int32_t side
    wire.lay(FRAME_POOL)
    for side in range(2):
        host, other = (remote, local) if side else (local, remote)
        host.wire = wire
        host.is_local = side == 0
        host.content.set = &host.set
        host.content.stats = &wire.stats[side]
        host.content.other = &other.content.me
        endpoint_init(
            &host.content.me, side + 1, host.set.header_bytes > TRANSPORT_AT + TCP_BYTES, host.set.receive_buffer_bytes,
        )
    if tcp:
        handshake_show(
            wire, &local.content.me, &remote.content.me, <int32_t>local.set.receive_buffer_bytes,
            <int32_t>remote.set.receive_buffer_bytes, local.set.mtu_bytes - IPV4_BYTES - TCP_BYTES,
        )
    return 0
