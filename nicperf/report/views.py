"""Tables of an experiment: its figures, claims, assumptions, arithmetic and fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pandas as pd

from nicperf import published
from nicperf.experiments.significance import significance as nic_significance
from nicperf.report.table import Table

if TYPE_CHECKING:
    from nicperf.experiments import Experiment


# Quantities of the lines that a tool prints while it runs: many, and each summed up by a line at the end.
INTERVAL = "interval_"
BOUNDS = ("wire_ceiling", "littles_law")


class Tables(tuple[Table, ...]):
    """Tables shown one below the other."""

    def __repr__(self) -> str:
        return "\n".join(map(repr, self))

    def _repr_html_(self) -> str:
        return "".join(table._repr_html_() for table in self)


def figures(exp: Experiment | str) -> Tables:
    """Published figures with the role of each: what was measured, and folded below it everything else.

    Parameters
    ----------
    exp : Experiment or str
        An experiment or a slug.

    Returns
    -------
    Tables
        Numbers are shown as they were printed, with the place of each in the raw output.
    """
    frame = published.figures(_slug(exp))
    frame["printed"] = frame["value_text"]
    frame["printed in"] = frame["raw_file"] + ":" + frame["raw_line"].astype(str)
    columns = ["configuration", "workload", "side", "quantity", "printed", "unit", "role", "printed in"]
    judged = frame["role"].isin(["fit", "held_out"])
    rest = ~judged & ~frame["quantity"].str.startswith(INTERVAL)
    others = f"Settings, counts and derived figures ({rest.sum()} rows{_left_out(~judged & ~rest)})"
    return Tables(
        [
            Table(
                frame.loc[judged, columns], f"Figures that the model must answer for ({judged.sum()} rows)"
            ),
            Table(frame.loc[rest, columns], others, folded=True),
        ]
    )


def claims(exp: Experiment | str) -> Table:
    """Claims of the thread in our own words, and what would refute each."""
    frame = published.claims(_slug(exp))
    frame["rests on"] = [f"{len(ids)} figures" if ids else None for ids in frame["figures"]]
    titles = {"statement": "claim", "place": "where", "refuted_by": "refuted by"}
    return Table(frame[["statement", "place", "rests on", "refuted_by"]], titles=titles)


def consistency(exp: Experiment | str) -> Tables:
    """Arithmetic of the published figures: what does not add up, and folded below it what does.

    Parameters
    ----------
    exp : Experiment or str
        An experiment or a slug.

    Returns
    -------
    Tables
    """
    frame = published.consistency(_slug(exp)).drop(columns="slug")
    good = frame["verdict"] == "consistent"
    summary = frame.groupby("check", sort=False).agg(
        checks=("verdict", "size"),
        consistent=("verdict", lambda v: int((v == "consistent").sum())),
        largest=("error_percent", lambda e: e.abs().max()),
    )
    # Of an upper bound the distance is no error.
    summary.loc[summary.index.isin(BOUNDS), "largest"] = float("nan")
    tables = [Table(summary.reset_index(), "Checks by kind", {"largest": "largest error (%)"})]
    if not good.all():
        tables.append(Table(frame[~good], f"What does not add up ({(~good).sum()} rows)"))
    told = good & ~frame["subject"].str.contains(f".{INTERVAL}", regex=False)
    caption = f"What adds up ({told.sum()} rows{_left_out(good & ~told)})"
    tables.append(Table(frame[told].drop(columns="why"), caption, folded=True))
    return Tables(tables)


def parameters(exp: Experiment) -> Tables:
    """Assumptions with value, unit, origin and source; fitted ones with the range that the figures leave."""
    frame = exp.parameters
    fitted = frame["origin"] == "fitted"
    ranges = ["low", "high", "prior_low", "prior_high"]
    common = ["name", "value", "unit", "origin", "source"]
    titles = {"prior_low": "prior from", "prior_high": "prior to", "low": "from", "high": "to"}
    found = frame.loc[fitted, ["name", "value", "unit", *ranges, "source"]]
    return Tables(
        [
            Table(found, f"Fitted: {fitted.sum()} parameters", titles),
            Table(frame.loc[~fitted, common], f"Not fitted: {(~fitted).sum()} assumptions"),
        ]
    )


def residuals(exp: Experiment) -> Table:
    """Fitted figures beside what the fit makes of them."""
    titles = {"misses_of_tolerance": "miss / tolerance", "error_percent": "error (%)"}
    return Table(exp.fit.residuals, "Fitted figures", titles)


def writes(exp: Experiment, workloads: Sequence[str], configurations: Sequence[str]) -> Table:
    """What the writes of a TCP sender become on the wire.

    Parameters
    ----------
    exp : Experiment
        With a stored fit.
    workloads, configurations : sequence of str
        Each pair is run.

    Returns
    -------
    Table
        Writes and packets per second, payload of a packet, busy CPUs, and the share of packets that the
        receiver's driver copied into a small buffer.
    """
    rows = []
    for workload in workloads:
        for configuration in configurations:
            run = exp.simulate(configuration, workload)
            message_bytes = exp.scenario(configuration, workload)["params"]["workload.message_bytes"]
            counted = run.counters.query("side == 'remote'").set_index("counter")["value"]
            bytes_per_s = run.summary["sent_mbit_s"] * 1e6 / 8
            rows.append(
                {
                    "workload": workload,
                    "configuration": configuration,
                    "bytes per write": f"{message_bytes:,}",
                    "writes per s": bytes_per_s / message_bytes,
                    "packets per s": run.summary["frames_per_s"],
                    "payload bytes per packet": bytes_per_s / run.summary["frames_per_s"],
                    "Mbit/s": run.summary["throughput_mbit_s"],
                    "CPU, sender (%)": run.summary["cpu_percent_local"],
                    "CPU, receiver (%)": run.summary["cpu_percent_remote"],
                    "copied (%)": 100 * counted["copybreaks"] / counted["rx_frames"],
                }
            )
    return Table(pd.DataFrame(rows), "What writes become")


def ledger(frame: pd.DataFrame, *, caption: str = "", folded: bool = False) -> Table:
    """Ledger rows with verdicts, the reason for each and no columns that only programs need.

    Parameters
    ----------
    frame : pandas.DataFrame
        From `Experiment.ledger`, or several of them with a column `slug` in front.
    caption : str
        One line above the table.
    folded : bool
        Show the caption only until the reader opens the table.

    Returns
    -------
    Table
    """
    columns = ["slug", "id", "role", "published", "predicted", "unit", "error_percent", "verdict", "why"]
    shown = frame[[c for c in columns if c in frame.columns]].dropna(axis="columns", how="all")
    return Table(shown, caption, {"error_percent": "error (%)", "slug": "experiment"}, folded)


def _left_out(rows: pd.Series) -> str:
    """Says how many lines of single intervals a table does not repeat."""
    return f"; {rows.sum()} more of single intervals stand in figures.csv" if rows.any() else ""


def significance(exp: Experiment | str, first: str = "off", second: str = "on") -> Table:
    """Differences between two configurations that were printed with deviations, and which of them are more than luck.

    Parameters
    ----------
    exp : Experiment or str
        An experiment or a slug.
    first, second : str
        Configurations.

    Returns
    -------
    Table
        Welch's t and p, corrected for the number of rows, beside what the post says of the pair.
    """
    frame = nic_significance(_slug(exp), first, second)
    frame["the post"] = frame["called_equal"].map({True: "no difference", False: ""})
    columns = [
        "workload",
        "quantity",
        "value_first",
        "value_second",
        "delta_percent",
        "t",
        "p_holm",
        "significant",
        "the post",
    ]
    titles = {
        "value_first": first,
        "value_second": second,
        "delta_percent": "change (%)",
        "p_holm": "p, corrected",
    }
    return Table(frame[columns], f"{first} against {second}: Welch's test, ten runs each", titles)


def _slug(exp: Experiment | str) -> str:
    return exp if isinstance(exp, str) else exp.slug
