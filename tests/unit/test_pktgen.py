"""The packet generator: rate, line rate, PAUSE, and what comes back."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import pytest

from nicperf.drivers import desktop, pktgen
from nicperf.drivers._desktop import DesktopHost
from nicperf.drivers._pktgen import PktgenHost
from nicperf.simulation import _run
from nicperf.simulation.systems import SYSTEMS, End, System
from nicperf.stack._host import Socket
from nicperf.stack._udp import UdpReceiver

from . import pairs


@pytest.fixture(autouse=True)
def generators(monkeypatch: pytest.MonkeyPatch) -> None:
    """A generator before a PC, and two generators face to face, each of which returns nothing but counts."""
    parts = {name: part for name, part in SYSTEMS["desktop"].groups[1].items() if name != "pc"}
    generator, pc = {**parts, "pktgen": pktgen.Pktgen}, {**parts, "pc": desktop.DesktopNic}
    source = End(PktgenHost, None, Socket)
    systems: Mapping[str, System] = MappingProxyType(
        {
            "to_pc": System(
                (generator, pc), (pktgen.COUNTERS, desktop.COUNTERS),
                {"udp": (source, End(DesktopHost, None, UdpReceiver))}, {}, {},
            ),
            "to_itself": System(
                (generator, generator), (pktgen.COUNTERS, pktgen.COUNTERS), {"udp": (source, source)}, {}, {}
            ),
        }
    )  # fmt: skip
    for module in (
        sys.modules["nicperf.simulation.scenario"],
        _run,
        pairs,
    ):  # the face has a function of that name
        monkeypatch.setattr(module, "SYSTEMS", systems)


def watch(driver: str, params: Mapping[str, Any], duration_s: float = 0.01, slices: int = 4) -> Any:
    params = {"workload.message_bytes": 18, **params}
    return pairs.watch(params, duration_s, driver=driver, workload="udp", slices=slices)


@pytest.mark.parametrize(("frame_bytes", "slot"), [(60, 84), (124, 148), (1514, 1538)])
def test_line_rate(frame_bytes: int, slot: int) -> None:
    """1,488,095 of the smallest frames a second on a gigabit."""
    local, remote = watch("to_itself", {"pktgen.frame_bytes": frame_bytes})[-1]
    assert local["tx_frames"] == pytest.approx(0.01 * 1e9 / 8 / slot, abs=1)
    assert local["wire_busy_ps"] == pytest.approx(0.01e12, abs=slot * 8000)
    assert local["tx_frames"] - 1 <= remote["rx_frames"] <= local["tx_frames"]
    assert remote["returned_bytes"] == remote["rx_frames"] * frame_bytes
    assert local["events"] > 0 == sum(local[f"busy_ps.{c}"] for c in ("hard_irq", "soft_irq", "process"))


@pytest.mark.parametrize("rate", [1.0, 1000.0, 100_000.0, 1_400_000.0])
def test_frames_are_evenly_spaced(rate: float) -> None:
    run = watch("to_itself", {"pktgen.rate_pps": rate}, slices=20)
    for i, (local, _) in enumerate(run):
        assert local["tx_frames"] == pytest.approx(i * 0.0005 * rate, abs=1.001)
    assert run[-1][0]["late"] == 0


def test_more_than_the_wire_takes_is_line_rate() -> None:
    local, _ = watch("to_itself", {"pktgen.rate_pps": 2_000_000.0})[-1]
    assert local["tx_frames"] == pytest.approx(14881, abs=1)
    assert local["late"] > 14000


def test_a_slow_pc_asks_for_silence() -> None:
    """With PAUSE it gets what it can take and loses nothing before its rings; without, the FIFO overflows."""
    slow = {"remote.cpu.frequency_mhz": 1000.0, "remote.pc.rx_reap_cycles": 3000.0}
    local, remote = watch("to_pc", slow, 0.02)[-1]
    assert local["paused"] == remote["pauses"] > 5
    assert remote["rx_fifo_drops"] == 0
    assert local["tx_frames"] < 0.6 * 0.02 * 1_488_095
    local, remote = watch("to_pc", {**slow, "remote.pc.pause": False}, 0.02)[-1]
    assert local["tx_frames"] == pytest.approx(0.02 * 1_488_095, rel=0.001)
    assert remote["rx_fifo_drops"] > 5000
    assert local["tx_frames"] - 1 == remote["rx_frames"] + remote["rx_fifo_drops"] + remote["rx_fifo"]


def test_time_lost_is_not_made_up_for() -> None:
    """At half the wire's rate frames held back by PAUSE leave no burst behind."""
    slow = {
        "remote.cpu.frequency_mhz": 1000.0,
        "remote.pc.rx_reap_cycles": 3000.0,
        "pktgen.rate_pps": 700_000.0,
    }
    run = watch("to_pc", slow, 0.01, slices=1000)
    sent = [at[0]["tx_frames"] for at in run]
    assert run[-1][0]["paused"] > 5 < run[-1][0]["late"]
    assert max(after - before for before, after in pairwise(sent)) <= 8


def test_datagrams_are_whole() -> None:
    """The socket gets 18 bytes from each of the smallest frames."""
    _, remote = watch("to_pc", {"pktgen.rate_pps": 20_000.0}, 0.02)[-1]
    assert remote["received_bytes"] == 18 * remote["delivered"] > 18 * 300
    assert remote["reassembly_drops"] == remote["socket_drops"] == 0
