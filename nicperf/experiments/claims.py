"""Judges claims that can be written as a relation between figures.

A claim may carry checks, each a relation such as ``napi.session.local.interrupts_total < 0.2 *
baseline.session.local.interrupts_total``. A term names configuration, workload, side and quantity, as the id
of a figure does. The configuration may add patches (``baseline+napi``) and settings
(``tso_on+driver.tso_off_s=0.01``), so that a claim about something that was never measured can be put to the
model all the same. ``~`` says: equal within the tolerance of the quantity. Of a claim without checks the model
can say nothing.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from nicperf.errors import DataError
from nicperf.experiments.config import ExperimentConfig
from nicperf.experiments.ensemble import Ensemble
from nicperf.experiments.predict import Row
from nicperf.stats.verdict import CANNOT_TELL, DIRECTION_ONLY, NOT_REPRODUCED, REPRODUCED

_TERM = r"(?:([\d.]+)\s*\*\s*)?([a-z_][\w+.=]*)\.(\w+)\.(\w+)\.(\w+)"
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

    def points_there(self, left: float, right: float, noise: float) -> bool:
        """Whether the figures differ as the relation says, by more than the noise, if not by as much.

        A relation without a size, such as one whose factors are 1, has no weaker form.
        """
        ratio = self.right_factor / self.left_factor
        if ratio == 1 or (self.sign == "<" and ratio > 1) or (self.sign == ">" and ratio < 1):
            return False
        change = left / right - 1
        return change * (ratio - 1) > 0 and abs(change) > noise


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
        id, checks (sequence of str, empty where the model can say nothing), figures, refuted_by.
    figures : DataFrame
        Published rows; they do not count for the verdict, the reason names them beside the prediction.
    config : ExperimentConfig
        The experiment.
    ensemble : Ensemble
        Equally good parameter vectors, the best first, with what each predicts for `rows_in` these claims.

    Returns
    -------
    DataFrame
        id, verdict, why. *Reproduced* when every check holds for every vector, *not reproduced* when one holds
        for none. Otherwise vectors that fit equally well disagree about a size: *direction only* when all
        agree at least which way the figures differ, else *cannot tell*.
    """
    published = dict(zip(figures["id"], figures["value"].astype(float), strict=True))
    checks = read_checks(claims, config.slug)
    lines = []
    for claim in claims.to_dict("records"):
        findings = [_find(check, ensemble, published, config) for check in checks[claim["id"]]]
        verdict, why = _verdict(findings) if findings else (CANNOT_TELL, _unasked(claim))
        lines.append({"id": claim["id"], "verdict": verdict, "why": why})
    return pd.DataFrame(lines, columns=["id", "verdict", "why"])


@dataclass(frozen=True)
class _Finding:
    """What became of one check: its numbers in words, and for each vector whether it and its direction hold."""

    numbers: str
    held: Sequence[bool]
    pointed: Sequence[bool]

    @property
    def share(self) -> float:
        """Share of the vectors for which the check holds."""
        return sum(self.held) / len(self.held)


def _find(
    check: Check,
    ensemble: Ensemble,
    published: Mapping[str, float],
    config: ExperimentConfig,
) -> _Finding:
    left, right = (_known(row, ensemble, check) for row in (check.left, check.right))
    tolerance, noise = (table.get(check.left.quantity, 0.0) for table in (config.tolerances, config.noise))
    pairs = list(zip(left, right, strict=True))
    held = [check.holds(a, b, tolerance) for a, b in pairs]
    pointed = [yes or check.points_there(a, b, noise) for yes, (a, b) in zip(held, pairs, strict=True)]
    numbers = _numbers(check, left[0], right[0])
    if check.left.id in published and check.right.id in published:
        printed = published[check.left.id], published[check.right.id]
        contradicted = "" if check.holds(*printed, tolerance) else ", which do not show it"
        numbers += f" (published {_digits(printed[0])} and {_digits(printed[1])}{contradicted})"
    return _Finding(numbers, held, pointed)


def _numbers(check: Check, left: float, right: float) -> str:
    """A check with the predicted figures put in; what both terms share is named once."""
    names = [(row.configuration, row.workload, row.side, row.quantity) for row in (check.left, check.right)]
    same = names[0][1:] == names[1][1:]
    place = f"{'.'.join(names[0][1:])} of " if same else ""
    terms = [
        f"{f'{factor:g} x ' if factor != 1 else ''}{name[0] if same else '.'.join(name)} {_digits(value)}"
        for name, factor, value in zip(
            names, (check.left_factor, check.right_factor), (left, right), strict=True
        )
    ]
    return f"{place}{terms[0]} {check.sign} {terms[1]}"


def _digits(value: float) -> str:
    """Four significant digits, without an exponent where whole digits do."""
    return f"{float(f'{value:.4g}'):,.10g}"


def _verdict(findings: Sequence[_Finding]) -> tuple[str, str]:
    """The verdict over all checks of a claim, and one sentence that says why."""
    least = min(finding.share for finding in findings)
    said = "; ".join(finding.numbers for finding in findings)
    if least == 1:
        return REPRODUCED, f"Predicted in every parameter set that fits equally well: {said}."
    failed = "; ".join(
        f"{finding.numbers} in {finding.share:.0%} of the parameter sets"
        for finding in findings
        if finding.share < 1
    )
    if least == 0:
        return NOT_REPRODUCED, f"Not predicted: {failed}."
    if all(all(finding.pointed) for finding in findings):
        return DIRECTION_ONLY, f"The direction is predicted in every parameter set, the size not: {failed}."
    return CANNOT_TELL, f"Parameter sets that fit equally well disagree: {failed}."


def _unasked(claim: Mapping[Hashable, Any]) -> str:
    """Why no run of the model answers a claim: from what the claim says of itself."""
    figure = "" if claim["figures"] else ", for which the source prints no figure"
    refutation = str(claim["refuted_by"]).rstrip(".")
    return f"No run of the model bears on this claim{figure}; what would refute it: {refutation}."


def _row(groups: Iterable[str | None]) -> Row:
    _, *names = (str(group) for group in groups)
    return Row(".".join(names), *names)


def _known(row: Row, ensemble: Ensemble, check: Check) -> list[float]:
    if row.id not in ensemble.predictions:
        raise DataError("the model makes no statement about this figure", field="checks", value=check.text)
    return list(ensemble.predictions[row.id])
