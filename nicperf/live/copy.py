"""Cached against non-temporal copy on the reader's own processor.

What is measured
----------------
A message of S bytes is copied from a user buffer to the next place in a ring of destination buffers, as the
transmit path of Linux copies into page fragments that it reuses. The size F of the ring decides where the
destination is found: in L1, L2, the last cache level or DRAM. Two modes, each with two routines:

1. *cached*: `rep_movsb` (what the kernel uses where the processor has ERMS) and `vector` (loads and stores of
   the widest vectors). The stores pull their lines into the cache and leave them there.
2. *nocache*: `movnti` (8-byte non-temporal stores, the scheme of the kernel in 2014) and `stream` (the widest).
   The stores gather in write-combining buffers and go to memory; one `sfence` ends every call and waits for them.

Destinations are *aligned* (a line of their own) or *packed* (each follows the one before, in the middle of a
line: the first and last line of every copy are written in part). The source is *hot* (one buffer) or *cold*
(it comes from DRAM, as what a device wrote does). Beside copies alone there are four scenarios:

3. `reader_same_core`, `reader_other_core`: what was copied is read, by the same core or by a thread on another.
   What nocache saves the writer, the reader pays who has to fetch from memory.
4. `chase_same_core`, `chase_other_core`: an application follows pointers through a working set, between the
   copies or at the same time on another core. Lines that cached copies take from it, it has to fetch again.

How
---
Time is that of the invariant time-stamp counter, calibrated against CLOCK_MONOTONIC_RAW. Before a timed chunk
the ring is left as the mode itself would leave it. Many calls in a row are timed together: then what a fence
leaves to do falls on the next call and is counted, while after the single copy of `chase_same_core` it overlaps
with the chase. Routines take turns in ABBA order, so that a drift of the
machine hits all alike, and everything is repeated until the time is used up.

Not measured: misses and memory traffic (counters are absent in most virtual machines), DMA that reads the
destination, the split of a copy at the end of a 32 KB page fragment (which makes two calls of one), more than
one copying core, other NUMA nodes.

Source
------
Linux 3.12, arch/x86/lib/copy_user_nocache_64.S and net/core/sock.c (page fragments); the thread of 2014.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nicperf import progress as progress_bar
from nicperf.errors import DataError, MachineError, NicperfError, closest
from nicperf.live import _copy, fit, machine
from nicperf.live.bench import Bench, Measure, Timer, second_thread
from nicperf.paths import data_dir

if TYPE_CHECKING:
    from pandas import DataFrame

QUICK_BUDGET_S, BUDGET_S = 7.0, 50.0
QUICK_SIZES_BYTES = (64, 256, 1400, 4096, 16384, 65536)
SIZES_BYTES = (64, 128, 256, 512, 1024, 1400, 2048, 4096, 8192, 14000, 16384, 32768, 65536)
FOOTPRINTS = ("L1", "L2", "LLC", "DRAM")

#: Routines that are set beside each other: those of the kernel, and those that use the widest vectors.
PAIRS = (("rep_movsb", "movnti"), ("vector", "stream"))
CELL = ["scenario", "work", "mode", "routine", "placement", "source", "footprint", "size_bytes", "p10_ns"]
FITTED = ["mode", "routine", "placement", "source", "footprint", "footprint_bytes"]

#: The measurement that comes with nicperf, in the folder of published data.
STORED = Path("nocache-2014", "copies.json")
#: Shares of the time: copies alone, with a reader, with a pointer chase.
SHARES = (0.6, 0.2, 0.2)
#: How much later than asked the scenarios with a second thread may end, on a machine that is busy with others.
GRACE_S = 1.0
#: The largest last level that the model takes, and its names for where the rings lie.
MODEL_CACHE_BYTES = 1 << 30
MODEL_LEVELS = ("l1", "l2", "l3", "dram")


@dataclass(frozen=True)
class CopyResult:
    """What `run_copy` found.

    Attributes
    ----------
    cells : pandas.DataFrame
        One row for each thing that was timed: `scenario`, `work` (`copy`, `read` or `chase`), `mode`, `routine`,
        `placement`, `source`, `footprint`, `footprint_bytes`, `size_bytes`, `working_set_bytes`; how many
        `samples`; 10th percentile, quartiles and median in `cycles` and `ns` of one call (`chase`: of one access)
        and per byte; `bandwidth_gb_s` from the 10th percentile. A cycle is one of the time-stamp counter.
    fits : pandas.DataFrame
        `a_cycles` and `b_cycles_per_byte` of a + b * S with 95 % intervals, for each routine, placement, source
        and footprint of the copies alone, and `worst_percent`, the largest misfit.
    crossovers : pandas.DataFrame
        From which message size on the copy around the cache is cheaper for the one who copies.
    machine : dict
        Processor, caches, kernel, clock, and what was switched on.
    notes : tuple of str
        What could not be measured here, or not as it should be.
    """

    cells: DataFrame
    fits: DataFrame
    crossovers: DataFrame
    machine: dict[str, Any]
    notes: tuple[str, ...]

    def side_by_side(self, value: str = "p10_ns") -> DataFrame:
        """One column for each routine, `none` where nothing was copied beside the pointer chase.

        Parameters
        ----------
        value : str
            The column of `cells` to set side by side.

        Returns
        -------
        pandas.DataFrame
            `scenario`, `work`, `placement`, `source`, `footprint`, `size_bytes`, and a column for each routine.
        """
        rows = ["scenario", "work", "placement", "source", "footprint", "size_bytes"]
        wide = self.cells.pivot_table(index=rows, columns="routine", values=value, sort=False)
        return wide.reset_index().rename_axis(columns=None)

    def memory_parameters(self, footprint: str = "L2") -> dict[str, float]:
        """Parameters of the model's memory as they are on this machine: ``exp.simulate(..., **parameters)``.

        Parameters
        ----------
        footprint : str
            Where the model's destinations lie.

        Returns
        -------
        dict
            Dotted names of parameters that the model has. Cycles are those of the time-stamp counter: beside
            them, `cpu.frequency_mhz` = ``machine["clock_mhz"]`` gives the copies the nanoseconds they took here.
            Set-up of a call is not among them, since the model counts it with the operation that copies.

        Raises
        ------
        DataError
            This footprint was not measured, or with too few message sizes.
        """
        return {
            "memory.copy_cached_cycles_per_byte": self._line("cached", footprint, "hot").b_cycles_per_byte,
            "memory.copy_cold_cycles_per_byte": self._line("cached", "L2", "cold").b_cycles_per_byte,
            "memory.last_cache_bytes": min([*self.machine["caches_bytes"].values()][-1], MODEL_CACHE_BYTES),
        }

    def copies_parameters(self, footprint: str = "L2") -> dict[str, Any]:
        """Caches and prices of this machine for the part `Copies`: ``copy_map(**result.copies_parameters())``.

        Parameters
        ----------
        footprint : str
            Where the destinations lie whose fixed costs, and whose costs around the cache, are taken.

        Returns
        -------
        dict
            Dotted names of parameters that the model has. Cycles are those of the time-stamp counter, as for
            `memory_parameters`. The fence is measured for many message sizes here, so its cost counts for each call.
            Footprints that were not measured are left out.

        Raises
        ------
        DataError
            As for `memory_parameters`.
        """
        cached, nocache = (self._line(mode, footprint, "hot") for mode in ("cached", "nocache"))
        packed = self._line("nocache", footprint, "hot", "packed")
        sizes = [*self.machine["caches_bytes"].values()]
        measured = set(self.fits["footprint"])
        by_level = {
            f"copies.cached_{level}_cycles_per_byte": self._line("cached", name, "hot").b_cycles_per_byte
            for name, level in zip(FOOTPRINTS, MODEL_LEVELS, strict=True)
            if name in measured
        }
        return {
            **{f"copies.{level}_bytes": size for level, size in zip(MODEL_LEVELS, sizes, strict=False)},
            "copies.l3_bytes": min(sizes[-1], MODEL_CACHE_BYTES),
            "copies.penalty_reading": "per_call",
            "copies.cached_call_cycles": cached.a_cycles,
            **by_level,
            "copies.read_dram_cycles_per_byte": self._line("cached", "L2", "cold").b_cycles_per_byte,
            "copies.nocache_penalty_cycles": nocache.a_cycles,
            "copies.nocache_cycles_per_byte": nocache.b_cycles_per_byte,
            "copies.split_line_cycles": max(packed.a_cycles - nocache.a_cycles, 0.0),
        }

    def _line(self, mode: str, footprint: str, source: str, placement: str = "aligned") -> Any:
        """Fit of the routine that the kernel would use, or what comes next to it."""
        rows = self.fits
        rows = rows[(rows["mode"] == mode) & (rows["footprint"] == footprint) & (rows["source"] == source)]
        rows = rows[rows["placement"] == placement].dropna()
        if rows.empty:
            raise DataError(
                f"no fit of {mode} copies, {source} and {placement}",
                place="live copy",
                field="footprint",
                value=footprint,
                cure="measure it with at least three message sizes that fit into it",
            )
        return next(rows.itertuples(index=False))


def run_copy(
    quick: bool = False,
    *,
    budget_s: float | None = None,
    sizes_bytes: Sequence[int] | None = None,
    footprints_bytes: Mapping[str, int] | None = None,
    instructions: Collection[str] | None = None,
    progress: bool | None = None,
) -> CopyResult:
    """Measure what copies cost on this machine, through the cache and around it.

    Parameters
    ----------
    quick : bool
        Fewer message sizes and 7 s instead of 50 s.
    budget_s : float, optional
        Wall-clock time to use up, preparation included. Copies alone are measured at least twice, however short
        it is; of the rest, what is not reached a second later is left out and noted.
    sizes_bytes : sequence of int, optional
        Message sizes; a size that does not fit into a ring is left out there.
    footprints_bytes : mapping, optional
        Sizes of the rings, by `L1`, `L2`, `LLC` and `DRAM`; those not named are left out. Without it they follow
        from the caches: half of L1 and of L2, eight times L2 but at most half of the last level, and twice that
        level.
    instructions : collection of str, optional
        Use only these instruction sets of the processor: `sse2`, `erms`, `avx2`, `avx512f`.
    progress : bool, optional
        Show a bar; None: if somebody watches.

    Returns
    -------
    CopyResult

    Raises
    ------
    MachineError
        The processor has no non-temporal stores (it is no x86-64, or `instructions` leaves them out).
    NicperfError
        A size, footprint, instruction set or time that makes no sense.
    """
    start = time.monotonic()
    routines = _routines(instructions)
    sizes = _sizes(sizes_bytes or (QUICK_SIZES_BYTES if quick else SIZES_BYTES))
    budget = (QUICK_BUDGET_S if quick else BUDGET_S) if budget_s is None else budget_s
    if not budget > 0:
        raise NicperfError(
            "no time to measure in", field="budget_s", value=budget, cure="give it some seconds"
        )

    allowed = machine.allowed()
    # The first processor tends to be the one that takes interrupts.
    cpu = max(allowed, default=0)
    partner_cpu = machine.another(cpu)
    caches, notes = machine.caches(cpu), []
    if len(caches) < 2:
        caches = machine.DEFAULT_CACHES
        notes.append("the system does not tell its caches: those of a common server are assumed")
    rings = _named_rings(footprints_bytes) if footprints_bytes else _rings(caches, notes)
    if partner_cpu is None:
        notes.append("only one core may be used: no reader and no pointer chase on another core")

    # Within the budget: where nothing is compiled yet, these take seconds.
    import pandas  # noqa: F401
    import scipy.optimize  # noqa: F401

    with (
        machine.pinned(cpu if allowed else None),
        progress_bar.bar("live copy", progress, total=round(budget * 1000), unit="ms") as advance,
    ):
        timer = Timer.calibrated(notes)
        bench = Bench(timer, routines, rings, sizes, caches)
        told = start

        def tell() -> None:
            nonlocal told
            now = time.monotonic()
            advance(round((now - told) * 1000))
            told = now

        until = time.monotonic()
        left = max(start + budget - until, 0)
        last, missed = start + budget + GRACE_S, 0
        until += SHARES[0] * left
        _repeat(bench.alone(), until, math.inf, tell)
        for share, groups in zip(SHARES[1:], (bench.with_reader, bench.with_chase), strict=True):
            until += share * left
            with second_thread(partner_cpu) as partner:
                missed += _repeat(groups(partner), until, last, tell)
    if missed:
        notes.append(
            f"{missed} settings with a reader or a pointer chase were not reached in time: the machine is busy"
        )

    cells = bench.cells()
    described = {
        **machine.description(cpu),
        "caches_bytes": caches,
        "instructions": _copy.instructions(),
        "routines": {routine.name: f"{routine.width_bytes} bytes" for routine in routines},
        **timer.description(),
        "cpu": cpu,
        "other_cpu": partner_cpu,
    }
    return CopyResult(cells, _fits(cells), _crossovers(cells), described, tuple(notes))


def read_copy(path: str | PathLike[str] | None = None) -> CopyResult:
    """Read what ``nicperf live copy --format json`` has printed.

    Parameters
    ----------
    path : path-like, optional
        Without one: a measurement that comes with nicperf, of a server of 2023.

    Returns
    -------
    CopyResult

    Raises
    ------
    DataError
        There is no such file, or it holds something else.
    """
    import pandas as pd

    file = Path(path) if path is not None else data_dir() / STORED
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        cells, fits, crossovers = (pd.DataFrame(content[name]) for name in ("cells", "fits", "crossovers"))
        for frame, columns in ((cells, CELL), (fits, FITTED), (crossovers, ["crossover_bytes"])):
            frame[columns]
        return CopyResult(cells, fits, crossovers, content["machine"], tuple(content["notes"]))
    except OSError as error:
        raise DataError(
            "cannot be read", place=str(file), value=error.strerror,
            cure="write it with `nicperf live copy --format json > FILE`",
        ) from error  # fmt: skip
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(
            f"no measurement of copies: {error}", place=str(file),
            cure="write it with `nicperf live copy --format json > FILE`",
        ) from error  # fmt: skip


def _repeat(groups: Sequence[Measure], until: float, last: float, tell: Measure) -> int:
    """Measure each group once, but no longer than `last`, then go on in turn `until` the time is up.

    Returns
    -------
    int
        How many groups were not reached.
    """
    done = 0
    while groups and time.monotonic() < (last if done < len(groups) else until):
        groups[done % len(groups)]()
        done += 1
        tell()
    return max(len(groups) - done, 0)


def _routines(instructions: Collection[str] | None) -> list[_copy.Routine]:
    here = _copy.instructions()
    allowed = here if instructions is None else instructions
    for name in allowed:
        if name not in _copy.INSTRUCTIONS:
            raise NicperfError(
                "unknown instruction set",
                field="instructions",
                value=name,
                cure=closest(name, _copy.INSTRUCTIONS),
            )
    found = _copy.routines(allowed)
    if not {"cached", "nocache"} <= {routine.mode for routine in found}:
        processor = machine.description(0)["architecture"]
        raise MachineError(
            "non-temporal stores are not available, so there is nothing to compare",
            place="live copy",
            field="instructions",
            value=", ".join(name for name in here if name in allowed) or "none of ours",
            cure=f"this is {processor}; run it on x86-64 and do not leave out 'sse2'",
        )
    return found


def _sizes(sizes_bytes: Sequence[int]) -> list[int]:
    for size in sizes_bytes:
        if not (isinstance(size, int) and 1 <= size <= 1 << 24):
            raise NicperfError(
                "no message size", field="sizes_bytes", value=size, cure="use whole bytes, 1 to 16777216"
            )
    return sorted(set(sizes_bytes))


def _named_rings(footprints_bytes: Mapping[str, int]) -> dict[str, int]:
    for name, size in footprints_bytes.items():
        if name not in FOOTPRINTS:
            raise NicperfError(
                "unknown footprint", field="footprints_bytes", value=name, cure=closest(name, FOOTPRINTS)
            )
        if not (isinstance(size, int) and size >= 1):
            raise NicperfError(
                "no size of a ring", field=f"footprints_bytes[{name}]", value=size, cure="use whole bytes"
            )
    return {name: footprints_bytes[name] for name in FOOTPRINTS if name in footprints_bytes}


def _rings(caches: Mapping[str, int], notes: list[str]) -> dict[str, int]:
    """Sizes of rings that lie inside each level and in none.

    Half a level leaves room for the source; the last level is shared with others, so that little of a large one
    can be counted on.
    """
    first, second, *others = caches.values()
    rings = {"L1": first // 2, "L2": second // 2}
    if others:
        rings["LLC"] = min(others[-1] // 2, 8 * second)
    wanted = max(2 * [second, *others][-1], 64 << 20)
    rings["DRAM"] = min(wanted, machine.available_bytes() // 4)
    if rings["DRAM"] < wanted:
        notes.append(
            f"a quarter of the free memory, {rings['DRAM'] >> 20} MiB, is less than twice the last cache level: "
            "some of the DRAM ring is cached"
        )
    return rings


def _fits(cells: DataFrame) -> DataFrame:
    import pandas as pd

    alone = cells[cells["scenario"] == "alone"]
    rows = [
        {
            **dict(zip(FITTED, key, strict=True)),
            "rows": len(group),
            **vars(fit.line(group["size_bytes"].tolist(), group["p10_cycles"].tolist())),
        }
        for key, group in alone.groupby(FITTED, sort=False)
    ]
    return pd.DataFrame(rows)


def _crossovers(cells: DataFrame) -> DataFrame:
    import pandas as pd

    alone = cells[(cells["scenario"] == "alone") & (cells["source"] == "hot")]
    rows = []
    for (footprint, size, placement), group in alone.groupby(
        ["footprint", "footprint_bytes", "placement"], sort=False
    ):
        costs = group.pivot(index="size_bytes", columns="routine", values="p10_cycles")
        for cached, nocache in PAIRS:
            if {cached, nocache} <= set(costs):
                at = fit.crossover_bytes(
                    costs.index.tolist(), costs[cached].tolist(), costs[nocache].tolist()
                )
                pays = "never" if at == math.inf else "always" if at == costs.index[0] else "from here on"
                rows.append(
                    {
                        "footprint": footprint,
                        "footprint_bytes": size,
                        "placement": placement,
                        "cached": cached,
                        "nocache": nocache,
                        "crossover_bytes": math.nan if at == math.inf else at,
                        "nocache_pays": pays,
                    }
                )
    return pd.DataFrame(rows)
