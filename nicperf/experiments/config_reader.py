"""Reads `configs/<slug>.toml`, strictly.

A slip in the file is an error with a place and a cure, and never a silently different experiment. What the
model must know of a setting (its name, unit and range) is checked in `scenario`, where the model is asked.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

from nicperf.errors import closest
from nicperf.experiments.config import (
    ORIGINS,
    Assumption,
    Calibration,
    Configuration,
    ExperimentConfig,
    Patch,
    Workload,
)
from nicperf.experiments.quantities import QUANTITIES
from nicperf.experiments.reader import Table, read_toml

FOLDER = Path(__file__).parent / "configs"


def available() -> list[str]:
    """Slugs that have a model: one for each file in `configs`."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def read(path: Path) -> ExperimentConfig:
    """Read one experiment file.

    Raises
    ------
    DataError
        Naming file, key, value and cure: a key that is missing, unknown, of another kind or out of range, a
        patch or workload that is not defined, an unknown origin, a fitted parameter without a range.
    """
    top = read_toml(path)
    head = top.table("experiment")
    slug = head.take("slug", str)
    if slug != path.stem:
        raise head.error("slug", f"differs from the file name {path.name}", slug, f"write {path.stem!r}")
    patches = {name: _patch(name, table) for name, table in top.tables("patches")}
    configurations = {name: _configuration(name, t, patches) for name, t in top.tables("configurations")}
    workloads = {name: _workload(name, table) for name, table in top.tables("workloads")}
    sessions = top.table("sessions")
    config = ExperimentConfig(
        slug=slug,
        title=head.take("title", str),
        driver=head.take("driver", str),
        duration_s=head.take("duration_s", float, low=1e-3, high=100.0),
        warmup_s=head.take("warmup_s", float, low=0.0, high=100.0),
        seeds=_seeds(head),
        reference=head.take("reference", str, choices=configurations),
        tolerances=top.fractions("tolerances", QUANTITIES),
        noise=top.fractions("noise", QUANTITIES),
        goals=top.fractions("goals", QUANTITIES),
        calibration=_calibration(top.table("calibration")),
        patches=patches,
        configurations=configurations,
        workloads=workloads,
        sessions={name: sessions.names(name, workloads) for name in sessions.names_inside},
        assumptions=tuple(_assumption(table) for table in top.array("parameters")),
    )
    head.close()
    top.close()
    for name in config.noise.keys() | config.goals.keys():
        if name not in config.tolerances:
            raise top.error(name, "noise or goal without a tolerance", cure=closest(name, config.tolerances))
    _refuse_doubles(config, top)
    return config


def _seeds(head: Table) -> tuple[int, ...]:
    seeds = head.take("seeds", list)
    if not seeds or any(type(seed) is not int or seed < 0 for seed in seeds) or len(set(seeds)) < len(seeds):
        raise head.error("seeds", "expected different whole numbers from 0 up", seeds)
    return tuple(seeds)


def _calibration(table: Table) -> Calibration:
    calibration = Calibration(
        seed=table.take("seed", int, default=1, low=0),
        starts=table.take("starts", int, default=4, low=1, high=100),
        delta=table.take("delta", float, default=1.0, low=1e-6),
        ensemble=table.take("ensemble", int, default=32, low=24, high=10_000),
        prior_sd=table.take("prior_sd", float, default=0.0, low=0.0),
    )
    table.close()
    return calibration


def _patch(name: str, table: Table) -> Patch:
    patch = Patch(
        name=name,
        number=table.take("number", int, low=1),
        title=table.take("title", str),
        off=table.scalars("off"),
        on=table.scalars("on"),
    )
    table.close()
    if patch.off.keys() != patch.on.keys():
        odd = sorted(patch.off.keys() ^ patch.on.keys())
        raise table.error("on", f"'off' and 'on' must name the same settings, these differ: {', '.join(odd)}")
    return patch


def _configuration(name: str, table: Table, patches: Mapping[str, Patch]) -> Configuration:
    configuration = Configuration(
        name=name,
        title=table.take("title", str),
        local_patches=table.names("local_patches", patches, default=[]),
        remote_patches=table.names("remote_patches", patches, default=[]),
        settings=table.scalars("settings"),
    )
    table.close()
    return configuration


def _workload(name: str, table: Table) -> Workload:
    workload = Workload(
        name=name,
        title=table.take("title", str),
        workload=table.take("workload", str),
        elapsed_s=table.take("elapsed_s", float, low=0.0),
        settings=table.scalars("settings"),
    )
    table.close()
    return workload


def _assumption(table: Table) -> Assumption:
    bounds = table.take("range", list, default=[math.nan, math.nan])
    if len(bounds) != 2 or any(type(bound) not in (int, float) for bound in bounds):
        raise table.error("range", "expected two numbers", bounds, "write range = [low, high]")
    assumption = Assumption(
        name=table.take("name", str),
        value=table.take("value", (bool, float, int, str)),
        unit=table.take("unit", str),
        origin=table.take("origin", str, choices=ORIGINS),
        source=table.take("source", str),
        low=float(bounds[0]),
        high=float(bounds[1]),
        note=table.take("note", str, default=""),
    )
    table.close()
    ranged = not math.isnan(assumption.low)
    if assumption.free and not ranged:
        raise table.error("range", "a fitted parameter needs a prior range", cure="write range = [low, high]")
    if ranged and assumption.low >= assumption.high:
        raise table.error("range", "the low end must lie below the high end", bounds)
    value = assumption.value
    if ranged and (isinstance(value, bool | str) or not assumption.low <= value <= assumption.high):
        raise table.error("value", f"outside the range {bounds[0]}..{bounds[1]}", value)
    return assumption


def _refuse_doubles(config: ExperimentConfig, top: Table) -> None:
    names = [assumption.name for assumption in config.assumptions]
    for name in names:
        if names.count(name) > 1:
            raise top.error(f"parameters[{name}]", "this parameter is stated twice")
        for patch in config.patches.values():
            if name in patch.on:
                raise top.error(f"parameters[{name}]", f"patch {patch.name!r} sets it too", cure="keep one")
