"""The published evidence of each thread: figures by role, claims, sources, and whether the numbers agree."""

from nicperf.published.claims import claims
from nicperf.published.figures import figures, fit_rows, require_fit
from nicperf.published.source import source, slugs

__all__ = ["claims", "figures", "fit_rows", "require_fit", "slugs", "source"]
