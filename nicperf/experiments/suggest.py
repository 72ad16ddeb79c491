"""The best settings that somebody could choose, and how much hangs on each."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from nicperf.errors import ScenarioError, closest
from nicperf.experiments.config import Setting
from nicperf.experiments.experiment import Experiment
from nicperf.experiments.settable import Axis, axes
from nicperf.progress import bar
from nicperf.simulation import scenario
from nicperf.simulation.batches import run_all
from nicperf.simulation.cache import RunCache, kept_in, open_cache
from nicperf.simulation.scenario import check_settings, check_together, defaults, split_side
from nicperf.simulation.systems import SIDES, SYSTEMS

if TYPE_CHECKING:
    from concurrent.futures import Executor

#: Settings whose figure is not further from the best than this count as equally good.
FLAT = 0.01
#: A parameter goes back to where it was if all that did so cost no more than this together.
SIMPLER = 0.001
#: Share of the present throughput that must be left when something else is minimised.
FLOOR = 0.99
#: Cost above that of all settings which do.
TOO_SLOW = 1e6
#: Points of one generation for each parameter.
CROWD = 4
#: Moves along one parameter at a time after the search.
ROUNDS = 4
#: Seeds that judge the result: none that the search used.
JUDGES = range(1000, 1008)
GOALS = ("throughput", "cpu", "latency")

Point = tuple[int, ...]


@dataclass(frozen=True)
class Suggestion:
    """What to set, what it brings, and how sure that is.

    Attributes
    ----------
    settings : DataFrame
        One row for each parameter that was moved: parameter, unit, present, suggested, flat (the settings
        that stay within 1 % of the best while the others stand as suggested, found by runs), worst_percent
        (what the worst setting within the limits loses, NaN where some do not keep the throughput), tried
        (the limits).
    changes : dict
        Dotted name -> value where the suggestion differs from what is: `Experiment.simulate` takes it.
    figure : str
        What was made best, as a run's summary names it.
    present_value, suggested_value : float
        Its mean over seeds that the search did not use, before and after.
    gain_percent, low_percent, high_percent : float
        Change of the figure, and the 95 % interval of the change over these seeds (Welch).
    noise_percent : float
        Run-to-run spread of such a figure that the published tables show; NaN where they show none.
    exceeds_noise : bool
        The interval excludes zero, and the gain is larger than the published spread.
    statements : list of str
        Gain, flatness and limits in words.
    held : dict
        Settings of driver and chip that were not moved.
    runs : int
        How many were looked at.
    """

    settings: pd.DataFrame
    changes: dict[str, Setting]
    figure: str
    present_value: float
    suggested_value: float
    gain_percent: float
    low_percent: float
    high_percent: float
    noise_percent: float
    exceeds_noise: bool
    statements: list[str]
    held: dict[str, Setting]
    runs: int


def suggest(
    exp: Experiment,
    configuration: str,
    workload: str,
    *,
    maximise: str | None = None,
    minimise: str | None = None,
    within: Mapping[str, str] | None = None,
    hold: Iterable[str] = (),
    evaluations: int = 400,
    seed: int = 0,
    executor: Executor | None = None,
    progress: bool | None = None,
    cache: bool | str | os.PathLike[str] = True,
) -> Suggestion:
    """Find the settings that make one figure of a configuration best.

    Differential evolution over the settings that one can choose, then moves along one parameter at a time.
    What makes no difference goes back to its present setting: a suggestion names only what matters. Equal
    calls give equal suggestions, on any executor.

    Parameters
    ----------
    exp : Experiment
    configuration, workload : str
        From where, and for what: see `Experiment.scenario`.
    maximise : {"throughput"}, optional
        Payload that arrives; frames taken per second where a workload delivers none.
    minimise : {"cpu", "latency"}, optional
        CPU load of the host that the experiment's patches are for, or the mean time of data frames from driver
        to protocol; of settings that keep 99 % of the present throughput.
    within : mapping, optional
        Dotted name -> limits, ``16..256``, ``8,16,64`` or ``all``. They replace or add to the table
        ``[settable]`` of the experiment's file.
    hold : iterable of str
        Names of that table to leave alone.
    evaluations : int
        Most settings that the search looks at; those that follow it, one parameter at a time, come on top.
    seed : int
        Of the search; the model's seeds are those of the experiment.
    executor, progress, cache
        As for `nicperf.experiments.sweep`.

    Returns
    -------
    Suggestion

    Raises
    ------
    ScenarioError
        Neither or both goals, an unknown name, limits that the model refuses, nothing to move.

    Notes
    -----
    An optimum of the model: what the model does not contain cannot make a setting bad. Long ranges are tried at
    24 settings, spaced by ratio; narrower limits look closer.

    Examples
    --------
    >>> import nicperf as nic
    >>> exp = nic.experiment("velocity-2009")
    >>> only = {"local.nic.dma_burst_dwords": "8,64"}
    >>> found = nic.suggest(exp, "baseline", "tcp_stream", maximise="throughput", within=only, evaluations=40)
    >>> found.changes["local.nic.dma_burst_dwords"]
    64
    """
    goal = _goal(maximise, minimise)
    if evaluations < 1:
        raise ScenarioError(
            "too few", place="suggest", field="evaluations", value=evaluations, cure="1 or more"
        )
    moved = axes(exp.config, exp.model.parameters(exp.config.driver), within or {}, hold)
    search = _Search(exp, configuration, workload, goal, moved, executor, open_cache(cache))
    total = len(exp.config.seeds) * (evaluations + sum(len(axis.settings) for axis in search.axes))
    with bar("suggest", progress, total, "runs") as search.tick:
        try:
            best = search.simplify(search.climb(search.evolve(evaluations, seed)))
            return search.report(best)
        except KeyboardInterrupt as stop:
            stop.__notes__ = [f"suggest: {search.runs} runs are done and {kept_in(search.cache)}"]
            raise


def _goal(maximise: str | None, minimise: str | None) -> str:
    if (maximise is None) == (minimise is None):
        raise ScenarioError(
            "one goal is needed", place="suggest", cure="maximise throughput, or minimise cpu or latency"
        )
    known = GOALS[:1] if maximise else GOALS[1:]
    goal = maximise or minimise or ""
    if goal not in known:
        field = "maximise" if maximise else "minimise"
        raise ScenarioError(
            "unknown goal", place="suggest", field=field, value=goal, cure=closest(goal, known)
        )
    return goal


class _Search:
    """Points on the axes, by the number of the setting on each, and what runs say about them."""

    def __init__(
        self,
        exp: Experiment,
        configuration: str,
        workload: str,
        goal: str,
        moved: Sequence[Axis],
        executor: Executor | None,
        cache: RunCache | None,
    ) -> None:
        self.exp = exp
        self.goal = goal
        self.executor = executor
        self.cache = cache
        self.tick: Callable[[int], object] = lambda done: None
        self.runs = 0
        self.base = scenario(**exp.scenario(configuration, workload), slices=1)
        self.common = {**defaults(self.base.driver), **dict(self.base.settings)}
        side = exp.config.patched[0]
        self.rate = SYSTEMS[self.base.driver].rate(self.base.workload)
        figures = {"throughput": self.rate, "cpu": f"cpu_percent_{side}", "latency": "frame_latency_us"}
        self.figure = figures[goal]
        self.side = side
        for axis in moved:
            check_settings(self.base.driver, {axis.name: axis.settings[0]}, "suggest")
        self.present = {axis.name: self._now(axis.name) for axis in moved}
        self.axes = [axis.with_setting(self.present[axis.name]) for axis in moved]
        self._known: dict[tuple[tuple[str, Any], ...], tuple[float, float]] = {}
        self.before = self._measure([()])[0]

    def evolve(self, evaluations: int, seed: int) -> Point:
        """Differential evolution from the present settings and points spread over the limits."""
        from scipy.optimize import differential_evolution
        from scipy.stats import qmc

        random = np.random.default_rng(seed)
        crowd = max(5, min(CROWD * len(self.axes), evaluations))  # five is the least that scipy takes
        sizes = np.array([len(axis.settings) for axis in self.axes])
        spread = np.floor(qmc.LatinHypercube(len(sizes), rng=random).random(crowd) * sizes)
        spread[0] = [_nearest(axis, self.present[axis.name]) for axis in self.axes]

        def costs(points: Any) -> Any:
            return np.array(self.costs([self._point(column) for column in points.T]))

        bounds: Any = [(0, size - 1) for size in sizes]
        found = differential_evolution(
            costs,
            bounds,
            init=spread,
            integrality=np.ones(len(sizes), dtype=bool),
            maxiter=max(evaluations // crowd - 1, 0),
            updating="deferred",
            vectorized=True,
            polish=False,
            rng=random,
        )
        return self._point(found.x)

    def climb(self, point: Point) -> Point:
        """Move along one parameter at a time while that gains anything."""
        for _ in range(ROUNDS):
            lines = [other for i in range(len(self.axes)) for other in self._line(point, i)]
            (cost,) = self.costs([point])
            costs = self.costs(lines)
            best = int(np.argmin(costs))
            if not costs[best] < cost - 1e-6 * abs(cost):
                break
            point = lines[best]
        return point

    def simplify(self, point: Point) -> Point:
        """Put parameters back to their present setting, those first that cost least."""
        (best,) = self.costs([point])
        enough = best + SIMPLER * abs(best)
        while True:
            back = [
                (*point[:i], axis.settings.index(self.present[axis.name]), *point[i + 1 :])
                for i, axis in enumerate(self.axes)
                if self.present[axis.name] in axis.settings
                and axis.settings[point[i]] != self.present[axis.name]
            ]
            costs = self.costs(back)
            if not back or min(costs) > enough:
                return point
            point = back[int(np.argmin(costs))]

    def report(self, point: Point) -> Suggestion:
        """How flat it is there, and what it gains over the present settings with other seeds."""
        rows = [self._row(point, i) for i in range(len(self.axes))]
        table = pd.DataFrame(rows)
        changes = {row["parameter"]: row["suggested"] for row in rows if row["suggested"] != row["present"]}
        before, after = (self._judged(settings) for settings in ({}, changes))
        gain, low, high = _change_percent(before, after)
        better = gain if self.goal == "throughput" else -gain
        noise = 100 * self.exp.config.noise.get(
            {"throughput": "throughput_mbit_s", "cpu": "cpu_percent"}.get(self.goal, ""), np.nan
        )
        exceeds = bool((low > 0 or high < 0) and not better <= noise) if changes else False
        found = Suggestion(
            table, changes, self.figure, float(before.mean()), float(after.mean()), gain, low, high, noise,
            exceeds, [], self._held(), self.runs,
        )  # fmt: skip
        found.statements.extend(self._words(found))
        return found

    def costs(self, points: Sequence[Point]) -> list[float]:
        """What is minimised: the figure relative to the present one; far above that below the floor."""
        measured = self._measure(points)
        out = []
        for value, rate in measured:
            cost = value / self.before[0] if self.before[0] else value
            if self.goal == "throughput":
                out.append(-cost)
            elif rate >= FLOOR * self.before[1] and np.isfinite(cost):
                out.append(cost)
            else:
                out.append(TOO_SLOW * (2 - rate / self.before[1]))
        return out

    def _measure(self, points: Sequence[Point]) -> list[tuple[float, float]]:
        """Figure and throughput of each point, mean over the experiment's seeds; each is run once."""
        asked = [self._settings(point) for point in points]
        keys = [tuple(settings.items()) for settings in asked]
        fresh = [key for key in dict.fromkeys(keys) if key not in self._known]
        if fresh:
            figures = self._run([dict(key) for key in fresh], self.exp.config.seeds)
            pairs = zip(figures[self.figure].mean(axis=1), figures[self.rate].mean(axis=1), strict=True)
            self._known |= dict(zip(fresh, pairs, strict=True))
        return [self._known[key] for key in keys]

    def _run(self, settings: Sequence[Mapping[str, Any]], seeds: Iterable[int]) -> dict[str, np.ndarray]:
        """Figures of each setting with each seed, shape (settings, seeds)."""
        numbers = list(seeds)
        for one in settings:
            check_together(self.base.workload, {**self.common, **one})
        jobs = [(one, number) for one in settings for number in numbers]
        figures = run_all(self.base, jobs, self.executor, progress=False, cache=self.cache)
        self.runs += len(jobs)
        self.tick(len(jobs))
        return {name: values.reshape(len(settings), len(numbers)) for name, values in figures.items()}

    def _judged(self, changes: Mapping[str, Any]) -> np.ndarray:
        return self._run([check_settings(self.base.driver, changes)], JUDGES)[self.figure][0]

    def _settings(self, point: Point) -> dict[str, Any]:
        """Full dotted names and values of a point; of the empty one none."""
        chosen = (
            {axis.name: axis.settings[i] for axis, i in zip(self.axes, point, strict=False)} if point else {}
        )
        return check_settings(self.base.driver, chosen)

    def _line(self, point: Point, i: int) -> list[Point]:
        """All points along one axis."""
        return [(*point[:i], k, *point[i + 1 :]) for k in range(len(self.axes[i].settings))]

    def _row(self, point: Point, i: int) -> dict[str, Any]:
        axis = self.axes[i]
        costs = np.array(self.costs(self._line(point, i)))
        best = costs[point[i]]
        near = costs <= best + FLAT * abs(best)
        worst = costs.max() if costs.max() < TOO_SLOW else np.nan
        return {
            "parameter": axis.name,
            "unit": axis.unit,
            "present": self.present[axis.name],
            "suggested": axis.settings[point[i]],
            "flat": _flat(axis, near, point[i]),
            "worst_percent": 100 * float((worst - best) / abs(best)),
            "tried": _span(axis, axis.settings),
        }

    def _now(self, name: str) -> Setting:
        side, rest = split_side(name)
        order = [side] if side else [self.side, *SIDES]
        return next(self.common[f"{s}.{rest}"] for s in order if f"{s}.{rest}" in self.common)

    def _point(self, numbers: Iterable[float]) -> Point:
        return tuple(round(float(number)) for number in numbers)

    def _held(self) -> dict[str, Setting]:
        """Settings of driver and chip on the patched host that are no costs, and that nobody moved."""
        known = self.exp.model.parameters(self.base.driver)
        moved = {
            name
            for axis in self.axes
            for name in check_settings(self.base.driver, {axis.name: axis.settings[0]})
        }
        return {
            name: value
            for name, value in self.common.items()
            if name.startswith((f"{self.side}.driver.", f"{self.side}.nic."))
            and name not in moved
            and known[split_side(name)[1]].kind in ("bool", "choice", "int")
        }

    def _words(self, found: Suggestion) -> list[str]:
        limited = "" if self.goal == "throughput" else f", keeping {FLOOR:.0%} of the present throughput"
        change = f"{found.present_value:.5g} -> {found.suggested_value:.5g}"
        interval = f"{found.low_percent:+.2f}..{found.high_percent:+.2f} % over {len(JUDGES)} seeds"
        noise = "" if np.isnan(found.noise_percent) else f", {found.noise_percent:g} % between published runs"
        if not found.changes:
            verdict = "nothing within the limits is better than what is"
        elif found.exceeds_noise:
            verdict = f"more than noise ({interval}{noise})"
        else:
            verdict = f"not more than noise ({interval}{noise})"
        table = found.settings.sort_values("worst_percent", ascending=False, kind="stable")
        steep = ", ".join(table.loc[table["worst_percent"] > 100 * FLAT, "parameter"])
        bound = ", ".join(table.loc[table["worst_percent"].isna(), "parameter"])
        flat = [
            f"moved alone within the limits, {steep or 'nothing'} changes it by more than {FLAT:.0%}",
            *([f"at some settings of {bound} the throughput is not kept"] if bound else []),
        ]
        held = ", ".join(f"{name}={value}" for name, value in found.held.items())
        return [
            f"{found.figure} {change} ({found.gain_percent:+.2f} %){limited}: {verdict}",
            *flat,
            f"held: {held}, and everything that is no setting of driver or chip",
        ]


def _change_percent(before: np.ndarray, after: np.ndarray) -> tuple[float, float, float]:
    """Change of the mean with its 95 % interval, in percent of the mean before."""
    from scipy.stats import ttest_ind

    scale = 100 / before.mean() if before.mean() else np.nan
    gain = float((after.mean() - before.mean()) * scale)
    if before.std() == after.std() == 0:  # the seeds make no difference
        return gain, gain, gain
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", RuntimeWarning
        )  # seeds that differ by a frame are no loss of precision
        interval = ttest_ind(after, before, equal_var=False).confidence_interval(0.95)
    return gain, float(interval.low * scale), float(interval.high * scale)


def _flat(axis: Axis, near: np.ndarray, at: int) -> str:
    """Settings that are as good: for numbers from where to where, without a gap."""
    if not axis.ordered:
        return _span(axis, [s for s, good in zip(axis.settings, near, strict=True) if good])
    low = high = at
    while low > 0 and near[low - 1]:
        low -= 1
    while high < len(near) - 1 and near[high + 1]:
        high += 1
    return _span(axis, axis.settings[low : high + 1])


def _span(axis: Axis, settings: Sequence[Setting]) -> str:
    if not axis.ordered:
        return ", ".join(map(str, settings))
    return f"{settings[0]:g}..{settings[-1]:g}" if len(settings) > 1 else f"{settings[0]:g}"


def _nearest(axis: Axis, now: Setting) -> int:
    """Number of the setting that is nearest to one which may lie outside."""
    if now in axis.settings:
        return axis.settings.index(now)
    if not axis.ordered:
        return 0
    return int(np.argmin([abs(float(setting) - float(now)) for setting in axis.settings]))
