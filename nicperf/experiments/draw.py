"""Draws the equally good set of a fit: parameter vectors spread evenly over all that fit as well.

The published figures are single runs whose scatter nobody measured, so a tolerance is no standard error and a
bell-shaped likelihood would claim to know more than anybody does. The likelihood here is flat instead: every
vector within the priors whose weighted squares stay within delta of the optimum is as likely as any other,
every other is impossible. emcee samples this region with moves that need no tuning to its shape (differences
between walkers), which a long thin ridge of parameters that act together asks for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from nicperf.experiments.ensemble import Ensemble, predicted
from nicperf.experiments.fit import Fit
from nicperf.experiments.match import matches
from nicperf.experiments.objective import Objective
from nicperf.experiments.predict import Predictor, Row, Ticker, Vector
from nicperf.experiments.space import Array
from nicperf.experiments.walk import NOT_ARRIVED, LowerPoint, Walk

# For each free parameter. Twelve walkers are the fewest that these moves can combine well.
WALKERS = 4
FEWEST_WALKERS = 12
# Steps between two looks at the walkers, for each free parameter: a ball needs three to be forgotten, and the
# walkers start spread over the region.
THINNED = 2
MOVES = {"DEMove": 0.8, "DESnookerMove": 0.2}


def draw(
    predictor: Predictor,
    figures: pd.DataFrame,
    fit: Fit,
    rows: Sequence[Row],
    tick: Ticker | None = None,
) -> Ensemble:
    """Sample the vectors that fit equally well and predict rows with each.

    Parameters
    ----------
    predictor : Predictor
        Of the experiment; `config.calibration` says how many vectors (`ensemble`) and which seed.
    figures : DataFrame
        Published rows of role ``fit`` and no others.
    fit : Fit
        Of these rows.
    rows : sequence of Row
        What to predict with each vector; names only.
    tick : callable, optional
        Called with the number of scenarios done.

    Returns
    -------
    Ensemble
        The vectors of the fit, which reach out farthest, then those drawn. Equal input gives an equal ensemble,
        on any number of threads.

    Raises
    ------
    RoleError, ScenarioError
        As `calibrate`.
    LowerPoint
        The fit is no optimum: a clearly lower point was met.

    Notes
    -----
    Rows of the experiment's `slow` workloads do not steer the sampler; of what it draws without them, the
    vectors that they rule out are dropped.

    Where one parameter was solved for one row, the fit already holds draws from the priors of the others:
    nothing is added.
    """
    drawn: list[Vector] = []
    sampler: dict[str, object] = {"name": "Latin hypercube over the priors, one parameter solved for"}
    if not matches(predictor, figures):
        drawn, sampler = _sample(predictor, figures, fit, tick)
    vectors = [*fit.equally_good, *drawn]
    return Ensemble(fit.slug, drawn, predicted(predictor, rows, vectors, tick), vectors, sampler)


def _sample(
    predictor: Predictor, figures: pd.DataFrame, fit: Fit, tick: Ticker | None
) -> tuple[list[Vector], dict[str, object]]:
    import emcee

    # A predictor of its own: thousands of vectors, most of which nobody asks for again, are forgotten with it.
    objective = Objective(Predictor(predictor.config, predictor.model, predictor.threads), figures, tick)
    walk = Walk(objective, objective.space.point(list(fit.values.values())))
    limit, slow = walk.cost + walk.delta, predictor.config.slow

    def log_likelihood(points: Array) -> Array:
        costs = np.full(len(points), np.inf)
        legal = ((points >= 0) & (points <= 1)).all(axis=1)
        if legal.any():
            costs[legal] = objective.costs_within(list(points[legal]), limit, slow)
        if not slow:
            _watch(walk, points, costs)
        return np.where(costs <= limit, 0.0, -np.inf)

    calibration = predictor.config.calibration
    dimensions = len(objective.space.free)
    walkers = max(WALKERS * dimensions, FEWEST_WALKERS)
    looks = -(-calibration.ensemble // walkers)
    sampler = emcee.EnsembleSampler(
        walkers,
        dimensions,
        log_likelihood,
        vectorize=True,
        moves=[(getattr(emcee.moves, name)(), share) for name, share in MOVES.items()],
    )
    sampler.random_state = np.random.RandomState(calibration.seed).get_state()
    state: Any = np.array(walk.scatter(walkers))
    points: list[Array] = []
    while len(points) < calibration.ensemble:
        state = sampler.run_mcmc(state, looks, thin_by=THINNED * dimensions)
        points = list(sampler.get_chain(flat=True))
        if slow:  # evenly drawn from a wider region: what lies in the region is evenly drawn from that
            costs = objective.costs_within(points, limit)
            _watch(walk, np.array(points), costs)
            points = [point for point, cost in zip(points, costs, strict=True) if cost <= limit]
    points = points[: calibration.ensemble]
    settings = {
        "name": "emcee",
        "version": emcee.__version__,
        "moves": MOVES,
        "walkers": walkers,
        "steps": sampler.iteration * THINNED * dimensions,
        "steps_between_draws": THINNED * dimensions,
        "accepted": float(sampler.acceptance_fraction.mean()),
    }
    return [objective.space.vector(point) for point in points], settings


def _watch(walk: Walk, points: Array, costs: Array) -> None:
    """Raise `LowerPoint` if one of the points lies clearly below the optimum."""
    lowest = int(costs.argmin())
    if costs[lowest] < walk.cost - NOT_ARRIVED * walk.delta:
        raise LowerPoint(points[lowest].copy(), float(costs[lowest]))
