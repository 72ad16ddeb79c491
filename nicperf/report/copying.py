"""Copies through the caches and around them: where the published one lies, and what another machine's prices would do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from nicperf.experiments.quantities import QUANTITIES
from nicperf.report.table import Table

if TYPE_CHECKING:
    from nicperf.experiments import Experiment
    from nicperf.live import CopyResult

DEMAND = "demand_cycle_per_byte"


def stream_place() -> pd.DataFrame:
    """Where the copies of one stream over 10 Gbit/s lie on a `charts.copy_map`.

    Returns
    -------
    pandas.DataFrame
        `size_bytes` of netperf's sends and the range `low_bytes`..`high_bytes` of the memory that they go round in.

    Source
    ------
    netperf sends as much as the socket's first buffer holds, 16 KiB. Below TCP of Linux 3.12 are one to two packets
    (128 KiB, with the socket's own queue 0.3 MB) up to the 14 super-packets that commit c9eeec26e32e mentions
    for such a flow (0.9 MB, with the queue 1.2 MB).
    """
    return pd.DataFrame({"size_bytes": [16384], "low_bytes": [300_000], "high_bytes": [1_200_000]})


def machine(measured: CopyResult, exp: Experiment, workload: str) -> Table:
    """Put another machine's copies into an experiment.

    Parameters
    ----------
    measured : CopyResult
        From `nicperf.live.run_copy` or `read_copy`.
    exp : Experiment
        With the configurations `off` and `on`, and a stored fit.
    workload : str
        A stream.

    Returns
    -------
    Table
        Cycles per byte with the experiment's copies and with the measured ones; a cycle of the measured copies is
        one of that machine's time-stamp counter, everything else stays as it was.
    """
    rows = []
    for name, prices in (("as fitted", {}), (measured.machine["processor"], measured.copies_parameters())):
        demand = {
            mode: QUANTITIES[DEMAND](
                exp.simulate(mode, workload, **prices).summary, "local", exp.workloads[workload]
            )
            for mode in ("off", "on")
        }
        change = 100 * (demand["on"] / demand["off"] - 1)
        rows.append({"copies": name, **demand, "change": change})
    titles = {"off": "off (cycle/B)", "on": "on (cycle/B)", "change": "change (%)"}
    return Table(pd.DataFrame(rows), "The stream of 2014 with other copies", titles)
