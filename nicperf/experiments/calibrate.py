"""Fits the free parameters to the rows that may be fitted, and says how well these rows pin them down."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.optimize import least_squares
from scipy.stats import qmc

from nicperf.experiments.descend import descend
from nicperf.experiments.fit import Fit
from nicperf.experiments.identify import Identification, identify
from nicperf.experiments.match import match, matches
from nicperf.experiments.objective import Objective
from nicperf.experiments.predict import Predictor
from nicperf.experiments.space import Array
from nicperf.experiments.walk import LowerPoint
from nicperf.progress import bar

# Points looked at for each search that is started.
SCREENED = 8
# Gain of one descent, in units of delta, below which a search has settled.
SETTLED = 0.05


def calibrate(
    predictor: Predictor, figures: pd.DataFrame, *, further: Sequence[Array] = (), progress: bool = False
) -> Fit:
    """Bounded weighted least squares of the simulator against published rows.

    Searches start at the centre of the priors and at the best of many points spread over them (Latin
    hypercube), with the same random streams for every parameter vector. The best optimum is then explored:
    profiles of each parameter, with the vectors at their ends, and correlations. Equal input gives an equal fit,
    on any number of threads. One row with one free parameter is no fit: see `match`.

    Parameters
    ----------
    predictor : Predictor
        Of the experiment, whose `config.calibration` says how many starts and which seed.
    figures : DataFrame
        Published rows of role ``fit`` and no others.
    further : sequence of array
        Points of the unit cube to start from as well.
    progress : bool
        Show a progress bar on standard error.

    Returns
    -------
    Fit

    Raises
    ------
    RoleError
        A row whose role is not ``fit``.
    ScenarioError
        Nothing to fit, no fewer free parameters than rows, or a row without prediction or tolerance.
    """
    with bar("calibrate", progress) as tick:
        if matches(predictor, figures):
            return match(predictor, figures, tick)
        objective = Objective(predictor, figures, tick)
        found = sorted(
            (_search(objective, start) for start in [*_starts(objective), *further]), key=lambda pair: pair[1]
        )
        best = found[0][0]
        while True:  # each round starts at least a quarter of delta lower than the one before
            try:
                return _fit(objective, identify(objective, best), [cost for _, cost in found])
            except LowerPoint as lower:
                best, _ = _settle(objective, lower.point, lower.cost)


def _starts(objective: Objective) -> list[Array]:
    calibration = objective.predictor.config.calibration
    others = calibration.starts - 1
    sampler = qmc.LatinHypercube(len(objective.space.free), rng=np.random.default_rng(calibration.seed))
    points = [objective.space.centre, *sampler.random(SCREENED * others)]
    costs = (objective.residuals(points) ** 2).sum(axis=1)
    best = 1 + np.argsort(costs[1:], kind="stable")[:others]
    return [points[0], *(points[i] for i in best)]


def _search(objective: Objective, start: Array) -> tuple[Array, float]:
    """Nearest optimum and its cost: a trust region to get there, then short descents to settle."""

    def residuals(point: Array) -> Array:
        return objective.residuals([point])[0]

    found = least_squares(
        residuals,
        np.clip(start, 1e-6, 1 - 1e-6),  # trf needs a start strictly inside its bounds
        jac=objective.jacobian,
        bounds=(0.0, 1.0),
        method="trf",
        ftol=1e-2,  # finer would chase the stairs of the simulator
        xtol=1e-3,
        max_nfev=20,
    )
    return _settle(objective, found.x, 2 * found.cost)


def _settle(objective: Objective, point: Array, cost: float) -> tuple[Array, float]:
    """Short descents, each with derivatives of its own, until one gains too little."""
    gain = np.inf
    while gain > SETTLED * objective.predictor.config.calibration.delta:
        before = cost
        point, cost = descend(objective, point, objective.jacobian(point, central=True))
        gain = before - cost
    return point, cost


def _fit(objective: Objective, identified: Identification, starts: list[float]) -> Fit:
    config = objective.predictor.config
    space = objective.space
    predicted = objective.predictions([identified.best])[0]
    error = predicted / objective.published - 1
    tolerance = np.array([config.tolerances[row.quantity] for row in objective.rows])
    return Fit(
        slug=config.slug,
        values=space.vector(identified.best),
        cost=identified.cost,
        delta=config.calibration.delta,
        residuals=pd.DataFrame(
            {
                "id": [row.id for row in objective.rows],
                "published": objective.published,
                "predicted": predicted,
                "error_percent": 100 * error,
                "misses_of_tolerance": error / tolerance,
            }
        ),
        parameters=identified.parameters,
        correlation=identified.correlation,
        inseparable=identified.inseparable,
        equally_good=tuple(space.vector(point) for point in identified.members),
        start_costs=tuple(starts),
    )
