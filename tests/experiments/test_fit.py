"""A stored fit comes back whole, and knows when it is out of date."""

import json
from dataclasses import replace

import pandas as pd
import pytest

from nicperf.errors import DataError
from nicperf.experiments.experiment import Experiment


def again(experiment, *, config=None, figures=None):
    config = experiment.config if config is None else config
    figures = experiment.figures if figures is None else figures
    return Experiment(config, figures, experiment.claims, experiment.model, experiment.folder)


def test_a_stored_fit_comes_back_whole(experiment, stored_fit):
    found = again(experiment).fit
    assert found.values == stored_fit.values
    assert found.equally_good == stored_fit.equally_good
    assert found.inseparable == stored_fit.inseparable
    pd.testing.assert_frame_equal(found.parameters, stored_fit.parameters, rtol=1e-5)
    pd.testing.assert_frame_equal(found.correlation, stored_fit.correlation, atol=1e-5, rtol=1e-5)


def test_without_a_fit_the_cure_is_named(experiment):
    with pytest.raises(DataError, match="has not been calibrated; run `nicperf calibrate fake-2001 --write`"):
        experiment.simulate("plain", "udp")


def test_a_changed_assumption_makes_it_stale(experiment, stored_fit):
    guessed = replace(experiment.config.assumptions[-1], value=2.0)
    changed = replace(experiment.config, assumptions=(*experiment.config.assumptions[:-1], guessed))
    with pytest.raises(DataError, match="the config changed since this was made"):
        again(experiment, config=changed).simulate("plain", "udp")


def test_prose_does_not(experiment, stored_fit):
    noted = replace(experiment.config.assumptions[-1], note="seen elsewhere", source="a better one")
    changed = replace(experiment.config, assumptions=(*experiment.config.assumptions[:-1], noted), goals={})
    assert again(experiment, config=changed).fit.values == stored_fit.values


def test_a_changed_fit_row_makes_it_stale_and_a_held_out_row_does_not(experiment, stored_fit):
    for role, stale in (("fit", True), ("held_out", False)):
        figures = experiment.figures.copy()
        line = figures.index[figures["role"] == role][0]
        figures.loc[line, "value"] *= 1.01
        if stale:
            with pytest.raises(DataError, match="the figures changed"):
                _ = again(experiment, figures=figures).fit
        else:
            assert again(experiment, figures=figures).fit.values == stored_fit.values


def test_another_model_is_noticed(experiment, stored_fit, monkeypatch):
    simulate = experiment.model.simulate

    def slower(**scenario):
        run = simulate(**scenario)
        run.summary["cpu_percent_remote"] *= 1.01
        return run

    monkeypatch.setattr(experiment.model, "simulate", slower)
    with pytest.raises(
        DataError, match=r"the model has changed since the vectors were drawn: .*remote\.cpu_percent"
    ):
        again(experiment).ledger()


@pytest.mark.parametrize("damage", ["{", '{"slug": "x"}', "[]"])
def test_a_damaged_file_is_named(experiment, stored_fit, damage):
    (experiment.folder / "fit.json").write_text(damage)
    with pytest.raises(DataError, match=r"fit\.json: this is not a stored fit.*nicperf calibrate"):
        _ = again(experiment).fit


def test_the_file_says_what_made_it(experiment, stored_fit):
    content = json.loads((experiment.folder / "fit.json").read_text())
    assert content["made_from"].keys() == {"config", "figures"}
    assert {"python", "numpy", "scipy"} <= content["made_with"].keys()
    assert {path.name for path in experiment.folder.iterdir()} == {"fit.json", "ensemble.json"}
