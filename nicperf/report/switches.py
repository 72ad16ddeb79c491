"""What happens when a run is changed while it goes on, or stops by itself."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import pandas as pd

from nicperf import charts
from nicperf.simulation import simulate
from nicperf.simulation.summary import block_of
from nicperf.simulation.systems import SYSTEMS

if TYPE_CHECKING:
    from nicperf.experiments import Experiment

SLICES = 50
COUNTED = {"header_copies": "header_copies_per_ms"}
# Each datagram is an sk_buff with one page's share, as ping's of the driver's later fix.
DATAGRAM = {"workload.message_bytes": 56, "local.socket.tx_truesize_bytes": 768}
RATE = "frames_per_s"


def switched(exp: Experiment, workload: str, off_s: float, on_s: float, title: str) -> alt.VConcatChart:
    """Draw a run in which TSO is switched off and on again.

    Parameters
    ----------
    exp : Experiment
        With a stored fit, of a driver with `driver.tso_off_s`.
    workload : str
        One of the experiment.
    off_s, on_s : float
        When, in simulated seconds without the warm-up.
    title : str
        The question.

    Returns
    -------
    altair.VConcatChart
        Throughput, CPU in percent of all processors, and what the driver counts per millisecond.
    """
    asked = exp.scenario("tso_on", workload)
    warmup_s = asked["warmup_s"]
    times = {"driver.tso_off_s": warmup_s + off_s, "driver.tso_on_s": warmup_s + on_s}
    run = simulate(**{**asked, "params": {**asked["params"], **times}}, slices=SLICES)
    frame = run.timeline
    frame["cpu_percent_local"] /= exp.config.cores.get("local", 1)
    system = SYSTEMS[asked["driver"]]
    rows = block_of(system, run.rows[:, 0], "device")
    step_ms = 1000 * asked["duration_s"] / SLICES
    for counter, name in COUNTED.items():
        frame[name] = np.diff(rows[:, system.counters[0].index(counter)]) / step_ms
    return charts.timeline(frame, ["throughput_mbit_s", "cpu_percent_local", *COUNTED.values()], title=title)


def stall(
    exp: Experiment, configuration: str, thresholds: Sequence[int], buffers_bytes: Sequence[int], title: str
) -> alt.LayerChart:
    """Draw how many short datagrams leave, over the completion threshold and the send buffer.

    Parameters
    ----------
    exp : Experiment
        With a stored fit, of a driver with `driver.tx_coalesce_count`.
    configuration : str
        The one that is varied.
    thresholds, buffers_bytes : sequence of int
        Settings of `driver.tx_coalesce_count` and of `local.socket.udp_send_buffer_bytes`.
    title : str
        The question.

    Returns
    -------
    altair.LayerChart
        A sender that waits for ever shows as 0.
    """
    x, y = "local.socket.udp_send_buffer_bytes", "driver.tx_coalesce_count"
    rows: list[dict[str, Any]] = []
    for buffer_bytes, threshold in itertools.product(buffers_bytes, thresholds):
        pair = {x: buffer_bytes, y: threshold}
        asked = exp.scenario(configuration, next(iter(exp.workloads)), **DATAGRAM, **pair)
        run = simulate(**{**asked, "workload": "udp_stream", "duration_s": asked["duration_s"] / 10})
        rows.append({**pair, RATE: run.summary[RATE]})
    return charts.sweep2d(pd.DataFrame(rows), x, y, RATE, title=title)
