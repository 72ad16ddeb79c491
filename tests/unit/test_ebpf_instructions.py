"""Every class of instructions, by values worked out by hand (RFC 9669)."""

import pytest

from nicperf.errors import DataError
from nicperf.packets import ebpf
from nicperf.packets.ebpf import instruction as isa
from nicperf.packets.ebpf.instruction import Instruction, disassemble

from .ebpf_assembler import (
    EXIT,
    alu,
    atomic,
    call,
    copy,
    goto,
    jump,
    load,
    mov,
    number,
    program,
    run,
    store,
    wide,
)

MASK = (1 << 64) - 1
M32 = (1 << 32) - 1

ARITHMETIC = [
    # name, bits, left, right, result
    ("ADD", 64, MASK, 2, 1),
    ("ADD", 32, M32, 2, 1),
    ("SUB", 64, 1, 2, MASK),
    ("SUB", 32, 1, 2, M32),
    ("MUL", 64, 1 << 33, 1 << 32, 0),
    ("MUL", 64, MASK, MASK, 1),
    ("MUL", 32, 1 << 16, 1 << 16, 0),
    ("DIV", 64, MASK, 16, MASK >> 4),
    ("DIV", 64, 5, 0, 0),
    ("DIV", 32, MASK, 2, 0x7FFFFFFF),
    ("DIV", 32, 5, 1 << 32, 0),
    ("MOD", 64, 17, 5, 2),
    ("MOD", 64, MASK, 0, MASK),
    ("MOD", 32, MASK, 0, M32),
    ("MOD", 32, MASK, 16, 15),
    ("OR", 64, 0xF0F0 << 32, 0x0F0F, 0xF0F000000F0F),
    ("OR", 32, 0xF0F0 << 32, 0x0F0F, 0x0F0F),
    ("AND", 64, MASK, 0xFF << 40, 0xFF << 40),
    ("AND", 32, MASK, 0xFF << 40, 0),
    ("XOR", 64, MASK, 1, MASK - 1),
    ("XOR", 32, MASK, 1, M32 - 1),
    ("LSH", 64, 1, 63, 1 << 63),
    ("LSH", 64, 1, 64 + 3, 8),
    ("LSH", 32, 3, 31, 1 << 31),
    ("LSH", 32, 1, 32 + 3, 8),
    ("RSH", 64, 1 << 63, 63, 1),
    ("RSH", 32, MASK, 4, M32 >> 4),
    ("ARSH", 64, 1 << 63, 63, MASK),
    ("ARSH", 32, 1 << 31, 31, M32),
    ("ARSH", 32, 1 << 30, 30, 1),
    ("MOV", 64, 5, MASK, MASK),
    ("MOV", 32, 5, MASK, M32),
]


@pytest.mark.parametrize(("name", "bits", "left", "right", "result"), ARITHMETIC)
def test_arithmetic_of_registers(name: str, bits: int, left: int, right: int, result: int) -> None:
    assert number(wide(0, left), wide(2, right), alu(name, 0, src=2, bits=bits)) == result


@pytest.mark.parametrize(
    ("name", "bits", "left", "imm", "result"),
    [
        ("ADD", 64, 5, -1, 4),
        ("ADD", 32, 5, -6, M32),
        ("AND", 64, MASK, -16, MASK - 15),
        ("AND", 32, MASK, -16, M32 - 15),
        ("OR", 64, 0, -1, MASK),
        ("MOV", 64, 0, -2, MASK - 1),
        ("MOV", 32, 0, -2, M32 - 1),
        ("DIV", 64, MASK, -1, 1),
        ("DIV", 32, MASK, -1, 1),
        ("MOD", 64, 7, 4, 3),
        ("LSH", 64, 1, 40, 1 << 40),
    ],
)
def test_constants_are_signed(name: str, bits: int, left: int, imm: int, result: int) -> None:
    assert number(wide(0, left), alu(name, 0, imm, bits=bits)) == result


@pytest.mark.parametrize(
    ("name", "bits", "left", "right", "result"),
    [
        ("DIV", 64, -7, 2, -3 & MASK),
        ("DIV", 64, 7, -2, -3 & MASK),
        ("DIV", 64, -(1 << 63), -1, 1 << 63),
        ("DIV", 64, -7, 0, 0),
        ("DIV", 32, -7, 2, -3 & M32),
        ("DIV", 32, 1 << 31, -1, 1 << 31),
        ("DIV", 32, -7, 1 << 32, 0),
        ("MOD", 64, -7, 2, -1 & MASK),
        ("MOD", 64, 7, -4, 3),
        ("MOD", 64, -(1 << 63), -1, 0),
        ("MOD", 64, -7, 0, -7 & MASK),
        ("MOD", 32, -7, 4, -3 & M32),
        ("MOD", 32, 1 << 31, -1, 0),
        ("MOD", 32, -7, 0, -7 & M32),
    ],
)
def test_signed_division_rounds_to_zero(name: str, bits: int, left: int, right: int, result: int) -> None:
    assert number(wide(0, left), wide(2, right), alu(name, 0, src=2, off=1, bits=bits)) == result


def test_negation() -> None:
    assert number(mov(0, 5), alu("NEG", 0)) == -5 & MASK
    assert number(mov(0, 5), alu("NEG", 0, bits=32)) == -5 & M32
    assert number(wide(0, 1 << 63), alu("NEG", 0)) == 1 << 63


@pytest.mark.parametrize(
    ("bits", "sign", "result"),
    [
        (64, 8, -0x78 & MASK),
        (64, 16, 0x7788),
        (64, 32, -0x7A998878 & MASK),
        (32, 8, -0x78 & M32),
        (32, 16, 0x7788),
    ],
)
def test_moves_extend_the_sign(bits: int, sign: int, result: int) -> None:
    assert number(wide(2, 0x1122334485667788), alu("MOV", 0, src=2, off=sign, bits=bits)) == result


@pytest.mark.parametrize(
    ("opcode", "bits", "result"),
    [
        (isa.TO_LITTLE, 16, 0x7788),
        (isa.TO_LITTLE, 32, 0x55667788),
        (isa.TO_LITTLE, 64, 0x1122334455667788),
        *((opcode, 16, 0x8877) for opcode in (isa.TO_BIG, isa.SWAP)),
        *((opcode, 32, 0x88776655) for opcode in (isa.TO_BIG, isa.SWAP)),
        *((opcode, 64, 0x8877665544332211) for opcode in (isa.TO_BIG, isa.SWAP)),
    ],
)
def test_byte_order(opcode: int, bits: int, result: int) -> None:
    assert number(wide(0, 0x1122334455667788), Instruction(opcode, 0, imm=bits)) == result


TAKEN = [
    # name, left, right, taken with 64 bits, with 32
    ("JEQ", 1 << 32, 0, False, True),
    ("JNE", 1 << 32, 0, True, False),
    ("JGT", 1 << 32, 1, True, False),
    ("JGT", -1, 1, True, True),
    ("JGE", 7, 7, True, True),
    ("JGE", 6, 7, False, False),
    ("JLT", 1, 1 << 32, True, False),
    ("JLT", 1, -1, True, True),
    ("JLE", 7, 7, True, True),
    ("JLE", 8, 7, False, False),
    ("JSET", 1 << 40, 3 << 40, True, False),
    ("JSET", 4, 3, False, False),
    ("JSGT", 0x80000000, -1, True, False),
    ("JSGT", -1, 0, False, False),
    ("JSGE", -1, -1, True, True),
    ("JSLT", -1, 1, True, True),
    ("JSLT", 0x80000000, 0, False, True),
    ("JSLE", -2, -2, True, True),
    ("JSLE", -1, -2, False, False),
]


@pytest.mark.parametrize("bits", [64, 32])
@pytest.mark.parametrize(("name", "left", "right", "wide_taken", "narrow_taken"), TAKEN)
def test_jumps(name: str, left: int, right: int, wide_taken: bool, narrow_taken: bool, bits: int) -> None:
    taken = wide_taken if bits == 64 else narrow_taken
    test = jump(name, 2, src=3, off=1, bits=bits)
    assert number(wide(2, left), wide(3, right), mov(0, 1), test, mov(0, 0)) == taken
    if -(1 << 31) <= right < 1 << 31:
        test = jump(name, 2, right, off=1, bits=bits)
        assert number(wide(2, left), mov(0, 1), test, mov(0, 0)) == taken


def test_jumps_lead_where_slots_say() -> None:
    """Also backwards, over constants of two slots, and with the long form."""
    assert number(goto(2), wide(0, 1 << 40), mov(0, 3)) == 3
    assert number(Instruction(0x06, imm=2), wide(0, 1 << 40), alu("ADD", 0, 3)) == 3
    count = [mov(0, 0), mov(2, 10), alu("ADD", 0, 7), alu("SUB", 2, 1), jump("JNE", 2, 0, off=-3)]
    assert number(*count) == 70


WORD = 0xF1E2D3C4B5A69788


@pytest.mark.parametrize(
    ("n_bytes", "signed", "result"),
    [
        (1, False, 0x88),
        (2, False, 0x9788),
        (4, False, 0xB5A69788),
        (8, False, WORD),
        (1, True, -0x78 & MASK),
        (2, True, -0x6878 & MASK),
        (4, True, 0xFFFFFFFFB5A69788),
    ],
)
def test_loads(n_bytes: int, signed: bool, result: int) -> None:
    code = [wide(2, WORD), store(8, 10, -8, src=2), load(n_bytes, 0, 10, -8, signed=signed)]
    assert number(*code) == result


@pytest.mark.parametrize(("n_bytes", "result"), [(1, 0xFE), (2, 0xFFFE), (4, 0xFFFFFFFE), (8, MASK - 1)])
def test_stores(n_bytes: int, result: int) -> None:
    clear = store(8, 10, -8, imm=0)
    assert number(clear, store(n_bytes, 10, -8, imm=-2), load(8, 0, 10, -8)) == result
    assert number(clear, mov(2, -2), store(n_bytes, 10, -8, src=2), load(8, 0, 10, -8)) == result


ATOMIC = [
    # operation, stored of 12 and 10, fetched
    (0x00, 22, None),
    (0x40, 14, None),
    (0x50, 8, None),
    (0xA0, 6, None),
    (0x01, 22, 12),
    (0x41, 14, 12),
    (0x51, 8, 12),
    (0xA1, 6, 12),
    (0xE1, 10, 12),
]


@pytest.mark.parametrize("n_bytes", [4, 8])
@pytest.mark.parametrize(("operation", "stored", "fetched"), ATOMIC)
def test_atomics(operation: int, stored: int, fetched: int | None, n_bytes: int) -> None:
    high = 7 << 32
    before = [wide(2, high + 12), store(8, 10, -8, src=2), wide(3, 10), atomic(n_bytes, operation, 10, -8, 3)]
    # The upper half of the operand is zero: it clears, or it leaves what is there.
    kept = high if n_bytes == 4 or operation & 0xF0 in (0x00, 0x40, 0xA0) else 0
    expected = kept + stored
    assert number(*before, load(8, 0, 10, -8)) == expected
    got = 10 if fetched is None else fetched + (high if n_bytes == 8 else 0)
    assert number(*before, register=3) == got


@pytest.mark.parametrize("n_bytes", [4, 8])
@pytest.mark.parametrize(("compared", "stored"), [(12, 10), (13, 12)])
def test_compare_and_exchange(compared: int, stored: int, n_bytes: int) -> None:
    before = [
        wide(2, 12),
        store(8, 10, -8, src=2),
        mov(0, compared),
        mov(3, 10),
        atomic(n_bytes, 0xF1, 10, -8, 3),
    ]
    assert number(*before, load(8, 4, 10, -8), register=4) == stored
    assert number(*before) == 12


def test_compare_and_exchange_of_32_bits_ignores_the_upper_half_of_r0() -> None:
    before = [store(8, 10, -8, imm=12), wide(0, (5 << 32) + 12), mov(3, 10), atomic(4, 0xF1, 10, -8, 3)]
    assert number(*before, load(8, 4, 10, -8), register=4) == 10


@pytest.mark.parametrize("n_bytes", [1, 2, 4, 8])
def test_ordered_accesses(n_bytes: int) -> None:
    mask = (1 << 8 * n_bytes) - 1
    code = [wide(2, WORD), store(8, 10, -8, imm=0), atomic(n_bytes, isa.STORE_RELEASE, 10, -8, 2)]
    assert number(*code, load(8, 0, 10, -8)) == WORD & mask
    assert number(*code, atomic(n_bytes, isa.LOAD_ACQUIRE, 0, -8, 10)) == WORD & mask


def test_a_subprogram_has_its_own_stack_and_leaves_r6_to_r9() -> None:
    main = [store(8, 10, -8, imm=1), mov(8, 30), mov(1, 5), call(4), alu("ADD", 0, src=8)]
    main += [load(8, 2, 10, -8), alu("ADD", 0, src=2), EXIT]
    function = [mov(8, 999), store(8, 10, -8, imm=4), load(8, 0, 10, -8), alu("ADD", 0, src=1), EXIT]
    result = run(*main, *function)
    assert (result.value, result.fault) == (5 + 4 + 30 + 1, None)
    assert result.instructions == 13


def test_a_subprogram_may_write_into_its_callers_stack() -> None:
    main = [copy(1, 10), alu("ADD", 1, -16), call(2), load(8, 0, 10, -16), EXIT]
    assert run(*main, store(8, 1, 0, imm=77), EXIT).value == 77


def test_counts() -> None:
    result = run(mov(0, 0), wide(2, 1), goto(0), EXIT)
    assert (result.instructions, result.helper_calls) == (4, 0)
    assert program(mov(0, 2), EXIT).run(bytes(64), repeat=10).instructions == 20


REFUSED = [
    ("unknown", [Instruction(0xFF), EXIT], "instruction 0.*unknown instruction"),
    ("arithmetic", [Instruction(0xE7), EXIT], "unknown instruction"),
    ("sign of a sum", [alu("ADD", 0, 1, off=1), EXIT], "unknown instruction"),
    ("sign of 64 bits", [alu("MOV", 0, src=1, off=64), EXIT], "unknown instruction"),
    ("swap of 24 bits", [Instruction(isa.TO_BIG, imm=24), EXIT], "16, 32 or 64"),
    ("legacy load", [Instruction(0x20), EXIT], "unknown instruction"),
    ("atomic byte", [atomic(1, 0, 10, -8, 0), EXIT], "unknown instruction"),
    ("atomic minus", [atomic(8, 0x10, 10, -8, 0), EXIT], "unknown instruction"),
    ("kernel function", [Instruction(isa.CALL, src=2, imm=1), EXIT], "kernel function is not modelled"),
    ("register", [mov(11, 0), EXIT], "no such register"),
    ("frame pointer", [mov(10, 0), EXIT], "r10 may only be read"),
    ("fetch into r10", [atomic(8, 0x01, 10, -8, 10), EXIT], "r10 may only be read"),
    ("jump out", [goto(5), EXIT], "leads to instruction 6, which is none"),
    ("jump before", [goto(-2), EXIT], "leads to instruction -1"),
    ("jump into a constant", [goto(1), *wide(0, 1), EXIT], "leads to instruction 2"),
    ("half a constant", [*wide(0, 1)[:1], EXIT], "second half"),
    ("constant at the end", wide(0, 1)[:1], "second half"),
    ("no map", [*wide(1, 0, isa.MAP), EXIT], "there are 0 maps"),
    ("no end", [mov(0, 0)], "must end in exit or a jump"),
    ("call at the end", [EXIT, call(-2)], "must end in exit or a jump"),
]


@pytest.mark.parametrize(
    ("slots", "problem"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED]
)
def test_what_is_no_program(slots: list[Instruction], problem: str) -> None:
    with pytest.raises(DataError, match=problem):
        program(*slots)


@pytest.mark.parametrize("code", [b"", bytes(7)])
def test_code_comes_in_slots(code: bytes) -> None:
    with pytest.raises(DataError, match="slots of eight bytes"):
        ebpf.assemble(code)


@pytest.mark.parametrize(
    ("i", "text"),
    [
        (alu("ADD", 1, -5), "r1 += -5"),
        (alu("MOV", 1, src=2, bits=32), "w1 = w2"),
        (alu("DIV", 1, src=2, off=1), "r1 s/= r2"),
        (alu("MOV", 1, src=2, off=8), "r1 = (s8)r2"),
        (alu("NEG", 3), "r3 = -r3"),
        (Instruction(isa.TO_BIG, 4, imm=16), "r4 = be16 r4"),
        (jump("JSGT", 1, 5, off=-3), "if r1 s> 5 goto -3"),
        (jump("JSET", 1, src=2, off=3, bits=32), "if w1 & w2 goto +3"),
        (goto(-1), "goto -1"),
        (Instruction(0x06, imm=70000), "gotol +70000"),
        (load(2, 3, 1, -4), "r3 = *(u16 *)(r1 - 4)"),
        (load(4, 3, 1, 4, signed=True), "r3 = *(s32 *)(r1 + 4)"),
        (store(8, 10, -8, imm=-1), "*(u64 *)(r10 - 8) = -1"),
        (store(1, 10, -8, src=5), "*(u8 *)(r10 - 8) = r5"),
        (atomic(8, 0x00, 1, 8, 2), "lock *(u64 *)(r1 + 8) += r2"),
        (atomic(4, 0x51, 1, 8, 2), "w2 = atomic_fetch_and((u32 *)(r1 + 8), w2)"),
        (atomic(8, 0xE1, 1, 8, 2), "r2 = xchg_64(r1 + 8, r2)"),
        (atomic(4, 0xF1, 1, 8, 2), "w0 = cmpxchg_32(r1 + 8, w0, w2)"),
        (atomic(8, isa.LOAD_ACQUIRE, 1, 8, 2), "r1 = load_acquire((u64 *)(r2 + 8))"),
        (atomic(4, isa.STORE_RELEASE, 1, 8, 2), "store_release((u32 *)(r1 + 8), w2)"),
        (call(-7), "call -7"),
        (EXIT, "exit"),
        (Instruction(0xFF), "unknown ff 00 00 00 00 00 00 00"),
    ],
)
def test_text(i: Instruction, text: str) -> None:
    assert disassemble(i) == text


def test_text_of_constants() -> None:
    assert disassemble(*wide(1, 1 << 40)) == "r1 = 0x10000000000 ll"
    assert disassemble(*wide(1, 2, isa.MAP)) == "r1 = map[2]"
    assert disassemble(*wide(1, 2 + (5 << 32), isa.MAP_VALUE)) == "r1 = map[2][0] + 5"
