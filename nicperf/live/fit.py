"""From repeated timings to numbers: order statistics, a fixed and a per-byte cost, and where two costs cross."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

QUANTILES = {"p10": 0.10, "q25": 0.25, "median": 0.50, "q75": 0.75}
SCALE = 0.05
CONFIDENCE = 0.95


def summary(samples: Sequence[float]) -> dict[str, float]:
    """10th percentile, quartiles and median of repeated timings of one thing.

    A timing is its undisturbed length plus whatever came in between: the 10th percentile is near that length
    without resting on a single reading; the quartiles tell how much came in between.
    """
    import numpy as np

    values = np.quantile(np.asarray(samples, dtype=float), list(QUANTILES.values()))
    return dict(zip(QUANTILES, values.tolist(), strict=True))


@dataclass(frozen=True)
class Line:
    """Cost of a copy of S bytes, a + b * S, with 95 % intervals.

    Attributes
    ----------
    a_cycles, a_low, a_high : float
        Fixed cost of a call.
    b_cycles_per_byte, b_low, b_high : float
        Cost of a byte.
    worst_percent : float
        Largest distance of a point from the line, of the line's value there.
    """

    a_cycles: float
    a_low: float
    a_high: float
    b_cycles_per_byte: float
    b_low: float
    b_high: float
    worst_percent: float


def line(sizes_bytes: Sequence[float], cycles: Sequence[float]) -> Line:
    """Fit a + b * S to costs that span orders of magnitude.

    Parameters
    ----------
    sizes_bytes, cycles : sequence of float
        Message sizes and cost of a call; at least three different sizes.

    Returns
    -------
    Line
        Errors count relative to the cost, so that small messages have a say, and beyond 5 % linearly only
        (soft L1), so that a disturbed point has little. Neither cost is negative. The intervals are those of a
        linear fit around the optimum with the scatter of the points about the line: they contain
        what the line does not describe as well as noise. NaN with fewer than three sizes.

    Source
    ------
    P. J. Huber, *Robust Statistics* (1981), chapter 7.
    """
    import numpy as np
    from scipy.optimize import least_squares
    from scipy.special import stdtrit

    size, cost = np.asarray(sizes_bytes, dtype=float), np.asarray(cycles, dtype=float)
    if len(set(size.tolist())) < 3:
        return Line(*[math.nan] * 7)
    # In units of the extremes, both unknowns are near 1.
    scale = np.array([cost.min(), cost.max() / size.max()])
    model = np.column_stack([np.ones_like(size), size]) * scale

    def misses(x: np.ndarray) -> np.ndarray:
        return (model @ x - cost) / cost

    def slopes(_x: np.ndarray) -> np.ndarray:
        return model / cost[:, None]

    found = least_squares(
        misses,
        [0.5, 0.5],
        jac=slopes,
        bounds=(0, np.inf),
        loss="soft_l1",
        f_scale=SCALE,
    )
    freedom = len(size) - 2
    jacobian = np.asarray(found.jac)
    covariance = np.linalg.inv(jacobian.T @ jacobian) * 2 * found.cost / freedom
    half = stdtrit(freedom, (1 + CONFIDENCE) / 2) * np.sqrt(np.diag(covariance)) * scale
    a, b = found.x * scale
    drawn = model @ found.x
    worst = float(np.max(np.abs(cost - drawn) / drawn)) * 100
    low = np.maximum([a - half[0], b - half[1]], 0)
    return Line(
        float(a), float(low[0]), float(a + half[0]), float(b), float(low[1]), float(b + half[1]), worst
    )


def crossover_bytes(sizes_bytes: Sequence[float], cached: Sequence[float], nocache: Sequence[float]) -> float:
    """Smallest size from which on the copy around the cache is the cheaper one.

    Parameters
    ----------
    sizes_bytes : sequence of float
        Message sizes, ascending.
    cached, nocache : sequence of float
        Cost of a call of each size.

    Returns
    -------
    float
        Between two sizes, where straight lines in the logarithms of cost and size cross. The first size if it
        always is cheaper, infinity if it is not at the last.

    Examples
    --------
    >>> crossover_bytes([64, 256], [10, 40], [20, 20])
    128.0
    >>> crossover_bytes([64, 256], [10, 40], [20, 50])
    inf
    """
    lead = [math.log(around / through) for around, through in zip(nocache, cached, strict=True)]
    if lead[-1] >= 0:
        return math.inf
    for index in range(len(lead) - 1, 0, -1):
        before, after = lead[index - 1], lead[index]
        if before >= 0:
            low, high = math.log2(sizes_bytes[index - 1]), math.log2(sizes_bytes[index])
            return float(2 ** (low + (high - low) * before / (before - after)))
    return float(sizes_bytes[0])
