"""The headline figures of runs, computed from what their counters rose by."""

from __future__ import annotations

from typing import Any

import numpy as np

from nicperf.engine.ledger import CONTEXTS
from nicperf.parts.bus import USES
from nicperf.simulation._run import widths
from nicperf.simulation.systems import COMMON_COUNTERS, SIDES, System

# Columns of the snapshot rows, in the order of the struct in _host.pxd.
HOST_COUNTERS = tuple(
    """
    interrupts polls softirqs wakeups tx_frames rx_frames qdisc_drops backlog_drops reassembly_drops
    socket_drops tx_stops tx_wakes retransmits sent_bytes received_bytes messages
    acks_sent acks_received window_updates delivered latency_ps
    """.split()
)


def block_of(system: System, rows: np.ndarray, name: str) -> np.ndarray:
    """The columns of one block of counters: a view of `rows`, whose last axis has all of them."""
    start = 0
    for other, width in widths(system.device_width).items():
        if other == name:
            return rows[..., start : start + width]
        start += width
    raise KeyError(name)


def received_bytes(rows: np.ndarray) -> np.ndarray:
    """Payload that reached the receiving socket in each slice; `rows` as of `nicperf.simulation.Run`."""
    return np.diff(rows[:, 1, HOST_COUNTERS.index("received_bytes")])  # the host's block is the first


def summarise(system: System, change: np.ndarray, seconds: Any) -> dict[str, Any]:
    """Headline figures, per second of simulated time.

    Parameters
    ----------
    system : System
        Whose counters they are.
    change : int64 array, shape (..., 2, n)
        What every counter of (local, remote) rose by during the measurement, of one run or of many.
    seconds : float, or float array of shape (...)
        Simulated time measured.

    Returns
    -------
    dict
        Name with unit -> float or float array of shape (...). `throughput_mbit_s` is what reached the
        receiving socket, `sent_mbit_s` what the sending one took; `process_cpu_percent` is the part of
        `cpu_percent` that the process took, without interrupts and softirqs; service demand is netperf's: busy
        microseconds per 1024 bytes received, NaN where nothing was; `frame_latency_us` the mean time of data
        frames from the sending driver to the receiving protocol, NaN where none arrived.
    """
    host = dict(zip(HOST_COUNTERS, np.moveaxis(block_of(system, change, "host"), -1, 0), strict=True))
    common = block_of(system, change, "device")[..., : len(COMMON_COUNTERS)]
    device = dict(zip(COMMON_COUNTERS, np.moveaxis(common, -1, 0), strict=True))
    by_context_ps = block_of(system, change, "other")[..., : len(CONTEXTS)]
    busy_s = by_context_ps.sum(axis=-1) * 1e-12
    bus_ps = block_of(system, change, "bus")[..., : len(USES)].sum(axis=-1)
    received = host["received_bytes"][..., 1]
    received_kb = np.where(received > 0, received / 1024, np.nan)
    out = {
        "throughput_mbit_s": received * 8e-6 / seconds,
        "sent_mbit_s": host["sent_bytes"][..., 0] * 8e-6 / seconds,
    }
    for i, side in enumerate(SIDES):
        out[f"cpu_percent_{side}"] = 100 * busy_s[..., i] / seconds
        out[f"process_cpu_percent_{side}"] = 1e-10 * by_context_ps[..., i, -1] / seconds
        out[f"service_demand_us_per_kb_{side}"] = busy_s[..., i] * 1e6 / received_kb
        out[f"interrupts_per_s_{side}"] = host["interrupts"][..., i] / seconds
        out[f"rx_frames_per_s_{side}"] = host["rx_frames"][..., i] / seconds
        out[f"bus_percent_{side}"] = 100 * bus_ps[..., i] * 1e-12 / seconds
        out[f"dma_gap_percent_{side}"] = 100 * device["gap_ps"][..., i] * 1e-12 / seconds
    delivered = np.where(host["delivered"][..., 1] > 0, host["delivered"][..., 1], np.nan)
    out["frame_latency_us"] = host["latency_ps"][..., 1] * 1e-6 / delivered
    out["frames_per_s"] = host["tx_frames"][..., 0] / seconds
    out["wire_percent"] = 100 * device["wire_busy_ps"][..., 0] * 1e-12 / seconds
    return out
