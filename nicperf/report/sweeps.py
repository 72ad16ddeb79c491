"""Sweeps of one parameter of an experiment, run and drawn: the questions that a notebook asks of a model."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import altair as alt
import pandas as pd

from nicperf import charts
from nicperf.charts.sweep import QUANTITIES
from nicperf.parameter import Parameter
from nicperf.simulation import parameters

if TYPE_CHECKING:
    from nicperf.experiments import Experiment
    from nicperf.simulation import Run

#: CPU time of the receiving host for each frame that its driver took, and of the sending host for each that it sent.
PER_FRAME = "cpu_ns_per_frame"
PER_FRAME_SENT = "cpu_ns_per_frame_local"
#: Percentiles of the time from the driver to the receiving socket, each known to 6 %.
LATENCY = {f"frame_latency_p{p}_us": f"p{p}" for p in (50, 90, 95, 99)}
SIDES = ("local", "remote")


def sweep(
    exp: Experiment,
    configurations: str | Sequence[str],
    parameter: str,
    values: Sequence[Any],
    title: str,
    y: Sequence[str] = QUANTITIES,
    *,
    workloads: Sequence[str] | None = None,
    by: tuple[str, Sequence[Any]] | None = None,
    also_published: Sequence[str] = (),
    **overrides: Any,
) -> alt.FacetChart:
    """Move one parameter of a configuration and draw what becomes of throughput, CPU and interrupts.

    Parameters
    ----------
    exp : Experiment
        With a stored fit.
    configurations : str or sequence of str
        The configuration that is varied; several become lines of their own.
    parameter : str
        Dotted name; ``local.`` in front changes the sending host only.
    values : sequence
        Settings to run. Those of a choice or a switch become words: a register's 0 stands for no limit.
    title : str
        The question.
    y : sequence of str
        Quantities of the run's summary, `PER_FRAME`, `PER_FRAME_SENT`, or keys of `LATENCY`.
    workloads : sequence of str, optional
        All of the experiment when not given; chosen by a list. The one that the parameter moves most is shown
        first.
    by : (str, sequence), optional
        A second parameter and its settings, which become lines of their own; of one configuration.
    also_published : sequence of str
        Further configurations whose figures are drawn: such as differ from the varied one in nothing else.
    **overrides
        Other parameters that differ from the configuration, by dotted name.

    Returns
    -------
    altair.FacetChart
        The published figures stand at the configuration's own setting; with `overrides` none are drawn.

    Raises
    ------
    ScenarioError
        An unknown name or a value out of range.
    """
    names = [configurations] if isinstance(configurations, str) else list(configurations)
    tested = list(workloads or exp.workloads)
    second, settings = by or ("configuration", names)
    jobs = [(workload, line, value) for workload in tested for line in settings for value in values]

    def run(job: tuple[str, Any, Any]) -> dict[str, Any]:
        workload, line, value = job
        configuration, more = (names[0], {second: line}) if by else (line, {})
        done = exp.simulate(configuration, workload, **{**overrides, **more, parameter: value})
        row = {"workload": workload, second: line, parameter: value}
        return row | {name: quantity(exp, done, name) for name in y}

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        frame = _most_moved_first(pd.DataFrame(list(pool.map(run, jobs))), y)
    points = [published_points(exp, name, parameter, second, tested) for name in [*names, *also_published]]
    marks = pd.DataFrame() if overrides else pd.concat(points, ignore_index=True)
    for name in (parameter, second) if by else (parameter,):
        if _specification(exp, name).kind in ("choice", "bool"):
            for table in (frame, marks):
                if len(table):
                    table[name] = table[name].map(_word)
    return charts.sweep(
        frame,
        parameter,
        y,
        by=second if len(settings) > 1 else None,
        bound="workload" if len(tested) > 1 else None,
        published=marks,
        title=title,
    )


def grid(
    exp: Experiment,
    configuration: str,
    workload: str,
    x: tuple[str, Sequence[Any]],
    y: tuple[str, Sequence[Any]],
    title: str,
    value: str = "throughput_mbit_s",
) -> alt.LayerChart:
    """Move two parameters of a configuration and draw one quantity as a map.

    Parameters
    ----------
    exp : Experiment
        With a stored fit.
    configuration, workload : str
        What is varied.
    x, y : (str, sequence)
        Dotted name of a parameter and its settings.
    title : str
        The question.
    value : str
        As for `sweep`.

    Returns
    -------
    altair.LayerChart
        The configuration's own cell is outlined.
    """
    names = (x[0], y[0])
    pairs = [dict(zip(names, pair, strict=True)) for pair in itertools.product(x[1], y[1])]

    def run(pair: dict[str, Any]) -> dict[str, Any]:
        return {**pair, value: quantity(exp, exp.simulate(configuration, workload, **pair), value)}

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        frame = pd.DataFrame(list(pool.map(run, pairs)))
    start = {name: setting(exp, configuration, workload, name) for name in names}
    return charts.sweep2d(frame, *names, value, start=start, title=title)


def quantity(exp: Experiment, run: Run, name: str) -> float:
    """A number of a run, as the experiment's figures have it: CPU in percent of the cores that they are shares of."""
    summary = run.summary
    if name == PER_FRAME:
        return 1e7 * summary["cpu_percent_remote"] / summary["rx_frames_per_s_remote"]
    if name == PER_FRAME_SENT:
        return 1e7 * summary["cpu_percent_local"] / summary["frames_per_s"]
    if name in LATENCY:
        return float(run.percentiles[LATENCY[name]].iloc[0])
    cores = exp.config.cores.get(name.removeprefix("cpu_percent_"), 1)
    return summary[name] / cores


def published_points(
    exp: Experiment,
    configuration: str,
    parameter: str,
    second: str = "configuration",
    workloads: Iterable[str] | None = None,
) -> pd.DataFrame:
    """Published figures of a configuration, placed at the settings that it has.

    Returns
    -------
    pandas.DataFrame
        `workload`, the parameter's column, and a column for each quantity as a run's summary names it.
    """
    rows = []
    for workload in workloads or exp.workloads:
        row: dict[str, Any] = {
            "workload": workload,
            second: configuration,
            parameter: setting(exp, configuration, workload, parameter),
        }
        if second != "configuration":
            row[second] = setting(exp, configuration, workload, second)
        rows.append(row | published_figures(exp, configuration, workload))
    return pd.DataFrame(rows)


def published_figures(exp: Experiment, configuration: str, workload: str) -> dict[str, float]:
    """Published figures of one test, each by the name of the quantity of a run's summary that answers to it."""
    found = {}
    figures = exp.figures.query("configuration == @configuration and workload == @workload")
    for figure in figures.to_dict("records"):
        if figure["quantity"] == "throughput_mbit_s" and figure["side"] != "remote":
            found["throughput_mbit_s"] = figure["value"]
        elif figure["quantity"] == "cpu_percent":
            found[f"cpu_percent_{figure['side']}"] = figure["value"]
        elif figure["quantity"].startswith(("transactions", "latency")):
            found[figure["quantity"]] = figure["value"]
        elif figure["quantity"] == "packets_per_s" and figure["role"] != "context":
            found["rx_frames_per_s_remote"] = figure["value"]
    return found


def setting(exp: Experiment, configuration: str, workload: str, parameter: str) -> Any:
    """Value that a parameter has in a configuration: of a patched host where the name has no side."""
    asked = exp.scenario(configuration, workload)
    side = next((side for side in SIDES if parameter.startswith(f"{side}.")), exp.config.patched[0])
    plain = parameter.removeprefix(f"{side}.")
    for name in (f"{side}.{plain}", plain):
        if name in asked["params"]:
            return asked["params"][name]
    return _specification(exp, parameter).default


def _most_moved_first(frame: pd.DataFrame, y: Sequence[str]) -> pd.DataFrame:
    """Rows of the workload whose quantities change most, relative to their size, before the others."""
    groups = frame.groupby("workload", sort=False)[list(y)]
    moved = ((groups.max() - groups.min()) / groups.max()).max(axis=1)
    first = frame["workload"] == moved.idxmax()
    return pd.concat([frame[first], frame[~first]], ignore_index=True)


def _specification(exp: Experiment, parameter: str) -> Parameter:
    """What the model says about a parameter, whichever side its name gives."""
    plain = parameter.removeprefix("local.").removeprefix("remote.")
    return parameters(exp.config.driver)[plain]


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return "no limit" if value == 0 else str(value)
