"""A Velocity host whose descriptors point at memory with real frames in it."""
from libc.stdint cimport int32_t, uint8_t, uint32_t
from nicperf.drivers._velocity cimport VelocityHost, tx_descriptor_t
from nicperf.packets._wiretap cimport Wiretap
from nicperf.parts._frames cimport frame_t
from nicperf.stack._content cimport content_t

cdef enum:                              # word 1 of a transmit descriptor: what the chip shall complete
    TX_COMMAND_TCP_CHECKSUM = 0x40000
    TX_COMMAND_UDP_CHECKSUM = 0x80000
    TX_COMMAND_IPV4_CHECKSUM = 0x100000

cdef enum:                              # word 1 of a receive descriptor: what the chip found
    RX_UDP = 0x10000
    RX_TCP = 0x20000
    RX_IPV4 = 0x40000
    RX_FRAGMENT = 0x100000
    RX_TRANSPORT_GOOD = 0x200000
    RX_IPV4_GOOD = 0x400000


cdef class VelocityBytesHost(VelocityHost):
    cdef Wiretap wire
    cdef bint is_local
    cdef content_t content
    cdef uint8_t* memory                # what descriptors address: frames to send, then receive buffers
    cdef uint32_t* rx_data              # address of each received frame, by its index
    cdef uint8_t* rx_vouched            # whether the driver told the stack that its checksum is good
    cdef int32_t rx_fresh               # receive buffer that was allocated last

    cdef uint32_t rx_allocate(self) noexcept nogil
    cdef void fill(self, tx_descriptor_t* d, const frame_t* f) noexcept nogil
    cdef void fetch(self) noexcept nogil
    cdef void deliver(self) noexcept nogil
    cdef bint vouches(self, uint32_t found) noexcept nogil


cdef int velocity_bytes_connect(
    VelocityBytesHost local, VelocityBytesHost remote, Wiretap wire, bint tcp) except -1
