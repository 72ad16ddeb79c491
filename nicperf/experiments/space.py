"""The free parameters as points of a unit cube: logarithmic where the range is positive, else linear."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nicperf.experiments.config import Assumption

Array = npt.NDArray[np.float64]
DIGITS = 6
# A packet simulator counts whole packets and datagrams, so its outputs are staircases: a finite difference
# must span many stairs. Half a second of 64 KiB datagrams has stairs of 0.2 %.
STEP = 0.05


@dataclass(frozen=True)
class Space:
    """The box of prior ranges.

    Attributes
    ----------
    free : sequence of Assumption
        The free parameters, in the order of the coordinates.
    """

    free: Sequence[Assumption]

    @property
    def names(self) -> list[str]:
        """Parameter names, one for each coordinate."""
        return [a.name for a in self.free]

    @property
    def centre(self) -> Array:
        """The prior centres as a point."""
        return self.point([float(a.value) for a in self.free])

    @property
    def steps(self) -> Array:
        """Finite-difference steps: `STEP` of the value, or of the range where a coordinate is linear."""
        return np.array([STEP / np.log(a.high / a.low) if _log(a) else STEP for a in self.free])

    def point(self, values: Sequence[float]) -> Array:
        """Values in their own units to a point of the cube."""
        return np.array(
            [
                np.log(v / a.low) / np.log(a.high / a.low) if _log(a) else (v - a.low) / (a.high - a.low)
                for a, v in zip(self.free, values, strict=True)
            ]
        )

    def vector(self, point: Array) -> dict[str, float]:
        """A point of the cube to values in their own units, rounded to what the fit file stores."""
        return {a.name: self.value(index, point[index]) for index, a in enumerate(self.free)}

    def value(self, index: int, coordinate: float) -> float:
        """One coordinate to a value in its own unit, never outside the prior range."""
        a = self.free[index]
        low, high = a.low, a.high
        value = low * (high / low) ** coordinate if _log(a) else low + (high - low) * coordinate
        return min(max(float(f"{value:.{DIGITS}g}"), low), high)


def _log(a: Assumption) -> bool:
    return a.low > 0
