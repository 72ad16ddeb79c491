"""One run: two hosts on a wire, from assembly to the table of snapshots. The GIL is released for the whole run."""
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy
from nicperf.drivers._velocity cimport DMA_RX, DMA_TX, OWNED_BY_NIC, VelocityHost, velocity_stats_t
from nicperf.drivers._velocity_bytes cimport VelocityBytesHost, velocity_bytes_connect
from nicperf.engine._ledger cimport CONTEXTS, OPERATIONS
from nicperf.engine._queue cimport QUEUE_SLOT_BITS, QUEUE_SLOTS, queue_advance, queue_init, queue_next, queue_t
from nicperf.engine._server cimport server_dispatch, server_owed_ps
from nicperf.packets._wiretap cimport Wiretap
from nicperf.parts._bus cimport bus_stats_t
from nicperf.parts._frames cimport frames_init, frames_t
from nicperf.stack._host cimport EVENTS_PER_HOST, LATENCY_BUCKETS, host_stats_t
from nicperf.stack._tcp cimport TcpReceiver, TcpSender
from nicperf.stack._udp cimport UdpReceiver, UdpSender

import numpy as np

cdef enum:
    HOST_STATS = sizeof(host_stats_t) // 8
    DEVICE_STATS = sizeof(velocity_stats_t) // 8
    BUS_STATS = sizeof(bus_stats_t) // 8
    LEDGER = CONTEXTS * OPERATIONS
    QUEUES = 6
    OTHER_STATS = 8                     # CPU: busy per context, idle, preemptions; DMA engine: busy, idle; events
    STATE = QUEUES + 9                  # levels at the end of a slice, not counters
    ROW = HOST_STATS + DEVICE_STATS + BUS_STATS + 2 * LEDGER + OTHER_STATS + STATE

QUEUE_NAMES = ("qdisc", "tx_ring", "tx_fifo", "rx_fifo", "rx_ring", "backlog")
STATE_NAMES = (
    *QUEUE_NAMES, "tx_done", "tx_owned", "rx_credit", "rx_returned", "rx_owned", "allocated", "freed", "cpu_left_ps",
    "dma_left_ps",
)
WIDTHS = {
    "host": HOST_STATS, "device": DEVICE_STATS, "bus": BUS_STATS, "ledger_ps": LEDGER, "ledger_calls": LEDGER,
    "other": OTHER_STATS,
    "state": STATE,
}


cdef int64_t _ps(double cycles, double frequency_mhz):
    return <int64_t>(cycles * 1e6 / frequency_mhz + 0.5)


cdef int _configure(VelocityHost h, object spec, str workload) except -1:
    """Turn a host's dataclasses into the structs that the run reads."""
    cpu, stack, memory, sockets, work = spec.cpu, spec.stack, spec.memory, spec.socket, spec.workload
    nic, driver, bus, wire = spec.nic, spec.driver, spec.bus, spec.wire
    cdef double mhz = cpu.frequency_mhz
    cdef int32_t options = 12 if sockets.tcp_timestamps else 0

    h.cost.irq_entry = _ps(cpu.irq_entry_cycles, mhz)
    h.cost.irq_shared = _ps(cpu.irq_shared_cycles, mhz) + <int64_t>(cpu.irq_shared_read_ns * 1000)
    h.cost.mmio_read = <int64_t>(cpu.mmio_read_ns * 1000)
    h.cost.mmio_write = _ps(cpu.mmio_write_cycles, mhz)
    h.cost.softirq = _ps(cpu.softirq_cycles, mhz)
    h.cost.syscall = _ps(cpu.syscall_cycles, mhz)
    h.cost.wakeup = _ps(cpu.wakeup_cycles, mhz)
    h.cost.jitter = <int64_t>(cpu.jitter_percent / 100 * 65536)
    h.cost.skb_alloc = _ps(stack.skb_alloc_cycles, mhz)
    h.cost.skb_free = _ps(stack.skb_free_cycles, mhz)
    h.cost.page = _ps(stack.page_cycles, mhz)
    h.cost.sendpage = _ps(stack.sendpage_cycles, mhz)
    h.cost.tcp_output = _ps(stack.tcp_output_cycles, mhz)
    h.cost.tcp_input = _ps(stack.tcp_input_cycles, mhz)
    h.cost.udp = _ps(stack.udp_cycles, mhz)
    h.cost.ip_output = _ps(stack.ip_output_cycles, mhz)
    h.cost.ip_input = _ps(stack.ip_input_cycles, mhz)
    h.cost.ip_fragment = _ps(stack.ip_fragment_cycles, mhz)
    h.cost.ip_reassemble = _ps(stack.ip_reassemble_cycles, mhz)
    h.cost.gso_segment = _ps(stack.gso_segment_cycles, mhz)
    h.cost.qdisc = _ps(stack.qdisc_cycles, mhz)
    h.cost.netif_rx = _ps(stack.netif_rx_cycles, mhz)
    h.cost.copy_cached = memory.copy_cached_cycles_per_byte * 1e6 / mhz
    h.cost.copy_cold = memory.copy_cold_cycles_per_byte * 1e6 / mhz
    h.cost.checksum = memory.checksum_cycles_per_byte * 1e6 / mhz

    h.set.mtu_bytes = wire.mtu_bytes
    h.set.mss_bytes = wire.mtu_bytes - 40 - options
    h.set.ack_bytes = h.set.header_bytes = 54 + options
    h.set.fragment_bytes = stack.fragment_bytes
    h.set.super_packet_bytes = max(sockets.super_packet_bytes, h.set.mss_bytes)
    h.set.backlog_packets = stack.backlog_packets
    h.set.qdisc_packets = stack.qdisc_packets
    h.set.message_bytes = work.message_bytes
    h.set.receive_bytes = work.receive_bytes
    h.set.send_footprint_bytes = work.message_bytes * work.send_buffers
    h.set.last_cache_bytes = memory.last_cache_bytes
    udp = workload == "udp_stream"
    h.set.send_buffer_bytes = sockets.udp_send_buffer_bytes if udp else sockets.tcp_send_buffer_bytes
    h.set.receive_buffer_bytes = sockets.udp_receive_buffer_bytes if udp else sockets.tcp_window_bytes
    h.set.tx_truesize_bytes = sockets.tx_truesize_bytes
    h.set.rx_truesize_bytes = sockets.rx_truesize_bytes
    h.set.rto_ps = <int64_t>(sockets.rto_us * 1e6)
    h.set.delayed_ack_ps = <int64_t>(sockets.delayed_ack_us * 1e6)
    h.set.gso = driver.tx_scatter_gather
    h.set.sendfile = workload == "tcp_sendfile"
    h.set.fragments_verified = driver.rx_checksum_rule == "mainline"

    h.p.tx_ring = driver.tx_ring
    h.p.rx_ring = driver.rx_ring // 4 * 4
    h.p.copybreak_bytes = driver.rx_copybreak_bytes
    h.p.tx_fifo_bytes = nic.tx_fifo_bytes
    h.p.rx_fifo_bytes = nic.rx_fifo_bytes
    h.p.frame_gap_ps = <int64_t>(nic.frame_gap_ns * 1000)
    h.p.buffer_gap_ps = <int64_t>(nic.buffer_gap_ns * 1000)
    h.p.byte_ps = <int64_t>(8e6 / wire.rate_mbit_s + 0.5)
    h.p.xmit = _ps(driver.xmit_cycles, mhz)
    h.p.xmit_buffer = _ps(driver.xmit_buffer_cycles, mhz)
    h.p.tx_reap = _ps(driver.tx_reap_cycles, mhz)
    h.p.rx_reap = _ps(driver.rx_reap_cycles, mhz)
    h.p.rx_refill = _ps(driver.rx_refill_cycles, mhz)
    h.p.poll = _ps(driver.poll_cycles, mhz)
    h.p.napi = driver.napi
    h.p.scatter_gather = driver.tx_scatter_gather
    h.p.pause = nic.pause
    h.p.realign_via = driver.rx_align_rule == "via"
    h.p.rx_address_mod = driver.rx_buffer_address_mod_bytes

    h.bus.p.clock_ps = 1e6 / bus.clock_mhz
    h.bus.p.width_bytes = bus.width_bytes
    h.bus.p.read_overhead_clocks = bus.read_overhead_clocks
    h.bus.p.write_overhead_clocks = bus.write_overhead_clocks
    h.bus.p.mmio_read_ps = <int64_t>(bus.register_read_clocks * h.bus.p.clock_ps + 0.5)
    h.bus.p.mmio_write_ps = <int64_t>(bus.register_write_clocks * h.bus.p.clock_ps + 0.5)
    h.bus.p.read_line_bytes = bus.read_line_bytes
    h.bus.p.write_line_bytes = bus.write_line_bytes
    longest = bus.latency_timer_clocks * bus.width_bytes
    if nic.dma_burst_dwords:
        longest = min(longest, nic.dma_burst_dwords * 4)
    h.bus.p.read_limit_bytes = h.bus.p.write_limit_bytes = longest
    if bus.read_line_bytes:
        longest = min(longest, bus.read_line_bytes)
    h.p.burst_ps = <int64_t>((longest / bus.width_bytes + bus.read_overhead_clocks) * h.bus.p.clock_ps)

    h.tx_moderation.threshold = driver.tx_suppress_frames
    h.tx_moderation.timer_ps = <int64_t>(driver.tx_timer_us * 1e6)
    h.tx_moderation.from_first = nic.tx_timer_starts == "first_pending"
    h.rx_moderation.threshold = driver.rx_suppress_frames
    h.rx_moderation.timer_ps = <int64_t>(driver.rx_timer_us * 1e6)
    h.rx_moderation.from_first = nic.rx_timer_starts == "first_pending"
    h.power_up()
    return 0


cdef class Simulation:
    """Two assembled hosts; `run` may be called once, `extend` after it.

    Parameters
    ----------
    local, remote : HostSpec
        Sender and receiver.
    workload : {"udp_stream", "tcp_stream", "tcp_sendfile"}
    seed : int
    wiretap : Wiretap, optional
        Given one, the frames are real and it records them; the events are the same.
    """

    cdef queue_t* q
    cdef frames_t* frames
    cdef VelocityHost local, remote
    cdef int64_t events

    def __cinit__(self, local, remote, str workload, seed, Wiretap wiretap=None):
        self.q = <queue_t*>malloc(sizeof(queue_t))
        self.frames = <frames_t*>malloc(sizeof(frames_t))
        if self.q == NULL or self.frames == NULL:
            raise MemoryError
        queue_init(self.q)
        frames_init(self.frames)
        host_class = VelocityHost if wiretap is None else VelocityBytesHost
        self.local, self.remote = host_class(0, seed), host_class(EVENTS_PER_HOST, seed)
        if workload == "udp_stream":
            self.local.socket, self.remote.socket = UdpSender(), UdpReceiver()
        else:
            self.local.socket, self.remote.socket = TcpSender(), TcpReceiver()
        self.local.peer, self.remote.peer = self.remote, self.local
        for host, spec in ((self.local, local), (self.remote, remote)):
            (<VelocityHost>host).q = self.q
            (<VelocityHost>host).frames = self.frames
            _configure(host, spec, workload)
        if wiretap is not None:
            velocity_bytes_connect(self.local, self.remote, wiretap, workload != "udp_stream")

    def __del__(self):
        # The hosts know each other: without this their memory would wait for the garbage collector.
        if self.remote is not None:         # assembly may have failed before
            self.local.peer = None
            self.remote.peer = None

    def __dealloc__(self):
        free(self.q)
        free(self.frames)

    cdef int _advance(self, int64_t until_ps, int64_t[:, ::1] trace) except -1 nogil:
        cdef queue_t* q = self.q
        cdef int64_t events = self.events, recorded = trace.shape[0]
        cdef int64_t last = until_ps << QUEUE_SLOT_BITS | (QUEUE_SLOTS - 1), key = queue_next(q)
        cdef int32_t slot
        while key <= last:
            slot = queue_advance(q, key)
            if slot < EVENTS_PER_HOST:      # branches, not tables: the processor goes on before it knows the slot
                self.local.event(slot)
            else:
                self.remote.event(slot - EVENTS_PER_HOST)
            if events < recorded:
                self._record(&trace[events, 0], q.now_ps, slot)
            events += 1
            key = queue_next(q)
        self.events = events
        q.now_ps = until_ps
        if self.frames.exhausted:
            with gil:
                raise RuntimeError("more frames in flight than the frame pool holds")
        return 0

    cdef void _record(self, int64_t* row, int64_t at_ps, int32_t slot) noexcept nogil:
        row[0] = at_ps
        row[1] = slot
        self._lengths(self.local, row + 2)
        self._lengths(self.remote, row + 2 + QUEUES)

    cdef void _lengths(self, VelocityHost h, int64_t* row) noexcept nogil:
        row[0] = h.qdisc_count
        row[1] = h.p.tx_ring - h.tx_free
        row[2] = h.tx_fifo.count
        row[3] = h.rx_fifo.count
        row[4] = h.rx_done
        row[5] = h.backlog.count

    cdef int _snapshot(self, VelocityHost h, int64_t* row) noexcept nogil:
        cdef int32_t i
        memcpy(row, &h.stats, sizeof(host_stats_t))
        row += HOST_STATS
        memcpy(row, &h.device_stats, sizeof(velocity_stats_t))
        row += DEVICE_STATS
        memcpy(row, &h.bus.s, sizeof(bus_stats_t))
        row += BUS_STATS
        memcpy(row, h.ledger.ps, LEDGER * 8)
        row += LEDGER
        memcpy(row, h.ledger.calls, LEDGER * 8)
        row += LEDGER
        for i in range(CONTEXTS):
            row[i] = h.cpu.busy_ps[i]
        row[CONTEXTS] = h.cpu.idle_ps
        row[CONTEXTS + 1] = h.cpu.preemptions
        row[CONTEXTS + 2] = h.dma.busy_ps[DMA_RX] + h.dma.busy_ps[DMA_TX]
        row[CONTEXTS + 3] = h.dma.idle_ps
        row[h.cpu.current if h.cpu.current >= 0 else CONTEXTS] += self.q.now_ps - h.cpu.started_ps
        row[CONTEXTS + 2 if h.dma.current >= 0 else CONTEXTS + 3] += self.q.now_ps - h.dma.started_ps
        row[CONTEXTS + 4] = self.events
        self._state(h, row + OTHER_STATS)
        return 0

    cdef void _state(self, VelocityHost h, int64_t* row) noexcept nogil:
        """What is on its way: queues, descriptors by owner, frames of both hosts, work that has been booked but not done."""
        cdef int32_t i
        self._lengths(h, row)
        row += QUEUES
        row[0] = h.tx_done
        row[1] = 0
        for i in range(h.p.tx_ring):
            row[1] += (h.tx_ring[i].word0 & OWNED_BY_NIC) != 0
        row[2] = h.rx_credit
        row[3] = h.rx_returned
        row[4] = 0
        for i in range(h.p.rx_ring):
            row[4] += (h.rx_ring[i].word0 & OWNED_BY_NIC) != 0
        row[5] = self.frames.allocated
        row[6] = self.frames.freed
        row[7] = h.ledger.open_ps + server_owed_ps(self.q, &h.cpu)
        row[8] = server_owed_ps(self.q, &h.dma)

    cdef int _slices(
        self, int64_t slice_ps, int64_t[:, :, ::1] out, int64_t[:, ::1] record, uint64_t[:, ::1] histogram
    ) except -1 nogil:
        cdef int32_t i, b
        for i in range(<int32_t>out.shape[0]):
            self._advance(self.q.now_ps + slice_ps, record)
            self._snapshot(self.local, &out[i, 0, 0])
            self._snapshot(self.remote, &out[i, 1, 0])
        for b in range(LATENCY_BUCKETS):
            histogram[0, b] = self.local.latency[b]
            histogram[1, b] = self.remote.latency[b]
        return 0

    def run(self, int64_t warmup_ps, int64_t slice_ps, int slices, int trace_events=0):
        """Execute the warm-up and `slices` slices.

        Returns
        -------
        rows : int64 array, shape (slices + 1, 2, ROW)
            Counters of (local, remote) at the end of the warm-up and of each slice, and levels (`STATE_NAMES`);
            blocks as in `WIDTHS`.
        latency : uint64 array, shape (2, LATENCY_BUCKETS)
            Data frames delivered after the warm-up, by time since the driver posted them.
        trace : int64 array, shape (n, 14)
            Of each of the first `trace_events` events: time in ps, slot, and after it the lengths of the local and the remote
            host's queues, as in `QUEUE_NAMES`.
        """
        rows = np.empty((slices + 1, 2, ROW), dtype=np.int64)
        latency = np.empty((2, LATENCY_BUCKETS), dtype=np.uint64)
        trace = np.empty((trace_events, 2 + 2 * QUEUES), dtype=np.int64)
        cdef int64_t[:, :, ::1] out = rows
        cdef int64_t[:, ::1] record = trace
        cdef uint64_t[:, ::1] histogram = latency
        cdef int32_t b
        with nogil:
            self.local.socket.start(self.local)
            server_dispatch(self.q, &self.local.cpu)
            self.remote.socket.start(self.remote)
            self._slices(warmup_ps, out[:1], record, histogram)
            for b in range(LATENCY_BUCKETS):
                self.local.latency[b] = 0
                self.remote.latency[b] = 0
            self._slices(slice_ps, out[1:], record, histogram)
        return rows, latency, trace[: min(trace_events, self.events)]

    def extend(self, int64_t slice_ps, int slices):
        """Execute further slices after `run`.

        Returns
        -------
        rows : int64 array, shape (slices, 2, ROW)
            As of `run`, at the end of each further slice.
        latency : uint64 array, shape (2, LATENCY_BUCKETS)
            As of `run`, since the warm-up.
        """
        rows = np.empty((slices, 2, ROW), dtype=np.int64)
        latency = np.empty((2, LATENCY_BUCKETS), dtype=np.uint64)
        cdef int64_t[:, :, ::1] out = rows
        cdef int64_t[:, ::1] record = np.empty((0, 2 + 2 * QUEUES), dtype=np.int64)
        cdef uint64_t[:, ::1] histogram = latency
        with nogil:
            self._slices(slice_ps, out, record, histogram)
        return rows, latency
