"""ELF objects, and the samples that come with the package."""

import os
import re
import shutil
import struct
import subprocess
from io import BytesIO
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from nicperf.errors import DataError, ScenarioError
from nicperf.packets import checksum, ebpf
from nicperf.packets.ebpf import _xdp
from nicperf.packets.ebpf.program import PROGRAMS
from nicperf.tables.xdp import MapType, Verdict

MAC = bytes.fromhex("020000000002020000000001")
IPV4 = struct.pack(
    ">BBHHHBBH4s4s", 0x45, 0, 46, 1, 0, 64, 17, 0, bytes((192, 0, 2, 1)), bytes((192, 0, 2, 2))
)
UDP = MAC + b"\x08\x00" + IPV4 + struct.pack(">HHHH", 1000, 53, 26, 0) + bytes(18)
IPV6 = (
    MAC
    + b"\x86\xdd"
    + struct.pack(">IHBB", 6 << 28, 26, 6, 64)
    + bytes(32)
    + struct.pack(">HH", 1, 80)
    + bytes(22)
)


def tagged(frame: bytes, n: int) -> bytes:
    return frame[:12] + b"\x81\x00\x00\x05" * n + frame[12:]


# Samples ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("drop", "XDP_DROP"),
        ("pass", "XDP_PASS"),
        ("swap_tx", "XDP_TX"),
        ("redirect", "XDP_REDIRECT"),
        ("drop_ip", "XDP_DROP"),
    ],
)
def test_verdicts(name: str, verdict: str) -> None:
    result = ebpf.sample(name).run(UDP)
    assert (result.verdict.name, result.fault) == (verdict, None)


def test_counter_counts_on_each_cpu() -> None:
    p = ebpf.sample("counter", cpus=2)
    for n in range(3):
        p.run(UDP, cpu=n % 2)
    assert p.maps["traffic"][0] == tuple(struct.pack("<QQ", n, n * len(UDP)) for n in (2, 1))


def test_queues_are_counted() -> None:
    p = ebpf.sample("rxq_info")
    for queue in (3, 3, 5, 64):
        assert p.run(UDP, rx_queue_index=queue).verdict == Verdict.XDP_DROP
    assert {n: p.maps["frames"].number(n) for n in range(64) if p.maps["frames"].number(n)} == {3: 2, 5: 1}


def test_protocols_are_counted() -> None:
    p = ebpf.sample("drop_ip")
    for frame in (UDP, tagged(UDP, 1), tagged(UDP, 2), tagged(UDP, 3), IPV6, UDP[:20]):
        p.run(frame)
    assert [p.maps["frames"].number(n) for n in (0, 6, 17)] == [2, 1, 3]


def test_addresses_are_swapped() -> None:
    assert ebpf.sample("swap_tx").run(UDP).frame == UDP[6:12] + UDP[:6] + UDP[12:]


def test_parser_counts_and_blocks() -> None:
    p = ebpf.sample("parse")
    p.maps["blocked_ports"][53] = 1
    frames = (UDP, tagged(UDP, 2), IPV6, UDP[:20], MAC + b"\x08\x06" + bytes(40))
    assert [p.run(frame).verdict.name[4:] for frame in frames] == ["DROP", "DROP", "PASS", "DROP", "PASS"]
    other, ipv4, ipv6, fragment, tcp, udp, damaged = (p.maps["kinds"].number(n) for n in range(7))
    assert (other, ipv4, ipv6, fragment, tcp, udp, damaged) == (1, 2, 1, 0, 1, 2, 1)


def test_encapsulation_is_a_right_packet() -> None:
    result = ebpf.sample("encapsulate").run(UDP)
    outer = result.frame[14:34]
    assert (result.verdict.name, result.frame[:14]) == ("XDP_TX", UDP[6:12] + UDP[:6] + b"\x08\x00")
    assert (checksum(outer), outer[9], outer[2:4]) == (0, 4, (66).to_bytes(2, "big"))
    assert result.frame[34:] == UDP[14:]


def test_rate_follows_the_clock() -> None:
    p = ebpf.sample("rate")
    verdicts = [p.run(UDP, now_ns=n * 50_000).verdict for n in range(25)]  # a window of 1 ms holds 20
    assert [n for n, v in enumerate(verdicts) if v == Verdict.XDP_DROP] == [*range(10, 20)]
    assert p.maps[".bss"].number(0) == 10


def test_redirects_go_by_the_map() -> None:
    p = ebpf.sample("redirect_map")
    p.maps["ports"][2] = 7
    result = p.run(UDP)
    assert (result.value, result.redirect_ifindex, result.map_calls) == (4, 7, 1)
    assert p.run(IPV6[6:12] + IPV6).verdict == Verdict.XDP_PASS


def test_trimmed_frames_say_how_long_they_were() -> None:
    result = ebpf.sample("trim").run(UDP + bytes(100))
    assert (result.verdict.name, len(result.frame), struct.unpack("<I", result.metadata)) == (
        "XDP_PASS",
        64,
        (160,),
    )


def test_no_such_sample() -> None:
    with pytest.raises(ScenarioError, match="did you mean 'drop'"):
        ebpf.sample("dropp")


CLANG = next(filter(None, map(shutil.which, (os.environ.get("CLANG", "clang-14"), "clang"))), None)


def section(content: bytes, name: str) -> bytes:
    return ELFFile(BytesIO(content)).get_section_by_name(name).data()


@pytest.mark.skipif(CLANG is None, reason="clang is not installed (apt-get install clang)")
@pytest.mark.parametrize("name", ebpf.samples())
def test_objects_are_compiled_from_their_sources(name: str, tmp_path: Path) -> None:
    """By the same release of clang, the same instructions; by another one, instructions that do the same."""
    for source in (*PROGRAMS.glob("*.h"), PROGRAMS / f"{name}.c", PROGRAMS / "compile.sh"):
        shutil.copy(source, tmp_path)
    environment = {**os.environ, "CLANG": str(CLANG), "STRIP": shutil.which("llvm-strip") or "true"}
    subprocess.run([tmp_path / "compile.sh"], check=True, env=environment)
    stored, compiled = ((folder / f"{name}.o").read_bytes() for folder in (PROGRAMS, tmp_path))
    version = subprocess.run([str(CLANG), "--version"], capture_output=True, text=True, check=True).stdout
    if re.search(r"version 14\.", version):
        assert section(stored, "xdp") == section(compiled, "xdp")
    programs = [ebpf.Program(o, next(iter(o.programs))) for o in map(ebpf.load, (stored, compiled))]
    for frame in (UDP, tagged(UDP, 2), IPV6, UDP[:20]):
        first, second = (p.run(frame) for p in programs)
        assert first[:3] == second[:3]


# What is no object -----------------------------------------------------------------------------------------


def edited(name: str, old: bytes, new: bytes) -> bytes:
    content = (PROGRAMS / f"{name}.o").read_bytes()
    assert old in content and len(old) == len(new)
    return content.replace(old, new)


def map_of_type(name: str, kind: int) -> bytes:
    """A sample whose first map, of type 6, says another type: in BTF an array of so many integers."""
    content = (PROGRAMS / f"{name}.o").read_bytes()
    btf = section(content, ".BTF")
    (integer,) = {m.group()[:8] for m in re.finditer(rb"....\x04\0\0\0\x06\0\0\0", btf, re.S)}
    return content.replace(btf, btf.replace(integer + b"\x06\0\0\0", integer + kind.to_bytes(4, "little")))


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "object: is no ELF object"),
        (b"\x7fELF" + bytes(60), "object: "),
        (Path(_xdp.__file__).read_bytes(), "object: is not compiled for little-endian eBPF"),
        (edited("drop", b"\0xdp\0", b"\0tc1\0"), 'no XDP program, only the sections tc1; put SEC\\("xdp"\\)'),
        (edited("counter", b".BTF\0", b".BTX\0"), "section .BTF: has maps but no types; compile with -g"),
        (
            edited("counter", b".maps", b".mops"),
            "section xdp, instruction 5: names traffic, neither a map nor data",
        ),
        (
            map_of_type("counter", 9),
            r"traffic\.type = 9: is a kind of map that is not modelled; use one of HASH",
        ),
    ],
)
def test_what_is_no_program(content: bytes, problem: str) -> None:
    with pytest.raises(DataError, match=problem):
        ebpf.load(content)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"gone\.o: cannot be read"):
        ebpf.load(tmp_path / "gone.o")


def test_what_an_object_holds() -> None:
    source = ebpf.load(PROGRAMS / "rate.o")
    assert (list(source.programs), source.license, source.place) == (["rate"], "BSD", "rate.o")
    assert [(m.name, m.type, m.key_bytes, m.value_bytes, m.max_entries, m.writable) for m in source.maps] == [
        ("sources", MapType.HASH, 4, 16, 1024, True),
        (".rodata", MapType.ARRAY, 4, 16, 1, False),
        (".bss", MapType.ARRAY, 4, 8, 1, True),
    ]


def test_a_fault_names_the_function_as_objdump_does() -> None:
    """The second function of a section and one in another section: both keep their own numbers."""
    linked = ebpf.load(PROGRAMS / "parse.o").programs["parse"]
    assert [(f.name, f.section, f.section_slot) for f in linked.functions] == [
        ("parse", "xdp", 0),
        ("count", ".text", 0),
    ]
    p = ebpf.sample("parse", budget=35)
    fault = p.run(UDP).fault
    assert fault is not None and (fault.program, fault.section) == ("count", ".text")
    assert fault.pc < 30
