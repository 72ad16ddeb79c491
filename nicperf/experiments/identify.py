"""What the fitted rows say about each parameter, and which parameter vectors they cannot tell apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from nicperf.experiments.objective import Objective
from nicperf.experiments.space import Array, Space
from nicperf.experiments.walk import Walk

CORRELATED = 0.95
WIDE = 0.5


@dataclass(frozen=True)
class Identification:
    """What was found around an optimum.

    Attributes
    ----------
    best : array, shape (parameters,)
        Point of the unit cube.
    cost : float
        Sum of squared residuals there.
    parameters : DataFrame
        name, unit, value, low and high (profile interval), jacobian_low and jacobian_high, prior_low and
        prior_high, width (share of the prior range that the profile interval covers).
    correlation : DataFrame
        Between parameters, from the Jacobian.
    inseparable : tuple of str
        One sentence for each pair or parameter that the rows do not pin down.
    members : tuple of array
        Equally good points: cost within delta of the best, the best first.
    """

    best: Array
    cost: float
    parameters: pd.DataFrame
    correlation: pd.DataFrame
    inseparable: tuple[str, ...]
    members: tuple[Array, ...]


def identify(objective: Objective, best: Array) -> Identification:
    """Explore the region in which the cost stays within delta of its value at `best`.

    A profile interval holds all values of one parameter for which the others can be re-fitted so that the
    cost stays within delta. The points found on the way are kept: they reach out as far as the intervals. A
    short re-fit may miss a point that a long one would reach, so an interval may come out too narrow, never too
    wide.

    Parameters
    ----------
    objective : Objective
        Of the rows that were fitted.
    best : array
        The optimum.

    Returns
    -------
    Identification

    Raises
    ------
    LowerPoint
        `best` is no optimum: a clearly lower point was met.
    """
    walk = Walk(objective, best)
    ends = [(walk.edge(index, -1), walk.edge(index, +1)) for index in range(len(best))]
    spread = np.sqrt(np.diag(walk.covariance))
    correlation = walk.covariance / np.outer(spread, spread)
    parameters = _table(objective.space, best, ends, walk.half_width)
    names = objective.space.names
    return Identification(
        best=best,
        cost=walk.cost,
        parameters=parameters,
        correlation=pd.DataFrame(correlation, index=names, columns=names),
        inseparable=tuple(_sentences(parameters, correlation)),
        members=tuple(walk.members),
    )


def _table(space: Space, best: Array, ends: list[tuple[float, float]], half_width: Array) -> pd.DataFrame:
    rows = []
    for index, a in enumerate(space.free):
        low, high = ends[index]
        rows.append(
            {
                "name": a.name,
                "unit": a.unit,
                "value": space.value(index, best[index]),
                "low": space.value(index, low),
                "high": space.value(index, high),
                "jacobian_low": space.value(index, best[index] - half_width[index]),
                "jacobian_high": space.value(index, best[index] + half_width[index]),
                "prior_low": a.low,
                "prior_high": a.high,
                "width": high - low,
            }
        )
    return pd.DataFrame(rows)


def _sentences(parameters: pd.DataFrame, correlation: Array) -> list[str]:
    names = list(parameters["name"])
    wide = [
        f"{row['name']}: the rows leave {row['width']:.0%} of its prior range open "
        f"({row['low']:.3g} to {row['high']:.3g} {row['unit']})."
        for _, row in parameters.iterrows()
        if row["width"] > WIDE
    ]
    edges = [
        f"{row['name']}: the best value lies on the edge of its prior range, which decides it, not the rows."
        for _, row in parameters.iterrows()
        if row["value"] in (row["prior_low"], row["prior_high"])
    ]
    pairs = [
        f"{names[i]} and {names[j]} cannot be separated: correlation {correlation[i, j]:+.2f}."
        for i in range(len(names))
        for j in range(i)
        if abs(correlation[i, j]) > CORRELATED
    ]
    return edges + wide + pairs
