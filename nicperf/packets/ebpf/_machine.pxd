"""What runs one XDP program: decoded instructions, stack, maps, and what it sees of the frame it works on."""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from nicperf.engine._random cimport random_t
from nicperf.packets.ebpf._maps cimport map_t, region_t

cdef enum:                              # why a run ended in a fault; names in program.py
    NO_FAULT, READ, WRITE, BUDGET, UNKNOWN_HELPER, CALL_DEPTH, NOT_A_MAP, WRONG_MAP, TAIL_CALL, BROADCAST

cdef enum:
    ZERO = 11                           # a register that stays zero: what an operand without a register names
    REGISTERS = 12
    FRAMES = 8                          # main program and calls
    STACK_BYTES = 512                   # of each frame
    # Regions.
    PACKET = 0
    CONTEXT
    STACK
    FIRST_MAP = STACK + FRAMES
    PACKET_AT = 0x10000                 # address of the buffer: it fits the 32 bits that the context has for it
    STACK_AT = 0x1000                   # in its region, where a frame ends and r10 points
    HANDLES = 0x7FFF                    # upper half of what a program holds of a map itself: no region, so no memory

cdef struct insn_t:
    uint16_t op
    uint8_t dst, src
    int32_t off                         # of a store; of a jump, in decoded instructions from the next one
    int64_t imm

cdef struct xdp_md_t:                   # what the program reads, in the order of linux/bpf.h
    uint32_t data, data_end, data_meta, ingress_ifindex, rx_queue_index, egress_ifindex

cdef struct xdp_buff_t:
    uint8_t* hard_start                 # of the buffer
    int32_t frame_bytes                 # its size, the tail that adjust_tail must keep free included
    int32_t data_meta, data, data_end   # offsets; data_meta = data where there is no metadata
    uint32_t ingress_ifindex, rx_queue_index

cdef struct fault_t:
    int32_t kind
    int32_t pc                          # decoded instruction
    uint64_t address
    int64_t n_bytes                     # of the access; the helper or map in question

cdef struct machine_t:
    insn_t* code
    int32_t* entry                      # decoded instruction at which each program starts; a tail call names its position
    region_t* region
    map_t* map
    int32_t programs, maps, regions
    uint8_t stack[FRAMES * STACK_BYTES]
    xdp_md_t context
    random_t random
    # The caller sets these before a run.
    int64_t now_ns
    int64_t budget                      # instructions after which a run ends in a fault
    int32_t cpu
    # A run leaves these.
    uint32_t redirect_ifindex           # 0 where the program named none
    int64_t instructions, helper_calls
    int64_t map_calls                   # those helpers that look a key up, update or delete it
    fault_t fault


cdef inline void machine_open_frame(machine_t* m, int32_t depth) noexcept nogil:
    cdef region_t* g = &m.region[STACK + depth]
    g.total_bytes = g.readable_bytes = g.writable_bytes = STACK_BYTES


cdef inline void machine_show(machine_t* m, const xdp_buff_t* frame) noexcept nogil:
    """Let the program see where the frame lies now."""
    cdef region_t* g = &m.region[PACKET]
    g.start = PACKET_AT + <uint32_t>frame.data_meta
    g.base = frame.hard_start + frame.data_meta
    g.total_bytes = g.readable_bytes = g.writable_bytes = <uint32_t>(frame.data_end - frame.data_meta)
    m.context.data = PACKET_AT + <uint32_t>frame.data
    m.context.data_end = PACKET_AT + <uint32_t>frame.data_end
    m.context.data_meta = PACKET_AT + <uint32_t>frame.data_meta


cdef inline void machine_fail(machine_t* m, int32_t kind, int32_t pc, uint64_t address, int64_t n_bytes) noexcept nogil:
    m.fault.kind = kind
    m.fault.pc = pc
    m.fault.address = address
    m.fault.n_bytes = n_bytes


cdef inline uint64_t machine_stack_top(int32_t depth) noexcept nogil:
    return (<uint64_t>(STACK + depth) << 32) + STACK_AT
