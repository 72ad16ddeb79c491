"""Turns an experiment, a configuration and a workload into settings that the model accepts.

Layers, each winning over the one before: assumptions, the workload, the configuration, its patches, the
reader. A plain name in a later layer also wins over ``local.`` and ``remote.`` names of earlier layers:
somebody who sets a burst length means both hosts, whatever the patches had said for one of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from nicperf.errors import DataError, ScenarioError, closest
from nicperf.experiments.config import Asked, Configuration, ExperimentConfig, Setting, Workload
from nicperf.parameter import Parameter

SIDES = ("local.", "remote.")
Specs = Mapping[str, Parameter]


def settings(
    config: ExperimentConfig,
    configuration: Configuration,
    workload: Workload,
    fitted: Mapping[str, float],
    overrides: Mapping[str, Setting] | None = None,
) -> dict[str, Setting]:
    """All settings of one scenario, by dotted name.

    Parameters
    ----------
    config : ExperimentConfig
        The experiment.
    configuration : Configuration
        One of the experiment, or one built for an ablation.
    workload : Workload
        One of the experiment.
    fitted : mapping
        Values of free parameters; those not named stand at their prior centre.
    overrides : mapping, optional
        What the reader changes.

    Returns
    -------
    dict
    """
    assumptions = {a.name: a.value for a in config.assumptions} | dict(fitted)
    patches = {
        side + name: value
        for side, applied in zip(
            SIDES, (configuration.local_patches, configuration.remote_patches), strict=True
        )
        if side.removesuffix(".") in config.patched
        for patch in config.patches.values()
        for name, value in (patch.on if patch.name in applied else patch.off).items()
    }
    asked = configuration.asked if isinstance(configuration, Asked) else {}
    return layered([assumptions, workload.settings, configuration.settings, patches, asked, overrides or {}])


def layered(layers: Iterable[Mapping[str, Setting]]) -> dict[str, Setting]:
    """Merge layers of settings, later ones winning, plain names over one-sided names of earlier layers."""
    merged: dict[str, Setting] = {}
    for layer in layers:
        for name in layer:
            for side in SIDES:
                merged.pop(side + name, None)
        merged.update(layer)
    return merged


def check_setting(name: str, value: object, specs: Specs, *, place: str) -> Setting:
    """Check one setting against the model's declaration.

    Parameters
    ----------
    name : str
        Dotted name, with or without ``local.`` or ``remote.``.
    value : object
        A Python or numpy scalar.
    specs : mapping
        The model's parameters.
    place : str
        Where the setting stands, for the error.

    Returns
    -------
    bool, int, float or str
        The value as the parameter's own type.

    Raises
    ------
    ScenarioError
        Unknown name, wrong kind, out of range, not one of the choices.
    """
    spec = specs.get(plain(name))
    if spec is None:
        cure = closest(plain(name), specs)
        raise ScenarioError("unknown parameter", place=place, field=name, cure=cure)
    return spec.check(getattr(value, "item", lambda: value)(), place)


def plain(name: str) -> str:
    """The parameter's name without a side."""
    for side in SIDES:
        name = name.removeprefix(side)
    return name


def check_config(config: ExperimentConfig, specs: Specs) -> None:
    """Check everything that the experiment sets against what the model declares.

    Raises
    ------
    ScenarioError
        A name, kind or value the model does not know.
    DataError
        A unit that differs from the model's, a free parameter that is not a real number, or a prior range
        that the model would refuse.
    """
    file = f"{config.slug}.toml"
    for patch in config.patches.values():
        for which, table in (("off", patch.off), ("on", patch.on)):
            _check_all(table, specs, f"{file}: patches.{patch.name}.{which}")
    for section, items in (("configurations", config.configurations), ("workloads", config.workloads)):
        for name, item in items.items():
            _check_all(item.settings, specs, f"{file}: {section}.{name}")
    for a in config.assumptions:
        place = f"{file}: parameters[{a.name}]"
        check_setting(a.name, a.value, specs, place=place)
        spec = specs[plain(a.name)]
        if a.unit != spec.unit:
            raise DataError(
                "differs from the model's unit",
                place=place,
                field="unit",
                value=a.unit,
                cure=f"write {spec.unit!r}",
            )
        if a.free and spec.kind != "float":
            raise DataError("only a real number can be fitted", place=place, field="origin", value=a.origin)
        if a.range and spec.kind != "float":
            raise DataError("only a real number can have a range", place=place, field="range", value=a.range)
        for bound in (a.low, a.high):
            if not math.isnan(bound):
                check_setting(a.name, bound, specs, place=f"{place}.range")


def _check_all(table: Mapping[str, Setting], specs: Specs, place: str) -> None:
    for name, value in table.items():
        check_setting(name, value, specs, place=place)
