"""Whether the published numbers agree with each other and with the wire."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import pandas as pd

from nicperf.published.bounds import littles_law, wire_ceiling
from nicperf.published.group import groups
from nicperf.published.relations import (
    cycles_per_byte,
    rate_from_messages,
    rate_from_transfer,
    service_demand,
    sum_of_intervals,
)
from nicperf.published.source import slugs

COLUMNS = ("slug", "check", "subject", "published", "recomputed", "error_percent", "unit", "verdict", "why")
_RELATIONS = (service_demand, rate_from_messages, rate_from_transfer, sum_of_intervals, cycles_per_byte)


def consistency(slug: str | None = None, *, root: Path | None = None) -> pd.DataFrame:
    """Check the arithmetic of the published figures.

    Parameters
    ----------
    slug : str, optional
        One of `slugs()`; without it all threads are checked.
    root : Path, optional
        Another data folder than nicperf's own.

    Returns
    -------
    pandas.DataFrame
        One row for each check of a figure: `slug`, `check`, `subject` (figure id), `published`, `recomputed`
        (for `wire_ceiling` and `littles_law` the upper bound), `error_percent`, `unit`, `verdict`
        (``consistent``, ``inconsistent``, ``impossible``, ``cannot tell``) and `why`.

    Raises
    ------
    DataError
        No such slug, or data that break their format.

    Notes
    -----
    A rule looks at quantities and never at slugs. Numbers are intervals of all that rounds to the printed
    digits. A rate whose unit a relation finds wrong is held against the wire in the unit that was found.
    """
    rows = []
    for name in [slug] if slug is not None else slugs(root=root):
        for group in groups(name, root=root):
            found = list(chain.from_iterable(relation(group) for relation in _RELATIONS))
            slips = {f.subject: f.recomputed / f.published for f in found if f.check == "unit"}
            for finding in (*found, *wire_ceiling(group, slips), *littles_law(group)):
                rows.append([getattr(finding, column, name) for column in COLUMNS])
    return pd.DataFrame(rows, columns=COLUMNS)
