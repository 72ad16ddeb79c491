"""The interpreter: one dense switch over decoded instructions, every memory access checked."""
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset
from nicperf.packets.ebpf._helpers cimport helpers_call, helpers_tail
from nicperf.packets.ebpf._machine cimport (
    BUDGET, CALL_DEPTH, CONTEXT, FRAMES, NO_FAULT, READ, REGISTERS, STACK, TAIL_CALL, WRITE, insn_t, machine_fail,
    machine_open_frame, machine_show, machine_stack_top, machine_t, xdp_buff_t,
)
from nicperf.packets.ebpf._maps cimport region_at, region_t

cdef enum:                              # atomic operations: the immediate of the instruction
    ATOMIC_ADD = 0x00
    ATOMIC_OR = 0x40
    ATOMIC_AND = 0x50
    ATOMIC_XOR = 0xA0
    ATOMIC_XCHG = 0xE1
    ATOMIC_CMPXCHG = 0xF1
    ATOMIC_FETCH = 0x01

cdef enum:
    XDP_ABORTED = 0
    TAIL_CALL_HELPER = 12               # its number in linux/bpf.h
    TAIL_CALLS = 33                     # MAX_TAIL_CALL_CNT


cdef inline uint64_t interpreter_atomic(int64_t operation, uint64_t old, uint64_t operand) noexcept nogil:
    """What an operation that does not compare stores."""
    operation &= ~ATOMIC_FETCH
    if operation == ATOMIC_ADD:
        return old + operand
    elif operation == ATOMIC_OR:
        return old | operand
    elif operation == ATOMIC_AND:
        return old & operand
    elif operation == ATOMIC_XOR:
        return old ^ operand
    return operand


cdef inline uint32_t interpreter_swap32(uint32_t word) noexcept nogil:
    return word >> 24 | (word >> 8 & 0xFF00U) | (word & 0xFF00U) << 8 | word << 24


cdef int32_t interpreter_run(machine_t* m, xdp_buff_t* frame) noexcept nogil:
    """Run over one frame; returns what the program returns, XDP_ABORTED after a fault."""
    cdef const insn_t* pc
    cdef const insn_t* code = m.code
    cdef const insn_t* i
    cdef const region_t* region = m.region
    cdef uint32_t regions = m.regions
    cdef int64_t left = m.budget
    cdef uint64_t[REGISTERS] r
    cdef uint64_t[FRAMES * 5] saved
    cdef const insn_t* back[FRAMES]
    cdef int32_t depth = 0, op, n_bytes = 0, n, tail_calls = 0
    cdef uint64_t a, b, word
    cdef uint8_t* at
    cdef uint16_t half
    cdef uint32_t quarter

    m.helper_calls = 0
    m.map_calls = 0
    m.redirect_ifindex = 0
    m.fault.kind = NO_FAULT
    m.context.ingress_ifindex = frame.ingress_ifindex
    m.context.rx_queue_index = frame.rx_queue_index
    machine_show(m, frame)
    memset(r, 0, sizeof(r))
    r[1] = <uint64_t>CONTEXT << 32
    r[10] = machine_stack_top(0)
    pc = code + m.entry[0]
    while True:
        i = pc
        pc += 1
        left -= 1
        if left < 0:
            machine_fail(m, BUDGET, <int32_t>(i - code), 0, 0)
            break
        a = r[i.dst]
        b = r[i.src] + <uint64_t>i.imm
        op = i.op
        if op == ADD64:
            r[i.dst] = a + b
        elif op == SUB64:
            r[i.dst] = a - b
        elif op == MUL64:
            r[i.dst] = a * b
        elif op == DIV64:
            r[i.dst] = a // b if b else 0
        elif op == SDIV64:
            if <int64_t>b == -1:    # the smallest number has no opposite: it stays
                r[i.dst] = 0 - a
            else:
                r[i.dst] = <uint64_t>(<int64_t>a // <int64_t>b) if b else 0
        elif op == MOD64:
            r[i.dst] = a % b if b else a
        elif op == SMOD64:
            if <int64_t>b == -1:
                r[i.dst] = 0
            else:
                r[i.dst] = <uint64_t>(<int64_t>a % <int64_t>b) if b else a
        elif op == OR64:
            r[i.dst] = a | b
        elif op == AND64:
            r[i.dst] = a & b
        elif op == XOR64:
            r[i.dst] = a ^ b
        elif op == LSH64:
            r[i.dst] = a << (b & 63)
        elif op == RSH64:
            r[i.dst] = a >> (b & 63)
        elif op == ARSH64:
            r[i.dst] = <uint64_t>(<int64_t>a >> (b & 63))
        elif op == NEG64:
            r[i.dst] = 0 - a
        elif op == MOV64:
            r[i.dst] = b
        elif op == MOVSX8_64:
            r[i.dst] = <uint64_t><int64_t><int8_t>b
        elif op == MOVSX16_64:
            r[i.dst] = <uint64_t><int64_t><int16_t>b
        elif op == MOVSX32_64:
            r[i.dst] = <uint64_t><int64_t><int32_t>b
        elif op == ADD32:
            r[i.dst] = <uint32_t>(a + b)
        elif op == SUB32:
            r[i.dst] = <uint32_t>(a - b)
        elif op == MUL32:
            r[i.dst] = <uint32_t>(a * b)
        elif op == DIV32:
            r[i.dst] = <uint32_t>a // <uint32_t>b if <uint32_t>b else 0
        elif op == SDIV32:
            if <int32_t>b == -1:
                r[i.dst] = <uint32_t>(0 - a)
            else:
                r[i.dst] = <uint32_t>(<int32_t>a // <int32_t>b) if <uint32_t>b else 0
        elif op == MOD32:
            r[i.dst] = <uint32_t>a % <uint32_t>b if <uint32_t>b else <uint32_t>a
        elif op == SMOD32:
            if <int32_t>b == -1:
                r[i.dst] = 0
            else:
                r[i.dst] = <uint32_t>(<int32_t>a % <int32_t>b) if <uint32_t>b else <uint32_t>a
        elif op == OR32:
            r[i.dst] = <uint32_t>(a | b)
        elif op == AND32:
            r[i.dst] = <uint32_t>(a & b)
        elif op == XOR32:
            r[i.dst] = <uint32_t>(a ^ b)
        elif op == LSH32:
            r[i.dst] = <uint32_t>(a << (b & 31))
        elif op == RSH32:
            r[i.dst] = <uint32_t>a >> (b & 31)
        elif op == ARSH32:
            r[i.dst] = <uint32_t>(<int32_t>a >> (b & 31))
        elif op == NEG32:
            r[i.dst] = <uint32_t>(0 - a)
        elif op == MOV32:
            r[i.dst] = <uint32_t>b
        elif op == MOVSX8_32:
            r[i.dst] = <uint32_t><int32_t><int8_t>b
        elif op == MOVSX16_32:
            r[i.dst] = <uint32_t><int32_t><int16_t>b
        elif op == SWAP16:
            r[i.dst] = (a >> 8 & 0xFF) | (a & 0xFF) << 8
        elif op == SWAP32:
            r[i.dst] = interpreter_swap32(<uint32_t>a)
        elif op == SWAP64:
            r[i.dst] = <uint64_t>interpreter_swap32(<uint32_t>a) << 32 | interpreter_swap32(<uint32_t>(a >> 32))

        elif op == LDX8:
            at = region_at(region, regions, b, 1, False)
            if at == NULL:
                machine_fail(m, READ, <int32_t>(i - code), b, 1)
                break
            r[i.dst] = at[0]
        elif op == LDX16:
            at = region_at(region, regions, b, 2, False)
            if at == NULL:
                machine_fail(m, READ, <int32_t>(i - code), b, 2)
                break
            memcpy(&half, at, 2)
            r[i.dst] = half
        elif op == LDX32:
            at = region_at(region, regions, b, 4, False)
            if at == NULL:
                machine_fail(m, READ, <int32_t>(i - code), b, 4)
                break
            memcpy(&quarter, at, 4)
            r[i.dst] = quarter
        elif op == LDX64:
            at = region_at(region, regions, b, 8, False)
            if at == NULL:
                machine_fail(m, READ, <int32_t>(i - code), b, 8)
                break
            memcpy(&r[i.dst], at, 8)
        elif op == LDSX8:
            at = region_at(region, regions, b, 1, False)
            if at == NULL:
                machine_fail(m, READ, <int32_t>(i - code), b, 1)
                break
            r[i.dst] = <uint64_t><int64_t><int8_t>at[0]
        elif op == LDSX16:
            at = region_at(region, regions, b, 2, False)
            if at == NULL:
                machine_fail(m, READ, <int32_t>(i - code), b, 2)
                break
            memcpy(&half, at, 2)
            r[i.dst] = <uint64_t><int64_t><int16_t>half
        elif op == LDSX32:
            at = region_at(region, regions, b, 4, False)
            if at == NULL:
                machine_fail(m, READ, <int32_t>(i - code), b, 4)
                break
            memcpy(&quarter, at, 4)
            r[i.dst] = <uint64_t><int64_t><int32_t>quarter

        elif op == STX8:
            a += <uint64_t><int64_t>i.off
            at = region_at(region, regions, a, 1, True)
            if at == NULL:
                machine_fail(m, WRITE, <int32_t>(i - code), a, 1)
                break
            at[0] = <uint8_t>b
        elif op == STX16:
            a += <uint64_t><int64_t>i.off
            at = region_at(region, regions, a, 2, True)
            if at == NULL:
                machine_fail(m, WRITE, <int32_t>(i - code), a, 2)
                break
            memcpy(at, &b, 2)
        elif op == STX32:
            a += <uint64_t><int64_t>i.off
            at = region_at(region, regions, a, 4, True)
            if at == NULL:
                machine_fail(m, WRITE, <int32_t>(i - code), a, 4)
                break
            memcpy(at, &b, 4)
        elif op == STX64:
            a += <uint64_t><int64_t>i.off
            at = region_at(region, regions, a, 8, True)
            if at == NULL:
                machine_fail(m, WRITE, <int32_t>(i - code), a, 8)
                break
            memcpy(at, &b, 8)
        elif op == ATOMIC32 or op == ATOMIC64:
            n_bytes = 4 if op == ATOMIC32 else 8
            a += <uint64_t><int64_t>i.off
            at = region_at(region, regions, a, n_bytes, True)
            if at == NULL:
                machine_fail(m, WRITE, <int32_t>(i - code), a, n_bytes)
                break
            word = 0
            memcpy(&word, at, n_bytes)
            b = r[i.src]
            if i.imm != ATOMIC_CMPXCHG:
                b = interpreter_atomic(i.imm, word, b)
                memcpy(at, &b, n_bytes)
                if i.imm & ATOMIC_FETCH:
                    r[i.src] = word
            else:
                if word == (<uint32_t>r[0] if op == ATOMIC32 else r[0]):
                    memcpy(at, &b, n_bytes)
                r[0] = word

        elif op == JA:
            pc += i.off
        elif op == JEQ64:
            if a == b:
                pc += i.off
        elif op == JNE64:
            if a != b:
                pc += i.off
        elif op == JGT64:
            if a > b:
                pc += i.off
        elif op == JGE64:
            if a >= b:
                pc += i.off
        elif op == JLT64:
            if a < b:
                pc += i.off
        elif op == JLE64:
            if a <= b:
                pc += i.off
        elif op == JSET64:
            if a & b:
                pc += i.off
        elif op == JSGT64:
            if <int64_t>a > <int64_t>b:
                pc += i.off
        elif op == JSGE64:
            if <int64_t>a >= <int64_t>b:
                pc += i.off
        elif op == JSLT64:
            if <int64_t>a < <int64_t>b:
                pc += i.off
        elif op == JSLE64:
            if <int64_t>a <= <int64_t>b:
                pc += i.off
        elif op == JEQ32:
            if <uint32_t>a == <uint32_t>b:
                pc += i.off
        elif op == JNE32:
            if <uint32_t>a != <uint32_t>b:
                pc += i.off
        elif op == JGT32:
            if <uint32_t>a > <uint32_t>b:
                pc += i.off
        elif op == JGE32:
            if <uint32_t>a >= <uint32_t>b:
                pc += i.off
        elif op == JLT32:
            if <uint32_t>a < <uint32_t>b:
                pc += i.off
        elif op == JLE32:
            if <uint32_t>a <= <uint32_t>b:
                pc += i.off
        elif op == JSET32:
            if <uint32_t>(a & b):
                pc += i.off
        elif op == JSGT32:
            if <int32_t>a > <int32_t>b:
                pc += i.off
        elif op == JSGE32:
            if <int32_t>a >= <int32_t>b:
                pc += i.off
        elif op == JSLT32:
            if <int32_t>a < <int32_t>b:
                pc += i.off
        elif op == JSLE32:
            if <int32_t>a <= <int32_t>b:
                pc += i.off

        elif op == CALL:
            if depth + 1 == FRAMES:
                machine_fail(m, CALL_DEPTH, <int32_t>(i - code), 0, FRAMES)
                break
            for n in range(5):      # r6 to r10 belong to the caller
                saved[depth * 5 + n] = r[6 + n]
            back[depth] = pc
            depth += 1
            machine_open_frame(m, depth)
            r[10] = machine_stack_top(depth)
            pc += i.off
        elif op == HELPER:
            m.helper_calls += 1
            if i.imm == TAIL_CALL_HELPER:
                if depth > 0:
                    machine_fail(m, TAIL_CALL, <int32_t>(i - code), 0, depth)
                    break
                n = helpers_tail(m, r, <int32_t>(i - code))
                if n >= 0 and tail_calls < TAIL_CALLS:
                    tail_calls += 1
                    pc = code + n
            else:
                r[0] = helpers_call(m, frame, r, i.imm, <int32_t>(i - code))
            if m.fault.kind != NO_FAULT:
                break
        elif op == EXIT:
            if depth == 0:
                break
            m.region[STACK + depth].total_bytes = 0
            depth -= 1
            for n in range(5):
                r[6 + n] = saved[depth * 5 + n]
            pc = back[depth]
    m.instructions = m.budget - max(left, 0)
    if m.fault.kind != NO_FAULT:
        for n in range(1, FRAMES):      # only the main program's is left
            m.region[STACK + n].total_bytes = 0
        return XDP_ABORTED
    return <int32_t>r[0]
