"""Reads `configs/<slug>.toml`, strictly.

A slip in the file is an error with a place and a cure, and never a silently different experiment. What the
model must know of a setting (its name, unit and range) is checked in `scenario`, where the model is asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nicperf.errors import closest
from nicperf.experiments.config import (
    ORIGINS,
    Assumption,
    Calibration,
    Configuration,
    ExperimentConfig,
    Patch,
    Workload,
)
from nicperf.experiments.quantities import QUANTITIES
from nicperf.published.document import Document

FOLDER = Path(__file__).parent / "configs"
# Smallest and largest value of each bounded number.
BOUNDS = {
    "duration_s": (1e-3, 100.0),
    "warmup_s": (0.0, 100.0),
    "elapsed_s": (1e-3, 1e6),
    "number": (1, 1000),
    "starts": (1, 100),
    "delta": (1e-6, 1e6),
    "ensemble": (24, 10_000),
    "prior_sd": (0.0, 1e6),
}


@dataclass(frozen=True)
class _Head:
    slug: str
    title: str
    driver: str
    duration_s: float
    warmup_s: float
    seeds: tuple[int, ...]
    reference: str
    patched: tuple[str, ...] = ("local", "remote")
    slow: tuple[str, ...] = ()


@dataclass(frozen=True)
class _File:
    """The top of the file: which tables there are; their own keys are checked when each is built."""

    experiment: dict
    tolerances: dict[str, float]
    configurations: dict[str, dict]
    workloads: dict[str, dict]
    calibration: dict = field(default_factory=dict)
    noise: dict[str, float] = field(default_factory=dict)
    goals: dict[str, float] = field(default_factory=dict)
    patches: dict[str, dict] = field(default_factory=dict)
    sessions: dict[str, tuple[str, ...]] = field(default_factory=dict)
    cores: dict[str, int] = field(default_factory=dict)
    settable: dict[str, str] = field(default_factory=dict)
    parameters: tuple[dict, ...] = ()


def available() -> list[str]:
    """Slugs that have a model: one for each file in `configs`."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def read(path: Path) -> ExperimentConfig:
    """Read one experiment file.

    Raises
    ------
    DataError
        Naming file, line, key, value and cure: a key that is missing, unknown, of another type or out of
        range, a patch or workload that is not defined, an unknown origin, a fitted parameter without a range.
    """
    reader = _Reader(path)
    file = reader.document.build(_File, reader.document.data, "")
    head = reader.table(_Head, file.experiment, "[experiment]")
    patches = reader.tables(Patch, file.patches, "patches")
    configurations = reader.tables(Configuration, file.configurations, "configurations")
    workloads = reader.tables(Workload, file.workloads, "workloads")
    reader.one_of([head.slug], [path.stem], "[experiment]", "slug")
    reader.one_of([head.reference], configurations, "[experiment]", "reference")
    reader.one_of(head.patched, ("local", "remote"), "[experiment]", "patched")
    reader.refuse(not head.patched, "expected a side at least", "[experiment]", "patched", head.patched)
    for name, configuration in configurations.items():
        for key in ("local_patches", "remote_patches"):
            reader.one_of(getattr(configuration, key), patches, f"[configurations.{name}]", key)
    reader.one_of(head.slow, workloads, "[experiment]", "slow")
    for name, members in file.sessions.items():
        reader.one_of(members, workloads, "[sessions]", name)
    for name, patch in patches.items():
        odd = ", ".join(sorted(patch.off.keys() ^ patch.on.keys()))
        reader.refuse(odd, "'off' and 'on' must name the same settings", f"[patches.{name}]", "on", odd)
    reader.one_of(file.cores, ("local", "remote"), "[cores]", "cores")
    for side, n in file.cores.items():
        reader.refuse(n < 1, "expected a number of cores", "[cores]", side, n)
    seeds = head.seeds
    bad = not seeds or min(seeds) < 0 or len(set(seeds)) < len(seeds)
    reader.refuse(bad, "expected different whole numbers from 0 up", "[experiment]", "seeds", seeds)
    reader.fractions("[tolerances]", file.tolerances, QUANTITIES)
    reader.fractions("[noise]", file.noise, file.tolerances)
    reader.fractions("[goals]", file.goals, file.tolerances)
    return ExperimentConfig(
        **vars(head),
        tolerances=file.tolerances,
        noise=file.noise,
        goals=file.goals,
        calibration=reader.table(Calibration, file.calibration, "[calibration]"),
        patches=patches,
        configurations=configurations,
        workloads=workloads,
        sessions=file.sessions,
        cores=file.cores,
        assumptions=reader.assumptions(file.parameters, patches),
        settable=file.settable,
    )


class _Reader:
    """The checks that a dataclass's types do not make."""

    def __init__(self, path: Path) -> None:
        self.document = Document(path)

    def table(self, kind: Any, table: object, header: str, nth: int = 0, name: str | None = None) -> Any:
        """Build one dataclass and check its bounded numbers."""
        given = {"name": name} if name else None
        built = self.document.build(kind, table, header, nth, given, positive=False)
        for key, (low, high) in BOUNDS.items():
            value = getattr(built, key, low)
            self.refuse(not low <= value <= high, f"outside {low:g}..{high:g}", header, key, value, nth)
        return built

    def tables(self, kind: Any, tables: Mapping[str, object], group: str) -> dict[str, Any]:
        """Build one dataclass for each named table of a group."""
        return {name: self.table(kind, t, f"[{group}.{name}]", name=name) for name, t in tables.items()}

    def assumptions(self, tables: Iterable[object], patches: Mapping[str, Patch]) -> tuple[Assumption, ...]:
        """Build and check the parameters."""
        found: list[Assumption] = []
        header = "[[parameters]]"
        for nth, table in enumerate(tables):
            a = self.table(Assumption, table, header, nth)
            low, high = a.range if len(a.range) == 2 else (0.0, 0.0)
            number = isinstance(a.value, int | float) and not isinstance(a.value, bool)
            setters = [name for name, patch in patches.items() if a.name in patch.on]
            self.one_of([a.origin], ORIGINS, header, "origin", nth)
            for wrong, problem, key in (
                (a.name in [b.name for b in found], "this parameter is stated twice", "name"),
                (setters, f"patch {', '.join(setters)} sets it too; keep one", "name"),
                (a.range and not low < high, "expected two numbers, the lower one first", "range"),
                (a.free and not a.range, "a fitted parameter needs a prior range", "range"),
                (a.range and not (number and low <= a.value <= high), "outside its range", "value"),
            ):
                self.refuse(wrong, f"{a.name}: {problem}", header, key, getattr(a, key), nth)
            found.append(a)
        return tuple(found)

    def fractions(self, header: str, table: Mapping[str, float], known: Iterable[str]) -> None:
        """Check a table of relative sizes, each named in `known`."""
        for key, value in table.items():
            if key not in known:
                raise self.document.error("no such quantity here", header, 0, key, value, closest(key, known))
            self.refuse(
                not 0 < value <= 1, "a relative size lies above 0 and at most at 1", header, key, value
            )

    def one_of(self, names: Iterable[str], known: Iterable[str], header: str, key: str, nth: int = 0) -> None:
        """Check words against those that exist."""
        for name in names:
            if name not in known:
                raise self.document.error("unknown name", header, nth, key, name, closest(name, known))

    def refuse(self, wrong: object, problem: str, header: str, key: str, value: object, nth: int = 0) -> None:
        """Raise if something is wrong."""
        if wrong:
            raise self.document.error(problem, header, nth, key, value, "mend this line")
