"""Indices after Morris: those that a closed form must have, of headlines only, stored, and refused when stale."""

from dataclasses import replace

import numpy as np
import pytest

import nicperf as nic
from nicperf.errors import DataError, ScenarioError
from nicperf.experiments.config_reader import available
from nicperf.experiments.experiment import Experiment
from nicperf.experiments.predict import Predictor
from nicperf.experiments.sensitivity import FILE, headlines, sensitivity

CALIBRATED = [slug for slug in available() if nic.experiment(slug).calibrated]


@pytest.fixture
def fitted(experiment, fit):
    experiment.fit = fit
    return experiment


def test_headlines_are_of_the_last_configuration_that_was_held_out(experiment):
    rows = headlines(Predictor(experiment.config, experiment.model), experiment.figures)
    assert {row.configuration for row in rows} == {"mixed"}
    assert [(row.workload, row.side, row.quantity) for row in rows] == [
        ("udp", "local", "throughput_mbit_s"),
        ("udp", "local", "cpu_percent"),
        ("tcp", "local", "throughput_mbit_s"),
        ("tcp", "local", "cpu_percent"),
        ("session", "local", "interrupts_total"),
    ]


def test_without_a_held_out_row_a_fitted_one_is_the_headline(experiment):
    figures = experiment.figures.copy()
    figures.loc[figures["role"] == "held_out", "role"] = "context"
    rows = headlines(Predictor(experiment.config, experiment.model), figures)
    assert {row.configuration for row in rows} == {"quick"}


def test_effects_have_the_signs_and_zeros_of_the_closed_form(config, figures, model, truth):
    # The bus alone decides how fast frames leave; the sender's CPU pays for each of them.
    frame = sensitivity(Predictor(config, model), figures, truth).set_index(["id", "parameter"])
    speed = frame.loc["mixed.tcp.local.throughput_mbit_s"]
    assert speed.index[0].startswith("bus.")
    assert (speed.loc[["cpu.frame_us", "cpu.interrupt_us"], "mu_star_percent"] == 0).all()
    assert (speed["mu_percent"] <= 0).all()  # any cost slows
    bus = speed.loc["bus.fixed_clocks"]
    assert bus["mu_star_percent"] == pytest.approx(-bus["mu_percent"])
    cost = frame.loc["mixed.tcp.local.cpu_percent"]
    assert cost.loc["cpu.frame_us", "mu_percent"] == cost.loc["cpu.frame_us", "mu_star_percent"] > 0
    assert (frame["sigma_percent"] >= 0).all() and frame["mu_star_percent"].max() > 10


def test_a_linear_figure_has_its_slope_and_no_spread(config, figures, model, truth):
    # One parameter on a linear range, all others fixed: the effect is the same from everywhere.
    name, top = "cpu.frame_us", 10.0
    assumptions = tuple(
        replace(a, origin="guessed", range=(0.0, top) if a.name == name else ()) for a in config.assumptions
    )
    predictor = Predictor(replace(config, assumptions=assumptions), model)
    frame = sensitivity(predictor, figures, {}).set_index("id")
    row = next(row for row in headlines(predictor, figures) if row.quantity == "cpu_percent")
    (low,), (high,) = predictor.predict([row], [{name: 0.0}, {name: top}])
    found = frame.loc[row.id]
    assert found["mu_percent"] == pytest.approx(100 * (high - low) / found["predicted"], rel=1e-5)
    assert found["sigma_percent"] == pytest.approx(0, abs=1e-3)


def test_equal_input_gives_equal_indices_on_any_number_of_threads(config, figures, model, truth):
    one, three = (sensitivity(Predictor(config, model, threads=n), figures, truth) for n in (1, 3))
    assert one.equals(three)


def test_published_values_play_no_part(config, figures, model, truth):
    other = figures.assign(value=figures["value"] * 2)
    frames = [sensitivity(Predictor(config, model), rows, truth) for rows in (figures, other)]
    assert frames[0].equals(frames[1])


def test_without_a_range_there_is_nothing_to_move(config, figures, model):
    bare = replace(config, assumptions=config.assumptions[4:])
    with pytest.raises(ScenarioError, match="no parameter has a prior range"):
        sensitivity(Predictor(bare, model), figures, {})


def test_stored_indices_are_read_and_refused_when_stale(fitted, fit):
    made = fitted.screen(write=True)

    def again(figures=fitted.figures, config=fitted.config, fit=fit):
        other = Experiment(config, figures, fitted.claims, fitted.model, fitted.folder)
        other.fit = fit
        return other.sensitivity

    assert again().equals(made)
    with pytest.raises(
        DataError, match=r"the config changed since this was made.*sensitivity fake-2001 --write"
    ):
        again(config=replace(fitted.config, duration_s=0.5))
    with pytest.raises(DataError, match="the fit changed"):
        again(fit=replace(fit, values={**fit.values, "cpu.frame_us": 3.0}))
    moved = fitted.figures.copy()
    moved.loc[moved["role"] == "held_out", "role"] = "context"
    with pytest.raises(DataError, match="the roles changed"):
        again(figures=moved)
    path = fitted.folder / FILE
    path.write_text('{"effects": []}')
    with pytest.raises(DataError, match="these are no stored indices"):
        again()
    path.unlink()
    with pytest.raises(DataError, match=r"no indices are stored yet.*sensitivity fake-2001 --write"):
        again()


@pytest.mark.parametrize("slug", CALIBRATED)
def test_stored_indices_are_of_the_model_as_it_is(slug):
    exp = nic.experiment(slug)
    frame = exp.sensitivity
    predictor = Predictor(exp.config, exp.model)
    rows = headlines(predictor, exp.figures)
    ranged = {a.name for a in (*exp.config.free, *exp.config.ranged)}
    assert list(frame["id"].unique()) == [row.id for row in rows]
    assert all(set(own["parameter"]) == ranged for _, own in frame.groupby("id"))
    stored = frame.drop_duplicates("id")["predicted"]
    np.testing.assert_allclose(stored, predictor.predict(rows, [exp.fit.values])[0], rtol=1e-5)
    assert np.isfinite(frame.filter(like="_percent")).all(axis=None)
