"""Numbers in network byte order: the high byte comes first."""
from libc.stdint cimport uint8_t, uint32_t


cdef inline void fields_put16(uint8_t* at, uint32_t value) noexcept nogil:
    at[0] = <uint8_t>(value >> 8)
    at[1] = <uint8_t>value


cdef inline void fields_put32(uint8_t* at, uint32_t value) noexcept nogil:
    fields_put16(at, value >> 16)
    fields_put16(at + 2, value)


cdef inline uint32_t fields_get16(const uint8_t* at) noexcept nogil:
    return <uint32_t>at[0] << 8 | at[1]


cdef inline uint32_t fields_get32(const uint8_t* at) noexcept nogil:
    return fields_get16(at) << 16 | fields_get16(at + 2)
