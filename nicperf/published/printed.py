"""A published number as it was printed: value, spread, and how finely it was rounded."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

from nicperf.units import convert, unit_named

_NUMBER = r"(?:\d{1,3}(?:,\d{3}){1,5}|\d{1,18})(?:\.\d{1,18})?"  # digits, or groups of three
_PRINTED = re.compile(rf"~?(?P<value>{_NUMBER})(?:±(?P<spread>{_NUMBER}))?(?P<unit> ?%| [^\s\d]\S*)?")


@dataclass(frozen=True, slots=True)
class Printed:
    """One printed number, in the unit asked for.

    Attributes
    ----------
    value : float
        The number.
    spread : float or None
        What stands behind ±.
    resolution : float
        One unit of the last digit that counts. An author who writes 692000±1000 has rounded to thousands, so
        it is the last significant digit of the spread where there is one.
    """

    value: float
    spread: float | None
    resolution: float


def read_printed(text: str, unit: str) -> Printed:
    """Read a printed number and convert it to a unit.

    Parameters
    ----------
    text : str
        ``541.8``, ``466,553``, ``692000±1000 tps``, ``1.02 GBytes``, ``~15%``.
    unit : str
        Unit of the result; also that of the text where the text names none.

    Returns
    -------
    Printed

    Raises
    ------
    ValueError
        The text is not a number with an optional spread and unit.
    UnitError
        The printed unit is unknown or measures something else.

    Examples
    --------
    >>> read_printed("692000±1000 tps", "1/s")
    Printed(value=692000.0, spread=1000.0, resolution=1000.0)
    >>> read_printed("1.02 GBytes", "MiB")
    Printed(value=1044.48, spread=None, resolution=10.24)
    """
    match = _PRINTED.fullmatch(text)
    if match is None:
        raise ValueError(f"not a printed number: {text!r}")
    printed_unit = unit_named(match["unit"].strip()) if match["unit"] else unit
    spread = match["spread"]
    return Printed(
        convert(_number(match["value"]), printed_unit, unit),
        None if spread is None else convert(_number(spread), printed_unit, unit),
        convert(
            _last_place(spread or match["value"], trailing_zeros_count=spread is None), printed_unit, unit
        ),
    )


def _number(text: str) -> float:
    return float(text.replace(",", ""))


def _last_place(text: str, *, trailing_zeros_count: bool) -> float:
    number = Decimal(text.replace(",", ""))
    if "." not in text and not trailing_zeros_count:
        number = number.normalize()
    return float(Decimal(1).scaleb(int(number.as_tuple().exponent)))
