"""/proc/interrupts, whole or with lines left out."""

from __future__ import annotations

import re

from nicperf.parsers.reader import Reader
from nicperf.records import Interrupt, Interrupts

_HEAD = re.compile(r"CPU\d+(?:\s+CPU\d+)*")
_ENTRY = re.compile(r"(\w+):\s*(.*)")
_LEFT_OUT = "[...]"
# These count for the whole machine: one number, whatever the number of processors, and nothing after it.
_MACHINE_WIDE = ("ERR", "Err", "MIS")


def starts(line: str) -> bool:
    """Whether a line is the head of /proc/interrupts."""
    return _HEAD.fullmatch(line) is not None


def read(reader: Reader) -> list[Interrupts]:
    """Read one table, up to the first line that is neither an entry nor ``[...]``.

    Raises
    ------
    ParseError
        No entry follows the head, or an entry has too few counts or no description.
    """
    cpus = tuple(reader.take(_HEAD, "the head 'CPU0 ...'")[0].split())
    entries = []
    while reader.line is not None and (reader.line == _LEFT_OUT or _ENTRY.fullmatch(reader.line)):
        if reader.line == _LEFT_OUT:
            reader.skip()
        else:
            entries.append(_read_entry(reader, len(cpus)))
    if not entries:
        reader.fail("an entry such as '16: 2673939 IO-APIC-fasteoi eth0'")
    return [Interrupts(cpus, tuple(entries))]


def _read_entry(reader: Reader, cpus: int) -> Interrupt:
    number = reader.number
    machine_wide = (reader.line or "").startswith(tuple(f"{label}:" for label in _MACHINE_WIDE))
    counts, rest = (1, "()") if machine_wide else (cpus, r"\s+(\S.*)")
    pattern = re.compile(rf"(\w+):\s*(\d{{1,18}}(?:\s+\d{{1,18}}){{{counts - 1}}}){rest}")
    label, printed, description = reader.take(pattern, f"{counts} counts and what interrupts").groups()
    return Interrupt(label, tuple(map(int, printed.split())), description, number)
