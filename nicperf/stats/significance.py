"""Whether two printed means differ: Welch's test from mean, deviation and number of runs, and what rounding does to it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Sample:
    """A printed mean +- standard deviation.

    Attributes
    ----------
    value, sd : float
        Mean and standard deviation of the runs, in one unit; `sd` > 0.
    runs : int
        Number of runs, at least 2, taken to be independent.
    resolution : float
        One unit of the last printed digit of both; 0 if they are exact.
    """

    value: float
    sd: float
    runs: int
    resolution: float = 0.0


@dataclass(frozen=True)
class Difference:
    """Of two means, the second less the first.

    Attributes
    ----------
    delta, low, high : float
        Difference and its confidence interval, in the unit of the samples.
    t_value, p_value : float
        Welch's statistic and the probability of one as far from 0 if the means were equal.
    freedom_count : float
        Degrees of freedom, not a whole number.
    t_low_value, t_high_value : float
        The least and the largest statistic that numbers printed the same could have.
    p_low_value, p_high_value : float
        The same of the probability.
    """

    delta: float
    low: float
    high: float
    t_value: float
    p_value: float
    freedom_count: float
    t_low_value: float
    t_high_value: float
    p_low_value: float
    p_high_value: float


def welch(first: Sample, second: Sample, confidence: float = 0.95) -> Difference:
    """Compare two means whose deviations need not be equal.

    Parameters
    ----------
    first, second : Sample
        In the same unit.
    confidence : float
        Of the interval of the difference.

    Returns
    -------
    Difference

    Raises
    ------
    ValueError
        A deviation that is not positive or could be 0 before it was rounded, or fewer than two runs.

    Notes
    -----
    Rounding: each mean and each deviation may lie half a unit of the last digit to either side, independently.

    Not modelled: runs that depend on each other, such as blocks of one setting between which the machine drifted.

    Source
    ------
    B. L. Welch, "The generalization of 'Student's' problem when several different population variances are
    involved", Biometrika 34 (1947).

    Examples
    --------
    >>> found = welch(Sample(10.0, 1.0, 10), Sample(12.0, 1.0, 10))
    >>> round(found.t_value, 3), round(found.freedom_count, 6), found.low < 2 < found.high
    (4.472, 18.0, True)
    """
    for sample in (first, second):
        if sample.runs < 2 or not sample.sd > sample.resolution / 2:
            raise ValueError(f"no deviation to compare with: {sample}")
    t_value, p_value = _test(first, second)
    variances = [sample.sd**2 / sample.runs for sample in (first, second)]
    shares = zip(variances, (first, second), strict=True)
    freedom = sum(variances) ** 2 / sum(v**2 / (sample.runs - 1) for v, sample in shares)
    delta = second.value - first.value
    half = _reach(freedom, confidence) * math.sqrt(sum(variances))
    rounded = [_test(*pair) for pair in itertools.product(_corners(first), _corners(second))]
    t_values, p_values = zip(*rounded, strict=True)
    straddles = min(t_values) < 0 < max(t_values)
    return Difference(
        delta=delta,
        low=delta - half,
        high=delta + half,
        t_value=t_value,
        p_value=p_value,
        freedom_count=freedom,
        t_low_value=min(t_values),
        t_high_value=max(t_values),
        p_low_value=min(p_values),
        p_high_value=1.0 if straddles else max(p_values),
    )


def _test(first: Sample, second: Sample) -> tuple[float, float]:
    from scipy.stats import ttest_ind_from_stats

    found = ttest_ind_from_stats(
        second.value, second.sd, second.runs, first.value, first.sd, first.runs, equal_var=False
    )
    return float(found.statistic), float(found.pvalue)


def _reach(freedom: float, confidence: float) -> float:
    """Half width of an interval, in standard errors."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, (1 + confidence) / 2))


def _corners(sample: Sample) -> list[Sample]:
    """Extremes of what would have been printed the same."""
    half = sample.resolution / 2
    signs = itertools.product((-half, half), repeat=2)
    return [Sample(sample.value + value, sample.sd + sd, sample.runs) for value, sd in signs]


def holm(p_values: Sequence[float]) -> list[float]:
    """Probabilities for several tests at once: that any of the equal pairs is called different stays below each.

    Parameters
    ----------
    p_values : sequence of float
        One for each test.

    Returns
    -------
    list of float
        Corrected, in the same order, none above 1.

    Source
    ------
    S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6 (1979).

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    corrected, largest = [math.nan] * len(p_values), 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min((len(p_values) - rank) * p_values[index], 1.0))
        corrected[index] = largest
    return corrected
