"""The Internet checksum: a ones' complement sum of 16-bit words, kept unfolded in 64 bits until it is stored.

Words are read in the machine's own byte order. That changes the sum's byte order and nothing else (RFC 1071, section
2B), so a folded sum that is stored as it is comes out right on the wire.
"""
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t

cdef uint64_t checksum_add(uint64_t total, const uint8_t* data, int64_t n_bytes) noexcept nogil
cdef uint64_t checksum_copy(uint64_t total, uint8_t* out, const uint8_t* data, int64_t n_bytes) noexcept nogil


cdef inline uint16_t checksum_fold(uint64_t total) noexcept nogil:
    """Add the carries back in until 16 bits are left."""
    total = <uint32_t>total + (total >> 32)
    total = (total & 0xFFFF) + (total >> 16)
    total = (total & 0xFFFF) + (total >> 16)
    total = (total & 0xFFFF) + (total >> 16)
    return <uint16_t>total
