"""Parallel PCI: clocks per transaction. Who waits for whom is decided by the DMA engine and the CPU that share it."""
from libc.stdint cimport int32_t, int64_t

cdef enum:                              # who used the bus; names in bus.py
    BUS_TX_DESCRIPTOR, BUS_TX_DATA, BUS_TX_WRITEBACK, BUS_RX_DESCRIPTOR, BUS_RX_DATA, BUS_RX_WRITEBACK
    BUS_MMIO_READ, BUS_MMIO_WRITE
    BUS_USES

cdef struct bus_params_t:
    double clock_ps
    int32_t width_bytes
    double read_overhead_clocks         # everything of a read burst but its data phases
    double write_overhead_clocks
    int64_t mmio_read_ps                # one register read, all included
    int64_t mmio_write_ps
    int32_t read_limit_bytes            # longest read burst: NIC limit and latency timer
    int32_t write_limit_bytes
    int32_t read_line_bytes             # the bridge ends a read burst at this boundary; 0 = never
    int32_t write_line_bytes

cdef struct bus_stats_t:
    int64_t ps[BUS_USES]
    int64_t transactions[BUS_USES]

cdef struct bus_memo_t:                 # the last move of each use: most frames are alike
    int32_t n_bytes, offset_bytes, bursts
    int64_t ps

cdef struct bus_t:
    bus_params_t p
    bus_stats_t s
    bus_memo_t memo[BUS_USES]


cdef inline int32_t bus_bursts(int32_t n_bytes, int32_t offset_bytes, int32_t limit_bytes, int32_t line_bytes) noexcept nogil:
    """Bursts for `n_bytes` that start `offset_bytes` past a line boundary."""
    cdef int32_t first, rest, tail
    if line_bytes == 0:
        return (n_bytes + limit_bytes - 1) // limit_bytes
    first = line_bytes - offset_bytes
    if first >= n_bytes:
        return (n_bytes + limit_bytes - 1) // limit_bytes
    rest = n_bytes - first
    tail = rest % line_bytes
    return (
        (first + limit_bytes - 1) // limit_bytes
        + (rest // line_bytes) * ((line_bytes + limit_bytes - 1) // limit_bytes)
        + (tail + limit_bytes - 1) // limit_bytes
    )


cdef inline int64_t bus_move(bus_t* b, int32_t use, bint is_read, int32_t n_bytes, int32_t offset_bytes) noexcept nogil:
    """Book one DMA move that starts `offset_bytes` past a 256-byte boundary; return the time it holds the bus."""
    cdef bus_memo_t* m = &b.memo[use]
    cdef int32_t line, limit, words
    cdef double overhead
    if m.n_bytes != n_bytes or m.offset_bytes != offset_bytes:
        if is_read:
            line, limit, overhead = b.p.read_line_bytes, b.p.read_limit_bytes, b.p.read_overhead_clocks
        else:
            line, limit, overhead = b.p.write_line_bytes, b.p.write_limit_bytes, b.p.write_overhead_clocks
        words = (offset_bytes % b.p.width_bytes + n_bytes + b.p.width_bytes - 1) // b.p.width_bytes
        m.n_bytes = n_bytes
        m.offset_bytes = offset_bytes
        m.bursts = bus_bursts(n_bytes, offset_bytes % line if line else 0, limit, line)
        m.ps = <int64_t>((words + m.bursts * overhead) * b.p.clock_ps + 0.5)
    b.s.ps[use] += m.ps
    b.s.transactions[use] += m.bursts
    return m.ps


cdef inline int64_t bus_mmio(bus_t* b, int32_t reads, int32_t writes) noexcept nogil:
    """Book register accesses by the CPU and return the time they hold the bus."""
    cdef int64_t read_ps = reads * b.p.mmio_read_ps
    cdef int64_t write_ps = writes * b.p.mmio_write_ps
    b.s.ps[BUS_MMIO_READ] += read_ps
    b.s.ps[BUS_MMIO_WRITE] += write_ps
    b.s.transactions[BUS_MMIO_READ] += reads
    b.s.transactions[BUS_MMIO_WRITE] += writes
    return read_ps + write_ps
