"""The adapter and the driver of `ixgbe.py`, executed. The steps stand there; this file follows them in their order."""
from cython cimport final
from libc.math cimport ceil
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset
from nicperf.engine._ledger cimport (
    HARD_IRQ, OP_APPLICATION, OP_GRO, OP_GSO, OP_HANDOVER, OP_IRQ_ENTRY, OP_MMIO_WRITE, OP_PAGE, OP_POLL, OP_RX_REAP,
    OP_RX_REFILL, OP_SKB_ALLOC, OP_SKB_FREE, OP_TX_REAP, OP_XMIT, PROCESS, SOFT_IRQ, ledger_charge,
)
from nicperf.engine._queue cimport queue_pending, queue_set, queue_set_busy
from nicperf.engine._server cimport server_dispatch, server_finish, server_has, server_submit
from nicperf.parts._copies cimport (
    copies_application_ps, copies_coarsen, copies_configure, copies_destroy, copies_dma_read_ps, copies_dma_write, copies_init,
    copies_read_ps, copies_stats_t, copies_write_ps,
)
from nicperf.parts._fifo cimport fifo_alloc, fifo_first, fifo_put, fifo_take
from nicperf.parts._frames cimport FRAME_POOL, frame_t, frames_give, frames_take
from nicperf.parts._frags cimport FRAG_BLOCK_BYTES, frag_alloc, frag_init
from nicperf.parts._pages cimport pages_destroy, pages_init, pages_params_t
from nicperf.parts._ring cimport ring_next
from nicperf.parts._sendmemory cimport (
    sendmemory_destroy, sendmemory_free, sendmemory_init, sendmemory_next, sendmemory_put, sendmemory_t,
)
from nicperf.stack._host cimport EVENT_RX_TIMER, EVENT_WIRE, cycles_ps

cdef enum:
    WIRE_OVERHEAD_BYTES = 24            # preamble 8, FCS 4, gap 12
    WIRE_SHORTEST_BYTES = 60            # header and padded payload, without FCS
    LARGEST_RING = 4096
    TX_DESCRIPTOR_BYTES = 16384         # most payload of one descriptor
    LONGEST_CHAIN = 21                  # what the driver keeps free: 17 fragments, and head, context and a gap
    RX_BUFFER_BYTES = 2048
    GRO_SEGMENTS = 17
    PAGE_BYTES = 4096
    ENTRY_LINES = 16                    # of a kilobyte the caches keep one record: sixteen times faster than one for each line
    RX_GROUP = 16                       # receive buffers return so many at a time, or more
    POLL_BUDGET = 64
    ITR_LOW_ABOVE = 10                  # bytes per microsecond
    ITR_BULK_ABOVE = 20
    PORT_WRITE = 0                      # class of the port's server: bursts written to memory


cdef class IxgbePort:
    """What the queue pairs of one adapter share: the wire, the receive FIFO and PCI Express."""

    def __cinit__(self):
        if fifo_alloc(&self.rx_fifo, FRAME_POOL) < 0:
            raise MemoryError

    def __dealloc__(self):
        free(self.rx_fifo.item)

    # transmit --------------------------------------------------------------------------------------------------------

    cdef bint quiet(self) noexcept nogil:
        return self.wire_busy or (<IxgbeHost>self.pair[0]).paused

    cdef void start(self, bint idle) noexcept nogil:
        """Send the next burst; queues take turns. A port that was idle has its descriptors and data still to fetch."""
        cdef int32_t _i
        cdef int64_t busy_ps
        if self.quiet():
            return
        for _i in range(self.pairs):
            self.turn = ring_next(self.turn, self.pairs)
            while (<IxgbeHost>self.pair[self.turn]).next_lost():
                (<IxgbeHost>self.pair[self.turn]).packet_done()
            if (<IxgbeHost>self.pair[self.turn]).chains_posted:
                busy_ps = (<IxgbeHost>self.pair[self.turn]).burst_take()
                if idle:
                    busy_ps += 2 * self.p.read_ps + self.memory_ps
                    self.s.gap_ps += 2 * self.p.read_ps + self.memory_ps
                self.wire_busy = True
                queue_set_busy(
                    (<IxgbeHost>self.pair[0]).q, (<IxgbeHost>self.pair[0]).base + EVENT_WIRE,
                    (<IxgbeHost>self.pair[0]).q.now_ps + busy_ps,
                )
                return

    cdef void done(self) noexcept nogil:
        self.wire_busy = False
        if self.burst >= 0:                 # without frames left in the pool the run ends with an error
            self.peer.arrive(self.burst)
        if self.burst_last:
            (<IxgbeHost>self.pair[self.turn]).packet_done()
        self.start(False)

    cdef int32_t burst_segments(self, int32_t segment_bytes) noexcept nogil:
        """How many the receiver will join next: what whole segments leave of its average is carried over."""
        cdef int32_t n
        if not self.peer.p.rsc:
            return GRO_SEGMENTS
        self.burst_left_bytes += self.peer.p.burst_bytes
        n = max(<int32_t>(self.burst_left_bytes / segment_bytes), 1)
        self.burst_left_bytes = max(self.burst_left_bytes - n * segment_bytes, 0)
        return n

    # receive ---------------------------------------------------------------------------------------------------------

    cdef void arrive(self, int32_t frame) noexcept nogil:
        cdef int32_t length_bytes = self.frames.frame[frame].length_bytes
        if self.rx_fifo_bytes + length_bytes > self.p.rx_fifo_bytes:
            self.s.rx_missed += 1
            frames_give(self.frames, frame)
            return
        fifo_put(&self.rx_fifo, frame)
        self.rx_fifo_bytes += length_bytes
        if self.p.pause and self.rx_fifo_bytes > self.p.pause_above_bytes and not self.pausing:
            self.pausing = True
            self.s.pauses += 1
            (<IxgbeHost>self.peer.pair[0]).pause()
        self.write_start()

    cdef int32_t descriptors(self, int32_t frame) noexcept nogil:
        """Receive buffers that a burst takes."""
        cdef const frame_t* f = &self.frames.frame[frame]
        if self.p.rsc:
            return max((f.payload_bytes + RX_BUFFER_BYTES - 1) // RX_BUFFER_BYTES, 1)
        return f.segments

    cdef void write_start(self) noexcept nogil:
        cdef int32_t frame, queue
        while self.rx_fifo.count and not server_has(&(<IxgbeHost>self.pair[0]).dma, PORT_WRITE):
            frame = fifo_first(&self.rx_fifo)
            queue = self.frames.frame[frame].index % self.pairs
            if self.descriptors(frame) <= (<IxgbeHost>self.pair[queue]).rx_credit:
                server_submit(
                    &(<IxgbeHost>self.pair[0]).dma, PORT_WRITE,
                    <int64_t>(self.frames.frame[frame].length_bytes * self.p.bus_byte_ps),
                )
                server_dispatch((<IxgbeHost>self.pair[0]).q, &(<IxgbeHost>self.pair[0]).dma)
                return
            self.s.rx_no_descriptor += 1
            if self.p.pause:
                return
            fifo_take(&self.rx_fifo)
            self.rx_fifo_bytes -= self.frames.frame[frame].length_bytes
            frames_give(self.frames, frame)

    cdef void written(self) noexcept nogil:
        cdef int32_t frame = fifo_take(&self.rx_fifo)
        self.rx_fifo_bytes -= self.frames.frame[frame].length_bytes
        if self.pausing and self.rx_fifo_bytes <= self.p.pause_above_bytes:
            self.pausing = False
            (<IxgbeHost>self.peer.pair[0]).resume()
        (<IxgbeHost>self.pair[self.frames.frame[frame].index % self.pairs]).received(frame, self.descriptors(frame))
        self.write_start()


cdef class IxgbeHost(Host):
    """A core with its queue pair; the first of an adapter takes the port's events."""

    def __cinit__(self, *args, **kwargs):
        self.chain = <ixgbe_packet_t*>calloc(LARGEST_RING, sizeof(ixgbe_packet_t))
        if self.chain == NULL or fifo_alloc(&self.rx_ready, LARGEST_RING) < 0:
            raise MemoryError

    def __dealloc__(self):
        cdef int32_t i
        free(self.chain)
        free(self.rx_ready.item)
        for i in range(self.processes):
            sendmemory_destroy(&self.sending[i])
        free(self.sending)
        pages_destroy(&self.blocks)
        copies_destroy(&self.caches)

    cdef int configure(self, object spec, str workload) except -1:
        Host.configure(self, spec, workload)
        nic, driver = spec.nic, spec.driver
        cdef double mhz = spec.cpu.frequency_mhz / spec.cpu.cycles_factor
        self.set.gso = True
        self.p.tso = nic.tso
        self.p.rsc = nic.rsc
        self.p.tx_ring = nic.tx_ring
        self.p.rx_ring = nic.rx_ring
        self.p.dynamic = driver.itr == "dynamic"
        self.p.itr_ps = <int64_t>(driver.itr_us * 1e6)
        self.p.xmit = cycles_ps(driver.xmit_cycles, mhz)
        self.p.xmit_buffer = cycles_ps(driver.xmit_buffer_cycles, mhz)
        self.p.tx_reap = cycles_ps(driver.tx_reap_cycles, mhz)
        self.p.rx_reap = cycles_ps(driver.rx_reap_cycles, mhz)
        self.p.rx_page = cycles_ps(driver.rx_page_cycles, mhz)
        self.p.rx_refill = cycles_ps(driver.rx_refill_cycles, mhz)
        self.p.poll = cycles_ps(driver.poll_cycles, mhz)
        self.p.handover = cycles_ps(spec.cpu.handover_cycles, mhz) if spec.cpu.process_core == "other" else 0
        self.itr_ps = self.p.itr_ps
        self.tx_itr.cls = self.rx_itr.cls = ITR_LOW
        self.tx_free = self.p.tx_ring
        self.rx_credit = self.p.rx_ring
        self.irq_enabled = True
        self.place_memory(spec, workload)
        return 0

    cdef int place_memory(self, object spec, str workload) except -1:
        """Room for what the processes may have under way, and for what the device may have filled."""
        cdef pages_params_t pages
        cdef int64_t most_bytes, blocks
        cdef int32_t i
        copies_configure(&self.copies, spec.copies, spec.cpu.frequency_mhz)
        copies_coarsen(&self.copies, ENTRY_LINES)
        self.application_accesses = spec.copies.application_accesses if spec.copies.application_bytes else 0
        if workload == "tcp_rr":
            work = spec.workload
            self.processes = (work.instances + spec.cpu.cores - 1) // spec.cpu.cores
            most_bytes = max(work.request_bytes, work.response_bytes)
        else:
            self.processes = 1
            most_bytes = spec.socket.tcp_send_buffer_bytes + spec.workload.message_bytes
        blocks = self.processes * (2 * (most_bytes // FRAG_BLOCK_BYTES + 2) + 1)
        memset(&pages, 0, sizeof(pages_params_t))
        pages.limit_pages = <int32_t>(blocks * FRAG_BLOCK_BYTES // PAGE_BYTES)
        pages.batch_pages = pages.high_pages = 1
        self.sending = <sendmemory_t*>calloc(self.processes, sizeof(sendmemory_t))
        self.rx_start = blocks * FRAG_BLOCK_BYTES
        self.rx_bytes = 2 * self.p.rx_ring * RX_BUFFER_BYTES
        if self.sending == NULL or pages_init(&self.blocks, &pages) < 0 \
                or copies_init(&self.caches, &self.copies, self.rx_start + self.rx_bytes) < 0:
            raise MemoryError
        for i in range(self.processes):
            if sendmemory_init(&self.sending[i], most_bytes) < 0:
                raise MemoryError
            frag_init(&self.sending[i].frag, &self.blocks)
        return 0

    cdef int join(self, list cores, object spec) except -1:
        cdef IxgbePort port = IxgbePort()
        cdef IxgbeHost pair
        nic = spec.nic
        port.frames = self.frames
        port.pairs = len(cores)
        port.turn = port.pairs - 1
        port.p.rx_fifo_bytes = nic.rx_fifo_bytes
        port.p.pause_above_bytes = nic.pause_above_bytes
        port.p.pause = nic.pause
        port.p.rsc = nic.rsc
        port.p.burst_bytes = nic.rsc_bytes
        port.p.read_ps = <int64_t>(nic.pcie_read_ns * 1000)
        port.p.bus_byte_ps = 1e6 / nic.pcie_mbyte_s
        port.p.buffer_bytes = spec.wire.buffer_bytes
        for i, core in enumerate(cores):
            pair = core
            pair.port = port
            pair.queue = i
            port.pair[i] = <void*>pair
        return 0

    cdef void connect(self, Host peer):
        Host.connect(self, peer)
        self.port.peer = None if peer is None else (<IxgbeHost>peer).port

    # what is counted -------------------------------------------------------------------------------------------------

    cdef void counted(self, int64_t* device, int64_t* bus) noexcept nogil:
        cdef int32_t i
        memcpy(device, &self.device_stats, sizeof(ixgbe_stats_t))
        memcpy(device + sizeof(ixgbe_stats_t) // sizeof(int64_t), &self.copies_stats, sizeof(copies_stats_t))
        if self.queue == 0:
            for i in range(<int32_t>(sizeof(ixgbe_stats_t) // sizeof(int64_t))):
                device[i] += (<int64_t*>&self.port.s)[i]

    cdef void levels(self, int64_t* row) noexcept nogil:
        row[0] = self.qdisc_count
        row[1] = self.p.tx_ring - self.tx_free
        row[2] = 0
        row[3] = self.port.rx_fifo.count if self.queue == 0 else 0
        row[4] = self.rx_done
        row[5] = self.backlog.count

    cdef void state(self, int64_t* row) noexcept nogil:
        row[0] = self.tx_done
        row[1] = self.p.tx_ring - self.tx_free - self.tx_done
        row[2] = self.rx_credit
        row[3] = self.rx_returned
        row[4] = self.rx_credit

    # between the cores of process and softirq ----------------------------------------------------------------------------

    @final
    cdef void handover(self, int32_t context, int32_t n) noexcept nogil:
        if self.p.handover:
            ledger_charge(&self.ledger, context, OP_HANDOVER, n * self.p.handover, n)

    # payload in memory -----------------------------------------------------------------------------------------------

    cdef int64_t copy_in_ps(self, int32_t process, int64_t n_bytes) noexcept nogil:
        """Into the process's page frags; the end of a block makes two calls of one."""
        cdef sendmemory_t* m = &self.sending[process]
        cdef int32_t piece_bytes
        cdef int64_t address, ps = 0
        self.handover(PROCESS, 1)
        while n_bytes:
            address = frag_alloc(&m.frag, <int32_t>n_bytes, &piece_bytes)
            if address < 0 or not sendmemory_put(m, address, piece_bytes):
                self.frames.exhausted = True    # the run ends with an error
                return ps
            ps += copies_write_ps(&self.copies, &self.caches, &self.copies_stats, address, piece_bytes)
            n_bytes -= piece_bytes
        if self.application_accesses:
            ledger_charge(
                &self.ledger, PROCESS, OP_APPLICATION,
                copies_application_ps(&self.copies, &self.caches, &self.copies_stats, self.application_accesses),
                self.application_accesses,
            )
        return ps

    cdef void acknowledged(self, int32_t process, int64_t n_bytes) noexcept nogil:
        sendmemory_free(&self.sending[process], n_bytes)

    cdef int64_t copy_out_ps(self, int32_t process, int64_t n_bytes) noexcept nogil:
        """Out of what the device has filled, in the order of arrival."""
        cdef int64_t at, piece_bytes, ps = 0
        self.handover(PROCESS, 1)
        while n_bytes:
            at = self.rx_read % self.rx_bytes
            piece_bytes = min(n_bytes, self.rx_bytes - at)
            ps += copies_read_ps(&self.copies, &self.caches, &self.copies_stats, self.rx_start + at, <int32_t>piece_bytes)
            self.rx_read += piece_bytes
            n_bytes -= piece_bytes
        return ps

    @final
    cdef int64_t device_read_ps(self, const frame_t* f) noexcept nogil:
        """The device fetches the payload of a burst: what caches and memory add to the time of the bus."""
        cdef sendmemory_t* m = &self.sending[f.index // self.port.pairs]
        cdef int64_t left_bytes = f.sequence + f.payload_bytes - m.position, ps = 0, address
        cdef int32_t piece_bytes
        while left_bytes > 0:               # what goes out again has been read before
            address = sendmemory_next(m, left_bytes, &piece_bytes)
            if piece_bytes == 0:
                break
            ps = max(ps, copies_dma_read_ps(&self.copies, &self.caches, &self.copies_stats, address, piece_bytes))
            left_bytes -= piece_bytes
        return ps

    # transmit, driver side -------------------------------------------------------------------------------------------

    cdef bint xmit_room(self) noexcept nogil:
        return not self.stopped

    @final
    cdef int32_t packet_descriptors(self, const packet_t* p) noexcept nogil:
        cdef int32_t payload_bytes = p.payload_bytes if self.p.tso else min(p.payload_bytes, p.segment_bytes)
        return (payload_bytes > p.segment_bytes) + 1 + (payload_bytes + TX_DESCRIPTOR_BYTES - 1) // TX_DESCRIPTOR_BYTES

    cdef void xmit_charge(self, int32_t context, const packet_t* p) noexcept nogil:
        if not self.p.tso and p.payload_bytes > p.segment_bytes:
            ledger_charge(&self.ledger, context, OP_GSO, self.cost.gso_segment, 1)
            ledger_charge(&self.ledger, context, OP_SKB_ALLOC, self.cost.skb_alloc, 1)
        ledger_charge(&self.ledger, context, OP_XMIT, self.p.xmit + self.packet_descriptors(p) * self.p.xmit_buffer, 1)
        ledger_charge(&self.ledger, context, OP_MMIO_WRITE, self.cost.mmio_write, 1)
        if context == SOFT_IRQ:
            self.handover(context, 1)

    cdef void xmit(self, packet_t* p) noexcept nogil:
        """Post the packet, or without TSO its first segment, and ring the doorbell."""
        cdef ixgbe_packet_t* c = &self.chain[self.chain_driver]
        c.descriptors = self.packet_descriptors(p)
        c.packet = p[0]
        c.born_ps = self.q.now_ps
        if not self.p.tso:
            c.packet.payload_bytes = min(p.payload_bytes, p.segment_bytes)
        p.payload_bytes -= c.packet.payload_bytes
        p.sequence += c.packet.payload_bytes
        if p.payload_bytes > 0:
            c.packet.truesize_bytes = 0     # the last segment holds the memory of all
        c.n_bytes = packet_bytes(&c.packet)
        c.lost = self.port.p.buffer_bytes > 0 and self.port.waiting_bytes + c.n_bytes > self.port.p.buffer_bytes
        if c.lost:
            self.device_stats.lost_packets += 1
        else:
            self.port.waiting_bytes += c.n_bytes
        self.tx_free -= c.descriptors
        self.chain_driver = ring_next(self.chain_driver, self.p.tx_ring)
        self.chains_posted += 1
        self.stats.tx_frames += segments(&c.packet)
        self.device_stats.tx_packets += 1
        self.device_stats.tx_descriptors += c.descriptors
        self.device_stats.doorbells += 1
        if self.tx_free < LONGEST_CHAIN:
            self.stopped = True
            self.stats.tx_stops += 1
        self.port.start(True)

    # transmit, NIC side ----------------------------------------------------------------------------------------------

    @final
    cdef bint next_lost(self) noexcept nogil:
        return self.chains_posted > 0 and self.chain[self.chain_nic].lost

    @final
    cdef int64_t burst_take(self) noexcept nogil:
        """Put the next burst of the packet on the wire; returns how long that takes."""
        cdef packet_t* p = &self.chain[self.chain_nic].packet
        cdef int32_t index = frames_take(self.frames), tail_bytes
        cdef int64_t on_wire
        cdef frame_t* f
        self.port.burst = index
        self.port.burst_last = False
        if index < 0:                       # the run ends with an error
            return 0
        f = &self.frames.frame[index]
        f.kind = p.kind
        f.sequence = p.sequence
        f.ack = p.ack
        f.window_edge = p.window_edge
        f.index = p.index
        f.last = p.last
        f.payload_bytes = p.payload_bytes
        if p.payload_bytes > p.segment_bytes:
            f.payload_bytes = min(p.payload_bytes, self.port.burst_segments(p.segment_bytes) * p.segment_bytes)
        f.segments = max((f.payload_bytes + p.segment_bytes - 1) // p.segment_bytes, 1) if f.payload_bytes else 1
        f.length_bytes = f.segments * p.length_bytes + f.payload_bytes
        f.born_ps = self.chain[self.chain_nic].born_ps
        p.payload_bytes -= f.payload_bytes
        p.sequence += f.payload_bytes
        self.port.burst_last = p.payload_bytes == 0
        self.port.waiting_bytes -= f.length_bytes
        self.port.memory_ps = self.device_read_ps(f) if f.payload_bytes else 0
        tail_bytes = p.length_bytes + f.payload_bytes - (f.segments - 1) * p.segment_bytes
        on_wire = f.length_bytes + f.segments * WIRE_OVERHEAD_BYTES + max(WIRE_SHORTEST_BYTES - tail_bytes, 0)
        self.device_stats.wire_bytes += on_wire
        self.device_stats.wire_busy_ps += on_wire * self.byte_ps
        return max(on_wire * self.byte_ps, <int64_t>(f.length_bytes * self.port.p.bus_byte_ps))

    @final
    cdef void packet_done(self) noexcept nogil:
        """The descriptors of the packet that has left, or is lost, are written back."""
        cdef ixgbe_packet_t* c = &self.chain[self.chain_nic]
        self.tx_done += c.descriptors
        self.chain_nic = ring_next(self.chain_nic, self.p.tx_ring)
        self.chains_posted -= 1
        self.chains_done += 1
        self.device_stats.tx_completions += 1
        self.cause = True
        self.irq_update()
        self.dispatch()                     # it may be another core's event

    cdef void wire_start(self) noexcept nogil:
        self.port.start(False)

    cdef void wire_done(self) noexcept nogil:
        self.port.done()

    cdef void dma_done(self) noexcept nogil:
        server_finish(self.q, &self.dma)
        self.port.written()
        server_dispatch(self.q, &self.dma)

    # receive, NIC side -----------------------------------------------------------------------------------------------

    @final
    cdef void received(self, int32_t frame, int32_t descriptors) noexcept nogil:
        cdef int64_t left_bytes = self.frames.frame[frame].payload_bytes, at, piece_bytes
        while left_bytes:
            at = self.rx_written % self.rx_bytes
            piece_bytes = min(left_bytes, self.rx_bytes - at)
            copies_dma_write(&self.copies, &self.caches, &self.copies_stats, self.rx_start + at, <int32_t>piece_bytes)
            self.rx_written += piece_bytes
            left_bytes -= piece_bytes
        fifo_put(&self.rx_ready, frame)
        self.rx_credit -= descriptors
        self.rx_done += descriptors
        self.device_stats.rx_descriptors += descriptors
        self.stats.rx_frames += self.frames.frame[frame].segments
        if self.p.rsc:
            self.device_stats.rsc_merged += self.frames.frame[frame].segments - 1
        self.cause = True
        self.irq_update()
        self.dispatch()

    cdef int64_t consume(self, int32_t context, int64_t n_bytes) noexcept nogil:
        """Free the pages, and one sk_buff for each coalescing, or GRO packet, read."""
        cdef int64_t pages = (n_bytes + RX_BUFFER_BYTES - 1) // RX_BUFFER_BYTES
        cdef double whole = self.port.p.burst_bytes if self.p.rsc else GRO_SEGMENTS * self.set.mss_bytes
        ledger_charge(&self.ledger, context, OP_PAGE, pages * self.p.rx_page, pages)
        return <int64_t>ceil(n_bytes / whole)

    # interrupt and poll ----------------------------------------------------------------------------------------------

    @final
    cdef void irq_update(self) noexcept nogil:
        """Interrupt if there is a cause, the poll has ended and the throttle allows it; or set the timer that ends that."""
        if not self.cause or not self.irq_enabled:
            return
        if self.q.now_ps < self.irq_allowed_ps:
            if not queue_pending(self.q, self.base + EVENT_RX_TIMER):
                self.device_stats.held_off += 1
                queue_set(self.q, self.base + EVENT_RX_TIMER, self.irq_allowed_ps)
            return
        self.cause = self.irq_enabled = False
        self.irq_allowed_ps = self.q.now_ps + self.itr_ps
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
        cdef int32_t i, taken = 0
        cdef int32_t frame
        self.stats.polls += 1
        self.poll_tx = self.chains_done
        self.poll_rx = self.poll_buffers = 0
        for i in range(self.rx_ready.count):
            if taken >= POLL_BUDGET:
                break
            frame = self.rx_ready.item[(self.rx_ready.head + i) & self.rx_ready.mask]
            taken += 1 if self.p.rsc else self.frames.frame[frame].segments
            self.poll_buffers += self.port.descriptors(frame)
            self.poll_rx += 1
        ledger_charge(&self.ledger, SOFT_IRQ, OP_POLL, self.p.poll, 1)
        if self.poll_tx:
            ledger_charge(&self.ledger, SOFT_IRQ, OP_TX_REAP, self.poll_tx * self.p.tx_reap, self.poll_tx)
            ledger_charge(&self.ledger, SOFT_IRQ, OP_SKB_FREE, self.poll_tx * self.cost.skb_free, self.poll_tx)
            self.handover(SOFT_IRQ, self.poll_tx)
        if taken:
            ledger_charge(&self.ledger, SOFT_IRQ, OP_RX_REAP, taken * self.p.rx_reap, taken)
            ledger_charge(&self.ledger, SOFT_IRQ, OP_SKB_ALLOC, taken * self.cost.skb_alloc, taken)
            ledger_charge(&self.ledger, SOFT_IRQ, OP_PAGE, self.poll_buffers * self.p.rx_page, self.poll_buffers)
            if not self.p.rsc:
                ledger_charge(&self.ledger, SOFT_IRQ, OP_GRO, taken * self.cost.gro, taken)
        if self.rx_returned + self.poll_buffers >= RX_GROUP:
            i = self.rx_returned + self.poll_buffers
            ledger_charge(&self.ledger, SOFT_IRQ, OP_RX_REFILL, i * self.p.rx_refill, i)
            ledger_charge(&self.ledger, SOFT_IRQ, OP_MMIO_WRITE, self.cost.mmio_write, 1)
        if taken < POLL_BUDGET:
            ledger_charge(&self.ledger, SOFT_IRQ, OP_MMIO_WRITE, self.cost.mmio_write, 1)
        self.poll_last = taken < POLL_BUDGET
        self.submit(SOFT_IRQ)

    cdef void poll_done(self) noexcept nogil:
        cdef ixgbe_packet_t* c
        cdef int32_t _i, frame
        for _i in range(self.poll_tx):
            c = &self.chain[self.chain_clean]
            self.chain_clean = ring_next(self.chain_clean, self.p.tx_ring)
            self.tx_done -= c.descriptors
            self.tx_free += c.descriptors
            self.tx_itr.n_bytes += c.n_bytes
            if c.packet.truesize_bytes:
                self.socket.sent(self, c.packet.truesize_bytes)
        self.chains_done -= self.poll_tx
        if self.stopped and self.tx_free >= 2 * LONGEST_CHAIN:
            self.stopped = False
            self.stats.tx_wakes += 1
        if self.qdisc_count:
            self.tx_scheduled = True
        for _i in range(self.poll_rx):
            frame = fifo_take(&self.rx_ready)
            self.rx_itr.n_bytes += self.frames.frame[frame].length_bytes
            self.netif_rx(frame)
        self.rx_done -= self.poll_buffers
        self.rx_returned += self.poll_buffers
        if self.rx_returned >= RX_GROUP:
            self.rx_credit += self.rx_returned
            self.rx_returned = 0
            self.device_stats.rx_refills += 1
            self.port.write_start()
        if self.poll_last:
            self.poll_scheduled = False
            if self.p.dynamic:
                self.itr_set()
            self.irq_enabled = True
            self.irq_update()

    @final
    cdef void itr_update(self, itr_t* itr) noexcept nogil:
        cdef double bytes_per_us = itr.n_bytes * 1e6 / self.itr_ps
        if itr.n_bytes == 0:
            return
        itr.n_bytes = 0
        if itr.cls == ITR_LOWEST:
            if bytes_per_us > ITR_LOW_ABOVE:
                itr.cls = ITR_LOW
        elif itr.cls == ITR_LOW:
            if bytes_per_us > ITR_BULK_ABOVE:
                itr.cls = ITR_BULK
            elif bytes_per_us <= ITR_LOW_ABOVE:
                itr.cls = ITR_LOWEST
        elif bytes_per_us <= ITR_BULK_ABOVE:
            itr.cls = ITR_LOW

    @final
    cdef void itr_set(self) noexcept nogil:
        """The throttle interval for the interrupts to come."""
        cdef int32_t cls
        cdef double wanted_ps, old_ps = self.itr_ps
        self.itr_update(&self.tx_itr)
        self.itr_update(&self.rx_itr)
        cls = max(self.tx_itr.cls, self.rx_itr.cls)
        if cls == ITR_LOWEST:
            wanted_ps = 10e6
            self.device_stats.itr_lowest += 1
        elif cls == ITR_LOW:
            wanted_ps = 50e6
            self.device_stats.itr_low += 1
        else:
            wanted_ps = 125e6
            self.device_stats.itr_bulk += 1
        self.itr_ps = <int64_t>(10 * wanted_ps * old_ps / (9 * wanted_ps + old_ps))


cdef inline int32_t segments(const packet_t* p) noexcept nogil:
    if p.payload_bytes <= p.segment_bytes:
        return 1
    return (p.payload_bytes + p.segment_bytes - 1) // p.segment_bytes


cdef inline int64_t packet_bytes(const packet_t* p) noexcept nogil:
    """Headers and payload of all its frames."""
    return segments(p) * <int64_t>p.length_bytes + p.payload_bytes
