"""Fits the free parameters to the rows that may be fitted, and says how well these rows pin them down."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from scipy.optimize import OptimizeResult, least_squares
from scipy.stats import qmc

from nicperf.experiments.fit import Fit
from nicperf.experiments.identify import Identification, identify
from nicperf.experiments.objective import Objective
from nicperf.experiments.predict import Predictor
from nicperf.experiments.progress import bar
from nicperf.experiments.space import Array

# Rounds of "the search around the optimum found a better point, so start again from there".
RESTARTS = 4


def calibrate(predictor: Predictor, figures: pd.DataFrame, *, progress: bool = False) -> Fit:
    """Bounded weighted least squares of the simulator against published rows.

    The search starts at the centre of the priors and at points spread over them (Latin hypercube), with the
    same random streams for every parameter vector. The best optimum is then explored: profiles of each
    parameter, correlations, and a set of vectors that fit equally well. Equal input gives an equal fit, on
    any number of threads.

    Parameters
    ----------
    predictor : Predictor
        Of the experiment, whose `config.calibration` says how many starts and which seed.
    figures : DataFrame
        Published rows of role ``fit`` and no others.
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
        objective = Objective(predictor, figures, tick)
        found = sorted((_search(objective, start) for start in _starts(objective)), key=lambda r: r.cost)
        best, identified = found[0], None
        for _ in range(RESTARTS):
            identified = identify(objective, best.x)
            if identified.lowest_cost >= 2 * best.cost - 0.01 * predictor.config.calibration.delta:
                break
            best = _search(objective, identified.lowest_point)
        assert identified is not None
        return _fit(objective, identified, [2 * result.cost for result in found])


def _starts(objective: Objective) -> Iterator[Array]:
    calibration = objective.predictor.config.calibration
    yield objective.space.centre
    sampler = qmc.LatinHypercube(len(objective.space.free), rng=np.random.default_rng(calibration.seed))
    yield from sampler.random(calibration.starts - 1)


def _search(objective: Objective, start: Array) -> OptimizeResult:
    def residuals(point: Array) -> Array:
        return objective.residuals([point])[0]

    return least_squares(
        residuals,
        np.clip(start, 1e-6, 1 - 1e-6),  # trf needs a start strictly inside its bounds
        jac=objective.jacobian,
        bounds=(0.0, 1.0),
        method="trf",
        ftol=1e-4,
        xtol=1e-4,
        max_nfev=40,
    )


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
