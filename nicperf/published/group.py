"""The figures of one configuration and workload, ready for arithmetic."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nicperf.errors import DataError, closest
from nicperf.parsers import parse
from nicperf.published.figures import figures
from nicperf.published.interval import Interval
from nicperf.published.printed import read_printed
from nicperf.published.source import Source, folder, source
from nicperf.records import Iperf2
from nicperf.units import convert

_DESCRIBED = {"configuration": "configurations", "workload": "workloads", "side": "hosts"}


@dataclass(frozen=True, slots=True)
class Figure:
    """One published figure.

    Attributes
    ----------
    printed : Interval
        All values, in `unit`, that round to what was printed.
    elapsed_s : Interval or None
        Time between the two stamps on the figure's line, where the tool prints them there.
    """

    id: str
    side: str
    quantity: str
    value: float
    unit: str
    printed: Interval
    line: tuple[str, int]
    elapsed_s: Interval | None

    def within(self, unit: str) -> Interval:
        """`printed` in another unit."""
        return self.printed * convert(1.0, self.unit, unit)


@dataclass(frozen=True, slots=True)
class Group:
    """What one test of one configuration printed.

    Attributes
    ----------
    source : Source
        The thread's set-up.
    workload : str
        Key of `source.workloads`.
    figures : tuple of Figure
        In the order of the file.
    """

    source: Source
    workload: str
    figures: tuple[Figure, ...]

    def all(self, *quantities: str) -> list[Figure]:
        """Figures of these quantities."""
        return [figure for figure in self.figures if figure.quantity in quantities]

    def first(self, quantity: str, *sides: str) -> Figure | None:
        """Figure of a quantity, from the first of the sides that has one."""
        found = {figure.side: figure for figure in reversed(self.all(quantity))}
        return next((found[side] for side in sides if side in found), None)


def groups(slug: str, *, root: Path | None = None) -> Iterator[Group]:
    """Figures of a thread by configuration and workload."""
    described = source(slug, root=root)
    raw = folder(slug, root=root) / "raw"
    elapsed_s = {line: time for name in described.tool_output for line, time in _elapsed_s(raw / name)}
    table = figures(slug, root=root)
    for column, described_there in _DESCRIBED.items():
        known = getattr(described, described_there)
        for name in sorted(set(table[column]) - set(known)):
            raise DataError(
                f"is named in figures.csv and not described under [{described_there}]",
                place=str(raw.parent / "source.toml"),
                field=column,
                value=name,
                cure=closest(name, known),
            )
    for (_, workload), rows in table.groupby(["configuration", "workload"], sort=False):
        found = tuple(_figure(row, elapsed_s) for row in rows.to_dict("records"))
        yield Group(described, str(workload), found)


def _figure(row: Mapping[Hashable, Any], elapsed_s: Mapping[tuple[str, int], Interval]) -> Figure:
    line = row["raw_file"], row["raw_line"]
    rounding = read_printed(row["value_text"], row["unit"]).resolution
    return Figure(
        **{name: row[name] for name in ("id", "side", "quantity", "value", "unit")},
        printed=Interval.around(row["value"], rounding / 2),
        line=line,
        elapsed_s=elapsed_s.get(line),
    )


def _elapsed_s(path: Path) -> Iterator[tuple[tuple[str, int], Interval]]:
    for record in parse(path):
        if isinstance(record, Iperf2):
            for report in (*record.intervals, record.total):
                # Either stamp is off by half a step at most.
                time = Interval.around(report.end_s - report.start_s, report.time_step_s)
                yield (path.name, report.line), time
