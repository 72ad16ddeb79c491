"""Drawn vectors fit equally well, come out equal again, and know when they are out of date."""

from dataclasses import replace

import numpy as np
import pytest

from nicperf.errors import DataError, RoleError
from nicperf.experiments.draw import draw
from nicperf.experiments.ensemble import read_ensemble
from nicperf.experiments.experiment import Experiment
from nicperf.experiments.objective import Objective
from nicperf.experiments.predict import Predictor, rows_of
from nicperf.experiments.walk import LowerPoint


def fit_rows(figures):
    return figures[figures["role"] == "fit"]


def test_every_vector_fits_equally_well(config, figures, model, fit, ensemble):
    assert len(ensemble.drawn) == config.calibration.ensemble
    assert ensemble.vectors[0] == fit.values
    objective = Objective(Predictor(config, model), fit_rows(figures))
    points = np.array([objective.space.point(list(v.values())) for v in ensemble.vectors])
    costs = (objective.residuals(list(points)) ** 2).sum(axis=1)
    assert costs.max() <= fit.cost + fit.delta + 1e-3
    assert (costs[-len(ensemble.drawn) :] > fit.cost + fit.delta / 2).sum() > 3, "they reach out"
    assert len(np.unique(points, axis=0)) > 0.8 * len(points)


def test_stored_predictions_are_what_the_model_says(config, figures, model, ensemble):
    rows = rows_of(figures[figures["id"].isin(ensemble.predictions)])
    for place in (0, 5, -1):
        again = Predictor(config, model).predict(rows, [ensemble.vectors[place]])[0]
        assert list(ensemble.predictions.iloc[place]) == again
    low, high = ensemble.interval(rows[0].id)
    assert low < high
    assert all(np.isnan(ensemble.interval("no such row")))


def test_equal_on_any_number_of_threads_and_by_seed(config, figures, model, fit, ensemble):
    one, three = (draw(Predictor(config, model, threads=n), fit_rows(figures), fit, []) for n in (1, 3))
    assert one.drawn == three.drawn == ensemble.drawn
    other = replace(config, calibration=replace(config.calibration, seed=8))
    assert draw(Predictor(other, model), fit_rows(figures), fit, []).drawn != ensemble.drawn


def test_fewer_draws_are_the_first_of_many(config, figures, model, fit, ensemble):
    few = replace(config, calibration=replace(config.calibration, ensemble=10))
    assert draw(Predictor(few, model), fit_rows(figures), fit, []).drawn == ensemble.drawn[:10]


def test_a_fit_that_is_no_optimum_is_seen(config, figures, model, fit):
    off = replace(fit, values={**fit.values, "cpu.frame_us": 1.2 * fit.values["cpu.frame_us"]})
    with pytest.raises(LowerPoint):
        draw(Predictor(config, model), fit_rows(figures), off, [])


def test_a_held_out_row_is_refused(config, figures, model, fit):
    with pytest.raises(RoleError):
        draw(Predictor(config, model), figures[figures["role"].isin(["fit", "held_out"])], fit, [])
    assert model.runs == 0


def test_calibrating_stores_both_and_a_new_fit_makes_old_draws_stale(experiment, stored_fit):
    found = experiment.ensemble
    fit = replace(stored_fit, values={**stored_fit.values, "cpu.frame_us": 2.0})
    path, rows = experiment.folder / "ensemble.json", fit_rows(experiment.figures)
    with pytest.raises(DataError, match=r"the fit changed since this was made.*nicperf calibrate fake-2001"):
        read_ensemble(path, experiment.config, rows, fit)
    path.write_text("{}")
    with pytest.raises(DataError, match="this is not a stored ensemble"):
        read_ensemble(path, experiment.config, rows, stored_fit)
    path.unlink()
    with pytest.raises(DataError, match="no equally good vectors have been drawn"):
        read_ensemble(path, experiment.config, rows, stored_fit)
    experiment.calibrate(write=True)
    again = Experiment(
        experiment.config, experiment.figures, experiment.claims, experiment.model, experiment.folder
    )
    assert again.ensemble.drawn == found.drawn


def test_a_row_that_is_not_stored_is_predicted_now(experiment, stored_fit):
    experiment.ensemble = replace(
        experiment.ensemble, predictions=experiment.ensemble.predictions.iloc[:, :3]
    )
    assert experiment.ledger().query("kind == 'figure' and role == 'held_out'")["low"].notna().all()
