"""One run: two hosts on a wire, each of one core or of several. The GIL is released for the whole run."""
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset
from nicperf.drivers._velocity_bytes cimport velocity_bytes_connect
from nicperf.engine._ledger cimport CONTEXTS, OPERATIONS, PROCESS
from nicperf.engine._queue cimport (
    QUEUE_GROUPS, QUEUE_SLOT_BITS, QUEUE_SLOTS, queue_advance, queue_init, queue_next, queue_next_of, queue_t,
)
from nicperf.engine._server cimport SERVER_CLASSES, server_owed_ps, server_t
from nicperf.packets._wiretap cimport Wiretap
from nicperf.parts._bus cimport bus_stats_t
from nicperf.parts._frames cimport frames_init, frames_t
from nicperf.stack._exchange cimport ExchangeSocket
from nicperf.stack._host cimport EVENTS_PER_HOST, LATENCY_BUCKETS, QUEUES, STATES, Host, host_stats_t

import numpy as np

from nicperf.simulation.systems import SYSTEMS

cdef enum:
    HOST_STATS = sizeof(host_stats_t) // 8
    BUS_STATS = sizeof(bus_stats_t) // 8
    LEDGER = CONTEXTS * OPERATIONS
    OTHER_STATS = 9                     # CPUs: busy per context, idle, preemptions; DMA engine: busy, idle; events; second idle
    LEVELS = QUEUES + STATES + 4        # levels at the end of a slice, not counters

QUEUE_NAMES = ("qdisc", "tx_ring", "tx_fifo", "rx_fifo", "rx_ring", "backlog")
STATE_NAMES = (
    *QUEUE_NAMES, "tx_done", "tx_owned", "rx_credit", "rx_returned", "rx_owned", "allocated", "freed", "cpu_left_ps",
    "dma_left_ps",
)


def widths(int device):
    """Blocks of a row and their widths, for a system whose devices have so many counters."""
    return {
        "host": HOST_STATS, "device": device, "bus": BUS_STATS, "ledger_ps": LEDGER, "ledger_calls": LEDGER,
        "other": OTHER_STATS, "state": LEVELS,
    }


cdef class Simulation:
    """Two assembled hosts; `run` may be called once, `extend` after it.

    Parameters
    ----------
    driver : str
        Name of the system.
    local, remote : HostSpec
        Sender and receiver.
    workload : str
        One of the system's.
    seed : int
    wiretap : Wiretap, optional
        Given one, the frames are real and it records them; the events are the same.
    """

    cdef queue_t* q
    cdef frames_t* frames
    cdef Host local, remote             # or the first core of each, which stands for the port too
    cdef readonly list cores            # of (local, remote)
    cdef void* host[QUEUE_GROUPS]       # all of them, by group of event slots
    cdef int32_t hosts, locals          # how many, and how many of these are local
    cdef int32_t device_width, row_width
    cdef int64_t* scratch               # one row
    cdef int64_t events

    def __cinit__(self, str driver, local, remote, str workload, seed, Wiretap wiretap=None):
        system = SYSTEMS[driver]
        self.q = <queue_t*>malloc(sizeof(queue_t))
        self.frames = <frames_t*>malloc(sizeof(frames_t))
        if self.q == NULL or self.frames == NULL:
            raise MemoryError
        queue_init(self.q)
        frames_init(self.frames)
        self.device_width = system.device_width
        self.row_width = sum(widths(system.device_width).values())
        self.scratch = <int64_t*>malloc(self.row_width * sizeof(int64_t))
        if self.scratch == NULL:
            raise MemoryError
        self.cores = [
            self._assemble(end, spec, workload, seed, wiretap)
            for end, spec in zip(system.ends[workload], (local, remote))
        ]
        self.local, self.remote = (side[0] for side in self.cores)
        self.locals = len(self.cores[0])
        for host in self.cores[0]:
            (<Host>host).connect(self.remote)
        for host in self.cores[1]:
            (<Host>host).connect(self.local)
        if wiretap is not None:
            velocity_bytes_connect(self.local, self.remote, wiretap, workload != "udp_stream")

    def _assemble(self, end, spec, str workload, seed, wiretap):
        """One side: a host for each core that takes part."""
        cores = []
        count = spec.cpu.cores if end.every_core else 1
        for i in range(count):
            host = (end.host if wiretap is None else end.bytes_host)(self.hosts, seed)
            (<Host>host).socket = end.socket()
            (<Host>host).q = self.q
            (<Host>host).frames = self.frames
            (<Host>host).configure(spec, workload)
            if end.every_core:
                (<ExchangeSocket?>(<Host>host).socket).place(i, count)
            self.host[self.hosts] = <void*>host
            self.hosts += 1
            cores.append(host)
        (<Host>cores[0]).join(cores, spec)
        return cores

    def __del__(self):
        # The hosts know each other: without this their memory would wait for the garbage collector.
        if self.remote is not None:         # assembly may have failed before
            for side in self.cores:
                for host in side:
                    (<Host>host).connect(None)

    def __dealloc__(self):
        free(self.scratch)
        free(self.q)
        free(self.frames)

    cdef int _advance(self, int64_t until_ps, int64_t[:, ::1] trace) except -1 nogil:
        cdef queue_t* q = self.q
        cdef int64_t events = self.events, recorded = trace.shape[0]
        cdef int64_t last = until_ps << QUEUE_SLOT_BITS | (QUEUE_SLOTS - 1), key = self._next()
        cdef int32_t slot
        cdef bint pair = self.hosts == 2
        while key <= last:
            slot = queue_advance(q, key)
            if pair:                        # branches, not tables: the processor goes on before it knows the slot
                if slot < EVENTS_PER_HOST:
                    self.local.event(slot)
                else:
                    self.remote.event(slot - EVENTS_PER_HOST)
            else:
                (<Host>self.host[slot // EVENTS_PER_HOST]).event(slot % EVENTS_PER_HOST)
            if events < recorded:
                self._record(&trace[events, 0], q.now_ps, slot)
            events += 1
            key = queue_next(q) if pair else queue_next_of(q, self.hosts)
        self.events = events
        q.now_ps = until_ps
        if self.frames.exhausted:
            with gil:
                raise RuntimeError("more frames in flight than the frame pool holds")
        return 0

    cdef int64_t _next(self) noexcept nogil:
        return queue_next(self.q) if self.hosts == 2 else queue_next_of(self.q, self.hosts)

    cdef void _record(self, int64_t* row, int64_t at_ps, int32_t slot) noexcept nogil:
        row[0] = at_ps
        row[1] = slot
        self.local.levels(row + 2)
        self.remote.levels(row + 2 + QUEUES)

    cdef void _snapshot(self, int32_t first, int32_t last, int64_t* row) noexcept nogil:
        """One side: the sum over its cores, and what the hosts share."""
        cdef int32_t core, i
        self._core(<Host>self.host[first], row)
        for core in range(first + 1, last + 1):
            self._core(<Host>self.host[core], self.scratch)
            for i in range(self.row_width):
                row[i] += self.scratch[i]
        row += self.row_width - OTHER_STATS - LEVELS
        row[CONTEXTS + 4] = self.events
        row += OTHER_STATS + QUEUES + STATES
        row[0] = self.frames.allocated
        row[1] = self.frames.freed

    cdef void _core(self, Host h, int64_t* row) noexcept nogil:
        cdef int32_t i
        memset(row, 0, self.row_width * 8)
        memcpy(row, &h.stats, sizeof(host_stats_t))
        row += HOST_STATS
        h.counted(row, row + self.device_width)
        row += self.device_width + BUS_STATS
        memcpy(row, h.ledger.ps, LEDGER * 8)
        row += LEDGER
        memcpy(row, h.ledger.calls, LEDGER * 8)
        row += LEDGER
        for i in range(CONTEXTS):
            row[i] = h.cpu.busy_ps[i]
        row[PROCESS] += h.process_cpu.busy_ps[PROCESS]
        row[CONTEXTS] = h.cpu.idle_ps
        row[CONTEXTS + 1] = h.cpu.preemptions
        for i in range(SERVER_CLASSES):
            row[CONTEXTS + 2] += h.dma.busy_ps[i]
        row[CONTEXTS + 3] = h.dma.idle_ps
        row[CONTEXTS + 5] = h.process_cpu.idle_ps
        # What has begun and not ended.
        self._running(&h.cpu, row, row + CONTEXTS)
        if h.serves[PROCESS] != &h.cpu:
            self._running(&h.process_cpu, row, row + CONTEXTS + 5)
        row[CONTEXTS + 2 if h.dma.current >= 0 else CONTEXTS + 3] += self.q.now_ps - h.dma.started_ps
        self._state(h, row + OTHER_STATS)

    cdef void _running(self, const server_t* cpu, int64_t* busy, int64_t* idle) noexcept nogil:
        if cpu.current >= 0:
            busy[cpu.current] += self.q.now_ps - cpu.started_ps
        else:
            idle[0] += self.q.now_ps - cpu.started_ps

    cdef void _state(self, Host h, int64_t* row) noexcept nogil:
        """What is on its way: queues, descriptors by owner, work that has been booked but not done."""
        h.levels(row)
        h.state(row + QUEUES)
        row += QUEUES + STATES
        row[2] = h.ledger.open_ps + server_owed_ps(self.q, &h.cpu) + server_owed_ps(self.q, &h.process_cpu)
        row[3] = server_owed_ps(self.q, &h.dma)

    cdef void _start(self, Host h) noexcept nogil:
        h.socket.start(h)
        h.dispatch()

    cdef int _slices(
        self, int64_t slice_ps, int64_t[:, :, ::1] out, int64_t[:, ::1] record, uint64_t[:, ::1] histogram
    ) except -1 nogil:
        cdef int32_t i, b
        for i in range(<int32_t>out.shape[0]):
            self._advance(self.q.now_ps + slice_ps, record)
            self._snapshot(0, self.locals - 1, &out[i, 0, 0])
            self._snapshot(self.locals, self.hosts - 1, &out[i, 1, 0])
        for b in range(LATENCY_BUCKETS):
            histogram[0, b] = histogram[1, b] = 0
            for i in range(self.hosts):
                histogram[i >= self.locals, b] += (<Host>self.host[i]).latency[b]
        return 0

    def run(self, int64_t warmup_ps, int64_t slice_ps, int slices, int trace_events=0):
        """Execute the warm-up and `slices` slices.

        Returns
        -------
        rows : int64 array, shape (slices + 1, 2, n)
            Counters of (local, remote) at the end of the warm-up and of each slice, and levels (`STATE_NAMES`);
            blocks as in `widths`.
        latency : uint64 array, shape (2, LATENCY_BUCKETS)
            Data frames delivered after the warm-up, by time since the driver posted them.
        trace : int64 array, shape (n, 14)
            Of each of the first `trace_events` events: time in ps, slot, and after it the lengths of the local and the remote
            host's queues, as in `QUEUE_NAMES`.
        """
        rows = np.empty((slices + 1, 2, self.row_width), dtype=np.int64)
        latency = np.empty((2, LATENCY_BUCKETS), dtype=np.uint64)
        trace = np.empty((trace_events, 2 + 2 * QUEUES), dtype=np.int64)
        cdef int64_t[:, :, ::1] out = rows
        cdef int64_t[:, ::1] record = trace
        cdef uint64_t[:, ::1] histogram = latency
        cdef int32_t i, b
        with nogil:
            for i in range(self.hosts):
                self._start(<Host>self.host[i])
            self._slices(warmup_ps, out[:1], record, histogram)
            for i in range(self.hosts):
                for b in range(LATENCY_BUCKETS):
                    (<Host>self.host[i]).latency[b] = 0
            self._slices(slice_ps, out[1:], record, histogram)
        return rows, latency, trace[: min(trace_events, self.events)]

    def exchanges(self):
        """What the instances of a closed loop have measured, in their order: see `ExchangeSocket.results`."""
        sockets = [(<Host>host).socket for host in self.cores[0]]
        figures, histogram = (np.concatenate(parts) for parts in zip(*(socket.results() for socket in sockets), strict=True))
        order = figures[:, 0].argsort()
        return figures[order], histogram[order]

    def extend(self, int64_t slice_ps, int slices):
        """Execute further slices after `run`.

        Returns
        -------
        rows : int64 array, shape (slices, 2, n)
            As of `run`, at the end of each further slice.
        latency : uint64 array, shape (2, LATENCY_BUCKETS)
            As of `run`, since the warm-up.
        """
        rows = np.empty((slices, 2, self.row_width), dtype=np.int64)
        latency = np.empty((2, LATENCY_BUCKETS), dtype=np.uint64)
        cdef int64_t[:, :, ::1] out = rows
        cdef int64_t[:, ::1] record = np.empty((0, 2 + 2 * QUEUES), dtype=np.int64)
        cdef uint64_t[:, ::1] histogram = latency
        with nogil:
            self._slices(slice_ps, out, record, histogram)
        return rows, latency
