"""Whatever is switched on the Armada XP: the ring's rules, the count of descriptors, and each mapping undone once."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ..unit.pairs import total, watch

CHOICES: dict[str, list[Any]] = {
    "driver.segmentation": ["tso", "gso", "none"],
    "driver.tx_ring": [434, 1024],
    "driver.tso_segments": [2, 30],
    "driver.tx_coalesce_count": [0, 100],
    "driver.rx_coalesce_frames": [0],
    "driver.rx_coalesce_us": [10.0],
    "driver.rx_copybreak_bytes": [0],
    "driver.xmit_more": [True],
    "driver.bql": [True],
    "driver.map_failure_calls": [211],
    "driver.tso_off_s": [0.001],
    "driver.tso_on_s": [0.003],
    "nic.handover": ["owner_bit"],
    "nic.coalesce_unit": ["descriptors"],
    "nic.sliver_bytes": [8],
    "local.nic.tx_fifo_bytes": [2048],
    "local.nic.dma_mbyte_s": [90.0],
    "local.dma.coherent": [False],
    "local.cpu.process_core": ["same"],
    "local.cpu.frequency_mhz": [200.0],
    "local.cpu.jitter_percent": [0.0, 50.0],
    "local.stack.fragment_bytes": [1000, 32768],
    "local.stack.qdisc_packets": [2],
    "local.socket.tsq_bytes": [0],
    "local.socket.tcp_send_buffer_bytes": [1 << 22],
    "local.socket.nodelay": [True],
    "socket.tcp_window_bytes": [30000, 1 << 22],
    "socket.tcp_timestamps": [False],
    "socket.rto_us": [1000.0],
    "wire.rate_mbit_s": [100.0, 10000.0],
    "wire.mtu_bytes": [576],
    "workload.message_bytes": [1, 3000, 131072],
}
CHANGES = [(name, value) for name, values in CHOICES.items() for value in values]


@given(
    st.lists(st.sampled_from(CHANGES), max_size=12, unique_by=lambda change: change[0]),
    st.sampled_from(["iperf", "iperf", "udp_stream"]),
    st.integers(0, 3),
)
def test_holds(changes, workload: str, seed: int) -> None:
    params = {"socket.rto_us": 2000.0, **dict(changes)}
    if workload == "udp_stream":
        params["workload.message_bytes"] = min(params.get("workload.message_bytes", 3000), 3000)
    ring = params.get("driver.tx_ring", 532)
    fragment = params.get("local.stack.fragment_bytes", 4096)
    for at, peer in watch(params, 0.006, driver="mvneta", workload=workload, slices=60, seed=seed):
        assert 0 <= at["tx_ring"] < ring
        assert 0 <= at["tx_done"] <= at["tx_ring"]
        held = at["tx_ring"] - at["tx_done"] - at["tx_owned"]
        assert held == 0 or (0 < held <= 255 and params.get("driver.xmit_more"))
        assert at["tx_descriptors"] == at["tx_completions"] + at["tx_ring"] - at["tx_done"]
        assert at["tx_descriptors"] <= 2 * at["tx_segments"] + at["tx_calls"] * (2 + 65536 // fragment)
        assert 0 <= at["dma_maps"] - at["dma_unmaps"] <= at["tx_ring"]
        assert at["wrong_unmaps"] == at["lost_maps"] == at["tx_corrupt"] == at["tx_truncated"] == 0
        if "driver.map_failure_calls" not in params and at["tx_dropped"] == 0 and workload == "iperf":
            heads = at["tx_segments"] - at["header_copies"]
            assert at["dma_maps"] == at["tx_pieces"] + heads - at["sliver_copies"]
        if at["tx_ring"] == 0:
            assert at["dma_maps"] == at["dma_unmaps"]
            assert at["tx_skbs_freed"] == at["tx_calls"] - at["tx_dropped"]
        assert at["rx_credit"] + at["rx_ring"] == 128
        arrived = peer["rx_frames"] + peer["rx_fifo"] + peer["rx_fifo_drops"]
        assert 0 <= at["tx_frames"] - arrived <= at["tx_ring"]
        busy = sum(at[f"busy_ps.{context}"] for context in ("hard_irq", "soft_irq", "process"))
        assert total(at, "ledger_ps.", "") == busy + at["cpu_left_ps"]
