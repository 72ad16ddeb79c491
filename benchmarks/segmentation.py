"""Segments per CPU-second beside numpy, dpkt and DPDK, and the checksum as it is called from Python."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module, util

import numpy as np

import nicperf as nic
from benchmarks.measure import Row, interleave, rate
from benchmarks.segments import MSS, PAYLOAD_BYTES, SEGMENTS, super_frame
from benchmarks.segments.in_dpdk import Dpdk, program
from nicperf.packets._checksum import choose

TIMES = 10_000  # super-frames in a round: about 30 ms
SLOWER = {"numpy": 20, "dpkt": 400}  # of these a round does fewer
COLD = 1024  # super-frames in memory: more than a cache holds
MISSING = "; librte_gso and its headers are not installed here (Debian: libdpdk-dev)"
SIZES = {"1500 B": 1500, "64 KB": 65536}

Work = Callable[[], object]


def repeat(work: Work, times: int) -> None:
    for _ in range(times):
        work()


def with_vectors(width_bytes: int, work: Work) -> None:
    """Do it as on a processor that has no wider vectors."""
    choose(width_bytes)
    try:
        work()
    finally:
        choose()


def ours(frame: bytes) -> dict[str, Work]:
    """What `nic.segment` can be asked for; made when it is read."""

    def buffer() -> None:
        segments = nic.segment(frame, MSS)
        segments.buffer, segments.offsets  # noqa: B018

    def lists() -> None:
        segments = nic.segment(frame, MSS, checksums="partial")
        segments.descriptors, segments.headers  # noqa: B018

    def bare() -> None:
        segments = nic.segment(frame, MSS, checksums="none", dialect="dpdk")
        segments.descriptors, segments.headers  # noqa: B018

    def finished() -> None:
        segments = nic.segment(frame, MSS)
        segments.descriptors, segments.headers  # noqa: B018

    return {
        "one buffer": buffer,
        "separate frames": lambda: nic.segment(frame, MSS).frames(),
        "lists": lists,
        "lists, no checksums": bare,
        "lists, all checksums": finished,
    }


def peers(frame: bytes) -> dict[str, Work]:
    """Those that are installed; both return finished frames."""
    found = [name for name in SLOWER if util.find_spec(name)]
    return {
        name: partial(import_module(f"benchmarks.segments.in_{name}").segment, frame, MSS) for name in found
    }


def check(frame: bytes, dpdk: Dpdk | None) -> None:
    """Raise unless all agree byte for byte."""
    finished = nic.segment(frame, MSS).buffer
    wrong = [name for name, work in peers(frame).items() if b"".join(work()) != finished]
    if dpdk and dpdk.frames() != nic.segment(frame, MSS, checksums="none", dialect="dpdk").frames():
        wrong.append("DPDK")
    if wrong:
        raise RuntimeError(f"not segmented as nicperf does it: {', '.join(wrong)}")


def measure(rounds: int) -> list[Row]:
    """Time everything in the same rounds."""
    frame = super_frame()
    dpdk = Dpdk() if program().exists() else None
    check(frame, dpdk)
    works = {name: rate(partial(repeat, work, TIMES), TIMES * SEGMENTS) for name, work in ours(frame).items()}
    for width in (16, 32):
        narrow = partial(with_vectors, width, partial(repeat, ours(frame)["one buffer"], TIMES))
        works[f"one buffer, {width}"] = rate(narrow, TIMES * SEGMENTS)
    cold = [bytes(bytearray(frame)) for _ in range(COLD)]
    works["one buffer, cold"] = rate(
        lambda: [len(nic.segment(one, MSS).buffer) for one in cold], COLD * SEGMENTS
    )
    for name, work in peers(frame).items():
        times = TIMES // SLOWER[name]
        works[name] = rate(partial(repeat, work, times), times * SEGMENTS)
    if dpdk:
        for what in ("lists", "frames"):
            works[f"DPDK {what}"] = lambda what=what: TIMES * SEGMENTS / dpdk.cpu_s(what, TIMES)
    for name, size in SIZES.items():
        times = 300_000_000 // size
        work = partial(
            repeat,
            partial(nic.checksum, frame[:size] if size < len(frame) else bytes(range(256)) * 256),
            times,
        )
        works[name] = rate(work, times * size / 1e9)
        works[f"{name}, 16"] = rate(partial(with_vectors, 16, work), times * size / 1e9)
    rates = interleave(works, rounds)
    if dpdk:
        dpdk.close()
    return rows(rates)


def rows(rates: dict[str, np.ndarray]) -> list[Row]:
    """Rates, and ratios within each round."""
    group = f"segmentation, {PAYLOAD_BYTES} B at MSS {MSS}"
    goals = {"one buffer": 5e6, "lists": 20e6}
    notes = {
        "one buffer": "with offsets; all checksums, payload in the cache",
        "one buffer, 16": "with vectors of 16 bytes, as on any x86-64",
        "one buffer, 32": "with vectors of 32 bytes",
        "one buffer, cold": f"payload out of {COLD * PAYLOAD_BYTES >> 20} MB",
        "lists": "headers and descriptors, TCP checksums left to the NIC",
        "lists, no checksums": "as DPDK makes them" + ("" if "DPDK lists" in rates else MISSING),
        "DPDK lists": "lists of mbufs, made and freed",
        "DPDK frames": "checksums by rte_net, then a copy",
    }
    out = [
        Row(group, name, values, "segments/s", at_least=goals.get(name), note=notes.get(name, ""))
        for name, values in rates.items()
        if not name.startswith(tuple(SIZES))
    ]
    pairs = (
        ("one buffer", "numpy", 10.0),
        ("one buffer", "dpkt", 200.0),
        ("one buffer", "DPDK frames", None),
        ("lists, no checksums", "DPDK lists", None),
    )
    for mine, theirs, goal in pairs:
        if theirs in rates:
            out.append(Row(group, f"{mine} / {theirs}", rates[mine] / rates[theirs], "x", at_least=goal))
    for name, goal in zip(SIZES, (8.0, 20.0), strict=True):
        out.append(Row("checksum, from Python", name, rates[name], "GB/s", at_least=goal))
        out.append(
            Row(
                "checksum, from Python",
                f"{name}, 16",
                rates[f"{name}, 16"],
                "GB/s",
                note=notes["one buffer, 16"],
            )
        )
    return out
