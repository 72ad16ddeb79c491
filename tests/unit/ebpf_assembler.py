"""Instructions by short names, for tests that write programs by hand."""

import struct

from nicperf.packets import ebpf
from nicperf.packets.ebpf import instruction as isa
from nicperf.packets.ebpf.instruction import Instruction

OPERATIONS = {name: code for table in (isa.ARITHMETIC, isa.JUMPS) for code, name in table.items()}
SIZES = {1: 0x10, 2: 0x08, 4: 0x00, 8: 0x18}
EXIT = Instruction(isa.EXIT)


def alu(
    name: str, dst: int, imm: int = 0, *, src: int | None = None, off: int = 0, bits: int = 64
) -> Instruction:
    kind = isa.ALU64 if bits == 64 else isa.ALU
    register = 0 if src is None else 8
    return Instruction(kind | OPERATIONS[name] | register, dst, src or 0, off, imm)


def mov(dst: int, imm: int) -> Instruction:
    return alu("MOV", dst, imm)


def copy(dst: int, src: int) -> Instruction:
    return alu("MOV", dst, src=src)


def wide(dst: int, value: int, src: int = 0) -> list[Instruction]:
    low, high = struct.unpack("<ii", (value & (1 << 64) - 1).to_bytes(8, "little"))
    return [Instruction(isa.LOAD_64, dst, src, imm=low), Instruction(0, imm=high)]


def map_address(dst: int, position: int = 0) -> list[Instruction]:
    return wide(dst, position, isa.MAP)


def jump(
    name: str, dst: int, imm: int = 0, *, off: int, src: int | None = None, bits: int = 64
) -> Instruction:
    kind = isa.JMP if bits == 64 else isa.JMP32
    return Instruction(kind | OPERATIONS[name] | (0 if src is None else 8), dst, src or 0, off, imm)


def goto(off: int) -> Instruction:
    return Instruction(0x05, off=off)


def load(n_bytes: int, dst: int, src: int, off: int = 0, *, signed: bool = False) -> Instruction:
    return Instruction(isa.LDX | SIZES[n_bytes] | (isa.MEMSX if signed else isa.MEM), dst, src, off)


def store(n_bytes: int, dst: int, off: int, *, src: int | None = None, imm: int = 0) -> Instruction:
    kind = isa.ST if src is None else isa.STX
    return Instruction(kind | SIZES[n_bytes] | isa.MEM, dst, src or 0, off, imm)


def atomic(n_bytes: int, operation: int, dst: int, off: int, src: int) -> Instruction:
    return Instruction(isa.STX | SIZES[n_bytes] | isa.ATOMIC, dst, src, off, operation)


def helper(number: int) -> Instruction:
    return Instruction(isa.CALL, imm=number)


def call(off: int) -> Instruction:
    return Instruction(isa.CALL, src=isa.SUBPROGRAM, imm=off)


def program(
    *code: Instruction | list[Instruction], maps: tuple[ebpf.MapSpec, ...] = (), **options: int
) -> ebpf.Program:
    slots = [i for part in code for i in ([part] if isinstance(part, Instruction) else part)]
    return ebpf.Program(ebpf.assemble(b"".join(i.pack() for i in slots), maps), "program", **options)


def run(*code: Instruction | list[Instruction], frame: bytes = bytes(64), **options: object) -> ebpf.Result:
    return program(*code, **options).run(frame)


def number(*code: Instruction | list[Instruction], register: int = 0, **options: object) -> int:
    """All 64 bits of a register after the code, which does not use r6 and r7."""
    show = [load(4, 7, 6, 0), store(8, 7, 0, src=register), mov(0, 0), EXIT]
    result = run(copy(6, 1), *code, *show, **options)
    assert result.fault is None, result.fault
    return int.from_bytes(result.frame[:8], "little")
