"""velocity-2009: roles and tolerances as fixed before the first fit, verdicts as they were recorded."""

import pytest

from nicperf.errors import RoleError
from nicperf.experiments import Experiment, experiment
from nicperf.experiments.calibrate import calibrate
from nicperf.experiments.predict import Predictor

FIT = {
    "baseline.udp_stream.local.throughput_mbit_s",
    "baseline.udp_stream.local.cpu_percent",
    "baseline.udp_stream.remote.cpu_percent",
    "napi.udp_stream.local.throughput_mbit_s",
    "napi.udp_stream.local.cpu_percent",
    "napi.tcp_stream.local.throughput_mbit_s",
    "napi.tcp_stream.local.cpu_percent",
    "napi.tcp_stream.remote.cpu_percent",
    "all.tcp_stream.local.throughput_mbit_s",
    "all.tcp_stream.local.cpu_percent",
    "all.tcp_sendfile.local.cpu_percent",
    "napi.session.local.interrupts_total",
}
HELD_OUT = {"throughput_mbit_s": 8, "cpu_percent": 11, "interrupts_total": 2}
TOLERANCES = {"throughput_mbit_s": 0.02, "cpu_percent": 0.08, "interrupts_total": 0.10}
GOALS = {"throughput_mbit_s": 0.01, "cpu_percent": 0.04}


@pytest.fixture(scope="module")
def velocity() -> Experiment:
    return experiment("velocity-2009")


def test_roles_stand_as_they_were_fixed(velocity):
    figures = velocity.figures
    assert set(figures.query("role == 'fit'")["id"]) == FIT
    assert figures.query("role == 'held_out'")["quantity"].value_counts().to_dict() == HELD_OUT
    rest = figures.query("quantity in @TOLERANCES and role == 'context'")
    assert rest.empty, "a figure that could be predicted was put aside"


def test_tolerances_and_goals_stand_as_they_were_fixed(velocity):
    assert {name: velocity.config.tolerances[name] for name in TOLERANCES} == TOLERANCES
    assert {name: velocity.config.goals[name] for name in GOALS} == GOALS


def test_fewer_parameters_than_figures(velocity):
    assert 0 < len(velocity.config.free) <= 10 < len(FIT)


def test_a_held_out_row_is_refused(velocity):
    rows = velocity.figures.query("role in ['fit', 'held_out']")
    with pytest.raises(RoleError, match="21 of 33 rows must not be fitted"):
        calibrate(Predictor(velocity.config, velocity.model), rows)


def test_verdicts_are_the_recorded_ones(velocity):
    changed = velocity.changed_verdicts()
    assert changed.empty, f"verdicts moved; look why, then record them\n{changed.to_string()}"


def test_patches_that_change_nothing_on_this_board(velocity):
    table = velocity.ablation().query("patch in ['alignment', 'version'] and mode == 'alone'")
    assert len(table) > 0
    assert (table["change"] == 0).all()
