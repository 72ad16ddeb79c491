"""Which number of a simulated run answers to which published quantity.

A published row names a side and a quantity; a run has a summary. Each function here takes the summary of one
workload and returns the row's number in the row's unit. Interrupt totals belong to a session, the tests of
one boot together, and are sums over its workloads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from nicperf.experiments.config import Workload

Summary = Mapping[str, float]
Reading = Callable[[Summary, str, Workload], float]

MESSAGE = "workload.message_bytes"


def _throughput(summary: Summary, side: str, workload: Workload) -> float:
    # netperf's UDP sender reports what it handed to the socket, whether or not it arrived; a TCP test ends
    # when the receiver has everything, so both sides are one number.
    sent = side == "local" and workload.workload.startswith("udp")
    return summary["sent_mbit_s" if sent else "throughput_mbit_s"]


def _cpu(summary: Summary, side: str, workload: Workload) -> float:
    return summary[f"cpu_percent_{side}"]


def _service_demand(summary: Summary, side: str, workload: Workload) -> float:
    return summary[f"service_demand_us_per_kb_{side}"]


def _messages(summary: Summary, side: str, workload: Workload) -> float:
    bits = _throughput(summary, side, workload) * 1e6 * workload.elapsed_s
    return bits / 8 / float(workload.settings[MESSAGE])


def _interrupts(summary: Summary, side: str, workload: Workload) -> float:
    # The interrupts of booting, and those of other devices on the line, are not modelled.
    return summary[f"interrupts_per_s_{side}"] * workload.elapsed_s


def _packets(summary: Summary, side: str, workload: Workload) -> float:
    # An XDP program counts the frames it has seen: all that the driver took from its ring.
    return summary[f"rx_frames_per_s_{side}"]


QUANTITIES: Mapping[str, Reading] = {
    "throughput_mbit_s": _throughput,
    "cpu_percent": _cpu,
    "service_demand_us_per_kb": _service_demand,
    "messages": _messages,
    "interrupts_total": _interrupts,
    "packets_per_s": _packets,
    "packets_kpps": lambda summary, side, workload: _packets(summary, side, workload) / 1000,
}
SUMMED_OVER_A_SESSION = frozenset({"interrupts_total"})
