"""The deviations of the post of 2014 against its statement that the latency test shows no significant difference."""

from __future__ import annotations

import pytest

from nicperf import charts
from nicperf.errors import DataError
from nicperf.experiments import significance

#: Worked out apart from the program: t by row, or the range within which the post's rounding leaves it.
T = {
    ("rr_1400", "transactions_per_s"): 2.24,
    ("rr_14000", "transactions_per_s"): -10.8,
    ("rr_14000", "latency_p50_us"): -12.7,
    ("stream_same_cpu", "demand_cycle_per_byte"): 11.2,
    ("stream_split_cpu", "demand_cycle_per_byte"): 15.2,
    ("stream_split_cpu", "cpu1_gcycle"): 16.5,
}


@pytest.fixture(scope="module")
def table():
    return significance().set_index(["workload", "quantity"])


def wrong(table, expected: dict[tuple[str, str], float]) -> list[tuple[str, str]]:
    return [key for key, t in expected.items() if table["t"][key] != pytest.approx(t, abs=0.06)]


def test_statistics_of_the_post(table):
    assert wrong(table, T) == []
    assert wrong(table, {**T, ("rr_14000", "latency_p50_us"): -12.6}) == [("rr_14000", "latency_p50_us")]
    percentiles = [key for key in table.index if key[1].startswith("latency_p9")]
    assert len(percentiles) == 6 and table["t"].loc[percentiles].abs().max() < 1.5
    at = table.loc[("stream_split_cpu", "cpu0_gcycle")]
    assert at["t_low"] < -7.9 < at["t_high"] and at["t"] == pytest.approx(-6.7, abs=0.06)
    assert table["p"]["rr_1400", "transactions_per_s"] == pytest.approx(0.04, abs=0.005)
    assert table["delta_percent"]["rr_14000", "transactions_per_s"] == pytest.approx(-0.39, abs=0.005)


def test_two_of_four_rows_that_the_post_calls_equal_differ_however_they_were_rounded(table):
    called = table[table["called_equal"]]["significant"]
    assert called.to_dict() == {
        ("rr_1400", "transactions_per_s"): "depends on rounding",
        ("rr_1400", "latency_p50_us"): "depends on rounding",
        ("rr_14000", "transactions_per_s"): "yes",
        ("rr_14000", "latency_p50_us"): "yes",
    }
    sure = table[table["significant"] == "yes"]
    assert (sure["p_holm"] < 0.05).all() and not ((sure["low"] < 0) & (sure["high"] > 0)).any()
    assert "latency_p50" in table.index[6][1] and len(table) == 17


def test_the_chart_says_which_rows_contradict_the_post(table):
    said = charts.significance(table.reset_index()).to_dict()["description"]
    assert "t = -12.7" in said and "t = -10.8" in said and "t = 2.24" not in said


@pytest.mark.parametrize(
    ("values", "match"),
    [
        ({"second": "onn"}, "second = 'onn'.*did you mean 'on'"),
        ({"claim": "significant"}, "claim = 'significant'"),
        ({"slug": "velocity-2009", "first": "vanilla", "second": "vanilla", "claim": None}, "configuration"),
    ],
)
def test_what_is_not_there_is_named(values, match):
    with pytest.raises(DataError, match=match):
        significance(**values)
