"""The units of the published figures, and what the words that tools print mean.

A unit is a simple name (``Mbit``, ``us``, ``%``) or two joined by a slash (``Mbit/s``, ``us/KiB``,
``cycle/B``). The table is our own and not a unit library's: thirty names suffice, a library would dominate
the import time of the package, and what matters here is the words of netperf and iperf, in which K means 1024
before bytes and 1000 before bits. No library knows that rule.

Names of figures, record fields and summary entries end in their unit (`throughput_mbit_s`): see `unit_of`.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TypeVar

from nicperf.errors import UnitError, closest

T = TypeVar("T")

_KILO = {"": 0, "k": 1, "M": 2, "G": 3, "T": 4}
_SMALL = {"": 0, "m": 1, "u": 2, "n": 3, "p": 4}

# name -> (factor, dimension); factors are exact, so that a conversion rounds once.
_SIMPLE: dict[str, tuple[Fraction, str]] = {
    "1": (Fraction(1), "ratio"),
    "k": (Fraction(1000), "ratio"),
    "%": (Fraction(1, 100), "ratio"),
    **{f"{p}s": (Fraction(1, 1000**n), "time") for p, n in _SMALL.items()},
    **{f"{p}B": (Fraction(1000**n), "data") for p, n in _KILO.items()},
    **{f"{p}bit": (Fraction(1000**n, 8), "data") for p, n in _KILO.items()},
    **{f"{p}iB": (Fraction(1024**n), "data") for p, n in {"K": 1, "M": 2, "G": 3, "T": 4}.items()},
    **{f"{p}cycle": (Fraction(1000**n), "cycles") for p, n in _KILO.items()},
}

# What tools and authors print. Before bytes a tool's K, M, G are powers of 1024, before bits powers of 1000
# (netperf's manual and iperf2's, option -f); netperf's "us/KB" likewise counts 1024 bytes.
_PRINTED = {
    "Byte": "B",
    "Bytes": "B",
    **{f"{p}Byte{s}": f"{p}iB" for p in "KMGT" for s in ("", "s")},
    "bits": "bit",
    **{f"{p}bits": f"{'k' if p == 'K' else p}bit" for p in "KMGT"},
    **{f"10^{3 * n}bits": f"{p}bit" for p, n in _KILO.items() if n},
    **{f"{p}b": f"{p}bit" for p in "kMGT"},
    "KB": "KiB",
    "sec": "s",
    "secs": "s",
    "tps": "1/s",
}

# Ending of a name -> unit, the longer ending first where one ends the other.
_ENDINGS = {
    "_us_per_kb": "us/KiB",
    "_cycle_per_byte": "cycle/B",
    "_gbit_s": "Gbit/s",
    "_mbit_s": "Mbit/s",
    "_bit_s": "bit/s",
    "_per_s": "1/s",
    "_kpps": "k/s",
    "_percent": "%",
    "_bytes": "B",
    "_mib": "MiB",
    "_gcycle": "Gcycle",
    "_ms": "ms",
    "_us": "us",
    "_ns": "ns",
    "_ps": "ps",
    "_s": "s",
}


def unit_named(text: str) -> str:
    """Name of the unit that a tool or an author printed.

    Parameters
    ----------
    text : str
        ``MBytes``, ``Mbits/sec``, ``10^6bits/s``, ``us/KB``, ``tps``, or a name of this module itself.

    Returns
    -------
    str
        ``MiB``, ``Mbit/s``, ``Mbit/s``, ``us/KiB``, ``1/s``.

    Raises
    ------
    UnitError
        A word that stands for no unit known here.

    Examples
    --------
    >>> unit_named("GBytes"), unit_named("10^6bits/sec"), unit_named("us/KB")
    ('GiB', 'Mbit/s', 'us/KiB')
    """
    name = _PRINTED.get(text) or "/".join(_PRINTED.get(part, part) for part in text.split("/"))
    _factor_and_dimension(name)
    return name


def unit_of(name: str) -> str:
    """Unit that a name ends in, whatever side stands behind it.

    Parameters
    ----------
    name : str
        Name of a quantity or field; a last ``_local`` or ``_remote`` is ignored.

    Returns
    -------
    str
        A unit of this module; ``1`` for a pure count.

    Examples
    --------
    >>> unit_of("throughput_mbit_s"), unit_of("cpu_percent_remote"), unit_of("messages")
    ('Mbit/s', '%', '1')
    """
    name = name.removesuffix("_local").removesuffix("_remote")
    return next((unit for ending, unit in _ENDINGS.items() if name.endswith(ending)), "1")


def stem_of(name: str) -> str:
    """A name without the unit that it ends in, whatever side stands behind it.

    Examples
    --------
    >>> stem_of("throughput_mbit_s"), stem_of("cpu_percent_remote"), stem_of("messages")
    ('throughput', 'cpu', 'messages')
    """
    name = name.removesuffix("_local").removesuffix("_remote")
    return name.removesuffix(next((ending for ending in _ENDINGS if name.endswith(ending)), ""))


def convert(value: T, source: str, target: str) -> T:
    """Express a value in another unit of the same dimension.

    Parameters
    ----------
    value : float, array or Series
        The value in `source`.
    source, target : str
        Units of this module.

    Returns
    -------
    same type as `value`
        The value in `target`.

    Raises
    ------
    UnitError
        An unknown unit, or units of different dimensions.

    Examples
    --------
    >>> convert(1.02, "GiB", "MiB")
    1044.48
    >>> convert(541.8, "Mbit/s", "MB/s")
    67.725
    """
    from_factor, from_dimension = _factor_and_dimension(source)
    to_factor, to_dimension = _factor_and_dimension(target)
    if from_dimension != to_dimension:
        raise UnitError(
            f"measures {from_dimension}, not {to_dimension}",
            field="unit",
            value=source,
            cure=f"{target!r} needs a unit of {to_dimension}",
        )
    return value * float(from_factor / to_factor)  # type: ignore[operator,return-value]


def scaled(unit: str, factor: Fraction) -> str | None:
    """Unit that is `factor` times `unit`, or None where no name stands for it.

    Examples
    --------
    >>> scaled("Gbit/s", Fraction(1, 1000))
    'Mbit/s'
    """
    above, slash, below = unit.partition("/")
    known, dimension = _SIMPLE[above]
    wanted = known * factor, dimension
    return next((name + slash + below for name, entry in _SIMPLE.items() if entry == wanted), None)


def _factor_and_dimension(unit: str) -> tuple[Fraction, str]:
    above, slash, below = unit.partition("/")
    for part in (above, below) if slash else (above,):
        if part not in _SIMPLE:
            raise UnitError("no such unit", field="unit", value=unit, cure=closest(part, _SIMPLE))
    factor, dimension = _SIMPLE[above]
    if not slash:
        return factor, dimension
    return factor / _SIMPLE[below][0], f"{dimension} per {_SIMPLE[below][1]}"
