"""What many netperf instances in a closed loop have measured, and how their figures become one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

#: What netperf and its users print.
PERCENTS = (50, 90, 95, 99)
#: Transactions that took longer than any queue here can hold them: a retransmission timeout, 200 ms at least.
STALL_US = 100_000

# netperf's histogram: of each decade a hundred buckets, from one microsecond on.
_WIDTH_US = np.repeat(10.0 ** np.arange(8), 100)
_LOW_US = np.tile(np.arange(100.0), 8) * _WIDTH_US


@dataclass(frozen=True, eq=False)
class Exchanges:
    """Transactions of a closed loop.

    Attributes
    ----------
    window_s : float
        How long each instance counted.
    span_s : float
        From the start of the first instance to the end of the last.
    figures : int64 array, shape (instances, 6)
        Instance, transactions, timeouts, sums of latency in us and of its square, longest in ps.
    histogram : uint32 array, shape (instances, 8, 100)
        Transactions by decade and bucket.

    Notes
    -----
    An instance counts what ends inside its own window; what is open at its end is lost, however long it had taken.
    """

    window_s: float
    span_s: float
    figures: np.ndarray
    histogram: np.ndarray

    @cached_property
    def instances(self) -> pd.DataFrame:
        """One row for each: instance, transactions, timeouts, mean_us, longest_us and its percentiles."""
        import pandas as pd

        n = self.figures[:, 1]
        mean_us = np.divide(self.figures[:, 3], n, out=np.full(len(n), np.nan), where=n > 0)
        frame = pd.DataFrame(self.figures[:, :3], columns=["instance", "transactions", "timeouts"])
        frame = frame.assign(mean_us=mean_us, longest_us=self.figures[:, 5] * 1e-6)
        return frame.assign(
            **{
                f"p{p}_us": [percentile_us(of_one, p) for of_one in self.histogram.reshape(len(n), -1)]
                for p in PERCENTS
            }
        )

    def latency_us(self, percent: float, how: str) -> float:
        """Percentile of the latency in us, NaN if nothing was counted.

        Parameters
        ----------
        percent : float
        how : {"mean_of_instances", "pooled"}
            Of each instance, then the mean of all; or of all transactions together.
        """
        flat = self.histogram.reshape(len(self.histogram), -1)
        if how == "pooled":
            return percentile_us(flat.sum(axis=0, dtype=np.int64), percent)
        each = [percentile_us(of_one, percent) for of_one in flat if of_one.any()]
        return float(np.mean(each)) if each else float("nan")

    @cached_property
    def pooled(self) -> pd.DataFrame:
        """The histogram of all transactions: low_us and width_us of each bucket that is not empty, transactions."""
        import pandas as pd

        counts = self.histogram.reshape(len(self.histogram), -1).sum(axis=0, dtype=np.int64)
        some = counts > 0
        return pd.DataFrame(
            {"low_us": _LOW_US[some], "width_us": _WIDTH_US[some], "transactions": counts[some]}
        )

    def summary(self, how: str) -> dict[str, float]:
        """Figures of the whole test, as published ones are made: see `nicperf.simulation.Run.summary`."""
        n = int(self.figures[:, 1].sum())
        counts = self.histogram.reshape(len(self.histogram), -1).sum(axis=0, dtype=np.int64)
        stalls = int(counts[_LOW_US >= STALL_US].sum())
        return {
            "transactions_per_s": n / self.window_s,
            "transactions_per_s_of_the_whole": n / self.span_s,
            "latency_mean_us": float(self.figures[:, 3].sum() / n) if n else float("nan"),
            **{f"latency_p{p}_us": self.latency_us(p, how) for p in PERCENTS},
            "stalls_percent": 100 * stalls / n if n else float("nan"),
            "timeouts": float(self.figures[:, 2].sum()),
        }


def percentile_us(counts: np.ndarray, percent: float) -> float:
    """Percentile, by netperf's rule, of one histogram.

    Parameters
    ----------
    counts : int array, shape (800,)
    percent : float

    Returns
    -------
    float
        Whole microseconds: the transaction of rank floor(share * total), on a straight line inside its bucket, cut off.
        NaN for an empty histogram.
    """
    total = int(counts.sum())
    if not total:
        return float("nan")
    rank = int(percent * total // 100)
    below = np.cumsum(counts, dtype=np.int64)
    bucket = int(np.searchsorted(below, rank))
    into = rank - (int(below[bucket]) - int(counts[bucket]))
    return float(np.floor(_LOW_US[bucket] + into / max(int(counts[bucket]), 1) * _WIDTH_US[bucket]))
