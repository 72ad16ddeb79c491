"""What was left out is not seen by the refit; what cannot be left out says why; stale refits are refused."""

from dataclasses import replace

import pytest

from nicperf.errors import DataError
from nicperf.experiments.experiment import Experiment
from nicperf.experiments.leave_out import FILE, refit
from nicperf.experiments.predict import Predictor


@pytest.fixture
def some_fitted(experiment, fit):
    """The made-up experiment with so few fitted rows that some folds can be left out and others cannot."""
    figures = experiment.figures.copy()
    quick = figures["configuration"] == "quick"
    figures.loc[quick, "role"] = "held_out"
    figures.loc[figures["id"].str.startswith("quick.tcp.local"), "role"] = "fit"
    return fitted(experiment, figures, fit)


def fitted(experiment, figures, fit, config=None):
    other = Experiment(
        config or experiment.config, figures, experiment.claims, experiment.model, experiment.folder
    )
    other.fit = fit
    return other


def test_each_fold_is_fitted_again_or_says_why_not(some_fitted):
    frame = some_fitted.leave_out(write=True)
    folds = frame.drop_duplicates(["by", "left_out"]).set_index("left_out")
    assert dict(folds["refitted"]) == {
        "plain": False, "mixed": False, "quick": True, "udp": True, "tcp": False, "session": True,
    }  # fmt: skip
    assert folds.loc["plain", "why"] == "Cannot be left out: fitted rows that remain: 2, free parameters: 4."
    assert folds.loc["mixed", "why"].startswith("No row of it was fitted")
    assert frame.query("left_out == 'plain'")["rows"].tolist() == [0]
    told = frame[frame["rows"] > 0]
    assert (told["median_error_percent"] <= told["worst_error_percent"]).all()


def test_a_refit_does_not_see_what_is_left_out(experiment):
    figures = experiment.figures.copy()
    figures.loc[figures["configuration"] == "quick", "value"] *= 1.5
    before, after = (
        refit(Predictor(experiment.config, experiment.model), rows) for rows in (experiment.figures, figures)
    )
    assert before["configuration:quick"] == after["configuration:quick"]
    assert before["configuration:plain"] != after["configuration:plain"]


def test_stored_refits_are_read_and_refused_when_stale(some_fitted, experiment, fit):
    some_fitted.leave_out(write=True)
    figures = some_fitted.figures
    assert fitted(experiment, figures, fit).left_out.equals(some_fitted.left_out)
    moved = fitted(experiment, figures, fit, replace(experiment.config, duration_s=0.5))
    with pytest.raises(
        DataError, match=r"the config changed since this was made.*leave-out fake-2001 --write"
    ):
        _ = moved.left_out
    with pytest.raises(DataError, match="the figures changed"):
        _ = fitted(experiment, experiment.figures, fit).left_out
    (experiment.folder / FILE).write_text('{"refits": []}')
    with pytest.raises(DataError, match="these are no stored refits"):
        _ = fitted(experiment, figures, fit).left_out
    (experiment.folder / FILE).unlink()
    with pytest.raises(DataError, match="nothing has been left out yet"):
        _ = fitted(experiment, figures, fit).left_out
