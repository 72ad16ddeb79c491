"""Judges claims that can be written as a relation between figures.

A claim may carry checks, each a relation such as ``napi.session.local.interrupts_total < 0.2 *
baseline.session.local.interrupts_total``. A term names configuration, workload, side and quantity, as the id
of a figure does. The configuration may add patches (``baseline+napi``), so that a claim about a single patch
can be put to the model although nothing was published. ``~`` says: equal within the tolerance of the
quantity. A claim without checks is left to the reader.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from nicperf.errors import DataError
from nicperf.experiments.config import ExperimentConfig
from nicperf.experiments.ensemble import Ensemble
from nicperf.experiments.predict import Row
from nicperf.stats.verdict import CANNOT_TELL, NOT_REPRODUCED, REPRODUCED

_TERM = r"(?:([\d.]+)\s*\*\s*)?([\w+]+)\.(\w+)\.(\w+)\.(\w+)"
_CHECK = re.compile(rf"\s*{_TERM}\s*([<>~])\s*{_TERM}\s*")


@dataclass(frozen=True)
class Check:
    """One relation: left factor * left row, sign, right factor * right row."""

    text: str
    left: Row
    left_factor: float
    sign: str
    right: Row
    right_factor: float

    def holds(self, left: float, right: float, tolerance: float) -> bool:
        """Whether the relation holds for these two figures."""
        a, b = self.left_factor * left, self.right_factor * right
        if self.sign == "~":
            return math.isclose(a, b, rel_tol=tolerance)
        return (operator.lt if self.sign == "<" else operator.gt)(a, b)


def read_check(text: str, place: str) -> Check:
    """Read one check.

    Raises
    ------
    DataError
        The text is no relation between two figures.
    """
    match = _CHECK.fullmatch(text)
    if not match:
        raise DataError(
            "this is no relation between two figures",
            place=place,
            field="checks",
            value=text,
            cure="write 'configuration.workload.side.quantity < 0.5 * ...' with <, > or ~",
        )
    left, sign, right = match.groups()[:5], match[6], match.groups()[6:]
    return Check(text, _row(left), float(left[0] or 1), sign, _row(right), float(right[0] or 1))


def read_checks(claims: pd.DataFrame, slug: str) -> dict[str, list[Check]]:
    """Checks by the id of their claim."""
    return {
        claim["id"]: [read_check(text, f"{slug}/claims.toml: {claim['id']}") for text in claim["checks"]]
        for claim in claims.to_dict("records")
    }


def rows_in(claims: pd.DataFrame, slug: str) -> list[Row]:
    """Rows that the checks of claims ask about."""
    checks = [check for group in read_checks(claims, slug).values() for check in group]
    return [row for check in checks for row in (check.left, check.right)]


def judge_claims(
    claims: pd.DataFrame, figures: pd.DataFrame, config: ExperimentConfig, ensemble: Ensemble
) -> pd.DataFrame:
    """Give each claim a verdict.

    Parameters
    ----------
    claims : DataFrame
        id, checks (sequence of str, empty where the model can say nothing).
    figures : DataFrame
        Published rows; they do not count for the verdict, the reason names them beside the prediction.
    config : ExperimentConfig
        The experiment.
    ensemble : Ensemble
        Equally good parameter vectors, the best first, with what each predicts for `rows_in` these claims.

    Returns
    -------
    DataFrame
        id, verdict, why. *Reproduced* when every check holds for every vector, *not reproduced* when one
        holds for none, otherwise *cannot tell*: vectors that fit equally well then disagree.
    """
    published = dict(zip(figures["id"], figures["value"].astype(float), strict=True))
    lines = []
    for name, group in read_checks(claims, config.slug).items():
        findings = [_finding(check, ensemble, published, config) for check in group]
        verdict, why = _verdict(findings)
        lines.append({"id": name, "verdict": verdict, "why": why})
    return pd.DataFrame(lines, columns=["id", "verdict", "why"])


def _finding(
    check: Check,
    ensemble: Ensemble,
    published: Mapping[str, float],
    config: ExperimentConfig,
) -> tuple[float, str]:
    """Share of the vectors for which a check holds, and the sentence that says so."""
    left, right = (_known(row, ensemble, check) for row in (check.left, check.right))
    tolerance = config.tolerances.get(check.left.quantity, 0.0)
    held = [check.holds(a, b, tolerance) for a, b in zip(left, right, strict=True)]
    share = sum(held) / len(held)
    printed = [f"{published[row.id]:.5g}" for row in (check.left, check.right) if row.id in published]
    beside = f" (published: {' and '.join(printed)})" if len(printed) == 2 else ""
    numbers = f"predicted {left[0]:.5g} and {right[0]:.5g}{beside}"
    return share, f"{check.text}: {numbers}, holds for {share:.0%} of the vectors."


def _verdict(findings: Sequence[tuple[float, str]]) -> tuple[str, str]:
    if not findings:
        return CANNOT_TELL, "The model has nothing to say about this claim."
    least, why = min(share for share, _ in findings), " ".join(sentence for _, sentence in findings)
    if least == 1:
        return REPRODUCED, why
    return (NOT_REPRODUCED if least == 0 else CANNOT_TELL), why


def _row(groups: Iterable[str | None]) -> Row:
    _, *names = (str(group) for group in groups)
    return Row(".".join(names), *names)


def _known(row: Row, ensemble: Ensemble, check: Check) -> list[float]:
    if row.id not in ensemble.predictions:
        raise DataError("the model makes no statement about this figure", field="checks", value=check.text)
    return list(ensemble.predictions[row.id])
