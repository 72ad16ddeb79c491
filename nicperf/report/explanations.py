"""Explanations that compete for one unexplained cost: each refitted, and what the rows say to each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import altair as alt
import pandas as pd

from nicperf import charts
from nicperf.charts import labels
from nicperf.experiments.quantities import QUANTITIES
from nicperf.report.prose import Prose
from nicperf.report.table import Table
from nicperf.stats import judge

if TYPE_CHECKING:
    from nicperf.experiments import Experiment

Settings = Mapping[str, Any]
Figure = Mapping[Any, Any]
# Halvings of the prior range: finer than the thousandth of a rate.
HALVINGS = 16
GOOD = "reproduced"


@dataclass(frozen=True)
class Alternatives:
    """Explanations side by side.

    Attributes
    ----------
    values : pandas.DataFrame
        `explanation`, its own fitted parameter with value and unit, the other parameter that was fitted
        again, and `cost`: the sum of squared misses of the fitted rows, in units of their tolerances.
    rows : pandas.DataFrame
        A row for each explanation and figure: `explanation, id, role, published, predicted, error_percent,
        tolerance_percent, verdict`.
    delta : float
        How much higher a cost may be and still count as an equally good fit.
    """

    values: pd.DataFrame
    rows: pd.DataFrame
    delta: float

    @property
    def equal(self) -> list[str]:
        """Explanations that fit as well as the best one."""
        known = self.values[self.values["cost"] <= self.values["cost"].min() + self.delta]
        return list(known["explanation"])

    def table(self, caption: str = "Explanations of the unexplained cost, each refitted") -> Table:
        """Fitted values, and how well each explanation fits."""
        frame = self.values.assign(**{"fits equally well": self.values["explanation"].isin(self.equal)})
        frame = frame.dropna(axis="columns", how="all")  # explanations that all have no cost of their own
        titles = {"cost": "squared misses / tolerance"}
        return Table(frame, caption, titles)

    def chart(self, title: str) -> alt.VConcatChart:
        """Errors of every figure under each explanation."""
        return charts.alternatives(self.rows, title=title)

    def spoken(self) -> Prose:
        """What the fitted rows leave open, and how each held-out row that can tell decides."""
        others = [name for name in self.values["explanation"] if name not in self.equal]
        lines = [f"Fit equally well, so that the fitted rows cannot choose: {_listed(self.equal)}."]
        lines += [f"Misses the fitted rows, whatever its value: {_listed(others)}."] if others else []
        good = self.rows[self.rows["explanation"].isin(self.equal) & (self.rows["role"] == "held_out")]
        for name, group in good.groupby("id", sort=False):
            spread = group["error_percent"].max() - group["error_percent"].min()
            if spread > group["tolerance_percent"].iloc[0]:
                lines.append(
                    f"Held out, `{name}`, published {labels.number(group['published'].iloc[0])}: {_decision(group)}."
                )
        return Prose("\n".join(f"- {line}" for line in lines))


def alternatives(
    exp: Experiment,
    explanations: Mapping[str, tuple[Settings, str | None]],
    pinned_by: str,
    other: tuple[str, str],
    configurations: Sequence[str],
) -> Alternatives:
    """Refit an experiment under each explanation of a cost.

    Parameters
    ----------
    exp : Experiment
        With a stored fit, whose other values are kept.
    explanations : mapping
        Name -> its settings, and the parameter in which it has the cost (none: it claims that there is none).
    pinned_by : str
        Figure of role ``fit`` that the parameter of the cost is set by.
    other : (str, str)
        A parameter that the cost trades with, and the figure of role ``fit`` that it is set by afterwards.
    configurations : sequence of str
        Figures of these are judged.

    Returns
    -------
    Alternatives

    Notes
    -----
    Not another least-squares fit: each parameter is halved down to the value at which its figure comes out,
    which is as good as the data allow where other figures do not depend on it. Both must slow things down:
    rates fall with them, and the CPU load rises.
    """
    rows = []
    values = []
    figures = {str(figure["id"]): figure for figure in exp.figures.to_dict("records")}
    judged = [
        figure
        for figure in figures.values()
        if figure["role"] in ("fit", "held_out") and figure["configuration"] in configurations
    ]
    for name, (settings, cost) in explanations.items():
        found: dict[str, Any] = dict(settings)
        for parameter, figure in ((cost, pinned_by), other):
            if parameter:
                found[parameter] = _solved(exp, figures[figure], parameter, found)
        own = [_judged(exp, figure, found) for figure in judged]
        rows += [{"explanation": name, **row} for row in own]
        misses = [row["error_percent"] / row["tolerance_percent"] for row in own if row["role"] == "fit"]
        values.append(
            {
                "explanation": name,
                "its cost": cost,
                "cycles": found[cost] if cost else None,
                other[0]: found[other[0]],
                "cost": sum(miss**2 for miss in misses),
            }
        )
    return Alternatives(pd.DataFrame(values), pd.DataFrame(rows), exp.config.calibration.delta)


def _solved(exp: Experiment, figure: Figure, parameter: str, settings: Settings) -> float:
    """Value of a parameter, within the range that the model allows, at which a figure comes out."""
    plain = parameter.removeprefix("local.").removeprefix("remote.")
    spec = exp.model.parameters(exp.config.driver)[plain]
    low, high = float(spec.low), float(spec.high)
    rises = figure["quantity"] == "cpu_percent"
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if (predicted(exp, figure, {**settings, parameter: middle}) > figure["value"]) != rises:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _judged(exp: Experiment, figure: Figure, settings: Settings) -> dict[str, Any]:
    value = predicted(exp, figure, settings)
    tolerance = exp.config.tolerances[figure["quantity"]]
    judgement = judge(figure["value"], value, tolerance)
    return {
        "id": figure["id"],
        "role": figure["role"],
        "published": figure["value"],
        "predicted": value,
        "error_percent": judgement.error_percent,
        "tolerance_percent": 100 * tolerance,
        "verdict": judgement.verdict,
    }


def predicted(exp: Experiment, figure: Figure, settings: Settings) -> float:
    """A figure with other settings: mean over the experiment's seeds, as in its ledger."""
    workload, side, name = exp.workloads[figure["workload"]], figure["side"], figure["quantity"]
    runs = [
        exp.simulate(figure["configuration"], figure["workload"], seed, **settings)
        for seed in exp.config.seeds
    ]
    cores = exp.config.cores.get(side, 1) if name == "cpu_percent" else 1
    return sum(QUANTITIES[name](run.summary, side, workload) for run in runs) / len(runs) / cores


def _decision(group: pd.DataFrame) -> str:
    """The explanations that a figure speaks for and against, each with its error."""
    told = [f"{r['explanation']} ({r['error_percent']:+.3g} %)" for r in group.to_dict("records")]
    good = (group["verdict"] == GOOD).to_numpy()
    chosen, refused = (
        _listed([word for word, g in zip(told, good, strict=True) if g == side]) for side in (True, False)
    )
    if not chosen:
        nearest = group["explanation"].iloc[int(group["error_percent"].abs().argmin())]
        return f"**speaks for none** of {refused}; nearest is {nearest}"
    return f"**speaks for** {chosen}" + (f"; **against** {refused}" if refused else "")


def _listed(words: Sequence[str]) -> str:
    return ", ".join(words)
