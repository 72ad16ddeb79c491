"""Positions in a descriptor ring."""
from libc.stdint cimport int32_t


cdef inline int32_t ring_next(int32_t i, int32_t size) noexcept nogil:
    return i + 1 if i + 1 < size else 0
