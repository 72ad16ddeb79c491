"""What the authors claim: `data/<slug>/claims.toml`."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

import pandas as pd

from nicperf.errors import closest
from nicperf.published.document import Document
from nicperf.published.figures import figures
from nicperf.published.source import folder


@dataclass(frozen=True, slots=True)
class _Claim:
    id: str
    place: str
    statement: str
    figures: tuple[str, ...]
    refuted_by: str
    checks: tuple[str, ...] = ()


def claims(slug: str, *, root: Path | None = None) -> pd.DataFrame:
    """Claims of a thread in our own words.

    Parameters
    ----------
    slug : str
        One of `slugs()`.
    root : Path, optional
        Another data folder than nicperf's own.

    Returns
    -------
    pandas.DataFrame
        `slug`, `id`, `place` (where in the message or raw file), `statement`, `figures` (tuple of the ids it
        rests on, empty where the post gives no number), `refuted_by`, `checks` (tuple of relations between
        figures that a model would have to show; the experiments read them).

    Raises
    ------
    DataError
        A file that breaks the format, a repeated id, or a figure that does not exist.
    """
    document = Document(folder(slug, root=root) / "claims.toml")
    tables = document.data.get("claim", [])
    if set(document.data) != {"claim"} or not isinstance(tables, list):
        raise document.error(
            "holds something else than claims", "", 0, "claim", None, "write [[claim]] tables only"
        )
    known = set(figures(slug, root=root)["id"])
    found: list[_Claim] = []
    for nth, table in enumerate(tables):
        claim = document.build(_Claim, table, "[[claim]]", nth)
        if claim.id in {earlier.id for earlier in found}:
            raise document.error("occurs twice", "[[claim]]", nth, "id", claim.id, "choose another id")
        for figure in claim.figures:
            if figure not in known:
                raise document.error(
                    "no such figure", "[[claim]]", nth, "figures", figure, closest(figure, known)
                )
        found.append(claim)
    return pd.DataFrame([{"slug": slug, **asdict(claim)} for claim in found])
