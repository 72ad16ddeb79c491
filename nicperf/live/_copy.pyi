from collections.abc import Iterable
from typing import Any, Literal

from numpy.typing import NDArray
from typing_extensions import Buffer

INSTRUCTIONS: dict[str, int]
MODES: dict[str, str]
KINDS: dict[str, int]

class Routine:
    name: str
    mode: Literal["cached", "nocache"]
    width_bytes: int
    def __call__(self, out: Buffer, data: Buffer) -> None: ...

class Walk:
    position: int
    def __init__(
        self,
        memory: NDArray[Any],
        ring_bytes: int,
        size_bytes: int,
        packed: bool = False,
        position: int = 0,
    ) -> None: ...

class Partner:
    def serve(self) -> None: ...
    def end(self) -> None: ...

def instructions() -> tuple[str, ...]: ...
def routines(allowed: Iterable[str]) -> list[Routine]: ...
def invariant_tsc() -> bool: ...
def calibrate(duration_ns: int) -> float: ...
def empty_ticks(tsc: bool) -> int: ...
def add_ticks(n_cycles: int, tsc: bool) -> int: ...
def fill(memory: NDArray[Any]) -> None: ...
def time_copies(
    routine: Routine, to: Walk, source: Walk, n_calls: int, tsc: bool, prepare: bool, touch: bool
) -> int: ...
def time_reads(
    routine: Routine,
    to: Walk,
    source: Walk,
    n_calls: int,
    n_warm_calls: int,
    tsc: bool,
    partner: Partner | None,
    copy: NDArray[Any],
    read: NDArray[Any],
) -> None: ...
def time_chase_between(
    routine: Routine | None,
    to: Walk,
    source: Walk,
    chain: NDArray[Any],
    n_steps: int,
    n_warm_rounds: int,
    tsc: bool,
    copy: NDArray[Any],
    chase: NDArray[Any],
) -> None: ...
def time_chase_beside(
    routine: Routine | None,
    to: Walk,
    source: Walk,
    n_calls: int,
    chain: NDArray[Any],
    n_steps: int,
    duration_ns: int,
    tsc: bool,
    partner: Partner,
    copy: NDArray[Any],
    chase: NDArray[Any],
) -> tuple[int, int]: ...
