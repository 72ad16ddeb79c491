"""Altair charts from tidy frames, in one visual language.

Importing this package makes Altair draw with the project's theme and renderer.
"""

from nicperf.charts import render
from nicperf.charts.ablation import ablation
from nicperf.charts.alternatives import alternatives
from nicperf.charts.ceilings import ceilings
from nicperf.charts.copies import copies
from nicperf.charts.copy_map import copy_map
from nicperf.charts.costs import bus, costs
from nicperf.charts.latency import latency
from nicperf.charts.ledger import figures, ledger
from nicperf.charts.morris import morris
from nicperf.charts.pareto import pareto
from nicperf.charts.path import path
from nicperf.charts.ring import ring
from nicperf.charts.scores import scores
from nicperf.charts.sensitivity import sensitivity
from nicperf.charts.significance import significance
from nicperf.charts.sweep import sweep
from nicperf.charts.sweep2d import sweep2d
from nicperf.charts.timeline import timeline

render.enable()

__all__ = [
    "ablation",
    "alternatives",
    "bus",
    "ceilings",
    "copies",
    "copy_map",
    "costs",
    "figures",
    "latency",
    "ledger",
    "morris",
    "pareto",
    "path",
    "ring",
    "scores",
    "sensitivity",
    "significance",
    "sweep",
    "sweep2d",
    "timeline",
]
