"""How far held-out predictions are off, the model's and those of the baselines, on the same rows."""

from __future__ import annotations

from typing import Any

import pandas as pd

from nicperf.experiments.baselines import BASELINES

MODEL = "model"
COLUMNS = [
    "slug", "quantity", "predictor", "rows", "median_error_percent", "worst_error_percent", "model_median_percent",
    "model_worst_percent", "closer_median", "closer_worst",
]  # fmt: skip


def score(ledger: pd.DataFrame) -> pd.DataFrame:
    """Score the held-out rows of a ledger.

    Parameters
    ----------
    ledger : DataFrame
        Of one experiment or, with a column `slug`, of several.

    Returns
    -------
    DataFrame
        One line for each experiment, quantity and predictor (``model`` and the baselines): `rows` it predicts;
        `median_error_percent` and `worst_error_percent` over these, absolute; the model's own two on these very
        rows; `closer_median` and `closer_worst`, whose error is smaller there: ``model``, ``baseline`` or
        ``equal``, empty in the model's own lines. A baseline that is silent about a quantity has no line.
    """
    frame = ledger if "slug" in ledger.columns else ledger.assign(slug="")
    held_out = frame[(frame["role"] == "held_out") & frame["predicted"].notna()].assign(
        model=lambda rows: rows["predicted"]
    )
    lines = [
        {"slug": slug, "quantity": quantity, "predictor": predictor, **_line(rows, predictor)}
        for (slug, quantity), rows in held_out.groupby(["slug", "quantity"], sort=False)
        for predictor in (MODEL, *BASELINES)
        if rows[predictor].notna().any()
    ]
    scores = pd.DataFrame(lines, columns=COLUMNS)
    return scores if "slug" in ledger.columns else scores.drop(columns="slug")


def _line(rows: pd.DataFrame, predictor: str) -> dict[str, Any]:
    told = rows[rows[predictor].notna()]
    off, ours = (100 * (told[name] / told["published"] - 1).abs() for name in (predictor, MODEL))
    (median, worst), (our_median, our_worst) = ((float(e.median()), float(e.max())) for e in (off, ours))
    return {
        "rows": len(told),
        "median_error_percent": median,
        "worst_error_percent": worst,
        "model_median_percent": our_median,
        "model_worst_percent": our_worst,
        "closer_median": "" if predictor == MODEL else _closer(our_median, median),
        "closer_worst": "" if predictor == MODEL else _closer(our_worst, worst),
    }


def _closer(ours: float, theirs: float) -> str:
    if ours == theirs:
        return "equal"
    return MODEL if ours < theirs else "baseline"
