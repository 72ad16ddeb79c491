"""What the front page shows: the ledger of all threads, its scores beside baselines, and where the model misses."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import altair as alt
import pandas as pd

import nicperf
from nicperf import charts, published
from nicperf.charts import labels
from nicperf.experiments import available
from nicperf.experiments.baselines import BASELINES
from nicperf.experiments.fingerprint import config_hash
from nicperf.report import views
from nicperf.report.origin import data_hash
from nicperf.report.prose import Prose
from nicperf.report.table import Table
from nicperf.stats import VERDICTS

TITLES = {
    "slug": "thread", "error_percent": "error (%)", "median_error_percent": "median (%)",
    "worst_error_percent": "worst (%)", "model_median_percent": "model's median (%)",
    "model_worst_percent": "model's worst (%)", "closer_median": "closer in median", "closer_worst": "closer in worst",
}  # fmt: skip


def title(notebook: Any) -> str:
    """Text of a notebook's first heading."""
    lines = (
        line for cell in notebook.cells if cell.cell_type == "markdown" for line in cell.source.split("\n")
    )
    return next((line[2:].strip() for line in lines if line.startswith("# ")), "untitled")


def answer(ledger: pd.DataFrame) -> Prose:
    """How many held-out figures and claims are reproduced, over all threads and in each.

    Parameters
    ----------
    ledger : pandas.DataFrame
        From `nicperf.ledger`.

    Returns
    -------
    Prose
    """
    held, claims = (ledger[ledger["role"] == role] for role in ("held_out", "claim"))
    lines = [
        f"**Of {len(held)} held-out figures {_good(held)} are reproduced, of {len(claims)} claims {_good(claims)}.** "
        "A figure is reproduced inside a tolerance that was fixed before the first fit; no fit saw it."
    ]
    for slug, rows in ledger.groupby("slug", sort=False):
        own, said = (rows[rows["role"] == role] for role in ("held_out", "claim"))
        missing = int(own["predicted"].isna().sum())
        unanswered = f", {missing} not answered by a model" if missing else ""
        lines.append(
            f"`{slug}`: {_good(own)} of {len(own)} held-out figures{unanswered}; {_good(said)} of {len(said)} claims"
        )
    return Prose("\n- ".join(lines))


def standing(ledger: pd.DataFrame) -> Table:
    """Number of rows by thread, role and verdict."""
    counts = pd.crosstab([ledger["slug"], ledger["role"]], ledger["verdict"])
    order = [pair for pair in ledger[["slug", "role"]].drop_duplicates().itertuples(index=False, name=None)]
    counts = counts.reindex(index=pd.MultiIndex.from_tuples(order), columns=list(VERDICTS), fill_value=0)
    return Table(counts.rename_axis(["slug", "role"]).reset_index(), "Verdicts", TITLES)


def chart(ledger: pd.DataFrame) -> alt.LayerChart:
    """Every predicted figure against its published one; the pointer shows the reason, and the claims that rest on it."""
    figures = ledger[ledger["kind"] == "figure"].copy()
    figures["claims"] = [
        _claims(slug).get(row, "") for slug, row in zip(figures["slug"], figures["id"], strict=True)
    ]
    return charts.ledger(figures)


def rows(ledger: pd.DataFrame) -> Table:
    """The ledger as a table to filter and to sort: every figure that a model answers for."""
    told = ledger["predicted"].notna() | ledger["role"].isin(["fit", "held_out"])
    shown = ledger.loc[(ledger["kind"] == "figure") & told].copy()
    shown["range"] = _ranges(shown)
    left = int((ledger["kind"] == "figure").sum()) - len(shown)
    columns = ["slug", "id", "role", "published", "predicted", "range", "error_percent", "verdict"]
    return Table(
        shown[columns],
        f"Ledger: {len(shown)} figures; {left} settings, counts and single intervals that no model answers are in "
        "the CSV of nicperf ledger",
        {**TITLES, "range": "over equally good fits"},
        filtered=True,
    )


def claims(ledger: pd.DataFrame) -> Table:
    """Every claim in our words, its verdict, and the sentence that says why."""
    said = ledger[ledger["kind"] == "claim"].copy()
    statements = {
        (slug, claim["id"]): claim["statement"]
        for slug in said["slug"].unique()
        for claim in published.claims(slug).to_dict("records")
    }
    said["claim"] = [statements[pair] for pair in zip(said["slug"], said["id"], strict=True)]
    shown = said[["slug", "claim", "verdict", "why"]]
    return Table(shown, f"Claims: {len(said)}", TITLES, filtered=True)


def compared(scores: pd.DataFrame) -> Prose:
    """Where the model beats each baseline, and where a baseline beats the model.

    Parameters
    ----------
    scores : pandas.DataFrame
        From `nicperf.scores`.

    Returns
    -------
    Prose
    """
    others = scores[scores["predictor"].isin(BASELINES)]
    lines = []
    for which in ("median", "worst"):
        ahead = int((others[f"closer_{which}"] == "model").sum())
        lines.append(f"In the {which} error the model is closer in {ahead} of {len(others)} comparisons.")
        for row in others[others[f"closer_{which}"] == "baseline"].to_dict("records"):
            lines.append(
                f"**A baseline is closer** in `{row['slug']}`, {labels.title(row['quantity'], with_unit=False)}: "
                f"{labels.spaced(row['predictor'])} has a {which} error of "
                f"{labels.number(row[f'{which}_error_percent'], 2)} %, the model on these {row['rows']} rows "
                f"{labels.number(row[f'model_{which}_percent'], 2)} %."
            )
    return Prose("\n".join(f"- {line}" for line in lines))


def left_out() -> views.Tables:
    """What was predicted when a configuration or a workload was left out of the fit, and what could not be left out."""
    frame = nicperf.left_out().rename(columns={"left_out": "left out"})
    again = frame["refitted"]
    columns = ["slug", "by", "left out", "quantity", "rows", "median_error_percent", "worst_error_percent"]
    rest = frame.loc[~again].drop_duplicates(["slug", "by", "left out"])[["slug", "by", "left out", "why"]]
    done = [Table(frame.loc[again, columns], "Fitted again without it", TITLES)] if again.any() else []
    return views.Tables([*done, Table(rest, f"Not fitted again: {len(rest)} cases", TITLES, folded=True)])


def misses(ledger: pd.DataFrame) -> Table:
    """Held-out figures that are not reproduced, the worst of each thread first."""
    missed = ledger[(ledger["role"] == "held_out") & ledger["verdict"].isin(VERDICTS[1:3])].copy()
    missed["size"] = missed["error_percent"].abs()
    missed["range"] = _ranges(missed)
    order = {slug: place for place, slug in enumerate(missed["slug"].unique())}
    missed = missed.sort_values(
        ["slug", "size"], key=lambda c: c.map(order) if c.name == "slug" else -c, kind="stable"
    )
    columns = ["slug", "id", "published", "predicted", "range", "verdict", "why"]
    return Table(
        missed[columns],
        f"Held-out figures missed: {len(missed)}",
        {**TITLES, "range": "over equally good fits"},
    )


def arithmetic() -> views.Tables:
    """Consistency of the published figures of all threads."""
    checks = nicperf.consistency()
    wrong = checks["verdict"] != "consistent"
    counts = pd.crosstab(checks["slug"], checks["verdict"]).reset_index()
    return views.Tables(
        [
            Table(counts, "Checks by verdict", TITLES),
            Table(
                checks[wrong],
                f"What does not add up ({wrong.sum()} of {len(checks)} checks)",
                TITLES,
                folded=True,
            ),
        ]
    )


def provenance() -> Table:
    """Versions, and hashes of what each thread's rows were made from; the same on every machine."""
    lines = [
        {
            "thread": slug,
            "published data (sha256)": data_hash(slug),
            "assumptions (sha256)": config_hash(nicperf.experiment(slug).config)
            if slug in available()
            else None,
        }
        for slug in published.slugs()
    ]
    return Table(pd.DataFrame(lines), f"nicperf {version('nicperf')}")


def _good(rows: pd.DataFrame) -> int:
    return int((rows["verdict"] == VERDICTS[0]).sum())


def _ranges(rows: pd.DataFrame) -> list[str | None]:
    """Predictions of all equally good fits, from the lowest to the highest."""
    pairs = zip(rows["low"], rows["high"], strict=True)
    return [None if pd.isna(low) else f"{labels.number(low)} to {labels.number(high)}" for low, high in pairs]


def _claims(slug: str) -> dict[str, str]:
    """The claims that rest on each figure."""
    found: dict[str, str] = {}
    for claim in published.claims(slug).to_dict("records"):
        for figure in claim["figures"]:
            found[figure] = f"{found[figure]}, {claim['id']}" if figure in found else claim["id"]
    return found
