"""Sweeps of one parameter of an experiment, run and drawn: the questions that a notebook asks of a model."""

from __future__ import annotations

import os
from collections.abc import Sequence
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


def sweep(
    exp: Experiment,
    configuration: str,
    parameter: str,
    values: Sequence[Any],
    title: str,
    y: Sequence[str] = QUANTITIES,
    **overrides: Any,
) -> alt.FacetChart:
    """Move one parameter of a configuration and draw what becomes of throughput, CPU and interrupts.

    Parameters
    ----------
    exp : Experiment
        With a stored fit.
    configuration : str
        The configuration that is varied; all workloads of the experiment are run, and chosen by a list. The one
        that the parameter moves most is shown first.
    parameter : str
        Dotted name; ``local.`` in front changes the sending host only.
    values : sequence
        Settings to run. Those of a choice or a switch become words: a register's 0 stands for no limit.
    title : str
        The question.
    y : sequence of str
        Quantities of the run's summary.
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
    jobs = [(workload, value) for workload in exp.workloads for value in values]

    def run(job: tuple[str, Any]) -> dict[str, Any]:
        workload, value = job
        done = exp.simulate(configuration, workload, **{**overrides, parameter: value})
        return {"workload": workload, parameter: value, **{name: done.summary[name] for name in y}}

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        frame = _most_moved_first(pd.DataFrame(list(pool.map(run, jobs))), y)
    marks = pd.DataFrame() if overrides else published_points(exp, configuration, parameter)
    if _specification(exp, parameter).kind in ("choice", "bool"):
        for table in (frame, marks):
            if len(table):
                table[parameter] = table[parameter].map(_word)
    return charts.sweep(frame, parameter, y, bound="workload", published=marks, title=title)


def published_points(exp: Experiment, configuration: str, parameter: str) -> pd.DataFrame:
    """Published figures of a configuration, placed at the setting that it has.

    Returns
    -------
    pandas.DataFrame
        `workload`, the parameter's column, and a column for each quantity as a run's summary names it.
    """
    rows = []
    for workload in exp.workloads:
        figures = exp.figures.query("configuration == @configuration and workload == @workload")
        row: dict[str, Any] = {
            "workload": workload,
            parameter: setting(exp, configuration, workload, parameter),
        }
        for figure in figures.to_dict("records"):
            if figure["quantity"] == "throughput_mbit_s" and figure["side"] != "remote":
                row["throughput_mbit_s"] = figure["value"]
            elif figure["quantity"] == "cpu_percent":
                row[f"cpu_percent_{figure['side']}"] = figure["value"]
        rows.append(row)
    return pd.DataFrame(rows)


def setting(exp: Experiment, configuration: str, workload: str, parameter: str) -> Any:
    """Value that a parameter has in a configuration: of the sending host where the name has no side."""
    asked = exp.scenario(configuration, workload)
    side = "remote" if parameter.startswith("remote.") else "local"
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
