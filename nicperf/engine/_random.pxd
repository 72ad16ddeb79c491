"""Named random streams: splitmix64, one 64-bit state each, seeded from (seed, stream)."""
from libc.stdint cimport uint64_t

cdef struct random_t:
    uint64_t state


cdef inline uint64_t random_next(random_t* r) noexcept nogil:
    cdef uint64_t z
    r.state += <uint64_t>0x9E3779B97F4A7C15ULL
    z = r.state
    z = (z ^ (z >> 30)) * <uint64_t>0xBF58476D1CE4E5B9ULL
    z = (z ^ (z >> 27)) * <uint64_t>0x94D049BB133111EBULL
    return z ^ (z >> 31)


cdef inline void random_init(random_t* r, uint64_t seed, uint64_t stream) noexcept nogil:
    r.state = seed * <uint64_t>0xD1342543DE82EF95ULL + stream
    random_next(r)
