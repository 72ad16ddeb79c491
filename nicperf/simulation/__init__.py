"""From a scenario to a run, and from a grid of settings to a table of runs."""

from nicperf.simulation.copies import copy_map
from nicperf.simulation.run import Run, simulate
from nicperf.simulation.scenario import Scenario, parameters, scenario
from nicperf.simulation.sweep import sweep

__all__ = ["Run", "Scenario", "copy_map", "parameters", "scenario", "simulate", "sweep"]
