"""The via-velocity driver and its chip, executed. The steps stand in `velocity.py`; this file follows them in their order."""
from cython cimport final
from libc.stdint cimport int32_t, int64_t, uint32_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy
from nicperf.engine._ledger cimport (
    HARD_IRQ, OP_COPY, OP_GSO, OP_IRQ_ENTRY, OP_IRQ_SHARED, OP_LINEARIZE, OP_MMIO_READ, OP_MMIO_WRITE, OP_POLL, OP_RX_REAP,
    OP_RX_REFILL, OP_SKB_ALLOC, OP_SKB_FREE, OP_TX_REAP, OP_XMIT, SOFT_IRQ, ledger_charge,
)
from nicperf.engine._queue cimport queue_clear, queue_pending, queue_set, queue_set_busy
from nicperf.engine._server cimport (
    server_dispatch, server_extend, server_finish, server_has, server_left_ps, server_submit,
)
from nicperf.parts._bus cimport (
    BUS_RX_DATA, BUS_RX_DESCRIPTOR, BUS_RX_WRITEBACK, BUS_TX_DATA, BUS_TX_DESCRIPTOR, BUS_TX_WRITEBACK, bus_mmio, bus_move,
    bus_stats_t,
)
from nicperf.parts._fifo cimport fifo_alloc, fifo_first, fifo_put, fifo_take
from nicperf.parts._frames cimport FRAME_POOL, TCP_DATA, frame_t, frames_give, frames_take
from nicperf.parts._ring cimport ring_next
from nicperf.parts._irq cimport MODERATION_FIRE, MODERATION_START, moderation_event
from nicperf.stack._host cimport EVENT_RX_TIMER, EVENT_TX_TIMER, EVENT_WIRE, SOFT_POLL, cycles_ps

cdef enum:
    WIRE_OVERHEAD_BYTES = 24            # preamble 8, FCS 4, gap 12
    WIRE_SHORTEST_BYTES = 60            # header and padded payload, without FCS
    STATUS_BYTES = 4                    # the word that a write-back touches
    SERVE_MOST = 16                     # descriptors per service call of the driver
    POLL_BUDGET = 64
    PAUSE_BELOW = 24                    # free receive descriptors
    RESUME_AT = 48
    BUS_LINE_BYTES = 256                # what the bus model sees of an address is its place in such a line


cdef class VelocityHost(Host):
    """A host with a Velocity: `arrive` and the device events come from the wire, `xmit` from the stack."""

    def __cinit__(self, *args, **kwargs):
        self.tx_ring = <tx_descriptor_t*>calloc(256, sizeof(tx_descriptor_t))
        self.tx_frame = <int32_t*>calloc(256, sizeof(int32_t))
        self.tx_truesize = <int32_t*>calloc(256, sizeof(int32_t))
        self.rx_frame = <int32_t*>calloc(256, sizeof(int32_t))
        self.rx_ring = <rx_descriptor_t*>calloc(256, sizeof(rx_descriptor_t))
        if self.tx_ring == NULL or self.tx_frame == NULL or self.tx_truesize == NULL or self.rx_frame == NULL \
                or self.rx_ring == NULL \
                or fifo_alloc(&self.tx_fifo, FRAME_POOL) < 0 or fifo_alloc(&self.rx_fifo, FRAME_POOL) < 0:
            raise MemoryError

    def __dealloc__(self):
        free(self.tx_ring)
        free(self.tx_frame)
        free(self.tx_truesize)
        free(self.rx_frame)
        free(self.rx_ring)
        free(self.tx_fifo.item)
        free(self.rx_fifo.item)

    cdef int configure(self, object spec, str workload) except -1:
        Host.configure(self, spec, workload)
        driver, nic, bus = spec.driver, spec.nic, spec.bus
        cdef double mhz = spec.cpu.frequency_mhz / spec.cpu.cycles_factor
        self.set.gso = driver.tx_scatter_gather
        self.set.fragments_verified = driver.rx_checksum_rule == "mainline"

        self.p.tx_ring = driver.tx_ring
        self.p.rx_ring = driver.rx_ring // 4 * 4
        self.p.copybreak_bytes = driver.rx_copybreak_bytes
        self.p.tx_fifo_bytes = nic.tx_fifo_bytes
        self.p.rx_fifo_bytes = nic.rx_fifo_bytes
        self.p.frame_gap_ps = <int64_t>(nic.frame_gap_ns * 1000)
        self.p.buffer_gap_ps = <int64_t>(nic.buffer_gap_ns * 1000)
        self.p.xmit = cycles_ps(driver.xmit_cycles, mhz)
        self.p.xmit_buffer = cycles_ps(driver.xmit_buffer_cycles, mhz)
        self.p.tx_reap = cycles_ps(driver.tx_reap_cycles, mhz)
        self.p.rx_reap = cycles_ps(driver.rx_reap_cycles, mhz)
        self.p.rx_refill = cycles_ps(driver.rx_refill_cycles, mhz)
        self.p.poll = cycles_ps(driver.poll_cycles, mhz)
        self.p.napi = driver.napi
        self.p.scatter_gather = driver.tx_scatter_gather
        self.p.pause = nic.pause
        self.p.realign_via = driver.rx_align_rule == "via"
        self.p.rx_address_mod = driver.rx_buffer_address_mod_bytes

        self.bus.p.clock_ps = 1e6 / bus.clock_mhz
        self.bus.p.width_bytes = bus.width_bytes
        self.bus.p.read_overhead_clocks = bus.read_overhead_clocks
        self.bus.p.write_overhead_clocks = bus.write_overhead_clocks
        self.bus.p.mmio_read_ps = <int64_t>(bus.register_read_clocks * self.bus.p.clock_ps + 0.5)
        self.bus.p.mmio_write_ps = <int64_t>(bus.register_write_clocks * self.bus.p.clock_ps + 0.5)
        self.bus.p.read_line_bytes = bus.read_line_bytes
        self.bus.p.write_line_bytes = bus.write_line_bytes
        longest = bus.latency_timer_clocks * bus.width_bytes
        if nic.dma_burst_dwords:
            longest = min(longest, nic.dma_burst_dwords * 4)
        self.bus.p.read_limit_bytes = self.bus.p.write_limit_bytes = longest
        if bus.read_line_bytes:
            longest = min(longest, bus.read_line_bytes)
        self.p.burst_ps = <int64_t>((longest / bus.width_bytes + bus.read_overhead_clocks) * self.bus.p.clock_ps)

        self.tx_moderation.threshold = driver.tx_suppress_frames
        self.tx_moderation.timer_ps = <int64_t>(driver.tx_timer_us * 1e6)
        self.tx_moderation.from_first = nic.tx_timer_starts == "first_pending"
        self.rx_moderation.threshold = driver.rx_suppress_frames
        self.rx_moderation.timer_ps = <int64_t>(driver.rx_timer_us * 1e6)
        self.rx_moderation.from_first = nic.rx_timer_starts == "first_pending"
        self.power_up()
        return 0

    cdef void power_up(self) noexcept nogil:
        """Fill the receive ring, enable interrupts. Parameters must be in place."""
        cdef int32_t i
        self.tx_free = self.p.tx_ring
        for i in range(self.p.rx_ring):
            self.rx_ring[i].word0 = OWNED_BY_NIC
        self.rx_credit = self.p.rx_ring
        self.irq_enabled = True

    # what is counted -------------------------------------------------------------------------------------------------

    cdef void counted(self, int64_t* device, int64_t* bus) noexcept nogil:
        memcpy(device, &self.device_stats, sizeof(velocity_stats_t))
        memcpy(bus, &self.bus.s, sizeof(bus_stats_t))

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
            row[1] += (self.tx_ring[i].word0 & OWNED_BY_NIC) != 0
        row[2] = self.rx_credit
        row[3] = self.rx_returned
        row[4] = 0
        for i in range(self.p.rx_ring):
            row[4] += (self.rx_ring[i].word0 & OWNED_BY_NIC) != 0

    # transmit, driver side -------------------------------------------------------------------------------------------

    cdef bint xmit_room(self) noexcept nogil:
        return self.tx_free > 0

    @final
    cdef int32_t buffers(self, const packet_t* p, int32_t* size) noexcept nogil:
        """Split a frame into head and page fragments; returns their number, more than 7 if it must be made linear."""
        cdef int32_t left = min(p.payload_bytes, p.segment_bytes), n = 1, room
        cdef int64_t at = p.sequence
        if not self.p.scatter_gather or p.kind != TCP_DATA:
            size[0] = p.length_bytes + left
            return 1
        size[0] = p.length_bytes
        while left > 0:
            room = min(left, self.set.fragment_bytes - <int32_t>(at % self.set.fragment_bytes))
            if n < TX_BUFFERS:
                size[n] = room
            n += 1
            at += room
            left -= room
        return n

    cdef void xmit_charge(self, int32_t context, const packet_t* p) noexcept nogil:
        cdef int32_t size[TX_BUFFERS]
        cdef int32_t n = self.buffers(p, size) if self.p.scatter_gather else 1
        cdef int64_t copy_ps
        if self.set.gso and p.kind == TCP_DATA:
            ledger_charge(&self.ledger, context, OP_GSO, self.cost.gso_segment, 1)
            ledger_charge(&self.ledger, context, OP_SKB_ALLOC, self.cost.skb_alloc, 1)
        if n > TX_BUFFERS:
            copy_ps = <int64_t>(p.segment_bytes * self.cost.copy_cached)
            ledger_charge(&self.ledger, context, OP_LINEARIZE, self.cost.skb_alloc + copy_ps, 1)
            n = 1
        ledger_charge(&self.ledger, context, OP_XMIT, self.p.xmit + n * self.p.xmit_buffer, 1)
        ledger_charge(&self.ledger, context, OP_MMIO_WRITE, self.cost.mmio_write, 1)

    cdef void xmit(self, packet_t* p) noexcept nogil:
        """Fill the next descriptor with one frame of the packet, hand it over and ring the doorbell."""
        cdef int32_t size[TX_BUFFERS]
        cdef int32_t payload_bytes = min(p.payload_bytes, p.segment_bytes)
        cdef int32_t n = self.buffers(p, size), i
        cdef int32_t index = frames_take(self.frames)
        cdef frame_t* f
        cdef tx_descriptor_t* d = &self.tx_ring[self.tx_driver]
        cdef uint32_t address = <uint32_t>index * FRAME_SPACE_BYTES
        if index < 0:                       # the run ends with an error
            return
        if n > TX_BUFFERS:
            self.device_stats.linearized += 1
            n = 1
            size[0] = p.length_bytes + payload_bytes
        f = &self.frames.frame[index]
        f.kind = p.kind
        f.sequence = p.sequence
        f.ack = p.ack
        f.window_edge = p.window_edge
        f.index = p.index
        f.last = p.last
        f.payload_bytes = payload_bytes
        f.length_bytes = p.length_bytes + payload_bytes
        f.born_ps = self.q.now_ps
        p.payload_bytes -= payload_bytes
        p.sequence += payload_bytes

        for i in range(n):
            if i == 1:                      # the first page fragment starts inside its page, the others at their page's start
                address += <uint32_t>(f.sequence % self.set.fragment_bytes) % BUS_LINE_BYTES
            d.buffer[i].address_low = address
            d.buffer[i].address_high = 0
            d.buffer[i].size = size[i]
            address = (address + size[i] + BUS_LINE_BYTES - 1) & ~<uint32_t>(BUS_LINE_BYTES - 1)
        d.word1 = (<uint32_t>(n + 1) << TX_COMMAND_SHIFT) | TX_COMMAND_NORMAL | TX_COMMAND_INTERRUPT
        d.word0 = (<uint32_t>f.length_bytes << LENGTH_SHIFT) | OWNED_BY_NIC
        self.tx_frame[self.tx_driver] = index
        self.tx_truesize[self.tx_driver] = p.truesize_bytes
        self.tx_driver = ring_next(self.tx_driver, self.p.tx_ring)
        self.tx_free -= 1
        self.stats.tx_frames += 1
        if self.tx_free == 0:
            self.stats.tx_stops += 1
        self.doorbell()

    @final
    cdef int64_t mmio(self, int32_t reads, int32_t writes) noexcept nogil:
        """Register accesses by the CPU: they slip between two bursts, delay a running DMA and, if they read, stall the CPU."""
        cdef int64_t bus_ps = bus_mmio(&self.bus, reads, writes), left_ps, stall_ps = bus_ps + reads * self.cost.mmio_read
        if reads and self.dma.current >= 0:
            left_ps = server_left_ps(self.q, &self.dma)
            if left_ps <= self.bus_left_ps[self.dma.current]:   # moving data, not setting up
                stall_ps += left_ps % self.p.burst_ps
        self.dma_delay(bus_ps)
        return stall_ps

    @final
    cdef void dma_delay(self, int64_t bus_ps) noexcept nogil:
        """Somebody else has the bus: the running DMA waits for what does not fit into the rest of its set-up."""
        cdef int32_t cls = self.dma.current
        cdef int64_t free_ps
        if cls < 0:
            return
        free_ps = max(server_left_ps(self.q, &self.dma) - self.bus_left_ps[cls], <int64_t>0)
        if free_ps < bus_ps:
            self.bus_left_ps[cls] += bus_ps - free_ps
            server_extend(self.q, &self.dma, bus_ps - free_ps)

    @final
    cdef void doorbell(self) noexcept nogil:
        self.device_stats.doorbells += 1
        self.mmio(0, 1)
        self.dma_tx_start()

    # transmit, NIC side ----------------------------------------------------------------------------------------------

    @final
    cdef void dma_submit(self, int32_t cls, int64_t gap_ps, int64_t bus_ps) noexcept nogil:
        self.device_stats.gap_ps += gap_ps
        self.bus_left_ps[cls] = bus_ps
        server_submit(&self.dma, cls, gap_ps + bus_ps)
        server_dispatch(self.q, &self.dma)

    @final
    cdef void dma_tx_start(self) noexcept nogil:
        """Fetch the next descriptor and its buffers, if the chip owns it and the FIFO has room for the frame."""
        cdef tx_descriptor_t* d = &self.tx_ring[self.tx_nic]
        cdef int32_t n, i
        cdef int64_t bus_ps
        if server_has(&self.dma, DMA_TX) or not d.word0 & OWNED_BY_NIC or self.tx_on_chip == self.p.tx_ring:
            return
        if self.tx_fifo_bytes + <int32_t>(d.word0 >> LENGTH_SHIFT & LENGTH_MASK) > self.p.tx_fifo_bytes:
            return
        n = <int32_t>(d.word1 >> TX_COMMAND_SHIFT) - 1
        bus_ps = bus_move(&self.bus, BUS_TX_DESCRIPTOR, True, 8 + 8 * n, 0)
        for i in range(n):
            bus_ps += bus_move(&self.bus, BUS_TX_DATA, True, d.buffer[i].size, d.buffer[i].address_low % BUS_LINE_BYTES)
        self.dma_submit(DMA_TX, self.p.frame_gap_ps + (n - 1) * self.p.buffer_gap_ps, bus_ps)

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
        """The frame has left: write its status back, tell the interrupt logic, and let it arrive."""
        cdef int32_t frame = fifo_take(&self.tx_fifo)
        cdef bint empty
        cdef tx_descriptor_t* d = &self.tx_ring[self.tx_written_back]
        cdef int64_t bus_ps = bus_move(&self.bus, BUS_TX_WRITEBACK, False, STATUS_BYTES, 0)
        self.wire_busy = False
        self.dma_delay(bus_ps)
        d.word0 &= ~OWNED_BY_NIC
        self.tx_written_back = ring_next(self.tx_written_back, self.p.tx_ring)
        self.tx_on_chip -= 1
        self.tx_done += 1
        self.device_stats.tx_completions += 1
        self.tx_fifo_bytes -= self.frames.frame[frame].length_bytes
        empty = self.tx_free + self.tx_done == self.p.tx_ring
        self.moderate(&self.tx_moderation, EVENT_TX_TIMER, ISR_TX, ISR_TX_SUPPRESSED, empty)
        self.peer.arrive(frame)
        self.wire_start()
        self.dma_tx_start()

    # receive, NIC side -----------------------------------------------------------------------------------------------

    cdef void arrive(self, int32_t frame) noexcept nogil:
        """A frame has come in from the wire."""
        cdef int32_t length_bytes = self.frames.frame[frame].length_bytes
        if self.rx_fifo_bytes + length_bytes > self.p.rx_fifo_bytes:
            self.device_stats.rx_fifo_drops += 1
            frames_give(self.frames, frame)
            return
        fifo_put(&self.rx_fifo, frame)
        self.rx_fifo_bytes += length_bytes
        self.dma_rx_start()

    @final
    cdef void dma_rx_start(self) noexcept nogil:
        cdef rx_descriptor_t* d = &self.rx_ring[self.rx_nic]
        cdef int64_t bus_ps
        cdef int32_t length_bytes
        if server_has(&self.dma, DMA_RX) or self.rx_fifo.count == 0:
            return
        if self.rx_credit == 0 or not d.word0 & OWNED_BY_NIC:
            self.device_stats.rx_ring_empty += 1
            return
        bus_ps = bus_move(&self.bus, BUS_RX_DESCRIPTOR, True, sizeof(rx_descriptor_t), 0)
        length_bytes = self.frames.frame[fifo_first(&self.rx_fifo)].length_bytes
        bus_ps += bus_move(&self.bus, BUS_RX_DATA, False, length_bytes, self.rx_offset())
        bus_ps += bus_move(&self.bus, BUS_RX_WRITEBACK, False, STATUS_BYTES, 0)
        self.dma_submit(DMA_RX, self.p.frame_gap_ps, bus_ps)

    @final
    cdef int32_t rx_offset(self) noexcept nogil:
        """Start of a receive buffer modulo 64, by the rule of mainline (reserve a mod 64) or VIA (reserve 64 - a mod 64)."""
        cdef int32_t a = self.p.rx_address_mod
        return (a + (64 - a if self.p.realign_via else a)) % 64

    cdef void dma_done(self) noexcept nogil:
        cdef int32_t frame
        cdef rx_descriptor_t* d
        if server_finish(self.q, &self.dma) == DMA_TX:
            frame = self.tx_frame[self.tx_nic]
            self.tx_nic = ring_next(self.tx_nic, self.p.tx_ring)
            self.tx_on_chip += 1
            fifo_put(&self.tx_fifo, frame)
            self.tx_fifo_bytes += self.frames.frame[frame].length_bytes
            self.wire_start()
            self.dma_tx_start()
        else:
            frame = fifo_take(&self.rx_fifo)
            self.rx_fifo_bytes -= self.frames.frame[frame].length_bytes
            d = &self.rx_ring[self.rx_nic]
            d.word0 = <uint32_t>self.frames.frame[frame].length_bytes << LENGTH_SHIFT
            self.rx_frame[self.rx_nic] = frame
            self.rx_nic = ring_next(self.rx_nic, self.p.rx_ring)
            self.rx_credit -= 1
            self.rx_done += 1
            self.stats.rx_frames += 1
            if self.p.pause and self.rx_credit < PAUSE_BELOW and not self.peer.paused:
                self.pausing = True
                self.device_stats.pauses += 1
                self.peer.pause()
            self.dma_rx_start()
            server_dispatch(self.q, &self.dma)  # before the interrupt: its register read delays what the engine does next
            self.moderate(&self.rx_moderation, EVENT_RX_TIMER, ISR_RX, ISR_RX_SUPPRESSED, self.rx_fifo.count == 0)
            return
        server_dispatch(self.q, &self.dma)

    # interrupts ------------------------------------------------------------------------------------------------------

    @final
    cdef void moderate(
        self, moderation_t* m, int32_t event, uint32_t plain, uint32_t suppressed, bint queue_empty
    ) noexcept nogil:
        cdef int32_t what = moderation_event(m, queue_empty)
        if what == MODERATION_FIRE:
            if m.threshold:
                if queue_pending(self.q, self.base + event):
                    queue_clear(self.q, self.base + event)
                self.isr |= suppressed
                if event == EVENT_TX_TIMER:
                    self.device_stats.tx_threshold_fires += 1
                else:
                    self.device_stats.rx_threshold_fires += 1
            else:
                self.isr |= plain
            self.irq_update()
            return
        if what == MODERATION_START:
            queue_set(self.q, self.base + event, self.q.now_ps + m.timer_ps)

    @final
    cdef void irq_update(self) noexcept nogil:
        """Level-triggered: raise the line while a source is set, interrupts are enabled and no handler runs."""
        if not self.isr or not self.irq_enabled or self.irq_active:
            return
        self.irq_active = True
        self.stage = 0
        self.stats.interrupts += 1
        ledger_charge(&self.ledger, HARD_IRQ, OP_IRQ_ENTRY, self.cost.irq_entry, 1)
        ledger_charge(&self.ledger, HARD_IRQ, OP_IRQ_SHARED, self.cost.irq_shared, 1)
        ledger_charge(&self.ledger, HARD_IRQ, OP_MMIO_READ, self.mmio(1, 0), 1)
        ledger_charge(&self.ledger, HARD_IRQ, OP_MMIO_WRITE, 2 * self.cost.mmio_write, 2)    # mask, and acknowledge or unmask
        self.submit(HARD_IRQ)

    cdef void irq_done(self) noexcept nogil:
        cdef uint32_t isr
        if self.p.napi:                     # acknowledge, mask, schedule the poll
            self.mmio(0, 2)
            self.isr = 0
            self.irq_enabled = False
            self.irq_active = False
            self.poll_scheduled = True
            self.soft_raise()
            return
        if self.stage == 0:
            self.mmio(0, 1)                 # mask
            self.stage = 1
        else:
            self.serve_apply()
        isr = self.isr
        if isr:
            self.isr = 0
            ledger_charge(&self.ledger, HARD_IRQ, OP_MMIO_WRITE, self.cost.mmio_write, 1)
            self.mmio(0, 1)                 # acknowledge
            self.serve_charge(
                HARD_IRQ,
                SERVE_MOST if isr & (ISR_RX | ISR_RX_SUPPRESSED) else 0,
                SERVE_MOST if isr & (ISR_TX | ISR_TX_SUPPRESSED) else 0,
            )
            ledger_charge(&self.ledger, HARD_IRQ, OP_MMIO_READ, self.mmio(1, 0), 1)
            self.submit(HARD_IRQ)
            return
        self.mmio(0, 1)                     # unmask
        self.irq_active = False
        if self.backlog.count or self.tx_scheduled or self.socket.output_ready(self):
            self.soft_raise()
        self.irq_update()

    # service routines ------------------------------------------------------------------------------------------------

    @final
    cdef void serve_charge(self, int32_t context, int32_t most_rx, int32_t most_tx) noexcept nogil:
        """Charge the service of what is ready now; `serve_apply` does it when the job ends."""
        cdef int32_t _i, taken, at, length_bytes, kept = 0
        cdef int64_t copied = 0
        self.serve_rx = min(self.rx_done, most_rx)
        self.serve_tx = min(self.tx_done, most_tx)
        if self.serve_rx:
            at = self.rx_clean
            for _i in range(self.serve_rx):
                length_bytes = <int32_t>(self.rx_ring[at].word0 >> LENGTH_SHIFT & LENGTH_MASK)
                at = ring_next(at, self.p.rx_ring)
                if length_bytes < self.p.copybreak_bytes:
                    kept += 1
                    copied += length_bytes
            ledger_charge(&self.ledger, context, OP_RX_REAP, self.serve_rx * self.p.rx_reap, self.serve_rx)
            ledger_charge(&self.ledger, context, OP_SKB_ALLOC, self.serve_rx * self.cost.skb_alloc, self.serve_rx)
            if kept < self.serve_rx:
                taken = self.serve_rx - kept
                ledger_charge(&self.ledger, context, OP_RX_REFILL, taken * self.p.rx_refill, taken)
            if kept:
                ledger_charge(&self.ledger, context, OP_COPY, <int64_t>(copied * self.cost.copy_cold), kept)
            if self.rx_returned + self.serve_rx >= RX_GROUP:
                ledger_charge(&self.ledger, context, OP_MMIO_WRITE, self.cost.mmio_write, 1)
        if self.serve_tx:
            ledger_charge(&self.ledger, context, OP_TX_REAP, self.serve_tx * self.p.tx_reap, self.serve_tx)
            ledger_charge(&self.ledger, context, OP_SKB_FREE, self.serve_tx * self.cost.skb_free, self.serve_tx)

    @final
    cdef void serve_apply(self) noexcept nogil:
        cdef int32_t _i, groups
        for _i in range(self.serve_rx):
            if <int32_t>(self.rx_ring[self.rx_clean].word0 >> LENGTH_SHIFT & LENGTH_MASK) < self.p.copybreak_bytes:
                self.device_stats.copybreaks += 1
            self.netif_rx(self.rx_frame[self.rx_clean])
            self.rx_clean = ring_next(self.rx_clean, self.p.rx_ring)
        self.rx_done -= self.serve_rx
        self.rx_returned += self.serve_rx
        if self.rx_returned >= RX_GROUP:
            groups = self.rx_returned // RX_GROUP * RX_GROUP
            for _i in range(groups):
                self.rx_ring[self.rx_fill].word0 = OWNED_BY_NIC
                self.rx_fill = ring_next(self.rx_fill, self.p.rx_ring)
            self.rx_returned -= groups
            self.rx_credit += groups
            self.device_stats.refills += 1
            self.mmio(0, 1)
            if self.pausing and self.rx_credit >= min(RESUME_AT, self.p.rx_ring - RX_GROUP):
                self.pausing = False
                self.peer.resume()
            self.dma_rx_start()
        for _i in range(self.serve_tx):
            self.socket.sent(self, self.tx_truesize[self.tx_clean])
            self.tx_clean = ring_next(self.tx_clean, self.p.tx_ring)
        self.tx_done -= self.serve_tx
        if self.serve_tx:
            if self.tx_free == 0:
                self.stats.tx_wakes += 1
            self.tx_free += self.serve_tx
            if self.qdisc_count:
                self.tx_scheduled = True
        self.serve_rx = 0
        self.serve_tx = 0

    cdef void poll_begin(self) noexcept nogil:
        """First pass: half the budget for received frames, one service call for sent ones."""
        self.stage = 0
        self.poll_received = 0
        self.stats.polls += 1
        ledger_charge(&self.ledger, SOFT_IRQ, OP_POLL, self.p.poll, 1)
        self.serve_charge(SOFT_IRQ, POLL_BUDGET // 2, SERVE_MOST)
        self.submit(SOFT_IRQ)

    cdef void poll_done(self) noexcept nogil:
        self.poll_received += self.serve_rx
        self.serve_apply()
        if self.stage == 0:
            self.stage = 1
            self.soft_job = SOFT_POLL
            ledger_charge(&self.ledger, SOFT_IRQ, OP_POLL, self.p.poll, 1)
            self.serve_charge(SOFT_IRQ, POLL_BUDGET - self.poll_received, SERVE_MOST)
            if self.poll_received + self.serve_rx < POLL_BUDGET:    # the poll will complete
                ledger_charge(&self.ledger, SOFT_IRQ, OP_MMIO_WRITE, self.cost.mmio_write, 1)
            self.submit(SOFT_IRQ)
            return
        if self.poll_received < POLL_BUDGET:
            self.poll_scheduled = False
            self.mmio(0, 1)                 # unmask
            self.irq_enabled = True
            self.irq_update()

    cdef void device_timer(self, int32_t kind) noexcept nogil:
        if kind == EVENT_TX_TIMER:
            self.tx_moderation.pending = 0
            self.device_stats.tx_timer_fires += 1
            self.isr |= ISR_TX_SUPPRESSED
        else:
            self.rx_moderation.pending = 0
            self.device_stats.rx_timer_fires += 1
            self.isr |= ISR_RX_SUPPRESSED
        self.irq_update()
