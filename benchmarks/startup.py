"""What a fresh interpreter pays: importing nicperf, and the first simulation."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

from benchmarks.measure import Row, child_cpu_s, interleave

SIMULATE = "import nicperf; nicperf.simulate('velocity', 'tcp_stream', duration_s=0.01).summary"
PROGRAMS = {
    "python alone": "pass",
    "import nicperf": "import nicperf",
    "first simulate": SIMULATE,
    "import numpy": "import numpy",
    "import simpy": "import simpy",
}


def environment(site: Path) -> dict[str, str]:
    """Variables under which a child imports an installed nicperf.

    An editable install asks ninja at every start whether something has to be compiled. What it has compiled is therefore
    installed once more, into `site`, as a wheel would.
    """
    (build,) = {finder._build_path for finder in sys.meta_path if getattr(finder, "_name", "") == "nicperf"}
    command = ["meson", "install", "-C", build, "--no-rebuild", "--quiet", "--destdir", site.resolve()]
    subprocess.run(command, check=True)
    (package,) = site.rglob("nicperf/__init__.py")
    return {**os.environ, "MESONPY_EDITABLE_SKIP": build, "PYTHONPATH": str(package.parents[1].resolve())}


def measure(rounds: int) -> list[Row]:
    env = environment(Path("build/benchmarks/site"))
    works = {
        name: partial(child_cpu_s, [sys.executable, "-P", "-c", code], env) for name, code in PROGRAMS.items()
    }
    seconds = interleave(works, rounds)
    goals = {"import nicperf": 0.3, "first simulate": 0.6}
    return [
        Row(
            "fresh interpreter",
            name,
            values,
            "s",
            at_most=goals.get(name),
            note="CPU, the interpreter included",
        )
        for name, values in seconds.items()
    ]
