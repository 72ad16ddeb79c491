"""Statistics that need no model: when a prediction counts as right, and in which words that is said."""

from nicperf.stats.verdict import VERDICTS, Judgement, judge, printed_resolution

__all__ = ["VERDICTS", "Judgement", "judge", "printed_resolution"]
