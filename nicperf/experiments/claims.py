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
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pandas as pd

from nicperf.errors import DataError
from nicperf.experiments.predict import Predictor, Row, Ticker, Vector
from nicperf.stats.verdict import CANNOT_TELL, NOT_REPRODUCED, REPRODUCED, Judgement

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


def judge_claims(
    claims: pd.DataFrame, predictor: Predictor, vectors: Sequence[Vector], tick: Ticker | None = None
) -> pd.DataFrame:
    """Give each claim a verdict.

    Parameters
    ----------
    claims : DataFrame
        id and, where the model can say something, checks (list of str).
    predictor : Predictor
        Of the experiment.
    vectors : sequence of mapping
        Equally good parameter vectors, the best first.
    tick : callable, optional
        Called with the number of scenarios done.

    Returns
    -------
    DataFrame
        id, verdict, why. *Reproduced* when every check holds for every vector, *not reproduced* when one
        holds for none, otherwise *cannot tell*: vectors that fit equally well then disagree.
    """
    lines = []
    for claim in claims.to_dict("records"):
        texts = claim.get("checks")
        place = f"{predictor.config.slug}/claims.toml: {claim['id']}"
        checks = [read_check(text, place) for text in texts] if isinstance(texts, list | tuple) else []
        judgement = _judge(checks, predictor, vectors, tick)
        lines.append({"id": claim["id"], "verdict": judgement.verdict, "why": judgement.why})
    return pd.DataFrame(lines, columns=["id", "verdict", "why"])


def _judge(
    checks: Sequence[Check], predictor: Predictor, vectors: Sequence[Vector], tick: Ticker | None
) -> Judgement:
    if not checks:
        return Judgement(CANNOT_TELL, "The model has nothing to say about this claim.", math.nan)
    sentences, shares = [], []
    for check in checks:
        table = predictor.predict([check.left, check.right], vectors, tick)
        tolerance = predictor.config.tolerances.get(check.left.quantity, 0.0)
        held = [check.holds(_known(a, check), _known(b, check), tolerance) for a, b in table]
        shares.append(sum(held) / len(held))
        left, right = table[0]
        sentences.append(
            f"{check.text}: {left:.5g} against {right:.5g}, holds for {shares[-1]:.0%} of vectors"
        )
    why = "; ".join(sentences) + "."
    if min(shares) == 1:
        return Judgement(REPRODUCED, why, math.nan)
    return Judgement(NOT_REPRODUCED if min(shares) == 0 else CANNOT_TELL, why, math.nan)


def _row(groups: Iterable[str | None]) -> Row:
    _, *names = (str(group) for group in groups)
    return Row(".".join(names), *names)


def _known(value: float | None, check: Check) -> float:
    if value is None:
        raise DataError("the model makes no statement about this figure", field="checks", value=check.text)
    return value
