"""Opening an experiment by its slug."""

import pytest

from nicperf.errors import ScenarioError
from nicperf.experiments import experiment, experiments


def test_all_threads_are_listed_and_one_has_a_model():
    assert set(experiments()) == {"velocity-2009", "nocache-2014", "mvneta-2014", "fec-2022"}
    assert repr(experiment("velocity-2009")).startswith("<Experiment velocity-2009: via-velocity")


def test_other_slugs_are_refused(monkeypatch):
    with pytest.raises(
        ScenarioError, match="'velocty-2009': unknown experiment; did you mean 'velocity-2009'"
    ):
        experiment("velocty-2009")
    monkeypatch.setitem(experiment.__globals__, "available", lambda: ["fec-2022"])
    with pytest.raises(
        ScenarioError, match="this thread has figures and claims but no model yet; with a model: fec"
    ):
        experiment("nocache-2014")
