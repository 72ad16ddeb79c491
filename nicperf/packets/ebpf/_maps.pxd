"""eBPF maps, and the regions of memory that a program may touch.

A program sees 64-bit addresses of its own: the region in the upper half, a place in it in the lower half. They are the same
in every run, which host addresses are not, and a check needs one look into a table.
"""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

cdef enum:                              # enum bpf_map_type of linux/bpf.h
    MAP_HASH = 1
    MAP_ARRAY = 2
    MAP_PROG_ARRAY = 3
    MAP_PERCPU_ARRAY = 6
    MAP_DEVMAP = 14
    MAP_CPUMAP = 16
    MAP_XSKMAP = 17

cdef enum:                              # flags of an update
    MAP_ANY, MAP_NOEXIST, MAP_EXIST

cdef struct region_t:
    uint8_t* base                       # where it lies in this process
    uint32_t start                      # its first place
    uint32_t total_bytes
    uint32_t mask                       # of a place within one value of a map; all ones elsewhere
    uint32_t readable_bytes             # of one value, or of the whole
    uint32_t writable_bytes

cdef struct map_t:
    int32_t kind
    int32_t key_bytes, value_bytes, max_entries
    int32_t slots                       # values that there is memory for
    int32_t shift                       # log2 of the distance between two values
    uint8_t* values
    # Hash only: chains in each bucket, -1 at their end, and a chain of the free slots.
    uint8_t* keys
    int32_t* bucket
    int32_t* follower
    uint32_t bucket_mask
    int32_t free, used


cdef int map_init(map_t* m, int32_t cpus) except -1
cdef int map_copy(map_t* m, const map_t* source) except -1
cdef void map_release(map_t* m) noexcept nogil
cdef int32_t map_find(const map_t* m, const uint8_t* key, int32_t cpu) noexcept nogil
cdef int64_t map_update(map_t* m, const uint8_t* key, const uint8_t* value, uint64_t flags, int32_t cpu) noexcept nogil
cdef int64_t map_delete(map_t* m, const uint8_t* key) noexcept nogil


cdef inline uint8_t* map_value(const map_t* m, int32_t slot) noexcept nogil:
    return m.values + (<int64_t>slot << m.shift)


cdef inline uint8_t* region_at(
    const region_t* g, uint32_t regions, uint64_t address, uint32_t n_bytes, bint writes,
) noexcept nogil:
    """Where an address lies in this process; NULL where the program must not go."""
    cdef uint64_t which = address >> 32
    cdef uint32_t within
    if which >= regions:
        return NULL
    g += which
    within = <uint32_t>address - g.start
    if within >= g.total_bytes or <uint64_t>(within & g.mask) + n_bytes > (g.writable_bytes if writes else g.readable_bytes):
        return NULL
    return g.base + within
