"""The FEC and its driver, executed. The steps stand in `fec.py`; this file follows them in their order."""
from cython cimport final
from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset
from nicperf.engine._ledger cimport (
    HARD_IRQ, OP_BARRIER, OP_BUILD_SKB, OP_COPY, OP_DMA_MAP, OP_DMA_SYNC, OP_GRO, OP_IP_INPUT, OP_IRQ_ENTRY, OP_MMIO_READ,
    OP_MMIO_WRITE, OP_PAGE, OP_POLL, OP_RX_REAP, OP_SKB_FREE, OP_TURNOVER, OP_TX_REAP, OP_UDP, OP_XDP, OP_XMIT, SOFT_IRQ,
    ledger_charge,
)
from nicperf.engine._queue cimport queue_clear, queue_pending, queue_set, queue_set_busy
from nicperf.engine._server cimport server_dispatch, server_finish, server_has, server_submit
from nicperf.packets._headers cimport (
    IPV4_DONT_FRAGMENT, PROTOCOL_UDP, TRANSPORT_AT, UDP_BYTES, UDP_CHECKSUM_AT, endpoint_init, headers_ipv4, headers_tcp,
    headers_udp,
)
from nicperf.packets.ebpf._machine cimport xdp_buff_t
from nicperf.parts._bus cimport (
    BUS_MMIO_READ, BUS_MMIO_WRITE, BUS_RX_DATA, BUS_TX_DATA, bus_stats_t,
)
from nicperf.parts._dma cimport (
    DMA_BIDIRECTIONAL, DMA_CALLS, DMA_FROM_DEVICE, DMA_MAP, DMA_SYNC_FOR_CPU, DMA_SYNC_FOR_DEVICE, DMA_TO_DEVICE, DMA_UNMAP,
    dma_call, dma_init, dma_params_t, dma_take_map_ps, dma_take_ps,
)
from nicperf.parts._fifo cimport fifo_alloc, fifo_first, fifo_put, fifo_take
from nicperf.parts._fragments cimport fragments_init, fragments_take
from nicperf.parts._frames cimport FRAME_POOL, TCP_DATA, UDP_FRAGMENT, frame_t, frames_give, frames_take
from nicperf.parts._heads cimport heads_give, heads_init, heads_take
from nicperf.parts._irq cimport MODERATION_FIRE, MODERATION_START, moderation_event
from nicperf.parts._page_pool cimport (
    PAGE_POOL_ALL, page_pool_alloc, page_pool_destroy, page_pool_inflight, page_pool_init, page_pool_params_t, page_pool_put,
    page_pool_release, page_pool_stats_t,
)
from nicperf.parts._pages cimport (
    PAGE_HEAD_ALLOC, PAGE_HEAD_FREE, pages_destroy, pages_init, pages_params_t, pages_put, pages_take_ps,
)
from nicperf.parts._ring cimport ring_next
from nicperf.stack._host cimport EVENT_RX_TIMER, EVENT_TX_TIMER, EVENT_WIRE, cycles_ps

from nicperf.drivers.fec import RX_PATHS, TURNOVERS, xdp_program
from nicperf.errors import ScenarioError
from nicperf.parts.dma import IOMMU
from nicperf.parts.pages import STEPS

cdef enum:
    WIRE_OVERHEAD_BYTES = 24            # preamble 8, FCS 4, gap 12
    WIRE_SHORTEST_BYTES = 60            # header and padded payload, without FCS
    FCS_BYTES = 4
    BUDGET = 64
    BUFFER_BYTES = 2048                 # of the original path
    SK_BUFF_BYTES = 256
    BUFFER_SPACE_BYTES = 2048 + 64 + 320    # with padding and shared info
    SMALL_SPACE_BYTES = 64 + 320        # the same of an sk_buff for a copied frame, besides the frame
    BLOCK_ORDER = 3                     # page fragments are cut from blocks of 32 KiB
    PAGE_BYTES = 4096
    HEADROOM_BYTES = 256                # XDP_PACKET_HEADROOM
    POOL_ID = 1
    DISCARD_PORT = 9
    CONSTANT_VERDICT = 2                # instructions of a program that only returns one: it does not look at the frame
    SKBS = 65536                        # more than backlog, socket and transmit ring hold

cdef enum:                              # stages of the poll: the first two begin a call of it, and one more pass
    STAGE_POLL, STAGE_PASS, STAGE_RX, STAGE_END, STAGE_UNMASK

cdef enum:                              # verdicts of XDP, and what the driver adds
    ABORTED, DROP, PASS, TX, REDIRECT
    LOST                                # no memory for a new buffer


cdef class FecHost(Host):
    """A host with a FEC: `arrive` and the device events come from the wire, `xmit` from the stack."""

    def __cinit__(self, *args, **kwargs):
        self.attach = -1
        self.unread_first = self.unread_last = -1

    def __dealloc__(self):
        free(self.tx_ring)
        free(self.rx_ring)
        free(self.tx_frame)
        free(self.tx_page)
        free(self.rx_frame)
        free(self.rx_page)
        free(self.skb)
        free(self.skb_free)
        free(self.first_skb)
        free(self.last_skb)
        free(self.packet)
        free(self.tx_fifo.item)
        free(self.rx_fifo.item)
        page_pool_destroy(&self.pool)
        pages_destroy(&self.pages)

    # assembly --------------------------------------------------------------------------------------------------------

    cdef int configure(self, object spec, str workload) except -1:
        Host.configure(self, spec, workload)
        driver, nic, xdp, dma = spec.driver, spec.nic, spec.xdp, spec.dma
        cdef double mhz = spec.cpu.frequency_mhz / spec.cpu.cycles_factor
        cdef page_pool_params_t pool
        cdef pages_params_t pages
        cdef dma_params_t mapping
        cdef int32_t i
        self.set.pages = True
        if driver.window_counts_truesize:
            truesize_bytes = SK_BUFF_BYTES + (BUFFER_SPACE_BYTES if driver.rx_path == "original" else PAGE_BYTES)
            self.set.receive_buffer_bytes = self.set.receive_buffer_bytes * self.set.mss_bytes // truesize_bytes

        self.p.rx_path = RX_PATHS.index(driver.rx_path)
        self.p.turnover_at = TURNOVERS.index(driver.turnover_at)
        self.p.rx_ring = driver.rx_ring
        self.p.tx_ring = driver.tx_ring
        self.p.copybreak_bytes = driver.rx_copybreak_bytes
        self.p.rx_fifo_bytes = nic.rx_fifo_bytes
        self.p.tx_fifo_bytes = nic.tx_fifo_bytes
        self.p.pause = nic.pause
        self.p.pause_above_bytes = nic.pause_above_bytes
        self.p.dma_setup_ps = <int64_t>(nic.dma_setup_ns * 1000)
        self.p.dma_byte_ps = 1e6 / nic.dma_mbyte_s
        self.p.rx = cycles_ps(driver.rx_cycles, mhz)
        self.p.barrier = cycles_ps(driver.barrier_cycles, mhz)
        self.p.build_skb = cycles_ps(driver.build_skb_cycles, mhz)
        self.p.xmit = cycles_ps(driver.xmit_cycles, mhz)
        self.p.tx_reap = cycles_ps(driver.tx_reap_cycles, mhz)
        self.p.poll = cycles_ps(driver.poll_cycles, mhz)
        self.p.turnover = cycles_ps(driver.turnover_cycles, mhz)
        self.p.direct_recycling = driver.direct_recycling
        self.p.xdp_tx = driver.xdp_tx
        self.p.xdp_native = xdp.program != "none" and xdp.mode == "native"
        self.p.xdp_skb = xdp.program != "none" and xdp.mode == "skb"
        self.p.xdp_instruction = xdp.instruction_cycles * 1e6 / mhz
        self.p.xdp_miss = cycles_ps(xdp.miss_cycles, mhz)
        self.p.xdp_run = cycles_ps(xdp.run_cycles, mhz)
        self.p.xdp_call = cycles_ps(xdp.call_cycles, mhz)
        self.p.xdp_generic = cycles_ps(xdp.generic_cycles, mhz)
        self.p.xdp_redirect = cycles_ps(xdp.redirect_cycles, mhz)
        if xdp.program != "none":
            if xdp.mode == "native" and driver.rx_path == "original":
                raise ScenarioError(
                    "this driver has no XDP", place="scenario", field="driver.rx_path", value=driver.rx_path,
                    cure='use release or recycle, or xdp.mode = "skb"',
                )
            if xdp.mode == "skb" and workload != "xdp":
                raise ScenarioError(
                    "not modelled for this workload", place="scenario", field="xdp.mode", value=xdp.mode, cure="use native",
                )
            self.program = xdp_program(xdp.program).core
            endpoint_init(&self.from_peer, 1, spec.socket.tcp_timestamps, 0)
            endpoint_init(&self.to_us, 2, spec.socket.tcp_timestamps, 0)
            if workload == "xdp":
                self.from_peer.port = self.to_us.port = DISCARD_PORT

        self.rx_moderation.threshold = driver.rx_coalesce_frames
        self.rx_moderation.timer_ps = <int64_t>(driver.rx_coalesce_us * 1e6)
        self.tx_moderation.threshold = driver.tx_coalesce_frames
        self.tx_moderation.timer_ps = <int64_t>(driver.tx_coalesce_us * 1e6)
        self.rx_moderation.from_first = self.tx_moderation.from_first = True

        pages.limit_pages = spec.pages.limit_pages
        pages.batch_pages = spec.pages.batch_pages
        pages.high_pages = spec.pages.high_pages
        for i, name in enumerate(STEPS):
            pages.costs.ps[i] = cycles_ps(getattr(spec.page_costs, name + "_cycles"), mhz)
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
        pool.id = POOL_ID
        pool.cache_pages = spec.page_pool.cache_pages
        pool.refill_pages = spec.page_pool.refill_pages
        pool.bulk_pages = spec.page_pool.bulk_pages
        pool.ring_pages = spec.page_pool.ring_pages or driver.rx_ring
        pool.order = pool.node = 0
        pool.maps = pool.syncs = True
        pool.direction = DMA_BIDIRECTIONAL if self.p.xdp_native else DMA_FROM_DEVICE
        pool.offset_bytes = HEADROOM_BYTES
        pool.max_len_bytes = driver.rx_sync_bytes
        if pages_init(&self.pages, &pages) < 0 or page_pool_init(&self.pool, &pool, &self.pages, &self.mapping) < 0:
            raise MemoryError
        fragments_init(&self.fragments, &self.pages, BLOCK_ORDER, 0)
        heads_init(&self.heads, &self.pages, spec.heads.cache_heads, spec.heads.bulk_heads)
        self.allocate()
        self.power_up()
        if self.rx_credit < self.p.rx_ring:
            raise ScenarioError(
                "not enough memory for the receive ring", place="scenario", field="pages.limit_pages",
                value=spec.pages.limit_pages, cure="raise it, or shorten driver.rx_ring",
            )
        return 0

    @final
    cdef int allocate(self) except -1:
        cdef int32_t i
        self.tx_ring = <fec_descriptor_t*>calloc(self.p.tx_ring, sizeof(fec_descriptor_t))
        self.rx_ring = <fec_descriptor_t*>calloc(self.p.rx_ring, sizeof(fec_descriptor_t))
        self.tx_frame = <int32_t*>calloc(self.p.tx_ring, sizeof(int32_t))
        self.tx_page = <int32_t*>calloc(self.p.tx_ring, sizeof(int32_t))
        self.rx_frame = <int32_t*>calloc(self.p.rx_ring, sizeof(int32_t))
        self.rx_page = <int32_t*>calloc(self.p.rx_ring, sizeof(int32_t))
        self.skb = <skb_t*>malloc(SKBS * sizeof(skb_t))
        self.skb_free = <int32_t*>malloc(SKBS * sizeof(int32_t))
        self.first_skb = <int32_t*>malloc(FRAME_POOL * sizeof(int32_t))
        self.last_skb = <int32_t*>malloc(FRAME_POOL * sizeof(int32_t))
        self.packet = <uint8_t*>calloc(PAGE_BYTES, 1)
        if self.tx_ring == NULL or self.rx_ring == NULL or self.tx_frame == NULL or self.tx_page == NULL \
                or self.rx_frame == NULL or self.rx_page == NULL or self.first_skb == NULL or self.last_skb == NULL \
                or self.skb == NULL or self.skb_free == NULL or self.packet == NULL \
                or fifo_alloc(&self.tx_fifo, FRAME_POOL) < 0 or fifo_alloc(&self.rx_fifo, FRAME_POOL) < 0:
            raise MemoryError
        for i in range(FRAME_POOL):
            self.first_skb[i] = self.last_skb[i] = -1
        for i in range(SKBS):
            self.skb_free[i] = SKBS - 1 - i
        self.n_skb_free = SKBS
        return 0

    cdef void power_up(self) noexcept nogil:
        """Fill the receive ring as far as there is memory, enable interrupts. What that costs is before the run."""
        cdef int32_t i, page
        self.tx_free = self.p.tx_ring
        self.rx_credit = 0
        for i in range(self.p.rx_ring):
            if self.p.rx_path == PATH_ORIGINAL:
                page = fragments_take(&self.fragments, BUFFER_SPACE_BYTES)
            else:
                page = page_pool_alloc(&self.pool)
            if page < 0:
                break
            if self.p.rx_path == PATH_ORIGINAL:
                dma_call(&self.mapping, DMA_MAP, 0, BUFFER_BYTES, DMA_FROM_DEVICE, False)
            self.rx_page[i] = page
            self.rx_ring[i].control = RX_EMPTY
            self.rx_credit += 1
        pages_take_ps(&self.pages)
        dma_take_ps(&self.mapping)
        self.charged_maps = self.mapping.s.calls[DMA_MAP]
        self.charged_syncs = self.mapping.s.calls[DMA_SYNC_FOR_DEVICE]
        self.turnovers_before = self.turnovers()
        self.irq_enabled = True

    # what is counted -------------------------------------------------------------------------------------------------

    cdef void counted(self, int64_t* device, int64_t* bus) noexcept nogil:
        cdef int32_t i
        memcpy(device, &self.device_stats, sizeof(fec_stats_t))
        device += sizeof(fec_stats_t) // 8
        device[0] = self.fragments.s.taken
        device[1] = self.fragments.s.blocks
        device[2] = self.pages.s.allocated
        device[3] = self.pages.s.freed
        device += 4
        memcpy(device, &self.pool.s, sizeof(page_pool_stats_t))
        device += sizeof(page_pool_stats_t) // 8
        device[0] = page_pool_inflight(&self.pool)
        device[1] = self.pool.n_cache
        device[2] = self.pool.ring.count
        device[3] = self.heads.outside
        device[4] = self.pages.s.steps[PAGE_HEAD_ALLOC]
        device[5] = self.pages.s.steps[PAGE_HEAD_FREE]
        device += 6
        device[0] = device[1] = 0
        for i in range(DMA_CALLS):
            device[0] += self.mapping.s.cleaned_lines[i]
            device[1] += self.mapping.s.invalidated_lines[i]
        device[2] = self.mapping.s.calls[DMA_MAP]
        device[3] = self.mapping.s.calls[DMA_SYNC_FOR_DEVICE] + self.mapping.s.calls[DMA_SYNC_FOR_CPU]
        device[4] = self.mapping.s.calls[DMA_UNMAP]
        memcpy(bus, &self.bus, sizeof(bus_stats_t))

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
            row[1] += (self.tx_ring[i].control & TX_READY) != 0
        row[2] = self.rx_credit
        row[3] = 0
        row[4] = 0
        for i in range(self.p.rx_ring):
            row[4] += (self.rx_ring[i].control & RX_EMPTY) != 0

    # charges ---------------------------------------------------------------------------------------------------------

    @final
    cdef void charge_pages(self, int32_t context, int64_t calls) noexcept nogil:
        """Steps of the page allocator, the pool and the heads since the last time, and the turnovers among them."""
        cdef int64_t turnovers = self.turnovers() - self.device_stats.turnovers
        ledger_charge(&self.ledger, context, OP_PAGE, pages_take_ps(&self.pages), calls)
        if turnovers:
            self.device_stats.turnovers += turnovers
            ledger_charge(&self.ledger, context, OP_TURNOVER, turnovers * self.p.turnover, turnovers)

    @final
    cdef int64_t turnovers(self) noexcept nogil:
        """Of receive buffers, since power up."""
        cdef int64_t turnovers
        if self.p.turnover_at == TURNOVER_NEVER:
            return 0
        if self.p.turnover_at == TURNOVER_PAGE:
            turnovers = self.pages.s.allocated
        else:
            turnovers = self.released + <int32_t>(self.pool.release_count - <uint32_t>self.released)
            self.released = turnovers
            if self.p.turnover_at == TURNOVER_MAPPING:
                turnovers += self.rx_unmaps
        return turnovers - self.turnovers_before

    @final
    cdef void charge_dma(self, int32_t context) noexcept nogil:
        """Calls of the DMA API since the last time."""
        cdef const int64_t* calls = self.mapping.s.calls
        cdef int64_t maps = calls[DMA_MAP] + calls[DMA_UNMAP] - self.charged_maps
        cdef int64_t syncs = calls[DMA_SYNC_FOR_DEVICE] + calls[DMA_SYNC_FOR_CPU] - self.charged_syncs
        if maps:
            self.charged_maps += maps
            ledger_charge(&self.ledger, context, OP_DMA_MAP, dma_take_map_ps(&self.mapping), maps)
        if syncs:
            self.charged_syncs += syncs
            ledger_charge(&self.ledger, context, OP_DMA_SYNC, dma_take_ps(&self.mapping), syncs)

    @final
    cdef void mmio(self, int32_t context, int32_t reads, int32_t writes) noexcept nogil:
        self.bus.transactions[BUS_MMIO_READ] += reads
        self.bus.transactions[BUS_MMIO_WRITE] += writes
        if reads:
            ledger_charge(&self.ledger, context, OP_MMIO_READ, reads * self.cost.mmio_read, reads)
        ledger_charge(&self.ledger, context, OP_MMIO_WRITE, writes * self.cost.mmio_write, writes)

    # transmit, driver side -------------------------------------------------------------------------------------------

    cdef bint xmit_room(self) noexcept nogil:
        return self.tx_free > 0

    cdef void xmit_charge(self, int32_t context, const packet_t* p) noexcept nogil:
        cdef int32_t length_bytes = p.length_bytes + min(p.payload_bytes, p.segment_bytes)
        dma_call(&self.mapping, DMA_MAP, 0, length_bytes, DMA_TO_DEVICE, False)
        self.charge_dma(context)
        ledger_charge(&self.ledger, context, OP_XMIT, self.p.xmit, 1)
        ledger_charge(&self.ledger, context, OP_BARRIER, self.p.barrier, 1)
        self.mmio(context, 0, 1)

    cdef void xmit(self, packet_t* p) noexcept nogil:
        """Fill the next descriptor with one frame of the packet, hand it over and ring the doorbell (TDAR)."""
        cdef int32_t payload_bytes = min(p.payload_bytes, p.segment_bytes)
        cdef int32_t index = frames_take(self.frames)
        cdef frame_t* f
        cdef fec_descriptor_t* d = &self.tx_ring[self.tx_driver]
        if index < 0:                       # the run ends with an error
            return
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
        d.address = <uint32_t>index * PAGE_BYTES
        d.length = <uint16_t>f.length_bytes
        d.control = TX_READY | TX_LAST_WITH_FCS
        self.tx_frame[self.tx_driver] = index
        self.tx_page[self.tx_driver] = self.attach
        self.attach = -1
        self.tx_driver = ring_next(self.tx_driver, self.p.tx_ring)
        self.tx_free -= 1
        self.stats.tx_frames += 1
        if self.tx_free == 0:
            self.stats.tx_stops += 1
        self.device_stats.doorbells += 1
        self.dma_tx_start()

    # the MAC ---------------------------------------------------------------------------------------------------------

    @final
    cdef void dma_submit(self, int32_t cls, int32_t use, int32_t length_bytes) noexcept nogil:
        cdef int64_t bytes_ps = <int64_t>(length_bytes * self.p.dma_byte_ps)
        self.device_stats.gap_ps += self.p.dma_setup_ps
        self.bus.ps[use] += bytes_ps
        self.bus.transactions[use] += 1
        server_submit(&self.dma, cls, self.p.dma_setup_ps + bytes_ps)
        server_dispatch(self.q, &self.dma)

    @final
    cdef void dma_tx_start(self) noexcept nogil:
        cdef fec_descriptor_t* d = &self.tx_ring[self.tx_nic]
        if server_has(&self.dma, FEC_DMA_TX) or not d.control & TX_READY or self.tx_on_chip == self.p.tx_ring \
                or self.tx_fifo_bytes + d.length > self.p.tx_fifo_bytes:
            return
        self.dma_submit(FEC_DMA_TX, BUS_TX_DATA, d.length)

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
        self.tx_ring[self.tx_closed].control &= ~TX_READY
        self.tx_closed = ring_next(self.tx_closed, self.p.tx_ring)
        self.tx_on_chip -= 1
        self.tx_done += 1
        self.device_stats.tx_completions += 1
        self.tx_fifo_bytes -= self.frames.frame[frame].length_bytes
        self.moderate(&self.tx_moderation, EVENT_TX_TIMER, IEVENT_TXF)
        self.peer.arrive(frame)
        self.wire_start()
        self.dma_tx_start()

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
        if server_has(&self.dma, FEC_DMA_RX) or self.rx_fifo.count == 0:
            return
        if not self.rx_ring[self.rx_nic].control & RX_EMPTY:
            self.device_stats.rx_ring_empty += 1
            return
        self.dma_submit(FEC_DMA_RX, BUS_RX_DATA, self.frames.frame[fifo_first(&self.rx_fifo)].length_bytes)

    cdef void dma_done(self) noexcept nogil:
        cdef int32_t frame
        cdef fec_descriptor_t* d
        if server_finish(self.q, &self.dma) == FEC_DMA_TX:
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
            if self.pausing and self.rx_fifo_bytes <= self.p.pause_above_bytes:
                self.pausing = False
                self.peer.resume()
            d = &self.rx_ring[self.rx_nic]
            d.length = <uint16_t>(self.frames.frame[frame].length_bytes + FCS_BYTES)
            d.control = RX_LAST
            self.rx_frame[self.rx_nic] = frame
            self.rx_nic = ring_next(self.rx_nic, self.p.rx_ring)
            self.rx_credit -= 1
            self.rx_done += 1
            self.stats.rx_frames += 1
            self.dma_rx_start()
            self.moderate(&self.rx_moderation, EVENT_RX_TIMER, IEVENT_RXF)
        server_dispatch(self.q, &self.dma)

    # interrupts ------------------------------------------------------------------------------------------------------

    @final
    cdef void moderate(self, moderation_t* m, int32_t event, uint32_t cause) noexcept nogil:
        cdef int32_t what = moderation_event(m, False)
        if what == MODERATION_FIRE:
            if queue_pending(self.q, self.base + event):
                queue_clear(self.q, self.base + event)
            if cause == IEVENT_RXF:
                self.device_stats.rx_threshold_fires += 1
            else:
                self.device_stats.tx_threshold_fires += 1
            self.ievent |= cause
            self.irq_update()
        elif what == MODERATION_START:
            queue_set(self.q, self.base + event, self.q.now_ps + m.timer_ps)

    cdef void device_timer(self, int32_t kind) noexcept nogil:
        if kind == EVENT_RX_TIMER:
            self.rx_moderation.pending = 0
            self.device_stats.rx_timer_fires += 1
            self.ievent |= IEVENT_RXF
        else:
            self.tx_moderation.pending = 0
            self.device_stats.tx_timer_fires += 1
            self.ievent |= IEVENT_TXF
        self.irq_update()

    @final
    cdef void irq_update(self) noexcept nogil:
        if not self.ievent or not self.irq_enabled or self.irq_active:
            return
        self.irq_active = True
        self.stats.interrupts += 1
        ledger_charge(&self.ledger, HARD_IRQ, OP_IRQ_ENTRY, self.cost.irq_entry, 1)
        self.mmio(HARD_IRQ, 1, 2)           # read IEVENT, acknowledge, mask
        self.submit(HARD_IRQ)

    cdef void irq_done(self) noexcept nogil:
        self.ievent = 0
        self.irq_enabled = False
        self.irq_active = False
        self.poll_scheduled = True
        self.stage = STAGE_POLL
        self.soft_raise()

    # the poll --------------------------------------------------------------------------------------------------------

    cdef void poll_begin(self) noexcept nogil:
        """One received frame; without one, or with the budget used up, the end of the pass; at last the unmasking."""
        if self.stage == STAGE_UNMASK:
            self.mmio(SOFT_IRQ, 0, 1)
            self.submit(SOFT_IRQ)
            return
        if self.stage == STAGE_POLL:
            self.stats.polls += 1
            self.poll_received = 0
        if self.stage <= STAGE_PASS:
            ledger_charge(&self.ledger, SOFT_IRQ, OP_POLL, self.p.poll, 1)
        if self.rx_done and self.poll_received < BUDGET:
            self.stage = STAGE_RX
            self.rx_begin()
        else:
            self.stage = STAGE_END
            self.tx_begin()
            if self.poll_received < BUDGET:
                self.mmio(SOFT_IRQ, 1, 1)   # events since the last look, acknowledged
        self.submit(SOFT_IRQ)

    cdef void poll_done(self) noexcept nogil:
        if self.stage == STAGE_RX:
            self.poll_received += 1
            self.rx_apply()
            return
        if self.stage == STAGE_UNMASK:
            self.poll_scheduled = False
            self.irq_enabled = True
            self.irq_update()
            return
        self.tx_apply()
        if self.poll_received < BUDGET and self.ievent:
            self.ievent = 0
            self.stage = STAGE_PASS
            return
        self.gro_flush()                    # what it held goes up before the unmasking
        self.stage = STAGE_UNMASK if self.poll_received < BUDGET else STAGE_POLL

    @final
    cdef void tx_begin(self) noexcept nogil:
        """Charge for what has been sent and can be taken back."""
        cdef int32_t at = self.tx_clean, _i
        self.serve_tx = self.tx_done
        for _i in range(self.serve_tx):
            if self.tx_page[at] >= 0 and not self.tx_page[at] & 1:      # native XDP_TX: no sk_buff, the pool's mapping stays
                page_pool_put(&self.pool, self.tx_page[at] >> 1, PAGE_POOL_ALL, True)
                self.charge_dma(SOFT_IRQ)
                self.charge_pages(SOFT_IRQ, 1)
            else:
                dma_call(&self.mapping, DMA_UNMAP, 0, self.tx_ring[at].length, DMA_TO_DEVICE, False)
                self.charge_dma(SOFT_IRQ)
                ledger_charge(&self.ledger, SOFT_IRQ, OP_SKB_FREE, self.cost.skb_free, 1)
                if self.tx_page[at] >= 0:   # skb-mode XDP_TX
                    self.free_skb(self.tx_page[at] >> 1, SOFT_IRQ)
                    self.charge_dma(SOFT_IRQ)
                    self.charge_pages(SOFT_IRQ, 1)
            at = ring_next(at, self.p.tx_ring)
        if self.serve_tx:
            ledger_charge(&self.ledger, SOFT_IRQ, OP_TX_REAP, self.serve_tx * self.p.tx_reap, self.serve_tx)

    @final
    cdef void tx_apply(self) noexcept nogil:
        if self.serve_tx == 0:
            return
        self.tx_clean = (self.tx_clean + self.serve_tx) % self.p.tx_ring
        self.tx_done -= self.serve_tx
        if self.tx_free == 0:
            self.stats.tx_wakes += 1
        self.tx_free += self.serve_tx
        self.serve_tx = 0
        if self.qdisc_count:
            self.tx_scheduled = True

    # receive, driver side --------------------------------------------------------------------------------------------

    @final
    cdef void rx_begin(self) noexcept nogil:
        """Charge for the next received frame, and do with its memory what the path does."""
        cdef int32_t at = self.rx_clean
        self.taken_frame = self.rx_frame[at]
        self.taken_page = self.taken_skb = -1
        self.taken_verdict = PASS
        self.packet_end_bytes = 0
        self.touched = False
        self.ievent &= ~<uint32_t>IEVENT_RXF
        ledger_charge(&self.ledger, SOFT_IRQ, OP_RX_REAP, self.p.rx, 1)
        ledger_charge(&self.ledger, SOFT_IRQ, OP_BARRIER, self.p.barrier, 1)
        self.mmio(SOFT_IRQ, 0, 2)           # IEVENT, and at the end RDAR
        if self.p.rx_path == PATH_ORIGINAL:
            self.rx_original(at, self.rx_ring[at].length - FCS_BYTES)
        else:
            self.rx_page_pool(at, self.rx_ring[at].length - FCS_BYTES)
        if self.taken_verdict == PASS:
            ledger_charge(&self.ledger, SOFT_IRQ, OP_BUILD_SKB, self.p.build_skb + (0 if self.touched else self.p.xdp_miss), 1)
            self.touched = True
            if self.set.gro_segments and self.frames.frame[self.taken_frame].kind == TCP_DATA:
                ledger_charge(&self.ledger, SOFT_IRQ, OP_GRO, self.cost.gro, 1)

    @final
    cdef void rx_original(self, int32_t at, int32_t length_bytes) noexcept nogil:
        cdef bint small = length_bytes <= self.p.copybreak_bytes
        cdef int32_t space_bytes = SMALL_SPACE_BYTES + (length_bytes + 63) // 64 * 64 if small else BUFFER_SPACE_BYTES
        cdef int32_t page = fragments_take(&self.fragments, space_bytes)
        if page < 0 or self.n_skb_free == 0:
            self.taken_verdict = LOST
            if page >= 0:
                pages_put(&self.pages, page)
            self.charge_pages(SOFT_IRQ, 1)
            return
        if small:
            self.taken_skb = self.new_skb(page)
            dma_call(&self.mapping, DMA_SYNC_FOR_CPU, 0, length_bytes, DMA_FROM_DEVICE, False)
            ledger_charge(&self.ledger, SOFT_IRQ, OP_COPY, <int64_t>(length_bytes * self.cost.copy_cold), 1)
            dma_call(&self.mapping, DMA_SYNC_FOR_DEVICE, 0, BUFFER_BYTES, DMA_FROM_DEVICE, False)
            self.charge_dma(SOFT_IRQ)
            self.device_stats.copybreaks += 1
        else:
            self.taken_skb = self.new_skb(self.rx_page[at])
            self.rx_page[at] = page
            dma_call(&self.mapping, DMA_UNMAP, 0, BUFFER_BYTES, DMA_FROM_DEVICE, False)
            dma_call(&self.mapping, DMA_MAP, 0, BUFFER_BYTES, DMA_FROM_DEVICE, False)
            self.charge_dma(SOFT_IRQ)
            self.rx_unmaps += 1
        self.charge_pages(SOFT_IRQ, 1)

    @final
    cdef void rx_page_pool(self, int32_t at, int32_t length_bytes) noexcept nogil:
        cdef int32_t page = self.rx_page[at], fresh
        dma_call(&self.mapping, DMA_SYNC_FOR_CPU, HEADROOM_BYTES, length_bytes + FCS_BYTES, DMA_FROM_DEVICE, False)
        fresh = page_pool_alloc(&self.pool)
        if fresh < 0:                       # the buffer stays, the frame is lost
            self.taken_verdict = LOST
        else:
            self.rx_page[at] = fresh
            if self.p.xdp_native:
                self.taken_verdict = self.run_program(SOFT_IRQ, &self.frames.frame[self.taken_frame])
            if self.taken_verdict == PASS and self.n_skb_free:
                self.taken_skb = self.new_skb(page)
                if self.p.rx_path == PATH_RELEASE:
                    page_pool_release(&self.pool, page)
            elif self.taken_verdict == TX and self.p.xdp_tx and self.xmit_room():
                self.taken_page = page
                dma_call(
                    &self.mapping, DMA_SYNC_FOR_DEVICE, HEADROOM_BYTES, self.packet_bytes, DMA_BIDIRECTIONAL, False
                )
                ledger_charge(&self.ledger, SOFT_IRQ, OP_XMIT, self.p.xmit, 1)
                ledger_charge(&self.ledger, SOFT_IRQ, OP_BARRIER, self.p.barrier, 1)
                self.mmio(SOFT_IRQ, 0, 1)
            elif self.taken_verdict == REDIRECT:    # copied; xdp_return_buff does not know how much was written
                page_pool_put(&self.pool, page, PAGE_POOL_ALL, True)
            else:                           # the driver may touch the cache, and syncs no more than was written
                if self.taken_verdict == PASS:
                    self.taken_verdict = LOST
                page_pool_put(&self.pool, page, max(length_bytes, self.packet_end_bytes), True)
        self.charge_dma(SOFT_IRQ)
        self.charge_pages(SOFT_IRQ, 1)

    @final
    cdef void write_packet(self, const frame_t* f) noexcept nogil:
        """What the program sees: TCP of the stream, or UDP without a checksum to the port that discards."""
        cdef uint8_t* at = self.packet + HEADROOM_BYTES
        cdef int32_t payload_bytes = f.length_bytes - TRANSPORT_AT
        memset(at, 0, f.length_bytes)
        if f.kind == UDP_FRAGMENT:
            headers_ipv4(at, &self.from_peer, &self.to_us, PROTOCOL_UDP, 0, IPV4_DONT_FRAGMENT, payload_bytes)
            headers_udp(at, &self.from_peer, &self.to_us, payload_bytes - UDP_BYTES)
            at[UDP_CHECKSUM_AT] = at[UDP_CHECKSUM_AT + 1] = 0
        else:
            headers_tcp(
                at, &self.from_peer, &self.to_us, f.sequence, f.ack, <int32_t>(f.window_edge - f.ack), self.q.now_ps,
                f.payload_bytes,
            )

    @final
    cdef int32_t run_program(self, int32_t context, const frame_t* f) noexcept nogil:
        """The verdict on the frame, whose headers are real; its payload is zeros."""
        cdef xdp_buff_t frame
        cdef int64_t work_ps
        cdef int32_t verdict, length_bytes = f.length_bytes
        self.write_packet(f)
        frame.hard_start = self.packet
        frame.frame_bytes = PAGE_BYTES
        frame.data = frame.data_meta = HEADROOM_BYTES
        frame.data_end = HEADROOM_BYTES + length_bytes
        frame.ingress_ifindex = 1
        frame.rx_queue_index = 0
        self.program.m.now_ns = self.q.now_ps // 1000
        verdict = self.program.run(&frame)
        self.packet_bytes = frame.data_end - frame.data
        self.packet_end_bytes = frame.data_end - HEADROOM_BYTES
        self.device_stats.xdp_instructions += self.program.m.instructions
        self.device_stats.xdp_calls += self.program.m.helper_calls
        work_ps = self.p.xdp_run + <int64_t>(self.program.m.instructions * self.p.xdp_instruction)
        if not self.touched and self.program.m.instructions > CONSTANT_VERDICT:
            self.touched = True
            work_ps += self.p.xdp_miss
        ledger_charge(&self.ledger, context, OP_XDP, work_ps + self.program.m.helper_calls * self.p.xdp_call, 1)
        if verdict == PASS:
            self.device_stats.xdp_pass += 1
        elif verdict == TX:
            self.device_stats.xdp_tx += 1
        elif verdict == REDIRECT:
            self.device_stats.xdp_redirect += 1
            ledger_charge(&self.ledger, context, OP_XDP, self.p.xdp_redirect + <int64_t>(length_bytes * self.cost.copy_cold), 1)
        elif verdict == DROP:
            self.device_stats.xdp_drop += 1
        else:
            self.device_stats.xdp_aborted += 1
            verdict = ABORTED
        return verdict

    @final
    cdef void rx_apply(self) noexcept nogil:
        """The descriptor goes back to the MAC, the frame on its way."""
        cdef int32_t frame = self.taken_frame
        self.rx_ring[self.rx_clean].control = RX_EMPTY
        self.rx_clean = ring_next(self.rx_clean, self.p.rx_ring)
        self.rx_done -= 1
        self.rx_credit += 1
        if self.taken_verdict == PASS:
            self.first_skb[frame] = self.last_skb[frame] = self.taken_skb
            self.skb[self.taken_skb].payload_bytes = self.frames.frame[frame].payload_bytes
            self.gro_receive(frame)
        else:
            if self.taken_verdict == LOST:
                self.device_stats.rx_dropped += 1
            elif self.taken_page >= 0 and self.tx_free > (self.qdisc_owner >= 0):
                self.send_back(self.taken_page, self.packet_bytes)
            elif self.taken_page >= 0:      # the process's core has taken the last descriptor meanwhile
                page_pool_put(&self.pool, self.taken_page, PAGE_POOL_ALL, True)
            frames_give(self.frames, frame)
        self.dma_rx_start()

    @final
    cdef void send_back(self, int32_t page, int32_t length_bytes) noexcept nogil:
        """XDP_TX: the page goes to the transmit ring as it is."""
        cdef packet_t p
        memset(&p, 0, sizeof(packet_t))
        p.kind = UDP_FRAGMENT
        p.length_bytes = length_bytes
        p.last = True
        self.attach = page << 1
        self.xmit(&p)

    # received data above the driver ----------------------------------------------------------------------------------

    @final
    cdef int32_t new_skb(self, int32_t page) noexcept nogil:
        """An sk_buff around data in a page, whose reference it takes; what that costs is due."""
        cdef int32_t skb
        self.n_skb_free -= 1
        skb = self.skb_free[self.n_skb_free]
        self.skb[skb].page = page
        self.skb[skb].next = -1
        heads_take(&self.heads, False)
        return skb

    @final
    cdef void free_skb(self, int32_t skb, int32_t context) noexcept nogil:
        """An sk_buff and its data are freed; what that costs is due."""
        cdef int32_t page = self.skb[skb].page
        self.skb_free[self.n_skb_free] = skb
        self.n_skb_free += 1
        heads_give(&self.heads, False)
        if self.pages.page[page].pool:
            page_pool_put(&self.pool, page, PAGE_POOL_ALL, self.p.direct_recycling and context == SOFT_IRQ)
        else:
            pages_put(&self.pages, page)

    @final
    cdef void free_frame(self, int32_t frame, int32_t context) noexcept nogil:
        """Free all that a packet holds: several buffers after GRO."""
        cdef int32_t skb = self.first_skb[frame], after
        while skb >= 0:
            after = self.skb[skb].next
            self.free_skb(skb, context)
            skb = after
        self.first_skb[frame] = self.last_skb[frame] = -1

    @final
    cdef void free_charged(self, int32_t frame) noexcept nogil:
        self.free_frame(frame, SOFT_IRQ)
        ledger_charge(&self.ledger, SOFT_IRQ, OP_SKB_FREE, self.cost.skb_free, 1)
        self.charge_pages(SOFT_IRQ, 1)
        self.charge_dma(SOFT_IRQ)

    cdef void netif_rx(self, int32_t frame) noexcept nogil:
        if self.backlog.count >= self.set.backlog_packets:
            self.free_frame(frame, SOFT_IRQ)
        Host.netif_rx(self, frame)

    cdef void merged(self, int32_t into, int32_t frame) noexcept nogil:
        self.skb[self.last_skb[into]].next = self.first_skb[frame]
        self.last_skb[into] = self.last_skb[frame]
        self.first_skb[frame] = self.last_skb[frame] = -1

    cdef void taken(self, int32_t frame, bint kept) noexcept nogil:
        """The protocol is done with the packet: the socket keeps its data, or nobody does."""
        cdef int64_t known_bytes
        cdef int32_t skb, cut_bytes
        if self.first_skb[frame] < 0:
            return
        if not kept:
            self.free_frame(frame, SOFT_IRQ)    # what that costs is charged with the next frame's memory
            return
        # A retransmission may begin with what is known.
        known_bytes = -(self.stats.received_bytes - self.kept_bytes)
        self.kept_bytes = self.stats.received_bytes
        skb = self.first_skb[frame]
        while skb >= 0:
            known_bytes += self.skb[skb].payload_bytes
            skb = self.skb[skb].next
        skb = self.first_skb[frame]
        while known_bytes > 0:
            cut_bytes = <int32_t>min(known_bytes, <int64_t>self.skb[skb].payload_bytes)
            self.skb[skb].payload_bytes -= cut_bytes
            known_bytes -= cut_bytes
            skb = self.skb[skb].next
        if self.unread_first < 0:
            self.unread_first = self.first_skb[frame]
        else:
            self.skb[self.unread_last].next = self.first_skb[frame]
        self.unread_last = self.last_skb[frame]
        self.first_skb[frame] = self.last_skb[frame] = -1

    cdef int64_t consume(self, int32_t context, int64_t n_bytes) noexcept nogil:
        """The reader frees each buffer that it has read to its end."""
        cdef int64_t freed = 0
        cdef int32_t skb = self.unread_first
        n_bytes += self.unread_offset
        while skb >= 0 and n_bytes >= self.skb[skb].payload_bytes:
            n_bytes -= self.skb[skb].payload_bytes
            self.unread_first = self.skb[skb].next
            self.free_skb(skb, context)
            freed += 1
            skb = self.unread_first
        self.unread_offset = <int32_t>n_bytes
        self.charge_pages(context, freed)
        self.charge_dma(context)
        return freed


cdef class UdpDiscard(Socket):

    cdef void input_begin(self, Host h, const frame_t* f) noexcept nogil:
        self.verdict = PASS
        if (<FecHost>h).p.xdp_skb:
            ledger_charge(&h.ledger, SOFT_IRQ, OP_XDP, (<FecHost>h).p.xdp_generic, 1)
            self.verdict = (<FecHost>h).run_program(SOFT_IRQ, f)
        if self.verdict == TX and h.xmit_room():
            memset(&self.out, 0, sizeof(packet_t))
            self.out.kind = UDP_FRAGMENT
            self.out.length_bytes = (<FecHost>h).packet_bytes
            self.out.last = True
            h.xmit_charge(SOFT_IRQ, &self.out)
            return
        if self.verdict == PASS:
            ledger_charge(&h.ledger, SOFT_IRQ, OP_IP_INPUT, h.cost.ip_input, 1)
            ledger_charge(&h.ledger, SOFT_IRQ, OP_UDP, h.cost.udp, 1)
        (<FecHost>h).free_charged(h.soft_frame)

    cdef void input_done(self, Host h, const frame_t* f) noexcept nogil:
        cdef fec_stats_t* stats = &(<FecHost>h).device_stats
        cdef int32_t skb = (<FecHost>h).first_skb[h.soft_frame]
        if self.verdict == PASS:
            stats.udp_no_ports += 1
        elif skb >= 0:                      # XDP_TX: the sk_buff is freed when it has been sent
            (<FecHost>h).first_skb[h.soft_frame] = -1
            (<FecHost>h).attach = skb << 1 | 1
            h.xmit(&self.out)
