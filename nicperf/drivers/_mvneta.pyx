"""The Armada XP's network unit and its driver, executed. The steps stand in `mvneta.py`; this file follows them in order."""
from cython cimport final
from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy
from nicperf.drivers._byte_limits cimport byte_limits_complete, byte_limits_full, byte_limits_init, byte_limits_queue
from nicperf.engine._ledger cimport (
    HARD_IRQ, OP_BARRIER, OP_COPY, OP_DMA_MAP, OP_DMA_SYNC, OP_GRO, OP_GSO, OP_IRQ_ENTRY, OP_MMIO_READ, OP_MMIO_WRITE, OP_PAGE,
    OP_POLL, OP_RX_REAP, OP_SKB_ALLOC, OP_SKB_FREE, OP_TX_REAP, OP_XMIT, SOFT_IRQ, ledger_charge,
)
from nicperf.engine._queue cimport queue_clear, queue_pending, queue_set, queue_set_busy
from nicperf.engine._server cimport server_dispatch, server_finish, server_has, server_submit
from nicperf.parts._dma cimport (
    DMA_FROM_DEVICE, DMA_MAP, DMA_SYNC_FOR_CPU, DMA_TO_DEVICE, DMA_UNMAP, dma_call, dma_init, dma_params_t, dma_take_ps,
)
from nicperf.parts._fifo cimport fifo_alloc, fifo_first, fifo_put, fifo_take
from nicperf.parts._frames cimport FRAME_POOL, TCP_DATA, frame_t, frames_give, frames_take
from nicperf.parts._ring cimport ring_next
from nicperf.stack._host cimport EVENT_RX_TIMER, EVENT_WIRE, Host, cycles_ps, packet_t

from nicperf.drivers.mvneta import HANDOVERS, SEGMENTATIONS, UNITS
from nicperf.parts.dma import IOMMU

cdef enum:                              # command word of a transmit descriptor
    L4_CHECKSUM_FULL = 0x40000000       # the chip sums all of the TCP segment
    FIRST = 0x00200000
    LAST = 0x00100000
    ZERO_PAD = 0x00080000
    IP_CHECKSUM = 0x00040000
    IP_HEADER_WORDS = 0x00000500        # five
    IP_OFFSET = 0x0000000E              # behind 14 bytes of Ethernet
    OWNED_BY_CHIP = 0x80000000          # in the word `owner`

cdef enum:                              # where things lie in memory
    HEADERS_AT = 0x10000000             # a slot for each descriptor
    HEADS_AT = 0x20000000               # of sk_buffs
    HEAD_BYTES = 1024
    PAYLOAD_AT = 0x40000000             # the stream of a socket, in page fragments
    PAYLOAD_MASK = 0x3FFFFFFF

cdef enum:
    WIRE_OVERHEAD_BYTES = 24            # preamble 8, FCS 4, gap 12
    WIRE_SHORTEST_BYTES = 60            # header and padded payload, without FCS
    LARGEST_RING = 1024
    DOORBELL_MOST = 255                 # descriptors that one write of a register can tell
    POLL_BUDGET = 64
    RX_BUFFER_BYTES = 1664              # of a frame of 1518 bytes, as the driver rounds it

DESCRIPTOR_BYTES = sizeof(mvneta_descriptor_t)


cdef inline int32_t piece_bytes(int64_t offset, int32_t left_bytes, int32_t fragment_bytes) noexcept nogil:
    """The next piece of a segment ends with the segment or with the page fragment."""
    return min(left_bytes, fragment_bytes - <int32_t>(offset % fragment_bytes))


cdef inline uint32_t payload_address(int64_t offset) noexcept nogil:
    return PAYLOAD_AT | <uint32_t>(offset & PAYLOAD_MASK)


cdef inline bint in_header_memory(uint32_t address) noexcept nogil:
    """How the driver knows what it has not mapped."""
    return HEADERS_AT <= address < HEADS_AT


cdef class MvnetaHost(Host):
    """A host with this network unit: `arrive` and the device events come from the wire, `xmit` from the stack."""

    def __cinit__(self, *args, **kwargs):
        self.tx_ring = <mvneta_descriptor_t*>calloc(LARGEST_RING, sizeof(mvneta_descriptor_t))
        self.tx_slot = <mvneta_slot_t*>calloc(LARGEST_RING, sizeof(mvneta_slot_t))
        self.header = <mvneta_header_t*>calloc(LARGEST_RING, sizeof(mvneta_header_t))
        self.head = <mvneta_header_t*>calloc(LARGEST_RING, sizeof(mvneta_header_t))
        self.rx_frame = <int32_t*>calloc(LARGEST_RING, sizeof(int32_t))
        if self.tx_ring == NULL or self.tx_slot == NULL or self.header == NULL or self.head == NULL or self.rx_frame == NULL \
                or fifo_alloc(&self.tx_fifo, FRAME_POOL) < 0 or fifo_alloc(&self.tx_sizes, FRAME_POOL) < 0 \
                or fifo_alloc(&self.rx_fifo, FRAME_POOL) < 0:
            raise MemoryError

    def __dealloc__(self):
        free(self.tx_ring)
        free(self.tx_slot)
        free(self.header)
        free(self.head)
        free(self.rx_frame)
        free(self.tx_fifo.item)
        free(self.tx_sizes.item)
        free(self.rx_fifo.item)

    cdef int configure(self, object spec, str workload) except -1:
        Host.configure(self, spec, workload)
        driver, nic, dma = spec.driver, spec.nic, spec.dma
        cdef double mhz = spec.cpu.frequency_mhz / spec.cpu.cycles_factor
        cdef dma_params_t mapping

        self.p.segmentation = SEGMENTATIONS.index(driver.segmentation)
        self.p.tso_off_ps = <int64_t>(driver.tso_off_s * 1e12)
        self.p.tso_on_ps = <int64_t>(driver.tso_on_s * 1e12)
        self.p.tx_ring = driver.tx_ring
        self.p.rx_ring = driver.rx_ring
        self.p.longest_chain = driver.longest_chain
        self.p.tx_stop = driver.tx_stop
        self.p.tx_wake = driver.tx_wake
        self.p.slot_bytes = driver.header_slot_bytes
        self.p.tx_coalesce = max(driver.tx_coalesce_count, 1)
        self.p.rx_coalesce = max(driver.rx_coalesce_frames, 1)
        self.p.rx_timer_ps = <int64_t>(driver.rx_coalesce_us * 1e6)
        self.p.copybreak_bytes = driver.rx_copybreak_bytes
        self.p.xmit_more = driver.xmit_more
        self.p.bql = driver.bql
        self.p.sliver_copy = driver.sliver_copy
        self.p.owner_bit = HANDOVERS[1] == nic.handover
        self.p.first_early = driver.fault_first_early and self.p.owner_bit
        self.p.unwind_from_zero = driver.fault_unwind
        self.p.map_failure_calls = driver.map_failure_calls
        self.p.count_descriptors = UNITS[1] == nic.coalesce_unit
        self.p.sliver_bytes = nic.sliver_bytes
        self.p.tx_fifo_bytes = nic.tx_fifo_bytes
        self.p.rx_fifo_bytes = nic.rx_fifo_bytes
        self.p.dma_setup_ps = <int64_t>(nic.dma_setup_ns * 1000)
        self.p.descriptor_ps = <int64_t>(nic.descriptor_ns * 1000)
        self.p.dma_byte_ps = 1e6 / nic.dma_mbyte_s
        self.p.xmit = cycles_ps(driver.xmit_cycles, mhz)
        self.p.header = cycles_ps(driver.header_cycles + (0 if dma.coherent else driver.header_uncached_cycles), mhz)
        self.p.descriptor = cycles_ps(driver.descriptor_cycles, mhz)
        self.p.barrier = cycles_ps(driver.barrier_cycles, mhz)
        self.p.reference = cycles_ps(driver.reference_cycles, mhz)
        self.p.sliver = cycles_ps(driver.sliver_cycles, mhz)
        self.p.tx_reap = cycles_ps(driver.tx_reap_cycles, mhz)
        self.p.rx_reap = cycles_ps(driver.rx_reap_cycles, mhz)
        self.p.poll = cycles_ps(driver.poll_cycles, mhz)

        mapping.coherent = dma.coherent
        mapping.invalidates_for_device = dma.invalidates_for_device
        mapping.line_bytes = dma.line_bytes
        mapping.iommu = IOMMU.index(dma.iommu)
        mapping.lazy_calls = dma.iommu_lazy_calls
        mapping.call_ps = cycles_ps(dma.call_cycles, mhz)
        mapping.sync_ps = cycles_ps(dma.sync_cycles, mhz)
        mapping.clean_ps = cycles_ps(dma.clean_cycles, mhz)
        mapping.invalidate_ps = cycles_ps(dma.invalidate_cycles, mhz)
        mapping.iommu_map_ps = cycles_ps(dma.iommu_map_cycles, mhz)
        mapping.iommu_unmap_ps = cycles_ps(dma.iommu_unmap_cycles, mhz)
        mapping.iommu_page_ps = cycles_ps(dma.iommu_page_cycles, mhz)
        mapping.iommu_flush_ps = cycles_ps(dma.iommu_flush_cycles, mhz)
        dma_init(&self.mapping, &mapping)
        byte_limits_init(&self.limits)

        self.set.gso = True
        if self.p.segmentation == SEGMENT_NONE:
            self.set.super_packet_bytes = self.set.mss_bytes
        else:
            self.set.super_packet_bytes = min(self.set.super_packet_bytes, <int32_t>driver.tso_segments * self.set.mss_bytes)
        self.rx_credit = self.p.rx_ring
        self.irq_enabled = True
        return 0

    # what is counted -------------------------------------------------------------------------------------------------

    cdef void counted(self, int64_t* device, int64_t* bus) noexcept nogil:
        memcpy(device, &self.device_stats, sizeof(mvneta_stats_t))

    cdef void levels(self, int64_t* row) noexcept nogil:
        row[0] = self.qdisc_count
        row[1] = self.tx_count
        row[2] = self.tx_fifo.count
        row[3] = self.rx_fifo.count
        row[4] = self.rx_done
        row[5] = self.backlog.count

    cdef void state(self, int64_t* row) noexcept nogil:
        row[0] = self.tx_sent
        row[1] = self.tx_given
        row[2] = self.rx_credit
        row[3] = 0
        row[4] = self.rx_credit

    # transmit, driver side -------------------------------------------------------------------------------------------

    cdef bint xmit_room(self) noexcept nogil:
        return not self.stopped and not self.bql_stopped

    cdef void xmit_charge(self, int32_t context, const packet_t* p) noexcept nogil:
        """Charge for a super-packet, or for its next segment where the stack cuts."""
        cdef bint cut = p.payload_bytes > p.segment_bytes and p.kind == TCP_DATA, piecewise = p.kind == TCP_DATA
        cdef int32_t segments = 0, pieces = 0, slivers = 0, left_bytes, payload_bytes, n
        cdef int64_t offset = p.sequence
        self.by_driver = cut and not self.gso_follows and self.p.segmentation == SEGMENT_TSO \
            and not (self.p.tso_off_ps and self.q.now_ps >= self.p.tso_off_ps
                     and not (self.p.tso_on_ps > self.p.tso_off_ps and self.q.now_ps >= self.p.tso_on_ps))
        left_bytes = p.payload_bytes if self.by_driver else min(p.payload_bytes, p.segment_bytes)
        if not piecewise or left_bytes == 0:
            dma_call(&self.mapping, DMA_MAP, 0, p.length_bytes + left_bytes, DMA_TO_DEVICE, False)
            segments = 1
        while piecewise and left_bytes:
            payload_bytes = min(left_bytes, p.segment_bytes)
            left_bytes -= payload_bytes
            segments += 1
            if not self.by_driver:
                dma_call(&self.mapping, DMA_MAP, 0, p.length_bytes, DMA_TO_DEVICE, False)
            while payload_bytes:
                n = piece_bytes(offset, payload_bytes, self.set.fragment_bytes)
                dma_call(&self.mapping, DMA_MAP, <int32_t>(offset % self.set.fragment_bytes), n, DMA_TO_DEVICE, False)
                slivers += self.is_sliver(n, offset) and self.p.sliver_copy
                payload_bytes -= n
                offset += n
                pieces += 1
        if not self.by_driver and (cut or self.gso_follows):
            ledger_charge(&self.ledger, context, OP_GSO, self.cost.gso_segment, 1)
            ledger_charge(&self.ledger, context, OP_SKB_ALLOC, self.cost.skb_alloc, 1)
            ledger_charge(&self.ledger, context, OP_PAGE, pieces * self.p.reference, pieces)
            if not cut:                     # the last of it: the super-packet's own sk_buff is done with
                ledger_charge(&self.ledger, context, OP_SKB_FREE, self.cost.skb_free, 1)
        ledger_charge(&self.ledger, context, OP_DMA_MAP, dma_take_ps(&self.mapping), pieces + (0 if self.by_driver else 1))
        ledger_charge(
            &self.ledger, context, OP_XMIT,
            self.p.xmit + (segments + pieces) * self.p.descriptor + slivers * self.p.sliver
            + (segments * self.p.header if self.by_driver else 0), 1,
        )
        # More is sure to follow: a segment of the same packet, or another packet in the queue.
        self.ring_later = self.p.xmit_more and (cut and not self.by_driver or self.qdisc_count > 1) \
            and self.tx_count + segments + pieces < self.p.tx_stop \
            and self.tx_held + segments + pieces <= DOORBELL_MOST
        if not self.ring_later:
            n = (self.tx_held + segments + pieces + DOORBELL_MOST - 1) // DOORBELL_MOST
            ledger_charge(&self.ledger, context, OP_BARRIER, self.p.barrier, 1)
            ledger_charge(&self.ledger, context, OP_MMIO_WRITE, n * self.cost.mmio_write, n)
        if self.p.first_early and self.by_driver:
            self.header[self.tx_driver].packet = p[0]
            self.tx_ring[self.tx_driver].command = FIRST
            self.tx_ring[self.tx_driver].length = <uint16_t>p.length_bytes
            self.tx_ring[self.tx_driver].address = HEADERS_AT + self.tx_driver * self.p.slot_bytes
            self.tx_ring[self.tx_driver].owner = OWNED_BY_CHIP

    cdef void xmit(self, packet_t* p) noexcept nogil:
        """Post a super-packet or one frame, and ring the doorbell."""
        cdef int32_t first = self.tx_driver, used = self.tx_count, segments = 0, payload_bytes, whole_bytes, last
        cdef int32_t pieces_before = <int32_t>self.device_stats.tx_pieces
        cdef packet_t next_frame = p[0]
        cdef bint follows = self.gso_follows, posted = True
        whole_bytes = p.payload_bytes if self.by_driver else min(p.payload_bytes, p.segment_bytes)
        self.device_stats.tx_calls += 1
        self.tx_first = first
        if self.by_driver:
            self.device_stats.super_packets += 1
            segments = (whole_bytes + p.segment_bytes - 1) // p.segment_bytes
            posted = self.tx_count + 2 * segments + whole_bytes // self.set.fragment_bytes + 2 < self.p.tx_ring
            segments = 0
        while posted:
            payload_bytes = min(next_frame.payload_bytes, p.segment_bytes)
            posted = self.fill_frame(&next_frame, payload_bytes)
            segments += posted
            next_frame.payload_bytes -= payload_bytes
            next_frame.sequence += payload_bytes
            if not self.by_driver or next_frame.payload_bytes <= 0:
                break
        if not posted:
            self.unwind(self.tx_count - used)
            self.tx_ring[first].owner = 0
            self.drop(p)
            return
        p.payload_bytes -= whole_bytes
        p.sequence += whole_bytes
        self.gso_follows = p.payload_bytes > 0
        if not self.by_driver and (follows or self.gso_follows):
            self.device_stats.gso_segments += 1
        self.stats.tx_frames += segments
        self.device_stats.tx_segments += segments
        self.device_stats.tx_descriptors += self.tx_count - used
        last = (self.tx_driver + self.p.tx_ring - 1) % self.p.tx_ring
        self.tx_slot[last].skb = True
        self.tx_slot[last].truesize_bytes = 0 if self.gso_follows else p.truesize_bytes     # the last holds the memory of all
        self.tx_slot[last].bytes = p.length_bytes + whole_bytes
        self.tx_slot[last].references = 0
        if not self.by_driver and (follows or self.gso_follows):
            self.tx_slot[last].references = <int32_t>self.device_stats.tx_pieces - pieces_before
            self.device_stats.page_references += self.tx_slot[last].references
        if self.p.bql:
            byte_limits_queue(&self.limits, self.tx_slot[last].bytes)
            if byte_limits_full(&self.limits):
                self.bql_stopped = True
                self.device_stats.bql_stops += 1
        if self.tx_count >= self.p.tx_stop and not self.stopped:
            self.stopped = True
            self.stats.tx_stops += 1
        self.tx_held += self.tx_count - used
        if self.p.owner_bit and not (self.p.first_early and self.by_driver):
            self.tx_ring[first].owner = OWNED_BY_CHIP
        if not self.ring_later or self.stopped or self.bql_stopped:
            self.doorbell()

    @final
    cdef bint is_sliver(self, int32_t n_bytes, int64_t address) noexcept nogil:
        return n_bytes <= self.p.sliver_bytes and (address & 7) != 0

    @final
    cdef bint map(self) noexcept nogil:
        self.map_calls += 1
        if self.p.map_failure_calls and self.map_calls % self.p.map_failure_calls == 0:
            self.device_stats.map_failures += 1
            return False
        self.device_stats.dma_maps += 1
        return True

    @final
    cdef void fill(self, uint32_t command, int32_t length_bytes, uint32_t address, bint mapped) noexcept nogil:
        """Write the next descriptor and hand it over, unless it is a packet's first: `xmit` does that when all are there."""
        cdef mvneta_descriptor_t* d = &self.tx_ring[self.tx_driver]
        cdef mvneta_slot_t* slot = &self.tx_slot[self.tx_driver]
        if slot.mapped:
            self.device_stats.lost_maps += 1
        slot.mapped = mapped
        slot.skb = False
        d.command = command
        d.length = <uint16_t>length_bytes
        d.address = address
        if self.p.owner_bit and self.tx_driver != self.tx_first:
            d.owner = OWNED_BY_CHIP
        self.tx_driver = ring_next(self.tx_driver, self.p.tx_ring)
        self.tx_count += 1

    @final
    cdef bint fill_frame(self, packet_t* p, int32_t payload_bytes) noexcept nogil:
        """Descriptors of one frame; False if a mapping failed."""
        cdef int32_t at = self.tx_driver, left_bytes = payload_bytes, n
        cdef int64_t offset = p.sequence
        cdef uint32_t command = FIRST | IP_CHECKSUM | L4_CHECKSUM_FULL | IP_HEADER_WORDS | IP_OFFSET
        cdef mvneta_header_t* header = &self.header[at] if self.by_driver else &self.head[at]
        header.packet = p[0]
        header.born_ps = self.q.now_ps
        if p.kind != TCP_DATA or payload_bytes == 0:
            if not self.map():
                return False
            self.fill(command | LAST | ZERO_PAD, p.length_bytes + payload_bytes, HEADS_AT + at * HEAD_BYTES, True)
            return True
        if self.by_driver:
            self.fill(command, p.length_bytes, HEADERS_AT + at * self.p.slot_bytes, False)
            self.device_stats.header_copies += 1
        else:
            if not self.map():
                return False
            self.fill(command, p.length_bytes, HEADS_AT + at * HEAD_BYTES, True)
        while left_bytes:
            n = piece_bytes(offset, left_bytes, self.set.fragment_bytes)
            left_bytes -= n
            command = 0 if left_bytes else LAST if self.by_driver else LAST | ZERO_PAD
            if self.is_sliver(n, offset) and self.p.sliver_copy:
                self.header[self.tx_driver].packet.sequence = offset
                self.device_stats.sliver_copies += 1
                self.fill(command, n, HEADERS_AT + self.tx_driver * self.p.slot_bytes, False)
            else:
                if not self.map():
                    return False
                self.fill(command, n, payload_address(offset), True)
            offset += n
            self.device_stats.tx_pieces += 1
        return True

    @final
    cdef void unwind(self, int32_t n) noexcept nogil:
        """Take back the last `n` descriptors, whose packet could not be finished."""
        cdef int32_t first = (self.tx_driver + self.p.tx_ring - n) % self.p.tx_ring, at, i
        for i in range(n - 1, -1, -1):
            at = i if self.p.unwind_from_zero else (first + i) % self.p.tx_ring
            if self.tx_slot[at].mapped:
                self.tx_slot[at].mapped = False
                self.device_stats.dma_unmaps += 1
                if (at - first + self.p.tx_ring) % self.p.tx_ring >= n:
                    self.device_stats.wrong_unmaps += 1     # another packet's
            elif not in_header_memory(self.tx_ring[at].address):
                self.device_stats.wrong_unmaps += 1
        for i in range(n):
            self.tx_ring[(first + i) % self.p.tx_ring].owner = 0
        self.tx_driver = first
        self.tx_count -= n

    @final
    cdef void drop(self, packet_t* p) noexcept nogil:
        """Free the packet, or the segment, as if it had been sent."""
        cdef int32_t lost_bytes = p.payload_bytes if self.by_driver else min(p.payload_bytes, p.segment_bytes)
        self.device_stats.tx_dropped += 1
        p.payload_bytes -= lost_bytes
        p.sequence += lost_bytes
        self.gso_follows = p.payload_bytes > 0
        if not self.gso_follows and p.truesize_bytes:
            self.socket.sent(self, p.truesize_bytes)
        if self.tx_held:
            self.doorbell()

    @final
    cdef void doorbell(self) noexcept nogil:
        """Tell the chip of all descriptors that it does not know."""
        self.device_stats.doorbells += (self.tx_held + DOORBELL_MOST - 1) // DOORBELL_MOST
        self.tx_given += self.tx_held
        if not self.p.owner_bit:
            self.tx_pending += self.tx_held
        self.tx_held = 0
        self.tx_active = True
        self.tx_start()

    # transmit, chip --------------------------------------------------------------------------------------------------

    @final
    cdef void tx_start(self) noexcept nogil:
        """Begin to fetch the next frame, if it is there and the FIFO has room for it."""
        cdef int32_t at = self.tx_nic, n = 0, length_bytes = 0
        cdef mvneta_descriptor_t* d
        if not self.tx_active or server_has(&self.dma, MVNETA_DMA_TX):
            return
        if self.p.owner_bit:                # pass over what is left of a frame that was cut off
            while self.tx_ring[at].owner and not self.tx_ring[at].command & FIRST:
                self.tx_ring[at].owner = 0
                at = ring_next(at, self.p.tx_ring)
                self.tx_carried += 1
                self.device_stats.tx_skipped += 1
            self.tx_nic = at
            if not self.tx_ring[at].owner:
                self.tx_active = False
                return
        elif self.tx_pending == 0:
            return
        while True:
            d = &self.tx_ring[at]
            if self.p.owner_bit and not d.owner:
                self.device_stats.tx_truncated += 1
                self.tx_carried += n
                self.tx_ring[self.tx_nic].owner = 0
                self.tx_nic = at
                self.tx_active = False
                return
            n += 1
            length_bytes += d.length
            at = ring_next(at, self.p.tx_ring)
            if d.command & LAST:
                break
        if self.tx_fifo_bytes + length_bytes > self.p.tx_fifo_bytes:
            return
        self.tx_fetching = n
        self.device_stats.gap_ps += self.p.dma_setup_ps + n * self.p.descriptor_ps
        server_submit(
            &self.dma, MVNETA_DMA_TX,
            self.p.dma_setup_ps + n * self.p.descriptor_ps + <int64_t>(length_bytes * self.p.dma_byte_ps),
        )
        server_dispatch(self.q, &self.dma)

    cdef void dma_done(self) noexcept nogil:
        if server_finish(self.q, &self.dma) == MVNETA_DMA_TX:
            self.tx_fetched()
        else:
            self.rx_written()
        server_dispatch(self.q, &self.dma)

    @final
    cdef void tx_fetched(self) noexcept nogil:
        """Put the frame together from what the descriptors and their memory say."""
        cdef int32_t index = frames_take(self.frames), i
        cdef uint32_t address = self.tx_ring[self.tx_nic].address
        cdef const mvneta_header_t* header
        cdef mvneta_descriptor_t* d
        cdef frame_t* f
        cdef int64_t offset
        cdef bint corrupt = False
        if index < 0:                       # the run ends with an error
            return
        if in_header_memory(address):
            header = &self.header[(address - HEADERS_AT) // self.p.slot_bytes]
        else:
            header = &self.head[(address - HEADS_AT) // HEAD_BYTES]
        f = &self.frames.frame[index]
        f.kind = header.packet.kind
        f.sequence = offset = header.packet.sequence
        f.ack = header.packet.ack
        f.window_edge = header.packet.window_edge
        f.index = header.packet.index
        f.last = header.packet.last
        f.born_ps = header.born_ps
        f.length_bytes = 0
        for i in range(self.tx_fetching):
            d = &self.tx_ring[self.tx_nic]
            f.length_bytes += d.length
            if i:
                corrupt |= self.is_sliver(d.length, d.address)
                if in_header_memory(d.address):
                    corrupt |= self.header[(d.address - HEADERS_AT) // self.p.slot_bytes].packet.sequence != offset
                else:
                    corrupt |= d.address != payload_address(offset)
                offset += d.length
            d.owner = 0
            self.tx_nic = ring_next(self.tx_nic, self.p.tx_ring)
        f.payload_bytes = f.length_bytes - header.packet.length_bytes
        self.device_stats.tx_corrupt += corrupt
        fifo_put(&self.tx_fifo, ~index if corrupt else index)
        fifo_put(&self.tx_sizes, self.tx_fetching + self.tx_carried)
        self.tx_fifo_bytes += f.length_bytes
        if not self.p.owner_bit:
            self.tx_pending -= self.tx_fetching
        self.tx_carried = 0
        self.wire_start()
        self.tx_start()

    cdef void wire_start(self) noexcept nogil:
        cdef int32_t bytes_on_wire, frame
        if self.paused or self.tx_fifo.count == 0 or self.wire_busy:
            return
        self.wire_busy = True
        frame = fifo_first(&self.tx_fifo)
        bytes_on_wire = max(self.frames.frame[~frame if frame < 0 else frame].length_bytes, WIRE_SHORTEST_BYTES) \
            + WIRE_OVERHEAD_BYTES
        self.device_stats.wire_bytes += bytes_on_wire
        self.device_stats.wire_busy_ps += bytes_on_wire * self.byte_ps
        queue_set_busy(self.q, self.base + EVENT_WIRE, self.q.now_ps + bytes_on_wire * self.byte_ps)

    cdef void wire_done(self) noexcept nogil:
        cdef int32_t frame = fifo_take(&self.tx_fifo), n = fifo_take(&self.tx_sizes)
        self.wire_busy = False
        self.tx_given -= n
        self.tx_sent += n
        self.tx_sent_packets += 1
        self.device_stats.tx_completions += n
        if frame < 0:                       # the receiver's checksum refuses it
            frame = ~frame
            self.tx_fifo_bytes -= self.frames.frame[frame].length_bytes
            frames_give(self.frames, frame)
        else:
            self.tx_fifo_bytes -= self.frames.frame[frame].length_bytes
            self.peer.arrive(frame)
        self.irq_update()
        self.wire_start()
        self.tx_start()

    # receive, chip ---------------------------------------------------------------------------------------------------

    cdef void arrive(self, int32_t frame) noexcept nogil:
        cdef int32_t length_bytes = self.frames.frame[frame].length_bytes
        if self.rx_fifo_bytes + length_bytes > self.p.rx_fifo_bytes:
            self.device_stats.rx_fifo_drops += 1
            frames_give(self.frames, frame)
            return
        fifo_put(&self.rx_fifo, frame)
        self.rx_fifo_bytes += length_bytes
        self.rx_start()

    @final
    cdef void rx_start(self) noexcept nogil:
        if self.rx_fifo.count == 0 or server_has(&self.dma, MVNETA_DMA_RX):
            return
        if self.rx_credit == 0:
            self.device_stats.rx_ring_empty += 1
            return
        self.device_stats.gap_ps += self.p.dma_setup_ps
        server_submit(
            &self.dma, MVNETA_DMA_RX,
            self.p.dma_setup_ps
            + <int64_t>(self.frames.frame[fifo_first(&self.rx_fifo)].length_bytes * self.p.dma_byte_ps),
        )
        server_dispatch(self.q, &self.dma)

    @final
    cdef void rx_written(self) noexcept nogil:
        cdef int32_t frame = fifo_take(&self.rx_fifo)
        self.rx_fifo_bytes -= self.frames.frame[frame].length_bytes
        self.rx_frame[self.rx_nic] = frame
        self.rx_nic = ring_next(self.rx_nic, self.p.rx_ring)
        self.rx_credit -= 1
        self.rx_done += 1
        self.stats.rx_frames += 1
        if self.p.rx_timer_ps and not self.rx_timed and not queue_pending(self.q, self.base + EVENT_RX_TIMER):
            queue_set(self.q, self.base + EVENT_RX_TIMER, self.q.now_ps + self.p.rx_timer_ps)
        self.irq_update()
        self.rx_start()

    # interrupt and poll ----------------------------------------------------------------------------------------------

    @final
    cdef bint tx_cause(self) noexcept nogil:
        return (self.tx_sent if self.p.count_descriptors else self.tx_sent_packets) >= self.p.tx_coalesce

    @final
    cdef bint rx_cause(self) noexcept nogil:
        return self.rx_timed or self.rx_done >= self.p.rx_coalesce

    @final
    cdef void irq_update(self) noexcept nogil:
        if not self.irq_enabled or not (self.tx_cause() or self.rx_cause()):
            return
        self.irq_enabled = False
        self.stats.interrupts += 1
        if self.tx_cause():
            self.device_stats.tx_interrupts += 1
        elif self.rx_timed:
            self.device_stats.rx_timer_interrupts += 1
        else:
            self.device_stats.rx_threshold_interrupts += 1
        ledger_charge(&self.ledger, HARD_IRQ, OP_IRQ_ENTRY, self.cost.irq_entry, 1)
        ledger_charge(&self.ledger, HARD_IRQ, OP_MMIO_WRITE, self.cost.mmio_write, 1)
        self.submit(HARD_IRQ)

    cdef void device_timer(self, int32_t kind) noexcept nogil:
        self.rx_timed = self.rx_done > 0
        self.irq_update()

    cdef void irq_done(self) noexcept nogil:
        self.poll_scheduled = True
        self.soft_raise()

    cdef void poll_begin(self) noexcept nogil:
        """Charge what is ready now; `poll_done` does it."""
        cdef int32_t at = self.tx_clean, freed = 0, mapped = 0, references = 0, reads = 1, writes = 0, frame, length_bytes, _i
        cdef bint budget_left
        self.stats.polls += 1
        ledger_charge(&self.ledger, SOFT_IRQ, OP_POLL, self.p.poll, 1)
        self.poll_tx = self.poll_tx_packets = 0
        if self.tx_cause():
            self.poll_tx = self.tx_sent
            self.poll_tx_packets = self.tx_sent_packets
            reads += 1
            writes += (self.poll_tx + DOORBELL_MOST - 1) // DOORBELL_MOST
        for _i in range(self.poll_tx):
            if not in_header_memory(self.tx_ring[at].address):
                dma_call(&self.mapping, DMA_UNMAP, 0, self.tx_ring[at].length, DMA_TO_DEVICE, False)
                mapped += 1
            if self.tx_slot[at].skb:
                freed += 1
                references += self.tx_slot[at].references
            at = ring_next(at, self.p.tx_ring)
        if self.poll_tx:
            ledger_charge(&self.ledger, SOFT_IRQ, OP_TX_REAP, self.poll_tx * self.p.tx_reap, self.poll_tx)
            ledger_charge(&self.ledger, SOFT_IRQ, OP_DMA_MAP, dma_take_ps(&self.mapping), mapped)
            ledger_charge(&self.ledger, SOFT_IRQ, OP_SKB_FREE, freed * self.cost.skb_free, freed)
        if references:
            ledger_charge(&self.ledger, SOFT_IRQ, OP_PAGE, references * self.p.reference, references)
        self.poll_rx = min(self.rx_done, POLL_BUDGET) if self.rx_cause() else 0
        at = self.rx_clean
        for _i in range(self.poll_rx):
            frame = self.rx_frame[at]
            length_bytes = self.frames.frame[frame].length_bytes
            if length_bytes <= self.p.copybreak_bytes:
                self.device_stats.copybreaks += 1
                dma_call(&self.mapping, DMA_SYNC_FOR_CPU, 0, length_bytes, DMA_FROM_DEVICE, False)
                ledger_charge(&self.ledger, SOFT_IRQ, OP_COPY, <int64_t>(length_bytes * self.cost.copy_cold), 1)
            else:
                dma_call(&self.mapping, DMA_UNMAP, 0, RX_BUFFER_BYTES, DMA_FROM_DEVICE, False)
                dma_call(&self.mapping, DMA_MAP, 0, RX_BUFFER_BYTES, DMA_FROM_DEVICE, False)
                ledger_charge(&self.ledger, SOFT_IRQ, OP_PAGE, self.cost.page, 1)
            at = ring_next(at, self.p.rx_ring)
        if self.poll_rx:
            reads += 1
            writes += 1
            ledger_charge(&self.ledger, SOFT_IRQ, OP_RX_REAP, self.poll_rx * self.p.rx_reap, self.poll_rx)
            ledger_charge(&self.ledger, SOFT_IRQ, OP_SKB_ALLOC, self.poll_rx * self.cost.skb_alloc, self.poll_rx)
            ledger_charge(&self.ledger, SOFT_IRQ, OP_DMA_SYNC, dma_take_ps(&self.mapping), self.poll_rx)
            if self.set.gro_segments:
                ledger_charge(&self.ledger, SOFT_IRQ, OP_GRO, self.poll_rx * self.cost.gro, self.poll_rx)
        budget_left = self.poll_rx < POLL_BUDGET
        ledger_charge(&self.ledger, SOFT_IRQ, OP_MMIO_READ, reads * self.cost.mmio_read, reads)
        if writes + budget_left:
            ledger_charge(
                &self.ledger, SOFT_IRQ, OP_MMIO_WRITE, (writes + budget_left) * self.cost.mmio_write, writes + budget_left,
            )
        self.submit(SOFT_IRQ)

    cdef void poll_done(self) noexcept nogil:
        cdef int32_t _i
        cdef int64_t freed_bytes = 0
        cdef mvneta_slot_t* slot
        for _i in range(self.poll_tx):
            slot = &self.tx_slot[self.tx_clean]
            if slot.mapped:
                slot.mapped = False
                self.device_stats.dma_unmaps += 1
            elif not in_header_memory(self.tx_ring[self.tx_clean].address):
                self.device_stats.wrong_unmaps += 1
            if slot.skb:
                slot.skb = False
                freed_bytes += slot.bytes
                self.device_stats.tx_skbs_freed += 1
                if slot.truesize_bytes:
                    self.socket.sent(self, slot.truesize_bytes)
            self.tx_clean = ring_next(self.tx_clean, self.p.tx_ring)
        self.tx_sent -= self.poll_tx
        self.tx_sent_packets -= self.poll_tx_packets
        self.tx_count -= self.poll_tx
        if freed_bytes and self.p.bql:
            byte_limits_complete(&self.limits, freed_bytes, self.q.now_ps)
            self.bql_stopped = self.bql_stopped and byte_limits_full(&self.limits)
        if self.stopped and self.tx_count <= self.p.tx_wake:
            self.stopped = False
            self.stats.tx_wakes += 1
        if self.qdisc_count:
            self.tx_scheduled = True
        for _i in range(self.poll_rx):
            self.gro_receive(self.rx_frame[self.rx_clean])
            self.rx_clean = ring_next(self.rx_clean, self.p.rx_ring)
        self.gro_flush()
        self.rx_done -= self.poll_rx
        self.rx_credit += self.poll_rx
        if self.poll_rx == POLL_BUDGET:     # the softirq loop calls again
            self.rx_start()
            return
        if self.poll_rx:
            self.rx_timed = False
            if self.rx_done == 0:
                queue_clear(self.q, self.base + EVENT_RX_TIMER)
            elif self.p.rx_timer_ps and not queue_pending(self.q, self.base + EVENT_RX_TIMER):
                queue_set(self.q, self.base + EVENT_RX_TIMER, self.q.now_ps + self.p.rx_timer_ps)
            self.rx_start()
        self.poll_scheduled = False
        self.irq_enabled = True
        self.irq_update()
