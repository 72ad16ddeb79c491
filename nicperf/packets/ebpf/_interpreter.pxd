"""Decoded instructions, and what runs them."""
from libc.stdint cimport int32_t
from nicperf.packets.ebpf._machine cimport machine_t, xdp_buff_t

cpdef enum Op:                          # decoded: operand b is a register plus a constant, so one form serves both
    ADD64, SUB64, MUL64, DIV64, SDIV64, MOD64, SMOD64, OR64, AND64, XOR64, LSH64, RSH64, ARSH64, NEG64, MOV64
    MOVSX8_64, MOVSX16_64, MOVSX32_64
    ADD32, SUB32, MUL32, DIV32, SDIV32, MOD32, SMOD32, OR32, AND32, XOR32, LSH32, RSH32, ARSH32, NEG32, MOV32
    MOVSX8_32, MOVSX16_32
    SWAP16, SWAP32, SWAP64
    LDX8, LDX16, LDX32, LDX64, LDSX8, LDSX16, LDSX32, STX8, STX16, STX32, STX64, ATOMIC32, ATOMIC64
    JA, JEQ64, JNE64, JGT64, JGE64, JLT64, JLE64, JSET64, JSGT64, JSGE64, JSLT64, JSLE64
    JEQ32, JNE32, JGT32, JGE32, JLT32, JLE32, JSET32, JSGT32, JSGE32, JSLT32, JSLE32
    CALL, HELPER, EXIT


cdef int32_t interpreter_run(machine_t* m, xdp_buff_t* frame) noexcept nogil
