"""Compiles the C and the Cython model with this run's compiler and loads them."""

from __future__ import annotations

import ctypes
import dataclasses
import importlib.util
import subprocess
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np

from benchmarks.nic import Nic, Outcome

HERE = Path(__file__).parent
BUILD = HERE.parents[1] / "build" / "benchmarks"


@cache
def folder() -> Path:
    """Where the compiled models lie; meson recompiles only what has changed."""
    if not (BUILD / "build.ninja").exists():
        subprocess.run(["meson", "setup", BUILD, HERE], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["meson", "compile", "-C", BUILD], check=True, stdout=subprocess.DEVNULL)
    return BUILD


@cache
def _heap() -> ctypes.CDLL:
    return ctypes.CDLL(str(folder() / "heap.so"))


@cache
def _engine() -> ModuleType:
    (file,) = folder().glob("nic_engine.*.so")
    spec = importlib.util.spec_from_file_location("nic_engine", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run_heap(nic: Nic) -> Outcome:
    """The model in C."""
    values = dataclasses.astuple(nic)
    outcome = (ctypes.c_int64 * len(Outcome._fields))()
    _heap().nic_run((ctypes.c_int64 * len(values))(*values), outcome)
    return Outcome(*outcome)


def run_engine(nic: Nic) -> Outcome:
    """The model on nicperf's engine; its cost ledger must hold what the frames and interrupts cost."""
    *outcome, busy_ns = _engine().run(nic)
    result = Outcome(*outcome)
    if busy_ns != result.interrupts * nic.irq_ns + result.delivered * nic.packet_ns:
        raise RuntimeError(f"the ledger holds {busy_ns} ns, {result} cost another time")
    return result


class Loop:
    """The events of a recorded run, for C's heap to run through them without a model.

    Parameters
    ----------
    trace : int64 array, shape (n, 2 or more)
        Time and slot of each event in the order they ran.
    """

    def __init__(self, trace: np.ndarray) -> None:
        slots = 32
        self.slot = trace[:, 1]
        key = trace[:, 0] * slots + self.slot  # at the same time, the lower slot goes first
        by_slot = np.argsort(self.slot, kind="stable")
        self.at = np.ascontiguousarray(key[by_slot])
        self.first = np.zeros(slots + 1, dtype=np.int64)
        np.cumsum(np.bincount(self.slot, minlength=slots), out=self.first[1:])
        order = np.empty(len(trace), dtype=np.int32)
        if self.run(order) != len(trace) or (order != self.slot).any():
            raise RuntimeError("C's heap runs the events in another order than the simulation did")

    def run(self, order: np.ndarray | None = None, times: int = 1) -> int:
        """Run through all events, several times over; returns the number of the last pass."""
        int64s, int32s = ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(ctypes.c_int32)
        loop_run = _heap().loop_run
        loop_run.restype = ctypes.c_int64
        at, first = self.at.ctypes.data_as(int64s), self.first.ctypes.data_as(int64s)
        into = None if order is None else order.ctypes.data_as(int32s)
        for _ in range(times):
            n = loop_run(at, first, len(self.first) - 1, into)
        return n
