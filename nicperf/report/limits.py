"""What wire, bus and CPU would allow at most for each published throughput, before anything is fitted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from nicperf.analytic.bus import ParallelBus, burst_mbyte_s
from nicperf.analytic.ceilings import exchanges_per_s, tcp_goodput_mbit_s, udp_fragments, udp_goodput_mbit_s
from nicperf.charts.labels import SIDES
from nicperf.report.sweeps import setting
from nicperf.report.table import Table
from nicperf.simulation import parameters
from nicperf.tables.ethernet import HEADER_BYTES, MTU_BYTES

if TYPE_CHECKING:
    from nicperf.experiments import Experiment

TCP_PAYLOAD = 1448
TCP_HEADERS = MTU_BYTES - TCP_PAYLOAD


def ceilings(exp: Experiment) -> pd.DataFrame:
    """Closed-form ceilings of each published throughput.

    Parameters
    ----------
    exp : Experiment
        Only its published figures and unfitted settings are used.

    Returns
    -------
    pandas.DataFrame
        `configuration, workload, resource, published, ceiling`, in Mbit/s. The wire's is the share of payload
        in full frames, for exchanges that of the requests. The bus's holds the frames' bytes in bursts of the
        configured length and nothing else. The CPU's is the published rate scaled to a busy CPU, where a load was
        published. Writes shorter than a segment have two more, which hold if TCP sends each as it comes: on the
        wire, and at the highest rate of packets that the experiment has published for anything.
    """
    figures = exp.figures
    counted = figures.loc[(figures["quantity"] == "packets_per_s") & (figures["kind"] == "measured"), "value"]
    rows = []
    for configuration in exp.configurations:
        for workload, spec in exp.workloads.items():
            own = figures[(figures["configuration"] == configuration) & (figures["workload"] == workload)]
            value = {(f["quantity"], f["side"]): f["value"] for f in own.to_dict("records")}
            link_mbit_s = float(setting(exp, configuration, workload, "wire.rate_mbit_s"))
            if ("transactions_per_s", "local") in value:
                request_bytes = int(setting(exp, configuration, workload, "workload.request_bytes"))
                most = exchanges_per_s(request_bytes, link_mbit_s=link_mbit_s)
                pair = (value["transactions_per_s", "local"], most)
                published, ceiling = (8e-6 * request_bytes * per_s for per_s in pair)
                place = {"configuration": configuration, "workload": workload, "resource": "wire"}
                rows.append({**place, "published": published, "ceiling": ceiling})
            # nocache-2014 heads a column of Mb/s with Gb/s.
            names = [("throughput_mbit_s", side) for side in ("local", "both")] + [
                ("throughput_gbit_s", "local")
            ]
            rate = next((value[name] for name in names if name in value), None)
            if rate is None:
                continue
            udp = spec.workload.startswith("udp")
            message_bytes = int(setting(exp, configuration, workload, "workload.message_bytes"))
            goodput = (
                udp_goodput_mbit_s(message_bytes, link_mbit_s=link_mbit_s)
                if udp
                else tcp_goodput_mbit_s(link_mbit_s=link_mbit_s)
            )
            found = {"wire": goodput}
            if "bus.read_line_bytes" in parameters(exp.config.driver):
                found["bus"] = _bus(exp, configuration, workload, udp, message_bytes)
            for side, who in SIDES.items():
                if ("cpu_percent", side) in value:
                    found[f"CPU, {who}"] = 100 * rate / value["cpu_percent", side]
            if not udp and message_bytes < TCP_PAYLOAD:
                found["wire, a packet per write"] = tcp_goodput_mbit_s(message_bytes + TCP_HEADERS)
                if len(counted):
                    found["receiver, a packet per write"] = 8e-6 * message_bytes * counted.max()
            head = {"configuration": configuration, "workload": workload, "published": rate}
            rows += [{**head, "resource": name, "ceiling": ceiling} for name, ceiling in found.items()]
    return pd.DataFrame(rows)


def cycles(exp: Experiment) -> Table:
    """CPU cycles that a full segment may take, if each published CPU load was seen at the rate of the wire.

    Parameters
    ----------
    exp : Experiment
        Only its published figures and unfitted settings are used.

    Returns
    -------
    Table
        A slower run leaves more for each segment.
    """
    per_s = tcp_goodput_mbit_s() * 1e6 / 8 / TCP_PAYLOAD
    rows = []
    for figure in exp.figures.query("quantity == 'cpu_percent'").to_dict("records"):
        side, configuration = figure["side"], figure["configuration"]
        cores = exp.config.cores.get(side, 1)
        mhz = setting(exp, configuration, figure["workload"], f"{side}.cpu.frequency_mhz")
        used = cores * figure["value"] / 100
        rows.append(
            {
                "configuration": configuration,
                "CPU (%)": figure["value"],
                "cores": cores,
                "MHz": mhz,
                "segments per s": per_s,
                "ns per segment": 1e9 * used / per_s,
                "cycles per segment": 1e6 * mhz * used / per_s,
            }
        )
    return Table(pd.DataFrame(rows), "Time for a segment, if iperf filled the wire")


def _bus(exp: Experiment, configuration: str, workload: str, udp: bool, message_bytes: int) -> float:
    """Payload rate that the sender's bus carries when it moves nothing but frames."""
    bus = ParallelBus()
    burst = setting(exp, configuration, workload, "nic.dma_burst_dwords")
    line = setting(exp, configuration, workload, "bus.read_line_bytes") // bus.width_bytes
    limits = [words for words in (burst, line) if words]
    frames = udp_fragments(message_bytes) if udp else [MTU_BYTES]
    moved = sum(size + HEADER_BYTES for size in frames)
    payload = message_bytes if udp else TCP_PAYLOAD
    words = min(limits) if limits else -(-max(frames) // bus.width_bytes)
    return 8 * burst_mbyte_s(words, bus) * payload / moved
