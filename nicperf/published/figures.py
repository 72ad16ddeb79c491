"""The published figures, handed out by role: `data/<slug>/figures.csv`.

The file is read strictly, cell by cell: each number is checked against the raw text it was taken from.
"""

from __future__ import annotations

import csv
import math
import re
from pathlib import Path
from typing import NoReturn

import pandas as pd

from nicperf.errors import DataError, RoleError, UnitError, closest
from nicperf.published.printed import read_printed
from nicperf.published.source import folder
from nicperf.units import unit_named, unit_of

COLUMNS = [
    *("id", "configuration", "workload", "side", "quantity", "value", "spread", "unit"),
    *("value_text", "raw_file", "raw_line", "role", "kind"),
]
ROLES = ("fit", "held_out", "context")
_WORDS = {
    "side": ("local", "remote"),
    "role": ROLES,
    "kind": ("measured", "setting", "derived", "count"),
}


def figures(slug: str, role: str | None = None, *, root: Path | None = None) -> pd.DataFrame:
    """Published figures of a thread.

    Parameters
    ----------
    slug : str
        One of `slugs()`.
    role : str, optional
        Only figures of this role: ``fit``, ``held_out`` or ``context``.
    root : Path, optional
        Another data folder than nicperf's own.

    Returns
    -------
    pandas.DataFrame
        One row for each figure, columns as in the file (`COLUMNS`). `value` and `spread` (NaN where none was
        printed) are in `unit`, `value_text` is how the raw file prints it on line `raw_line`. `side` is the
        host that took the number. `unit` is what was printed, right or wrong: `consistency` judges it.

    Raises
    ------
    DataError
        No such slug or role, or a row that breaks the format or disagrees with the raw text.
    """
    if role is not None and role not in ROLES:
        raise DataError("no such role", field="role", value=role, cure=closest(role, ROLES))
    path = folder(slug, root=root) / "figures.csv"
    rows: list[dict[str, object]] = []
    lines: dict[str, int] = {}
    for number, cells in _read(path):
        row = _Row(path, number, cells)
        name = row.cells["id"]
        if name in lines:
            row.fail("id", "occurs twice", f"line {lines[name]} has it already")
        lines[name] = number
        rows.append(row.checked())
    frame = pd.DataFrame(rows, columns=COLUMNS)
    return frame if role is None else frame[frame["role"] == role].reset_index(drop=True)


def fit_rows(slug: str, *, root: Path | None = None) -> pd.DataFrame:
    """Figures that a calibration may see: those whose role is ``fit``, and no others."""
    return figures(slug, "fit", root=root)


def require_fit(rows: pd.DataFrame) -> None:
    """Refuse rows that a calibration must not see.

    Parameters
    ----------
    rows : pandas.DataFrame
        Figures with `id` and `role`.

    Raises
    ------
    RoleError
        A row whose role is not ``fit``; the error counts them and names the first.
    """
    others = rows[rows["role"] != "fit"]
    if len(others):
        first = others.iloc[0]
        raise RoleError(
            f"{len(others)} of {len(rows)} rows must not be fitted, {first['id']!r} the first of them",
            field="role",
            value=first["role"],
            cure="take the rows from fit_rows()",
        )


def _read(path: Path) -> list[tuple[int, list[str]]]:
    """Rows below the head with their line numbers; the head must be `COLUMNS`."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.reader(file, strict=True)
            try:
                rows = [(reader.line_num, cells) for cells in reader]
            except csv.Error as error:
                place = f"{path}:{reader.line_num}"
                raise DataError(f"is not CSV: {error}", place=place, cure="mend this line") from None
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", place=str(path)) from None
    except UnicodeDecodeError:
        raise DataError("is not UTF-8 text", place=str(path), cure="save it as UTF-8") from None
    head = rows[0][1] if rows else []
    for name in head:
        if name not in COLUMNS:
            raise DataError(
                "unknown column", place=f"{path}:1", field="column", value=name, cure=closest(name, COLUMNS)
            )
    if head != COLUMNS:
        raise DataError(
            "columns are missing, repeated or in another order",
            place=f"{path}:1",
            cure=f"write {','.join(COLUMNS)}",
        )
    return rows[1:]


class _Row:
    """One row under inspection; every finding is a `DataError` that names line, field, value and cure."""

    def __init__(self, path: Path, number: int, cells: list[str]) -> None:
        self.path, self.number = path, number
        if len(cells) != len(COLUMNS):
            raise DataError(
                f"{len(cells)} cells instead of {len(COLUMNS)}",
                place=f"{path}:{number}",
                cure="give one cell for each column, quoted where it holds a comma",
            )
        self.cells = dict(zip(COLUMNS, cells, strict=True))

    def fail(self, field: str, problem: str, cure: str) -> NoReturn:
        raise DataError(
            problem, place=f"{self.path}:{self.number}", field=field, value=self.cells[field], cure=cure
        )

    def checked(self) -> dict[str, object]:
        for field, words in _WORDS.items():
            if self.cells[field] not in words:
                self.fail(field, "no such word", closest(self.cells[field], words))
        self._check_id()
        self._check_unit()
        value = self._number("value")
        spread = self._number("spread") if self.cells["spread"] else math.nan
        raw_line = self._check_raw(value, spread)
        return {**self.cells, "value": value, "spread": spread, "raw_line": raw_line}

    def _check_id(self) -> None:
        stem = ".".join(self.cells[part] for part in ("configuration", "workload", "side", "quantity"))
        if not re.fullmatch(rf"{re.escape(stem)}(\.[a-z0-9]+)?", self.cells["id"]) or not re.fullmatch(
            r"[a-z0-9_]+(\.[a-z0-9_]+)+", self.cells["id"]
        ):
            self.fail(
                "id", "does not name the row", f"write {stem!r}, with a last part of its own where it repeats"
            )

    def _check_unit(self) -> None:
        try:
            unit_named(self.cells["unit"])
        except UnitError as error:
            self.fail("unit", error.problem, error.cure or "")
        expected = unit_of(self.cells["quantity"])
        if self.cells["unit"] != expected:
            self.fail(
                "unit", f"the quantity {self.cells['quantity']!r} ends in another", f"write {expected!r}"
            )

    def _number(self, field: str) -> float:
        try:
            number = float(self.cells[field])
        except ValueError:
            self.fail(field, "not a number", "write digits with a decimal point")
        if not math.isfinite(number) or number < 0:
            self.fail(field, "not a finite number >= 0", "figures are neither negative nor infinite")
        return number

    def _check_raw(self, value: float, spread: float) -> int:
        lines = self._raw_lines()
        line = self.cells["raw_line"]
        if not re.fullmatch(r"[1-9]\d{0,6}", line) or int(line) > len(lines):
            self.fail("raw_line", "no such line", f"the file has {len(lines)} lines, counted from 1")
        text = self.cells["value_text"]
        # A number inside a longer one is not that number.
        whole = rf"(?<![\d.])(?<!\d,){re.escape(text)}(?![\d.]*\d|,\d)"
        if not re.search(whole, lines[int(line) - 1]) or not text:
            where = [n for n, candidate in enumerate(lines, 1) if text and text in candidate]
            cure = f"it stands on {where}" if where else "copy it from the raw file as it is printed"
            self.fail("value_text", f"does not stand on line {line} of {self.cells['raw_file']}", cure)
        try:
            printed = read_printed(text, self.cells["unit"])
        except ValueError as error:
            self.fail("value_text", str(error), "write a number, with ± and its spread or a unit behind it")
        printed_spread = math.nan if printed.spread is None else printed.spread
        for field, seen, wanted in (("value", value, printed.value), ("spread", spread, printed_spread)):
            if not (math.isclose(seen, wanted, rel_tol=1e-9) or (math.isnan(seen) and math.isnan(wanted))):
                self.fail(
                    field, f"is not what {text!r} says", f"write {'' if math.isnan(wanted) else wanted}"
                )
        return int(line)

    def _raw_lines(self) -> list[str]:
        raw = self.path.parent / "raw"
        names = sorted(path.name for path in raw.glob("*.txt"))
        if self.cells["raw_file"] not in names:
            self.fail("raw_file", "no such file", closest(self.cells["raw_file"], names))
        try:
            return (raw / self.cells["raw_file"]).read_text(encoding="utf-8").rstrip("\n").split("\n")
        except UnicodeDecodeError:
            self.fail("raw_file", "is not UTF-8 text", "restore it")
