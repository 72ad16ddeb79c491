"""mvneta-2014: roles and tolerance as fixed before the first fit; one row, one parameter, and an interval for the other."""

import pytest

from nicperf.errors import ScenarioError
from nicperf.experiments import Experiment, experiment
from nicperf.experiments.objective import Objective
from nicperf.experiments.predict import Predictor

FIT = "tso_off.iperf.local.cpu_percent"
HELD_OUT = "tso_on.iperf.local.cpu_percent"


@pytest.fixture(scope="module")
def mvneta() -> Experiment:
    return experiment("mvneta-2014")


@pytest.fixture(scope="module")
def rows(mvneta):
    return mvneta.ledger().set_index("id")


def test_roles_and_tolerance_stand_as_they_were_fixed(mvneta):
    assert mvneta.figures.set_index("id")["role"].to_dict() == {FIT: "fit", HELD_OUT: "held_out"}
    assert mvneta.config.tolerances == mvneta.config.goals == {"cpu_percent": 0.10}


def test_one_parameter_is_solved_for_and_the_rest_have_ranges(mvneta):
    assert [a.name for a in mvneta.config.free] == ["local.cpu.cycles_factor"]
    assert all(a.origin in ("guessed", "measured") for a in mvneta.config.ranged)
    assert len(mvneta.fit.equally_good) == mvneta.config.calibration.ensemble
    assert set(mvneta.fit.values) == {a.name for a in (*mvneta.config.free, *mvneta.config.ranged)}


def test_it_is_no_fit(mvneta):
    """A row that one parameter reproduces is no evidence: the rule for fits still refuses it."""
    with pytest.raises(ScenarioError, match="1 free parameters for 1 fit rows"):
        Objective(Predictor(mvneta.config, mvneta.model), mvneta.figures[mvneta.figures["role"] == "fit"])


def test_the_held_out_figure_is_predicted_as_an_interval(rows):
    fitted, predicted = rows.loc[FIT], rows.loc[HELD_OUT]
    assert fitted["low"] == pytest.approx(25, rel=5e-3) and fitted["high"] == pytest.approx(25, rel=5e-3)
    assert predicted["low"] < predicted["published"] < predicted["high"]
    assert predicted["high"] < fitted["low"], "in every case TSO takes less"


def test_the_percentage_is_of_two_cores(mvneta):
    run = mvneta.simulate("tso_off", "iperf")
    assert run.summary["cpu_percent_local"] == pytest.approx(50, rel=0.02)


def test_coherent_or_not_tso_takes_less(mvneta):
    cpu = {
        name: mvneta.simulate(name, "iperf").summary["cpu_percent_local"]
        for name in ("tso_on", "tso_off", "neither", "tso_on_incoherent", "tso_off_incoherent")
    }
    assert cpu["tso_on"] < cpu["tso_off"] < cpu["neither"]
    assert cpu["tso_on"] < cpu["tso_on_incoherent"] < cpu["tso_off_incoherent"]


def test_verdicts_are_the_recorded_ones(mvneta):
    changed = mvneta.changed_verdicts()
    assert changed.empty, f"verdicts moved; look why, then record them\n{changed.to_string()}"
