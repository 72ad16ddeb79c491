"""The function that calibration minimises: misses of the fit rows in units of their tolerance."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import pandas as pd

from nicperf.errors import ScenarioError
from nicperf.experiments.predict import Predictor, Ticker, rows_of
from nicperf.experiments.space import Array, Space
from nicperf.published import require_fit


class Objective:
    """Residuals of the fit rows over the unit cube of free parameters.

    residual = (predicted - published) / (tolerance * published), one for each row; where the experiment
    asks for a weak prior, (point - centre) / prior_sd follows, one for each parameter.

    Parameters
    ----------
    predictor : Predictor
        Of the experiment.
    figures : DataFrame
        Published rows, all of role ``fit``.
    tick : callable, optional
        Called with the number of scenarios done.

    Raises
    ------
    RoleError
        A row is not ``fit``.
    ScenarioError
        Nothing to fit, no fewer free parameters than rows, a row the model cannot predict, or one without a
        tolerance.
    """

    def __init__(self, predictor: Predictor, figures: pd.DataFrame, tick: Ticker | None = None) -> None:
        config = predictor.config
        require_fit(figures)
        if not config.free:
            raise ScenarioError(
                "no parameter has the origin 'fitted'", place=config.slug, field="parameters", cure="free one"
            )
        if len(config.free) >= len(figures):
            raise ScenarioError(
                f"{len(config.free)} free parameters for {len(figures)} fit rows",
                place=config.slug,
                field="parameters",
                cure="free fewer parameters than rows",
            )
        self.predictor = predictor
        self.space = Space(config.free)
        self.rows = rows_of(figures)
        self.published = figures["value"].to_numpy(dtype=float)
        for row in self.rows:
            if not predictor.can_predict(row) or row.quantity not in config.tolerances:
                raise ScenarioError(
                    "this row cannot be fitted: no prediction or no tolerance",
                    place=config.slug,
                    field=row.id,
                    cure="make it context in figures.csv, or set its tolerance",
                )
        self._scale = np.array([config.tolerances[row.quantity] for row in self.rows]) * np.abs(
            self.published
        )
        self._prior_sd = config.calibration.prior_sd
        self._tick = tick

    def predictions(self, points: Sequence[Array]) -> Array:
        """Predicted fit rows, shape (points, rows), in the rows' units."""
        vectors = [self.space.vector(point) for point in points]
        return np.array(self.predictor.predict(self.rows, vectors, self._tick), dtype=float)

    def residuals(self, points: Sequence[Array]) -> Array:
        """Residuals, shape (points, rows or rows + parameters)."""
        misses = (self.predictions(points) - self.published) / self._scale
        if not self._prior_sd:
            return misses
        return np.hstack([misses, (np.array(points) - self.space.centre) / self._prior_sd])

    def costs_within(self, points: Sequence[Array], limit: float, without: Collection[str] = ()) -> Array:
        """Sum of squared residuals of each point, infinite above a limit.

        The rows of one workload after the other are predicted, in the order of the configuration file, and only
        for points that the rows before have left below the limit. A file that lists its slow tests last spares
        most points that are drawn at random these.

        Parameters
        ----------
        points : sequence of array
        limit : float
        without : collection of str
            Workloads whose rows are left out: the costs are then lower bounds.

        Returns
        -------
        array, shape (points,)
        """
        costs = np.zeros(len(points))
        if self._prior_sd:
            costs += (((np.array(points) - self.space.centre) / self._prior_sd) ** 2).sum(axis=1)
        vectors = [self.space.vector(point) for point in points]
        order = [*self.predictor.config.workloads, *self.predictor.config.sessions]
        for workload in sorted({row.workload for row in self.rows} - {*without}, key=order.index):
            left = np.flatnonzero(costs <= limit)
            own = [i for i, row in enumerate(self.rows) if row.workload == workload]
            if not len(left):
                break
            rows = [self.rows[i] for i in own]
            predicted = np.array(
                self.predictor.predict(rows, [vectors[i] for i in left], self._tick), dtype=float
            )
            costs[left] += (((predicted - self.published[own]) / self._scale[own]) ** 2).sum(axis=1)
        return np.where(costs <= limit, costs, np.inf)

    def jacobian(self, point: Array, *, central: bool = False) -> Array:
        """Derivatives of the residuals, shape (residuals, parameters), all differences run together."""
        steps = np.diag(np.where(point + self.space.steps > 1, -self.space.steps, self.space.steps))
        ahead = [np.clip(point + step, 0, 1) for step in steps]
        behind = [np.clip(point - step, 0, 1) if central else point for step in steps]
        values = self.residuals([*ahead, *behind])
        half = len(steps)
        widths = np.array([(a - b)[i] for i, (a, b) in enumerate(zip(ahead, behind, strict=True))])
        return ((values[:half] - values[half:]) / widths[:, None]).T
