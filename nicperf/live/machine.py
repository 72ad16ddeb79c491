"""The machine that a live measurement runs on: what the kernel tells of its processor, caches and memory."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CPUS = Path("/sys/devices/system/cpu")

#: Where the kernel does not tell: the sizes that x86 servers have had for years.
DEFAULT_CACHES = {"L1": 32 << 10, "L2": 256 << 10, "L3": 8 << 20}


def description(cpu: int) -> dict[str, Any]:
    """Processor, caches, kernel and settings, as a reader of the results needs them; no names of hosts or users.

    Parameters
    ----------
    cpu : int
        Number of the processor that the caches and the governor are asked of.

    Returns
    -------
    dict
        What is not told is None. `cpus` are those that this process may use.
    """
    info = _cpuinfo()
    flags = info.get("flags", "").split()
    return {
        "processor": info.get("model name", platform.processor() or None),
        "architecture": platform.machine(),
        "kernel": f"{platform.system()} {platform.release()}",
        "virtualised": "hypervisor" in flags if flags else None,
        "cpus": len(allowed()),
        "governor": _text(CPUS / f"cpu{cpu}/cpufreq/scaling_governor"),
        "huge_pages": _chosen(_text(Path("/sys/kernel/mm/transparent_hugepage/enabled"))),
        "load_1min": round(os.getloadavg()[0], 2),
    }


def caches(cpu: int, root: Path = CPUS) -> dict[str, int]:
    """Bytes of each level of data cache, `L1` first; empty where the kernel does not tell."""
    sizes = {}
    for index in sorted((root / f"cpu{cpu}/cache").glob("index*")):
        size, kind = _text(index / "size"), _text(index / "type")
        if size and kind != "Instruction":
            sizes[f"L{_text(index / 'level')}"] = _bytes(size)
    return dict(sorted(sizes.items()))


def available_bytes(group: Path = Path("/sys/fs/cgroup")) -> int:
    """Memory that can be taken without swapping, or without being stopped by the limit of a container."""
    found = re.search(r"MemAvailable:\s*(\d+) kB", _text(Path("/proc/meminfo")) or "")
    free = int(found[1]) << 10 if found else os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    limit, used = _text(group / "memory.max") or "max", _text(group / "memory.current")
    return free if limit == "max" or used is None else min(free, max(int(limit) - int(used), 0))


def nominal_mhz() -> float | None:
    """Clock of the processor as the kernel tells it now."""
    told = _cpuinfo().get("cpu MHz")
    return float(told) if told else None


def allowed() -> set[int]:
    """Processors that this thread may use; empty where the system cannot tell."""
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()


def another(cpu: int, root: Path = CPUS) -> int | None:
    """An allowed processor on another core than `cpu`, if there is one."""
    siblings = _numbers(_text(root / f"cpu{cpu}/topology/thread_siblings_list") or str(cpu))
    return next(iter(sorted(allowed() - siblings - {cpu})), None)


@contextmanager
def pinned(cpu: int | None) -> Iterator[None]:
    """Keep the calling thread on one processor; None leaves it free."""
    before = allowed()
    if cpu is None or not before:
        yield
        return
    os.sched_setaffinity(0, {cpu})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _cpuinfo() -> dict[str, str]:
    first = (_text(Path("/proc/cpuinfo")) or "").split("\n\n")[0]
    pairs = (line.split(":", 1) for line in first.splitlines() if ":" in line)
    return {key.strip(): value.strip() for key, value in pairs}


def _text(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except OSError:
        return None


def _bytes(size: str) -> int:
    return int(size.rstrip("KMG")) << {"K": 10, "M": 20, "G": 30}.get(size[-1], 0)


def _chosen(text: str | None) -> str | None:
    """The word in brackets of a list of choices."""
    found = re.search(r"\[(\w+)\]", text or "")
    return found[1] if found else None


def _numbers(text: str) -> set[int]:
    """Numbers of a list such as ``0-1,4``."""
    ends = [[int(end) for end in part.split("-")] for part in text.split(",")]
    return {number for first, *last in ends for number in range(first, (last or [first])[0] + 1)}
