"""Gauss-Newton steps in the unit cube that learn the Jacobian on the way, one simulation of the rows a step.

`scipy.optimize.least_squares` differences the Jacobian anew at every step. That is right for the way to an
optimum and too dear for the hundreds of short re-fits around it, where the Jacobian of the optimum, kept
current by Broyden's rule, serves.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import lsq_linear

from nicperf.experiments.objective import Objective
from nicperf.experiments.space import Array

# A step that leaves more than this share of the cost has missed; so many misses end the descent.
GAIN = 0.9
MISSES = 2
# What a step across the whole cube adds to the linearised residuals: keeps flat directions from running away.
DAMPING = 0.3
# Shorter steps than this share of the cube stand still.
STILL = 1e-4


def descend(
    objective: Objective, point: Array, jacobian: Array, *, held: int | None = None, enough: float = 0.0
) -> tuple[Array, float]:
    """Lower the cost from a point.

    Parameters
    ----------
    objective : Objective
        What to lower.
    point, jacobian : array
        Where to start and the derivatives there, or near there.
    held : int, optional
        A coordinate that must not move.
    enough : float
        Stop once the cost is not above this.

    Returns
    -------
    point, cost : array, float
        The best point met.
    """
    free = [index for index in range(len(point)) if index != held]
    jacobian = jacobian.copy()
    residuals = objective.residuals([point])[0]
    misses = 0
    while misses < MISSES and residuals @ residuals > enough:
        moved = newton_step(point, residuals, jacobian, free)
        shift = moved - point
        if np.abs(shift).max() < STILL:
            break
        after = objective.residuals([moved])[0]
        jacobian += np.outer(after - residuals - jacobian @ shift, shift) / (shift @ shift)
        misses += after @ after > GAIN * (residuals @ residuals)
        if after @ after < residuals @ residuals:
            point, residuals = moved, after
    return point, float(residuals @ residuals)


def newton_step(point: Array, residuals: Array, jacobian: Array, free: list[int]) -> Array:
    """The damped minimum of the linearised cost inside the cube, only the free coordinates moving."""
    if not free:
        return point
    moved = point.copy()
    # lsq_linear wants room on both sides, which a point on the boundary does not have.
    bounds = (np.minimum(-point[free], -1e-12), np.maximum(1 - point[free], 1e-12))
    slopes = np.vstack([jacobian[:, free], DAMPING * np.eye(len(free))])
    moved[free] += lsq_linear(slopes, np.concatenate([-residuals, np.zeros(len(free))]), bounds).x
    return np.clip(moved, 0, 1)
