"""A scenario: two hosts, a wire and a workload, named by dotted parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType, SimpleNamespace
from typing import Any

import numpy as np

from nicperf.errors import ScenarioError, closest
from nicperf.parameter import Parameter, parameters_of
from nicperf.simulation.stopping import StoppingRule
from nicperf.simulation.systems import SIDES, SYSTEMS, System


def system_of(driver: str) -> System:
    """The pair of hosts of this name.

    Raises
    ------
    ScenarioError
        Unknown driver.
    """
    if driver not in SYSTEMS:
        raise ScenarioError(
            "unknown driver", place="scenario", field="driver", value=driver, cure=closest(driver, SYSTEMS)
        )
    return SYSTEMS[driver]


@cache
def parameters(driver: str = "velocity") -> dict[str, Parameter]:
    """Everything that a model can vary.

    Parameters
    ----------
    driver : str
        Model of the data path; ``"velocity"``.

    Returns
    -------
    dict
        Dotted name without side -> `Parameter`.

    Raises
    ------
    ScenarioError
        Unknown driver.
    """
    return {name: p for declared in _sides(driver).values() for name, p in declared.items()}


@cache
def _sides(driver: str) -> dict[str, dict[str, Parameter]]:
    """What the parts of each side declare; a sweep asks for it at every point."""
    return {
        side: {name: p for group, cls in groups.items() for name, p in parameters_of(group, cls).items()}
        for side, groups in zip(SIDES, system_of(driver).groups, strict=True)
    }


def split_side(name: str) -> tuple[str | None, str]:
    """``"local.bus.clock_mhz"`` -> ``("local", "bus.clock_mhz")``; no side -> None."""
    side, _, rest = name.partition(".")
    return (side, rest) if side in SIDES else (None, name)


@dataclass(frozen=True)
class Scenario:
    """A checked request for a run.

    Attributes
    ----------
    driver : str
    workload : str
        One of the driver's: ``udp_stream``, ``tcp_stream``, ``tcp_sendfile`` for velocity.
    settings : tuple of (str, value)
        Full dotted names (with side), sorted; what is not named keeps its default.
    seed : int
        Of all random streams.
    warmup_s, duration_s : float
        Simulated time before and during the measurement.
    slices : int
        Rows of the timeline.
    stopping : StoppingRule, optional
        What may end the run before `duration_s`.
    """

    driver: str
    workload: str
    settings: tuple[tuple[str, Any], ...]
    seed: int
    warmup_s: float
    duration_s: float
    slices: int
    stopping: StoppingRule | None = None

    def host(self, side: str) -> dict[str, Any]:
        """The part dataclasses of one side, by group."""
        groups = SYSTEMS[self.driver].groups[SIDES.index(side)]
        values: dict[str, dict[str, Any]] = {group: {} for group in groups}
        for name, value in (*SYSTEMS[self.driver].defaults.items(), *self.settings):
            name_side, rest = split_side(name)
            if name_side == side:
                group, field = rest.split(".")
                values[group][field] = value
        return {group: cls(**values[group]) for group, cls in groups.items()}


def scenario(
    driver: str = "velocity",
    workload: str = "tcp_stream",
    params: Mapping[str, Any] | None = None,
    *,
    seed: int = 0,
    duration_s: float = 0.25,
    warmup_s: float = 0.05,
    slices: int | None = None,
    stop_width: float | None = None,
    confidence: float = 0.95,
) -> Scenario:
    """Check names and values and return the scenario.

    Parameters
    ----------
    driver, workload : str
    params : mapping
        Dotted name -> value. A plain name sets both hosts; ``local.`` or ``remote.`` before it sets one and
        wins.
    seed, duration_s, warmup_s, slices, stop_width, confidence
        As for `nicperf.simulation.simulate`.

    Raises
    ------
    ScenarioError
        Unknown name (close names are suggested), wrong type or a value out of range.
    """
    settings = check_settings(driver, params or {})
    workloads = system_of(driver).ends
    if workload not in workloads:
        raise ScenarioError(
            "unknown workload",
            place="scenario",
            field="workload",
            value=workload,
            cure=closest(workload, workloads),
        )
    check_together(workload, {**defaults(driver), **settings})
    for field, value, least in (("duration_s", duration_s, 1e-6), ("warmup_s", warmup_s, 0)):
        if not least <= value <= 3600:
            raise ScenarioError(
                "out of range", place="scenario", field=field, value=value, cure=f"use {least:g}..3600 s"
            )
    if slices is None:
        slices = 1000 if stop_width else 10
    if slices < 1:
        raise ScenarioError(
            "out of range", place="scenario", field="slices", value=slices, cure="use 1 or more"
        )
    if stop_width is not None and workload in system_of(driver).closed_loops:
        raise ScenarioError(
            "a closed loop ends with the windows of its instances",
            place="scenario",
            field="stop_width",
            value=stop_width,
            cure="leave it out; set workload.window_s",
        )
    stopping = None if stop_width is None else StoppingRule(stop_width, confidence).check(slices)
    return Scenario(
        driver,
        workload,
        tuple(sorted(settings.items())),
        check_seed(seed),
        warmup_s,
        duration_s,
        slices,
        stopping,
    )


def check_settings(driver: str, params: Mapping[str, Any], place: str = "scenario") -> dict[str, Any]:
    """Check each setting and spell out its side.

    Returns
    -------
    dict
        Full dotted name -> value in the parameter's own type. A plain name gives an entry for each side that has
        it; one with a side wins over it.

    Raises
    ------
    ScenarioError
        Unknown driver or name (close names are suggested), wrong type or a value out of range.
    """
    known = parameters(driver)
    sides = _sides(driver)
    plain: dict[str, Any] = {}
    sided: dict[str, Any] = {}
    for name, value in params.items():
        side, rest = split_side(name)
        own = sides[side] if side else known
        if rest not in own:
            cure = closest(rest, own)
            raise ScenarioError("unknown parameter", place=place, field=name, value=value, cure=cure)
        if side:
            sided[name] = own[rest].check(value, place)
        else:
            plain |= {f"{s}.{rest}": sides[s][rest].check(value, place) for s in SIDES if rest in sides[s]}
    return {**plain, **sided}


@cache
def defaults(driver: str) -> Mapping[str, Any]:
    """What holds unless a scenario says otherwise, by full dotted name."""
    own = {
        f"{side}.{name}": p.default
        for side, declared in _sides(driver).items()
        for name, p in declared.items()
    }
    return MappingProxyType({**own, **system_of(driver).defaults})


def check_seed(seed: Any, place: str = "scenario") -> int:
    """Return a seed that the random streams accept."""
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or not 0 <= seed < 2**64:
        raise ScenarioError(
            "not a seed", place=place, field="seed", value=seed, cure="use a whole number from 0 on"
        )
    return int(seed)


#: What both hosts must agree on.
_SAME_ON_BOTH = (
    "wire.rate_mbit_s", "wire.mtu_bytes", "workload.message_bytes", "workload.instances", "workload.request_bytes",
    "workload.response_bytes", "cpu.cores",
)  # fmt: skip


def check_together(workload: str, value: Mapping[str, Any]) -> None:
    """Refuse settings that are allowed one by one but not together; `value` holds all full dotted names."""
    for name in _SAME_ON_BOTH:
        if f"local.{name}" not in value or f"remote.{name}" not in value:
            continue
        if value[f"local.{name}"] != value[f"remote.{name}"]:
            raise ScenarioError(
                f"the other side has {value[f'remote.{name}']!r}",
                place="scenario",
                field=f"local.{name}",
                value=value[f"local.{name}"],
                cure=f"set {name} for both sides",
            )
    if workload == "udp_stream" and value["local.workload.message_bytes"] > 65507:
        raise ScenarioError(
            "longer than a UDP datagram",
            place="scenario",
            field="workload.message_bytes",
            value=value["local.workload.message_bytes"],
            cure="use at most 65507",
        )


def host_spec(sc: Scenario, side: str) -> SimpleNamespace:
    """The host as an object with one attribute per group, for the compiled run."""
    return SimpleNamespace(**sc.host(side))
