"""What a page_pool does over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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

SLICES = 20
LEVEL = "rx_pp_inflight"
# What the panels show, by what the driver counts.
COUNTED = {
    "rx_pp_alloc_slow": "pp_alloc_slow_per_ms",
    "rx_pp_alloc_refill": "pp_alloc_refill_per_ms",
    "rx_pp_recycle_cached": "pp_recycle_cached_per_ms",
    "rx_pp_recycle_ring": "pp_recycle_ring_per_ms",
    LEVEL: "pp_inflight_pages",
}


def pool(
    exp: Experiment,
    lines: Mapping[str, tuple[str, Mapping[str, Any]]],
    workloads: Sequence[str],
    title: str,
    duration_s: float = 0.02,
) -> alt.VConcatChart:
    """Draw the counters of the receiver's page_pool from the first packet on.

    Parameters
    ----------
    exp : Experiment
        Of a driver with a page_pool.
    lines : mapping
        Name of a line -> its configuration, and parameters that differ from it by dotted name.
    workloads : sequence of str
        Chosen by a list.
    title : str
        The question.
    duration_s : float
        Simulated time drawn; there is no warm-up.

    Returns
    -------
    altair.VConcatChart
        Counters per millisecond, and the pages that are out of the pool's hands or in its store.
    """
    frames = [
        _over_time(exp.scenario(configuration, workload, **more), duration_s).assign(
            workload=workload, line=line
        )
        for workload in workloads
        for line, (configuration, more) in lines.items()
    ]
    frame = pd.concat(frames, ignore_index=True)
    return charts.timeline(frame, list(COUNTED.values()), by="line", bound="workload", title=title)


def _over_time(scenario: Mapping[str, Any], duration_s: float) -> pd.DataFrame:
    run = simulate(**{**scenario, "warmup_s": 0.0, "duration_s": duration_s}, slices=SLICES)
    system = SYSTEMS[run.scenario.driver]
    rows = block_of(system, run.rows[:, 1], "device")
    step_ms = 1000 * duration_s / SLICES
    data = {"t_ms": step_ms * np.arange(1, SLICES + 1)}
    for counter, name in COUNTED.items():
        column = rows[:, system.counters[1].index(counter)]
        data[name] = column[1:] if counter == LEVEL else np.diff(column) / step_ms
    return pd.DataFrame(data)
