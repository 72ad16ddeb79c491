"""Measurements on the reader's own machine."""

from nicperf.live.copy import CopyResult, run_copy

__all__ = ["CopyResult", "run_copy"]
