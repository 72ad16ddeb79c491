"""Two hosts of any system, observed: every counter by its name, at several instants."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nicperf.engine.ledger import CONTEXTS, OPERATIONS
from nicperf.parts.bus import USES
from nicperf.simulation._run import STATE_NAMES, Simulation
from nicperf.simulation.scenario import host_spec, scenario
from nicperf.simulation.summary import HOST_COUNTERS
from nicperf.simulation.systems import SIDES, SYSTEMS

LEDGER = [f"{context}.{operation}" for context in CONTEXTS for operation in OPERATIONS]


def names(driver: str, side: int) -> list[str]:
    """Names of the columns of a snapshot."""
    system = SYSTEMS[driver]
    own = system.counters[side]
    return [
        *HOST_COUNTERS,
        *own,
        *(f"unused {i}" for i in range(system.device_width - len(own))),
        *(f"bus_ps.{use}" for use in USES),
        *(f"bus_bursts.{use}" for use in USES),
        *(f"ledger_ps.{entry}" for entry in LEDGER),
        *(f"calls.{entry}" for entry in LEDGER),
        *(f"busy_ps.{context}" for context in CONTEXTS),
        *("cpu_idle_ps", "preemptions", "dma_busy_ps", "dma_idle_ps", "events", "process_cpu_idle_ps"),
        *STATE_NAMES,
    ]


def watch(
    params: Mapping[str, Any],
    duration_s: float = 0.01,
    *,
    driver: str = "desktop",
    workload: str = "iperf",
    slices: int = 4,
    seed: int = 0,
) -> list[tuple[dict[str, int], dict[str, int]]]:
    """Run without a warm-up; (local, remote) counters since time 0 at the start and the end of each slice."""
    sc = scenario(driver, workload, params, seed=seed)
    specs = [host_spec(sc, side) for side in SIDES]
    slice_ps = round(duration_s * 1e12 / slices)
    rows, _, _ = Simulation(driver, *specs, workload, seed).run(0, slice_ps, slices)
    columns = names(driver, 0), names(driver, 1)
    return [tuple(dict(zip(columns[i], map(int, row[i]), strict=True)) for i in range(2)) for row in rows]  # type: ignore[misc]


def total(side: Mapping[str, int], prefix: str, suffix: str) -> int:
    """Sum of the counters with this beginning and end."""
    return sum(n for name, n in side.items() if name.startswith(prefix) and name.endswith(suffix))
