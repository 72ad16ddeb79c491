"""What a check found out about one figure."""

from __future__ import annotations

import math
from dataclasses import dataclass

CONSISTENT, INCONSISTENT, IMPOSSIBLE, CANNOT_TELL = "consistent", "inconsistent", "impossible", "cannot tell"


@dataclass(frozen=True, slots=True)
class Finding:
    """One row of the consistency table.

    Attributes
    ----------
    check : str
        Name of the rule.
    subject : str
        Id of the figure that was checked.
    published, recomputed : float
        What was printed and what the rule gives (NaN where it gives nothing); for a bound, the bound.
    unit : str
        Of both.
    verdict : str
        ``consistent`` within the rounding of the printed digits, ``inconsistent``, ``impossible`` where a law
        forbids it, ``cannot tell`` where the post is silent on what the rule needs.
    why : str
        One sentence with the numbers.
    """

    check: str
    subject: str
    published: float
    recomputed: float
    unit: str
    verdict: str
    why: str

    @property
    def error_percent(self) -> float:
        """Published against recomputed."""
        return 100 * (self.published / self.recomputed - 1) if self.recomputed else math.nan


def number(value: float) -> str:
    """A number for a sentence: six significant digits."""
    return f"{value:.6g}"
