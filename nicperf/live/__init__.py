"""Measurements on the reader's own machine."""

from nicperf.live.copy import CopyResult, read_copy, run_copy

__all__ = ["CopyResult", "read_copy", "run_copy"]
