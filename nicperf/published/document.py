"""A TOML file read strictly, whose errors name the line."""

from __future__ import annotations

import dataclasses
import math
import re
import tomllib
import types
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from nicperf.errors import DataError, closest

T = TypeVar("T")


class Document:
    """A TOML file and its text.

    Parameters
    ----------
    path : Path
        The file.

    Raises
    ------
    DataError
        The file is missing, is not UTF-8, or is not TOML.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self.text = path.read_text(encoding="utf-8")
            self.data: dict[str, Any] = tomllib.loads(self.text)
        except OSError as error:
            raise DataError(f"cannot be read: {error.strerror}", place=str(path)) from None
        except UnicodeDecodeError:
            raise DataError("is not UTF-8 text", place=str(path), cure="save it as UTF-8") from None
        except tomllib.TOMLDecodeError as error:
            line = re.search(r"line (\d+)", str(error))
            place = f"{path}:{line[1]}" if line else f"{path}:{self.text.count(chr(10)) + 1}"
            raise DataError(f"is not TOML: {error}", place=place, cure="mend this line") from None

    def error(self, problem: str, header: str, nth: int, key: str, value: object, cure: str) -> DataError:
        """Error at a key of the nth table with this header, such as ``[link]``; empty for the file's top."""
        place = f"{self.path}:{self._line(header, nth, key)}"
        return DataError(problem, place=place, field=key, value=value, cure=cure)

    def build(
        self,
        kind: type[T],
        table: object,
        header: str,
        nth: int = 0,
        given: Mapping[str, Any] | None = None,
        *,
        positive: bool = True,
    ) -> T:
        """Make a dataclass of a table: no key may be missing, unknown or of another type, no number <= 0.

        Parameters
        ----------
        kind : type
            A dataclass; its annotations are the types asked for, its defaults make keys optional.
        table : object
            What stands under the header.
        header : str
            The header's text, for errors.
        nth : int
            Which of several equal headers.
        given : mapping, optional
            Fields that do not come from the table.
        positive : bool
            Whether each number must be finite and above zero; otherwise the caller checks what it needs.
        """
        given = given or {}
        if not isinstance(table, Mapping):
            raise self.error("is not a table", header, nth, header.strip("[]"), table, f"write {header}")
        wanted = {f.name: f for f in dataclasses.fields(kind) if f.name not in given}  # type: ignore[arg-type]
        hints = typing.get_type_hints(kind)
        for key, value in table.items():
            if key not in wanted:
                raise self.error("unknown key", header, nth, key, value, closest(key, wanted))
            if not _is_a(value, hints[key]):
                raise self.error("wrong type", header, nth, key, value, f"give {_type_name(hints[key])}")
            if positive and isinstance(value, int | float) and not 0 < value < math.inf:
                raise self.error("is not positive", header, nth, key, value, "give a number above zero")
        for key, field in wanted.items():
            if key not in table and field.default is field.default_factory is dataclasses.MISSING:
                raise self.error("is missing", header, nth, key, None, f"add it, {_type_name(hints[key])}")
        values = {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}
        return kind(**values, **given)

    def _line(self, header: str, nth: int, key: str) -> int:
        """1-based line of a key, else of its table, else of the file's top."""
        lines = [line.strip() for line in self.text.splitlines()]
        headers = [n for n, line in enumerate(lines) if header and line == header]
        start = headers[nth] if nth < len(headers) else 0
        for n in range(start, len(lines)):
            if lines[n] == f"[{key}]" or re.match(rf"{re.escape(key)}\s*=", lines[n]):
                return n + 1
            if header and n > start and lines[n].startswith("["):
                break
        return start + 1


def _is_a(value: object, hint: Any) -> bool:
    """Whether a TOML value fits an annotation: a class, ``X | None``, ``tuple[X, ...]``, ``dict[str, X]``."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is types.UnionType:
        return any(_is_a(value, argument) for argument in arguments)
    if origin is tuple:
        return isinstance(value, list) and all(_is_a(item, arguments[0]) for item in value)
    if origin is dict:
        return isinstance(value, dict) and all(_is_a(item, arguments[1]) for item in value.values())
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    return type(value) is hint


def _type_name(hint: Any) -> str:
    names = {str: "a text", int: "a whole number", float: "a number", tuple: "a list", dict: "a table"}
    return names.get(typing.get_origin(hint) or hint, str(getattr(hint, "__name__", hint)))
