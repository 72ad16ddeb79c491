"""What experiments ask of a model: the two functions of `nicperf.simulation`, as a protocol.

Code here takes any object of this shape, so that calibration can be proven on a closed form with known
parameters (tests do that) before it is trusted on the simulator.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from nicperf.parameter import Parameter


class Run(Protocol):
    """What one simulation returns; `nicperf.simulation.Run` has more."""

    @property
    def summary(self) -> Mapping[str, Any]: ...


class Model(Protocol):
    """A simulator of two hosts."""

    def parameters(self, driver: str) -> Mapping[str, Parameter]:
        """Every parameter by dotted name, without a side."""
        ...

    def simulate(
        self,
        *,
        driver: str,
        workload: str,
        params: Mapping[str, object],
        seed: int,
        duration_s: float,
        warmup_s: float,
        fidelity: str = "timing",
    ) -> Run:
        """Run once; a plain name sets both hosts, ``local.`` or ``remote.`` before it one of them."""
        ...
