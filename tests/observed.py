"""A short run, observed: every counter by its name, at several instants, from the first picosecond on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

import numpy as np

from nicperf.engine.ledger import CONTEXTS, OPERATIONS
from nicperf.parts.bus import USES
from nicperf.simulation._run import QUEUE_NAMES, STATE_NAMES, Simulation
from nicperf.simulation.scenario import host_spec, scenario
from nicperf.simulation.summary import HOST_COUNTERS
from nicperf.simulation.systems import SIDES, SYSTEMS

LEDGER = [f"{context}.{operation}" for context in CONTEXTS for operation in OPERATIONS]
SLOTS = (
    "cpu",
    "dma",
    "wire",
    "process",
    "tx_timer",
    "rx_timer",
    "delayed_ack",
    "rto",
    "pause",
    *["none"] * 7,
)


@cache
def counter_names(system: str, side: str) -> tuple[str, ...]:
    """Names of a row's columns; the device with fewer counters leaves some without meaning."""
    device = SYSTEMS[system].counters[SIDES.index(side)]
    return (
        *HOST_COUNTERS,
        *device,
        *(f"unused.{i}" for i in range(SYSTEMS[system].device_width - len(device))),
        *(f"bus_ps.{use}" for use in USES),
        *(f"bus_bursts.{use}" for use in USES),
        *(f"ledger_ps.{entry}" for entry in LEDGER),
        *(f"calls.{entry}" for entry in LEDGER),
        *(f"busy_ps.{context}" for context in CONTEXTS),
        *("cpu_idle_ps", "preemptions", "dma_busy_ps", "dma_idle_ps", "events", "process_cpu_idle_ps"),
        *STATE_NAMES,
    )


NAMES = counter_names("velocity", "local")


@cache
def matching(pattern: str, names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in names if fnmatchcase(name, pattern))


@dataclass(frozen=True, repr=False)
class Side:
    """One host at one instant: what it was told (`spec`) and what it has counted."""

    spec: Any
    counters: Mapping[str, int]

    def __getitem__(self, name: str) -> int:
        return self.counters[name]

    def total(self, pattern: str) -> int:
        """Sum of all counters whose name matches, such as ``calls.*.copy``."""
        return sum(self.counters[name] for name in matching(pattern, tuple(self.counters)))


@dataclass(frozen=True, repr=False)
class Snapshot:
    """Both hosts at one instant; counters run from time 0."""

    workload: str
    time_ps: int
    local: Side
    remote: Side

    def directions(self) -> Iterator[tuple[Side, Side]]:
        """(transmitter, receiver) of both directions of the wire."""
        yield self.local, self.remote
        yield self.remote, self.local

    def doctored(self, side: str, name: str, change: int = 1) -> Snapshot:
        """The same instant with one counter falsified."""
        true: Side = getattr(self, side)
        false = replace(true, counters={**true.counters, name: true[name] + change})
        return replace(self, **{side: false})


@dataclass(frozen=True, repr=False)
class Trace:
    """The first events of a run.

    Attributes
    ----------
    time_ps : int array, shape (n,)
    slot : list of str, length n
        Whose event it was, such as ``local.wire``.
    lengths : dict of str to int array, shape (n,)
        Queue, such as ``remote.backlog``, to its length after each event.
    """

    time_ps: np.ndarray
    slot: np.ndarray
    lengths: dict[str, np.ndarray]

    def times_ps(self, slot: str) -> np.ndarray:
        """When the events of one slot happened."""
        return self.time_ps[self.slot == slot]


@dataclass(frozen=True, repr=False)
class Observed:
    """A run; `call` is the source text that makes it again, which Hypothesis prints when a law fails."""

    call: str
    snapshots: list[Snapshot]
    trace: Trace
    latency: np.ndarray

    def __repr__(self) -> str:
        return self.call

    @property
    def end(self) -> Snapshot:
        return self.snapshots[-1]


def observe(
    workload: str,
    params: Mapping[str, Any],
    duration_s: float = 0.002,
    *,
    slices: int = 4,
    seed: int = 0,
    events: int = 0,
    system: str = "velocity",
) -> Observed:
    """Run a scenario without a warm-up; keep a snapshot at the end of each slice and the first `events`
    events.
    """
    sc = scenario(system, workload, params, seed=seed)
    specs = [host_spec(sc, side) for side in SIDES]
    slice_ps = round(duration_s * 1e12 / slices)
    rows, latency, trace = Simulation(sc.driver, *specs, workload, seed).run(0, slice_ps, slices, events)
    snapshots = [
        Snapshot(
            workload,
            i * slice_ps,
            *(
                Side(spec, dict(zip(counter_names(system, side), map(int, row), strict=True)))
                for side, spec, row in zip(SIDES, specs, rows[i], strict=True)
            ),
        )
        for i in range(slices + 1)
    ]
    queues = [f"{side}.{queue}" for side in SIDES for queue in QUEUE_NAMES]
    slots = np.array([f"{side}.{slot}" for side in SIDES for slot in SLOTS])
    lengths = {name: trace[:, 2 + i] for i, name in enumerate(queues)}
    how = f"slices={slices}, seed={seed}, events={events}, system={system!r}"
    call = f"observe({workload!r}, {dict(params)!r}, {duration_s!r}, {how})"
    return Observed(call, snapshots, Trace(trace[:, 0], slots[trace[:, 1]], lengths), latency)
