"""Every parameter may take its smallest and its largest value: no sum or product leaves its integer."""

from __future__ import annotations

from typing import Any

import pytest

from nicperf.simulation import parameters, simulate

WORKLOADS = ("udp_stream", "tcp_stream", "tcp_sendfile")
BOTH_HOSTS = {name: p for name, p in parameters("velocity").items() if p.kind in ("float", "int")}


def largest_message(workload: str) -> dict[str, Any]:
    return {
        "workload.message_bytes": 65507 if workload == "udp_stream" else 1 << 20,
        "workload.send_buffers": 4096,
    }


@pytest.mark.parametrize("workload", WORKLOADS)
def test_more_send_buffers_than_32_bits_count(workload: str) -> None:
    assert simulate("velocity", workload, largest_message(workload), duration_s=0.002).data_frames >= 0


@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("name", BOTH_HOSTS)
def test_ends_of_the_range(name: str, workload: str) -> None:
    p = BOTH_HOSTS[name]
    for value in (p.low, p.high):
        if workload == "udp_stream" and name == "workload.message_bytes":
            value = min(value, 65507)
        run = simulate("velocity", workload, {name: value}, duration_s=0.002, warmup_s=0.0)
        assert run.summary["throughput_mbit_s"] >= 0
