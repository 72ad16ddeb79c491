"""The ledger of all threads: complete, readable, compared with baselines, and its stored refits still hold."""

import json

import pandas as pd
import pytest

import nicperf as nic
from nicperf import published
from nicperf.experiments import available
from nicperf.experiments.baselines import BASELINES
from nicperf.experiments.leave_out import FILE
from nicperf.experiments.scores import score
from nicperf.experiments.text import WIDTH, text
from nicperf.experiments.threads import calibrated
from nicperf.stats import VERDICTS


@pytest.fixture(scope="module")
def ledger() -> pd.DataFrame:
    return nic.ledger()


def test_every_figure_and_every_claim_is_a_row(ledger):
    for slug in published.slugs():
        rows = ledger[ledger["slug"] == slug]
        assert list(rows["id"]) == [*published.figures(slug)["id"], *published.claims(slug)["id"]]
    assert len(ledger[ledger["kind"] == "claim"]) >= 25


def test_every_row_has_a_verdict_and_one_sentence_of_why(ledger):
    assert set(ledger["verdict"]) <= set(VERDICTS)
    assert ledger["why"].str.endswith(".").all()
    assert not ledger["why"].str.contains(r"[a-z]\. [A-Z]").any()
    predicted = ledger[ledger["predicted"].notna()]
    assert (predicted["low"] <= predicted["predicted"]).all()
    assert (predicted["predicted"] <= predicted["high"]).all()


def test_held_out_rows_stand_beside_baselines(ledger):
    compared = ledger["predicted"].notna() & (ledger["role"] == "held_out")
    assert ledger.loc[compared, "nearest_row"].notna().any()
    assert ledger.loc[~compared, list(BASELINES)].isna().all(axis=None)


def test_where_a_baseline_beats_the_model_it_is_said(ledger):
    """Two configurations of velocity-2009 differ in nothing that UDP would notice: there a copy is closest."""
    line = (
        score(ledger)
        .query("slug == 'velocity-2009' and quantity == 'throughput_mbit_s'")
        .set_index("predictor")
    )
    assert tuple(line.loc["nearest_row", ["closer_median", "closer_worst"]]) == ("baseline", "model")


def test_the_table_is_readable(ledger):
    lines = text(ledger, *calibrated(ledger)).splitlines()
    assert max(map(len, lines)) <= WIDTH
    assert [
        line.split(":")[0] for line in lines if " figures (" in line or " figure (" in line
    ] == published.slugs()
    assert not any("nan" in line.split() for line in lines)


@pytest.mark.parametrize("slug", [slug for slug in available() if nic.experiment(slug).calibrated])
def test_stored_refits_belong_to_this_model(slug):
    """The values that were stored predict the rows they were fitted to: another model would not."""
    exp = nic.experiment(slug)
    assert set(exp.left_out["by"]) == {"configuration", "workload"}
    refits = json.loads((exp.folder / FILE).read_text())["refits"]
    for fold in exp.left_out[exp.left_out["refitted"]].drop_duplicates(["by", "left_out"]).to_dict("records"):
        values = refits[f"{fold['by']}:{fold['left_out']}"]
        rows = exp.figures[(exp.figures["role"] == "fit") & (exp.figures[fold["by"]] != fold["left_out"])]
        exp.fit = type(exp.fit)(**{**vars(exp.fit), "values": values})
        for row in rows[rows["quantity"] == "throughput_mbit_s"].to_dict("records"):
            found = exp.simulate(row["configuration"], row["workload"], seed=1).summary["throughput_mbit_s"]
            assert found == pytest.approx(row["value"], rel=exp.config.tolerances["throughput_mbit_s"])
