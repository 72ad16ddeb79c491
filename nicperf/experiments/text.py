"""A ledger as text: for each thread what it adds up to, then its rows, never wider than 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

import pandas as pd

from nicperf.experiments.scores import MODEL, score
from nicperf.stats import VERDICTS

WIDTH = 80
ROLES = {"held_out": "held out", "fit": "used to fit", "context": "context"}
HEADS = ["configuration workload side", "published", "predicted", "error", "verdict"]
NAME = 33


def text(ledger: pd.DataFrame, free: dict[str, int], left_out: pd.DataFrame) -> str:
    """Lay out a ledger of one or several threads.

    Parameters
    ----------
    ledger : DataFrame
        With `slug` and the columns of `Experiment.ledger`.
    free : dict
        Free parameters of each thread that has a model.
    left_out : DataFrame
        With `slug` and the columns of `nicperf.experiments.leave_out.errors`.

    Returns
    -------
    str
        Context rows that no model answers are counted, not listed.
    """
    names = list(dict.fromkeys(ledger["slug"]))
    parts = {name: ledger[ledger["slug"] == name] for name in names}
    heads = [
        _summary(rows, free.get(name), left_out[left_out["slug"] == name]) for name, rows in parts.items()
    ]
    return "\n\n".join([*heads, *("\n\n".join(_rows(rows)) for rows in parts.values())])


def _summary(rows: pd.DataFrame, free: int | None, left_out: pd.DataFrame) -> str:
    """What one thread adds up to."""
    slug = rows["slug"].iloc[0]
    roles = rows["role"].value_counts()
    counts = ", ".join(f"{roles[role]} {said}" for role, said in ROLES.items() if role in roles)
    lines = [
        f"{slug}: {_counted(int((rows['kind'] == 'figure').sum()), 'figure')} ({counts}), "
        f"{_counted(int(roles.get('claim', 0)), 'claim')}"
    ]
    if free is None:
        return "\n".join([*lines, f"  {rows['why'].iloc[0]}"])
    fitted = int(roles.get("fit", 0))
    lines.append(f"  fitted: {_counted(fitted, 'figure')} with {_counted(free, 'free parameter')}")
    table = [
        [ROLES.get(str(role), "claims"), *(int((own["verdict"] == verdict).sum()) for verdict in VERDICTS)]
        for role, own in rows.groupby("role", sort=False)
    ]
    lines += _aligned([["verdicts", *VERDICTS], *table])
    table = [
        [
            line["quantity"] if line["predictor"] == MODEL else "",
            line["predictor"],
            line["rows"],
            _percent(line["median_error_percent"]),
            _percent(line["worst_error_percent"]),
            _beaten(line["closer_median"], line["closer_worst"]),
        ]
        for line in score(rows).to_dict("records")
    ]
    heads = ["held out", "predicted by", "rows", "median", "worst", "beats model in"]
    lines += _aligned([heads, *table], left=(0, 1, 5))
    table = [
        [
            f"{line['by']} {line['left_out']}",
            line["quantity"],
            line["rows"],
            _percent(line["median_error_percent"]),
            _percent(line["worst_error_percent"]),
        ]
        for line in left_out[left_out["refitted"]].to_dict("records")
    ]
    if table:
        heads = ["fitted again without", "quantity", "rows", "median", "worst"]
        lines += _aligned([heads, *table], left=(0, 1))
    others = left_out[~left_out["refitted"]].drop_duplicates(["by", "left_out"])
    for why, group in others.groupby("why", sort=False):
        who = [f"{line['by']} {line['left_out']}" for line in group.to_dict("records")]
        lines.append(_wrapped(f"{', '.join(who)}: {why}", "  "))
    return "\n".join(lines)


def _rows(rows: pd.DataFrame) -> Iterator[str]:
    """The rows of one thread: figures by role and quantity, then claims with the reason for each verdict."""
    slug = rows["slug"].iloc[0]
    figures = rows[rows["kind"] == "figure"]
    silent = figures["predicted"].isna() & (figures["role"] == "context")
    yield f"{slug}: figures\n{_line(HEADS)}"
    for role, said in ROLES.items():
        own = figures[~silent & (figures["role"] == role)]
        for (quantity, unit), group in own.groupby(["quantity", "unit"], sort=False):
            told = [
                _line(
                    [
                        f"{line['configuration']} {line['workload']} {line['side']}",
                        _number(line["published"]),
                        _number(line["predicted"]),
                        "-" if pd.isna(line["error_percent"]) else f"{line['error_percent']:+.1f}%",
                        line["verdict"],
                    ]
                )
                for line in group.to_dict("records")
            ]
            yield "\n".join([f"{said}: {quantity} ({unit})", *told])
    if silent.any():
        yield f"{silent.sum()} context rows that no model answers; csv and json list them"
    claims = rows[rows["kind"] == "claim"]
    if len(claims):
        told = [
            f"  {line['id']}: {line['verdict']}\n{_wrapped(line['why'], '    ')}"
            for line in claims.to_dict("records")
        ]
        yield "\n".join([f"{slug}: claims", *told])


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _percent(value: float) -> str:
    return f"{value:.3g}%" if value < 1000 else f"{value:,.0f}%"


def _beaten(median: str, worst: str) -> str:
    """Where a baseline is closer than the model."""
    return " and ".join(name for name, who in (("median", median), ("worst", worst)) if who == "baseline")


def _number(value: float) -> str:
    return "-" if pd.isna(value) else f"{value:,.0f}" if abs(value) >= 1e6 else f"{value:,.6g}"


def _line(cells: Sequence[str]) -> str:
    name, published, predicted, error, verdict = cells
    return f"  {textwrap.shorten(name, NAME, placeholder='...'):<{NAME}} {published:>9} {predicted:>9} {error:>7}  {verdict}"


def _aligned(table: Sequence[Sequence[object]], left: Sequence[int] = (0,)) -> list[str]:
    """Lines of a small table, numbers to the right."""
    cells = [[str(cell) for cell in row] for row in table]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "  "
        + "  ".join(
            cell.ljust(width) if n in left else cell.rjust(width)
            for n, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]


def _wrapped(sentence: str, indent: str) -> str:
    return textwrap.fill(
        sentence, WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
    )
