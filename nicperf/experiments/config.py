"""One experiment as a file says it: patches, configurations, workloads, assumptions and tolerances.

`config_reader` fills these classes from `configs/<slug>.toml`; `scenario` turns them into settings of the
model.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from nicperf.errors import ScenarioError, closest

T = TypeVar("T")
Setting = bool | int | float | str
ORIGINS = ("quoted", "datasheet", "measured", "fitted", "guessed")


@dataclass(frozen=True)
class Patch:
    """One patch of the series: the settings that hold without it and with it."""

    name: str
    number: int
    title: str
    off: dict[str, Setting] = field(default_factory=dict)
    on: dict[str, Setting] = field(default_factory=dict)


@dataclass(frozen=True)
class Configuration:
    """What runs on the two hosts of one published row: patches on each side, and other settings."""

    name: str
    title: str
    local_patches: tuple[str, ...] = ()
    remote_patches: tuple[str, ...] = ()
    settings: dict[str, Setting] = field(default_factory=dict)


@dataclass(frozen=True)
class Asked(Configuration):
    """A configuration that somebody wants with other settings, whatever its patches say; no file has one."""

    asked: dict[str, Setting] = field(default_factory=dict)


@dataclass(frozen=True)
class Workload:
    """One test as it was run: the model's workload, its settings, and how long it ran."""

    name: str
    title: str
    workload: str
    elapsed_s: float
    settings: dict[str, Setting] = field(default_factory=dict)


@dataclass(frozen=True)
class Assumption:
    """One parameter of the model with its origin.

    Attributes
    ----------
    name, unit : str
        As the model names them.
    value : Setting
        For a fitted parameter the centre of its prior range.
    origin : str
        One of `ORIGINS`; `fitted` makes the parameter free.
    source, note : str
        Where the value or range is from, and what to know about it.
    range : tuple of float
        Prior range, two numbers; empty where none is stated, which a fitted parameter must.
    """

    name: str
    value: Setting
    unit: str
    origin: str
    source: str
    range: tuple[float, ...] = ()
    note: str = ""

    @property
    def free(self) -> bool:
        """Whether calibration may move it."""
        return self.origin == "fitted"

    @property
    def low(self) -> float:
        """Low end of the prior range; NaN without one."""
        return self.range[0] if self.range else math.nan

    @property
    def high(self) -> float:
        """High end of the prior range; NaN without one."""
        return self.range[1] if self.range else math.nan


@dataclass(frozen=True)
class Calibration:
    """How the fit is made.

    Attributes
    ----------
    seed : int
        Of the starting points and of the sampled set.
    starts : int
        Number of searches: one from the prior centre, the others from the best of eight times as many
        points spread over the priors.
    delta : float
        Rise of the cost up to which a parameter vector counts as equally good. The cost is the sum of squared
        misses in units of the tolerance, so 1 means: one figure may move from its mark to its tolerance.
    ensemble : int
        Number of equally good vectors to draw.
    prior_sd : float
        Width of the weak prior around the centre, in units of the prior range; 0 switches it off.
    """

    seed: int = 1
    starts: int = 4
    delta: float = 1.0
    ensemble: int = 200
    prior_sd: float = 0.0


@dataclass(frozen=True)
class ExperimentConfig:
    """Everything that one `configs/<slug>.toml` says; mappings keep the order of the file.

    `cores` names the cores of which a side's published CPU percentage is a share, where it is not of one;
    `settable` what an owner of the boards can set, and within which limits. `slow` names workloads that take so
    long that equally good vectors are first drawn without their rows.
    """

    slug: str
    title: str
    driver: str
    duration_s: float
    warmup_s: float
    seeds: tuple[int, ...]
    reference: str
    patched: tuple[str, ...]
    tolerances: Mapping[str, float]
    noise: Mapping[str, float]
    goals: Mapping[str, float]
    calibration: Calibration
    patches: Mapping[str, Patch]
    configurations: Mapping[str, Configuration]
    workloads: Mapping[str, Workload]
    sessions: Mapping[str, tuple[str, ...]]
    cores: Mapping[str, int]
    assumptions: tuple[Assumption, ...]
    settable: Mapping[str, str] = field(default_factory=dict)
    slow: tuple[str, ...] = ()

    @property
    def free(self) -> tuple[Assumption, ...]:
        """The parameters that calibration may move, in the order of the file."""
        return tuple(a for a in self.assumptions if a.free)

    @property
    def ranged(self) -> tuple[Assumption, ...]:
        """Those that calibration may not move but that have a prior range, in the order of the file."""
        return tuple(a for a in self.assumptions if a.range and not a.free)

    def configuration(self, name: str) -> Configuration:
        """Look up a configuration, or build one that no row was published for.

        Parameters
        ----------
        name : str
            A configuration, or one followed by patches to add, as in ``baseline+napi+dma_length``, and by
            settings, as in ``all+driver.tx_ring=32``. Patches are added to the first of the `patched` sides.

        Raises
        ------
        ScenarioError
            An unknown configuration or patch, with close names.
        """
        base, *words = name.split("+")
        found = _look_up(self.configurations, base, self.slug, "configuration")
        added = [word for word in words if "=" not in word]
        pairs = [word.split("=", 1) for word in words if "=" in word]
        if pairs:
            found = Asked(**vars(found), asked={setting: _value(text) for setting, text in pairs})
        for patch in added:
            _look_up(self.patches, patch, self.slug, "patch")
        if self.patched[0] == "local":
            return replace(found, name=name, local_patches=(*found.local_patches, *added))
        return replace(found, name=name, remote_patches=(*found.remote_patches, *added))

    def workload(self, name: str) -> Workload:
        """Look up a workload; a `ScenarioError` suggests close names."""
        return _look_up(self.workloads, name, self.slug, "workload")


def _value(text: str) -> Setting:
    """A setting as TOML would read it; anything else is a word."""
    try:
        value: Setting = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
    return value


def _look_up(mapping: Mapping[str, T], name: str, slug: str, what: str) -> T:
    if name not in mapping:
        cure = closest(name, mapping)
        raise ScenarioError(f"unknown {what}", place=slug, field=what, value=name, cure=cure)
    return mapping[name]
