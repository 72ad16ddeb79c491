"""Long runs: memory stays flat and the cost grows with the number of frames."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import numpy as np

from benchmarks.measure import Row
from benchmarks.scenarios import velocity
from nicperf.simulation.run import simulate_scenario

LINEAR_S = (0.5, 1.0, 2.0, 4.0, 8.0)


def grow(frames: float) -> None:
    """In a process of its own: run a little, then as many frames, and print by how much the peak of memory rose."""
    import resource

    from benchmarks.speed import frames as count

    def peak_kib() -> int:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    first = velocity("napi", 0.1)
    per_s = count(first) / first.duration_s
    simulate_scenario(first)
    before = peak_kib()
    start = time.process_time()
    simulate_scenario(velocity("napi", frames / per_s))
    print(json.dumps({"kib": peak_kib() - before, "cpu_s": time.process_time() - start}))


def memory(frames: float) -> Row:
    command = [sys.executable, "-c", f"from benchmarks.steady import grow; grow({frames!r})"]
    out = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return Row(
        "long runs", f"memory growth over {frames:.0e} frames", [out["kib"] / 1024], "MiB", at_most=2.0,
        note=f"{out['cpu_s']:.1f} CPU-s in one run",
    )  # fmt: skip


def exponent() -> float:
    """Slope of log(CPU time) over log(simulated time) in one go through `LINEAR_S`: 1 when the cost is linear."""
    costs = []
    for duration_s in LINEAR_S:
        start = time.process_time()
        simulate_scenario(velocity("napi", duration_s))
        costs.append(time.process_time() - start)
    return float(np.polyfit(np.log(LINEAR_S), np.log(costs), 1)[0])


def measure(rounds: int, frames: float) -> list[Row]:
    slopes = [exponent() for _ in range(rounds)]
    note = f"cost ~ frames^exponent, {LINEAR_S[0]} to {LINEAR_S[-1]} s simulated"
    return [memory(frames), Row("long runs", "exponent of cost", slopes, "", at_most=1.05, note=note)]
