"""Random programs that the kernel's verifier accepts, and that show all they computed in the frame.

Registers have fixed duties: r6 the context, r7 the frame, r8 a map's value; all others hold numbers, of which r9 survives
calls. A program ends by storing the numbers, its stack and the map's value into the frame, so that one wrong bit shows.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable

from nicperf.packets.ebpf import MapSpec
from nicperf.packets.ebpf import instruction as isa
from nicperf.packets.ebpf.instruction import Instruction
from nicperf.tables.xdp import MapType

FRAME_BYTES, REACH_BYTES = 512, 256  # of a frame; what a program makes sure of
STACK_BYTES, VALUE_BYTES = 64, 64
VALUES = MapSpec("values", MapType.ARRAY, 4, VALUE_BYTES, 1)
TABLE = MapSpec("table", MapType.HASH, 8, 8, 3)  # smaller than there are keys: it fills
MAPS = (VALUES, TABLE)
KEYS = range(1, 6)
NUMBERS = (0, 1, 2, 3, 4, 5, 9)
SIZES = {1: 0x10, 2: 0x08, 4: 0x00, 8: 0x18}
EXTREMES = (0, 1, -1, 2, 7, 31, 32, 63, 64, 255, 0x7FFFFFFF, -0x80000000, -128, 0x8000, 0xFFFF)
CONTEXT, FRAME, VALUE, STACK = 6, 7, 8, 10
JA, JA_LONG = 0x05, 0x06

# A jump stands with the block it leads to; -1 is the way out.
Code = list[Instruction | tuple[Instruction, int]]


def mov(dst: int, imm: int) -> Instruction:
    return Instruction(0xB7, dst, imm=imm)


def copy(dst: int, src: int) -> Instruction:
    return Instruction(0xBF, dst, src)


def add(dst: int, imm: int) -> Instruction:
    return Instruction(0x07, dst, imm=imm)


def load(n_bytes: int, dst: int, src: int, off: int) -> Instruction:
    return Instruction(isa.LDX | isa.MEM | SIZES[n_bytes], dst, src, off)


def store(n_bytes: int, dst: int, src: int, off: int) -> Instruction:
    return Instruction(isa.STX | isa.MEM | SIZES[n_bytes], dst, src, off)


def wide(dst: int, value: int, src: int = 0) -> list[Instruction]:
    low, high = struct.unpack("<ii", (value & (1 << 64) - 1).to_bytes(8, "little"))
    return [Instruction(isa.LOAD_64, dst, src, imm=low), Instruction(0, imm=high)]


def helper(number: int) -> Instruction:
    return Instruction(isa.CALL, imm=number)


class Generator:
    """Makes one program after the other from a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        frequent = [self.arithmetic] * 12 + [self.loading] * 4 + [self.storing] * 3 + [self.atomic] * 3
        self.blocks: list[Callable[[], Code]] = [
            *frequent,
            self.swap,
            self.constant,
            self.ordered,
            self.anywhere,
            self.context,
            self.lookup,
            *[self.update] * 4,
            self.checksum,
            self.adjust,
            self.call,
        ]

    def program(self) -> list[Instruction]:
        """A whole program with its subprograms."""
        self.functions: list[list[Instruction]] = []
        blocks = [self.begin()]
        blocks += [self.random.choice(self.blocks)() for _ in range(self.random.randint(5, 30))]
        blocks += [self.finish(), [mov(0, 0), Instruction(isa.EXIT)]]
        for n in range(1, len(blocks) - 2):
            if self.random.random() < 0.3:
                blocks[n] = self.jump(self.random.randint(n + 1, len(blocks) - 2)) + blocks[n]
        return self.lay(blocks)

    def lay(self, blocks: list[Code]) -> list[Instruction]:
        """Main program, then the functions; jumps and calls get their distances."""
        every: list[Code] = [*blocks, *self.functions]
        starts = [sum(map(len, every[:n])) for n in range(len(every))]
        out: list[Instruction] = []
        for i in (i for block in every for i in block):
            if not isinstance(i, Instruction):
                i, to = i
                far = starts[to if to >= 0 else len(blocks) - 1] - len(out) - 1
                i = i._replace(imm=far) if i.opcode == JA_LONG else i._replace(off=far)
            elif i.opcode == isa.CALL and i.src == isa.SUBPROGRAM:
                i = i._replace(imm=starts[len(blocks) + i.imm] - len(out) - 1)
            out.append(i)
        return out

    # Pieces --------------------------------------------------------------------------------------------

    def number(self) -> int:
        return self.random.choice(NUMBERS)

    def imm(self) -> int:
        if self.random.random() < 0.5:
            return self.random.choice(EXTREMES)
        return self.random.randint(-(1 << 31), (1 << 31) - 1)

    def fill(self, registers: tuple[int, ...] = (1, 2, 3, 4, 5)) -> list[Instruction]:
        """Numbers out of the frame."""
        return [load(8, r, FRAME, self.random.randrange(REACH_BYTES - 8)) for r in registers]

    def reach(self) -> Code:
        """The frame's address in r7, and enough of it behind; r2 and r3 are used."""
        test = (Instruction(0x2D, 2, 3), -1)  # if r2 > r3
        return [load(4, FRAME, CONTEXT, 0), load(4, 3, CONTEXT, 4), copy(2, FRAME), add(2, REACH_BYTES), test]

    def begin(self) -> Code:
        code: Code = [copy(CONTEXT, 1), *self.reach(), Instruction(0x7A, STACK, 0, -STACK_BYTES - 8, 0)]
        code += [copy(2, STACK), add(2, -STACK_BYTES - 8), *wide(1, 0, isa.MAP), helper(1)]
        code += [(Instruction(0x15, 0), -1), copy(VALUE, 0), *self.fill(NUMBERS)]
        code += [store(8, STACK, self.number(), -at) for at in range(8, STACK_BYTES + 1, 8)]
        return code

    def finish(self) -> Code:
        """All that was computed goes into the frame, eight bytes apart; what is returned is random."""
        code: Code = [store(8, FRAME, r, 8 * n) for n, r in enumerate(NUMBERS)]
        for at in range(0, STACK_BYTES, 8):
            code += [load(8, 1, STACK, at - STACK_BYTES), store(8, FRAME, 1, 64 + at)]
            code += [load(8, 1, VALUE, at), store(8, FRAME, 1, 128 + at)]
        return [*code, copy(0, self.number()), Instruction(isa.EXIT)]

    def jump(self, to: int) -> Code:
        kind = self.random.choice((isa.JMP, isa.JMP32))
        operation = self.random.choice(list(isa.JUMPS))
        by_register = self.random.random() < 0.5
        test = Instruction(kind | operation | by_register * 8, self.number(), self.number() * by_register)
        test = test if by_register else test._replace(imm=self.imm())
        if self.random.random() < 0.7:
            return [(test, to)]
        # A jump that is always taken is itself jumped over, or what it skips could not be reached.
        return [test._replace(off=1), (Instruction(self.random.choice((JA, JA_LONG))), to)]

    def place(self, n_bytes: int, aligned: bool = True) -> tuple[int, int]:
        """Register and offset of memory on the stack, in the map's value or in the frame."""
        base, first, size = self.random.choice(
            ((STACK, -STACK_BYTES, STACK_BYTES), (VALUE, 0, VALUE_BYTES), (FRAME, 0, REACH_BYTES))
        )
        step = n_bytes if base == STACK or aligned else 1
        return base, first + self.random.randrange(0, size - n_bytes + 1, step)

    def number_operation(self, numbers: tuple[int, ...]) -> Instruction:
        """Any arithmetic but swaps."""
        kind = self.random.choice((isa.ALU, isa.ALU64))
        operation = self.random.choice(list(isa.ARITHMETIC))
        name = isa.ARITHMETIC[operation]
        by_register = self.random.random() < 0.5 and name != "NEG"
        dst, src, off, imm = self.random.choice(numbers), 0, 0, 0
        if by_register:
            src = self.random.choice(numbers)
        elif name in ("LSH", "RSH", "ARSH"):
            imm = self.random.randrange(64 if kind == isa.ALU64 else 32)
        elif name != "NEG":
            imm = self.imm()
            imm = imm or 1 if name in ("DIV", "MOD") else imm
        if name in ("DIV", "MOD"):
            off = self.random.randrange(2)
        elif name == "MOV" and by_register:
            off = self.random.choice((0, 8, 16, 32) if kind == isa.ALU64 else (0, 8, 16))
        return Instruction(kind | operation | by_register * 8, dst, src, off, imm)

    # Blocks --------------------------------------------------------------------------------------------

    def arithmetic(self) -> Code:
        return [self.number_operation(NUMBERS)]

    def swap(self) -> Code:
        opcode = self.random.choice((isa.TO_LITTLE, isa.TO_BIG, isa.SWAP))
        return [Instruction(opcode, self.number(), imm=self.random.choice((16, 32, 64)))]

    def constant(self) -> Code:
        return list(wide(self.number(), self.random.randint(-(1 << 63), (1 << 63) - 1)))

    def loading(self) -> Code:
        n_bytes = self.random.choice((1, 2, 4, 8))
        base, off = self.place(n_bytes, aligned=False)
        i = load(n_bytes, self.number(), base, off)
        signed = n_bytes < 8 and self.random.random() < 0.5
        return [i._replace(opcode=isa.LDX | isa.MEMSX | SIZES[n_bytes]) if signed else i]

    def storing(self) -> Code:
        n_bytes = self.random.choice((1, 2, 4, 8))
        base, off = self.place(n_bytes, aligned=False)
        if self.random.random() < 0.5:
            return [store(n_bytes, base, self.number(), off)]
        return [Instruction(isa.ST | isa.MEM | SIZES[n_bytes], base, 0, off, self.imm())]

    def atomic(self) -> Code:
        n_bytes = self.random.choice((4, 8))
        base, off = STACK, -self.random.randrange(n_bytes, STACK_BYTES + 1, n_bytes)
        if self.random.random() < 0.5:
            base, off = VALUE, self.random.randrange(0, VALUE_BYTES, n_bytes)
        imm = self.random.choice([*isa.ATOMICS, *isa.FETCHED])
        code: Code = [Instruction(isa.STX | isa.ATOMIC | SIZES[n_bytes], base, self.number(), off, imm)]
        if imm == 0xF1 and self.random.random() < 0.5:  # let it compare equal
            code.insert(0, load(n_bytes, 0, base, off))
        if base == STACK and imm & isa.FETCH:
            # Kernels without commit 179ee84a8911 (April 2026) forget that the fetched number depends on the stack, and take
            # branches on it for decided that are not. Through a map's value it is any number to the verifier.
            got = 0 if imm == 0xF1 else code[-1].src
            code += [store(8, VALUE, got, 0), load(8, got, VALUE, 0)]
        return code

    def ordered(self) -> Code:
        """A load that acquires or a store that releases."""
        n_bytes = self.random.choice((1, 2, 4, 8))
        base, off = VALUE, self.random.randrange(0, VALUE_BYTES, n_bytes)
        opcode = isa.STX | isa.ATOMIC | SIZES[n_bytes]
        if self.random.random() < 0.5:
            return [Instruction(opcode, self.number(), base, off, isa.LOAD_ACQUIRE)]
        return [Instruction(opcode, base, self.number(), off, isa.STORE_RELEASE)]

    def anywhere(self) -> Code:
        """A load from the frame at a computed offset, which may lie beyond its end."""
        n_bytes = self.random.choice((1, 2, 4, 8))
        code: Code = [copy(5, self.number()), Instruction(0x57, 5, imm=0x3FF), Instruction(0x0F, 5, FRAME)]
        code += [load(4, 4, CONTEXT, 4), copy(3, 5), add(3, n_bytes), Instruction(0x2D, 3, 4, 1)]
        return [*code, load(n_bytes, 9, 5, 0), *self.fill((3, 4, 5))]

    def context(self) -> Code:
        return [load(4, self.number(), CONTEXT, self.random.choice((12, 16)))]

    def key(self) -> Code:
        key = Instruction(0x7A, STACK, 0, -STACK_BYTES - 16, self.random.choice(KEYS))
        return [key, copy(2, STACK), add(2, -STACK_BYTES - 16)]

    def lookup(self) -> Code:
        inside: Code = [load(8, 9, 0, 0), add(9, 1), store(8, 0, 9, 0)]
        skip = Instruction(0x15, 0, off=len(inside))
        return [*self.key(), *self.table(), helper(1), skip, *inside, *self.fill((0, 1, 2, 3, 4, 5))]

    def table(self) -> Code:
        return [Instruction(isa.LOAD_64, 1, isa.MAP, imm=1), Instruction(0)]

    def update(self) -> Code:
        if self.random.random() < 0.3:
            return [*self.key(), *self.table(), helper(3), *self.fill()]
        value: Code = [copy(3, STACK), add(3, -8 * self.random.randint(1, STACK_BYTES // 8))]
        return [*self.key(), *value, mov(4, self.random.randrange(4)), *self.table(), helper(2), *self.fill()]

    def checksum(self) -> Code:
        code: Code = [copy(5, self.number()), mov(1, 0), mov(2, 0), mov(3, 0), mov(4, 0)]
        for pointer, base in ((1, STACK), (3, FRAME)):
            if self.random.random() < 0.7:
                size = self.random.randint(1, STACK_BYTES)
                code += [copy(pointer, base), mov(pointer + 1, size)]
                code += [add(pointer, -STACK_BYTES)] if base == STACK else []
        return [*code, helper(28), *self.fill()]

    def adjust(self) -> Code:
        """Move the frame's head, tail or metadata."""
        number = self.random.choice((44, 54, 65))
        code: Code = [
            copy(1, CONTEXT),
            mov(2, self.random.choice((-300, -232, -64, -20, -4, 0, 4, 3, 16, 64, 5000))),
        ]
        code += [helper(number), copy(9, 0)]
        if number == 44:  # what comes into view must be written, or it is whatever the page held
            code += [*self.reach(), *(Instruction(0x7A, FRAME, 0, at, self.imm()) for at in range(0, 240, 8))]
        elif number == 54:
            code += [
                load(4, 2, CONTEXT, 8),
                copy(3, 2),
                add(3, 4),
                load(4, 4, CONTEXT, 0),
                Instruction(0x2D, 3, 4, 1),
            ]
            code += [Instruction(0x62, 2, 0, 0, self.imm())]
        return [*code, *self.reach(), *self.fill((0, 1, 2, 3, 4, 5))]

    def call(self) -> Code:
        """A function of numbers, which keeps one in a stack frame of its own."""
        inside = (1, 2, 3, 4, 5)
        body = [store(8, STACK, self.random.choice(inside), -8)]
        body += [self.number_operation(inside) for _ in range(self.random.randint(1, 8))]
        body += [
            load(8, 0, STACK, -8),
            Instruction(0x0F, 0, self.random.choice(inside)),
            mov(6, 1),
            mov(9, 2),
        ]
        self.functions.append([*body, Instruction(isa.EXIT)])
        return [Instruction(isa.CALL, 0, isa.SUBPROGRAM, imm=len(self.functions) - 1), *self.fill()]
