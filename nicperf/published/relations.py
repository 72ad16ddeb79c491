"""Equations between printed numbers, and the unit that a column must have for them to hold.

A relation holds if what it gives overlaps what was printed, both as intervals of rounding. If it does not,
the unit of its rate may be wrong: when exactly one power of 1000 mends the equation, that is the finding.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

from nicperf.published.finding import CANNOT_TELL, CONSISTENT, INCONSISTENT, Finding, number
from nicperf.published.group import Figure, Group
from nicperf.published.interval import Interval
from nicperf.units import convert, scaled

_SLIPS = [Fraction(1000) ** power for power in (-3, -2, -1, 1, 2, 3)]
_ZERO = Interval(0.0, 0.0)


def service_demand(group: Group) -> Iterator[Finding]:
    """Processor time for each KiB: busy share / rate.

    netperf charges both sides to the bytes that arrived, so the receiver's rate counts where there are two.
    """
    rate = group.first("throughput_mbit_s", "remote", "local")
    for busy in group.all("cpu_percent"):
        demand = group.first("service_demand_us_per_kb", busy.side)
        cpus = group.source.hosts[busy.side].cpus
        if rate is None:
            yield _cannot_tell("service_demand", busy, "no rate is published beside it, so no cost follows")
        elif demand is not None and cpus is not None:
            share = busy.within("1") * (cpus * convert(1.0, "s/Mbit", "us/KiB"))
            yield from _relate("service_demand", demand, rate, share, "busy time / rate")


def rate_from_messages(group: Group) -> Iterator[Finding]:
    """Rate: messages x size / time; the receiver's messages are as long as the sender's."""
    size = group.first("message_size_bytes", "local")
    for count in group.all("messages"):
        rate = group.first("throughput_mbit_s", count.side)
        time = group.first("elapsed_s", count.side)
        if size is not None and rate is not None and time is not None:
            mbit = count.value * size.value * convert(1.0, "B", "Mbit")  # both are exact counts
            given = Interval(mbit, mbit) / time.printed
            yield from _relate("rate_from_messages", rate, rate, given, "messages x size / time")


def rate_from_transfer(group: Group) -> Iterator[Finding]:
    """Rate: amount / time, all three from one line."""
    amounts = {figure.line: figure for figure in group.all("transfer_mib", "interval_transfer_mib")}
    for rate in group.all("throughput_mbit_s", "interval_throughput_mbit_s"):
        amount = amounts.get(rate.line)
        if amount is not None and rate.elapsed_s is not None:
            given = amount.within("Mbit") / rate.elapsed_s
            yield from _relate("rate_from_transfer", rate, rate, given, "amount / time")


def sum_of_intervals(group: Group) -> Iterator[Finding]:
    """Amount of the whole run: that of its intervals, and what may still flow after the last of them."""
    total = group.first("transfer_mib", "local")
    rate = group.first("throughput_mbit_s", "local")
    parts = group.all("interval_transfer_mib")
    if total is None or rate is None or total.elapsed_s is None or not parts:
        return
    amount, time = _ZERO, _ZERO
    for part in parts:
        amount += part.printed
        time += part.elapsed_s or _ZERO
    tail_s = max(total.elapsed_s.high - time.low, 0.0)
    amount += Interval(0.0, tail_s * rate.within("MiB/s").high)
    yield from _relate("sum_of_intervals", total, total, amount, f"the sum of {len(parts)} intervals")


def cycles_per_byte(group: Group) -> Iterator[Finding]:
    """Cycles for each byte: cycles of all processors / (rate x duration)."""
    duration_s = group.source.workloads[group.workload].duration_s
    for demand in group.all("demand_cycle_per_byte"):
        rate = next((f for f in group.figures if "throughput" in f.quantity and f.side == demand.side), None)
        spent = [f for f in group.figures if f.unit == "Gcycle" and f.side == demand.side]
        if rate is None or not spent or duration_s is None:
            yield _cannot_tell(
                "cycles_per_byte", demand, "no cycles, rate and duration are published beside it"
            )
            continue
        cycles = sum((figure.within("cycle") for figure in spent), _ZERO)
        given = cycles * (1 / (duration_s * convert(1.0, rate.unit, "B/s")))
        yield from _relate("cycles_per_byte", demand, rate, given, "cycles / (rate x duration)")


def _relate(check: str, claimed: Figure, rate: Figure, given: Interval, formula: str) -> Iterator[Finding]:
    """Compare a figure with `given`, or with `given` / rate where the figure is not the rate itself."""

    def sides(factor: Fraction) -> tuple[Interval, Interval]:
        read = rate.printed * float(factor)
        return (read, given) if claimed is rate else (claimed.printed, given / read)

    def holds(factor: Fraction) -> bool:
        left, right = sides(factor)
        return left.overlaps(right)

    factor, unit = Fraction(1), None
    if not holds(factor):
        mending = [slip for slip in _SLIPS if holds(slip)]
        unit = scaled(rate.unit, mending[0]) if len(mending) == 1 else None
    if unit is not None:
        as_printed = sides(factor)
        factor = mending[0]
        yield Finding(
            check="unit",
            subject=rate.id,
            published=rate.value,
            recomputed=float(Fraction(rate.value) * factor),
            unit=rate.unit,
            verdict=INCONSISTENT,
            why=f"with the rate in {rate.unit}, {formula} gives {number(as_printed[1].middle)} {claimed.unit}"
            f" against {number(as_printed[0].middle)}; of the powers of 1000 only {number(float(factor))}"
            f" agrees: the figure counts {unit}",
        )
    left, right = sides(factor)
    read_as = f" with the rate read as {unit}" if unit else ""
    yield Finding(
        check=check,
        subject=claimed.id,
        published=float(Fraction(claimed.value) * factor) if claimed is rate else claimed.value,
        recomputed=right.middle,
        unit=claimed.unit,
        verdict=CONSISTENT if left.overlaps(right) else INCONSISTENT,
        why=f"{formula}{read_as} is {number(right.low)} to {number(right.high)} {claimed.unit} by the printed"
        f" digits; the figure is {number(left.low)} to {number(left.high)}",
    )


def _cannot_tell(check: str, figure: Figure, why: str) -> Finding:
    return Finding(check, figure.id, figure.value, math.nan, figure.unit, CANNOT_TELL, why)
