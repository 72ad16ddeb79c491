"""Whatever is set on the adapter of 10 Gbit/s: rings, time and bytes are accounted for, on one core and on many."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ..unit.pairs import total, watch

CHOICES: dict[str, list[Any]] = {
    "nic.tx_ring": [64],
    "nic.rx_ring": [64, 4096],
    "nic.tso": [False],
    "nic.rsc": [False],
    "nic.pause": [False],
    "nic.pause_above_bytes": [0, 40000],
    "remote.nic.rx_fifo_bytes": [70000],
    "nic.pcie_mbyte_s": [300.0],
    "driver.itr": ["fixed"],
    "driver.itr_us": [1.0, 300.0],
    "local.cpu.process_core": ["other"],
    "local.cpu.handover_cycles": [800.0],
    "remote.cpu.frequency_mhz": [150.0],
    "cpu.jitter_percent": [0.0, 50.0],
    "cpu.cores": [1, 3, 8],
    "wire.rate_mbit_s": [1000.0, 40000.0],
    "wire.mtu_bytes": [576],
    "wire.buffer_bytes": [50.0, 20000.0, 200000.0],
    "local.stack.qdisc_packets": [2],
    "socket.tcp_window_bytes": [30000],
    "socket.tail_probe_us": [300.0],
    "socket.delayed_ack_us": [100.0],
    "workload.message_bytes": [1, 100000],
    "workload.instances": [1, 150],
    "workload.request_bytes": [1400, 14000, 300000],
    "workload.response_bytes": [1448, 14000],
    "workload.receive_bytes": [1000],
}
CHANGES = [(name, value) for name, values in CHOICES.items() for value in values]


@given(
    st.lists(st.sampled_from(CHANGES), max_size=12, unique_by=lambda change: change[0]),
    st.sampled_from(["tcp_stream", "tcp_rr"]),
    st.integers(0, 3),
)
def test_holds(changes: list[tuple[str, Any]], workload: str, seed: int) -> None:
    params = {
        "socket.rto_us": 1500.0,
        "socket.syn_timeout_us": 2000.0,
        "workload.instances": 10,
        **dict(changes),
    }
    params |= {"workload.window_s": 0.003, "workload.start_skew_s": 0.001}
    cores = params.get("cpu.cores", 4) if workload == "tcp_rr" else 1
    rings = {name: cores * params.get(f"nic.{name}", 512) for name in ("tx_ring", "rx_ring")}
    for at, (local, remote) in enumerate(
        watch(params, 0.006, driver="ixgbe", workload=workload, slices=20, seed=seed)
    ):
        for side, other in ((local, remote), (remote, local)):
            # Descriptors: the driver's, the NIC's, and those that wait for the poll.
            assert 0 <= side["tx_ring"] <= rings["tx_ring"]
            assert side["tx_done"] + side["tx_owned"] == side["tx_ring"]
            assert side["rx_credit"] + side["rx_ring"] + side["rx_returned"] == rings["rx_ring"]
            # Frames: what the wire carried has arrived, or waits, or was dropped by name.
            assert side["tx_completions"] <= side["tx_packets"]
            assert side["lost_packets"] <= side["tx_packets"]
            assert other["rx_frames"] <= side["tx_frames"]
            # Time: every core is busy or idle, and has been charged for what it does.
            busy = total(side, "busy_ps.", "") + side["cpu_idle_ps"]
            now_ps = round(at * 0.006e12 / 20)
            assert busy + side["process_cpu_idle_ps"] in (cores * now_ps, 2 * cores * now_ps)
            charged = total(side, "ledger_ps.", "")
            assert charged == total(side, "busy_ps.", "") + side["cpu_left_ps"]
            assert side["itr_lowest"] + side["itr_low"] + side["itr_bulk"] <= side["polls"]
        # Bytes: nothing is received that was not sent, and each only once.
        assert remote["received_bytes"] <= local["sent_bytes"] + (1 << 20 if workload == "tcp_stream" else 0)
        if workload == "tcp_rr":
            assert local["received_bytes"] <= remote["sent_bytes"]
            assert local["messages"] <= remote["messages"]
        assert 0 <= local["allocated"] - local["freed"] < 32768
        assert (
            local["wire_busy_ps"]
            <= round(at * 0.006e12 / 20) + 60e9 / params.get("wire.rate_mbit_s", 10000) * 1e4
        )
