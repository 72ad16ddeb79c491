"""One XDP program with its own maps: set clock and CPU in `m`, run, read verdict, offsets and counts."""
from libc.stdint cimport int32_t
from nicperf.packets.ebpf._machine cimport machine_t, xdp_buff_t


cdef class XdpProgram:
    cdef machine_t m
    cdef tuple arguments

    cdef int32_t run(self, xdp_buff_t* frame) noexcept nogil
