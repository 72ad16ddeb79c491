"""Copies between a hot user buffer and kernel memory, by where the kernel's lines are; the device that reads and writes them.

Each level is replaced first in, first out: a line is there as long as fewer lines came into the level after it than the level
holds. So one number per line and level tells where a line is. The level that holds an application beside the copies gives up
its lines in proportion to their share.
"""
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport calloc, free

cdef enum:
    COPIES_LAST = 2                     # levels L1, L2, L3, the last one holding what the others hold; then DRAM
    COPIES_DRAM, COPIES_LEVELS
    COPIES_LINE_BYTES = 64
    COPIES_PLAIN_BYTES = 7              # calls up to here make no non-temporal store
    COPIES_PENALTY_BYTES = 16384        # of the published measurement: both readings agree there

cdef struct copies_params_t:
    bint nocache
    bint ddio
    bint snoop_drops                    # a dirty line that the device has read is gone, not clean
    int64_t lines[COPIES_DRAM]          # capacity by level
    double write_byte_ps[COPIES_LEVELS]
    double read_byte_ps[COPIES_LEVELS]
    double cached_call_ps, nocache_call_ps, nocache_byte_ps, split_line_ps, idle_fence_ps
    double dma_cache_ps, dma_memory_ps, dma_writeback_ps
    double application_lines            # its working set
    int32_t entry_lines                 # that one record stands for: 1, or more where time counts
    int32_t application_level           # the smallest that holds it; COPIES_DRAM = none does, or there is none
    double application_miss_ps

cdef struct copies_stats_t:             # names in copies.py, in this order
    int64_t cached_calls, nocache_calls, read_calls
    int64_t write_bytes[COPIES_LEVELS]  # through the caches, by where the line was
    int64_t nocache_bytes
    int64_t read_bytes[COPIES_LEVELS]
    int64_t owned_lines                 # read from memory to be written in part or whole
    int64_t dirtied_lines               # clean or absent before
    int64_t writeback_lines             # fell out dirty; counted when somebody comes back to them
    int64_t displaced_lines             # found cached by a non-temporal store; of these dirty:
    int64_t displaced_dirty_lines
    int64_t partial_lines               # flushed from a write-combining buffer that was not full
    int64_t split_lines                 # of these, begun by the call before
    int64_t fences, idle_fences
    int64_t dma_cache_lines, dma_memory_lines           # read by the device
    int64_t dma_writeback_lines         # of these, dirty without DDIO
    int64_t dma_invalidated_lines, dma_allocated_lines  # written by the device
    int64_t dma_overwritten_lines       # of these, dirty before
    int64_t application_accesses, application_misses, application_evictions

cdef struct copies_line_t:
    int64_t filled[COPIES_DRAM]         # clock of the level when the line came in; 0 = not there
    bint dirty

cdef struct copies_state_t:
    copies_line_t* line
    int64_t clock[COPIES_DRAM]          # lines that came in, ahead by the capacity so that 0 is always too old
    double application_resident         # lines
    double application_missed, application_evicted, application_unbooked


cdef inline int copies_configure(copies_params_t* p, object spec, double frequency_mhz) except -1:
    """Fill in from a `Copies`; cycles become picoseconds of this clock."""
    cdef double cycle_ps = 1e6 / frequency_mhz
    cdef int32_t k
    p.nocache = spec.mode == "nocache"
    p.ddio = spec.ddio
    p.snoop_drops = spec.snooped_line == "invalid"
    sizes = (spec.l1_bytes, spec.l2_bytes, spec.l3_bytes)
    writes = (spec.cached_l1_cycles_per_byte, spec.cached_l2_cycles_per_byte, spec.cached_l3_cycles_per_byte,
              spec.cached_dram_cycles_per_byte)
    for k in range(COPIES_DRAM):
        p.lines[k] = sizes[k] // COPIES_LINE_BYTES
    for k in range(COPIES_LEVELS):
        p.write_byte_ps[k] = p.read_byte_ps[k] = writes[k] * cycle_ps
    p.read_byte_ps[COPIES_DRAM] = spec.read_dram_cycles_per_byte * cycle_ps
    p.cached_call_ps = spec.cached_call_cycles * cycle_ps
    p.idle_fence_ps = spec.idle_fence_cycles * cycle_ps
    p.nocache_byte_ps = spec.nocache_cycles_per_byte * cycle_ps
    if spec.penalty_reading == "per_call":
        p.nocache_call_ps = spec.nocache_penalty_cycles * cycle_ps
    else:
        p.nocache_call_ps = 0
        p.nocache_byte_ps += spec.nocache_penalty_cycles * cycle_ps / COPIES_PENALTY_BYTES
    p.split_line_ps = spec.split_line_cycles * cycle_ps
    p.dma_cache_ps = spec.dma_cache_ns * 1e3
    p.dma_memory_ps = spec.dma_memory_ns * 1e3
    p.dma_writeback_ps = spec.dma_writeback_ns * 1e3
    p.application_lines = spec.application_bytes / <double>COPIES_LINE_BYTES
    p.application_miss_ps = spec.application_miss_cycles * cycle_ps
    p.application_level = 0
    while p.application_level < COPIES_DRAM and p.application_lines > p.lines[p.application_level]:
        p.application_level += 1
    if spec.application_bytes == 0:
        p.application_level = COPIES_DRAM
    p.entry_lines = 1
    return 0


cdef inline void copies_coarsen(copies_params_t* p, int32_t lines) noexcept nogil:
    """Keep one record for so many lines in a row, as if they came and went together. After `copies_configure`."""
    cdef int32_t k
    p.entry_lines = lines
    for k in range(COPIES_DRAM):
        p.lines[k] = max(p.lines[k] // lines, 1)


cdef inline int copies_init(copies_state_t* s, const copies_params_t* p, int64_t address_bytes) noexcept nogil:
    """Nothing cached but the application. Addresses run from 0 up to `address_bytes`. -1 without memory; `copies_destroy` in
    any case."""
    cdef int32_t k
    for k in range(COPIES_DRAM):
        s.clock[k] = p.lines[k]
    s.application_resident = p.application_lines
    s.application_missed = s.application_evicted = s.application_unbooked = 0
    s.line = <copies_line_t*>calloc(address_bytes // (COPIES_LINE_BYTES * p.entry_lines) + 1, sizeof(copies_line_t))
    return -1 if s.line == NULL else 0


cdef inline void copies_destroy(copies_state_t* s) noexcept nogil:
    free(s.line)


cdef inline int32_t copies_level(const copies_params_t* p, const copies_state_t* s, const copies_line_t* line) noexcept nogil:
    """Where a line is. What the last level has dropped, the others have dropped too."""
    cdef int32_t k
    if s.clock[COPIES_LAST] - line.filled[COPIES_LAST] >= p.lines[COPIES_LAST]:
        return COPIES_DRAM
    for k in range(COPIES_LAST):
        if s.clock[k] - line.filled[k] < p.lines[k]:
            return k
    return COPIES_LAST


cdef inline void copies_forget(copies_line_t* line) noexcept nogil:
    cdef int32_t k
    for k in range(COPIES_DRAM):
        line.filled[k] = 0


cdef inline void copies_evict(const copies_params_t* p, copies_state_t* s, copies_stats_t* st, double fills) noexcept nogil:
    """Lines of the application that make room for others: any line of the level is as likely to go."""
    cdef double lost = fills * s.application_resident / (p.lines[p.application_level] * p.entry_lines)
    s.application_resident -= lost
    s.application_evicted += lost
    st.application_evictions = <int64_t>s.application_evicted


cdef inline int32_t copies_touch(const copies_params_t* p, copies_state_t* s, copies_stats_t* st,
                                 copies_line_t* line) noexcept nogil:
    """The CPU brings a line into L1; where it was."""
    cdef int32_t level = copies_level(p, s, line), k
    for k in range(level):
        s.clock[k] += 1
        line.filled[k] = s.clock[k]
        if k == p.application_level:
            copies_evict(p, s, st, p.entry_lines)
    if level == COPIES_DRAM and line.dirty:
        st.writeback_lines += p.entry_lines
        line.dirty = 0
    return level


cdef inline int64_t copies_cached_ps(const copies_params_t* p, copies_state_t* s, copies_stats_t* st, int64_t address,
                                     int32_t n_bytes, bint is_write) noexcept nogil:
    cdef int64_t end = address + n_bytes, next_line, entry_bytes = COPIES_LINE_BYTES * p.entry_lines
    cdef int64_t* by_level = &st.write_bytes[0] if is_write else &st.read_bytes[0]
    cdef double ps = p.cached_call_ps
    cdef copies_line_t* line
    cdef int32_t level
    while address < end:
        line = &s.line[address // entry_bytes]
        level = copies_touch(p, s, st, line)
        next_line = min((address // entry_bytes + 1) * entry_bytes, end)
        by_level[level] += next_line - address
        ps += (next_line - address) * (p.write_byte_ps[level] if is_write else p.read_byte_ps[level])
        if is_write:
            st.owned_lines += p.entry_lines * (level == COPIES_DRAM)
            st.dirtied_lines += p.entry_lines * (not line.dirty)
            line.dirty = 1
        address = next_line
    return <int64_t>(ps + 0.5)


cdef inline int64_t copies_write_ps(const copies_params_t* p, copies_state_t* s, copies_stats_t* st, int64_t address,
                                    int32_t n_bytes) noexcept nogil:
    """One copy call from the user into kernel memory: the CPU time it takes."""
    cdef int64_t i, end = address + n_bytes, first = address // COPIES_LINE_BYTES, last = (end - 1) // COPIES_LINE_BYTES
    cdef bint splits = address % COPIES_LINE_BYTES != 0
    cdef copies_line_t* line
    if not p.nocache:
        st.cached_calls += 1
        return copies_cached_ps(p, s, st, address, n_bytes, True)
    st.nocache_calls += 1
    st.fences += 1
    if n_bytes <= COPIES_PLAIN_BYTES:
        st.idle_fences += 1
        return copies_cached_ps(p, s, st, address, n_bytes, True) + <int64_t>(p.idle_fence_ps + 0.5)
    for i in range(first // p.entry_lines, last // p.entry_lines + 1):
        line = &s.line[i]
        if copies_level(p, s, line) < COPIES_DRAM:
            st.displaced_lines += p.entry_lines
            st.displaced_dirty_lines += p.entry_lines * line.dirty
        else:
            st.writeback_lines += p.entry_lines * line.dirty
        line.dirty = 0
        copies_forget(line)
    st.partial_lines += min(splits + (end % COPIES_LINE_BYTES != 0), last - first + 1)
    st.split_lines += splits
    st.nocache_bytes += n_bytes
    return <int64_t>(p.nocache_call_ps + n_bytes * p.nocache_byte_ps + splits * p.split_line_ps + 0.5)


cdef inline int64_t copies_read_ps(const copies_params_t* p, copies_state_t* s, copies_stats_t* st, int64_t address,
                                   int32_t n_bytes) noexcept nogil:
    """One copy call from kernel memory to the user: the CPU time it takes."""
    st.read_calls += 1
    return copies_cached_ps(p, s, st, address, n_bytes, False)


cdef inline int64_t copies_dma_read_ps(const copies_params_t* p, copies_state_t* s, copies_stats_t* st, int64_t address,
                                       int32_t n_bytes) noexcept nogil:
    """The device reads: how much longer than bus and request take. One latency, that of the farthest line."""
    cdef int64_t i, memory_lines = 0, dirty_lines = 0, entry_bytes = COPIES_LINE_BYTES * p.entry_lines
    cdef copies_line_t* line
    for i in range(address // entry_bytes, (address + n_bytes - 1) // entry_bytes + 1):
        line = &s.line[i]
        if copies_level(p, s, line) == COPIES_DRAM:
            memory_lines += p.entry_lines
            st.writeback_lines += p.entry_lines * line.dirty
            line.dirty = 0
            continue
        st.dma_cache_lines += p.entry_lines
        if line.dirty and not p.ddio:
            dirty_lines += p.entry_lines
            line.dirty = 0
            if p.snoop_drops:
                copies_forget(line)
    st.dma_memory_lines += memory_lines
    st.dma_writeback_lines += dirty_lines
    return <int64_t>((p.dma_memory_ps if memory_lines else p.dma_cache_ps) + dirty_lines * p.dma_writeback_ps + 0.5)


cdef inline void copies_dma_write(const copies_params_t* p, copies_state_t* s, copies_stats_t* st, int64_t address,
                                  int32_t n_bytes) noexcept nogil:
    """The device writes: to memory, or with DDIO into the last level. A line written in part counts as whole."""
    cdef int64_t i, entry_bytes = COPIES_LINE_BYTES * p.entry_lines
    cdef int32_t level
    cdef copies_line_t* line
    for i in range(address // entry_bytes, (address + n_bytes - 1) // entry_bytes + 1):
        line = &s.line[i]
        level = copies_level(p, s, line)
        if line.dirty and level == COPIES_DRAM:
            st.writeback_lines += p.entry_lines
        elif line.dirty:
            st.dma_overwritten_lines += p.entry_lines
        line.dirty = p.ddio
        if not p.ddio:
            copies_forget(line)
            st.dma_invalidated_lines += p.entry_lines * (level < COPIES_DRAM)
            continue
        st.dirtied_lines += p.entry_lines
        line.filled[0] = line.filled[1] = 0
        if level == COPIES_DRAM:
            st.dma_allocated_lines += p.entry_lines
            s.clock[COPIES_LAST] += 1
            line.filled[COPIES_LAST] = s.clock[COPIES_LAST]
            if p.application_level == COPIES_LAST:
                copies_evict(p, s, st, p.entry_lines)


cdef inline int64_t copies_application_ps(const copies_params_t* p, copies_state_t* s, copies_stats_t* st,
                                          int32_t accesses) noexcept nogil:
    """So many random accesses of the application: the time that its missing lines add, on average."""
    cdef double misses
    cdef int64_t whole
    st.application_accesses += accesses
    if p.application_level == COPIES_DRAM:
        return 0
    misses = accesses * (1 - s.application_resident / p.application_lines)
    copies_evict(p, s, st, misses)
    s.application_resident = min(s.application_resident + misses, p.application_lines)
    s.application_missed += misses
    s.application_unbooked += misses    # what it fetches ages the lines of the copies
    whole = <int64_t>(s.application_unbooked / p.entry_lines)
    s.application_unbooked -= whole * p.entry_lines
    s.clock[p.application_level] += whole
    st.application_misses = <int64_t>s.application_missed
    return <int64_t>(misses * p.application_miss_ps + 0.5)
