"""Walks away from an optimum, as far out as points fit as well."""

from __future__ import annotations

import numpy as np

from nicperf.experiments.descend import descend, newton_step
from nicperf.experiments.objective import Objective
from nicperf.experiments.space import Array

# Directions whose curvature is below this share of the largest count as flat; the box bounds them instead.
FLAT = 1e-6
# A point this much of delta below the optimum shows that the search had not arrived.
NOT_ARRIVED = 0.25


class LowerPoint(Exception):
    """The walk met a point clearly below the optimum that it started from."""

    def __init__(self, point: Array, cost: float) -> None:
        super().__init__("the search had not arrived")
        self.point = point
        self.cost = cost


class Walk:
    """Equally good points around one optimum: cost within delta of its own.

    Parameters
    ----------
    objective : Objective
        Of the rows that were fitted.
    best : array
        The optimum.

    Attributes
    ----------
    members : list of array
        The points found, the optimum first.
    """

    def __init__(self, objective: Objective, best: Array) -> None:
        config = objective.predictor.config.calibration
        self.best = best
        self.delta = config.delta
        self.members = [best]
        self._objective = objective
        self._rng = np.random.default_rng(config.seed)
        self._residuals = objective.residuals([best])[0]
        self.cost = float(self._residuals @ self._residuals)
        self._jacobian = objective.jacobian(best, central=True)
        curvature, self._axes = np.linalg.eigh(self._jacobian.T @ self._jacobian)
        self._curvature = np.maximum(curvature, FLAT * curvature.max())

    @property
    def covariance(self) -> Array:
        """Inverse curvature; a flat direction gets the variance that `FLAT` allows."""
        return (self._axes / self._curvature) @ self._axes.T

    @property
    def half_width(self) -> Array:
        """How far each coordinate reaches where the cost is a parabola."""
        return np.sqrt(self.delta * np.diag(self.covariance))

    def edge(self, index: int, side: int) -> float:
        """Farthest coordinate of one parameter, downwards (-1) or upwards (+1), that the others can follow.

        Starts at the parabola's half width, doubles it while it holds, then narrows down to an eighth.

        Raises
        ------
        LowerPoint
            On the way the cost fell clearly below that of the optimum.
        """
        room = 1 - self.best[index] if side > 0 else self.best[index]
        inside, outside = 0.0, float(min(self.half_width[index], room))
        for _ in range(4):
            if not self._reaches(index, side * outside):
                break
            inside, outside = outside, float(min(2 * outside, room))
            if inside == room:
                return float(self.best[index] + side * room)
        for _ in range(3):
            middle = (inside + outside) / 2
            if self._reaches(index, side * middle):
                inside = middle
            else:
                outside = middle
        return float(self.best[index] + side * inside)

    def scatter(self, count: int) -> list[Array]:
        """Points inside the region, spread over the parabola's ellipsoid.

        Where the region is no ellipsoid and a point lies outside, it is pulled towards the optimum until it is
        inside.
        """
        directions = self._rng.standard_normal((count, len(self.best)))
        units = directions / np.linalg.norm(directions, axis=1)[:, None]
        radii = self._rng.random(count) ** (1 / len(self.best))  # uniform in the ball
        steps = (radii[:, None] * units * np.sqrt(self.delta / self._curvature)) @ self._axes.T
        points = [np.clip(self.best + step, 0, 1) for step in steps]
        outside = list(range(count))
        while outside:
            costs = (self._objective.residuals([points[i] for i in outside]) ** 2).sum(axis=1)
            outside = [i for i, cost in zip(outside, costs, strict=True) if cost > self.cost + self.delta]
            for i in outside:
                points[i] = (self.best + points[i]) / 2
        return points

    def _reaches(self, index: int, distance: float) -> bool:
        start = self.best.copy()
        start[index] = np.clip(start[index] + distance, 0, 1)
        linear = self._residuals + self._jacobian @ (start - self.best)
        others = [other for other in range(len(start)) if other != index]
        point = newton_step(start, linear, self._jacobian, others)
        enough = self.cost + self.delta
        return self._keep(*descend(self._objective, point, self._jacobian, held=index, enough=enough))

    def _keep(self, point: Array, cost: float) -> bool:
        if cost < self.cost - NOT_ARRIVED * self.delta:
            raise LowerPoint(point, cost)
        if cost > self.cost + self.delta:
            return False
        self.members.append(point)
        return True
