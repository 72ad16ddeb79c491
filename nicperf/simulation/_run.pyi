from typing import Any

import numpy as np

from nicperf.packets._wiretap import Wiretap

QUEUE_NAMES: tuple[str, ...]
STATE_NAMES: tuple[str, ...]

def widths(device: int) -> dict[str, int]: ...

class Simulation:
    def __init__(
        self, driver: str, local: Any, remote: Any, workload: str, seed: int, wiretap: Wiretap | None = None
    ) -> None: ...
    def run(
        self, warmup_ps: int, slice_ps: int, slices: int, trace_events: int = 0
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]: ...
    def exchanges(self) -> tuple[np.ndarray, np.ndarray]: ...
    def extend(self, slice_ps: int, slices: int) -> tuple[np.ndarray, np.ndarray]: ...
