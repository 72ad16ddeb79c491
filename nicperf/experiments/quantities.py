"""Which number of a simulated run answers to which published quantity.

A published row names a side and a quantity; a run has a summary. Each function here takes the summary of one
workload and returns the row's number in the row's unit. Interrupt totals belong to a session, the tests of
one boot together, and are sums over its workloads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from nicperf.experiments.config import Workload

Summary = Mapping[str, float]
Reading = Callable[[Summary, str, Workload], float]

MESSAGE = "workload.message_bytes"
FREQUENCY = "local.cpu.frequency_mhz"
PROCESS_CORE = "local.cpu.process_core"


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


def _gcycle(summary: Summary, side: str, workload: Workload, *, of_process: bool) -> float:
    # perf counts what a processor does in the whole test; the one that serves the interrupts is the first, the
    # process is there too or has the second.
    process = summary[f"process_cpu_percent_{side}"]
    apart = workload.settings[PROCESS_CORE] == "other"
    percent = process if of_process else summary[f"cpu_percent_{side}"] - (process if apart else 0.0)
    return percent / 100 * _hz(workload) * workload.elapsed_s / 1e9


def _cycles_per_byte(summary: Summary, side: str, workload: Workload) -> float:
    bytes_per_s = _throughput(summary, side, workload) * 1e6 / 8
    return summary[f"cpu_percent_{side}"] / 100 * _hz(workload) / bytes_per_s


def _hz(workload: Workload) -> float:
    return float(workload.settings[FREQUENCY]) * 1e6


def _as_summarised(name: str) -> Reading:
    return lambda summary, side, workload: summary[name]


QUANTITIES: Mapping[str, Reading] = {
    "throughput_mbit_s": _throughput,
    "cpu_percent": _cpu,
    "service_demand_us_per_kb": _service_demand,
    "messages": _messages,
    "interrupts_total": _interrupts,
    "packets_per_s": _packets,
    "packets_kpps": lambda summary, side, workload: _packets(summary, side, workload) / 1000,
    # The post's column is headed Gb/s and holds Mb/s: the number as it is printed.
    "throughput_gbit_s": _throughput,
    "cpu0_gcycle": partial(_gcycle, of_process=False),
    "cpu1_gcycle": partial(_gcycle, of_process=True),
    "demand_cycle_per_byte": _cycles_per_byte,
    "transactions_per_s": _as_summarised("transactions_per_s"),
    **{name: _as_summarised(name) for name in (f"latency_p{p}_us" for p in (50, 90, 95, 99))},
}
SUMMED_OVER_A_SESSION = frozenset({"interrupts_total"})
