"""The ledger: each published figure and each claim beside its prediction, with a verdict and the reason for it."""

from __future__ import annotations

import math

import pandas as pd

from nicperf.experiments.baselines import BASELINES, Baselines
from nicperf.experiments.config import ExperimentConfig
from nicperf.experiments.ensemble import Ensemble
from nicperf.experiments.predict import Predictor, Row, Ticker, rows_of
from nicperf.stats import judge, printed_resolution
from nicperf.stats.verdict import CANNOT_TELL

NAMES = ["configuration", "workload", "side", "quantity", "unit"]
COLUMNS = [
    "kind", "id", *NAMES, "role", "published", "spread", "predicted", "low", "high", "error_percent",
    "tolerance_percent", "verdict", "why", *BASELINES,
]  # fmt: skip
NO_MODEL = "No model answers for this thread yet."


def ledger(
    figures: pd.DataFrame, predictor: Predictor, ensemble: Ensemble, tick: Ticker | None = None
) -> pd.DataFrame:
    """Predict every published row and judge it.

    Parameters
    ----------
    figures : DataFrame
        All published rows of the experiment, of every role.
    predictor : Predictor
        Of the experiment.
    ensemble : Ensemble
        Equally good parameter vectors, the best first, with what each predicts for these rows.
    tick : callable, optional
        Called with the number of scenarios done.

    Returns
    -------
    DataFrame
        One row for each figure, in their order, with `COLUMNS`. `predicted` is from the best vector, `low` and
        `high` are the extremes over all; the three are NaN where the model makes no statement. Percentages are
        relative to `published`. Held-out rows carry what the baselines predict, see `nicperf.experiments.baselines`.
    """
    config = predictor.config
    rows = rows_of(figures)
    values = predictor.predict(rows, ensemble.vectors[:1], tick)[0]
    predicted = {row.id: math.nan if p is None else p for row, p in zip(rows, values, strict=True)}
    published = dict(zip(figures["id"], figures["value"].astype(float), strict=True))
    references = _references(figures, config)
    lines = []
    for row, figure in zip(rows, figures.to_dict("records"), strict=True):
        low, high = ensemble.interval(row.id)
        reference = references.get(row.id)
        tolerance = config.tolerances.get(row.quantity)
        judgement = judge(
            published[row.id],
            predicted[row.id],
            tolerance,
            noise=config.noise.get(row.quantity, 0.0),
            resolution=printed_resolution(str(figure["value_text"])),
            reference=(published[reference], predicted[reference]) if reference else None,
            reference_name=config.reference,
        )
        lines.append(
            {
                "kind": "figure",
                **{key: figure[key] for key in ("id", *NAMES, "role")},
                "published": published[row.id],
                "spread": figure.get("spread", math.nan),
                "predicted": predicted[row.id],
                "low": min(low, predicted[row.id]),  # stored ends are rounded
                "high": max(high, predicted[row.id]),
                "error_percent": judgement.error_percent,
                "tolerance_percent": 100 * tolerance if tolerance and not math.isnan(low) else math.nan,
                "verdict": judgement.verdict,
                "why": judgement.why,
            }
        )
    frame = pd.DataFrame(lines, columns=[name for name in COLUMNS if name not in BASELINES])
    compared = frame.index[(frame["role"] == "held_out") & frame["predicted"].notna()]
    baselines = Baselines(
        config, predictor.model.parameters(config.driver), figures[figures["role"] == "fit"]
    ).predict([rows[place] for place in compared])
    return frame.join(baselines.set_index(compared))


def with_claims(figures: pd.DataFrame, claims: pd.DataFrame) -> pd.DataFrame:
    """Claims as rows below the figures of a ledger.

    Parameters
    ----------
    figures : DataFrame
        From `ledger`.
    claims : DataFrame
        id, verdict, why.

    Returns
    -------
    DataFrame
        `COLUMNS`; a claim has the role ``claim`` and no numbers.
    """
    rows = claims.assign(kind="claim", role="claim")
    return pd.concat([figures, rows], ignore_index=True)[COLUMNS]


def unanswered(figures: pd.DataFrame, claims: pd.DataFrame) -> pd.DataFrame:
    """Ledger of a thread that no model answers for: every row is there, and nothing can be told.

    Parameters
    ----------
    figures, claims : DataFrame
        What was published.

    Returns
    -------
    DataFrame
        `COLUMNS`.
    """
    told = {"verdict": CANNOT_TELL, "why": NO_MODEL}
    known = figures[["id", *NAMES, "role", "spread"]].assign(
        kind="figure", published=figures["value"].astype(float), **told
    )
    return with_claims(known.reindex(columns=COLUMNS), claims[["id"]].assign(**told)).astype(
        {name: float for name in ("predicted", "low", "high", *BASELINES)}
    )


def _references(figures: pd.DataFrame, config: ExperimentConfig) -> dict[str, str]:
    """Row id to the id of the same figure in the reference configuration."""
    rows = rows_of(figures)
    base = {_place(row): row.id for row in rows if row.configuration == config.reference}
    return {
        row.id: base[_place(row)]
        for row in rows
        if row.configuration != config.reference and _place(row) in base
    }


def _place(row: Row) -> tuple[str, str, str]:
    return row.workload, row.side, row.quantity
