"""From eBPF's slots to what the interpreter runs: dense operations, jump targets resolved, everything checked once."""

from __future__ import annotations

import numpy as np

from nicperf.errors import DataError
from nicperf.packets.ebpf import instruction as isa
from nicperf.packets.ebpf._interpreter import Op
from nicperf.packets.ebpf._xdp import FIRST_MAP_REGION, HANDLE_REGION, INSTRUCTION, NO_REGISTER
from nicperf.packets.ebpf.instruction import Instruction, disassemble

FRAME_POINTER = 10
# 4.1: an offset of 1 makes division and remainder signed, one of 8 to 32 bits makes a move extend the sign.
_SIGNED = {("DIV", 1): "SDIV", ("MOD", 1): "SMOD"}
_MOVES = {8: "MOVSX8_", 16: "MOVSX16_", 32: "MOVSX32_"}

Decoded = tuple[int, int, int, int, int]


def decode(slots: list[Instruction], maps: int, place: str) -> tuple[np.ndarray, list[int]]:
    """Decode one program with its subprograms.

    Parameters
    ----------
    slots : list of Instruction
        Maps are named by position: ``src`` 1 (the map) or 2 (its first value) in a 64-bit constant.
    maps : int
        How many there are.
    place : str
        For errors: file and program.

    Returns
    -------
    code : array of INSTRUCTION, shape (n,)
    slot_of : list of int, length n
        Slot in which each decoded instruction stood.

    Raises
    ------
    DataError
        An instruction that does not exist or is not for XDP, a register or map that does not exist, a jump that leaves the
        program, a program whose end is neither exit nor jump.
    """
    slot_of = [n for n, i in enumerate(slots) if i.opcode or n == 0 or slots[n - 1].opcode != isa.LOAD_64]
    position = {slot: n for n, slot in enumerate(slot_of)}
    rows: list[Decoded] = []
    for n, slot in enumerate(slot_of):
        i = slots[slot]
        following = slots[slot + 1] if slot + 1 < len(slots) else None
        where = f"{place}, instruction {slot}"
        try:
            op, dst, src, off, imm = _operation(i, following, maps)
        except LookupError as error:
            raise DataError(
                str(error.args[0]), place=where, field=disassemble(i, following), cure=_cure(i)
            ) from None
        if op == Op.CALL or op == Op.JA or op.name.startswith("J"):
            target = position.get(slot + 1 + off)
            if target is None:
                raise DataError(
                    f"leads to instruction {slot + 1 + off}, which is none",
                    place=where,
                    field=disassemble(i),
                    cure="compile the program again",
                )
            off = target - n - 1
        rows.append((op, dst, src, off, imm))
    if not rows or rows[-1][0] not in (Op.EXIT, Op.JA):
        raise DataError("a program must end in exit or a jump", place=place, cure="compile the program again")
    return np.array(rows, dtype=INSTRUCTION), slot_of


def _cure(i: Instruction) -> str:
    if i.opcode == isa.CALL:
        return "call helpers by number, and functions of the same object"
    return "compile for -target bpf with -mcpu=v1 to v4"


def _operation(i: Instruction, following: Instruction | None, maps: int) -> tuple[Op, int, int, int, int]:
    """Operation, destination, source, offset and constant; a jump's offset is still in slots."""
    if i.dst > FRAME_POINTER or (i.src > FRAME_POINTER and i.opcode != isa.LOAD_64):
        raise LookupError("there is no such register")
    if i.opcode == isa.LOAD_64:
        return _constant(i, following, maps)
    if i.kind in (isa.ALU, isa.ALU64):
        return _arithmetic(i)
    if i.kind in (isa.JMP, isa.JMP32):
        return _jump(i)
    return _memory(i)


def _writes(i: Instruction, register: int) -> None:
    if register == FRAME_POINTER:
        raise LookupError("r10 may only be read")


def _constant(i: Instruction, following: Instruction | None, maps: int) -> tuple[Op, int, int, int, int]:
    _writes(i, i.dst)
    if following is None or following[:4] != (0, 0, 0, 0):
        raise LookupError("the second half of a 64-bit constant is missing")
    if i.src == 0:
        value = (i.imm & 0xFFFFFFFF) | following.imm << 32
    elif i.src not in (isa.MAP, isa.MAP_VALUE):
        raise LookupError("neither a number nor a map nor a map's value")
    elif not 0 <= i.imm < maps:
        raise LookupError(f"there are {maps} maps")
    elif i.src == isa.MAP:
        value = (HANDLE_REGION << 32) + i.imm
    else:
        value = (FIRST_MAP_REGION + i.imm << 32) + following.imm
    return Op.MOV64, i.dst, NO_REGISTER, 0, value


def _arithmetic(i: Instruction) -> tuple[Op, int, int, int, int]:
    _writes(i, i.dst)
    if i.opcode in (isa.TO_LITTLE, isa.TO_BIG, isa.SWAP):
        if i.imm not in (16, 32, 64) or i.off or i.src:
            raise LookupError("bytes are swapped in 16, 32 or 64 bits")
        if i.opcode != isa.TO_LITTLE:
            return Op[f"SWAP{i.imm}"], i.dst, NO_REGISTER, 0, 0
        # On a little-endian machine only the upper bits go.
        if i.imm == 16:
            return Op.AND64, i.dst, NO_REGISTER, 0, 0xFFFF
        return Op[f"MOV{i.imm}"], i.dst, i.dst, 0, 0
    name = isa.ARITHMETIC.get(i.opcode & 0xF0)
    bits = 64 if i.kind == isa.ALU64 else 32
    if name is None:
        raise LookupError("unknown instruction")
    if i.off:
        if name == "MOV" and i.has_register and i.off in _MOVES and i.off < bits:
            return Op[f"{_MOVES[i.off]}{bits}"], i.dst, i.src, 0, 0
        name = _SIGNED.get((name, i.off))
        if name is None:
            raise LookupError("unknown instruction")
    if (name == "NEG" and i[2:] != (0, 0, 0)) or (i.has_register and (i.imm or name == "NEG")):
        raise LookupError("unknown instruction")
    src = i.src if i.has_register else NO_REGISTER
    return Op[f"{name}{bits}"], i.dst, src, 0, i.imm


def _jump(i: Instruction) -> tuple[Op, int, int, int, int]:
    operation, bits = i.opcode & 0xF0, 64 if i.kind == isa.JMP else 32
    if i.opcode == isa.EXIT:
        return Op.EXIT, 0, NO_REGISTER, 0, 0
    if i.opcode == isa.CALL and i.src == isa.HELPER:
        return Op.HELPER, 0, NO_REGISTER, 0, i.imm
    if i.opcode == isa.CALL and i.src == isa.SUBPROGRAM:
        return Op.CALL, 0, NO_REGISTER, i.imm, 0
    if i.opcode == isa.CALL:
        raise LookupError("a call of a kernel function is not modelled")
    if operation == 0 and not i.has_register:
        return Op.JA, 0, NO_REGISTER, i.off if bits == 64 else i.imm, 0
    name = isa.JUMPS.get(operation)
    if name is None or (i.has_register and i.imm):
        raise LookupError("unknown instruction")
    return Op[f"{name}{bits}"], i.dst, i.src if i.has_register else NO_REGISTER, i.off, i.imm


def _memory(i: Instruction) -> tuple[Op, int, int, int, int]:
    mode, n_bytes = i.opcode & 0xE0, isa.SIZE[i.opcode & 0x18]
    acquire = i.kind == isa.STX and mode == isa.ATOMIC and i.imm == isa.LOAD_ACQUIRE
    if acquire or (
        i.kind == isa.LDX and mode in (isa.MEM, isa.MEMSX) and not (mode == isa.MEMSX and n_bytes == 8)
    ):
        _writes(i, i.dst)
        name = "LDSX" if mode == isa.MEMSX else "LDX"
        return Op[f"{name}{8 * n_bytes}"], i.dst, i.src, 0, i.off
    if i.kind == isa.ST and mode == isa.MEM:
        return Op[f"STX{8 * n_bytes}"], i.dst, NO_REGISTER, i.off, i.imm
    if i.kind == isa.STX and (mode == isa.MEM or (mode == isa.ATOMIC and i.imm == isa.STORE_RELEASE)):
        return Op[f"STX{8 * n_bytes}"], i.dst, i.src, i.off, 0
    if (
        i.kind == isa.STX
        and mode == isa.ATOMIC
        and n_bytes >= 4
        and (i.imm in isa.ATOMICS or i.imm in isa.FETCHED)
    ):
        if i.imm & isa.FETCH and i.imm != 0xF1:
            _writes(i, i.src)
        return Op[f"ATOMIC{8 * n_bytes}"], i.dst, i.src, i.off, i.imm
    raise LookupError("unknown instruction")
