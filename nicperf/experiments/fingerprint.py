"""Short hashes of what a result depends on, so that a stored one can tell when it is out of date."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping
from dataclasses import asdict
from importlib import metadata
from typing import Any

import pandas as pd

from nicperf.errors import DataError
from nicperf.experiments.config import ExperimentConfig

# Words for people and rules for judging: they change no fit.
NOT_IN_THE_FIT = ("title", "goals", "noise", "reference", "settable", "slow")
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
    return text_hash(json.dumps(content, sort_keys=True))


def figures_hash(figures: pd.DataFrame) -> str:
    """Hash of the fitted rows: id, value and unit, in the order given."""
    return text_hash(figures[["id", "value", "unit"]].to_csv(index=False, float_format="%.12g"))


def made_from(config: ExperimentConfig, figures: pd.DataFrame) -> dict[str, str]:
    """What a result stands on: hashes of the experiment and of the fitted rows."""
    return {"config": config_hash(config), "figures": figures_hash(figures)}


def check_made_from(
    place: str,
    recorded: Mapping[str, str],
    config: ExperimentConfig,
    figures: pd.DataFrame,
    *,
    command: str = "calibrate",
    **more: str,
) -> None:
    """Refuse a stored result that was made from something else.

    Raises
    ------
    DataError
        Naming what changed, and the command that renews the result.
    """
    for what, now in (made_from(config, figures) | more).items():
        if recorded.get(what) != now:
            problem = f"the {what} changed since this was made"
            raise stale(place, config.slug, problem, f"made_from.{what}", command=command)


def stale(
    place: str,
    slug: str,
    problem: str,
    field: str | None = None,
    value: object = None,
    *,
    command: str = "calibrate",
) -> DataError:
    """An error that says which stored result cannot be used, and the command that renews it."""
    return DataError(
        problem, place=place, field=field, value=value, cure=f"run `nicperf {command} {slug} --write`"
    )


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


def text_hash(text: str) -> str:
    """Sixteen hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def rounded(value: Any) -> Any:
    """Six significant digits everywhere, so that a re-made file differs only where the result does."""
    if isinstance(value, Mapping):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(item) for item in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value
