"""Statistics that need no model: when a prediction counts as right, and which of many settings none beats."""

from nicperf.stats.pareto import pareto
from nicperf.stats.verdict import VERDICTS, Judgement, judge, printed_resolution

__all__ = ["VERDICTS", "Judgement", "judge", "pareto", "printed_resolution"]
