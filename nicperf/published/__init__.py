"""The published evidence of each thread: figures by role, claims, sources, and whether the numbers agree."""

from nicperf.published.claims import claims
from nicperf.published.consistency import consistency
from nicperf.published.figures import figures, fit_rows, require_fit
from nicperf.published.source import slugs, source

__all__ = ["claims", "consistency", "figures", "fit_rows", "require_fit", "slugs", "source"]
