"""The ledger judges each row by the fixed rules; recorded verdicts guard it."""

import math
from dataclasses import replace

import pandas as pd
import pytest

from nicperf.errors import DataError
from nicperf.experiments.claims import judge_claims
from nicperf.experiments.experiment import Experiment
from nicperf.experiments.ledger import COLUMNS, NO_MODEL, unanswered
from nicperf.experiments.predict import Row


def with_figure(experiment, row_id, factor):
    figures = experiment.figures.copy()
    figures.loc[figures["id"] == row_id, "value"] *= factor
    return Experiment(experiment.config, figures, experiment.claims, experiment.model, experiment.folder)


def line(frame, row_id):
    return frame.set_index("id").loc[row_id]


def test_one_row_for_each_figure_and_claim(experiment, stored_fit):
    ledger = experiment.ledger()
    assert list(ledger.columns) == COLUMNS
    assert list(ledger["id"]) == [*experiment.figures["id"], *experiment.claims["id"]]
    figures = ledger[ledger["predicted"].notna()]
    assert set(figures["verdict"]) == {"reproduced"}
    assert (figures["low"] <= figures["predicted"]).all()
    assert (figures["predicted"] <= figures["high"]).all()
    assert (figures["high"] > figures["low"]).all()


def test_what_the_model_does_not_predict_cannot_be_told(experiment, stored_fit):
    row = line(experiment.ledger(), "plain.udp.local.errors")
    assert row["verdict"] == "cannot tell"
    assert math.isnan(row["predicted"])


def test_a_wrong_figure_is_seen(experiment, stored_fit):
    worse = with_figure(experiment, "mixed.tcp.local.cpu_percent", 1.2).ledger()
    row = line(worse, "mixed.tcp.local.cpu_percent")
    assert row["verdict"] == "direction only"
    assert row["error_percent"] == pytest.approx(100 * (1 / 1.2 - 1), abs=0.2)
    assert "the change against plain" in row["why"]
    lost = with_figure(experiment, "mixed.tcp.local.cpu_percent", 4.0).ledger()
    assert line(lost, "mixed.tcp.local.cpu_percent")["verdict"] == "not reproduced"


def test_claims_are_judged(experiment, stored_fit):
    claims = experiment.ledger().query("role == 'claim'").set_index("id")
    assert dict(claims["verdict"]) == {
        "faster": "reproduced",
        "slower": "not reproduced",
        "unsaid": "cannot tell",
    }
    assert claims.loc["faster", "why"].startswith(
        "Predicted in every parameter set that fits equally well: tcp.local."
    )
    assert "0% of the parameter sets" in claims.loc["slower", "why"]
    assert "prints no figure; what would refute it: Somebody saying it." in claims.loc["unsaid", "why"]


def judged(experiment, check, **figures):
    claims = experiment.claims.iloc[:1].copy()
    claims.at[0, "checks"] = [check]
    changed = experiment.figures.copy()
    for row_id, value in figures.items():
        changed.loc[changed["id"] == row_id, "value"] = value
    frame = judge_claims(claims, changed, experiment._predictor, experiment._vectors)
    return tuple(frame.loc[0, ["verdict", "why"]])


@pytest.mark.parametrize(
    ("sign", "share", "verdict"),
    [
        (">", 0.0, "reproduced"),
        (">", 0.5, "direction only"),
        (">", 1.0, "not reproduced"),
        ("~", 0.5, "reproduced"),
        ("<", 0.5, "cannot tell"),
        ("<", 0.0, "not reproduced"),
    ],
)
def test_vectors_that_disagree_about_a_size_leave_its_direction(experiment, stored_fit, sign, share, verdict):
    """The factor lies at a share of the spread that the ratio of the two figures has over the vectors."""
    rows = [Row(f"{c}.tcp.local.cpu_percent", c, "tcp", "local", "cpu_percent") for c in ("plain", "mixed")]
    predicted = experiment._predictor.predict(rows, experiment._vectors)
    ratios = sorted(plain / mixed for plain, mixed in predicted)
    assert 1.1 < ratios[0] < ratios[-1]
    low, high = ratios[0] - 1e-6, ratios[-1] + 1e-6
    factor = f"{low + share * (high - low):.9f}"
    found, why = judged(
        experiment, f"plain.tcp.local.cpu_percent {sign} {factor} * mixed.tcp.local.cpu_percent"
    )
    assert found == verdict
    assert why.count(". ") == 0, "one sentence"


def test_published_figures_that_contradict_a_claim_are_named(experiment, stored_fit):
    check = "quick.tcp.local.throughput_mbit_s > plain.tcp.local.throughput_mbit_s"
    assert "which do not show it" not in judged(experiment, check)[1]
    changed = {"quick.tcp.local.throughput_mbit_s": 1.0}
    assert "(published 1 and" in judged(experiment, check, **changed)[1]
    assert "which do not show it" in judged(experiment, check, **changed)[1]


def test_a_claim_may_ask_for_a_setting_that_no_configuration_has(experiment, stored_fit):
    check = "plain+nic.burst_words=16.tcp.local.throughput_mbit_s ~ plain+burst.tcp.local.throughput_mbit_s"
    assert judged(experiment, check)[0] == "reproduced"
    assert judged(experiment, check.replace("=16", "=8"))[0] == "not reproduced"


def test_a_thread_without_a_model_has_all_its_rows(experiment):
    frame = unanswered(experiment.figures, experiment.claims)
    assert list(frame.columns) == COLUMNS
    assert list(frame["id"]) == [*experiment.figures["id"], *experiment.claims["id"]]
    assert set(frame["verdict"]) == {"cannot tell"} and set(frame["why"]) == {NO_MODEL}
    assert list(frame["kind"].value_counts()) == [len(experiment.figures), len(experiment.claims)]
    assert frame["published"].notna().sum() == len(experiment.figures) and frame["predicted"].isna().all()


def test_a_claim_that_is_no_relation_is_named(experiment, stored_fit):
    claims = experiment.claims.copy()
    claims.at[0, "checks"] = ["quick is faster"]
    broken = Experiment(experiment.config, experiment.figures, claims, experiment.model, experiment.folder)
    with pytest.raises(
        DataError, match=r"claims\.toml: faster: checks = 'quick is faster': this is no relation"
    ):
        broken.ledger()


def test_recorded_verdicts_hold_until_something_moves(experiment, stored_fit):
    experiment.record_verdicts()
    assert experiment.changed_verdicts().empty
    changed = with_figure(experiment, "mixed.udp.remote.cpu_percent", 1.2).changed_verdicts()
    assert changed.to_dict("records") == [
        {"id": "mixed.udp.remote.cpu_percent", "recorded": "reproduced", "computed": "not reproduced"}
    ]


def test_a_moved_tolerance_is_noticed(experiment, stored_fit):
    """A tolerance belongs to what a fit was made from, so widening one refuses the stored fit."""
    wider = replace(experiment.config, tolerances={**experiment.config.tolerances, "cpu_percent": 0.2})
    moved = Experiment(wider, experiment.figures, experiment.claims, experiment.model, experiment.folder)
    with pytest.raises(DataError, match="the config changed"):
        moved.ledger()


def test_a_word_that_is_no_verdict_is_named(experiment, stored_fit):
    path = experiment.record_verdicts()
    path.write_text(path.read_text().replace("reproduced", "fine", 1))
    with pytest.raises(DataError, match=r"verdicts\.csv:2: verdict = 'fine': this is no verdict"):
        experiment.changed_verdicts()


def test_validation_counts_and_compares_with_the_goals(experiment, stored_fit):
    found = experiment.validate()
    held_out = found.errors.query("role == 'held_out'").set_index("quantity")
    assert found.goals_met
    assert (found.fitted_rows, found.free_parameters) == (14, 4)
    assert held_out.loc["cpu_percent", "rows"] == 4
    assert held_out.loc["cpu_percent", "goal_percent"] == pytest.approx(4.0)
    assert pd.isna(held_out.loc["interrupts_total", "goal_percent"])
    assert found.verdicts.loc["claim", "not reproduced"] == 1


def test_a_missed_goal_is_admitted(experiment, stored_fit):
    for row_id in (
        "mixed.udp.local.cpu_percent",
        "mixed.tcp.local.cpu_percent",
        "mixed.tcp.remote.cpu_percent",
    ):
        experiment = with_figure(experiment, row_id, 1.06)
    assert not experiment.validate().goals_met


def test_ablation_takes_patches_alone_and_in_order(experiment, stored_fit):
    table = experiment.ablation()
    tcp = table.query("workload == 'tcp' and quantity == 'throughput_mbit_s'").set_index(["mode", "step"])
    assert list(tcp.loc["in order"]["patch"]) == ["", "moderation", "napi", "burst"]
    assert tcp.loc[("alone", 1), "change"] == pytest.approx(0, abs=1e-9)
    assert tcp.loc[("alone", 3), "change"] > 0
    assert (
        tcp.loc[("alone", 3), "change_low"]
        < tcp.loc[("alone", 3), "change"]
        < tcp.loc[("alone", 3), "change_high"]
    )
    end = experiment.simulate("quick", "tcp", seed=1).summary["throughput_mbit_s"]
    assert tcp.loc[("in order", 3), "value"] == pytest.approx(end, rel=1e-3)
