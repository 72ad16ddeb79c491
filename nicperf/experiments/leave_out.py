"""Leaves a configuration or a workload out of the fit, fits again, and predicts what was left out.

The held-out rows say how well the model predicts the figures that somebody chose to hold out. Leaving out all fitted rows of
one configuration, or of one workload, asks the same of every choice. Where too few rows would remain for the free
parameters it cannot be asked, and where no row was fitted it has been: both are said instead of left away.

A total over the tests of a session counts as a workload of its own: where one of its tests is left out, it stays.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from nicperf.errors import DataError
from nicperf.experiments.config import ExperimentConfig
from nicperf.experiments.fingerprint import made_from, versions
from nicperf.experiments.predict import Predictor, Ticker, Vector, rows_of
from nicperf.files import write_whole

BY = ("configuration", "workload")
JUDGED = ("fit", "held_out")
FILE = "leave_out.json"
COLUMNS = [
    "by", "left_out", "refitted", "quantity", "rows", "median_error_percent", "worst_error_percent", "why",
]  # fmt: skip


@dataclass(frozen=True)
class Fold:
    """One configuration or workload to be left out.

    Attributes
    ----------
    by, name : str
        ``configuration`` or ``workload``, and which.
    figures : DataFrame
        Its rows that the model must answer for.
    rest : DataFrame
        The fitted rows that remain.
    free_parameters : int
        How many a fit has.
    """

    by: str
    name: str
    figures: pd.DataFrame
    rest: pd.DataFrame
    free_parameters: int

    @property
    def fitted(self) -> bool:
        """Whether any of its rows was fitted."""
        return bool((self.figures["role"] == "fit").any())

    @property
    def enough(self) -> bool:
        """Whether more rows remain than there are free parameters."""
        return len(self.rest) > self.free_parameters

    @property
    def why(self) -> str:
        """What was done, or why it could not be, in a sentence."""
        if not self.fitted:
            return "No row of it was fitted, so the held-out errors are the answer."
        if self.enough:
            return f"Fitted again to {len(self.rest)} rows, with {self.free_parameters} free parameters."
        return f"Cannot be left out: fitted rows that remain: {len(self.rest)}, free parameters: {self.free_parameters}."


def folds(config: ExperimentConfig, figures: pd.DataFrame) -> Iterator[Fold]:
    """Each configuration and each workload that has rows which the model must answer for."""
    judged = figures[figures["role"].isin(JUDGED)]
    fitted = judged[judged["role"] == "fit"]
    for by in BY:
        for name, own in judged.groupby(by, sort=False):
            yield Fold(by, str(name), own, fitted[fitted[by] != name], len(config.free))


def refit(predictor: Predictor, figures: pd.DataFrame, tick: Ticker | None = None) -> dict[str, Vector]:
    """Fit again without each configuration and each workload that can be left out; points only, no intervals.

    Parameters
    ----------
    predictor : Predictor
        Of the experiment.
    figures : DataFrame
        All published rows; of those left out the fit sees nothing, held-out rows are never seen.
    tick : callable, optional
        Called with the number of scenarios done.

    Returns
    -------
    dict
        ``configuration:name`` or ``workload:name`` to the fitted values.
    """
    return {
        f"{fold.by}:{fold.name}": _point_fit(predictor, fold.rest, tick)
        for fold in folds(predictor.config, figures)
        if fold.fitted and fold.enough
    }


def _point_fit(predictor: Predictor, figures: pd.DataFrame, tick: Ticker | None) -> Vector:
    """The best of the searches that a calibration makes, none of which starts from the stored fit."""
    from nicperf.experiments.calibrate import _search, _starts  # scipy takes a second to import
    from nicperf.experiments.objective import Objective

    objective = Objective(predictor, figures, tick)
    found = [_search(objective, start) for start in _starts(objective)]
    return objective.space.vector(min(found, key=lambda pair: pair[1])[0])


def errors(
    predictor: Predictor, figures: pd.DataFrame, fitted: Vector, refits: Mapping[str, Vector]
) -> pd.DataFrame:
    """Errors of what was left out.

    Parameters
    ----------
    predictor : Predictor
        Of the experiment.
    figures : DataFrame
        All published rows.
    fitted : mapping
        Values of the fit as it is.
    refits : mapping
        From `refit`.

    Returns
    -------
    DataFrame
        by, left_out, refitted, quantity, rows, median_error_percent, worst_error_percent (both absolute), why.
        One line for each fold and quantity; a fold that cannot be left out has one line without numbers.
    """
    lines: list[dict[str, Any]] = []
    for fold in folds(predictor.config, figures):
        again = fold.fitted and fold.enough
        head = {"by": fold.by, "left_out": fold.name, "refitted": again, "why": fold.why}
        vector = refits.get(f"{fold.by}:{fold.name}") if fold.fitted else fitted
        if vector is None:
            lines.append({**head, "quantity": "", "rows": 0})
            continue
        predicted = pd.Series(predictor.predict(rows_of(fold.figures), [vector])[0], fold.figures.index)
        off = (100 * (predicted.astype(float) / fold.figures["value"] - 1).abs()).dropna()
        for quantity, of_it in off.groupby(fold.figures["quantity"], sort=False):
            numbers = {"median_error_percent": of_it.median(), "worst_error_percent": of_it.max()}
            lines.append({**head, "quantity": quantity, "rows": len(of_it), **numbers})
    return pd.DataFrame(lines, columns=COLUMNS)


def write_refits(
    refits: Mapping[str, Vector], path: Path, config: ExperimentConfig, rows: pd.DataFrame
) -> None:
    """Store refits with the hashes of what they were made from; the file appears whole or not at all."""
    content = {
        "slug": config.slug,
        "made_from": made_from(config, rows),
        "made_with": versions(),
        "refits": refits,
    }
    write_whole(path, json.dumps(content, indent=1) + "\n")


def read_refits(path: Path, config: ExperimentConfig, rows: pd.DataFrame) -> dict[str, dict[str, float]]:
    """Read stored refits and check that they belong to this experiment as it stands.

    Raises
    ------
    DataError
        There are none, the file is damaged, or it was made from other assumptions or figures.
    """
    cure = f"run `nicperf leave-out {config.slug} --write`"
    place = f"{config.slug}/{FILE}"
    if not path.exists():
        raise DataError("nothing has been left out yet", place=place, cure=cure)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        recorded, refits = content["made_from"], content["refits"]
        found = {
            fold: {name: float(value) for name, value in values.items()} for fold, values in refits.items()
        }
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"these are no stored refits: {error!r}", place=place, cure=cure) from None
    for what, now in made_from(config, rows).items():
        if recorded.get(what) != now:
            raise DataError(
                f"the {what} changed since this was made", place=place, field=f"made_from.{what}", cure=cure
            )
    return found
