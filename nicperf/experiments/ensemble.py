"""Parameter vectors that fit equally well with what each predicts, and the file that keeps them.

`data/<slug>/ensemble.json` holds them beside the fit, so that an interval is looked up and not simulated anew.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pandas as pd

from nicperf.experiments.config import ExperimentConfig
from nicperf.experiments.fingerprint import check_made_from, made_from, rounded, stale, versions
from nicperf.experiments.fit import Fit
from nicperf.experiments.predict import Predictor, Row, Ticker, Vector
from nicperf.files import write_whole

# A model whose predictions moved by more than this share since the vectors were drawn is another model.
SAME_MODEL = 1e-3


@dataclass(frozen=True)
class Ensemble:
    """The equally good set of a fit.

    Attributes
    ----------
    slug : str
        The experiment.
    drawn : sequence of mapping
        The vectors that a sampler added to those of the fit.
    predictions : DataFrame
        One line for each of `vectors`, one column for each row that the model can predict, named by its id; in
        the row's unit.
    vectors : sequence of mapping
        Those of the fit, the best first, then the drawn ones.
    sampler : mapping
        How the vectors were drawn.
    """

    slug: str
    drawn: Sequence[Vector]
    predictions: pd.DataFrame
    vectors: Sequence[Vector]
    sampler: Mapping[str, object] = field(default_factory=dict)

    def interval(self, row: str) -> tuple[float, float]:
        """Lowest and highest prediction of a row over all vectors; NaN where there is none."""
        if row not in self.predictions:
            return math.nan, math.nan
        return float(self.predictions[row].min()), float(self.predictions[row].max())

    def completed(self, predictor: Predictor, rows: Sequence[Row], tick: Ticker | None = None) -> Ensemble:
        """The same with predictions of further rows; only those are simulated that are not there yet."""
        missing = [row for row in rows if row.id not in self.predictions]
        more = predicted(predictor, missing, self.vectors, tick)
        return replace(self, predictions=pd.concat([self.predictions, more], axis="columns"))

    def check_model(self, predicted: Mapping[str, float]) -> None:
        """Refuse a model that no longer predicts with the best vector what it did when the set was drawn.

        Raises
        ------
        DataError
            Naming the row that moved most, and the command that renews the set.
        """
        then = {row: self.predictions[row].iloc[0] for row in self.predictions if row in predicted}
        moved = {row: abs(predicted[str(row)] - value) / (abs(value) or 1.0) for row, value in then.items()}
        worst = max(moved, key=lambda row: moved[row], default=None)
        if worst is not None and moved[worst] > SAME_MODEL:
            raise stale(
                f"{self.slug}/ensemble.json",
                self.slug,
                f"the model has changed since the vectors were drawn: {worst} was {then[worst]:.6g}",
                str(worst),
                predicted[str(worst)],
            )


def predicted(
    predictor: Predictor, rows: Sequence[Row], vectors: Sequence[Vector], tick: Ticker | None = None
) -> pd.DataFrame:
    """Predict rows with each vector: a line for each vector, a column for each row that can be predicted."""
    known = list({row.id: row for row in rows if predictor.can_predict(row)}.values())
    values = np.array(predictor.predict(known, vectors, tick), dtype=float).reshape(len(vectors), len(known))
    return pd.DataFrame(values, columns=[row.id for row in known])


def write_ensemble(
    ensemble: Ensemble, path: Path, config: ExperimentConfig, figures: pd.DataFrame, fit: Fit
) -> None:
    """Store an ensemble with the hashes of what it was made from; one vector a line, its predictions another."""
    names = list(fit.values)
    content = {
        "slug": ensemble.slug,
        "made_from": made_from(config, figures) | {"fit": fit.hash},
        "made_with": versions(),
        "sampler": ensemble.sampler,
        "parameters": names,
        "drawn": [[vector[name] for name in names] for vector in ensemble.drawn],
        "rows": list(ensemble.predictions),
        "predictions": ensemble.predictions.to_numpy().tolist(),
    }
    lines = [f"{json.dumps(key)}: {_text(key, rounded(value))}" for key, value in content.items()]
    write_whole(path, "{\n" + ",\n".join(lines) + "\n}\n")


def read_ensemble(path: Path, config: ExperimentConfig, figures: pd.DataFrame, fit: Fit) -> Ensemble:
    """Read a stored ensemble and check that it belongs to this experiment and fit as they stand.

    Raises
    ------
    DataError
        There is none, the file is damaged, or it was made from other assumptions, figures or another fit.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        drawn = [dict(zip(content["parameters"], v, strict=True)) for v in content["drawn"]]
        vectors = [*fit.equally_good, *drawn]
        ensemble = Ensemble(
            slug=content["slug"],
            drawn=drawn,
            predictions=pd.DataFrame(content["predictions"], columns=content["rows"], dtype=float),
            vectors=vectors,
            sampler=content["sampler"],
        )
        recorded = content["made_from"]
    except FileNotFoundError:
        raise stale(path.name, config.slug, "no equally good vectors have been drawn") from None
    except (ValueError, KeyError, TypeError) as error:
        raise stale(path.name, config.slug, f"this is not a stored ensemble: {error!r}") from None
    check_made_from(path.name, recorded, config, figures, fit=fit.hash)
    if len(ensemble.predictions) != len(vectors):
        raise stale(
            path.name, config.slug, f"{len(ensemble.predictions)} predictions of {len(vectors)} vectors"
        )
    return ensemble


def _text(key: str, value: object) -> str:
    if key not in ("drawn", "predictions"):
        return json.dumps(value)
    assert isinstance(value, list)
    return "[\n" + ",\n".join(json.dumps(line) for line in value) + "\n]"
