"""Sentences whose numbers code has put in: a notebook never types a result."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from nicperf.charts import labels

if TYPE_CHECKING:
    from nicperf.experiments import Experiment


@dataclass(frozen=True)
class Prose:
    """Markdown text, shown as such in a notebook and in a report."""

    text: str

    def __repr__(self) -> str:
        return self.text

    def _repr_markdown_(self) -> str:
        return self.text


def answer(
    exp: Experiment, configurations: Sequence[str] | None = None, workloads: Sequence[str] | None = None
) -> Prose:
    """The short answer that stands at the head of a notebook.

    Parameters
    ----------
    exp : Experiment
        With a stored fit.
    configurations, workloads : sequence of str, optional
        Those whose limit is told; all when not given.

    Returns
    -------
    Prose
        How many held-out figures are reproduced, and what limits each configuration.
    """
    ledger = exp.ledger()
    held = ledger[(ledger["role"] == "held_out") & ledger["predicted"].notna()]
    good = int((held["verdict"] == "reproduced").sum())
    limits = {
        name: _limits(exp, name, workloads or list(exp.workloads))
        for name in configurations or exp.configurations
    }
    spoken = "; ".join(f"`{name}` by {limit}" for name, limit in limits.items())
    return Prose(
        f"**{exp.slug}.** The model reproduces {good} of the {len(held)} held-out figures it speaks about. "
        f"It finds throughput limited in {spoken}."
    )


def verdict(exp: Experiment) -> Prose:
    """What the held-out figures say about the model.

    Parameters
    ----------
    exp : Experiment
        With a stored fit.

    Returns
    -------
    Prose
        Counts of verdicts, and for each quantity the median error against the goal set beforehand.
    """
    checked = exp.validate()
    errors, counts = checked.errors, checked.verdicts
    ratio = checked.fitted_rows / checked.free_parameters
    lines = [
        f"{checked.fitted_rows} figures were fitted with {checked.free_parameters} free parameters, "
        f"{labels.number(ratio, 2)} figures for each. The other figures were not seen by the fit.",
    ]
    if "held_out" in counts.index:
        words = [f"{int(n)} {word}" for word, n in counts.loc["held_out"].items() if n]
        lines.append(f"Of the held-out figures: **{', '.join(words)}**.")
    held = errors[errors["role"] == "held_out"]
    plain = held["quantity"].map(lambda quantity: labels.title(quantity, with_unit=False))
    for row, shared in zip(held.to_dict("records"), plain.duplicated(keep=False), strict=True):
        lines.append(_against_goal(row, labels.title(str(row["quantity"]), with_unit=bool(shared))))
    return Prose("\n".join(f"- {line}" for line in lines))


def separable(sentences: Sequence[str]) -> Prose:
    """What a fit could not tell apart, as a list; says so when there is nothing."""
    if not sentences:
        return Prose("The fitted figures pin down every free parameter.")
    return Prose("\n".join(f"- {sentence}" for sentence in sentences))


def _against_goal(row: Mapping[Hashable, Any], name: str) -> str:
    median, worst, goal = (float(row[f"{k}_percent"]) for k in ("median_error", "worst_error", "goal"))
    met = "" if pd.isna(goal) else f", goal {labels.number(goal)} %: {'met' if row['goal_met'] else 'missed'}"
    return (
        f"{name}, {row['rows']} held-out figures: median error **{labels.number(median, 2)} %**{met}; "
        f"worst {labels.number(worst, 2)} %."
    )


def _limits(exp: Experiment, configuration: str, workloads: Sequence[str]) -> str:
    """The binding resources of one configuration, each with the workloads it binds."""
    bound: dict[str, list[str]] = {}
    for workload in workloads:
        bound.setdefault(exp.simulate(configuration, workload).binding, []).append(workload)
    if len(bound) == 1:
        return f"the {next(iter(bound))}"
    return " and ".join(f"the {resource} ({', '.join(works)})" for resource, works in bound.items())
