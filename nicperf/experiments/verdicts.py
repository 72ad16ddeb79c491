"""The recorded verdicts: a silent change of one breaks the build, an honest failure stays on record."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from nicperf.errors import DataError
from nicperf.files import write_whole
from nicperf.stats import VERDICTS


def write_verdicts(ledger: pd.DataFrame, path: Path) -> Path:
    """Record id, role and verdict of each row; the file appears whole or not at all."""
    write_whole(path, ledger[["id", "role", "verdict"]].to_csv(index=False, lineterminator="\n"))
    return path


def read_verdicts(path: Path) -> pd.Series:
    """Recorded verdict by id.

    Raises
    ------
    DataError
        The file is missing or holds a word that is no verdict.
    """
    if not path.exists():
        raise DataError("no verdicts are recorded", place=path.name, cure="run `nicperf ledger SLUG --write`")
    recorded = pd.read_csv(path, dtype=str)
    for line, verdict in enumerate(recorded["verdict"], start=2):
        if verdict not in VERDICTS:
            raise DataError(
                "this is no verdict",
                place=f"{path.name}:{line}",
                field="verdict",
                value=verdict,
                cure=f"the words are {', '.join(VERDICTS)}",
            )
    return recorded.set_index("id")["verdict"]


def changed_verdicts(ledger: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Rows whose computed verdict is not the recorded one, rows that are new or gone included.

    Returns
    -------
    DataFrame
        id, recorded, computed; an absent verdict is an empty word.
    """
    both = pd.DataFrame(
        {"recorded": read_verdicts(path), "computed": ledger.set_index("id")["verdict"]}
    ).fillna("")
    changed = both[both["recorded"] != both["computed"]]
    return changed.rename_axis("id").reset_index()
