"""The host: contexts of the CPU, the softirq loop and the device queue."""
from cython cimport final
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from nicperf.engine._ledger cimport HARD_IRQ, OP_NETIF_RX, OP_QDISC, OP_SOFTIRQ, OP_VARIATION, PROCESS, SOFT_IRQ, ledger_charge
from nicperf.engine._queue cimport queue_clear, queue_clear_busy, queue_set
from nicperf.engine._random cimport random_init, random_next
from nicperf.engine._server cimport server_dispatch, server_finish, server_has, server_init, server_submit
from nicperf.parts._fifo cimport fifo_alloc, fifo_first, fifo_put, fifo_take
from nicperf.parts._frames cimport TCP_ACK, TCP_DATA, frames_give

cdef enum:
    BACKLOG_WEIGHT = 64                 # packets per turn, as a device's poll
    STREAMS_PER_HOST = 8                # of random numbers
    GRO_BYTES = 65535
    PAUSE_BYTE_TIMES = 0xFFFF * 64      # the longest pause that a frame can ask for: 65535 quanta of 512 bit times
    QDISC_ROOM = 4096                   # the largest txqueuelen and backlog a scenario may ask for


cdef class Socket:
    """What a process and the protocol do; subclasses fill in every method."""

    cdef int configure(self, Host h, object spec) except -1:
        """Read what is this socket's own; the host has read its part."""
        return 0

    cdef void start(self, Host h) noexcept nogil:
        return

    cdef void process_done(self, Host h) noexcept nogil:
        return

    cdef void input_begin(self, Host h, const frame_t* f) noexcept nogil:
        return

    cdef void input_done(self, Host h, const frame_t* f) noexcept nogil:
        return

    cdef bint output_ready(self, Host h) noexcept nogil:
        return False

    cdef void output_begin(self, Host h, int32_t context) noexcept nogil:
        return

    cdef void output_done(self, Host h, int32_t context) noexcept nogil:
        return

    cdef void sent(self, Host h, int32_t truesize_bytes) noexcept nogil:
        return

    cdef void timer(self, Host h, int32_t event) noexcept nogil:
        return


cdef class Host:
    """One end of the link. `event` is the only entry; every job's effects happen when the job ends."""

    def __cinit__(self, *args, **kwargs):
        self.qdisc = <packet_t*>malloc(QDISC_ROOM * sizeof(packet_t))
        self.latency = <uint64_t*>calloc(LATENCY_BUCKETS, sizeof(uint64_t))
        if self.qdisc == NULL or self.latency == NULL or fifo_alloc(&self.backlog, QDISC_ROOM) < 0:
            raise MemoryError

    def __dealloc__(self):
        free(self.qdisc)
        free(self.latency)
        free(self.backlog.item)

    def __init__(self, int32_t index, uint64_t seed):
        self.base = index * EVENTS_PER_HOST
        server_init(&self.cpu, self.base + EVENT_CPU)
        server_init(&self.process_cpu, self.base + EVENT_PROCESS)
        server_init(&self.dma, self.base + EVENT_DMA)
        self.serves[HARD_IRQ] = self.serves[SOFT_IRQ] = self.serves[PROCESS] = &self.cpu
        random_init(&self.random, seed, STREAMS_PER_HOST * index)
        self.qdisc_owner = -1
        self.gro_held = -1

    cdef int configure(self, object spec, str workload) except -1:
        """Turn the host's dataclasses into the structs that the run reads; the driver does its own, then powers up."""
        cpu, stack, memory, sockets, work, wire = spec.cpu, spec.stack, spec.memory, spec.socket, spec.workload, spec.wire
        cdef double mhz = cpu.frequency_mhz / cpu.cycles_factor
        cdef int32_t options = 12 if sockets.tcp_timestamps else 0

        self.byte_ps = <int64_t>(8e6 / wire.rate_mbit_s + 0.5)
        self.cost.irq_entry = cycles_ps(cpu.irq_entry_cycles, mhz)
        self.cost.irq_shared = cycles_ps(cpu.irq_shared_cycles, mhz) + <int64_t>(cpu.irq_shared_read_ns * 1000)
        self.cost.mmio_read = <int64_t>(cpu.mmio_read_ns * 1000)
        self.cost.mmio_write = cycles_ps(cpu.mmio_write_cycles, mhz)
        self.cost.softirq = cycles_ps(cpu.softirq_cycles, mhz)
        self.cost.syscall = cycles_ps(cpu.syscall_cycles, mhz)
        self.cost.wakeup = cycles_ps(cpu.wakeup_cycles, mhz)
        self.cost.jitter = <int64_t>(cpu.jitter_percent / 100 * 65536)
        self.cost.skb_alloc = cycles_ps(stack.skb_alloc_cycles, mhz)
        self.cost.skb_free = cycles_ps(stack.skb_free_cycles, mhz)
        self.cost.page = cycles_ps(stack.page_cycles, mhz)
        self.cost.sendpage = cycles_ps(stack.sendpage_cycles, mhz)
        self.cost.tcp_output = cycles_ps(stack.tcp_output_cycles, mhz)
        self.cost.tcp_input = cycles_ps(stack.tcp_input_cycles, mhz)
        self.cost.udp = cycles_ps(stack.udp_cycles, mhz)
        self.cost.ip_output = cycles_ps(stack.ip_output_cycles, mhz)
        self.cost.ip_input = cycles_ps(stack.ip_input_cycles, mhz)
        self.cost.ip_fragment = cycles_ps(stack.ip_fragment_cycles, mhz)
        self.cost.ip_reassemble = cycles_ps(stack.ip_reassemble_cycles, mhz)
        self.cost.gso_segment = cycles_ps(stack.gso_segment_cycles, mhz)
        self.cost.qdisc = cycles_ps(stack.qdisc_cycles, mhz)
        self.cost.gro = cycles_ps(stack.gro_cycles, mhz)
        self.cost.netif_rx = cycles_ps(stack.netif_rx_cycles, mhz)
        self.cost.copy_cached = memory.copy_cached_cycles_per_byte * 1e6 / mhz
        self.cost.copy_cold = memory.copy_cold_cycles_per_byte * 1e6 / mhz
        self.cost.checksum = memory.checksum_cycles_per_byte * 1e6 / mhz

        self.set.mtu_bytes = wire.mtu_bytes
        self.set.mss_bytes = wire.mtu_bytes - 40 - options
        self.set.ack_bytes = self.set.header_bytes = 54 + options
        self.set.fragment_bytes = stack.fragment_bytes
        self.set.super_packet_bytes = max(sockets.super_packet_bytes, self.set.mss_bytes)
        self.set.backlog_packets = stack.backlog_packets
        self.set.qdisc_packets = stack.qdisc_packets
        self.set.gro_segments = stack.gro_segments
        self.set.message_bytes = work.message_bytes
        self.set.receive_bytes = work.receive_bytes
        self.set.send_footprint_bytes = work.message_bytes * work.send_buffers
        self.set.last_cache_bytes = memory.last_cache_bytes
        udp = workload == "udp_stream"
        self.set.send_buffer_bytes = sockets.udp_send_buffer_bytes if udp else sockets.tcp_send_buffer_bytes
        self.set.receive_buffer_bytes = sockets.udp_receive_buffer_bytes if udp else sockets.tcp_window_bytes
        self.set.tx_truesize_bytes = sockets.tx_truesize_bytes
        self.set.rx_truesize_bytes = sockets.rx_truesize_bytes
        self.set.rto_ps = <int64_t>(sockets.rto_us * 1e6)
        self.set.delayed_ack_ps = <int64_t>(sockets.delayed_ack_us * 1e6)
        if cpu.process_core == "other":
            self.serves[PROCESS] = &self.process_cpu
        self.set.sendfile = workload == "tcp_sendfile"
        self.socket.configure(self, spec)
        return 0

    @final
    cdef void submit(self, int32_t context) noexcept nogil:
        """Start the job whose operations have been charged; its length varies by the jitter."""
        cdef int64_t work_ps = self.ledger.open_ps, extra_ps
        if self.cost.jitter:
            extra_ps = (work_ps * self.cost.jitter >> 16) * (<int32_t>random_next(&self.random) >> 8) >> 23
            ledger_charge(&self.ledger, context, OP_VARIATION, extra_ps, 1)
            work_ps += extra_ps
        self.ledger.open_ps = 0
        server_submit(self.serves[context], context, work_ps)

    @final
    cdef bint process_busy(self) noexcept nogil:
        return server_has(self.serves[PROCESS], PROCESS)

    @final
    cdef void event(self, int32_t kind) noexcept nogil:
        if kind == EVENT_CPU:
            self.job_done(server_finish(self.q, &self.cpu))
        elif kind == EVENT_DMA:
            self.dma_done()
        elif kind == EVENT_WIRE:
            queue_clear_busy(self.q, self.base + EVENT_WIRE)
            self.wire_done()
        elif kind == EVENT_DELAYED_ACK or kind == EVENT_RTO:
            queue_clear(self.q, self.base + kind)
            self.socket.timer(self, kind)
            if self.socket.output_ready(self):
                self.soft_raise()
        elif kind == EVENT_PROCESS:
            self.job_done(server_finish(self.q, &self.process_cpu))
        elif kind == EVENT_PAUSE:
            self.resume()
        else:
            queue_clear(self.q, self.base + kind)
            self.device_timer(kind)
        self.dispatch()

    @final
    cdef void dispatch(self) noexcept nogil:
        server_dispatch(self.q, &self.cpu)
        if self.serves[PROCESS] != &self.cpu:
            server_dispatch(self.q, &self.process_cpu)

    @final
    cdef void job_done(self, int32_t context) noexcept nogil:
        if context == SOFT_IRQ:
            self.soft_done()
        elif context == PROCESS:
            if self.process_xmit:
                self.process_xmit = False
                self.queue_sent()
            self.socket.process_done(self)
        else:
            self.irq_done()

    # softirq -------------------------------------------------------------------------------------------------------

    @final
    cdef void soft_raise(self) noexcept nogil:
        """Softirqs have work; they start when nothing more urgent runs."""
        if self.soft_raised:
            return
        self.soft_raised = True
        self.soft_job = SOFT_ENTRY
        self.stats.softirqs += 1
        ledger_charge(&self.ledger, SOFT_IRQ, OP_SOFTIRQ, self.cost.softirq, 1)
        self.soft_next()

    @final
    cdef void soft_next(self) noexcept nogil:
        """Put the next softirq job together: TCP output, device queue, then poll and backlog in turn."""
        cdef const frame_t* f
        if self.socket.output_ready(self):
            self.soft_job = SOFT_OUTPUT
            self.socket.output_begin(self, SOFT_IRQ)
            return
        if self.tx_scheduled:
            if self.queue_run(SOFT_IRQ):
                self.soft_job = SOFT_XMIT
                return
            self.tx_scheduled = False
        if self.poll_scheduled and (self.backlog.count == 0 or self.backlog_quota == 0):
            self.soft_job = SOFT_POLL
            self.backlog_quota = BACKLOG_WEIGHT
            self.poll_begin()
            return
        if self.backlog.count:
            self.backlog_quota -= 1
            self.soft_job = SOFT_BACKLOG
            self.soft_frame = fifo_first(&self.backlog)
            f = &self.frames.frame[self.soft_frame]
            ledger_charge(&self.ledger, SOFT_IRQ, OP_NETIF_RX, self.cost.netif_rx, 1)
            self.socket.input_begin(self, f)
            self.submit(SOFT_IRQ)
            return
        if self.soft_job == SOFT_ENTRY:     # raised for nothing: the entry alone
            self.submit(SOFT_IRQ)
            return
        self.soft_raised = False

    cdef void soft_done(self) noexcept nogil:
        cdef int32_t job = self.soft_job
        cdef int64_t received_bytes
        cdef const frame_t* f
        self.soft_job = SOFT_NOTHING
        if job == SOFT_POLL:
            self.poll_done()
            if self.soft_job == SOFT_POLL:
                return
        elif job == SOFT_BACKLOG:
            fifo_take(&self.backlog)
            f = &self.frames.frame[self.soft_frame]
            self.stats.delivered += 1
            if f.kind != TCP_ACK:
                self.stats.latency_ps += self.q.now_ps - f.born_ps
                self.latency[latency_bucket(self.q.now_ps - f.born_ps)] += 1
            received_bytes = self.stats.received_bytes
            self.socket.input_done(self, f)
            if self.set.pages:
                self.taken(self.soft_frame, self.stats.received_bytes > received_bytes)
            frames_give(self.frames, self.soft_frame)
        elif job == SOFT_OUTPUT:
            self.socket.output_done(self, SOFT_IRQ)
            self.tx_scheduled = True
        elif job == SOFT_XMIT:
            self.queue_sent()
        self.soft_next()

    cdef void netif_rx(self, int32_t frame) noexcept nogil:
        """The driver passes a received frame up: it waits in the backlog, which a softirq empties."""
        if self.backlog.count >= self.set.backlog_packets:
            self.stats.backlog_drops += 1
            frames_give(self.frames, frame)
            return
        fifo_put(&self.backlog, frame)

    @final
    cdef void gro_receive(self, int32_t frame) noexcept nogil:
        """As `netif_rx`, but a segment that continues the packet held is added to it, as far as one packet goes."""
        cdef frame_t* held
        cdef const frame_t* f = &self.frames.frame[frame]
        if f.kind != TCP_DATA or self.set.gro_segments < 2:
            self.gro_flush()
            self.netif_rx(frame)
            return
        if self.gro_held >= 0:
            held = &self.frames.frame[self.gro_held]
            if held.sequence + held.payload_bytes == f.sequence and held.payload_bytes + f.payload_bytes <= GRO_BYTES:
                held.payload_bytes += f.payload_bytes
                self.gro_segments += 1
                if self.set.pages:
                    self.merged(self.gro_held, frame)
                if self.gro_segments == self.set.gro_segments or f.payload_bytes < self.set.mss_bytes:
                    self.gro_flush()        # full, or its end
                frames_give(self.frames, frame)
                return
            self.gro_flush()
        self.gro_held = frame
        self.gro_segments = 1

    @final
    cdef void gro_flush(self) noexcept nogil:
        if self.gro_held >= 0:
            self.netif_rx(self.gro_held)
            self.gro_held = -1

    # device queue --------------------------------------------------------------------------------------------------

    @final
    cdef bint queue_direct(self) noexcept nogil:
        return self.qdisc_count == 0 and self.qdisc_owner < 0 and self.xmit_room()

    @final
    cdef void queue_claim(self, int32_t context, const packet_t* p) noexcept nogil:
        """Charge the queue for a packet or train, and the transmission of its first frame if nothing stands before it."""
        cdef int32_t n = 1
        if not self.set.gso and p.payload_bytes > p.segment_bytes:
            n = p.payload_bytes // p.segment_bytes
        ledger_charge(&self.ledger, context, OP_QDISC, n * self.cost.qdisc, n)
        if self.queue_direct():
            self.qdisc_owner = context
            self.xmit_charge(context, p)

    @final
    cdef void queue_put(self, const packet_t* p, int32_t context) noexcept nogil:
        """Enqueue a packet; send it at once if the job that ends now has claimed the queue."""
        if self.qdisc_count >= self.set.qdisc_packets:
            self.stats.qdisc_drops += 1
        else:
            self.qdisc[(self.qdisc_head + self.qdisc_count) % QDISC_ROOM] = p[0]
            self.qdisc_count += 1
        if self.qdisc_owner == context:     # also when a preempting context has filled the queue meanwhile
            self.queue_sent()

    @final
    cdef bint queue_run(self, int32_t context) noexcept nogil:
        """Start to send the first packet of the queue; False if it is empty, owned by another context or the ring is full."""
        if self.qdisc_count == 0 or self.qdisc_owner >= 0 or not self.xmit_room():
            return False
        self.qdisc_owner = context
        self.xmit_charge(context, &self.qdisc[self.qdisc_head])
        self.process_xmit = context == PROCESS
        self.submit(context)
        return True

    @final
    cdef void queue_sent(self) noexcept nogil:
        """A frame of the first packet goes to the driver; a super-packet stays until its last segment has left."""
        cdef packet_t* p = &self.qdisc[self.qdisc_head]
        self.qdisc_owner = -1
        self.xmit(p)
        if p.payload_bytes <= 0:
            self.qdisc_head = (self.qdisc_head + 1) % QDISC_ROOM
            self.qdisc_count -= 1

    # the driver, by subclasses ---------------------------------------------------------------------------------------

    cdef int join(self, list cores, object spec) except -1:
        """All hosts that stand for the cores of this machine, of which it is the first, are configured."""
        return 0

    cdef void connect(self, Host peer):
        self.peer = peer

    cdef int64_t copy_in_ps(self, int32_t process, int64_t n_bytes) noexcept nogil:
        """Copy from a process, by its number on this core, for transmission."""
        return <int64_t>(n_bytes * (
            self.cost.copy_cached if self.set.send_footprint_bytes <= self.set.last_cache_bytes else self.cost.copy_cold
        ))

    cdef int64_t copy_out_ps(self, int32_t process, int64_t n_bytes) noexcept nogil:
        """Copy received payload to a process."""
        return <int64_t>(n_bytes * self.cost.copy_cold)

    cdef void acknowledged(self, int32_t process, int64_t n_bytes) noexcept nogil:
        """The peer has so much more of what the process has written: its memory is free."""
        return

    cdef void levels(self, int64_t* row) noexcept nogil:
        """Lengths of the device queue, transmit ring, transmit FIFO, receive FIFO, receive ring (filled) and backlog."""
        return

    cdef void state(self, int64_t* row) noexcept nogil:
        """Descriptors: sent, transmit ones the NIC owns; receive ones posted, taken but not posted again, owned by the NIC."""
        return

    cdef void counted(self, int64_t* device, int64_t* bus) noexcept nogil:
        """Copy the driver's counters and those of the bus."""
        return

    cdef void dma_done(self) noexcept nogil:
        return

    cdef void wire_start(self) noexcept nogil:
        """Send the next frame, unless the wire is busy or the host paused."""
        return

    cdef void wire_done(self) noexcept nogil:
        return

    cdef void device_timer(self, int32_t kind) noexcept nogil:
        return

    cdef void irq_done(self) noexcept nogil:
        return

    cdef void poll_begin(self) noexcept nogil:
        return

    cdef void poll_done(self) noexcept nogil:
        return

    cdef bint xmit_room(self) noexcept nogil:
        return False

    cdef void xmit_charge(self, int32_t context, const packet_t* p) noexcept nogil:
        return

    cdef void xmit(self, packet_t* p) noexcept nogil:
        return

    cdef void arrive(self, int32_t frame) noexcept nogil:
        return

    cdef void pause(self) noexcept nogil:
        """The peer asks for silence; unless it takes that back before, the request ends by itself."""
        self.paused = True
        queue_set(self.q, self.base + EVENT_PAUSE, self.q.now_ps + PAUSE_BYTE_TIMES * self.byte_ps)

    cdef void resume(self) noexcept nogil:
        self.paused = False
        queue_clear(self.q, self.base + EVENT_PAUSE)
        self.wire_start()

    cdef void merged(self, int32_t into, int32_t frame) noexcept nogil:
        """GRO has added a frame to the packet that began with another."""
        return

    cdef void taken(self, int32_t frame, bint kept) noexcept nogil:
        """The protocol is done with a packet; the socket keeps its data or not."""
        return

    cdef int64_t consume(self, int32_t context, int64_t n_bytes) noexcept nogil:
        """The process reads so much: charge what it takes to free the buffers. Returns how many sk_buffs these are."""
        return (n_bytes + self.set.mss_bytes - 1) // self.set.mss_bytes


cdef extern from *:
    """
    #define leading_zeros(x) __builtin_clzll(x)
    """
    int leading_zeros(unsigned long long x) noexcept nogil


cdef inline int32_t latency_bucket(int64_t ps) noexcept nogil:
    """16 buckets per octave, so a percentile is known to 6 %."""
    cdef int32_t shift
    if ps < 16:
        return <int32_t>ps
    shift = 59 - leading_zeros(ps)
    return 16 * shift + <int32_t>(ps >> shift)
