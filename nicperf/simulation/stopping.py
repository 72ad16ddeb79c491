"""When a run has been measured long enough: batch means of the throughput, until their interval is narrow.

The rule
    1. The longest measurement allowed is cut into equal slices. The run pauses after 100 of them, then after
       half as many again each time, and at the end.
    2. At a pause after n slices the last b*b of them, b = floor(sqrt(n)), form b batches of b slices: both
       the number of batches and their length grow, so that neighbouring batches become independent and their
       spread known.
    3. Half width = t * s / sqrt(b), where s is the standard deviation of the b batch means and t the quantile
       of Student's law with b - 1 degrees of freedom. The run ends once half width <= width * mean.

Batches must be long against the time over which the throughput is correlated with itself (a window's round
trip, an interrupt timer, the cycle of a sender that blocks), or the interval comes out too narrow. Choose
slices no shorter than a tenth of that time: the shortest batch has ten. Stopping at the first narrow interval
favours intervals that are narrow by luck: where slices are independent, an interval of 95 % covers in 92 to
96 % of runs (tests/unit/test_stopping.py counts), and in fewer the fewer correlation times a batch holds.
Traffic that is more regular than chance, as behind a saturated bus, is covered more often than asked.

Source
------
Jones, Haran, Caffo and Neath, "Fixed-width output analysis for Markov chain Monte Carlo", Journal of the
American Statistical Association 101 (2006): batches that grow with the square root of the run, and a least
effort. Glynn and Whitt, "The asymptotic validity of sequential stopping rules for stochastic simulations",
Annals of Applied Probability 2 (1992): such a rule covers as stated when the width goes to zero. Law and
Kelton, "Confidence intervals for steady-state simulations, II: a survey of sequential procedures", Management
Science 28 (1982): what short runs lose.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

from nicperf.errors import ScenarioError

LEAST_SLICES = 100


@dataclass(frozen=True)
class StoppingRule:
    """How well the throughput of a run is to be known.

    Attributes
    ----------
    width : float
        Half width of the confidence interval aimed at, relative to the mean: 0.005 is 0.5 %.
    confidence : float
        Of the interval, such as 0.95.
    """

    width: float
    confidence: float

    def check(self, slices: int) -> StoppingRule:
        """Return the rule if it makes sense for so many slices.

        Raises
        ------
        ScenarioError
            A width or confidence outside 0..1, or fewer slices than the first look needs.
        """
        for field, value in (("stop_width", self.width), ("confidence", self.confidence)):
            if not 0 < value < 1:
                raise ScenarioError(
                    "out of range",
                    place="scenario",
                    field=field,
                    value=value,
                    cure="use more than 0 and less than 1",
                )
        if slices < LEAST_SLICES:
            raise ScenarioError(
                "too few to stop early",
                place="scenario",
                field="slices",
                value=slices,
                cure=f"use {LEAST_SLICES} or more",
            )
        return self

    def satisfied(self, slices: np.ndarray) -> bool:
        """Whether so many slices are enough; `slices` holds the throughput of each, in any unit."""
        mean = float(np.mean(slices))
        return mean > 0 and half_width(slices, self.confidence) <= self.width * mean


def pauses(slices: int) -> Iterator[int]:
    """Numbers of slices after which the rule looks; the last is all of them."""
    n = LEAST_SLICES
    while n < slices:
        yield n
        n += n // 2
    yield slices


def half_width(slices: np.ndarray, confidence: float) -> float:
    """Half width of the confidence interval of the mean, by batch means.

    Parameters
    ----------
    slices : float array, shape (n,)
        Means of n equal slices of time, in their order.
    confidence : float
        Such as 0.95.

    Returns
    -------
    float
        In the unit of `slices`; NaN with fewer than four.
    """
    b = math.isqrt(len(slices))
    if b < 2:
        return math.nan
    means = slices[len(slices) - b * b :].reshape(b, b).mean(axis=1)
    return _quantile(confidence, b - 1) * float(means.std(ddof=1)) / math.sqrt(b)


@cache
def _quantile(confidence: float, freedom: int) -> float:
    """Student's t that the central `confidence` of the law lies below."""
    from scipy.special import stdtrit  # scipy.stats takes a second to import, and calls this

    return float(stdtrit(freedom, 0.5 + confidence / 2))
