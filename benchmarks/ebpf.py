"""eBPF instructions interpreted per CPU-second: a loop of arithmetic, and sample programs over a frame."""

from __future__ import annotations

import struct
from functools import partial

from benchmarks.measure import Row, interleave, rate
from nicperf.packets import ebpf
from nicperf.packets.ebpf import instruction as isa
from nicperf.packets.ebpf.instruction import Instruction

FRAME = bytes(12) + b"\x08\x00" + struct.pack(">BBHHHBBH8x", 0x45, 0, 46, 1, 0, 64, 17, 0) + bytes(26)


def loop(turns: int) -> ebpf.Program:
    """Six instructions a turn, one after the other dependent."""
    add, copy, xor, shift, jump = 0x07, 0xBF, 0xAF, 0x77, 0x55
    code = [
        Instruction(0xB7, 1, imm=turns),
        Instruction(add, 0, imm=3),
        Instruction(copy, 2, 0),
        Instruction(xor, 0, 2),
        Instruction(shift, 2, imm=3),
        Instruction(add, 1, imm=-1),
        Instruction(jump, 1, off=-6),
        Instruction(isa.EXIT),
    ]
    return ebpf.Program(ebpf.assemble(b"".join(i.pack() for i in code)), "program")


def measure(rounds: int) -> list[Row]:
    """Time everything in the same rounds."""
    programs = {"arithmetic loop": (loop(100_000), 300)}
    programs |= {f"sample {name}": (ebpf.sample(name), 300_000) for name in ("parse", "swap_tx", "drop")}
    counts = {name: program.run(FRAME).instructions for name, (program, _) in programs.items()}
    works = {
        name: rate(partial(program.run, FRAME, repeat=times), times * counts[name])
        for name, (program, times) in programs.items()
    }
    rates = interleave(works, rounds)
    goals = {"arithmetic loop": 100e6, "sample parse": 100e6}
    return [
        Row("eBPF", name, rates[name], "instructions/s", goals.get(name), note=f"{counts[name]:,} a frame")
        for name in programs
    ]
