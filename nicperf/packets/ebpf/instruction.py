"""eBPF instructions as they stand in memory, and their text.

Source: RFC 9669, BPF Instruction Set Architecture; the text is that of llvm-objdump.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

LD, LDX, ST, STX, ALU, JMP, JMP32, ALU64 = range(8)  # 3, table 1: the lowest three bits of an opcode
LOAD_64 = 0x18  # 5.4: a constant of 64 bits in two slots
CALL, EXIT = 0x85, 0x95  # 4.3
TO_LITTLE, TO_BIG, SWAP = 0xD4, 0xDC, 0xD7  # 4.2
MEM, MEMSX, ATOMIC = 0x60, 0x80, 0xC0  # 5, table 9: mode modifiers
SIZE = {0x10: 1, 0x08: 2, 0x00: 4, 0x18: 8}  # 5, table 10: bytes of an access
# 4.3.2 and 5.4: what the source register of a call or of a 64-bit constant says.
HELPER, SUBPROGRAM = 0, 1
MAP, MAP_VALUE = 1, 2

ARITHMETIC = {
    0x00: "ADD",
    0x10: "SUB",
    0x20: "MUL",
    0x30: "DIV",
    0x40: "OR",
    0x50: "AND",
    0x60: "LSH",
    0x70: "RSH",
    0x80: "NEG",
    0x90: "MOD",
    0xA0: "XOR",
    0xB0: "MOV",
    0xC0: "ARSH",
}
JUMPS = {
    0x10: "JEQ",
    0x20: "JGT",
    0x30: "JGE",
    0x40: "JSET",
    0x50: "JNE",
    0x60: "JSGT",
    0x70: "JSGE",
    0xA0: "JLT",
    0xB0: "JLE",
    0xC0: "JSLT",
    0xD0: "JSLE",
}
# 5.3: the immediate of an atomic instruction; the last two are of 2025 and order plain accesses.
ATOMICS = {0x00: "+=", 0x40: "|=", 0x50: "&=", 0xA0: "^=", 0xE1: "xchg", 0xF1: "cmpxchg"}
FETCH = 0x01
LOAD_ACQUIRE, STORE_RELEASE = 0x100, 0x110
FETCHED = {0x01: "add", 0x41: "or", 0x51: "and", 0xA1: "xor"}

_SIGNS = {
    "ADD": "+=",
    "SUB": "-=",
    "MUL": "*=",
    "DIV": "/=",
    "OR": "|=",
    "AND": "&=",
    "LSH": "<<=",
    "RSH": ">>=",
}
_SIGNS |= {"MOD": "%=", "XOR": "^=", "MOV": "=", "ARSH": "s>>="}
_TESTS = {"JEQ": "==", "JGT": ">", "JGE": ">=", "JSET": "&", "JNE": "!=", "JSGT": "s>", "JSGE": "s>="}
_TESTS |= {"JLT": "<", "JLE": "<=", "JSLT": "s<", "JSLE": "s<="}


class Instruction(NamedTuple):
    """One slot of eight bytes."""

    opcode: int
    dst: int = 0
    src: int = 0
    off: int = 0
    imm: int = 0

    @property
    def kind(self) -> int:
        """The instruction class."""
        return self.opcode & 7

    @property
    def has_register(self) -> bool:
        """Whether the second operand is a register: of arithmetic and jumps."""
        return bool(self.opcode & 8)

    def pack(self) -> bytes:
        """The eight bytes, for a little-endian machine."""
        return struct.pack("<BBhi", self.opcode, self.src << 4 | self.dst, self.off, self.imm)


def split(code: bytes) -> list[Instruction]:
    """Slots of a program.

    Parameters
    ----------
    code : bytes
        A multiple of eight.

    Returns
    -------
    list of Instruction
    """
    slots = struct.iter_unpack("<BBhi", code)
    return [Instruction(opcode, regs & 15, regs >> 4, off, imm) for opcode, regs, off, imm in slots]


def disassemble(i: Instruction, following: Instruction | None = None) -> str:
    """Text of one instruction.

    Parameters
    ----------
    i : Instruction
    following : Instruction, optional
        The next slot: the upper half of a 64-bit constant.

    Returns
    -------
    str

    Examples
    --------
    >>> disassemble(Instruction(0x71, dst=0, src=2, off=14))
    'r0 = *(u8 *)(r2 + 14)'
    >>> disassemble(Instruction(0x2D, dst=4, src=3, off=5))
    'if r4 > r3 goto +5'
    """
    wide = i.kind in (ALU64, JMP)
    letter = "r" if wide else "w"
    operand = f"{letter}{i.src}" if i.has_register else f"{i.imm}"
    operation = i.opcode & 0xF0
    if i.opcode == LOAD_64:
        value = (i.imm & 0xFFFFFFFF) | ((following.imm if following else 0) & 0xFFFFFFFF) << 32
        if i.src:
            return f"r{i.dst} = map[{i.imm}]" + (f"[0] + {value >> 32}" if i.src == MAP_VALUE else "")
        return f"r{i.dst} = {value:#x} ll"
    if i.opcode in (TO_LITTLE, TO_BIG, SWAP):
        name = {TO_LITTLE: "le", TO_BIG: "be", SWAP: "bswap"}[i.opcode]
        return f"r{i.dst} = {name}{i.imm} r{i.dst}"
    if i.kind in (ALU, ALU64) and operation in ARITHMETIC:
        name = ARITHMETIC[operation]
        if name == "NEG":
            return f"{letter}{i.dst} = -{letter}{i.dst}"
        if name == "MOV" and i.off:
            return f"{letter}{i.dst} = (s{i.off}){operand}"
        return f"{letter}{i.dst} {'s' if i.off else ''}{_SIGNS[name]} {operand}"
    if i.opcode == CALL:
        return f"call {i.imm}" if i.src == HELPER else f"call {i.imm:+d}"
    if i.opcode == EXIT:
        return "exit"
    if i.kind in (JMP, JMP32):
        if operation == 0:
            return f"goto {i.off:+d}" if wide else f"gotol {i.imm:+d}"
        if operation in JUMPS:
            return f"if {letter}{i.dst} {_TESTS[JUMPS[operation]]} {operand} goto {i.off:+d}"
    if i.kind in (LDX, ST, STX):
        return _memory(i)
    return f"unknown {i.pack().hex(' ')}"


def _memory(i: Instruction) -> str:
    mode = i.opcode & 0xE0
    bits = 8 * SIZE[i.opcode & 0x18]
    base = i.src if i.kind == LDX or (mode == ATOMIC and i.imm == LOAD_ACQUIRE) else i.dst
    place = f"(r{base} {'-' if i.off < 0 else '+'} {abs(i.off)})"
    target = f"*({'s' if mode == MEMSX else 'u'}{bits} *){place}"
    letter = "r" if bits == 64 else "w"
    if mode == ATOMIC and i.kind == STX:
        if i.imm == LOAD_ACQUIRE:
            return f"{letter}{i.dst} = load_acquire({target[1:]})"
        if i.imm == STORE_RELEASE:
            return f"store_release({target[1:]}, {letter}{i.src})"
        pointer = place[1:-1]
        if i.imm == 0xF1:
            return f"{letter}0 = cmpxchg_{bits}({pointer}, {letter}0, {letter}{i.src})"
        if i.imm == 0xE1:
            return f"{letter}{i.src} = xchg_{bits}({pointer}, {letter}{i.src})"
        if i.imm in FETCHED:
            return f"{letter}{i.src} = atomic_fetch_{FETCHED[i.imm]}(({target[2:].split(')')[0]}){place}, {letter}{i.src})"
        return f"lock {target} {ATOMICS.get(i.imm, '?')} {letter}{i.src}"
    if i.kind == LDX:
        return f"r{i.dst} = {target}"
    return f"{target} = {f'r{i.src}' if i.kind == STX else i.imm}"
