"""Statistics that need no model: when a prediction counts as right, and when two printed means differ."""

from nicperf.stats.significance import Difference, Sample, holm, welch
from nicperf.stats.verdict import VERDICTS, Judgement, judge, printed_resolution

__all__ = [
    "VERDICTS",
    "Difference",
    "Judgement",
    "Sample",
    "holm",
    "judge",
    "printed_resolution",
    "welch",
]
