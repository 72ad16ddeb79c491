"""Summing memory for the Internet checksum."""
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy


cdef inline uint64_t checksum_word(const uint8_t* data) noexcept nogil:
    cdef uint64_t word
    memcpy(&word, data, 8)              # any alignment; one load
    return word


cdef inline uint64_t checksum_halves(uint64_t word) noexcept nogil:
    return <uint32_t>word + (word >> 32)


cdef uint64_t checksum_add(uint64_t total, const uint8_t* data, int64_t n_bytes) noexcept nogil:
    """Add `n_bytes` to a running sum; an odd byte counts as if a zero followed, so only the last piece may be odd."""
    cdef uint64_t a = 0, b = 0, c = 0, d = 0, carries = 0, word
    cdef int64_t _i
    for _i in range(n_bytes >> 5):      # four chains: each addition waits for the one before it in its own chain only
        word = checksum_word(data)
        a += word
        carries += a < word
        word = checksum_word(data + 8)
        b += word
        carries += b < word
        word = checksum_word(data + 16)
        c += word
        carries += c < word
        word = checksum_word(data + 24)
        d += word
        carries += d < word
        data += 32
    total += checksum_halves(a) + checksum_halves(b) + checksum_halves(c) + checksum_halves(d) + carries
    for _i in range(n_bytes >> 3 & 3):
        total += checksum_halves(checksum_word(data))
        data += 8
    word = 0
    memcpy(&word, data, n_bytes & 7)
    return total + checksum_halves(word)


def checksum(buffer) -> int:
    """Internet checksum of a buffer, as it stands in IPv4, TCP and UDP headers.

    Parameters
    ----------
    buffer : bytes-like
        Any object with a contiguous buffer: bytes, bytearray, memoryview, array. An odd last byte is padded with zero.

    Returns
    -------
    int
        0..65535, to be stored with its high byte first. Over data that hold their own right checksum it is 0.

    Raises
    ------
    TypeError, BufferError
        Not bytes-like, or not contiguous.

    Source
    ------
    RFC 1071, section 1; the example is the one of its section 3.

    Examples
    --------
    >>> hex(checksum(bytes.fromhex("0001 f203 f4f5 f6f7")))
    '0x220d'
    """
    cdef Py_buffer view
    cdef uint16_t folded
    PyObject_GetBuffer(buffer, &view, PyBUF_SIMPLE)
    if view.len < 65536:                # giving up the GIL would cost as much as the sum
        folded = checksum_fold(checksum_add(0, <const uint8_t*>view.buf, view.len))
    else:
        with nogil:
            folded = checksum_fold(checksum_add(0, <const uint8_t*>view.buf, view.len))
    PyBuffer_Release(&view)
    folded = ~folded
    return (<uint8_t*>&folded)[0] << 8 | (<uint8_t*>&folded)[1]
