"""Arithmetic with rounded numbers: an interval holds every value that would have been printed the same."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Interval:
    """All values from `low` to `high`, both >= 0.

    Examples
    --------
    >>> Interval(9.0, 11.0) / Interval(2.0, 2.0)
    Interval(low=4.5, high=5.5)
    """

    low: float
    high: float

    @classmethod
    def around(cls, value: float, half_width: float) -> Interval:
        """Values within `half_width` of `value`, none below zero."""
        return cls(max(value - half_width, 0.0), value + half_width)

    @property
    def middle(self) -> float:
        """The value in the middle: what the printed number says."""
        return (self.low + self.high) / 2

    def overlaps(self, other: Interval) -> bool:
        """Whether both can be the same number."""
        return self.low <= other.high and other.low <= self.high

    def __add__(self, other: Interval) -> Interval:
        return Interval(self.low + other.low, self.high + other.high)

    def __mul__(self, other: Interval | float) -> Interval:
        if not isinstance(other, Interval):
            other = Interval(other, other)
        return Interval(self.low * other.low, self.high * other.high)

    def __truediv__(self, other: Interval) -> Interval:
        return Interval(self.low / other.high, self.high / other.low if other.low else float("inf"))
