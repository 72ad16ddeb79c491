"""When processor, bus and NIC cost next to nothing, the wire is full, and carries what the closed forms say
to the frame.
"""

from __future__ import annotations

import pytest

from nicperf.analytic import ceilings

from ..observed import observe

FREE = {
    "cpu.frequency_mhz": 10000.0,
    "cpu.irq_shared_read_ns": 0.0,
    "cpu.mmio_read_ns": 0.0,
    "bus.clock_mhz": 533.0,
    "bus.width_bytes": 8,
    "bus.read_line_bytes": 0,
    "bus.latency_timer_clocks": 255,
    "nic.frame_gap_ns": 0.0,
    "nic.buffer_gap_ns": 0.0,
    "driver.napi": True,
    "driver.tx_ring": 256,
    "driver.rx_ring": 252,
    "driver.tx_suppress_frames": 16,
    "driver.rx_suppress_frames": 16,
    "socket.udp_send_buffer_bytes": 1 << 20,
    "socket.udp_receive_buffer_bytes": 1 << 20,
}
SECONDS = 0.1


def carried(workload: str, message_bytes: int, **settings: object) -> tuple[float, float, float]:
    """Frames and payload Mbit that left and Mbit that reached the socket, per second, once the first frame is
    under way.
    """
    params = {**FREE, "workload.message_bytes": message_bytes, **settings}
    run = observe(workload, params, 1.1 * SECONDS, slices=11)
    begin, end = run.snapshots[1], run.snapshots[11]
    assert all(
        host.total(name) == 0
        for name in ("*_drops", "retransmits", "pauses")
        for host in (end.local, end.remote)
    )
    frames = end.local["tx_completions"] - begin.local["tx_completions"]
    received = end.remote["received_bytes"] - begin.remote["received_bytes"]
    payload = received / (end.remote["delivered"] - begin.remote["delivered"])
    return frames / SECONDS, frames * payload * 8e-6 / SECONDS, received * 8e-6 / SECONDS


def test_shortest_frames() -> None:
    """18 bytes of UDP payload make the 64-byte frame."""
    frames, _, _ = carried("udp_stream", 18)
    assert frames == pytest.approx(1_488_095, abs=1 / SECONDS)
    assert frames == pytest.approx(ceilings.frames_per_s(46), abs=1 / SECONDS)


@pytest.mark.parametrize("message_bytes", [1472, 1473, 65507])
def test_udp(message_bytes: int) -> None:
    _, _, goodput = carried("udp_stream", message_bytes)
    # 65507: 137 datagrams.
    assert goodput == pytest.approx(ceilings.udp_goodput_mbit_s(message_bytes), rel=0.006)


def test_the_figures_everybody_knows() -> None:
    assert carried("udp_stream", 65507)[2] == pytest.approx(961.57, rel=0.006)
    frames, sent, received = carried("tcp_stream", 16384)
    assert frames == pytest.approx(1e9 / 8 / 1538, abs=1 / SECONDS)
    assert sent == pytest.approx(1000 * 1448 / 1538, abs=0.12)
    assert received == pytest.approx(941.48, rel=0.002)


@pytest.mark.parametrize("workload", ["tcp_stream", "tcp_sendfile"])
@pytest.mark.parametrize(
    "settings", [{}, {"driver.tx_scatter_gather": True}, {"socket.tcp_timestamps": False}]
)
@pytest.mark.parametrize("mtu", [576, 1500])
def test_tcp(workload: str, settings: dict[str, object], mtu: int) -> None:
    frames, sent, _ = carried(workload, 16384, **settings, **{"wire.mtu_bytes": mtu})
    timestamps = settings.get("socket.tcp_timestamps", True)
    assert frames == pytest.approx(ceilings.frames_per_s(mtu), abs=1 / SECONDS)
    assert sent == pytest.approx(ceilings.tcp_goodput_mbit_s(mtu, timestamps=timestamps), rel=1e-3)


@pytest.mark.parametrize("rate_mbit_s", [100.0, 250.0])
def test_a_slower_wire(rate_mbit_s: float) -> None:
    frames, _, _ = carried("udp_stream", 1472, **{"wire.rate_mbit_s": rate_mbit_s})
    assert frames == pytest.approx(ceilings.frames_per_s(1500, rate_mbit_s), abs=1 / SECONDS)


def test_the_wire_must_be_what_limits() -> None:
    """The same comparison fails where something else limits."""
    frames, _, _ = carried("udp_stream", 18, **{"local.cpu.frequency_mhz": 3000.0})
    assert frames < 0.9 * ceilings.frames_per_s(46)
