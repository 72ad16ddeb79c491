"""What the fitted rows say about each parameter, and which parameter vectors they cannot tell apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.optimize import lsq_linear

from nicperf.experiments.objective import Objective
from nicperf.experiments.space import Array, Space

CORRELATED = 0.95
WIDE = 0.5
# Directions whose curvature is below this share of the largest count as flat; the box bounds them instead.
FLAT = 1e-6


@dataclass(frozen=True)
class Identification:
    """What was found around the best point; costs are sums of squared residuals.

    Attributes
    ----------
    best : array, shape (parameters,)
        Point of the unit cube.
    cost : float
        Cost there.
    parameters : DataFrame
        name, unit, value, low and high (profile interval), jacobian_low and jacobian_high, prior_low and
        prior_high, width (share of the prior range that the profile interval covers).
    correlation : DataFrame
        Between parameters, from the Jacobian.
    inseparable : tuple of str
        One sentence for each pair or parameter that the rows do not pin down.
    members : tuple of array
        Equally good points: cost within delta of the best, the best first.
    lowest_point, lowest_cost : array, float
        The best point seen on the way; lower than `cost` when the search had not reached the optimum.
    """

    best: Array
    cost: float
    parameters: pd.DataFrame
    correlation: pd.DataFrame
    inseparable: tuple[str, ...]
    members: tuple[Array, ...]
    lowest_point: Array
    lowest_cost: float


def identify(objective: Objective, best: Array) -> Identification:
    """Explore the region in which the cost stays within delta of its value at `best`.

    A profile interval holds all values of one parameter for which the others can be re-fitted so that the
    cost stays within delta. The points found on the way, and points drawn inside the region, are the
    equally good set. Re-fits update the Jacobian by Broyden's rule instead of differencing it again, so an
    interval may come out slightly too narrow on a strongly curved model, never too wide.

    Parameters
    ----------
    objective : Objective
        Of the rows that were fitted.
    best : array
        The optimum.

    Returns
    -------
    Identification
    """
    walk = _Walk(objective, best)
    size = len(best)
    ends = [(walk.edge(index, 0.0), walk.edge(index, 1.0)) for index in range(size)]
    walk.fill(objective.predictor.config.calibration.ensemble)
    covariance = walk.covariance
    spread = np.sqrt(np.diag(covariance))
    correlation = covariance / np.outer(spread, spread)
    parameters = _table(objective.space, best, ends, spread * np.sqrt(walk.delta))
    names = objective.space.names
    order = np.argsort(walk.costs, kind="stable")
    return Identification(
        best=best,
        cost=walk.cost,
        parameters=parameters,
        correlation=pd.DataFrame(correlation, index=names, columns=names),
        inseparable=tuple(_sentences(parameters, correlation)),
        members=tuple(walk.members),
        lowest_point=walk.members[order[0]],
        lowest_cost=walk.costs[order[0]],
    )


class _Walk:
    """Collects equally good points around one optimum."""

    def __init__(self, objective: Objective, best: Array) -> None:
        config = objective.predictor.config.calibration
        self.objective = objective
        self.best = best
        self.delta = config.delta
        self.rng = np.random.default_rng(config.seed)
        self.residuals = objective.residuals([best])[0]
        self.jacobian = objective.jacobian(best, central=True)
        self.cost = float(self.residuals @ self.residuals)
        self.members = [best]
        self.costs = [self.cost]
        curvature, self._axes = np.linalg.eigh(self.jacobian.T @ self.jacobian)
        self._curvature = np.maximum(curvature, FLAT * curvature.max())

    @property
    def covariance(self) -> Array:
        """Inverse curvature; a flat direction gets the variance that `FLAT` allows."""
        return (self._axes / self._curvature) @ self._axes.T

    def edge(self, index: int, bound: float) -> float:
        """Farthest coordinate of one parameter towards a bound at which the rest can still be re-fitted."""
        inside, outside = self.best[index], bound
        if self._reaches(index, bound):
            return bound
        for _ in range(5):
            middle = (inside + outside) / 2
            if self._reaches(index, middle):
                inside = middle
            else:
                outside = middle
        return float(inside)

    def fill(self, wanted: int) -> None:
        """Draw points inside the region until there are `wanted` members, or too many draws have failed."""
        for _ in range(8 * wanted):
            if len(self.members) >= wanted:
                return
            direction = self.rng.standard_normal(len(self.best))
            step = self._axes @ (
                direction / np.linalg.norm(direction) * np.sqrt(self.delta / self._curvature)
            )
            self._refit(np.clip(self.best + step, 0, 1), fixed=None)

    def _reaches(self, index: int, coordinate: float) -> bool:
        start = self.best.copy()
        start[index] = coordinate
        return self._refit(start, fixed=index)

    def _refit(self, point: Array, fixed: int | None) -> bool:
        """Lower the cost, one coordinate held, until it is within delta; keep the point if it gets there."""
        free = [i for i in range(len(point)) if i != fixed]
        jacobian = self.jacobian.copy()
        if fixed is not None:
            point = _step(point, self.residuals + jacobian @ (point - self.best), jacobian, free)
        residuals = self.objective.residuals([point])[0]
        for _ in range(6):
            cost = float(residuals @ residuals)
            if cost <= self.cost + self.delta:
                self.members.append(point)
                self.costs.append(cost)
                return True
            moved = _step(point, residuals, jacobian, free)
            shift = moved - point
            if np.abs(shift).max() < 1e-4:
                return False
            after = self.objective.residuals([moved])[0]
            jacobian += np.outer(after - residuals - jacobian @ shift, shift) / (shift @ shift)
            if after @ after < cost:
                point, residuals = moved, after
        return False


def _step(point: Array, residuals: Array, jacobian: Array, free: list[int]) -> Array:
    if not free:
        return point
    moved = point.copy()
    bounds = (np.minimum(-point[free], -1e-12), np.maximum(1 - point[free], 1e-12))
    moved[free] += lsq_linear(jacobian[:, free], -residuals, bounds).x
    return np.clip(moved, 0, 1)


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
    pairs = [
        f"{names[i]} and {names[j]} cannot be separated: correlation {correlation[i, j]:+.2f}."
        for i in range(len(names))
        for j in range(i)
        if abs(correlation[i, j]) > CORRELATED
    ]
    return wide + pairs
