"""From a scenario to a run."""

from nicperf.simulation.run import Run, simulate
from nicperf.simulation.scenario import Scenario, parameters, scenario

__all__ = ["Run", "Scenario", "parameters", "scenario", "simulate"]
