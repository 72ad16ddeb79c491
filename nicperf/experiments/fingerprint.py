"""Short hashes of what a fit depends on, so that a stored fit can tell when it is out of date."""

from __future__ import annotations

import hashlib
import json
import platform
from dataclasses import asdict
from importlib import metadata

import pandas as pd

from nicperf.experiments.config import ExperimentConfig

# Words for people and rules for judging: they change no fit.
NOT_IN_THE_FIT = ("title", "goals", "noise", "reference", "settable")
# Came after fits had been stored: where it is empty, it changes none.
NOT_IF_EMPTY = ("cores",)
NOT_IN_AN_ITEM = ("title", "source", "note")


def config_hash(config: ExperimentConfig) -> str:
    """Hash of all that changes a fit: settings, assumptions, ranges, seeds, tolerances; not of the prose."""
    content = {
        key: _bare(value)
        for key, value in asdict(config).items()
        if key not in NOT_IN_THE_FIT and (value or key not in NOT_IF_EMPTY)
    }
    return _hash(json.dumps(content, sort_keys=True))


def figures_hash(figures: pd.DataFrame) -> str:
    """Hash of the fitted rows: id, value and unit, in the order given."""
    return _hash(figures[["id", "value", "unit"]].to_csv(index=False, float_format="%.12g"))


def versions() -> dict[str, str]:
    """Versions of what computed the fit, for the record."""
    found = {name: metadata.version(name) for name in ("nicperf", "numpy", "scipy")}
    return {"python": platform.python_version(), **found}


def _bare(value: object) -> object:
    if isinstance(value, dict):
        return {key: _bare(item) for key, item in value.items() if key not in NOT_IN_AN_ITEM}
    if isinstance(value, list | tuple):
        return [_bare(item) for item in value]
    return value


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
