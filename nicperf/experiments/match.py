"""One fitted row and one free parameter: nothing to fit, so the parameter is solved for, and priors say the rest.

A single figure that a single parameter reproduces proves nothing. What it can do is to tie that parameter to all others: for
every choice of theirs within their prior ranges there is one value that gives the published figure. A held-out row is then
predicted as the interval over those choices.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.stats import qmc

from nicperf.errors import DataError, ScenarioError
from nicperf.experiments.fit import Fit
from nicperf.experiments.predict import Predictor, Ticker, Vector, rows_of
from nicperf.experiments.space import Array, Space
from nicperf.published import require_fit

# Halvings of the free parameter's range: what is left is below the six digits of a fit file's purpose.
HALVINGS = 14


def matches(predictor: Predictor, figures: pd.DataFrame) -> bool:
    """Whether an experiment is of this kind: one row, one free parameter, prior ranges for others."""
    config = predictor.config
    return len(figures) == len(config.free) == 1 and bool(config.ranged)


def match(predictor: Predictor, figures: pd.DataFrame, tick: Ticker | None = None) -> Fit:
    """Solve for the free parameter, at the centre of the other priors and at points spread over them.

    Parameters
    ----------
    predictor : Predictor
        Of the experiment; `config.calibration` says how many points (`ensemble`) and which seed.
    figures : DataFrame
        The one row, of role ``fit``.
    tick : callable, optional
        Called with the number of scenarios done.

    Returns
    -------
    Fit
        `values` and each of `equally_good` hold the free parameter and all that have a range. `low` and `high` of a
        parameter are the extremes over the points kept.

    Raises
    ------
    RoleError
        The row is not ``fit``.
    ScenarioError
        A row that the model cannot predict or that has no tolerance.
    DataError
        At the centre of the priors no value of the free parameter gives the published figure.

    Notes
    -----
    Points spread over the ranges (Latin hypercube) reach nearly to their ends, but not into the corners: the interval is
    that of priors which do not conspire. A point at which no value gives the figure contradicts it and is dropped.
    """
    require_fit(figures)
    config = predictor.config
    row, published = rows_of(figures)[0], float(figures["value"].iloc[0])
    if not predictor.can_predict(row) or row.quantity not in config.tolerances:
        raise ScenarioError(
            "this row cannot be fitted: no prediction or no tolerance",
            place=config.slug,
            field=row.id,
            cure="make it context in figures.csv, or set its tolerance",
        )
    free, others = Space(config.free), Space(config.ranged)
    sampler = qmc.LatinHypercube(len(config.ranged), rng=np.random.default_rng(config.calibration.seed))
    points = np.vstack([others.centre, sampler.random(config.calibration.ensemble - 1)])

    def vector(at: float, point: Array) -> Vector:
        return {**free.vector(np.array([at])), **others.vector(point)}

    def misses(at: Array) -> Array:
        vectors = [vector(a, point) for a, point in zip(at, points, strict=True)]
        return np.array(predictor.predict([row], vectors, tick), dtype=float)[:, 0] / published - 1

    low, high = np.zeros(len(points)), np.ones(len(points))
    rising = misses(high) > 0
    solvable = rising != (misses(low) > 0)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        beyond = (misses(middle) > 0) == rising
        low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
    if not solvable[0]:
        raise DataError(
            f"no value of {free.names[0]} within its range gives this figure",
            place=config.slug,
            field=row.id,
            value=published,
            cure="widen the range or look at the other assumptions",
        )
    error = float(misses(high)[0])
    kept = np.column_stack([high, points])[solvable]
    dropped = len(points) - len(kept)
    return Fit(
        slug=config.slug,
        values=vector(kept[0, 0], kept[0, 1:]),
        cost=(error / config.tolerances[row.quantity]) ** 2,
        delta=config.calibration.delta,
        residuals=pd.DataFrame(
            {
                "id": [row.id],
                "published": [published],
                "predicted": [published * (1 + error)],
                "error_percent": [100 * error],
                "misses_of_tolerance": [error / config.tolerances[row.quantity]],
            }
        ),
        parameters=_table(Space((*config.free, *config.ranged)), kept),
        correlation=pd.DataFrame(
            np.corrcoef(kept.T), index=[*free.names, *others.names], columns=[*free.names, *others.names]
        ),
        inseparable=(
            f"{free.names[0]}: one row and one parameter, which was solved for it; the row tests nothing.",
            f"{', '.join(others.names)}: the row says nothing about these; they keep their prior ranges.",
            *([f"{dropped} of {len(points)} points of the priors contradict the row."] if dropped else []),
        ),
        equally_good=tuple(vector(point[0], point[1:]) for point in kept),
        start_costs=(),
    )


def _table(space: Space, kept: Array) -> pd.DataFrame:
    rows = []
    for index, a in enumerate(space.free):
        low, high = (space.value(index, edge) for edge in (kept[:, index].min(), kept[:, index].max()))
        rows.append(
            {
                "name": a.name,
                "unit": a.unit,
                "value": space.value(index, kept[0, index]),
                "low": low,
                "high": high,
                "jacobian_low": low,
                "jacobian_high": high,
                "prior_low": a.low,
                "prior_high": a.high,
                "width": np.ptp(kept[:, index]),
            }
        )
    return pd.DataFrame(rows)
