"""A run in the words of the tools that people post: netperf's classic layout and iperf2's report."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from nicperf.errors import ScenarioError

if TYPE_CHECKING:
    import pandas as pd

    from nicperf.simulation.scenario import Scenario

_BANNER = "{test} TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to remote (192.0.2.2) port 0 AF_INET\n"
_TESTS = {
    "udp_stream": "UDP UNIDIRECTIONAL SEND",
    "tcp_stream": "TCP STREAM",
    "tcp_sendfile": "TCP SENDFILE",
}
_UDP_HEADER = """\
Socket  Message  Elapsed      Messages                   CPU      Service
Size    Size     Time         Okay Errors   Throughput   Util     Demand
bytes   bytes    secs            #      #   10^6bits/sec % SS     us/KB

"""
_TCP_HEADER = """\
Recv   Send    Send                          Utilization       Service Demand
Socket Socket  Message  Elapsed              Send     Recv     Send    Recv
Size   Size    Size     Time     Throughput  local    remote   local   remote
bytes  bytes   bytes    secs.    10^6bits/s  % S      % S      us/KB   us/KB

"""
_RULER = "-" * 60 + "\n"


def netperf(
    sc: Scenario, s: Mapping[str, float], time_s: float, messages_local: int, messages_remote: int
) -> str:
    """Print what netperf 2.4 does with ``-c -C``, from a run's summary, time and messages of both sides."""
    local, remote = sc.host("local"), sc.host("remote")
    # netperf prints -1 for what it could not work out.
    cpu = [s[f"cpu_percent_{side}"] for side in ("local", "remote")]
    demand = [s[f"service_demand_us_per_kb_{side}"] for side in ("local", "remote")]
    demand = [-1.0 if math.isnan(value) else value for value in demand]
    size = local["workload"].message_bytes
    banner = _BANNER.format(test=_TESTS[sc.workload])
    if sc.workload == "udp_stream":
        buffers = local["socket"].udp_send_buffer_bytes, remote["socket"].udp_receive_buffer_bytes
        return (
            f"{banner}{_UDP_HEADER}"
            f"{buffers[0]:6d}  {size:6d}   {time_s:<7.2f}   {messages_local:7d} {0:6d}"
            f"    {s['sent_mbit_s']:7.1f}     {cpu[0]:<6.2f}   {demand[0]:<6.3f}\n"
            f"{buffers[1]:6d}           {time_s:<7.2f}   {messages_remote:7d}       "
            f"    {s['throughput_mbit_s']:7.1f}     {cpu[1]:<6.2f}   {demand[1]:<6.3f}\n\n"
        )
    buffers = remote["socket"].tcp_window_bytes, local["socket"].tcp_send_buffer_bytes
    return (
        f"{banner}{_TCP_HEADER}"
        f"{buffers[0]:6d} {buffers[1]:6d} {size:6d}    {time_s:<6.2f}     {s['throughput_mbit_s']:7.2f}"
        f"   {cpu[0]:<6.2f}   {cpu[1]:<6.2f}   {demand[0]:<6.3f}  {demand[1]:<6.3f}\n"
    )


def iperf(sc: Scenario, timeline: pd.DataFrame) -> str:
    """Print the report of an iperf 2.1 server, with an interval for each slice of the timeline.

    Raises
    ------
    ScenarioError
        The workload is UDP.
    """
    if sc.workload == "udp_stream":
        raise ScenarioError(
            "iperf's UDP report has jitter, which the model does not measure",
            place="scenario",
            field="workload",
            value=sc.workload,
            cure="use to_netperf",
        )
    window_bytes = sc.host("remote")["socket"].tcp_window_bytes
    lines = [
        "Server listening on TCP port 5001\n",
        f"TCP window size: {_scaled(window_bytes, 1024)}Byte\n",
        _RULER,
        "[  1] local 192.0.2.2 port 5001 connected with 192.0.2.1 port 49153\n",
        "[ ID] Interval       Transfer     Bandwidth\n",
    ]
    ends = timeline["t_s"].tolist()
    rates = timeline["throughput_mbit_s"].tolist()
    reports = list(zip([0.0, *ends], ends, rates, strict=False))
    if len(reports) > 1:
        reports.append((0.0, ends[-1], sum(rates) / len(rates)))
    for start_s, end_s, mbit_s in reports:
        transfer = _scaled(mbit_s * 1e6 / 8 * (end_s - start_s), 1024)
        rate = _scaled(mbit_s * 1e6, 1000)
        lines.append(f"[  1] {start_s:.4f}-{end_s:.4f} sec  {transfer}Bytes  {rate}bits/sec\n")
    return _RULER + "".join(lines)


def _scaled(value: float, base: int) -> str:
    """Three digits and a prefix, as iperf prints amounts (base 1024) and rates (base 1000)."""
    prefixes = iter(("", "K", "M", "G", "T"))
    prefix = next(prefixes)
    while value >= base and prefix != "T":
        value /= base
        prefix = next(prefixes)
    decimals = 2 if value < 9.995 else 1 if value < 99.95 else 0
    return f"{value:4.{decimals}f} {prefix}"
