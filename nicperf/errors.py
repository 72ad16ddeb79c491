"""Errors that say where, what was seen, what is wrong and how to mend it.

Every error that a reader can cause (a mistyped name, a damaged file, a row used in the wrong role) is one of
these classes; each is also a `ValueError`, so that code which knows nothing of nicperf can catch it.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class NicperfError(ValueError):
    """Base of all errors that nicperf raises about its input.

    Parameters
    ----------
    problem : str
        What is wrong, without a full stop.
    place : str, optional
        Where: ``file:line`` for a file, ``scenario`` for a configuration.
    field : str, optional
        Name of the column, key or parameter.
    value : object, optional
        The value seen there.
    cure : str, optional
        What the reader can do about it.
    """

    def __init__(
        self,
        problem: str,
        *,
        place: str | None = None,
        field: str | None = None,
        value: object = None,
        cure: str | None = None,
    ) -> None:
        # Only `problem` goes into args: with the other attributes in __dict__ the error survives pickling,
        # which a process pool needs to report it.
        super().__init__(problem)
        self.problem = problem
        self.place = place
        self.field = field
        self.value = value
        self.cure = cure

    def __str__(self) -> str:
        seen = self.field
        if self.value is not None:
            seen = f"{self.field} = {self.value!r}" if self.field else repr(self.value)
        head = ": ".join(part for part in (self.place, seen, self.problem) if part)
        return f"{head}; {self.cure}" if self.cure else head


class ScenarioError(NicperfError):
    """A configuration, workload or parameter that does not exist or is out of range."""


class FrameError(NicperfError):
    """A frame that does not hold what its headers say, or that nobody could segment."""


class DataError(NicperfError):
    """A CSV or TOML file of ours, or of the reader, that breaks its format."""


class ParseError(NicperfError):
    """Text that a parser cannot read as the tool's output from beginning to end."""


class RoleError(NicperfError):
    """A held-out or context figure handed to code that fits."""


class MachineError(NicperfError):
    """A live measurement that the reader's machine cannot take."""


class UnitError(NicperfError):
    """An unknown unit, or two units that measure different things."""


def closest(name: str, candidates: Iterable[str]) -> str:
    """Suggest what a mistyped name may have meant.

    Parameters
    ----------
    name : str
        The name that was not found.
    candidates : iterable of str
        The names that exist.

    Returns
    -------
    str
        ``did you mean 'a' or 'b'?`` when some are close, otherwise ``known: a, b, c``.

    Examples
    --------
    >>> closest("tcp_steam", ["tcp_stream", "udp_stream"])
    "did you mean 'tcp_stream' or 'udp_stream'?"
    >>> closest("x", ["tcp_stream", "udp_stream"])
    'known: tcp_stream, udp_stream'
    """
    known = sorted(set(candidates))
    near = difflib.get_close_matches(name, known, n=3)
    if near:
        return f"did you mean {' or '.join(map(repr, near))}?"
    return f"known: {', '.join(known)}" if known else "nothing is known here"
