"""Welch's test and Holm's correction: by hand, against simulated runs, and at the edges of rounding."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import stdtr
from scipy.stats import ttest_ind

from nicperf.stats import Sample, holm, welch


def test_by_hand() -> None:
    found = welch(Sample(10.0, 3.0, 9), Sample(14.0, 4.0, 16))
    assert found.delta == 4.0
    assert found.t_value == pytest.approx(4 / math.sqrt(1 + 1))
    assert found.freedom_count == pytest.approx(4 / (1 / 8 + 1 / 15))
    assert (found.low + found.high) / 2 == pytest.approx(4)
    assert found.p_value == pytest.approx(2 * stdtr(found.freedom_count, -found.t_value))
    assert (found.t_low_value, found.t_high_value) == (found.t_value, found.t_value)


def test_the_interval_ends_where_the_test_would_reject() -> None:
    first, second = Sample(10.0, 3.0, 9), Sample(14.0, 4.0, 16)
    for end in (welch(first, second).low, welch(first, second).high):
        assert welch(Sample(first.value + end, 3.0, 9), second).p_value == pytest.approx(0.05)


def test_printed_moments_tell_what_the_runs_themselves_tell() -> None:
    dice = np.random.default_rng(1)
    one, other = dice.normal(5, 1, 10), dice.normal(6, 2, 12)
    direct = ttest_ind(other, one, equal_var=False)
    found = welch(Sample(one.mean(), one.std(ddof=1), 10), Sample(other.mean(), other.std(ddof=1), 12))
    assert (found.t_value, found.p_value) == pytest.approx((direct.statistic, direct.pvalue))
    interval = direct.confidence_interval()
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))


def test_rounding_reaches_every_number_that_prints_the_same() -> None:
    first, second = Sample(10.0, 1.0, 10, 1.0), Sample(13.0, 2.0, 10, 1.0)
    found, dice = welch(first, second), np.random.default_rng(2)
    assert found.t_high_value == pytest.approx(4 / math.sqrt((0.25 + 2.25) / 10))
    assert found.t_low_value == pytest.approx(2 / math.sqrt((2.25 + 6.25) / 10))
    for _ in range(50):
        shift = dice.uniform(-0.5, 0.5, 4)
        other = welch(Sample(10 + shift[0], 1 + shift[1], 10), Sample(13 + shift[2], 2 + shift[3], 10))
        assert found.t_low_value <= other.t_value <= found.t_high_value
        assert found.p_low_value <= other.p_value <= found.p_high_value


def test_means_that_may_be_equal_may_have_any_probability() -> None:
    found = welch(Sample(10.0, 1.0, 10, 1.0), Sample(10.5, 1.0, 10, 1.0))
    assert found.t_low_value < 0 < found.t_high_value and found.p_high_value == 1


@pytest.mark.parametrize("sample", [Sample(1.0, 0.0, 10), Sample(1.0, 1.0, 1), Sample(1.0, 0.5, 10, 1.0)])
def test_a_mean_without_a_deviation_is_refused(sample: Sample) -> None:
    with pytest.raises(ValueError, match="no deviation"):
        welch(sample, Sample(1.0, 1.0, 10))


def test_holm_by_hand() -> None:
    assert holm([0.04, 0.01, 0.02]) == pytest.approx([0.04, 0.03, 0.04])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []
