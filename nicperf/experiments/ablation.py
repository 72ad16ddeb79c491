"""What each patch does: alone on top of the reference, and added one after the other.

The thread publishes bundles only, so these numbers are predictions without a published figure to check them;
their range over equally good parameter vectors is as much a result as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from nicperf.experiments.config import Patch
from nicperf.experiments.predict import Predictor, Ticker, Vector

# Number in a run's summary -> its unit.
QUANTITIES = {
    "throughput_mbit_s": "Mbit/s",
    "cpu_percent_local": "%",
    "cpu_percent_remote": "%",
    "interrupts_per_s_local": "1/s",
}
COLUMNS = [
    "mode", "step", "patch", "title", "configuration", "workload", "quantity", "unit",
    "value", "low", "high", "change", "change_low", "change_high",
]  # fmt: skip


def ablation(predictor: Predictor, vectors: Sequence[Vector], tick: Ticker | None = None) -> pd.DataFrame:
    """Simulate each patch alone and all patches in order.

    Parameters
    ----------
    predictor : Predictor
        Of the experiment.
    vectors : sequence of mapping
        Equally good parameter vectors, the best first; at least one.
    tick : callable, optional
        Called with the number of scenarios done.

    Returns
    -------
    DataFrame
        Tidy: one row for each mode (``alone``, ``in order``), step (0 is the reference), workload and
        quantity. `change` is against step 0 where alone, against the step before where in order; `low` and
        `high` are the extremes over the vectors, taken pairwise for changes.
    """
    config = predictor.config
    patches = sorted(config.patches.values(), key=lambda patch: patch.number)
    steps = [step for mode in ("alone", "in order") for step in _steps(mode, patches, config.reference)]
    jobs = [
        (config.configuration(name), workload, vector)
        for _, _, _, name, _ in steps
        for workload in config.workloads.values()
        for vector in vectors
    ]
    found = iter(predictor.summaries(jobs, tick))
    runs = {(step[3], w): [next(found) for _ in vectors] for step in steps for w in config.workloads}
    lines = [
        _line(step, workload, quantity, runs)
        for step in steps
        for workload in config.workloads
        for quantity in QUANTITIES
    ]
    return pd.DataFrame(lines, columns=COLUMNS)


Step = tuple[str, int, Patch | None, str, str]


def _steps(mode: str, patches: Sequence[Patch], reference: str) -> list[Step]:
    """Each step as (mode, number, patch, configuration, configuration to compare with)."""
    steps: list[Step] = [(mode, 0, None, reference, reference)]
    for number, patch in enumerate(patches, start=1):
        before = reference if mode == "alone" else steps[-1][3]
        steps.append((mode, number, patch, f"{before}+{patch.name}", before))
    return steps


def _line(
    step: Step, workload: str, quantity: str, runs: Mapping[tuple[str, str], Sequence[Mapping[str, float]]]
) -> dict[str, object]:
    mode, number, patch, configuration, before = step
    values = [run[quantity] for run in runs[configuration, workload]]
    changes = [value - run[quantity] for value, run in zip(values, runs[before, workload], strict=True)]
    return {
        "mode": mode,
        "step": number,
        "patch": patch.name if patch else "",
        "title": patch.title if patch else "no patch",
        "configuration": configuration,
        "workload": workload,
        "quantity": quantity,
        "unit": QUANTITIES[quantity],
        "value": values[0],
        "low": min(values),
        "high": max(values),
        "change": changes[0],
        "change_low": min(changes),
        "change_high": max(changes),
    }
