"""Reads one TOML table strictly: each key has a kind and bounds, an unknown key is an error."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from nicperf.errors import DataError, closest

_REQUIRED: Any = object()


def read_toml(path: Path) -> Table:
    """Open a TOML file as a strict table; a missing or damaged file is a `DataError`."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError("this file does not exist", place=str(path)) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"this is not TOML: {error}", place=path.name, cure="mend the line named") from None
    return Table(data, path.name)


class Table:
    """One table of a file, with the place that its errors name.

    Parameters
    ----------
    data : mapping
        What the TOML reader returned for this table.
    file : str
        File name for errors.
    prefix : str
        Dotted path of this table inside the file.
    """

    def __init__(self, data: Mapping[str, Any], file: str, prefix: str = "") -> None:
        self._data = data
        self._file = file
        self._prefix = prefix
        self._asked: set[str] = set()

    def take(
        self,
        key: str,
        kind: Any,
        *,
        default: Any = _REQUIRED,
        low: float | None = None,
        high: float | None = None,
        choices: Iterable[str] | None = None,
    ) -> Any:
        """Hand out one value, checked; an integer also passes as a float, a bool never as a number."""
        self._asked.add(key)
        if key not in self._data:
            if default is not _REQUIRED:
                return default
            raise self.error(key, "this key is missing", cure=closest(key, self._data))
        value = self._data[key]
        kinds = kind if isinstance(kind, tuple) else (kind,)
        if float in kinds and int not in kinds and type(value) is int:
            value = float(value)
        if type(value) not in kinds:
            raise self.error(key, f"expected {' or '.join(k.__name__ for k in kinds)}", value)
        if (low is not None and value < low) or (high is not None and value > high):
            raise self.error(key, f"outside {low}..{high}", value, "choose a value inside")
        if choices is not None and value not in choices:
            raise self.error(key, "unknown word", value, closest(str(value), choices))
        return value

    def names(
        self, key: str, known: Iterable[str] | None = None, default: Any = _REQUIRED
    ) -> tuple[str, ...]:
        """Hand out a list of strings; with `known`, each must be one of these."""
        names = self.take(key, list, default=default)
        for name in names:
            if not isinstance(name, str):
                raise self.error(key, "expected a list of strings", name)
            if known is not None and name not in known:
                raise self.error(key, "unknown name", name, closest(name, known))
        return tuple(names)

    def table(self, key: str) -> Table:
        """Hand out a sub-table; an absent one is empty."""
        return Table(self.take(key, dict, default={}), self._file, self._at(key))

    def tables(self, key: str) -> Iterator[tuple[str, Table]]:
        """Hand out each named sub-table of `key`."""
        for name, data in self.take(key, dict, default={}).items():
            if not isinstance(data, dict):
                raise self.error(f"{key}.{name}", "expected a table", data)
            yield name, Table(data, self._file, self._at(f"{key}.{name}"))

    def array(self, key: str) -> Iterator[Table]:
        """Hand out each table of an array of tables."""
        for index, data in enumerate(self.take(key, list, default=[]), start=1):
            if not isinstance(data, dict):
                raise self.error(f"{key}[{index}]", "expected a table", data)
            label = data.get("name", index)
            yield Table(data, self._file, self._at(f"{key}[{label}]"))

    def scalars(self, key: str) -> dict[str, Any]:
        """Hand out a table of plain values (numbers, words, switches)."""
        values = self.take(key, dict, default={})
        for name, value in values.items():
            if not isinstance(value, bool | int | float | str):
                raise self.error(f"{key}.{name}", "expected a number, a word or true/false", value)
        return dict(values)

    def fractions(self, key: str, known: Iterable[str]) -> dict[str, float]:
        """Hand out a table of relative sizes, each above 0 and at most 1, with names from `known`."""
        table = self.table(key)
        for name in table.names_inside:
            if name not in known:
                raise table.error(name, "unknown name", cure=closest(name, known))
        return {name: table.take(name, float, low=1e-6, high=1.0) for name in table.names_inside}

    @property
    def names_inside(self) -> list[str]:
        """Keys of this table, in the order of the file."""
        return list(self._data)

    def close(self) -> None:
        """Refuse keys that nobody asked for: they are typing mistakes."""
        for key in self._data:
            if key not in self._asked:
                raise self.error(key, "unknown key", cure=closest(key, self._asked))

    def error(self, key: str, problem: str, value: object = None, cure: str | None = None) -> DataError:
        """Build the error for one key of this table."""
        return DataError(problem, place=self._file, field=self._at(key), value=value, cure=cure)

    def _at(self, key: str) -> str:
        return f"{self._prefix}.{key}" if self._prefix else key
