"""Small scenarios drawn at random: each mechanism switched both ways, each queue short enough to overflow."""

from __future__ import annotations

from functools import cache
from typing import Any

from hypothesis import strategies as st

from ..observed import Observed, Snapshot, observe

#: What may differ between the sides, by dotted name.
OF_A_SIDE: dict[str, list[Any]] = {
    "bus.clock_mhz": [10.0, 100 / 3, 200 / 3, 133.0],
    "bus.read_latency_clocks": [0.0, 2.5, 16.0],
    "bus.read_line_bytes": [0, 32, 256],
    "bus.write_line_bytes": [64],
    "bus.latency_timer_clocks": [8, 255],
    "cpu.frequency_mhz": [200.0, 6000.0],
    "cpu.jitter_percent": [0.0, 50.0],
    "nic.dma_burst_dwords": [8, 16, 64],
    "nic.frame_gap_ns": [0.0, 300.0, 5000.0],
    "nic.buffer_gap_ns": [0.0, 1500.0],
    "nic.tx_fifo_bytes": [2048],
    "nic.rx_fifo_bytes": [2048],
    "nic.pause": [False],
    "nic.tx_timer_starts": ["first_pending"],
    "nic.rx_timer_starts": ["queue_empty"],
    "driver.rx_checksum_rule": ["via"],
    "driver.tx_suppress_frames": [1, 4, 31, 255],
    "driver.rx_suppress_frames": [1, 4, 31, 255],
    "driver.tx_timer_us": [5.0],
    "driver.rx_timer_us": [5.0, 100.0],
    "driver.napi": [True],
    "driver.tx_scatter_gather": [True],
    "driver.tx_ring": [16, 17, 256],
    "driver.rx_ring": [67, 252],
    "driver.rx_copybreak_bytes": [0, 1540],
    "driver.rx_reap_cycles": [20000.0],
    "stack.tcp_input_cycles": [0.0, 50000.0],
    "stack.fragment_bytes": [128, 200, 1000],
    "stack.backlog_packets": [1, 8],
    "stack.qdisc_packets": [1, 8],
    "socket.tcp_send_buffer_bytes": [4096, 32768],
    "socket.udp_send_buffer_bytes": [2304, 20000],
    "socket.super_packet_bytes": [1448, 10000],
    "workload.receive_bytes": [100, 5000],
}
#: What both sides share.
OF_BOTH: dict[str, list[Any]] = {
    "wire.rate_mbit_s": [100.0, 10000.0],
    "wire.mtu_bytes": [576],
    "workload.message_bytes": [1, 18, 1448, 4096, 65507],
    "socket.tcp_window_bytes": [4096, 30000],
    "socket.tcp_timestamps": [False],
    "socket.udp_receive_buffer_bytes": [2304],
    "socket.rto_us": [1000.0],
    "socket.delayed_ack_us": [100.0],
}
CHANGES = [
    (name, value)
    for names, table in (
        ([f"{side}.{name}" for side in ("local", "remote") for name in OF_A_SIDE], OF_A_SIDE),
        (list(OF_BOTH), OF_BOTH),
    )
    for name in names
    for value in table[name.removeprefix("local.").removeprefix("remote.")]
]
WORKLOADS = ("udp_stream", "tcp_stream", "tcp_sendfile")


@st.composite
def runs(draw: st.DrawFn, workloads: tuple[str, ...] = WORKLOADS, events: int = 0) -> Observed:
    """A run of 1 to 5 ms with some settings off their defaults."""
    changes = draw(st.lists(st.sampled_from(CHANGES), max_size=20, unique_by=lambda change: change[0]))
    duration_s = draw(st.sampled_from([0.001, 0.005]))
    return observe(
        draw(st.sampled_from(workloads)),
        dict(changes),
        duration_s,
        seed=draw(st.integers(0, 3)),
        events=events,
    )


HARD = {
    "local.driver.tx_suppress_frames": 4,
    "remote.driver.napi": True,
    "remote.driver.rx_suppress_frames": 4,
    "remote.driver.rx_reap_cycles": 27000.0,
    "remote.driver.rx_timer_us": 100.0,
    "remote.nic.pause": False,
    "remote.nic.rx_fifo_bytes": 2048,
    "local.stack.qdisc_packets": 24,
    "remote.stack.backlog_packets": 8,
    "socket.tcp_window_bytes": 131072,
    "socket.rto_us": 1000.0,
    "workload.message_bytes": 16384,
}


@cache
def eventful(workload: str) -> Snapshot:
    """The end of a run in which much goes wrong: what laws look like when all their terms count."""
    hard = (
        HARD
        if workload != "udp_stream"
        else HARD | {"remote.nic.rx_fifo_bytes": 8192, "remote.driver.rx_reap_cycles": 16000.0}
    )
    return observe(workload, hard, 0.0317).end
