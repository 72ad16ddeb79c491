"""What the kernel offers to XDP programs: maps, time, checksums, room around the frame, redirection."""
from libc.errno cimport EACCES, EINVAL
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memmove, memset
from nicperf.engine._random cimport random_next
from nicperf.packets._checksum cimport checksum_add, checksum_fold
from nicperf.packets.ebpf._machine cimport (
    BROADCAST, FIRST_MAP, HANDLES, NOT_A_MAP, READ, UNKNOWN_HELPER, WRONG_MAP, machine_fail, machine_show, machine_t, xdp_buff_t,
)
from nicperf.packets.ebpf._maps cimport (
    MAP_CPUMAP, MAP_DEVMAP, MAP_PROG_ARRAY, MAP_XSKMAP, map_delete, map_find, map_t, map_update, map_value, region_at,
)

from nicperf.tables import xdp

cdef enum:                              # helpers, by their numbers in linux/bpf.h
    MAP_LOOKUP_ELEM = 1
    MAP_UPDATE_ELEM = 2
    MAP_DELETE_ELEM = 3
    KTIME_GET_NS = 5
    GET_PRANDOM_U32 = 7
    GET_SMP_PROCESSOR_ID = 8
    REDIRECT = 23
    CSUM_DIFF = 28
    XDP_ADJUST_HEAD = 44
    REDIRECT_MAP = 51
    XDP_ADJUST_META = 54
    XDP_ADJUST_TAIL = 65

cdef enum:
    XDP_ABORTED = 0
    XDP_REDIRECT = 4
    FALLBACK_MASK = 3                   # of redirect_map's flags: the verdict where the map has no entry
    BROADCAST_FLAGS = 24                # BPF_F_BROADCAST, BPF_F_EXCLUDE_INGRESS

cdef int32_t FRAME_STRUCT_BYTES = xdp.FRAME_STRUCT_BYTES, TAILROOM_BYTES = xdp.TAILROOM_BYTES
cdef int32_t LARGEST_METADATA_BYTES = xdp.LARGEST_METADATA_BYTES, SMALLEST_FRAME_BYTES = xdp.SMALLEST_FRAME_BYTES


cdef inline uint64_t helpers_fold32(uint64_t total) noexcept nogil:
    """Ones' complement sum of 32-bit words."""
    total = <uint32_t>total + (total >> 32)
    return <uint32_t>total + (total >> 32)


cdef int32_t helpers_map_of(machine_t* m, uint64_t handle, int32_t pc) noexcept nogil:
    """The map that a register names, -1 after a fault."""
    if handle >> 32 != HANDLES or <uint32_t>handle >= <uint32_t>m.maps:
        machine_fail(m, NOT_A_MAP, pc, handle, 0)
        return -1
    return <int32_t>handle


cdef uint8_t* helpers_memory(machine_t* m, uint64_t address, uint32_t n_bytes, int32_t pc) noexcept nogil:
    """What a helper reads, NULL after a fault."""
    cdef uint8_t* at = region_at(m.region, m.regions, address, n_bytes, False)
    if at == NULL:
        machine_fail(m, READ, pc, address, n_bytes)
    return at


cdef int32_t helpers_tail(machine_t* m, const uint64_t* r, int32_t pc) noexcept nogil:
    """Where bpf_tail_call leads, -1 where it goes nowhere."""
    cdef int32_t which = helpers_map_of(m, r[2], pc)
    cdef uint32_t index = <uint32_t>r[3], program
    if which < 0:
        return -1
    if m.map[which].kind != MAP_PROG_ARRAY:
        machine_fail(m, WRONG_MAP, pc, r[2], which)
        return -1
    if index >= <uint32_t>m.map[which].max_entries:
        return -1
    memcpy(&program, map_value(&m.map[which], <int32_t>index), 4)     # position + 1, 0 where empty
    if program == 0 or program > <uint32_t>m.programs:
        return -1
    return m.entry[program - 1]


cdef uint64_t helpers_map(machine_t* m, const uint64_t* r, int64_t helper, int32_t pc) noexcept nogil:
    cdef int32_t which = helpers_map_of(m, r[1], pc), slot
    cdef map_t* t
    cdef uint8_t* key
    cdef uint8_t* value
    m.map_calls += 1
    if which < 0:
        return 0
    t = &m.map[which]
    if t.kind == MAP_PROG_ARRAY:
        machine_fail(m, WRONG_MAP, pc, r[1], which)
        return 0
    key = helpers_memory(m, r[2], t.key_bytes, pc)
    if key == NULL:
        return 0
    if helper == MAP_LOOKUP_ELEM:
        slot = map_find(t, key, m.cpu)
        if slot < 0:
            return 0
        return (<uint64_t>(FIRST_MAP + which) << 32) + (<uint64_t>slot << t.shift)
    if helper == MAP_DELETE_ELEM:
        return <uint64_t>map_delete(t, key)
    value = helpers_memory(m, r[3], t.value_bytes, pc)
    if value == NULL:
        return 0
    return <uint64_t>map_update(t, key, value, r[4], m.cpu)


cdef uint64_t helpers_redirect_map(machine_t* m, const uint64_t* r, int32_t pc) noexcept nogil:
    cdef int32_t which = helpers_map_of(m, r[1], pc)
    cdef uint32_t index = <uint32_t>r[2], target = 0
    cdef map_t* t
    m.map_calls += 1
    if which < 0:
        return 0
    t = &m.map[which]
    if t.kind != MAP_DEVMAP and t.kind != MAP_CPUMAP and t.kind != MAP_XSKMAP:
        machine_fail(m, WRONG_MAP, pc, r[1], which)
        return 0
    if r[3] > FALLBACK_MASK:
        if t.kind == MAP_DEVMAP and r[3] & BROADCAST_FLAGS:
            machine_fail(m, BROADCAST, pc, r[1], which)
        return XDP_ABORTED
    if index < <uint32_t>t.max_entries:
        memcpy(&target, map_value(t, <int32_t>index), 4)
    if target == 0:
        return r[3]
    m.redirect_ifindex = target
    return XDP_REDIRECT


cdef uint64_t helpers_csum_diff(machine_t* m, const uint64_t* r, int32_t pc) noexcept nogil:
    """Ones' complement sum of seed, plus what r3 and r4 name, minus what r1 and r2 name; 16 bits since Linux 6.13."""
    cdef uint32_t from_bytes = <uint32_t>r[2], to_bytes = <uint32_t>r[4]
    cdef uint64_t total = <uint32_t>r[5]
    cdef uint8_t* at
    if to_bytes:
        at = helpers_memory(m, r[3], to_bytes, pc)
        if at == NULL:
            return 0
        total = helpers_fold32(checksum_add(total, at, to_bytes))
    if from_bytes:
        at = helpers_memory(m, r[1], from_bytes, pc)
        if at == NULL:
            return 0
        if to_bytes:
            total = helpers_fold32(total + (~helpers_fold32(checksum_add(0, at, from_bytes)) & 0xFFFFFFFFU))
        else:
            total = ~helpers_fold32(checksum_add(~total & 0xFFFFFFFFU, at, from_bytes)) & 0xFFFFFFFFU
    return checksum_fold(total)


cdef int64_t helpers_adjust_head(machine_t* m, xdp_buff_t* frame, int32_t delta) noexcept nogil:
    cdef int32_t metadata_bytes = frame.data - frame.data_meta
    cdef int64_t data = <int64_t>frame.data + delta
    if data < FRAME_STRUCT_BYTES + metadata_bytes or data > frame.data_end - SMALLEST_FRAME_BYTES:
        return -EINVAL
    memmove(frame.hard_start + frame.data_meta + delta, frame.hard_start + frame.data_meta, metadata_bytes)
    frame.data_meta += delta
    frame.data += delta
    machine_show(m, frame)
    return 0


cdef int64_t helpers_adjust_meta(machine_t* m, xdp_buff_t* frame, int32_t delta) noexcept nogil:
    cdef int64_t meta = <int64_t>frame.data_meta + delta
    if meta < FRAME_STRUCT_BYTES or meta > frame.data:
        return -EINVAL
    if (frame.data - meta) & 3 or frame.data - meta > LARGEST_METADATA_BYTES:
        return -EACCES
    frame.data_meta = <int32_t>meta
    machine_show(m, frame)
    return 0


cdef int64_t helpers_adjust_tail(machine_t* m, xdp_buff_t* frame, int32_t delta) noexcept nogil:
    cdef int64_t end = <int64_t>frame.data_end + delta
    if end > frame.frame_bytes - TAILROOM_BYTES or end < frame.data + SMALLEST_FRAME_BYTES:
        return -EINVAL
    if delta > 0:
        memset(frame.hard_start + frame.data_end, 0, delta)
    frame.data_end = <int32_t>end
    machine_show(m, frame)
    return 0


cdef uint64_t helpers_call(machine_t* m, xdp_buff_t* frame, const uint64_t* r, int64_t helper, int32_t pc) noexcept nogil:
    """What a helper returns in r0."""
    if MAP_LOOKUP_ELEM <= helper <= MAP_DELETE_ELEM:
        return helpers_map(m, r, helper, pc)
    elif helper == KTIME_GET_NS:
        return <uint64_t>m.now_ns
    elif helper == GET_PRANDOM_U32:
        return <uint32_t>random_next(&m.random)
    elif helper == GET_SMP_PROCESSOR_ID:
        return <uint32_t>m.cpu
    elif helper == CSUM_DIFF:
        return helpers_csum_diff(m, r, pc)
    elif helper == REDIRECT:
        if r[2] != 0:
            return XDP_ABORTED
        m.redirect_ifindex = <uint32_t>r[1]
        return XDP_REDIRECT
    elif helper == REDIRECT_MAP:
        return helpers_redirect_map(m, r, pc)
    elif helper == XDP_ADJUST_HEAD:
        return <uint64_t>helpers_adjust_head(m, frame, <int32_t>r[2])
    elif helper == XDP_ADJUST_META:
        return <uint64_t>helpers_adjust_meta(m, frame, <int32_t>r[2])
    elif helper == XDP_ADJUST_TAIL:
        return <uint64_t>helpers_adjust_tail(m, frame, <int32_t>r[2])
    machine_fail(m, UNKNOWN_HELPER, pc, 0, helper)
    return 0
