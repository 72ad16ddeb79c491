"""What a model can be asked to vary: one `Parameter` per field of a part's dataclass."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

from nicperf.errors import ScenarioError


@dataclass(frozen=True)
class Parameter:
    """A named, bounded input of a model.

    Attributes
    ----------
    name : str
        Dotted name without the side, such as ``bus.clock_mhz``.
    unit : str
        Unit of the value; ``"1"`` for pure numbers, ``""`` for choices and switches.
    default : float, int, bool or str
    low, high : float
        Bounds, both allowed; NaN for choices and switches.
    choices : tuple
        Allowed values of a choice; empty otherwise.
    doc : str
        One sentence.
    """

    name: str
    unit: str
    default: Any
    low: float
    high: float
    choices: tuple[Any, ...]
    doc: str

    @property
    def kind(self) -> str:
        """``float``, ``int``, ``bool``, ``str`` or ``choice``."""
        return "choice" if self.choices else type(self.default).__name__

    def check(self, value: Any, place: str = "scenario") -> Any:
        """Return `value`, a Python or numpy scalar, as the parameter's own type.

        Raises
        ------
        ScenarioError
            Wrong type, outside the bounds or not one of the choices.
        """
        value = getattr(value, "item", lambda: value)()  # numpy scalars
        if self.kind == "str":
            if not isinstance(value, str) or not value:
                raise self._error(value, place, "not a text", "put it in quotes")
            return value
        if isinstance(value, str) and self.kind != "choice":
            value = self._from_text(value, place)
        if self.choices:
            matches = [c for c in self.choices if c == value or str(c) == str(value)]
            if not matches:
                raise self._error(value, place, f"not one of {', '.join(map(str, self.choices))}")
            return matches[0]
        if self.kind == "bool":
            if value not in (True, False):
                raise self._error(value, place, "not a switch", "use true or false")
            return bool(value)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            raise self._error(value, place, "not a finite number")
        if self.kind == "int" and value != int(value):
            raise self._error(value, place, "not a whole number")
        if not self.low <= value <= self.high:
            raise self._error(
                value, place, "out of range", f"use {self.low:g}..{self.high:g} {self.unit}".rstrip(" 1")
            )
        return int(value) if self.kind == "int" else float(value)

    def _from_text(self, text: str, place: str) -> Any:
        if self.kind == "bool":
            words = {"true": True, "on": True, "1": True, "false": False, "off": False, "0": False}
            return words.get(text.lower(), text)
        try:
            return float(text)
        except ValueError:
            raise self._error(text, place, "not a number") from None

    def _error(self, value: Any, place: str, problem: str, cure: str | None = None) -> ScenarioError:
        return ScenarioError(problem, place=place, field=self.name, value=value, cure=cure)


def parameter(default: Any, unit: str, low: float, high: float, doc: str) -> Any:
    """Declare a bounded number as a dataclass field."""
    return dataclasses.field(
        default=default, metadata={"unit": unit, "low": low, "high": high, "doc": doc, "choices": ()}
    )


def choice(default: Any, choices: tuple[Any, ...], doc: str, unit: str = "") -> Any:
    """Declare a choice among values as a dataclass field."""
    return dataclasses.field(
        default=default,
        metadata={"unit": unit, "low": math.nan, "high": math.nan, "doc": doc, "choices": choices},
    )


def switch(default: bool, doc: str) -> Any:
    """Declare an on/off switch as a dataclass field."""
    return dataclasses.field(
        default=default, metadata={"unit": "", "low": math.nan, "high": math.nan, "doc": doc, "choices": ()}
    )


def text(default: str, doc: str) -> Any:
    """Declare a free text, such as a name or a path, as a dataclass field."""
    return choice(default, (), doc)


def parameters_of(group: str, cls: type) -> dict[str, Parameter]:
    """All parameters that a part's dataclass declares, by dotted name."""
    return {
        f"{group}.{f.name}": Parameter(f"{group}.{f.name}", default=f.default, **f.metadata)
        for f in dataclasses.fields(cls)
    }
