"""The running kernel runs the same XDP programs over the same frames: verdict, bytes and maps must be equal."""

import os
import random
import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest

from nicperf.packets import ebpf
from nicperf.packets.ebpf import instruction as isa
from nicperf.packets.ebpf._interpreter import Op
from nicperf.packets.ebpf.decode import decode
from nicperf.packets.ebpf.instruction import Instruction, disassemble
from nicperf.packets.ebpf.program import PROGRAMS
from nicperf.tables.xdp import MapType

from . import bpf
from .random_programs import FRAME_BYTES, KEYS, MAPS, Generator, copy, load, mov, store, wide

REASON = bpf.why_not()
pytestmark = pytest.mark.skipif(REASON is not None, reason=str(REASON))

ACCEPTED = 10_000
EXIT = Instruction(isa.EXIT)


@pytest.fixture(scope="module", autouse=True)
def cpu() -> Iterator[int]:
    """One CPU for all runs of the kernel: per-CPU maps show which."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    yield min(allowed)
    os.sched_setaffinity(0, allowed)


# Sample programs -----------------------------------------------------------------------------------------


def frames(seed: int, n: int) -> list[bytes]:
    """Frames with VLAN tags, IPv4, IPv6 and others; some cut short, some with a wrong byte."""
    draw = random.Random(seed)
    out = []
    for _ in range(n):
        tags = b"".join(
            struct.pack(">HH", draw.choice((0x8100, 0x88A8)), draw.randrange(4096))
            for _ in range(draw.choice((0, 0, 1, 2, 3)))
        )
        protocol = draw.choice((6, 17, 17, 1))
        ports = struct.pack(">HH", draw.randrange(65536), draw.choice((53, 80, 443)))
        payload = ports + draw.randbytes(draw.choice((4, 18, 60, 500, 1400)))
        source = bytes((192, 0, 2, draw.randrange(5)))
        kind = draw.choice(("ipv4", "ipv4", "ipv6", "arp"))
        if kind == "ipv4":
            words, fragment = draw.choice((5, 5, 6)), draw.choice((0, 0, 0x4000, 185))
            head = struct.pack(
                ">BBHHHBBH", 0x40 | words, 0, 4 * words + len(payload), 1, fragment, 64, protocol, 0
            )
            payload = b"\x08\x00" + head + source + bytes((192, 0, 2, 9)) + bytes(4 * words - 20) + payload
        elif kind == "ipv6":
            payload = (
                b"\x86\xdd"
                + struct.pack(">IHBB", 6 << 28, len(payload), protocol, 64)
                + draw.randbytes(32)
                + payload
            )
        else:
            payload = b"\x08\x06" + payload
        frame = bytearray(bytes((2, 0, 0, 0, 0, draw.randrange(8))) + draw.randbytes(6) + tags + payload)
        if draw.random() < 0.1:
            frame[draw.randrange(len(frame))] ^= 1 << draw.randrange(8)
        out.append(bytes(frame[: draw.randint(14, 60)] if draw.random() < 0.2 else frame))
    return out


def prepared(name: str) -> ebpf.Object:
    """A sample; time runs in the kernel, so the window of `rate` is made to last."""
    source = ebpf.load(PROGRAMS / f"{name}.o")
    if name != "rate":
        return source
    assert [m.content for m in source.maps if m.name == ".rodata"] == [struct.pack("<QQ", 1_000_000, 10)]
    lasting = struct.pack("<QQ", 1 << 62, 10)
    return replace(
        source, maps=tuple(m._replace(content=lasting) if m.name == ".rodata" else m for m in source.maps)
    )


ENTRIES = {("parse", "blocked_ports"): {80: 1}, ("redirect_map", "ports"): {1: 1, 3: 1}}


def contents(name: str, program: ebpf.Program, maps: list[bpf.Map]) -> list[tuple[object, object]]:
    """Pairs that must be equal: what the maps hold here and there."""
    pairs: list[tuple[object, object]] = []
    for spec, theirs in zip(program.source.maps, maps, strict=True):
        for key in program.maps[spec.name]:
            ours = program.maps[spec.name][key]
            if spec.type == MapType.PERCPU_ARRAY:
                ours = b"".join(ours)
            if spec.type == MapType.DEVMAP:
                continue
            skip = 8 if (name, spec.name) == ("rate", "sources") else 0  # when the window began
            pairs.append((ours[skip:], theirs[key][skip:]))
    return pairs


@pytest.mark.parametrize("name", ebpf.samples())
def test_samples(name: str, cpu: int) -> None:
    source = prepared(name)
    maps = [bpf.Map(spec) for spec in source.maps]
    (which,) = source.programs
    ours = ebpf.Program(source, which, cpus=bpf.CPUS)
    for spec, theirs in zip(source.maps, maps, strict=True):
        for key, value in ENTRIES.get((name, spec.name), {}).items():
            ours.maps[spec.name][key] = value
            theirs[key] = value.to_bytes(spec.value_bytes, "little")
    theirs = bpf.Program(source.programs[which].slots, maps, 1 << 20, source.license)
    verdicts = Counter()
    for frame in frames(1, 400):
        result = ours.run(frame, cpu=cpu)
        assert (result.value, result.metadata + result.frame) == theirs.run(frame)
        assert result.fault is None
        verdicts[result.verdict.name] += 1
    for here, there in contents(name, ours, maps):
        assert here == there
    assert len(verdicts) == {"parse": 2, "encapsulate": 2, "rate": 2, "redirect_map": 2}.get(name, 1), (
        verdicts
    )
    for closing in (theirs, *maps):
        closing.close()


# Bare instructions ---------------------------------------------------------------------------------------


def both(slots: list[Instruction], frame: bytes) -> tuple[tuple[int, bytes], tuple[int, bytes]]:
    theirs = bpf.Program(slots)
    ours = ebpf.Program(ebpf.assemble(b"".join(i.pack() for i in slots)), "program").run(frame)
    there = theirs.run(frame)
    theirs.close()
    return (ours.value, ours.metadata + ours.frame), there


@pytest.mark.parametrize(
    ("helper", "delta"),
    [
        *((44, d) for d in (-216, -217, 50, 51, -256)),
        *((65, d) for d in (-50, -51, 0, 1, 3456, 3457)),
        *((54, d) for d in (-4, -3, -216, -220, 4)),
    ],
)
def test_room_around_the_frame(helper: int, delta: int) -> None:
    ours, theirs = both([mov(2, delta), Instruction(isa.CALL, imm=helper), EXIT], bytes(64))
    assert (ours[0], len(ours[1])) == (theirs[0], len(theirs[1]))


@pytest.mark.parametrize("delta", [-184, -185])
def test_room_before_metadata(delta: int) -> None:
    move = [copy(1, 6), mov(2, delta), Instruction(isa.CALL, imm=44), EXIT]
    ours, theirs = both([copy(6, 1), mov(2, -32), Instruction(isa.CALL, imm=54), *move], bytes(64))
    assert (ours[0], len(ours[1])) == (theirs[0], len(theirs[1]))


def test_tail_calls() -> None:
    """A program that counts in the frame and calls itself, until the kernel has enough."""
    spec = ebpf.MapSpec("jumps", MapType.PROG_ARRAY, 4, 4, 2)
    count = [
        load(4, 7, 6, 0),
        load(4, 3, 6, 4),
        copy(2, 7),
        Instruction(0x07, 2, imm=8),
        Instruction(0x2D, 2, 3, 8),
    ]
    count += [load(8, 2, 7, 0), Instruction(0x07, 2, imm=1), store(8, 7, 2, 0)]
    again = [copy(1, 6), *wide(2, 0, isa.MAP), mov(3, 1), Instruction(isa.CALL, imm=12)]
    slots = [copy(6, 1), *count, *again, mov(0, 2), EXIT]
    jumps = bpf.Map(spec)
    theirs = bpf.Program(slots, [jumps], 1 << 16)
    ours = ebpf.Program(ebpf.assemble(b"".join(i.pack() for i in slots), [spec]), "program")
    for here, there in ((None, None), ("program", theirs.fd.to_bytes(4, "little"))):
        if here is not None and there is not None:
            ours.maps["jumps"][1] = here
            jumps[1] = there
        result = ours.run(bytes(64))
        assert (result.value, result.frame) == theirs.run(bytes(64))
    jumps.pop(1)
    theirs.close()
    jumps.close()


DIVISORS = (0, 1, -1, 2, -2, 3, 1 << 31, -(1 << 31), (1 << 32) - 1, 1 << 63, (1 << 63) - 1)


@pytest.mark.parametrize("kind", [isa.ALU, isa.ALU64])
@pytest.mark.parametrize("operation", [0x30, 0x90])
@pytest.mark.parametrize("signed", [0, 1])
def test_divisions_at_their_edges(kind: int, operation: int, signed: int) -> None:
    for dividend in DIVISORS:
        code = [load(4, 7, 1, 0), load(4, 3, 1, 4), copy(2, 7), Instruction(0x07, 2, imm=8 * len(DIVISORS))]
        code += [mov(0, 0), Instruction(0x2D, 2, 3, 6 * len(DIVISORS))]
        for n, divisor in enumerate(DIVISORS):
            code += [*wide(4, dividend), *wide(5, divisor)]
            code += [Instruction(kind | operation | 8, 4, 5, signed), store(8, 7, 4, 8 * n)]
        ours, theirs = both([*code, EXIT], bytes(128))
        assert ours == theirs


# Random programs -----------------------------------------------------------------------------------------

Sample = tuple[list[Instruction], bytes, tuple[int, bytes]]


@pytest.fixture(scope="module")
def accepted() -> list[Sample]:
    """Programs that the kernel took, each with a frame and what the kernel made of it."""
    generator, draw = Generator(1), random.Random(2)
    maps = [bpf.Map(spec) for spec in MAPS]
    taken, refused = [], 0
    while len(taken) < ACCEPTED:
        slots = generator.program()
        try:
            program = bpf.Program(slots, maps)
        except OSError:
            refused += 1
            assert refused < ACCEPTED / 10
            continue
        maps[0][0] = bytes(MAPS[0].value_bytes)
        for key in KEYS:
            maps[1].pop(key)
        frame = draw.randbytes(FRAME_BYTES)
        taken.append((slots, frame, program.run(frame)))
        program.close()
    for closing in maps:
        closing.close()
    return taken


def outcome(slots: list[Instruction], frame: bytes) -> tuple[int, bytes]:
    code = b"".join(i.pack() for i in slots)
    result = ebpf.Program(ebpf.assemble(code, MAPS), "program").run(frame)
    return result.value, result.metadata + result.frame


def test_random_programs(accepted: list[Sample]) -> None:
    wrong = [slots for slots, frame, expected in accepted if outcome(slots, frame) != expected]
    if wrong:
        shortest = min(wrong, key=len)
        listing = (f"{n}: {disassemble(*shortest[n : n + 2])}" for n in range(len(shortest)))
        pytest.fail(f"{len(wrong)} of {len(accepted)} programs differ, such as\n" + "\n".join(listing))


def test_random_programs_hold_every_operation(accepted: list[Sample]) -> None:
    seen = {op for slots, _, _ in accepted[:1000] for op in decode(slots, len(MAPS), "")[0]["op"].tolist()}
    assert seen == set(Op)


# Each is a mistake that an interpreter could make; r0, r4 and r9 hold no addresses.
ARITHMETIC = {0x00: 0x10, 0x10: 0x00, 0x20: 0x00, 0x30: 0x90, 0x90: 0x30, 0x40: 0xA0, 0x50: 0x40, 0xA0: 0x40}
ARITHMETIC |= {0x60: 0x70, 0x70: 0xC0, 0xC0: 0x70, 0x80: 0xB0}
JUMPS = {0x10: 0x50, 0x20: 0x60, 0x30: 0x70, 0x40: 0x10, 0x50: 0x40, 0x60: 0x20, 0x70: 0x30}
JUMPS |= {0xA0: 0xC0, 0xB0: 0xD0, 0xC0: 0xA0, 0xD0: 0xB0}
MISTAKES = [(kind, wrong, right) for kind in (4, 7) for right, wrong in ARITHMETIC.items()]
MISTAKES += [(kind, wrong, right) for kind in (5, 6) for right, wrong in JUMPS.items()]


@pytest.mark.parametrize(("kind", "wrong", "right"), MISTAKES)
def test_a_mistaken_operation_is_caught(accepted: list[Sample], kind: int, wrong: int, right: int) -> None:
    """Control: programs in which one operation is replaced by a related one throughout."""

    def mistake(i: Instruction) -> Instruction:
        hit = (
            i.kind == kind
            and i.opcode & 0xF0 == right
            and i.dst in (0, 4, 9)
            and not (kind == isa.JMP and not i.src)
        )
        return i._replace(opcode=i.opcode & 0x0F | wrong) if hit and not i.off * (kind in (4, 7)) else i

    assert any(
        outcome([mistake(i) for i in slots], frame) != expected for slots, frame, expected in accepted[:2000]
    )


@pytest.mark.parametrize("wrong", ["sign", "size", "fetch", "order", "width"])
def test_a_mistaken_access_is_caught(accepted: list[Sample], wrong: str) -> None:
    def mistake(i: Instruction) -> Instruction:
        mode, reads = i.opcode & 0xE0, i.kind == isa.LDX
        if wrong == "sign" and reads and mode == isa.MEMSX:
            return i._replace(opcode=i.opcode & 0x1F | isa.MEM)
        if wrong == "size" and reads and mode == isa.MEM and i.opcode & 0x18 == 0x10:
            return i._replace(opcode=i.opcode & 0xE7 | 0x08)
        if wrong == "fetch" and i.kind == isa.STX and mode == isa.ATOMIC and i.imm in isa.FETCHED:
            return i._replace(imm=i.imm & ~isa.FETCH)
        if wrong == "order" and i.opcode == isa.TO_BIG:
            return i._replace(opcode=isa.TO_LITTLE)
        if wrong == "width" and i.opcode == isa.STX | isa.ATOMIC | 0x18:
            return i._replace(opcode=isa.STX | isa.ATOMIC)
        return i

    assert any(
        outcome([mistake(i) for i in slots], frame) != expected for slots, frame, expected in accepted[:2000]
    )
