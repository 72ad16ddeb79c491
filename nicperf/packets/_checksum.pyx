"""Summing memory for the Internet checksum."""
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint64_t


cdef extern from "_checksum.h" nogil:
    ctypedef uint64_t (*checksum_loop_t)(uint64_t total, uint8_t* out, const uint8_t* data, int64_t n_bytes) noexcept
    uint64_t checksum_rest(uint64_t total, const uint8_t* data, int64_t n_bytes)
    checksum_loop_t checksum_add_loop, checksum_copy_loop
    int checksum_choose(int widest)

cdef enum:
    FEW_BYTES = 64                      # headers and the like: done before a loop of vectors has started


cdef uint64_t checksum_add(uint64_t total, const uint8_t* data, int64_t n_bytes) noexcept nogil:
    """Add `n_bytes` to a running sum; an odd byte counts as if a zero followed, so only the last piece may be odd."""
    if n_bytes < FEW_BYTES:
        return checksum_rest(total, data, n_bytes)
    return checksum_add_loop(total, NULL, data, n_bytes)


cdef uint64_t checksum_copy(uint64_t total, uint8_t* out, const uint8_t* data, int64_t n_bytes) noexcept nogil:
    """Copy `n_bytes` to where they do not overlap and add them to a running sum, in one pass."""
    return checksum_copy_loop(total, out, data, n_bytes)


def choose(int widest_bytes=64) -> int:
    """Sum with vectors of at most so many bytes (16, 32 or 64) from now on; returns what this processor made of it."""
    return checksum_choose(widest_bytes)


choose()


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
