"""CPU time of interleaved rounds, and what is reported of them."""

from __future__ import annotations

import resource
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Row:
    """One line of the table.

    Attributes
    ----------
    group, what : str
        Heading and name.
    values : sequence of float
        One per round (or one alone).
    unit : str
        Of the values; ``"x"`` for a ratio.
    at_least, at_most : float, optional
        The goal.
    note : str
        What the reader must know beside the number.
    """

    group: str
    what: str
    values: Sequence[float]
    unit: str
    at_least: float | None = None
    at_most: float | None = None
    note: str = ""

    @property
    def median(self) -> float:
        return float(np.median(self.values))

    @property
    def quartiles(self) -> tuple[float, float]:
        low, high = np.percentile(self.values, [25, 75])
        return float(low), float(high)

    @property
    def met(self) -> bool | None:
        """Whether the median meets the goal; None without one."""
        if self.at_least is not None:
            return self.median >= self.at_least
        return None if self.at_most is None else self.median <= self.at_most


def interleave(works: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, np.ndarray]:
    """Values of works that run in turn, each second round backwards: A B C, C B A, ...

    A machine that slows down for a while slows all of them alike, so ratios within a round keep their meaning.

    Parameters
    ----------
    works : mapping of str to function
        Each does its work once and returns its value of this round, such as a `rate`.
    rounds : int

    Returns
    -------
    dict of str to float array, shape (rounds,)
    """
    values: dict[str, list[float]] = {name: [] for name in works}
    for i in range(rounds):
        for name in list(works)[:: 1 if i % 2 == 0 else -1]:
            values[name].append(works[name]())
    return {name: np.array(column) for name, column in values.items()}


def rate(work: Callable[[], object], amount: float) -> Callable[[], float]:
    """The work as a function that does it once and returns amount per CPU-second of this process, all its threads included."""

    def measured() -> float:
        start = time.process_time()
        work()
        return amount / (time.process_time() - start)

    return measured


def child_cpu_s(command: Sequence[str], env: Mapping[str, str]) -> float:
    """CPU seconds, user and system, of a child process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, env=env)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
