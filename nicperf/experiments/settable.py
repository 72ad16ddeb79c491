"""What somebody can set on a board, and within which limits: the axes that a search moves along."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from nicperf.errors import ScenarioError
from nicperf.experiments.config import ExperimentConfig, Setting
from nicperf.experiments.scenario import SIDES, check_setting, plain
from nicperf.parameter import Parameter

Specs = Mapping[str, Parameter]
#: How limits are written, for messages.
FORMS = "write 'low..high', 'value,value' or 'all'"
#: Settings that stand for a long range of numbers, evenly spaced by ratio.
STEPS = 24


@dataclass(frozen=True)
class Axis:
    """One parameter and the settings to choose from.

    Attributes
    ----------
    name : str
        Dotted; ``local.`` or ``remote.`` before it moves one host, without it both move together.
    unit : str
    settings : tuple
        Numbers ascending; choices and switches in the order that the model gives them.
    ordered : bool
        The settings are numbers, and what lies between them is a setting too.
    """

    name: str
    unit: str
    settings: tuple[Setting, ...]
    ordered: bool = False

    def with_setting(self, value: Setting) -> Axis:
        """The same axis with one more number among its settings, where that lies between its ends."""
        if not self.ordered or value in self.settings or not self.settings[0] < value < self.settings[-1]:  # type: ignore[operator]
            return self
        return replace(self, settings=tuple(sorted([*self.settings, value])))


def axes(
    config: ExperimentConfig, specs: Specs, within: Mapping[str, str], hold: Iterable[str] = ()
) -> list[Axis]:
    """What a search may move: what the experiment's file states as settable, changed by the reader.

    Parameters
    ----------
    config : ExperimentConfig
        Its `settable` has a name and limits for each.
    specs : mapping
        The model's parameters.
    within : mapping
        Name -> limits that replace those of the file, or add a parameter. A plain name replaces those with a
        side.
    hold : iterable of str
        Names to leave out.

    Raises
    ------
    ScenarioError
        Unknown names, limits that the model refuses, or nothing left to move.
    """
    limits = dict(config.settable)
    for name in within:
        for side in SIDES:
            limits.pop(side + name, None)
    limits |= within
    place = "suggest"
    for name in hold:
        if name not in limits:
            raise ScenarioError(
                "is not moved anyway", place=place, field=name, cure=f"moved are {', '.join(limits)}"
            )
        del limits[name]
    if not limits:
        raise ScenarioError(
            "nothing to move", place=place, field="within", cure="name a parameter and its limits"
        )
    return [axis(name, text, specs, place) for name, text in limits.items()]


def axis(name: str, limits: str, specs: Specs, place: str) -> Axis:
    """Read the limits of one parameter.

    Parameters
    ----------
    name : str
    limits : str
        ``16..256``, ``8,16,64``, or ``all`` that the model allows.
    specs : mapping
    place : str
        Where they stand, for the error.

    Raises
    ------
    ScenarioError
        An unknown name, a value that the model refuses, or words that are no limits.

    Examples
    --------
    >>> from nicperf.simulation import parameters
    >>> axis("driver.tx_ring", "16..20", parameters("velocity"), "doctest").settings
    (16, 17, 18, 19, 20)
    """
    check_setting(name, specs[plain(name)].default if plain(name) in specs else None, specs, place=place)
    spec = specs[plain(name)]
    low, dots, high = limits.partition("..")
    if dots and spec.kind in ("int", "float"):
        ends = [spec.check(end, place) for end in (low, high)]
        if ends[0] >= ends[1]:
            raise ScenarioError(
                "the lower limit comes first", place=place, field=name, value=limits, cure=FORMS
            )
        return Axis(name, spec.unit, _between(spec, *ends), ordered=True)
    if limits == "all":
        if spec.kind == "str":
            raise ScenarioError(
                "a text has no limits", place=place, field=name, value=limits, cure="name its values"
            )
        if spec.kind in ("int", "float"):
            return Axis(name, spec.unit, _between(spec, spec.low, spec.high), ordered=True)
        return Axis(name, spec.unit, spec.choices or (False, True))
    values = [spec.check(word.strip(), place) for word in limits.split(",")]
    if dots or len(set(values)) < 2:
        raise ScenarioError("no choice", place=place, field=name, value=limits, cure=FORMS)
    return Axis(name, spec.unit, tuple(dict.fromkeys(values if spec.choices else sorted(values))))


def _between(spec: Parameter, low: float, high: float) -> tuple[Setting, ...]:
    """Numbers from one end to the other: all if they are whole and few, otherwise by ratio, 0 apart."""
    if spec.kind == "int" and high - low <= STEPS:
        return tuple(range(int(low), int(high) + 1))
    start = low or high / 2 ** (STEPS / 2)
    if spec.kind == "int":
        start = max(start, 1)
    inner = np.geomspace(start, high, STEPS)[1:-1]
    rounded = [float(f"{value:.2g}") if spec.kind == "float" else round(value) for value in inner]
    numbers: Sequence[float] = sorted({low, high, *(v for v in rounded if low < v < high)})
    return tuple(int(v) if spec.kind == "int" else float(v) for v in numbers)
