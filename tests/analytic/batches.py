"""Confidence intervals of simulated means, and the random numbers of the simulations."""

from __future__ import annotations

import numpy as np
from nicperf.engine._probe import random_stream
from scipy.stats import t

LEVEL = 0.999  # a right engine misses one interval in a thousand seeds; the seeds below are fixed
BATCHES = 40


def interval(values: np.ndarray) -> tuple[float, float]:
    """Interval of the mean by batch means: neighbours are correlated, means of long batches nearly not."""
    values = values[len(values) // 10 :]  # the start is empty, which the closed form is not
    means = values[: len(values) // BATCHES * BATCHES].reshape(BATCHES, -1).mean(axis=1)
    half = t.ppf((1 + LEVEL) / 2, BATCHES - 1) * means.std(ddof=1) / BATCHES**0.5
    return means.mean() - half, means.mean() + half


def exponential_ps(seed: int, stream: int, n: int, mean_ps: float) -> np.ndarray:
    """Exponential times in whole picoseconds from a stream of the engine."""
    uniform = ((random_stream(seed, stream, n) >> np.uint64(11)) + 0.5) * 2.0**-53
    return np.rint(-mean_ps * np.log(uniform)).astype(np.int64)
