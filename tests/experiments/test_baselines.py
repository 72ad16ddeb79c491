"""The baselines see fitted rows only, and predict what their definitions say."""

import math

import pandas as pd
import pytest

from nicperf.errors import RoleError
from nicperf.experiments.baselines import BASELINES, Baselines
from nicperf.experiments.experiment import Experiment
from nicperf.experiments.predict import Row, rows_of
from nicperf.experiments.scores import score


@pytest.fixture
def specs(model):
    return model.parameters("fake")


@pytest.fixture
def fitted(figures):
    return figures[figures["role"] == "fit"]


@pytest.fixture
def baselines(config, specs, fitted):
    return Baselines(config, specs, fitted)


def published(figures, row_id):
    return figures.set_index("id").loc[row_id, "value"]


def predicted(baselines, row_id):
    return baselines.predict([Row(row_id, *row_id.split("."))]).loc[0].to_dict()


def test_a_held_out_row_is_refused(config, specs, figures):
    with pytest.raises(RoleError, match="must not be fitted"):
        Baselines(config, specs, figures)


def test_a_changed_held_out_value_changes_no_prediction(experiment, stored_fit):
    figures = experiment.figures.copy()
    figures.loc[figures["role"] == "held_out", "value"] *= 1.7
    other = Experiment(experiment.config, figures, experiment.claims, experiment.model, experiment.folder)
    columns = ["id", "predicted", *BASELINES]
    before, after = experiment.ledger(), other.ledger()
    pd.testing.assert_frame_equal(before[columns], after[columns])
    assert (score(before)["median_error_percent"] < score(after)["median_error_percent"]).any()


def test_a_changed_fitted_value_changes_them(config, specs, fitted, baselines):
    rows = [Row("x", "mixed", "tcp", "local", "cpu_percent")]
    other = Baselines(config, specs, fitted.assign(value=1.7 * fitted["value"])).predict(rows)
    said = ["no_change", "regression", "nearest_row"]
    assert (other[said] / baselines.predict(rows)[said]).loc[0].tolist() == pytest.approx([1.7] * 3)


def test_no_change_is_the_figure_of_the_reference(baselines, figures):
    before = published(figures, "plain.tcp.local.cpu_percent")
    assert predicted(baselines, "mixed.tcp.local.cpu_percent")["no_change"] == before
    assert math.isnan(predicted(baselines, "plain.tcp.local.cpu_percent")["no_change"])


def test_no_change_is_silent_where_the_figure_before_is_not_fitted(config, specs, fitted):
    rest = fitted[fitted["configuration"] != "plain"]
    assert math.isnan(predicted(Baselines(config, specs, rest), "mixed.tcp.local.cpu_percent")["no_change"])


def test_the_nearest_row_differs_in_the_fewest_settings(baselines, figures):
    """mixed lacks one patch of quick and has two more than plain; another host is further away than both."""
    for side in ("local", "remote"):
        nearest = predicted(baselines, f"mixed.tcp.{side}.cpu_percent")["nearest_row"]
        assert nearest == published(figures, f"quick.tcp.{side}.cpu_percent")


def test_the_nearest_row_is_given_in_the_unit_of_the_row(config, specs, fitted):
    rates = fitted.iloc[:1].assign(quantity="packets_per_s", value=2500.0, side="remote")
    found = predicted(Baselines(config, specs, rates), "mixed.tcp.remote.packets_kpps")
    assert (found["nearest_row"], found["regression"]) == (2.5, pytest.approx(2.5))


def test_the_regression_finds_effects_that_multiply(config, specs, fitted):
    """Made-up figures, 100 x 2 (quick) x 3 (tcp), of which one combination is not among those fitted."""
    names = [("plain", "udp", 100.0), ("quick", "udp", 200.0), ("plain", "tcp", 300.0)]
    rows = pd.DataFrame(
        {
            "id": [f"{c}.{w}.local.cpu_percent" for c, w, _ in names],
            "configuration": [c for c, _, _ in names],
            "workload": [w for _, w, _ in names],
            "side": "local",
            "quantity": "cpu_percent",
            "value": [v for _, _, v in names],
            "role": "fit",
        }
    )
    baselines = Baselines(config, specs, rows)
    assert predicted(baselines, "quick.tcp.local.cpu_percent")["regression"] == pytest.approx(600.0)
    # A configuration that no fitted row has gets the average of those that have one.
    assert predicted(baselines, "mixed.udp.local.cpu_percent")["regression"] == pytest.approx(100 * 2**0.5)


def test_the_wire_caps_what_goes_over_it():
    """Velocity's TCP ceiling by hand: 1448 of the 1538 byte times of a full frame."""
    from nicperf import experiment

    exp = experiment("velocity-2009")
    fitted = exp.figures[exp.figures["role"] == "fit"]
    names = ["all.tcp_stream.local.throughput_mbit_s", "all.udp_stream.local.cpu_percent"]
    rows = [row for row in rows_of(exp.figures) if row.id in names]
    found = Baselines(exp.config, exp.model.parameters(exp.config.driver), fitted).predict(rows)
    ceilings = dict(zip([row.id for row in rows], found["wire_ceiling"], strict=True))
    assert ceilings[names[0]] == pytest.approx(1000 * 1448 / 1538)
    assert math.isnan(ceilings[names[1]])


def test_scores_compare_on_the_same_rows():
    frame = pd.DataFrame(
        {
            "role": "held_out",
            "quantity": "cpu_percent",
            "published": [10.0, 20.0, 40.0],
            "predicted": [11.0, 21.0, 44.0],
            "no_change": [math.nan, 20.4, 40.0],
            "wire_ceiling": math.nan,
            "regression": [10.5, 30.0, 42.0],
            "nearest_row": [11.0, 21.0, 44.0],
        }
    )
    scores = score(frame).set_index("predictor")
    assert list(scores.index) == ["model", "no_change", "regression", "nearest_row"]
    assert scores.loc["model", ["rows", "median_error_percent", "worst_error_percent"]].tolist() == [
        3, pytest.approx(10.0), pytest.approx(10.0),
    ]  # fmt: skip
    change = scores.loc["no_change"]
    assert change["rows"] == 2 and change["model_median_percent"] == pytest.approx(7.5)
    assert change["median_error_percent"] == pytest.approx(1.0)
    assert (change["closer_median"], change["closer_worst"]) == ("baseline", "baseline")
    assert tuple(scores.loc["regression", ["closer_median", "closer_worst"]]) == ("baseline", "model")
    assert tuple(scores.loc["nearest_row", ["closer_median", "closer_worst"]]) == ("equal", "equal")
