"""Timing runs carry sizes; bytes runs carry real frames through the same data path."""

from __future__ import annotations

from nicperf.errors import ScenarioError, closest
from nicperf.packets._wiretap import Wiretap
from nicperf.simulation.systems import SYSTEMS

FIDELITIES = ("timing", "bytes")

#: 15 MB: what Wireshark opens at once, and a tenth of a second at gigabit rate.
DEFAULT_CAPTURE_FRAMES = 10_000


def wiretap_for(driver: str, workload: str, fidelity: str, capture_frames: int) -> Wiretap | None:
    """Return the wire that a run with bytes needs; None for a timing run.

    Raises
    ------
    ScenarioError
        Unknown fidelity, bytes in a system without hosts that carry them, or a negative number of frames.
    """
    if fidelity not in FIDELITIES:
        raise ScenarioError(
            "unknown fidelity",
            place="scenario",
            field="fidelity",
            value=fidelity,
            cure=closest(fidelity, FIDELITIES),
        )
    if fidelity == "bytes" and not carries_bytes(driver, workload):
        able = [name for name, system in SYSTEMS.items() if any(carries_bytes(name, w) for w in system.ends)]
        raise ScenarioError(
            f"no real frames with {workload} in this system",
            place="scenario",
            field="driver",
            value=driver,
            cure=f"use fidelity='timing', or a system that has them: {', '.join(able)}",
        )
    if capture_frames < 0:
        raise ScenarioError(
            "out of range",
            place="scenario",
            field="capture_frames",
            value=capture_frames,
            cure="use 0 or more",
        )
    return Wiretap(capture_frames) if fidelity == "bytes" else None


def carries_bytes(driver: str, workload: str) -> bool:
    """Whether both hosts of a system can carry real frames under a workload."""
    return all(end.bytes_host for end in SYSTEMS[driver].ends[workload])
