"""What the figures were measured on: class of machine and versions, nothing that names the machine itself."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from importlib import metadata
from pathlib import Path

PACKAGES = ("nicperf", "cython", "numpy", "simpy", "cimba", "dpkt", "numba", "distributed", "ns3")


def versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    compiler = subprocess.run(["cc", "--version"], check=True, capture_output=True, text=True).stdout
    found["cc"] = compiler.splitlines()[0]
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def machine() -> dict[str, object]:
    """CPU model, cores that this process may use, kind of system, versions."""
    cpuinfo = Path("/proc/cpuinfo")
    model = re.search(r"model name\s*: (.*)", cpuinfo.read_text()) if cpuinfo.exists() else None
    return {
        "cpu": model[1] if model else platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "system": f"{platform.system()} {platform.machine()}",
        "versions": versions(),
    }
