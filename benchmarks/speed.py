"""Simulated packets per CPU-second: the common model everywhere, and velocity with its full cost ledger."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module, util
from typing import NamedTuple

import numpy as np

from benchmarks import compiled
from benchmarks.measure import Row, interleave, rate
from benchmarks.nic import Nic, Outcome, cases
from benchmarks.scenarios import SENDERS, velocity
from nicperf.simulation._run import Simulation
from nicperf.simulation.run import simulate_scenario
from nicperf.simulation.scenario import Scenario, host_spec


class Simulator(NamedTuple):
    """Something that executes the model of `benchmarks.nic`."""

    run: Callable[[Nic], Outcome]
    frames: int  # about a quarter of a second on a CPU of 2023


def _peer(module: str) -> Callable[[Nic], Outcome]:
    return import_module(f"benchmarks.nic.{module}").run


def simulators() -> dict[str, Simulator]:
    """All that are installed."""
    found = {"plain Python, heapq": Simulator(_peer("in_heapq"), 150_000)}
    if util.find_spec("simpy"):
        found["SimPy, processes"] = Simulator(_peer("in_simpy"), 25_000)
        found["SimPy, callbacks"] = Simulator(_peer("in_simpy_callbacks"), 60_000)
    if util.find_spec("cimba"):
        found["cimba, processes"] = Simulator(_peer("in_cimba"), 400_000)
        found["cimba, events"] = Simulator(_peer("in_cimba_events"), 1_500_000)
    found["C, binary heap"] = Simulator(compiled.run_heap, 10_000_000)
    found["nicperf's engine"] = Simulator(compiled.run_engine, 8_000_000)
    return found


def check(all_of_them: dict[str, Simulator], frames: int = 5000) -> None:
    """Raise unless all simulators agree, in every case, with the first of them."""
    for case, nic in cases(frames).items():
        outcomes = {name: simulator.run(nic) for name, simulator in all_of_them.items()}
        if len(set(outcomes.values())) > 1:
            raise RuntimeError(f"the simulators disagree in case {case!r}: {outcomes}")


def record(sc: Scenario) -> np.ndarray:
    """Time and slot of every event of a run."""
    simulation = Simulation(sc.driver, host_spec(sc, "local"), host_spec(sc, "remote"), sc.workload, sc.seed)
    return simulation.run(0, round(sc.duration_s * 1e12), 1, trace_events=1_000_000)[2]


def frames(sc: Scenario) -> int:
    """Frames that both hosts send, data and ACKs."""
    counters = simulate_scenario(sc).counters
    return int(counters.value[counters.counter == "tx_frames"].sum())


def measure(rounds: int) -> list[Row]:
    """Time everything in the same rounds."""
    common = simulators()
    check(common)
    works = {name: rate(partial(s.run, Nic(s.frames)), s.frames) for name, s in common.items()}
    for kernel in SENDERS:
        sc = velocity(kernel, 4.0)
        works[kernel] = rate(partial(simulate_scenario, sc), frames(sc))
    brief = velocity("napi", 0.4)
    trace = record(brief)
    loop = compiled.Loop(trace)
    works["loop"] = rate(partial(loop.run, times=50), 50 * len(trace))
    return rows(interleave(works, rounds), list(common), len(trace) / frames(brief))


def rows(rates: dict[str, np.ndarray], common: list[str], events_per_frame: float) -> list[Row]:
    """Rates, and ratios within each round."""
    ours, ledger = rates["nicperf's engine"], rates["napi"]
    out = [Row("common model", name, rates[name], "packets/s") for name in common]
    goals = {"SimPy, processes": 40.0, "cimba, processes": 3.0, "C, binary heap": 0.25}
    for group, mine in (("common model", ours), ("velocity TCP_STREAM", ledger)):
        if mine is ledger:
            for kernel in SENDERS:
                out.append(Row(group, f"{kernel}, full cost ledger", rates[kernel], "frames/s", at_least=5e6))
        for name in common[:-1]:
            goal = None if mine is ledger and name.startswith("C,") else goals.get(name)
            what = "engine" if mine is ours else "napi"
            out.append(Row(group, f"{what} / {name}", mine / rates[name], "x", at_least=goal))
    events = ledger * events_per_frame
    out += [
        Row(
            "velocity TCP_STREAM",
            "napi, events",
            events,
            "events/s",
            note=f"{events_per_frame:.1f} per frame",
        ),
        Row(
            "velocity TCP_STREAM",
            "C, bare loop",
            rates["loop"],
            "events/s",
            note="binary heap, the same events, no model",
        ),
        Row("velocity TCP_STREAM", "napi / C, bare loop", events / rates["loop"], "x", at_least=0.25),
    ]
    return out
