"""Predictions as ranges: what the fitted figures leave open."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nicperf.charts import labels
from nicperf.report.prose import Prose

if TYPE_CHECKING:
    from nicperf.experiments import Experiment


def interval(exp: Experiment) -> Prose:
    """Held-out figures as ranges over all parameter sets that the fitted figures allow.

    Parameters
    ----------
    exp : Experiment
        With a stored fit.

    Returns
    -------
    Prose
        For each figure: published, predicted with the best set, the range, and how many sets are inside the tolerance.
    """
    rows = exp.ledger()
    lines = []
    for row in rows[(rows["role"] == "held_out") & rows["predicted"].notna()].to_dict("records"):
        published, unit, tolerance = row["published"], row["unit"], row["tolerance_percent"]
        values = exp.ensemble.predictions[row["id"]]
        inside = sum(100 * abs(value / published - 1) <= tolerance for value in values)
        low, middle, high = (labels.number(row[k], 3) for k in ("low", "predicted", "high"))
        lines.append(
            f"`{row['id']}`: published {labels.number(published)} {unit}, predicted **{middle} {unit}** "
            f"({row['error_percent']:+.3g} %; tolerance {labels.number(tolerance)} %), **{low} to {high} {unit}** over "
            f"{len(values)} sets of values that the fitted figures allow; {inside} of them inside the tolerance."
        )
    return Prose("\n".join(f"- {line}" for line in lines))
