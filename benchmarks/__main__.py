"""`python -m benchmarks`: measure, print the table, write the JSON."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

from benchmarks import ebpf, segmentation, speed, startup, steady, sweeps, table
from benchmarks.machine import machine

GROUPS = {
    "speed": lambda options: speed.measure(options.rounds),
    "ebpf": lambda options: ebpf.measure(options.rounds),
    "sweeps": lambda options: sweeps.measure(options.rounds),
    "segmentation": lambda options: segmentation.measure(options.rounds),
    "startup": lambda options: startup.measure(options.rounds),
    "steady": lambda options: steady.measure(options.rounds, 1e8 if options.full else 1e7),
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--rounds", type=int, default=9, help="interleaved rounds (default 9)")
    parser.add_argument("--only", choices=GROUPS, nargs="+", default=list(GROUPS), help="groups to run")
    parser.add_argument("--full", action="store_true", help="10^8 frames for the memory test instead of 10^7")
    parser.add_argument("--json", type=Path, default=Path("build/bench.json"))
    options = parser.parse_args()

    load = [os.getloadavg()[0]]
    rows = []
    for name in options.only:
        print(f"measuring: {name}", file=sys.stderr)
        rows += GROUPS[name](options)
        load.append(os.getloadavg()[0])
    head = {"date": time.strftime("%Y-%m-%d"), "machine": machine(), "load": load, "rounds": options.rounds}
    print(table.render(rows))
    print(
        f"\n{head['machine']['cpu']}, {head['machine']['cores']} cores; load {min(load):.1f} to {max(load):.1f}"
    )
    print("rates are per CPU-second; ratios are taken within a round, then the median of the rounds")
    table.write(options.json, rows, head)
    return 0


if __name__ == "__main__":  # a process that Dask starts imports this module
    sys.exit(main())
