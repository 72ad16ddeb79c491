"""From a scenario to a run, and from a grid of settings to a table of runs."""

from nicperf.simulation.run import Run, simulate
from nicperf.simulation.scenario import Scenario, parameters, scenario
from nicperf.simulation.sweep import sweep

__all__ = ["Run", "Scenario", "parameters", "scenario", "simulate", "sweep"]
