"""A super-packet on its way to the wire: its descriptors, its counts in a run, and its segments."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import altair as alt
import pandas as pd

from nicperf import charts
from nicperf.packets import Descriptor, checksum, segment
from nicperf.report.table import Table

if TYPE_CHECKING:
    from nicperf.experiments import Experiment

MSS_BYTES = 1448
ETHERNET_BYTES, IP_BYTES, TCP_BYTES = 14, 20, 32
HEADER_BYTES = ETHERNET_BYTES + IP_BYTES + TCP_BYTES
FLAGS = {"FIN": 1, "RST": 4, "PSH": 8, "ACK": 16, "ECE": 64, "CWR": 128}

# What a run counts, in the order in which a packet meets it. Calls stand in the ledger of CPU time.
CALLS = {"passes through the device queue": "qdisc"}
COUNTED = {
    "sk_buffs cut by GSO": "gso_segments",
    "page references taken": "page_references",
    "calls of the driver": "tx_calls",
    "headers built in header memory": "header_copies",
    "buffers mapped for DMA": "dma_maps",
    "descriptors": "tx_descriptors",
    "doorbells": "doorbells",
    "sk_buffs freed by the driver": "tx_skbs_freed",
    "transmit interrupts": "tx_interrupts",
    "interrupts, received ACKs included": "interrupts",
}


def ring(
    exp: Experiment, ways: Mapping[str, str], title: str, segments: int = 45, fragment_bytes: int = 4096
) -> alt.FacetChart:
    """Draw the descriptors of one super-packet whose payload begins on a page.

    Parameters
    ----------
    exp : Experiment
        Of a driver with `driver.segmentation`.
    ways : mapping
        Name of a row -> configuration.
    title : str
        The question.
    segments : int
        Full segments in it.
    fragment_bytes : int
        Size of its page fragments.

    Returns
    -------
    altair.FacetChart
    """
    packet = super_frame(bytes(MSS_BYTES * segments))
    memory = [packet[:HEADER_BYTES]]
    memory += [packet[at : at + fragment_bytes] for at in range(HEADER_BYTES, len(packet), fragment_bytes)]
    frames = []
    for way, configuration in ways.items():
        params = exp.scenario(configuration, next(iter(exp.workloads)))["params"]
        tso = params["driver.segmentation"] == "tso"
        done = segment(memory, MSS_BYTES, dialect="tso" if tso else "gso", checksums="none")
        rows = pd.DataFrame(
            done.descriptors.tolist(), columns=["fragment", "offset", "length_bytes", "flags"]
        )
        header = rows["fragment"] < 0
        head = "header memory" if tso else "mapped header"
        last = (rows["flags"] & int(Descriptor.LAST)) > 0
        frames.append(
            pd.DataFrame(
                {
                    "way": way,
                    "slot": rows.index,
                    "kind": header.map({True: head, False: "payload"}),
                    "segment": ((rows["flags"] & int(Descriptor.FIRST)) > 0).cumsum(),
                    "length_bytes": rows["length_bytes"],
                    "last_of_call": rows.index == len(rows) - 1 if tso else last,
                }
            )
        )
    return charts.ring(pd.concat(frames, ignore_index=True), title=title)


def counts(exp: Experiment, workload: str, configurations: Sequence[str], segments: int = 45) -> Table:
    """What a run counts for each super-packet, or as many segments.

    Parameters
    ----------
    exp : Experiment
        With a stored fit.
    workload : str
        One of the experiment.
    configurations : sequence of str
        A column each.
    segments : int
        Segments that the counts are for.

    Returns
    -------
    Table
        Mean over the whole run; the last row is the sender's CPU time.
    """
    columns: dict[str, Any] = {}
    for name in configurations:
        run = exp.simulate(name, workload)
        counted = run.counters.query("side == 'local'").set_index("counter")["value"]
        costs = run.costs.query("side == 'local'")
        calls = costs.groupby("operation")["calls"].sum()
        share = segments / counted["tx_segments"]
        columns[name] = [
            *(calls[operation] * share for operation in CALLS.values()),
            *(counted[counter] * share for counter in COUNTED.values()),
            costs["ns_per_frame"].sum() * segments / 1000,
        ]
    index = [*CALLS, *COUNTED, "CPU time, µs"]
    frame = pd.DataFrame({f"for {segments} segments": index, **columns})
    return Table(frame, f"Counted in the run, for {segments} segments of {MSS_BYTES} bytes")


def segments(title: str, payload_bytes: int = 4 * MSS_BYTES - 500, flags: str = "ACK PSH CWR") -> Table:
    """Segments of one super-packet as the kernel's GSO and as the driver's TSO make them.

    Parameters
    ----------
    title : str
        Caption.
    payload_bytes : int
        Payload of the super-packet.
    flags : str
        Its TCP flags.

    Returns
    -------
    Table
        One row for each segment. The checksums are those of IP and TCP, summed over again.
    """
    frame = super_frame(bytes(i % 251 for i in range(payload_bytes)), sum(FLAGS[f] for f in flags.split()))
    pairs = zip(*(segment(frame, MSS_BYTES, dialect=d).frames() for d in ("gso", "tso")), strict=True)
    rows = []
    for number, (gso, tso) in enumerate(pairs, 1):
        identification, sequence = struct.unpack_from(">H18xI", gso, ETHERNET_BYTES + 4)
        rows.append(
            {
                "segment": number,
                "frame bytes": len(gso),
                "IP id": str(identification),
                "sequence": f"{sequence:,}",
                "flags, kernel's GSO": _flags(gso),
                "flags, driver's TSO": _flags(tso),
                "checksums right": _sums_are_right(gso) and _sums_are_right(tso),
                "bytes that differ": sum(a != b for a, b in zip(gso, tso, strict=True)),
            }
        )
    return Table(pd.DataFrame(rows), title)


def super_frame(payload: bytes, flags: int = FLAGS["ACK"] | FLAGS["PSH"]) -> bytes:
    """A TCP super-packet with Ethernet and IPv4 headers and the timestamp option; checksums are left to the segmenter."""
    length = IP_BYTES + TCP_BYTES + len(payload)
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, length, 65534, 0x4000, 64, 6, 0, b"\x0a\0\0\1", b"\x0a\0\0\2")
    tcp = struct.pack(">HHIIBBHHH", 49152, 5001, 1000, 1, 16 * TCP_BYTES // 4, flags, 512, 0, 0)
    options = struct.pack(">BBBBII", 1, 1, 8, 10, 1, 1)
    return bytes.fromhex("020000000002 020000000001 0800") + ip + tcp + options + payload


def _flags(frame: bytes) -> str:
    bits = frame[ETHERNET_BYTES + IP_BYTES + 13]
    return " ".join(name for name, bit in FLAGS.items() if bits & bit)


def _sums_are_right(frame: bytes) -> bool:
    """Whether IP header and TCP segment, each with its checksum, sum up to nothing."""
    ip, tcp = frame[ETHERNET_BYTES:][:IP_BYTES], frame[ETHERNET_BYTES + IP_BYTES :]
    pseudo = ip[12:20] + struct.pack(">HH", ip[9], len(tcp))
    return checksum(ip) == checksum(pseudo + tcp) == 0
