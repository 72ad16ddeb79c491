"""Predicts published rows from runs. It is given the names of a row, never its value."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pandas as pd

from nicperf.experiments.config import Configuration, ExperimentConfig, Workload
from nicperf.experiments.model import Model
from nicperf.experiments.quantities import QUANTITIES, SUMMED_OVER_A_SESSION
from nicperf.experiments.scenario import settings

Vector = Mapping[str, float]
Ticker = Callable[[int], Any]


@dataclass(frozen=True)
class Row:
    """The names of one published figure, without its value."""

    id: str
    configuration: str
    workload: str
    side: str
    quantity: str


def rows_of(figures: pd.DataFrame) -> list[Row]:
    """Strip figures of everything but their names."""
    columns = ["id", "configuration", "workload", "side", "quantity"]
    return [Row(*map(str, values)) for values in figures[columns].itertuples(index=False)]


class Predictor:
    """Runs scenarios once each, over all seeds of the experiment, and remembers the summaries.

    The same seeds serve every parameter vector (common random numbers): what differs between two vectors is
    then their effect and not their luck.

    Parameters
    ----------
    config : ExperimentConfig
        The experiment.
    model : Model
        Releases the GIL while it simulates, so that threads run in parallel.
    threads : int, optional
        Default: one per core.
    """

    def __init__(self, config: ExperimentConfig, model: Model, threads: int | None = None) -> None:
        self.config = config
        self.model = model
        self.threads = threads or os.cpu_count() or 1
        self._known: dict[Any, dict[str, float]] = {}

    def predict(
        self, rows: Sequence[Row], vectors: Sequence[Vector], tick: Ticker | None = None
    ) -> list[list[float | None]]:
        """Predict each row for each parameter vector.

        Parameters
        ----------
        rows : sequence of Row
            Rows the model cannot express give None.
        vectors : sequence of mapping
            Values of free parameters.
        tick : callable, optional
            Called with 1 after each scenario, for a progress bar.

        Returns
        -------
        list of list
            Shape (vectors, rows).
        """
        needs = [self._scenarios(row) for row in rows]
        wanted = [(c, w, v) for v in range(len(vectors)) for need in needs for c, w in need]
        unique = list(dict.fromkeys((c.name, w.name, v) for c, w, v in wanted))
        pairs = {(c.name, w.name): (c, w) for c, w, _ in wanted}
        jobs = [(*pairs[c, w], vectors[v]) for c, w, v in unique]
        summaries = dict(zip(unique, self.summaries(jobs, tick), strict=True))
        return [
            [
                _read(row, [(w, summaries[c.name, w.name, v]) for c, w in need])
                for row, need in zip(rows, needs, strict=True)
            ]
            for v in range(len(vectors))
        ]

    def summaries(
        self, jobs: Iterable[tuple[Configuration, Workload, Vector]], tick: Ticker | None = None
    ) -> list[dict[str, float]]:
        """Mean summary over the seeds for each (configuration, workload, parameter vector).

        Returns
        -------
        list of dict
            The numbers of the run's summary, in the order of `jobs`.
        """
        tick = tick or (lambda done: None)
        asked = []
        for configuration, workload, vector in jobs:
            params = settings(self.config, configuration, workload, vector)
            asked.append((workload.workload, tuple(sorted(params.items()))))
        with ThreadPoolExecutor(self.threads) as pool:
            fresh = [key for key in dict.fromkeys(asked) if key not in self._known]
            for key, summary in zip(fresh, pool.map(self._run, fresh), strict=True):
                self._known[key] = summary
                tick(1)
        tick(len(asked) - len(fresh))
        return [self._known[key] for key in asked]

    def can_predict(self, row: Row) -> bool:
        """Whether the model makes a statement about this row."""
        return bool(self._scenarios(row))

    def _run(self, key: tuple[str, tuple[tuple[str, Any], ...]]) -> dict[str, float]:
        workload, params = key
        total: dict[str, float] = {}
        for seed in self.config.seeds:
            run = self.model.simulate(
                driver=self.config.driver,
                workload=workload,
                params=dict(params),
                seed=seed,
                duration_s=self.config.duration_s,
                warmup_s=self.config.warmup_s,
            )
            for name, value in run.summary.items():
                if isinstance(value, int | float):
                    total[name] = total.get(name, 0.0) + float(value)
        for side, cores in self.config.cores.items():  # a run's figure adds up the cores
            total[f"cpu_percent_{side}"] /= cores
        return {name: value / len(self.config.seeds) for name, value in total.items()}

    def _scenarios(self, row: Row) -> list[tuple[Configuration, Workload]]:
        session = self.config.sessions.get(row.workload)
        if row.quantity not in QUANTITIES or (session is not None) != (row.quantity in SUMMED_OVER_A_SESSION):
            return []
        configuration = self.config.configuration(row.configuration)
        return [(configuration, self.config.workload(name)) for name in session or [row.workload]]


def _read(row: Row, runs: Sequence[tuple[Workload, Mapping[str, float]]]) -> float | None:
    if not runs:
        return None
    return sum(QUANTITIES[row.quantity](summary, row.side, workload) for workload, summary in runs)
