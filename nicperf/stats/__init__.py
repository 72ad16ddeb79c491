"""Statistics that need no model: verdicts, differences of printed means, and which of many settings none beats."""

from nicperf.stats.pareto import pareto
from nicperf.stats.significance import Difference, Sample, holm, welch
from nicperf.stats.verdict import VERDICTS, Judgement, judge, printed_resolution

__all__ = [
    "VERDICTS",
    "Difference",
    "Judgement",
    "Sample",
    "holm",
    "judge",
    "pareto",
    "printed_resolution",
    "welch",
]
