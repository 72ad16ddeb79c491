"""What notebooks show, and the HTML report made from them.

`build` and `update` take all notebooks; the other names are for use inside of one.
"""

from importlib import import_module
from typing import Any

# Loaded on first use: a notebook needs no exporter, and building a report starts before any chart is drawn.
_HOME = {
    "alternatives": "explanations",
    "answer": "prose",
    "build": "site",
    "bus": "paths",
    "ceilings": "limits",
    "claims": "views",
    "consistency": "views",
    "costs": "paths",
    "counts": "journeys",
    "cycles": "limits",
    "figures": "views",
    "grid": "sweeps",
    "interval": "intervals",
    "ledger": "views",
    "machine": "copying",
    "loops": "instances",
    "parameters": "views",
    "path": "paths",
    "pool": "pools",
    "provenance": "origin",
    "residuals": "views",
    "ring": "journeys",
    "segments": "journeys",
    "separable": "prose",
    "stall": "switches",
    "stream_place": "copying",
    "significance": "views",
    "steps": "paths",
    "sweep": "sweeps",
    "switched": "switches",
    "update": "refresh",
    "verdict": "prose",
    "writes": "views",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'nicperf.report' has no attribute {name!r}")
    return getattr(import_module(f"nicperf.report.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
