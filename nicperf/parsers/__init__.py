"""Parsers of tool output: text in, records out, nothing cleaned, nothing guessed.

`parse` recognises the tool. Each module beside this one reads one tool and has two functions: `starts` tells
whether a line begins the tool's output, `read` consumes one piece of it.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from types import ModuleType

from nicperf.errors import ParseError
from nicperf.parsers import interrupts, iperf2, netperf
from nicperf.parsers.reader import Reader
from nicperf.records import Record

__all__ = ["parse"]

_TOOLS: tuple[ModuleType, ...] = (netperf, iperf2, interrupts)
_PROMPT = re.compile(r"(?:\S+@\S+)?[#$] (.+)")
_CURE = "read are: netperf with its banner, iperf2 text and CSV, /proc/interrupts"


def parse(path_or_text: str | os.PathLike[str]) -> list[Record]:
    r"""Read the output of netperf, iperf2 or /proc/interrupts, or several of them in one text.

    Parameters
    ----------
    path_or_text : str or path
        A file, or the text itself. Shell prompts with a command may stand between outputs.

    Returns
    -------
    list of Record
        In the order of the text: `NetperfUdp`, `NetperfTcp`, `Iperf2`, `Interrupts`.

    Raises
    ------
    ParseError
        No such file, no tool's output, or output that was cut or altered; the error names the line.

    Examples
    --------
    >>> text = "       CPU0\n  0:    22153   IO-APIC-edge  timer"
    >>> parse(text)[0].lines[0].counts
    (22153,)
    """
    text, source = _text_of(path_or_text)
    reader = Reader(text, source)
    records: list[Record] = []
    answered = True
    while reader.line is not None:
        if prompt := _PROMPT.fullmatch(reader.line):
            reader.command, answered = prompt[1], False
            reader.skip()
            continue
        tool = next((tool for tool in _TOOLS if tool.starts(reader.line)), None)
        if tool is None:
            reader.fail("the first line of a tool's output", _CURE)
        records += tool.read(reader)
        answered = True
    if not (records and answered):
        reader.fail("a tool's output", _CURE)
    return records


def _text_of(path_or_text: str | os.PathLike[str]) -> tuple[str, str]:
    if isinstance(path_or_text, str) and not os.path.isfile(path_or_text):
        known = "\n" in path_or_text or any(tool.starts(path_or_text.strip()) for tool in _TOOLS)
        if known or not path_or_text.strip():
            return path_or_text, "text"
    path = Path(path_or_text)
    try:
        return path.read_text(encoding="utf-8"), str(path)
    except (OSError, ValueError) as error:  # ValueError: not UTF-8, or a NUL in the name
        why = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise ParseError(f"cannot be read: {why}", place=str(path)[:200], cure=_CURE) from None
