"""Known parameters are recovered, held-out rows are refused, and what cannot be told apart is said."""

from dataclasses import replace

import numpy as np
import pytest

from nicperf.errors import RoleError, ScenarioError
from nicperf.experiments.calibrate import calibrate
from nicperf.experiments.objective import Objective
from nicperf.experiments.predict import Predictor


def fit_rows(figures):
    return figures[figures["role"] == "fit"]


def test_known_parameters_are_recovered(fit, truth):
    assert fit.cost < 1e-3
    table = fit.parameters.set_index("name")
    for name, value in truth.items():
        assert fit.values[name] == pytest.approx(value, rel=0.02), name
        assert table.loc[name, "low"] <= value <= table.loc[name, "high"]
        assert table.loc[name, "prior_low"] <= table.loc[name, "low"]
    assert fit.residuals["error_percent"].abs().max() < 0.5
    assert fit.figures_per_parameter == pytest.approx(14 / 4)
    assert len(fit.start_costs) == 3
    assert list(fit.start_costs) == sorted(fit.start_costs)


def test_equally_good_vectors_are(config, figures, model, fit):
    assert len(fit.equally_good) > 2 * len(config.free)
    assert fit.equally_good[0] == fit.values
    objective = Objective(Predictor(config, model), fit_rows(figures))
    points = [objective.space.point(list(v.values())) for v in fit.equally_good]
    costs = (objective.residuals(points) ** 2).sum(axis=1)
    assert costs.max() <= fit.cost + fit.delta + 1e-3
    assert np.ptp([v["bus.fixed_clocks"] for v in fit.equally_good]) > 1


def test_equal_input_gives_an_equal_fit_on_any_number_of_threads(config, figures, model):
    one = calibrate(Predictor(config, model, threads=1), fit_rows(figures))
    three = calibrate(Predictor(config, model, threads=3), fit_rows(figures))
    assert one.values == three.values
    assert one.equally_good == three.equally_good


@pytest.mark.parametrize("role", ["held_out", "context"])
def test_a_row_of_another_role_is_refused(config, figures, model, role):
    rows = fit_rows(figures).copy()
    rows.iloc[3, rows.columns.get_loc("role")] = role
    with pytest.raises(
        RoleError, match=rf"role = '{role}': 1 of 14 rows must not be fitted, '{rows.iloc[3]['id']}'"
    ):
        calibrate(Predictor(config, model), rows)
    assert model.runs == 0


def test_as_many_parameters_as_rows_are_refused(config, figures, model):
    with pytest.raises(ScenarioError, match="4 free parameters for 4 fit rows"):
        calibrate(Predictor(config, model), fit_rows(figures).head(4))


def test_without_a_free_parameter_there_is_nothing_to_fit(config, figures, model):
    fixed = replace(config, assumptions=config.assumptions[4:])
    with pytest.raises(ScenarioError, match="no parameter has the origin 'fitted'"):
        calibrate(Predictor(fixed, model), fit_rows(figures))


def test_a_row_without_prediction_or_tolerance_is_refused(config, figures, model):
    rows = figures.assign(role="fit")
    with pytest.raises(ScenarioError, match=r"plain\.udp\.local\.errors"):
        calibrate(Predictor(config, model), rows)


def test_two_parameters_that_always_act_together_are_named(config, figures, model):
    # Only the sum of the two interrupt costs acts on anything, so freeing both leaves a ridge.
    other = replace(config.assumptions[4], origin="fitted", range=(0.2, 5.0))
    both = replace(config, assumptions=(*config.assumptions[:4], other))
    fit = calibrate(Predictor(both, model), fit_rows(figures))
    assert any(
        "cpu.other_interrupt_us and cpu.interrupt_us cannot be separated" in s for s in fit.inseparable
    )
    assert any(s.startswith("cpu.other_interrupt_us: the rows leave") for s in fit.inseparable)
    assert abs(fit.correlation.loc["cpu.other_interrupt_us", "cpu.interrupt_us"]) > 0.95


def test_a_value_on_the_edge_of_its_prior_is_named(config, figures, model):
    # The truth, 2.6 us, lies below this range.
    narrow = replace(config.assumptions[2], range=(4.0, 20.0))
    assumptions = (*config.assumptions[:2], narrow, *config.assumptions[3:])
    fit = calibrate(Predictor(replace(config, assumptions=assumptions), model), fit_rows(figures))
    assert fit.values["cpu.frame_us"] == 4.0
    assert any(s.startswith("cpu.frame_us: the best value lies on the edge") for s in fit.inseparable)


def test_separable_parameters_are_not_accused(fit):
    assert not any("cannot be separated" in s for s in fit.inseparable)


def test_a_weak_prior_pulls_towards_the_centre(config, figures, model):
    strong = replace(config, calibration=replace(config.calibration, prior_sd=1e-3))
    fit = calibrate(Predictor(strong, model), fit_rows(figures))
    assert fit.values["cpu.frame_us"] == pytest.approx(5.0, rel=0.1)
