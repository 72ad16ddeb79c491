"""Maps, helpers and faults, called by programs written by hand."""

import random
import re
import threading
from collections import Counter

import pytest

from nicperf.errors import DataError, ScenarioError
from nicperf.packets import checksum, ebpf
from nicperf.packets.ebpf import MapSpec
from nicperf.packets.ebpf import instruction as isa
from nicperf.packets.ebpf.instruction import Instruction
from nicperf.tables.xdp import MapType, Verdict

from .ebpf_assembler import (
    EXIT,
    alu,
    atomic,
    call,
    copy,
    goto,
    helper,
    jump,
    load,
    map_address,
    mov,
    number,
    program,
    run,
    store,
    wide,
)

MASK = (1 << 64) - 1
ARRAY = MapSpec("array", MapType.ARRAY, 4, 8, 4)
HASH = MapSpec("hash", MapType.HASH, 6, 5, 3)
PER_CPU = MapSpec("per_cpu", MapType.PERCPU_ARRAY, 4, 8, 2)
PORTS = MapSpec("ports", MapType.DEVMAP, 4, 4, 8)
JUMPS = MapSpec("jumps", MapType.PROG_ARRAY, 4, 4, 2)
ENOENT, E2BIG, EEXIST, EINVAL = 2, 7, 17, 22
LOOKUP, UPDATE, DELETE, TIME, RANDOM, CPU, TAIL_CALL, REDIRECT, CSUM, HEAD, REDIRECT_MAP, META, TAIL = (
    1,
    2,
    3,
    5,
    7,
    8,
    12,
    23,
    28,
    44,
    51,
    54,
    65,
)


def key(value: int) -> list[Instruction]:
    """A key on the stack, its address in r2."""
    return [*wide(2, value), store(8, 10, -8, src=2), copy(2, 10), alu("ADD", 2, -8)]


def update(k: int, value: int, flags: int = 0) -> list[Instruction]:
    code = [*key(k), *wide(3, value), store(8, 10, -16, src=3), copy(3, 10), alu("ADD", 3, -16)]
    return [*code, mov(4, flags), *map_address(1), helper(UPDATE)]


def lookup(k: int) -> list[Instruction]:
    """The value in r0, 99 where there is none."""
    return [
        *key(k),
        *map_address(1),
        helper(LOOKUP),
        jump("JNE", 0, 0, off=2),
        mov(0, 99),
        goto(1),
        load(4, 0, 0),
    ]


def delete(k: int) -> list[Instruction]:
    return [*key(k), *map_address(1), helper(DELETE)]


# Maps ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "answer"),
    [
        (lookup(1), 0),
        (lookup(4), 99),
        (update(3, 5), 0),
        (update(3, 5) + lookup(3), 5),
        (update(4, 5), -E2BIG),
        (update(1, 5, flags=1), -EEXIST),
        (update(1, 5, flags=2), 0),
        (update(1, 5, flags=3), -EINVAL),
        (delete(1), -EINVAL),
    ],
)
def test_array(code: list[Instruction], answer: int) -> None:
    assert number(*code, maps=(ARRAY,)) == answer & MASK


@pytest.mark.parametrize(
    ("code", "answer"),
    [
        (lookup(1), 99),
        (update(1, 5) + lookup(1), 5),
        (update(1, 5) + update(1, 6) + lookup(1), 6),
        (update(1, 5) + update(1, 6, flags=1), -EEXIST),
        (update(1, 5, flags=2), -ENOENT),
        (update(1, 5) + update(1, 6, flags=2) + lookup(1), 6),
        (update(1, 5, flags=4), -EINVAL),
        (delete(1), -ENOENT),
        (update(1, 5) + delete(1), 0),
        (update(1, 5) + delete(1) + lookup(1), 99),
        (update(1, 5) + update(2, 5) + update(3, 5) + update(4, 5), -E2BIG),
        (update(1, 5) + update(2, 5) + update(3, 5) + update(2, 7) + lookup(2), 7),
        (update(1, 5) + update(2, 5) + update(3, 5) + delete(2) + update(4, 8) + lookup(4), 8),
    ],
)
def test_hash(code: list[Instruction], answer: int) -> None:
    assert number(*code, maps=(HASH,)) == answer & MASK


def test_an_old_value_stays_readable_after_an_update() -> None:
    found = [*update(1, 5), *key(1), *map_address(1), helper(LOOKUP), copy(7, 0)]
    assert number(*found, *update(1, 6), load(4, 0, 7), maps=(HASH,)) == 5


def test_hash_against_a_dict() -> None:
    """Many keys come and go; the answers are those of a dict."""
    p = program(mov(0, 0), EXIT, maps=(HASH._replace(max_entries=50),))
    table, model = p.maps["hash"], {}
    for n in range(2000):
        k = n * n % 97
        if n % 3 == 2:
            if k in model:
                del table[k]
                del model[k]
            else:
                with pytest.raises(KeyError):
                    del table[k]
        elif k in model or len(model) < 50:
            table[k] = model[k] = n
        else:
            with pytest.raises(ScenarioError, match="Argument list too long"):
                table[k] = n
        assert len(table) == len(model)
    assert {int.from_bytes(k, "little"): table.number(k) for k in table} == model


def test_per_cpu_values_are_apart() -> None:
    found = [*key(1), *map_address(1), helper(LOOKUP), load(8, 2, 0), alu("ADD", 2, 1), store(8, 0, 0, src=2)]
    p = program(*found, mov(0, 2), EXIT, maps=(PER_CPU,), cpus=3)
    for cpu in (0, 2, 2):
        assert p.run(bytes(64), cpu=cpu).value == 2
    assert p.maps["per_cpu"][1] == tuple(n.to_bytes(8, "little") for n in (1, 0, 2))
    assert (p.maps["per_cpu"].number(1), p.maps["per_cpu"].number(0)) == (3, 0)
    p.maps["per_cpu"][1] = [4, 5, 6]
    p.maps["per_cpu"][0] = 7
    assert (p.maps["per_cpu"].number(1), p.maps["per_cpu"].number(0)) == (15, 21)
    with pytest.raises(ScenarioError, match="takes 3 values"):
        p.maps["per_cpu"][0] = [1, 2]
    with pytest.raises(ScenarioError, match="cpu = 3: must be below 3"):
        p.run(bytes(64), cpu=3)


def test_python_sees_the_maps() -> None:
    p = program(*update(2, 0x0102), mov(0, 2), EXIT, maps=(ARRAY,))
    array = p.maps["array"]
    array[3] = b"12345678"
    p.run(bytes(64))
    assert [array[k] for k in array] == [bytes(8), bytes(8), b"\x02\x01" + bytes(6), b"12345678"]
    with pytest.raises(KeyError):
        array[4]
    with pytest.raises(ScenarioError, match=r"array key = b'1': must have 4 bytes"):
        array[b"1"]
    with pytest.raises(ScenarioError, match="does not fit 8 bytes"):
        array[0] = 1 << 64
    with pytest.raises(ScenarioError, match=r"array\[4\]: cannot store"):
        array[4] = 1


def test_copies_share_nothing() -> None:
    p = program(*update(2, 5), mov(0, 2), EXIT, maps=(HASH,))
    p.maps["hash"][1] = 4
    other = p.copy()
    p.run(bytes(64))
    assert (p.maps["hash"].number(2), list(other.maps["hash"])) == (5, [bytes((1, 0, 0, 0, 0, 0))])
    other.maps["hash"][1] = 7
    assert p.maps["hash"].number(1) == 4


def test_threads() -> None:
    """Copies in threads count what one alone counts."""
    found = [*key(1), *map_address(1), helper(LOOKUP), mov(2, 1), atomic(8, 0, 0, 0, 2)]
    first = program(*found, mov(0, 2), EXIT, maps=(ARRAY,))
    copies = [first.copy() for _ in range(4)]
    threads = [threading.Thread(target=p.run, args=(bytes(64),), kwargs={"repeat": 20000}) for p in copies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [p.maps["array"].number(1) for p in copies] == [20000] * 4


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        (ARRAY._replace(max_entries=0), "array.max_entries = 0: must be at least 1"),
        (ARRAY._replace(value_bytes=0), "array.value_size = 0"),
        (ARRAY._replace(key_bytes=8), "array.key_size = 8.*4 for an array"),
        (PORTS._replace(value_bytes=16), "ports.value_size = 16: must be 4 or 8"),
        (ARRAY._replace(max_entries=1 << 30), "more than a gigabyte"),
    ],
)
def test_maps_that_cannot_be(spec: MapSpec, problem: str) -> None:
    with pytest.raises(DataError, match=problem):
        ebpf.assemble(EXIT.pack(), [spec])


# Helpers ---------------------------------------------------------------------------------------------------


def test_time_cpu_and_random_numbers() -> None:
    for_time = [load(4, 6, 1, 0), helper(TIME), store(8, 6, 0, src=0), helper(CPU), EXIT]
    result = program(*for_time, cpus=6).run(bytes(64), now_ns=123_456_789_012, cpu=5)
    assert (int.from_bytes(result.frame[:8], "little"), result.value) == (123_456_789_012, 5)
    assert (result.instructions, result.helper_calls, result.map_calls) == (5, 2, 0)
    draw = [program(helper(RANDOM), EXIT, seed=seed) for seed in (1, 1, 2)]
    numbers = [[p.run(bytes(64)).value for _ in range(100)] for p in draw]
    assert numbers[0] == numbers[1] != numbers[2]
    assert len(set(numbers[0])) == 100


def test_context() -> None:
    p = program(load(4, 0, 1, 12), alu("LSH", 0, 8), load(4, 2, 1, 16), alu("OR", 0, src=2), EXIT)
    assert p.run(bytes(64), ingress_ifindex=3, rx_queue_index=5).value == 0x305


def csum(of: int, minus: int, seed: int = 0) -> list[Instruction]:
    """Of the first `of` bytes of the frame, less the first `minus` bytes on the stack."""
    code = [copy(1, 10), alu("ADD", 1, -8), mov(2, minus), load(4, 3, 6, 0), mov(4, of), mov(5, seed)]
    return [store(8, 10, -8, imm=0x01020304), *code, helper(CSUM)]


def test_csum_diff() -> None:
    frame = bytes(range(1, 65))
    whole = 0xFFFF ^ int.from_bytes(checksum(frame[:20]).to_bytes(2, "big"), "little")
    show = [load(4, 7, 6, 0), store(8, 7, 0, src=0), EXIT]

    def ask(*code: Instruction) -> int:
        return int.from_bytes(run(copy(6, 1), *code, *show, frame=frame).frame[:8], "little")

    assert ask(*csum(20, 0)) == whole
    part = 0x0304 + 0x0102
    assert ask(*csum(20, 4)) == (whole - part) % 0xFFFF
    assert ask(*csum(0, 4, seed=0x5000)) == 0x5000 - part
    assert ask(*csum(20, 0, seed=0xFFFE)) == (whole + 0xFFFE) % 0xFFFF
    assert ask(*csum(0, 0, seed=0x12345678)) == 0x12345678 % 0xFFFF


def test_redirect() -> None:
    result = run(mov(1, 7), mov(2, 0), helper(REDIRECT), EXIT)
    assert (result.verdict, result.redirect_ifindex) == (Verdict.XDP_REDIRECT, 7)
    result = run(mov(1, 7), mov(2, 1), helper(REDIRECT), EXIT)
    assert (result.verdict, result.redirect_ifindex) == (Verdict.XDP_ABORTED, 0)


@pytest.mark.parametrize(
    ("entry", "flags", "value", "target"),
    [(2, 0, 4, 9), (3, 0, 0, 0), (3, 2, 2, 0), (8, 1, 1, 0), (2, 4, 0, 0)],
)
def test_redirect_map(entry: int, flags: int, value: int, target: int) -> None:
    p = program(*map_address(1), mov(2, entry), mov(3, flags), helper(REDIRECT_MAP), EXIT, maps=(PORTS,))
    p.maps["ports"][2] = 9
    result = p.run(bytes(64))
    assert (result.value, result.redirect_ifindex, result.fault) == (value, target, None)


def test_head_grows_and_shrinks() -> None:
    """With metadata before it, which moves along."""
    frame = bytes(range(64))
    note = [mov(2, -4), helper(META), load(4, 2, 6, 8), store(4, 2, 0, imm=0x01020304)]
    result = run(copy(6, 1), *note, copy(1, 6), mov(2, -10), helper(HEAD), EXIT, frame=frame)
    assert (result.value, result.metadata, result.frame) == (0, b"\4\3\2\1", result.frame[:10] + frame)
    result = run(mov(2, 20), helper(HEAD), EXIT, frame=frame)
    assert (result.value, result.frame) == (0, frame[20:])


@pytest.mark.parametrize(
    ("number", "delta", "value", "length"),
    [
        (HEAD, -216, 0, 280),  # 256 bytes of headroom less 40 of the frame's description
        (HEAD, -217, -EINVAL, 64),
        (HEAD, 50, 0, 14),  # an Ethernet header stays
        (HEAD, 51, -EINVAL, 64),
        (TAIL, -50, 0, 14),
        (TAIL, -51, -EINVAL, 64),
        (TAIL, 3456, 0, 3520),  # 4096 less headroom and 320 bytes at the end
        (TAIL, 3457, -EINVAL, 64),
        (META, -216, 0, 280),
        (META, -220, -EINVAL, 64),
        (META, -3, -13, 64),
        (META, 4, -EINVAL, 64),
    ],
)
def test_room(number: int, delta: int, value: int, length: int) -> None:
    result = run(mov(2, delta), helper(number), EXIT)
    assert (result.value, len(result.metadata) + len(result.frame)) == (value, length)


@pytest.mark.parametrize(("delta", "value"), [(-184, 0), (-185, -EINVAL)])
def test_metadata_needs_room_too(delta: int, value: int) -> None:
    assert (
        run(copy(6, 1), mov(2, -32), helper(META), copy(1, 6), mov(2, delta), helper(HEAD), EXIT).value
        == value
    )


def test_new_tail_is_zero() -> None:
    frame = bytes(range(64))
    shrink_and_grow = [mov(2, -20), helper(TAIL), copy(1, 6), mov(2, 30), helper(TAIL), EXIT]
    assert run(copy(6, 1), *shrink_and_grow, frame=frame).frame == frame[:44] + bytes(30)


def test_tail_calls() -> None:
    jump_to = [*map_address(2), mov(3, 1), helper(TAIL_CALL), mov(0, 7), EXIT]
    source = ebpf.assemble(b"".join(i.pack() for i in jump_to), [JUMPS], name="first")
    other = ebpf.assemble(mov(0, 3).pack() + EXIT.pack(), name="second")
    p = ebpf.Program(ebpf.Object("two", source.programs | other.programs, source.maps), "first")
    assert p.run(bytes(64)).value == 7
    p.maps["jumps"][1] = "second"
    assert p.run(bytes(64)).value == 3
    p.maps["jumps"][1] = "first"
    result = p.run(bytes(64))  # 33 times itself, then it goes on
    assert (result.value, result.helper_calls) == (7, 34)
    with pytest.raises(ScenarioError, match="did you mean 'second'"):
        p.maps["jumps"][0] = "seconds"


# Faults ----------------------------------------------------------------------------------------------------

FAULTS = [
    ("before the frame", [load(4, 2, 1, 0), load(1, 0, 2, -1), EXIT], 1, "reads 1 bytes at buffer \\+255"),
    ("after the frame", [load(4, 2, 1, 4), load(1, 0, 2, 0), EXIT], 1, "reads 1 bytes at buffer \\+320"),
    ("across its end", [load(4, 2, 1, 4), store(8, 2, -7), EXIT], 1, "writes 8 bytes at buffer \\+313"),
    ("above the stack", [load(1, 0, 10, 0), EXIT], 0, "reads 1 bytes at stack \\+0"),
    ("across its top", [load(8, 0, 10, -7), EXIT], 0, "reads 8 bytes at stack -7"),
    ("below the stack", [store(1, 10, -513), EXIT], 0, "writes 1 bytes at stack -513"),
    ("context", [store(4, 1, 0), EXIT], 0, "writes 4 bytes at context \\+0"),
    ("after the context", [load(8, 0, 1, 20), EXIT], 0, "reads 8 bytes at context \\+20"),
    ("null", [mov(2, 0), load(4, 0, 2, 8), EXIT], 1, "reads 4 bytes at 0x8"),
    ("a number", [*wide(2, -1), atomic(8, 0, 2, 0, 2), EXIT], 2, "writes 8 bytes at 0xffffffffffffffff"),
    ("a map itself", [*map_address(2), load(8, 0, 2), EXIT], 2, "reads 8 bytes at 0x7fff00000000"),
    (
        "after a value",
        [*key(1), *map_address(1), helper(1), load(8, 0, 0, 1), EXIT],
        8,
        "reads 8 bytes at map array",
    ),
    ("key", [mov(2, 0), *map_address(1), helper(LOOKUP), EXIT], 3, "reads 4 bytes at 0x0"),
    ("value", [*key(1), mov(3, 0), mov(4, 0), *map_address(1), helper(UPDATE), EXIT], 9, "reads 8 bytes"),
    ("no map", [copy(2, 1), helper(LOOKUP), EXIT], 1, "names context \\+0 as a map"),
    (
        "wrong map",
        [*map_address(1), mov(2, 0), mov(3, 0), helper(REDIRECT_MAP), EXIT],
        4,
        "wrong kind, array",
    ),
    ("tail call", [*map_address(2), mov(3, 0), helper(TAIL_CALL), EXIT], 3, "wrong kind, array"),
    ("helper", [helper(6), EXIT], 0, "calls helper 6, which is not modelled"),
    ("forever", [mov(0, 0), goto(-1)], 1, "has used up its budget"),
    ("recursion", [call(0), call(-1), EXIT], 1, "calls deeper than 8 functions"),
    (
        "tail call from a function",
        [call(1), EXIT, *map_address(2), helper(TAIL_CALL), EXIT],
        4,
        "from a subprogram",
    ),
]


@pytest.mark.parametrize(
    ("code", "pc", "problem"), [case[1:] for case in FAULTS], ids=[case[0] for case in FAULTS]
)
def test_faults(code: list[Instruction], pc: int, problem: str) -> None:
    p = program(*code, maps=(ARRAY,), budget=1000)
    result = p.run(bytes(64))
    assert result.fault is not None
    assert re.search(problem, str(result.fault))
    assert (result.value, result.verdict, result.fault.pc) == (0, Verdict.XDP_ABORTED, pc)
    assert p.run(bytes(64)).fault == result.fault  # and nothing of it is left


def test_broadcast_is_not_modelled() -> None:
    code = [*map_address(1), mov(2, 0), mov(3, 8), helper(REDIRECT_MAP), EXIT]
    assert "broadcasts to ports" in str(run(*code, maps=(PORTS,)).fault)


def test_read_only_data() -> None:
    spec = MapSpec(".rodata", MapType.ARRAY, 4, 8, 1, False, b"readonly")
    assert number(wide(2, 0, isa.MAP_VALUE), load(8, 0, 2), maps=(spec,)) == int.from_bytes(
        b"readonly", "little"
    )
    result = run(wide(2, 4 << 32, isa.MAP_VALUE), store(4, 2, 0), EXIT, maps=(spec,))
    assert "writes 4 bytes at map .rodata +4" in str(result.fault)


def test_a_returned_function_leaves_no_stack() -> None:
    code = [call(2), load(8, 0, 0, -8), EXIT, store(8, 10, -8, imm=5), copy(0, 10), EXIT]
    assert "at stack -8" in str(run(*code).fault)


def test_budget_counts_exactly() -> None:
    code = [mov(0, 2), mov(2, 0), EXIT]
    assert program(*code, budget=3).run(bytes(64)).fault is None
    result = program(*code, budget=2).run(bytes(64))
    assert result.fault is not None
    assert (result.instructions, result.fault.pc) == (2, 2)


@pytest.mark.parametrize("length", [0, 13, 3521])
def test_frames_must_fit(length: int) -> None:
    with pytest.raises(ScenarioError, match="must have 14 to 3520 bytes"):
        program(mov(0, 2), EXIT).run(bytes(length))


def test_options_are_checked() -> None:
    with pytest.raises(ScenarioError, match="at least 1"):
        program(EXIT, cpus=0)
    with pytest.raises(ScenarioError, match="no such program"):
        ebpf.Program(ebpf.assemble(EXIT.pack()), "other")


@pytest.mark.parametrize(
    ("value", "verdict"), [(1, "XDP_DROP"), (4, "XDP_REDIRECT"), (5, "XDP_ABORTED"), (-1, "XDP_ABORTED")]
)
def test_verdicts(value: int, verdict: str) -> None:
    result = run(mov(0, value), EXIT)
    assert (result.value, result.verdict.name) == (value, verdict)


def test_nothing_a_program_does_harms_the_process() -> None:
    """Any instructions over any addresses end in a verdict or in a fault; the checked build watches."""
    draw = random.Random(5)
    bases = [0, 1 << 16, 1 << 32, *(n << 32 for n in range(2, 16)), (2 << 32) + 4096, 0x7FFF << 32, -1]
    numbers = [0, 1, 2, 4, 8, 255, -1, 1 << 31, MASK]
    kinds = (ARRAY, HASH, PER_CPU, PORTS, JUMPS)
    ended = Counter()
    for _ in range(1500):
        code = []
        for register in range(1, 10):
            if draw.random() < 0.6:
                code += wide(
                    register, draw.choice(bases) + draw.choice((0, 256, 300, draw.randrange(-9, 600)))
                )
            elif draw.random() < 0.5:
                code += wide(register, draw.choice(numbers))
            else:
                code += map_address(register, draw.randrange(len(kinds)))
        for _ in range(15):
            a, b, size, off = (
                draw.randrange(10),
                draw.randrange(10),
                draw.choice((1, 2, 4, 8)),
                draw.randrange(-20, 20),
            )
            code.append(
                draw.choice(
                    (
                        load(size, a, b, off),
                        store(size, a, off, src=b),
                        atomic(max(size, 4), draw.choice((0, 0x01, 0xE1, 0xF1)), a, off, b),
                        alu(draw.choice(("ADD", "SUB", "MUL", "MOV", "DIV", "ARSH")), a, src=b),
                        alu("MOV", draw.randrange(1, 6), src=a),
                        helper(
                            draw.choice(
                                (LOOKUP, UPDATE, DELETE, CSUM, HEAD, META, TAIL, REDIRECT_MAP, TAIL_CALL)
                            )
                        ),
                    )
                )
            )
        # Without faults on the way more of it runs: each access that fails is taken out.
        while True:
            p = program(*code, EXIT, maps=kinds, cpus=2, budget=1000)
            fault = p.run(draw.randbytes(60)).fault
            if fault is None or fault.pc >= len(code):
                break
            ended[fault.problem.split()[0]] += 1
            code[fault.pc] = alu("MOV", 0, 0)
        ended["fine"] += fault is None
    assert (
        ended["fine"] > 1000 and ended["reads"] > 1000 and ended["writes"] > 1000 and ended["names"] > 1000
    ), ended
