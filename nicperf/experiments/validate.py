"""How far the predictions are off, by quantity and role, against the goals that were set beforehand."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from nicperf.stats import VERDICTS


@dataclass(frozen=True)
class Validation:
    """Summary of a ledger.

    Attributes
    ----------
    errors : DataFrame
        role, quantity, rows, median_error_percent, worst_error_percent, goal_percent, goal_met. Errors are
        absolute; the goal applies to the median over held-out rows; elsewhere it is NaN and `goal_met` None.
    verdicts : DataFrame
        Counts: one line for each role, one column for each verdict.
    fitted_rows, free_parameters : int
        What was fitted, and with how many parameters.
    """

    errors: pd.DataFrame
    verdicts: pd.DataFrame
    fitted_rows: int
    free_parameters: int

    @property
    def goals_met(self) -> bool:
        """Whether each goal is met on the held-out rows."""
        goals = self.errors.dropna(subset="goal_percent")
        return bool(goals["goal_met"].all())


def summarise(ledger: pd.DataFrame, goals: Mapping[str, float], free_parameters: int) -> Validation:
    """Summarise a ledger.

    Parameters
    ----------
    ledger : DataFrame
        From `ledger.ledger`.
    goals : mapping
        Quantity to the largest median error of held-out rows that was aimed at (0.01 is 1 %).
    free_parameters : int
        Number of fitted parameters.

    Returns
    -------
    Validation
    """
    judged = ledger.dropna(subset=["error_percent", "tolerance_percent"])
    rows = []
    for (role, quantity), group in judged.groupby(["role", "quantity"], sort=True):
        error = group["error_percent"].abs()
        goal = 100 * goals.get(str(quantity), math.nan) if role == "held_out" else math.nan
        rows.append(
            {
                "role": role,
                "quantity": quantity,
                "rows": len(group),
                "median_error_percent": error.median(),
                "worst_error_percent": error.max(),
                "goal_percent": goal,
                "goal_met": None if math.isnan(goal) else bool(error.median() <= goal),
            }
        )
    counts = pd.crosstab(ledger["role"], ledger["verdict"]).reindex(columns=list(VERDICTS), fill_value=0)
    return Validation(pd.DataFrame(rows), counts, int((ledger["role"] == "fit").sum()), free_parameters)
