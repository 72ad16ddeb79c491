"""Which differences between two configurations the published deviations allow, beside what the post says of them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from nicperf import published
from nicperf.errors import DataError, closest
from nicperf.published.printed import read_printed
from nicperf.stats import Difference, Sample, holm, welch

ALPHA = 0.05
KEYS = ["workload", "side", "quantity"]
YES, NO, ROUNDING = "yes", "no", "depends on rounding"


def significance(
    slug: str = "nocache-2014",
    first: str = "off",
    second: str = "on",
    *,
    claim: str | None = "not-significant",
    root: Path | None = None,
) -> pd.DataFrame:
    """Test every figure that two configurations share and that was printed with a deviation.

    Parameters
    ----------
    slug : str
        One of `nicperf.published.slugs()`.
    first, second : str
        Configurations; differences are the second less the first.
    claim : str, optional
        The claim by which the post calls some of these pairs equal.
    root : Path, optional
        Another data folder than nicperf's own.

    Returns
    -------
    pandas.DataFrame
        `workload`, `side`, `quantity`, `unit`, `kind` (``derived`` figures repeat what others say); `runs`, the two
        means and deviations; `delta`, its 95 % interval `low`..`high` and `delta_percent`; `t`, `freedom`, `p`; `p_holm`,
        corrected for all rows; `t_low`..`t_high`, what numbers printed the same could give; `significant`: ``yes``,
        ``no`` or ``depends on rounding``, at 5 % for all rows together; `called_equal`, whether the claim rests
        on the pair.

    Raises
    ------
    DataError
        No such slug, configuration or claim, or no pair that was printed with deviations of known runs.

    Notes
    -----
    Not modelled: dependence between runs. Where the two configurations were not run in turn, a drift of the
    machine looks like a difference.
    """
    source = published.source(slug, root=root)
    for field, name in (("first", first), ("second", second)):
        if name not in source.configurations:
            raise DataError(
                "no such configuration", place=slug, field=field, value=name,
                cure=closest(name, list(source.configurations)),
            )  # fmt: skip
    equal = _rests_on(slug, claim, root)
    figures = published.figures(slug, root=root).dropna(subset=["spread"])
    one, other = (figures[figures["configuration"] == name] for name in (first, second))
    rows = []
    for pair in one.merge(other, on=KEYS, suffixes=("_first", "_second")).to_dict("records"):
        runs = source.workloads[pair["workload"]].runs
        if runs is None or runs < 2:
            continue
        before, after = (_sample(pair, suffix, runs) for suffix in ("first", "second"))
        row = {name: pair[name] for name in KEYS}
        row |= {"unit": pair["unit_first"], "kind": pair["kind_first"], "runs": runs}
        for name, sample in (("first", before), ("second", after)):
            row |= {f"value_{name}": sample.value, f"sd_{name}": sample.sd}
        ids = {pair["id_first"], pair["id_second"]}
        rows.append((row, welch(before, after), ids <= equal))
    if not rows:
        raise DataError("no pair of figures with deviations", place=slug, cure="choose other configurations")
    return _frame(rows)


def _rests_on(slug: str, claim: str | None, root: Path | None) -> set[str]:
    if claim is None:
        return set()
    claims = published.claims(slug, root=root).set_index("id")["figures"]
    if claim not in claims:
        raise DataError(
            "no such claim", place=slug, field="claim", value=claim, cure=closest(claim, list(claims.index))
        )
    return set(claims[claim])


def _sample(pair: Mapping[Hashable, Any], suffix: str, runs: int) -> Sample:
    printed = read_printed(str(pair[f"value_text_{suffix}"]), str(pair[f"unit_{suffix}"]))
    assert printed.spread is not None  # rows without one were dropped
    return Sample(printed.value, printed.spread, runs, printed.resolution)


def _frame(rows: list[tuple[dict[str, Any], Difference, bool]]) -> pd.DataFrame:
    differences = [difference for _, difference, _ in rows]
    frame = pd.DataFrame([row for row, _, _ in rows])
    found = pd.DataFrame(map(asdict, differences))
    found.columns = [name.removesuffix("_value").removesuffix("_count") for name in found.columns]
    frame = frame.join(found.drop(columns=["p_low", "p_high"]))
    frame["delta_percent"] = 100 * frame["delta"] / frame["value_first"]
    frame["p_holm"] = holm(found["p"].tolist())
    kindest, worst = (holm(found[name].tolist()) for name in ("p_low", "p_high"))
    frame["significant"] = [
        YES if high < ALPHA else NO if low >= ALPHA else ROUNDING
        for low, high in zip(kindest, worst, strict=True)
    ]
    frame["called_equal"] = [equal for _, _, equal in rows]
    return frame
