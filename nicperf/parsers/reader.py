"""A text read line by line, in which every surprise is a `ParseError` that names its line."""

from __future__ import annotations

import re
from typing import NoReturn

from nicperf.errors import ParseError


class Reader:
    """Lines of a tool's output, blank ones skipped.

    Parameters
    ----------
    text : str
        The whole output.
    source : str
        Name of the file, or ``text``; it begins the place of an error.

    Attributes
    ----------
    command : str
        The command of the last shell prompt above the current line; empty where none was printed.
    """

    def __init__(self, text: str, source: str = "text") -> None:
        self._source = source
        self._lines = [(n, line.strip()) for n, line in enumerate(text.split("\n"), 1) if line.strip()]
        self._next = 0
        self.command = ""

    @property
    def line(self) -> str | None:
        """The current line without outer blanks, None after the last."""
        return self._lines[self._next][1] if self._next < len(self._lines) else None

    @property
    def number(self) -> int:
        """1-based number of the current line; after the last line, of the last."""
        return self._lines[min(self._next, len(self._lines) - 1)][0] if self._lines else 1

    def skip(self) -> None:
        """Go to the next line."""
        self._next += 1

    def take(self, pattern: re.Pattern[str], expected: str, cure: str | None = None) -> re.Match[str]:
        """Match the whole current line and go to the next.

        Raises
        ------
        ParseError
            The line differs from the pattern, or the text has ended.
        """
        match = pattern.fullmatch(self.line or "")
        if match is None:
            self.fail(expected, cure)
        self._next += 1
        return match

    def fail(self, expected: str, cure: str | None = None) -> NoReturn:
        """Raise the error that the current line is not what was expected."""
        place = f"{self._source}:{self.number}"
        if self.line is None:
            raise ParseError(
                f"the text ends where {expected} was expected",
                place=place,
                cure=cure or "give the tool's whole output",
            )
        raise ParseError(
            f"expected {expected}",
            place=place,
            field="line",
            value=self.line,
            cure=cure or "give the tool's output unaltered, from its first line to its last",
        )
