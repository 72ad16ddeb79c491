"""XDP in the FEC's data path: what each verdict does to the page, and what a program costs."""

from __future__ import annotations

import struct
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile

from nicperf.errors import DataError, NicperfError, ScenarioError
from nicperf.packets import ebpf
from nicperf.packets.ebpf.instruction import Instruction
from nicperf.packets.ebpf.program import PROGRAMS
from nicperf.simulation import simulate

from ..observed import Side, Snapshot, observe
from .ebpf_assembler import EXIT, jump, load, mov, store

CALM = {"cpu.jitter_percent": 0.0, "remote.cpu.frequency_mhz": 1000.0, "pktgen.rate_pps": 50_000.0}
MODES = ("native", "skb")


def ran(program: str, mode: str = "native", duration_s: float = 0.02, **params: Any) -> Snapshot:
    """The end of a run; names in `params` have __ where the others have a dot."""
    more = {name.replace("__", "."): value for name, value in params.items()}
    settings = {**CALM, "xdp.program": program, "xdp.mode": mode, "driver.xdp_tx": True, **more}
    return observe("xdp", settings, duration_s, slices=1, system="fec").end


def written(path: Path, *code: Instruction) -> str:
    """A sample's object with other instructions in it."""
    content = bytearray((PROGRAMS / "swap_tx.o").read_bytes())
    section = ELFFile(BytesIO(content)).get_section_by_name("xdp")
    assert len(code) * 8 <= section["sh_size"]
    slots = [*code, *[EXIT] * (section["sh_size"] // 8 - len(code))]
    for i, one in enumerate(slots):
        struct.pack_into(
            "<BBhi",
            content,
            section["sh_offset"] + 8 * i,
            one.opcode,
            one.dst | one.src << 4,
            one.off,
            one.imm,
        )
    path.write_bytes(content)
    return str(path)


def frames(host: Side) -> int:
    """Frames that the driver has begun with."""
    return host["calls.soft_irq.rx_reap"]


def judged(host: Side) -> dict[str, int]:
    return {verdict: host[f"xdp_{verdict}"] for verdict in ("aborted", "drop", "pass", "tx", "redirect")}


def only(verdict: str, n: int) -> dict[str, int]:
    return {**dict.fromkeys(("aborted", "drop", "pass", "tx", "redirect"), 0), verdict: n}


# Verdicts -----------------------------------------------------------------------------------------------------


def test_native_drop_puts_the_page_into_the_cache_at_once() -> None:
    end = ran("drop").remote
    n = frames(end)
    assert n > 900 and judged(end) == only("drop", n)
    assert end["rx_pp_recycle_cached"] == n and end["rx_pp_recycle_ring"] == 0
    assert end["rx_pp_inflight"] == 5 * 64 and end["heads_allocated"] == 0
    assert end["delivered"] == end["udp_no_ports"] == 0
    # 64 bytes with FCS lie in one line, as do the 60 that the next frame must find clean.
    assert end["lines_invalidated"] == n and end["lines_cleaned"] == n + 5 * 64 * 55
    assert end.total("calls.*.dma_map") == 64  # the bulk that the first frame asked for


@pytest.mark.parametrize(
    ("frame_bytes", "read", "cleaned"), [(61, 2, 1), (64, 2, 1), (65, 2, 2), (1514, 24, 24)]
)
def test_native_drop_cleans_the_frame_alone(frame_bytes: int, read: int, cleaned: int) -> None:
    end = ran("drop", pktgen__frame_bytes=frame_bytes).remote
    n = frames(end)
    assert end["lines_invalidated"] == n * read
    assert end["lines_cleaned"] - 5 * 64 * 55 == n * cleaned


def test_native_pass_builds_an_sk_buff_on_the_page() -> None:
    end = ran("pass").remote
    n = frames(end)
    assert judged(end) == only("pass", n)
    assert end["udp_no_ports"] == end["delivered"] == end["heads_allocated"] == n
    assert end["rx_pp_recycle_ring"] == n and end["rx_pp_recycle_cached"] == 0
    assert end["calls.soft_irq.build_skb"] == n


def test_native_tx_keeps_the_page_until_it_has_been_sent() -> None:
    end = ran("swap_tx", driver__tx_coalesce_us=0.0, driver__tx_coalesce_frames=255)
    n, board = frames(end.remote), end.remote
    assert judged(board) == only("tx", n) and board["tx_frames"] == n
    assert end.local["rx_frames"] == board["tx_completions"] >= n - 1
    assert end.local["returned_bytes"] == 60 * end.local["rx_frames"]
    # Each page is in the cache, the ring, a receive descriptor or one of the transmit ring.
    held = board["rx_pp_inflight"] - board["rx_pp_in_cache"] - board["rx_pp_in_ring"] - 256
    assert held == board["tx_ring"] > 0
    assert board["rx_pp_recycle_cached"] == n - board["tx_ring"]
    assert board["heads_allocated"] == board.total("calls.*.skb_free") == board["dma_unmaps"] == 0
    assert board["dma_maps"] == board["rx_pp_inflight"]
    # Sending costs what a transmission costs: descriptor, barrier, doorbell, and the frame cleaned.
    assert board["calls.soft_irq.driver_xmit"] == board["doorbells"] == n
    assert board["calls.soft_irq.barrier"] == 2 * n
    returned = board["rx_pp_recycle_cached"]
    assert board["lines_cleaned"] == 5 * 64 * 55 + n + 55 * returned


def test_the_driver_of_2022_drops_on_tx() -> None:
    end = ran("swap_tx", driver__xdp_tx=False)
    n = frames(end.remote)
    assert judged(end.remote) == only("tx", n)
    assert end.remote["tx_frames"] == end.local["rx_frames"] == end.remote["calls.soft_irq.driver_xmit"] == 0
    assert end.remote["rx_pp_recycle_cached"] == n


def test_tx_without_a_descriptor_drops() -> None:
    """A completion interrupt that never comes: the ring of 8 fills once."""
    params = {"driver__tx_ring": 8, "driver__tx_coalesce_frames": 255, "driver__tx_coalesce_us": 0.0}
    end = ran("swap_tx", pktgen__rate_pps=1e6, **params).remote
    assert end["xdp_tx"] > end["tx_frames"] > 8 and end["tx_ring"] <= 8
    assert end["rx_pp_recycle_cached"] == frames(end) - end["tx_ring"]


def test_native_redirect_copies_and_cleans_the_whole_page() -> None:
    end = ran("redirect").remote
    n = frames(end)
    assert judged(end) == only("redirect", n) and end["xdp_calls"] == n
    assert end["rx_pp_recycle_cached"] == n
    assert end["lines_cleaned"] == 5 * 64 * 55 + 55 * n
    redirects = end["ledger_ps.soft_irq.xdp"] / 1000 - n * (60 + 60 + 5 * 1.5 + 180)
    assert redirects / n == pytest.approx(400 + 60 * end.spec.memory.copy_cold_cycles_per_byte, rel=1e-6)


@pytest.mark.parametrize(
    ("program", "verdict"), [("drop", "drop"), ("pass", "pass"), ("swap_tx", "tx"), ("redirect", "redirect")]
)
@pytest.mark.parametrize("path", ["original", "release", "recycle"])
def test_skb_mode_judges_a_finished_sk_buff(program: str, verdict: str, path: str) -> None:
    end = ran(program, "skb", driver__rx_path=path)
    board, n = end.remote, end.remote["delivered"]
    assert abs(n - frames(board)) <= 1 and n > 900
    started = board.total("calls.*.xdp") - (n if verdict == "redirect" else 0)
    assert judged(board)[verdict] == n or board["backlog"] == 1
    assert sum(judged(board).values()) * 2 == started
    assert board["heads_allocated"] == board["skbs"] + board["heads_freed"] >= n
    assert board["udp_no_ports"] == (n if verdict == "pass" else 0)
    assert board["calls.soft_irq.udp"] == (judged(board)["pass"])
    assert board["tx_frames"] == (n if verdict == "tx" else 0)
    assert end.local["rx_frames"] == board["tx_completions"]
    assert board["skbs"] == board["tx_ring"] + board["backlog"]
    assert board["rx_pp_recycle_cached"] == 0  # before v6.4


def test_skb_mode_recycles_into_the_cache_since_v6_4() -> None:
    end = ran("drop", "skb", driver__direct_recycling=True).remote
    assert end["rx_pp_recycle_cached"] == end["delivered"] and end["rx_pp_recycle_ring"] == 0


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "code",
    [
        [mov(0, 0), EXIT],
        [mov(0, 42), EXIT],  # no verdict
        [load(8, 0, 0), EXIT],  # reads at 0: a fault
        [load(4, 2, 1), load(1, 0, 2, 60), EXIT],  # past the frame
    ],
)
def test_what_goes_wrong_counts_as_aborted(code: list[Instruction], mode: str, tmp_path: Path) -> None:
    end = ran(written(tmp_path / "x.o", *code), mode).remote
    n = end["xdp_aborted"]
    assert n > 900 and judged(end) == only("aborted", n)
    assert end["udp_no_ports"] == end["tx_frames"] == 0
    assert end["rx_pp_recycle_cached" if mode == "native" else "rx_pp_recycle_ring"] in (n, n - 1)


# What a program sees ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_each_frame_is_fresh(mode: str, tmp_path: Path) -> None:
    """The program spoils the frame and drops one that it finds spoilt."""
    code = [
        load(4, 2, 1),
        load(1, 3, 2),
        mov(0, 1),
        jump("JNE", 3, 2, off=2),
        store(1, 2, 0, imm=0xFF),
        mov(0, 2),
    ]
    end = ran(written(tmp_path / "x.o", *code, EXIT), mode).remote
    assert judged(end) == only("pass", end["xdp_pass"]) and end["xdp_pass"] > 900


def matches(at: dict[int, int]) -> list[Instruction]:
    """Pass if bytes of the frame have these values, otherwise drop."""
    code = [load(4, 2, 1), mov(0, 1)]
    for i, (place, value) in enumerate(at.items()):
        code += [load(1, 3, 2, place), jump("JNE", 3, value, off=2 * (len(at) - i) - 1)]
    return [*code, mov(0, 2), EXIT]


@pytest.mark.parametrize("frame_bytes", [60, 300, 1514])
def test_the_generator_sends_udp_to_discard(frame_bytes: int, tmp_path: Path) -> None:
    ip, udp = divmod(frame_bytes - 14, 256), divmod(frame_bytes - 34, 256)
    bytes_ = {0: 2, 12: 8, 16: ip[0], 17: ip[1], 23: 17, 37: 9, 38: udp[0], 39: udp[1]}
    end = ran(written(tmp_path / "x.o", *matches(bytes_)), pktgen__frame_bytes=frame_bytes).remote
    assert end["xdp_pass"] == frames(end) > 900
    false = written(tmp_path / "y.o", *matches({**bytes_, 39: udp[1] ^ 1}))
    end = ran(false, pktgen__frame_bytes=frame_bytes).remote
    assert end["xdp_drop"] == frames(end)


def test_segments_are_tcp(tmp_path: Path) -> None:
    program = written(tmp_path / "x.o", *matches({12: 8, 14: 0x45, 16: 1500 >> 8, 17: 1500 & 255, 23: 6}))
    end = observe("iperf", {"xdp.program": program}, 0.02, slices=1, system="fec").end.remote
    assert end["xdp_pass"] > 0.99 * frames(end) > 900  # all but the last of a write is full
    assert end["received_bytes"] > 0.9 * 10**8 / 8 * 0.02 * 9


def test_encapsulation_sends_longer_frames() -> None:
    end = ran("encapsulate")
    assert end.remote["xdp_tx"] == end.remote["tx_frames"] > 900
    assert end.local["returned_bytes"] == 80 * end.local["rx_frames"]
    end = ran("encapsulate", "skb")
    assert end.local["returned_bytes"] == 80 * end.local["rx_frames"] > 0


def test_the_clock_runs_and_maps_stay() -> None:
    """The sample lets 10 frames of a source pass in each window of a millisecond, from the frame that opens it."""
    end = ran("rate", duration_s=0.05).remote
    passed = end["xdp_pass"]
    assert end["xdp_drop"] > 3 * passed
    assert passed == pytest.approx(10 * 50, abs=30)


# Costs --------------------------------------------------------------------------------------------------------

UDP = bytes.fromhex(
    "0200000000020200000000010800" + "4500002e0000400040110000c0000201c0000202" + "00090009001a0000"
)


@pytest.mark.parametrize("name", [name for name in ebpf.samples() if name != "rate"])
@pytest.mark.parametrize("mode", MODES)
def test_executed_instructions_are_charged(name: str, mode: str) -> None:
    once = ebpf.sample(name).run(UDP.ljust(60, b"\0"))
    end = ran(name, mode, driver__rx_path="recycle").remote
    n = sum(judged(end).values())
    assert end["xdp_instructions"] == n * once.instructions
    assert end["xdp_calls"] == n * once.helper_calls
    work = 60 + once.instructions * 1.5 + once.helper_calls * 60
    if mode == "skb":
        work += 300
    elif once.instructions > 2:
        work += 180  # the first touch; in skb mode build_skb has touched the frame
    if once.verdict.name == "XDP_REDIRECT":
        work += 400 + 60 * end.spec.memory.copy_cold_cycles_per_byte
    assert end["ledger_ps.soft_irq.xdp"] / n / 1000 == pytest.approx(work, rel=0.002)


@pytest.mark.parametrize(
    ("name", "mode", "touch"), [("pass", "native", 180), ("parse", "native", 0), ("pass", "skb", 180)]
)
def test_a_frame_misses_the_cache_once(name: str, mode: str, touch: int) -> None:
    end = ran(name, mode).remote
    assert end["ledger_ps.soft_irq.build_skb"] == frames(end) * (250 + touch) * 1000


# Which program --------------------------------------------------------------------------------------------------


def test_a_file_is_a_program() -> None:
    named, file = ran("drop_ip").remote, ran(str(PROGRAMS / "drop_ip.o")).remote
    assert named.counters == file.counters and file["xdp_drop"] > 900


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"xdp.program": "swap"}, r"xdp\.program = 'swap'.*did you mean 'swap_tx'"),
        (
            {"xdp.program": "no/such.o"},
            r"xdp\.program = 'no/such.o'.*neither a sample program nor an object file",
        ),
        ({"xdp.program": "drop", "driver.rx_path": "original"}, r"driver\.rx_path = 'original'.*no XDP.*skb"),
    ],
)
def test_errors_say_what_to_do(params: dict[str, Any], message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        simulate("fec", "xdp", params, duration_s=0.001)


def test_skb_mode_needs_the_generator() -> None:
    with pytest.raises(ScenarioError, match=r"xdp\.mode = 'skb'"):
        simulate("fec", "iperf", {"xdp.program": "drop", "xdp.mode": "skb"}, duration_s=0.001)


def test_a_file_that_is_no_object(tmp_path: Path) -> None:
    (tmp_path / "x.o").write_bytes(b"text")
    with pytest.raises(DataError, match=r"x\.o"):
        ran(str(tmp_path / "x.o"))
    with pytest.raises(NicperfError):
        ran(str(tmp_path))


# Repetition -------------------------------------------------------------------------------------------------------


def rows(seed: int) -> np.ndarray:
    """A program with a map that decides, on a core whose jobs vary."""
    params = {"xdp.program": "rate", "cpu.jitter_percent": 10.0, "pktgen.rate_pps": 2e5}
    return simulate("fec", "xdp", params, seed=seed, duration_s=0.1).rows


def test_runs_have_maps_of_their_own() -> None:
    serial = [rows(seed) for seed in (0, 1)]
    with ThreadPoolExecutor(2) as pool:
        threads = list(pool.map(rows, (0, 1)))
    for one, other in zip(serial, threads, strict=True):
        assert np.array_equal(one, other)
    assert np.array_equal(rows(0), serial[0]) and not np.array_equal(serial[0], serial[1])
