"""Calls from a program into the kernel."""
from libc.stdint cimport int32_t, int64_t, uint64_t
from nicperf.packets.ebpf._machine cimport machine_t, xdp_buff_t

cdef int32_t helpers_tail(machine_t* m, const uint64_t* r, int32_t pc) noexcept nogil
cdef uint64_t helpers_call(machine_t* m, xdp_buff_t* frame, const uint64_t* r, int64_t helper, int32_t pc) noexcept nogil
