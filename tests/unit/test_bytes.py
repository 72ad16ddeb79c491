"""A run with bytes is the same run, and its receivers see damage by their own rules."""

from dataclasses import replace

import numpy as np
import pytest

import nicperf as nic
from nicperf.errors import ScenarioError
from nicperf.packets._wiretap import Wiretap
from nicperf.packets.capture import Capture
from nicperf.simulation import fidelity
from nicperf.simulation._run import Simulation
from nicperf.simulation.scenario import host_spec, scenario
from nicperf.simulation.systems import SYSTEMS

LOSSY = {"nic.pause": False, "remote.nic.rx_fifo_bytes": 2048, "remote.bus.clock_mhz": 20.0}


def run(workload: str, params: dict[str, object], wiretap: Wiretap | None) -> tuple[np.ndarray, ...]:
    """Counters, latencies and the trace of all events of 10 ms."""
    sc = scenario("velocity", workload, params)
    simulation = Simulation(sc.driver, host_spec(sc, "local"), host_spec(sc, "remote"), workload, 0, wiretap)
    return simulation.run(2 * 10**9, 10**9, 8, 10**5)


def found(wiretap: Wiretap) -> dict[str, int]:
    return {counter: value for side, _, counter, value in Capture.of(wiretap).counters if side == "remote"}


@pytest.mark.parametrize(
    ("workload", "params"),
    [
        ("tcp_stream", {"local.driver.napi": True}),
        ("tcp_stream", {"driver.tx_scatter_gather": True, "stack.fragment_bytes": 300}),
        ("tcp_sendfile", {"driver.tx_scatter_gather": True, "driver.rx_align_rule": "via"}),
        ("tcp_stream", LOSSY),
        ("udp_stream", {"workload.message_bytes": 65507, "driver.rx_checksum_rule": "via"}),
        ("udp_stream", {"workload.message_bytes": 18}),
    ],
)
def test_bytes_change_no_event(workload: str, params: dict[str, object]) -> None:
    wiretap = Wiretap(0, corrupt_frame=20)  # not even a damaged frame does
    for timing, with_bytes in zip(run(workload, params, None), run(workload, params, wiretap), strict=True):
        assert timing.size and np.array_equal(timing, with_bytes)
    assert Capture.of(wiretap).passed_frames > 100


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        # Mainline takes the chip's word for fragments, though nobody has summed their datagram (patch 1).
        ({"workload.message_bytes": 65507, "driver.rx_checksum_rule": "mainline"}, (False, 0, 1)),
        ({"workload.message_bytes": 65507, "driver.rx_checksum_rule": "via"}, (True, 1, 0)),
        # The chip has summed a whole one, and tells; the stack looks again.
        ({"workload.message_bytes": 1000, "driver.rx_checksum_rule": "mainline"}, (True, 1, 0)),
        ({"workload.message_bytes": 1000, "driver.rx_checksum_rule": "via"}, (True, 1, 0)),
    ],
)
def test_damaged_datagram(params: dict[str, object], expected: tuple[bool, int, int]) -> None:
    wiretap = Wiretap(0, corrupt_frame=60)
    run("udp_stream", params, wiretap)
    seen = found(wiretap)
    assert (seen["software_sums"] > 0, seen["bad_checksums"], seen["bad_payloads"]) == expected


def test_damaged_segment() -> None:
    wiretap = Wiretap(0, corrupt_frame=3)  # the first behind the handshake
    run("tcp_stream", {}, wiretap)
    seen = found(wiretap)
    assert (seen["software_sums"], seen["bad_checksums"], seen["bad_payloads"]) == (1, 1, 0)


def test_a_capture_is_bounded_and_the_first_part_of_a_longer_one() -> None:
    def capture(frames: int) -> Capture:
        return nic.simulate(duration_s=0.01, warmup_s=0.0, fidelity="bytes", capture_frames=frames).capture

    short, long = capture(50), capture(1000)
    assert (len(capture(0)), len(short), short.passed_frames) == (0, 50, long.passed_frames)
    assert list(short.frames()) == list(long.frames())[:50]
    assert np.array_equal(short.time_ps, long.time_ps[:50])


def test_timing_is_the_default_and_has_no_capture() -> None:
    timing = nic.simulate(duration_s=0.01)
    assert timing.capture is None and "bytes" not in set(timing.counters.part)
    with_bytes = nic.simulate(duration_s=0.01, fidelity="bytes", capture_frames=0)
    assert timing.summary == with_bytes.summary
    assert timing.counters.equals(with_bytes.counters.query("part != 'bytes'").reset_index(drop=True))


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ({"fidelity": "byte"}, "fidelity = 'byte': unknown fidelity; did you mean 'bytes'"),
        ({"fidelity": "bytes", "capture_frames": -1}, "capture_frames = -1: out of range"),
    ],
)
def test_wishes_that_cannot_be_met(wish: dict[str, object], message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        nic.simulate(**wish)


def test_a_system_without_hosts_that_carry_bytes_says_which_have_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    velocity = SYSTEMS["velocity"]
    ends = {w: tuple(replace(end, bytes_host=None) for end in pair) for w, pair in velocity.ends.items()}
    monkeypatch.setattr(fidelity, "SYSTEMS", {"bare": replace(velocity, ends=ends), "velocity": velocity})
    with pytest.raises(ScenarioError, match=r"driver = 'bare': no real frames with tcp_stream .*: velocity$"):
        fidelity.wiretap_for("bare", "tcp_stream", "bytes", 0)
    assert fidelity.wiretap_for("bare", "tcp_stream", "timing", 0) is None
