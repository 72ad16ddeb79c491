"""The PC of `desktop.py`, executed. The steps stand there; this file follows them in their order."""
from cython cimport final
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset
from nicperf.engine._ledger cimport (
    HARD_IRQ, OP_GRO, OP_GSO, OP_IRQ_ENTRY, OP_MMIO_WRITE, OP_POLL, OP_RX_REAP, OP_RX_REFILL, OP_SKB_ALLOC, OP_SKB_FREE,
    OP_TX_REAP, OP_XMIT, SOFT_IRQ, ledger_charge,
)
from nicperf.engine._queue cimport queue_pending, queue_set, queue_set_busy
from nicperf.engine._server cimport server_dispatch, server_finish, server_has, server_submit
from nicperf.parts._fifo cimport fifo_alloc, fifo_first, fifo_put, fifo_take
from nicperf.parts._frames cimport FRAME_POOL, frame_t, frames_give, frames_take
from nicperf.parts._ring cimport ring_next
from nicperf.stack._host cimport EVENT_RX_TIMER, EVENT_WIRE, cycles_ps

cdef enum:
    WIRE_OVERHEAD_BYTES = 24            # preamble 8, FCS 4, gap 12
    WIRE_SHORTEST_BYTES = 60            # header and padded payload, without FCS
    LARGEST_RING = 4096
    DESCRIPTOR_BYTES = 8192             # most payload of one descriptor
    LONGEST_CHAIN = 10                  # context, header, and 64 KiB of payload
    RX_GROUP = 16                       # receive buffers return so many at a time, or more
    POLL_BUDGET = 64


cdef class DesktopHost(Host):
    """A host with a gigabit controller: `arrive` and the device events come from the wire, `xmit` from the stack."""

    def __cinit__(self, *args, **kwargs):
        self.tx_owned = <uint8_t*>calloc(LARGEST_RING, 1)
        self.rx_owned = <uint8_t*>calloc(LARGEST_RING, 1)
        self.rx_frame = <int32_t*>calloc(LARGEST_RING, sizeof(int32_t))
        self.chain = <desktop_packet_t*>calloc(LARGEST_RING, sizeof(desktop_packet_t))
        if self.tx_owned == NULL or self.rx_owned == NULL or self.rx_frame == NULL or self.chain == NULL \
                or fifo_alloc(&self.tx_fifo, FRAME_POOL) < 0 or fifo_alloc(&self.rx_fifo, FRAME_POOL) < 0:
            raise MemoryError

    def __dealloc__(self):
        free(self.tx_owned)
        free(self.rx_owned)
        free(self.rx_frame)
        free(self.chain)
        free(self.tx_fifo.item)
        free(self.rx_fifo.item)

    cdef int configure(self, object spec, str workload) except -1:
        Host.configure(self, spec, workload)
        pc = spec.pc
        cdef double mhz = spec.cpu.frequency_mhz / spec.cpu.cycles_factor
        self.set.gso = True
        self.p.tso = pc.tso
        self.p.tx_ring = pc.tx_ring
        self.p.rx_ring = pc.rx_ring
        self.p.tx_fifo_bytes = pc.tx_fifo_bytes
        self.p.rx_fifo_bytes = pc.rx_fifo_bytes
        self.p.pause = pc.pause
        self.p.pause_above_bytes = pc.rx_fifo_bytes * 9 // 10
        self.p.hold_off_ps = <int64_t>(pc.hold_off_us * 1e6)
        self.p.dma_setup_ps = <int64_t>(pc.dma_setup_ns * 1000)
        self.p.dma_byte_ps = 1e6 / pc.dma_mbyte_s
        self.p.xmit = cycles_ps(pc.xmit_cycles, mhz)
        self.p.xmit_buffer = cycles_ps(pc.xmit_buffer_cycles, mhz)
        self.p.tx_reap = cycles_ps(pc.tx_reap_cycles, mhz)
        self.p.rx_reap = cycles_ps(pc.rx_reap_cycles, mhz)
        self.p.rx_refill = cycles_ps(pc.rx_refill_cycles, mhz)
        self.p.poll = cycles_ps(pc.poll_cycles, mhz)

        self.tx_free = self.p.tx_ring
        self.rx_credit = self.p.rx_ring
        memset(self.rx_owned, 1, self.p.rx_ring)
        self.irq_enabled = True
        return 0

    # what is counted -------------------------------------------------------------------------------------------------

    cdef void counted(self, int64_t* device, int64_t* bus) noexcept nogil:
        memcpy(device, &self.device_stats, sizeof(desktop_stats_t))

    cdef void levels(self, int64_t* row) noexcept nogil:
        row[0] = self.qdisc_count
        row[1] = self.p.tx_ring - self.tx_free
        row[2] = self.tx_fifo.count
        row[3] = self.rx_fifo.count
        row[4] = self.rx_done
        row[5] = self.backlog.count

    cdef void state(self, int64_t* row) noexcept nogil:
        cdef int32_t i
        row[0] = self.tx_done
        row[1] = 0
        for i in range(self.p.tx_ring):
            row[1] += self.tx_owned[i]
        row[2] = self.rx_credit
        row[3] = self.rx_returned
        row[4] = 0
        for i in range(self.p.rx_ring):
            row[4] += self.rx_owned[i]

    # transmit, driver side -------------------------------------------------------------------------------------------

    cdef bint xmit_room(self) noexcept nogil:
        return not self.stopped

    @final
    cdef int32_t descriptors(self, const packet_t* p) noexcept nogil:
        cdef int32_t payload_bytes = p.payload_bytes if self.p.tso else min(p.payload_bytes, p.segment_bytes)
        return (payload_bytes > p.segment_bytes) + 1 + (payload_bytes + DESCRIPTOR_BYTES - 1) // DESCRIPTOR_BYTES

    cdef void xmit_charge(self, int32_t context, const packet_t* p) noexcept nogil:
        if not self.p.tso and p.payload_bytes > p.segment_bytes:
            ledger_charge(&self.ledger, context, OP_GSO, self.cost.gso_segment, 1)
            ledger_charge(&self.ledger, context, OP_SKB_ALLOC, self.cost.skb_alloc, 1)
        ledger_charge(&self.ledger, context, OP_XMIT, self.p.xmit + self.descriptors(p) * self.p.xmit_buffer, 1)
        ledger_charge(&self.ledger, context, OP_MMIO_WRITE, self.cost.mmio_write, 1)

    cdef void xmit(self, packet_t* p) noexcept nogil:
        """Post the packet, or without TSO its first segment, and ring the doorbell."""
        cdef desktop_packet_t* c = &self.chain[self.chain_driver]
        cdef int32_t _i
        c.descriptors = self.descriptors(p)
        c.packet = p[0]
        c.born_ps = self.q.now_ps
        if not self.p.tso:
            c.packet.payload_bytes = min(p.payload_bytes, p.segment_bytes)
        p.payload_bytes -= c.packet.payload_bytes
        p.sequence += c.packet.payload_bytes
        if p.payload_bytes > 0:
            c.packet.truesize_bytes = 0     # the last segment holds the memory of all
        for _i in range(c.descriptors):
            self.tx_owned[self.tx_driver] = 1
            self.tx_driver = ring_next(self.tx_driver, self.p.tx_ring)
        self.tx_free -= c.descriptors
        self.chain_driver = ring_next(self.chain_driver, self.p.tx_ring)
        self.chains_posted += 1
        self.stats.tx_frames += 1
        if c.packet.payload_bytes > c.packet.segment_bytes:
            self.stats.tx_frames += (c.packet.payload_bytes - 1) // c.packet.segment_bytes
        self.device_stats.tx_packets += 1
        self.device_stats.tx_descriptors += c.descriptors
        self.device_stats.doorbells += 1
        if self.tx_free < LONGEST_CHAIN:
            self.stopped = True
            self.stats.tx_stops += 1
        self.dma_tx_start()

    # transmit, NIC side ----------------------------------------------------------------------------------------------

    @final
    cdef void dma_submit(self, int32_t cls, int32_t length_bytes) noexcept nogil:
        self.device_stats.gap_ps += self.p.dma_setup_ps
        server_submit(&self.dma, cls, self.p.dma_setup_ps + <int64_t>(length_bytes * self.p.dma_byte_ps))
        server_dispatch(self.q, &self.dma)

    @final
    cdef void dma_tx_start(self) noexcept nogil:
        """Fetch the next frame of the packet, if the FIFO has room for it."""
        cdef const packet_t* p = &self.chain[self.chain_nic].packet
        cdef int32_t length_bytes = p.length_bytes + min(p.payload_bytes, p.segment_bytes)
        if self.chains_posted == 0 or server_has(&self.dma, DESKTOP_DMA_TX) \
                or self.tx_fifo_bytes + length_bytes > self.p.tx_fifo_bytes:
            return
        self.dma_submit(DESKTOP_DMA_TX, length_bytes)

    cdef void dma_done(self) noexcept nogil:
        if server_finish(self.q, &self.dma) == DESKTOP_DMA_TX:
            self.tx_fetched()
        else:
            self.rx_written()
        server_dispatch(self.q, &self.dma)

    @final
    cdef void tx_fetched(self) noexcept nogil:
        cdef desktop_packet_t* c = &self.chain[self.chain_nic]
        cdef int32_t index = frames_take(self.frames), _i
        cdef frame_t* f
        if index < 0:                       # the run ends with an error
            return
        f = &self.frames.frame[index]
        f.kind = c.packet.kind
        f.sequence = c.packet.sequence
        f.ack = c.packet.ack
        f.window_edge = c.packet.window_edge
        f.index = c.packet.index
        f.last = c.packet.last
        f.payload_bytes = min(c.packet.payload_bytes, c.packet.segment_bytes)
        f.length_bytes = c.packet.length_bytes + f.payload_bytes
        f.born_ps = c.born_ps
        c.packet.payload_bytes -= f.payload_bytes
        c.packet.sequence += f.payload_bytes
        fifo_put(&self.tx_fifo, index)
        self.tx_fifo_bytes += f.length_bytes
        if c.packet.payload_bytes == 0:
            for _i in range(c.descriptors):
                self.tx_owned[self.tx_nic] = 0
                self.tx_nic = ring_next(self.tx_nic, self.p.tx_ring)
            self.tx_done += c.descriptors
            self.chain_nic = ring_next(self.chain_nic, self.p.tx_ring)
            self.chains_posted -= 1
            self.chains_done += 1
            self.device_stats.tx_completions += 1
            self.cause = True
            self.irq_update()
        self.wire_start()
        self.dma_tx_start()

    cdef void wire_start(self) noexcept nogil:
        cdef int32_t bytes_on_wire
        if self.paused or self.tx_fifo.count == 0 or self.wire_busy:
            return
        self.wire_busy = True
        bytes_on_wire = max(self.frames.frame[fifo_first(&self.tx_fifo)].length_bytes, WIRE_SHORTEST_BYTES) + WIRE_OVERHEAD_BYTES
        self.device_stats.wire_bytes += bytes_on_wire
        self.device_stats.wire_busy_ps += bytes_on_wire * self.byte_ps
        queue_set_busy(self.q, self.base + EVENT_WIRE, self.q.now_ps + bytes_on_wire * self.byte_ps)

    cdef void wire_done(self) noexcept nogil:
        cdef int32_t frame = fifo_take(&self.tx_fifo)
        self.wire_busy = False
        self.tx_fifo_bytes -= self.frames.frame[frame].length_bytes
        self.peer.arrive(frame)
        self.wire_start()
        self.dma_tx_start()

    # receive, NIC side -----------------------------------------------------------------------------------------------

    cdef void arrive(self, int32_t frame) noexcept nogil:
        cdef int32_t length_bytes = self.frames.frame[frame].length_bytes
        if self.rx_fifo_bytes + length_bytes > self.p.rx_fifo_bytes:
            self.device_stats.rx_fifo_drops += 1
            frames_give(self.frames, frame)
            return
        fifo_put(&self.rx_fifo, frame)
        self.rx_fifo_bytes += length_bytes
        if self.p.pause and self.rx_fifo_bytes > self.p.pause_above_bytes and not self.peer.paused:
            self.pausing = True
            self.device_stats.pauses += 1
            self.peer.pause()
        self.dma_rx_start()

    @final
    cdef void dma_rx_start(self) noexcept nogil:
        if self.rx_fifo.count == 0 or server_has(&self.dma, DESKTOP_DMA_RX):
            return
        if self.rx_credit == 0:
            self.device_stats.rx_ring_empty += 1
            return
        self.dma_submit(DESKTOP_DMA_RX, self.frames.frame[fifo_first(&self.rx_fifo)].length_bytes)

    @final
    cdef void rx_written(self) noexcept nogil:
        cdef int32_t frame = fifo_take(&self.rx_fifo)
        self.rx_fifo_bytes -= self.frames.frame[frame].length_bytes
        if self.pausing and self.rx_fifo_bytes <= self.p.pause_above_bytes:
            self.pausing = False
            self.peer.resume()
        self.rx_frame[self.rx_nic] = frame
        self.rx_owned[self.rx_nic] = 0
        self.rx_nic = ring_next(self.rx_nic, self.p.rx_ring)
        self.rx_credit -= 1
        self.rx_done += 1
        self.stats.rx_frames += 1
        self.cause = True
        self.irq_update()
        self.dma_rx_start()

    # interrupt and poll ----------------------------------------------------------------------------------------------

    @final
    cdef void irq_update(self) noexcept nogil:
        """Interrupt if there is a cause, the poll has ended and the hold-off is over; or set the timer that ends it."""
        if not self.cause or not self.irq_enabled:
            return
        if self.q.now_ps < self.irq_allowed_ps:
            if not queue_pending(self.q, self.base + EVENT_RX_TIMER):
                self.device_stats.held_off += 1
                queue_set(self.q, self.base + EVENT_RX_TIMER, self.irq_allowed_ps)
            return
        self.cause = self.irq_enabled = False
        self.irq_allowed_ps = self.q.now_ps + self.p.hold_off_ps
        self.stats.interrupts += 1
        ledger_charge(&self.ledger, HARD_IRQ, OP_IRQ_ENTRY, self.cost.irq_entry, 1)
        self.submit(HARD_IRQ)

    cdef void device_timer(self, int32_t kind) noexcept nogil:
        self.irq_update()

    cdef void irq_done(self) noexcept nogil:
        self.poll_scheduled = True
        self.soft_raise()

    cdef void poll_begin(self) noexcept nogil:
        """Charge what is ready now; `poll_done` does it."""
        cdef int32_t returns
        self.stats.polls += 1
        self.poll_tx = self.chains_done
        self.poll_rx = min(self.rx_done, POLL_BUDGET)
        returns = self.rx_returned + self.poll_rx
        ledger_charge(&self.ledger, SOFT_IRQ, OP_POLL, self.p.poll, 1)
        if self.poll_tx:
            ledger_charge(&self.ledger, SOFT_IRQ, OP_TX_REAP, self.poll_tx * self.p.tx_reap, self.poll_tx)
            ledger_charge(&self.ledger, SOFT_IRQ, OP_SKB_FREE, self.poll_tx * self.cost.skb_free, self.poll_tx)
        if self.poll_rx:
            ledger_charge(&self.ledger, SOFT_IRQ, OP_RX_REAP, self.poll_rx * self.p.rx_reap, self.poll_rx)
            ledger_charge(&self.ledger, SOFT_IRQ, OP_SKB_ALLOC, self.poll_rx * self.cost.skb_alloc, self.poll_rx)
            if self.set.gro_segments:
                ledger_charge(&self.ledger, SOFT_IRQ, OP_GRO, self.poll_rx * self.cost.gro, self.poll_rx)
        if returns >= RX_GROUP:
            ledger_charge(&self.ledger, SOFT_IRQ, OP_RX_REFILL, returns * self.p.rx_refill, returns)
            ledger_charge(&self.ledger, SOFT_IRQ, OP_MMIO_WRITE, self.cost.mmio_write, 1)
        if self.poll_rx < POLL_BUDGET:
            ledger_charge(&self.ledger, SOFT_IRQ, OP_MMIO_WRITE, self.cost.mmio_write, 1)
        self.submit(SOFT_IRQ)

    cdef void poll_done(self) noexcept nogil:
        cdef desktop_packet_t* c
        cdef int32_t _i
        for _i in range(self.poll_tx):
            c = &self.chain[self.chain_clean]
            self.chain_clean = ring_next(self.chain_clean, self.p.tx_ring)
            self.tx_done -= c.descriptors
            self.tx_free += c.descriptors
            if c.packet.truesize_bytes:
                self.socket.sent(self, c.packet.truesize_bytes)
        self.chains_done -= self.poll_tx
        if self.stopped and self.tx_free >= 2 * LONGEST_CHAIN:
            self.stopped = False
            self.stats.tx_wakes += 1
        if self.qdisc_count:
            self.tx_scheduled = True
        for _i in range(self.poll_rx):
            self.gro_receive(self.rx_frame[self.rx_clean])
            self.rx_clean = ring_next(self.rx_clean, self.p.rx_ring)
        self.gro_flush()
        self.rx_done -= self.poll_rx
        self.rx_returned += self.poll_rx
        if self.rx_returned >= RX_GROUP:
            for _i in range(self.rx_returned):
                self.rx_owned[self.rx_fill] = 1
                self.rx_fill = ring_next(self.rx_fill, self.p.rx_ring)
            self.rx_credit += self.rx_returned
            self.rx_returned = 0
            self.device_stats.rx_refills += 1
            self.dma_rx_start()
        if self.poll_rx < POLL_BUDGET:
            self.poll_scheduled = False
            self.irq_enabled = True
            self.irq_update()
