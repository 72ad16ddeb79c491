"""The repeated measurements behind `nicperf.live.copy`: rings, turns of the routines, and what they took."""

from __future__ import annotations

import mmap
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from nicperf.live import _copy, fit, machine

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pandas import DataFrame

Measure = Callable[[], None]

LINE_BYTES = 64
PAGE_BYTES = 4096
#: Bytes copied between two readings of the clock: long beside the reading, short beside an interruption.
CHUNK_BYTES = 128 << 10
MOST_CALLS = 256
#: The source lies a little ahead of the destination in its page, so that no load has the low 12 bits of a store
#: that is still waiting: processors take such a pair for one place.
LEAD_BYTES = 2 * LINE_BYTES
#: Messages of the scenarios with a reader: a request and a super-packet.
READ_SIZES_BYTES = (1400, 16384)
READ_ROUNDS = 8
CHASE_STEPS = 512
CHASE_NS = 4_000_000
CHASE_MOST_BYTES = 8 << 20


class Cell(NamedTuple):
    """What one row of the results is about."""

    scenario: str
    work: str
    mode: str
    routine: str
    placement: str
    source: str
    footprint: str
    footprint_bytes: int
    size_bytes: int
    working_set_bytes: int


@dataclass(frozen=True)
class Timer:
    """The clock of the measurements: the time-stamp counter, or else the system's.

    Attributes
    ----------
    tsc : bool
        Whether ticks are those of the time-stamp counter; otherwise they are nanoseconds.
    empty_cost : int
        Ticks that reading it twice costs.
    clock_mhz : float
        Cycles per microsecond.
    core_cycles : float
        Cycles of the core in one of the clock, as they were when it started; NaN where not measured.
    """

    tsc: bool
    empty_cost: int
    clock_mhz: float
    core_cycles: float

    @classmethod
    def calibrated(cls, notes: list[str]) -> Timer:
        """Take the best clock there is, and note what is amiss with it."""
        if _copy.invariant_tsc():
            n_cycles = 100_000
            fastest = min(_copy.add_ticks(n_cycles, True) for _ in range(20))
            return cls(True, _copy.empty_ticks(True), _copy.calibrate(20_000_000) * 1000, n_cycles / fastest)
        nominal = machine.nominal_mhz()
        notes.append(
            "no time-stamp counter of constant rate: clock_gettime measures, and cycles are "
            + (f"those of the {nominal:.0f} MHz that the kernel tells" if nominal else "nanoseconds")
        )
        return cls(False, _copy.empty_ticks(False), nominal or 1000.0, float("nan"))

    def cycles(self, ticks: float, n_calls: int) -> float:
        """Cycles of one of so many calls that took these ticks together."""
        own = max(ticks - self.empty_cost, 0)
        return (own if self.tsc else own * self.clock_mhz / 1000) / n_calls

    def description(self) -> dict[str, Any]:
        """For the description of the machine."""
        return {
            "clock": "time-stamp counter" if self.tsc else "clock_gettime",
            "clock_mhz": self.clock_mhz,
            "core_cycles_per_clock_cycle": self.core_cycles,
        }


@contextmanager
def second_thread(cpu: int | None) -> Iterator[_copy.Partner | None]:
    """A thread on that processor, as long as it is needed; None without one."""
    if cpu is None:
        yield None
        return
    partner = _copy.Partner()

    def serve() -> None:
        with machine.pinned(cpu):
            partner.serve()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield partner
    finally:
        partner.end()
        thread.join()


class Bench:
    """Memory to copy in, and a list of what was seen for each cell.

    Parameters
    ----------
    timer : Timer
        The clock.
    routines : sequence
        Ways to copy; they take turns.
    rings : mapping
        Bytes of each footprint. `DRAM` is walked once from end to end, all who need memory that is not cached
        taking the next piece of it; the others are left as the mode would leave them before each chunk.
    sizes_bytes : sequence of int
        Messages.
    caches : mapping
        Bytes of each level, for the working sets.
    """

    def __init__(
        self,
        timer: Timer,
        routines: Sequence[_copy.Routine],
        rings: Mapping[str, int],
        sizes_bytes: Sequence[int],
        caches: Mapping[str, int],
    ) -> None:
        self.timer = timer
        self.routines = routines
        self.rings = rings
        self.sizes = sizes_bytes
        self.near = _memory(max((size for name, size in rings.items() if name != "DRAM"), default=0))
        self.far = _memory(rings.get("DRAM", 0))
        self.far_position = 0
        self.user = _memory(LEAD_BYTES + sizes_bytes[-1])[LEAD_BYTES:]
        self.working_sets = _working_sets(caches)
        self.samples: dict[Cell, list[float]] = defaultdict(list)

    def alone(self) -> list[Measure]:
        """Copies and nothing else."""
        groups = [
            (placement, "hot", footprint, size)
            for placement in ("aligned", "packed")
            for footprint in self.rings
            for size in self._sizes_of(footprint)
        ]
        if {"L2", "DRAM"} <= set(self.rings):
            groups += [("aligned", "cold", "L2", s) for s in self._sizes_of("L2") if s <= self.rings["DRAM"]]
        return [partial(self._copies, *group) for group in groups]

    def with_reader(self, partner: _copy.Partner | None) -> list[Measure]:
        """Copies of which the same core, and another, reads what was copied."""
        return [
            partial(self._reads, reader, footprint, size)
            for footprint in self.rings
            if footprint != "L1"
            for size in dict.fromkeys(self._nearest(size) for size in READ_SIZES_BYTES)
            if 2 * size <= self.rings[footprint]
            for reader in ([None] if partner is None else [None, partner])
        ]

    def with_chase(self, partner: _copy.Partner | None) -> list[Measure]:
        """Copies beside an application that follows pointers, on the same core and on another."""
        size = self._nearest(READ_SIZES_BYTES[-1])
        groups: list[Measure] = []
        if size <= self.rings.get("L2", 0):
            groups.append(partial(self._chases_between, size, _chain(self.working_sets["same_core"])))
        if partner is not None and size <= self.rings.get("DRAM", 0):
            groups.append(
                partial(self._chases_beside, partner, size, _chain(self.working_sets["other_core"]))
            )
        return groups

    def cells(self) -> DataFrame:
        """Statistics of all that was seen."""
        import pandas as pd

        rows = []
        for cell, samples in self.samples.items():
            if not samples:  # named, and not reached on a busy machine
                continue
            row: dict[str, Any] = {**cell._asdict(), "samples": len(samples)}
            stats = fit.summary(samples)
            ns = {name: value * 1000 / self.timer.clock_mhz for name, value in stats.items()}
            row |= {f"{name}_cycles": value for name, value in stats.items()}
            row |= {f"{name}_ns": value for name, value in ns.items()}
            if cell.work != "chase":
                size = cell.size_bytes
                row |= {f"{name}_cycles_per_byte": stats[name] / size for name in ("p10", "median")}
                row |= {f"{name}_ns_per_byte": ns[name] / size for name in ("p10", "median")}
                row["bandwidth_gb_s"] = size / ns["p10"] if ns["p10"] else float("nan")
            rows.append(row)
        return pd.DataFrame(rows)

    def _copies(self, placement: str, source: str, footprint: str, size: int) -> None:
        n_calls = min(max(CHUNK_BYTES // size, 4), MOST_CALLS)
        for routine in _turns(self.routines):
            to = self._ring(footprint, size, placement)
            data = self._ring("DRAM", size) if source == "cold" else self._user(size)
            ticks = _copy.time_copies(
                routine, to, data, n_calls, self.timer.tsc, footprint != "DRAM", source == "hot"
            )
            self._walked(data if source == "cold" else to, footprint if source == "hot" else "DRAM")
            cell = self._cell("alone", "copy", routine, footprint, size, placement, source)
            self._add(cell, [ticks], n_calls)

    def _reads(self, partner: _copy.Partner | None, footprint: str, size: int) -> None:
        n_calls = max(min(CHUNK_BYTES, self.rings[footprint] // 2) // size, 1)
        # Once around the ring: then every line has been copied to and read as the timed ones will be.
        n_warm = n_calls if footprint == "DRAM" else -(-self.rings[footprint] // size)
        scenario = "reader_same_core" if partner is None else "reader_other_core"
        for routine in _turns(self.routines):
            to, copied, read = self._ring(footprint, size), _ticks(READ_ROUNDS), _ticks(READ_ROUNDS)
            _copy.time_reads(
                routine, to, self._user(size), n_calls, n_warm, self.timer.tsc, partner, copied, read
            )
            self._walked(to, footprint)
            for work, ticks in (("copy", copied), ("read", read)):
                self._add(self._cell(scenario, work, routine, footprint, size), ticks.tolist(), n_calls)

    def _chases_between(self, size: int, chain: NDArray[Any]) -> None:
        # Once around the working set before, and once timed.
        rounds = max(chain.nbytes // LINE_BYTES // CHASE_STEPS, READ_ROUNDS)
        for routine in _turns([None, *self.routines]):
            copied, chased = _ticks(rounds), _ticks(rounds)
            _copy.time_chase_between(
                *(routine, self._ring("L2", size), self._user(size), chain, CHASE_STEPS),
                *(rounds, self.timer.tsc, copied, chased),
            )
            self._add_chase("chase_same_core", routine, "L2", size, chain, copied, 1, chased)

    def _chases_beside(self, partner: _copy.Partner, size: int, chain: NDArray[Any]) -> None:
        n_calls = max(CHUNK_BYTES // 2 // size, 1)
        for routine in _turns([None, *self.routines]):
            to, copied, chased = self._ring("DRAM", size), _ticks(4096), _ticks(4096)
            n_copied, n_chased = _copy.time_chase_beside(
                *(routine, to, self._user(size), n_calls, chain, CHASE_STEPS),
                *(CHASE_NS, self.timer.tsc, partner, copied, chased),
            )
            self._walked(to, "DRAM")
            self._add_chase(
                *("chase_other_core", routine, "DRAM", size, chain),
                *(copied[:n_copied], n_calls, chased[:n_chased]),
            )

    def _add_chase(
        self,
        scenario: str,
        routine: _copy.Routine | None,
        footprint: str,
        size: int,
        chain: NDArray[Any],
        copied: NDArray[Any],
        n_calls: int,
        chased: NDArray[Any],
    ) -> None:
        chase = self._cell(scenario, "chase", routine, footprint, size, working_set=chain.nbytes)
        self._add(chase, chased.tolist(), CHASE_STEPS)
        if routine is not None:
            self._add(chase._replace(work="copy"), copied.tolist(), n_calls)

    def _cell(
        self,
        scenario: str,
        work: str,
        routine: _copy.Routine | None,
        footprint: str,
        size: int,
        placement: str = "aligned",
        source: str = "hot",
        working_set: int = 0,
    ) -> Cell:
        mode, name = ("none", "none") if routine is None else (routine.mode, routine.name)
        return Cell(
            *(scenario, work, mode, name, placement, source),
            *(footprint, self.rings[footprint], size, working_set),
        )

    def _add(self, cell: Cell, ticks: Sequence[int], n_calls: int) -> None:
        self.samples[cell] += [self.timer.cycles(each, n_calls) for each in ticks]

    def _ring(self, footprint: str, size: int, placement: str = "aligned") -> _copy.Walk:
        """Destinations (or cold sources): the next piece of DRAM, or a ring from its beginning."""
        far = footprint == "DRAM"
        return _copy.Walk(
            self.far if far else self.near,
            self.rings[footprint],
            size,
            placement == "packed",
            self.far_position if far else 0,
        )

    def _user(self, size: int) -> _copy.Walk:
        """A source of one message."""
        return _copy.Walk(self.user, size, size)

    def _walked(self, walk: _copy.Walk, footprint: str) -> None:
        if footprint == "DRAM":
            self.far_position = walk.position

    def _sizes_of(self, footprint: str) -> list[int]:
        return [size for size in self.sizes if size <= self.rings[footprint]]

    def _nearest(self, size: int) -> int:
        return min(self.sizes, key=lambda other: abs(other - size))


def _turns(arms: Sequence[Any]) -> list[Any]:
    """Each arm, then each again in reverse: a drift over the turns hits all alike."""
    return [*arms, *reversed(arms)]


def _memory(n_bytes: int) -> NDArray[Any]:
    """Memory with pages, huge ones if they can be had, with a line to spare at its end."""
    import numpy as np

    pages = mmap.mmap(-1, n_bytes + PAGE_BYTES)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        pages.madvise(mmap.MADV_HUGEPAGE)
    memory = np.frombuffer(pages, dtype=np.uint8)
    _copy.fill(memory)
    return memory


def _ticks(n: int) -> NDArray[Any]:
    import numpy as np

    return np.zeros(n, dtype=np.int64)


def _chain(n_bytes: int) -> NDArray[Any]:
    """One closed chain through all lines of a working set, in an order that no prefetcher can guess."""
    import numpy as np

    step = LINE_BYTES // 8
    order = np.random.default_rng(0).permutation(n_bytes // LINE_BYTES) * step
    chain = _memory(n_bytes)[:n_bytes].view(np.int64)
    chain[order] = np.roll(order, -1)
    return chain


def _working_sets(caches: Mapping[str, int]) -> dict[str, int]:
    """Working sets that fit into a cache by themselves, but not beside the ring: L2 here, the last level there."""
    levels = [*caches.values()]
    return {
        "same_core": _lines(3 * levels[1] // 4),
        "other_core": _lines(min(3 * levels[-1] // 4, CHASE_MOST_BYTES)),
    }


def _lines(n_bytes: int) -> int:
    return n_bytes // LINE_BYTES * LINE_BYTES
