"""What the applications send: at every multiple of eight, "nic:" and the low half of the position, high byte first.

So bytes depend on their place, misplaced data cannot go unnoticed, and a hex dump tells where in the stream it is.
The letters keep Wireshark from seeing a known protocol in the numbers.
"""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp
from nicperf.packets._checksum cimport checksum_add

cdef enum:
    PAYLOAD_LETTERS = 0x6E69633A
    PAYLOAD_PIECE_BYTES = 2048          # more than a frame carries


cdef inline uint64_t payload_word(int64_t position) noexcept nogil:
    return <uint64_t>PAYLOAD_LETTERS << 32 | <uint32_t>position


cdef inline uint8_t payload_byte(int64_t position) noexcept nogil:
    return <uint8_t>(payload_word(position & ~7) >> (56 - 8 * (position & 7)))


cdef inline void payload_fill(uint8_t* out, int64_t position, int32_t n_bytes) noexcept nogil:
    """Write the bytes at `position` and after it."""
    cdef int32_t i = 0, j
    while i < n_bytes and (position + i) & 7:
        out[i] = payload_byte(position + i)
        i += 1
    while i + 8 <= n_bytes:             # whole words: most of the time of a bytes run is spent here
        for j in range(8):
            out[i + j] = <uint8_t>(payload_word(position + i) >> (56 - 8 * j))
        i += 8
    while i < n_bytes:
        out[i] = payload_byte(position + i)
        i += 1


cdef inline bint payload_matches(const uint8_t* data, int64_t position, int32_t n_bytes) noexcept nogil:
    """Whether at most `PAYLOAD_PIECE_BYTES` are what `payload_fill` writes."""
    cdef uint8_t expected[PAYLOAD_PIECE_BYTES]
    payload_fill(expected, position, n_bytes)
    return memcmp(data, expected, n_bytes) == 0


cdef inline uint64_t payload_sum(uint64_t total, int64_t position, int32_t n_bytes) noexcept nogil:
    """Add to a checksum what `payload_fill` writes."""
    cdef uint8_t piece[PAYLOAD_PIECE_BYTES]
    cdef int32_t n
    while n_bytes:
        n = min(n_bytes, <int32_t>PAYLOAD_PIECE_BYTES)
        payload_fill(piece, position, n)
        total = checksum_add(total, piece, n)
        position += n
        n_bytes -= n
    return total
