"""A closed loop under several explanations: its figures beside the published ones, and the tails of its latencies."""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import pandas as pd

from nicperf import charts
from nicperf.report.table import Table
from nicperf.simulation.exchanges import PERCENTS

if TYPE_CHECKING:
    from nicperf.experiments import Experiment
    from nicperf.simulation import Run

TITLES = {
    "transactions_per_s": "transactions, own windows (1/s)",
    "transactions_per_s_of_the_whole": "over the whole test (1/s)",
    "latency_mean_us": "mean (µs)",
    **{f"latency_p{p}_us": f"p{p} (µs)" for p in PERCENTS},
    "stalls_percent": "100 ms and longer (%)",
}
#: Steps of a line per decade of latency: finer would only make the page larger.
STEPS_PER_DECADE = 16


class Loops:
    """Runs of one closed loop, each under another explanation.

    Parameters
    ----------
    exp : Experiment
        With a stored fit.
    configuration, workload : str
        What was published.
    variants : mapping
        Name -> settings that differ from the experiment's own.
    """

    def __init__(
        self, exp: Experiment, configuration: str, workload: str, variants: Mapping[str, Mapping[str, Any]]
    ) -> None:
        def run(settings: Mapping[str, Any]) -> Run:
            return exp.simulate(configuration, workload, **settings)

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            self.runs: dict[str, Run] = dict(zip(variants, pool.map(run, variants.values()), strict=True))
        figures = exp.figures.query("configuration == @configuration and workload == @workload")
        self.published: dict[str, float] = dict(
            zip(figures["quantity"], figures["value"].astype(float), strict=True)
        )
        self._instances = int(exp.workloads[workload].settings["workload.instances"])

    def table(self, caption: str) -> Table:
        """One row for what was published, and one for each explanation."""
        rate = self.published["transactions_per_s"]
        first = {"variant": "published", **self.published, "latency_mean_us": 1e6 * self._instances / rate}
        rows = [first, *({"variant": name, **run.summary} for name, run in self.runs.items())]
        frame = pd.DataFrame(rows)[["variant", *TITLES]]
        titles = {**TITLES, "variant": "", "latency_mean_us": "mean (µs; published: by Little's law)"}
        return Table(frame, caption, titles)

    def chart(self, title: str) -> alt.LayerChart:
        """Tails of the latency over all transactions; published percentiles hollow."""
        lines = [tail(run).assign(variant=name) for name, run in self.runs.items()]
        points = pd.DataFrame(
            [{"latency_us": self.published[f"latency_p{p}_us"], "slower_percent": 100 - p} for p in PERCENTS]
        )
        return charts.latency(pd.concat(lines, ignore_index=True), points, title=title)


def loops(
    exp: Experiment, configuration: str, workload: str, variants: Mapping[str, Mapping[str, Any]]
) -> Loops:
    """Run a closed loop under several explanations: see `Loops`."""
    return Loops(exp, configuration, workload, variants)


def tail(run: Run) -> pd.DataFrame:
    """Share of all transactions of a closed loop that took longer than so long.

    Returns
    -------
    pandas.DataFrame
        `latency_us`, `slower_percent`, at most `STEPS_PER_DECADE` rows per decade.
    """
    if run.exchanges is None:
        raise ValueError(f"{run.scenario.workload} is no closed loop")
    pooled = run.exchanges.pooled
    counts = pooled["transactions"].to_numpy(dtype=float)
    ends = (pooled["low_us"] + pooled["width_us"]).to_numpy()
    slower = 100 * (1 - np.cumsum(counts) / counts.sum())
    step = np.floor(STEPS_PER_DECADE * np.log10(ends))
    last = np.append(step[1:] != step[:-1], True)
    digits = {"latency_us": 1, "slower_percent": 4}
    return pd.DataFrame({"latency_us": ends[last], "slower_percent": slower[last].clip(min=0)}).round(digits)
