"""Timing runs carry sizes; bytes runs carry real frames through the same data path."""

from __future__ import annotations

from nicperf.errors import ScenarioError, closest
from nicperf.packets._wiretap import Wiretap

FIDELITIES = ("timing", "bytes")

#: 15 MB: what Wireshark opens at once, and a tenth of a second at gigabit rate.
DEFAULT_CAPTURE_FRAMES = 10_000


def wiretap_for(fidelity: str, capture_frames: int) -> Wiretap | None:
    """Return the wire that a run with bytes needs; None for a timing run.

    Raises
    ------
    ScenarioError
        Unknown fidelity, or a negative number of frames.
    """
    if fidelity not in FIDELITIES:
        raise ScenarioError(
            "unknown fidelity",
            place="scenario",
            field="fidelity",
            value=fidelity,
            cure=closest(fidelity, FIDELITIES),
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
