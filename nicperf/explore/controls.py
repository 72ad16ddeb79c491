"""The controls of a panel: one for each parameter of the model, with all that a reader should know of it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from nicperf.charts import labels
from nicperf.errors import ScenarioError, closest
from nicperf.experiments.scenario import plain
from nicperf.explore.setting import Setting
from nicperf.parameter import Parameter
from nicperf.simulation.scenario import check_settings, defaults
from nicperf.simulation.systems import SIDES

#: Stops of a slider: as many as arrow keys can pass through without tiring.
STOPS = 61
#: How far a slider without a prior range reaches from where it starts.
REACH = 10


def controls(setting: Setting, first: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Describe every parameter of a setting, in the order in which the panel lists them.

    Parameters
    ----------
    setting : Setting
        Its changes do not matter.
    first : sequence of str
        Dotted names to begin with.

    Returns
    -------
    list of dict
        For each: `name` without a side, `sides` to choose from ("" is both), `side` to start with, `value` by side,
        `title`, `unit`, `kind`, `choices`, `stops` of the slider by side, `range` and `prior` in words, `origin`
        and `source` by side, `doc`.

    Raises
    ------
    ScenarioError
        A name in `first` is unknown.
    """
    exp = setting.exp
    specs = exp.model.parameters(exp.config.driver)
    for name in first:
        if plain(name) not in specs:
            raise ScenarioError(
                "unknown parameter", place=exp.slug, field=name, cure=closest(plain(name), specs)
            )
    order = list(dict.fromkeys([*map(plain, first), *_of_the_thread(setting), *specs]))
    sided = {plain(name): name.split(".")[0] for name in first if name != plain(name)}
    values = _values(setting)
    origins = _Origins(setting)
    return [_control(specs[name], sided.get(name), values, origins, setting) for name in order]


def stops(spec: Parameter, value: Any, prior: Sequence[float] = ()) -> list[float]:
    """Values that a slider passes through: evenly over a short range, by equal factors over a long one.

    Parameters
    ----------
    spec : Parameter
        A number, or a choice among numbers, which has no other stops.
    value : number
        Where the slider starts; one of the stops.
    prior : sequence of float
        Two ends, where a range is known; otherwise the slider reaches to a tenth and to ten times of `value`.
    """
    if spec.choices:
        return list(spec.choices)
    low, high = prior or (value / REACH, value * REACH or min(spec.high, max(spec.low, 1) * 1000))
    low, high = max(low, spec.low), min(high, spec.high)
    if low <= 0 or high / low < REACH / 2:
        raw = np.linspace(low, high, STOPS)
        if low <= 0 and high > 100 and not prior:
            raw = np.concatenate([[low], np.geomspace(max(low, 1), high, STOPS - 1)])
    else:
        raw = np.geomspace(low, high, STOPS)
    found: set[float]
    if spec.kind == "int":
        found = {int(np.clip(round(x), spec.low, spec.high)) for x in raw}
    else:
        found = {float(np.clip(float(f"{x:.3g}"), spec.low, spec.high)) for x in raw}
    return sorted({*found, value})


def _of_the_thread(setting: Setting) -> Iterable[str]:
    """What the thread is about before what its model assumes: settings that differ between its rows, then the fitted."""
    config = setting.exp.config
    tables = [patch.on for patch in config.patches.values()]
    tables += [c.settings for c in config.configurations.values()]
    tables += [setting.exp.workloads[setting.workload].settings]
    return [
        *(plain(name) for table in tables for name in table),
        *(plain(a.name) for a in sorted(config.assumptions, key=lambda a: not a.free)),
    ]


def _values(setting: Setting) -> dict[str, Any]:
    """All values before the reader changes any, by full dotted name."""
    asked = setting.exp.scenario(setting.configuration, setting.workload)
    return {**defaults(asked["driver"]), **check_settings(asked["driver"], asked["params"], setting.exp.slug)}


class _Origins:
    """Where values come from, by full dotted name: the layer that set each last."""

    def __init__(self, setting: Setting) -> None:
        config = setting.exp.config
        self.assumed = {a.name: a for a in config.assumptions}
        self.workload = set(config.workload(setting.workload).settings)
        chosen = config.configuration(setting.configuration)
        self.configured = {*chosen.settings, *(n for p in config.patches.values() for n in {*p.off, *p.on})}

    def of(self, full: str, bare: str) -> tuple[str, str]:
        """Origin and source."""
        assumption = self.assumed.get(full) or self.assumed.get(bare)
        if {full, bare} & self.configured:
            return "configuration", "set by the configuration"
        if {full, bare} & self.workload:
            return "workload", "set by the workload"
        if assumption:
            return assumption.origin, assumption.source
        return "default", "the model's own default"

    def prior(self, full: str, bare: str) -> Sequence[float]:
        assumption = self.assumed.get(full) or self.assumed.get(bare)
        return assumption.range if assumption else ()


def _control(
    spec: Parameter, wanted: str | None, values: dict[str, Any], origins: _Origins, setting: Setting
) -> dict[str, Any]:
    full = {side: f"{side}.{spec.name}" for side in SIDES if f"{side}.{spec.name}" in values}
    value = {side: values[name] for side, name in full.items()}
    both = len(full) == 2
    patched = setting.exp.config.patched[0]
    alike = both and len(set(value.values())) == 1
    side = wanted or ("" if alike or len(full) == 1 else patched)
    prior = {s: origins.prior(name, spec.name) for s, name in full.items()}
    known = {s: origins.of(name, spec.name) for s, name in full.items()}
    spans = {s: f"{_text(p[0])} to {_text(p[1])}" if p else "" for s, p in prior.items()}
    return {
        "name": spec.name,
        "sides": ["", *full] if both else [""],
        "side": side if both else "",
        # What a control for both sides shows is what the patched side has.
        "shown": {"": patched if patched in full else next(iter(full)), **{s: s for s in full}},
        "value": value,
        "title": labels.title(spec.name, with_unit=False),
        "unit": spec.unit if spec.unit != "1" else "",
        "kind": spec.kind,
        "choices": [str(c) for c in spec.choices],
        "stops": {s: stops(spec, v, prior[s]) for s, v in value.items()} if _numeric(spec) else {},
        "range": f"{_text(spec.low)} to {_text(spec.high)}" if not math.isnan(spec.low) else "",
        "prior": spans,
        "origin": {s: origin for s, (origin, _) in known.items()},
        "source": {s: source for s, (_, source) in known.items()},
        "doc": spec.doc,
    }


def _numeric(spec: Parameter) -> bool:
    kinds = {type(v) for v in spec.choices or (spec.default,)}
    return kinds <= {int, float}


def _text(value: float) -> str:
    return f"{value:,.10g}"
