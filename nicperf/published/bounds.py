"""Laws that no measurement can break: what a wire carries, and Little's law."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from itertools import pairwise

from nicperf.published.finding import CANNOT_TELL, CONSISTENT, IMPOSSIBLE, INCONSISTENT, Finding, number
from nicperf.published.group import Figure, Group
from nicperf.published.interval import Interval
from nicperf.tables.ethernet import wire_bytes
from nicperf.tables.ip import (
    IPV4_HEADER_BYTES,
    TCP_HEADER_BYTES,
    TCP_TIMESTAMPS_BYTES,
    tcp_packets,
    udp_packets,
)
from nicperf.units import convert


def wire_ceiling(group: Group, slips: Mapping[str, float]) -> Iterator[Finding]:
    """Rates and exchanges against the most that the link carries in one direction.

    Parameters
    ----------
    group : Group
        Figures of one test.
    slips : mapping of str to float
        Factor by which a figure's unit was found to be wrong, by figure id.

    Notes
    -----
    Acknowledgements are left out: they only lower the ceiling. Linux sends TCP timestamps by default; a
    figure above the ceiling with them and below the one without is left open. A client that counts what it
    wrote may show a send buffer more than the wire took; over whole seconds that is below 1 %.
    """
    link = group.source.link
    for figure in group.figures:
        shares = _goodput_shares(group, figure)
        if not shares:
            continue
        per_s = link.rate_mbit_s * convert(1.0, "Mbit/s", "B/s")
        # A rate counts payload bytes, an exchange is one.
        if figure.unit != "1/s":
            per_s *= convert(1.0, "B/s", figure.unit)
        ceilings = [share * per_s for share in shares]
        factor = slips.get(figure.id, 1.0)
        printed = figure.printed * factor
        if printed.low > max(ceilings):
            verdict = IMPOSSIBLE
        elif printed.high > min(ceilings):
            verdict = CANNOT_TELL
        else:
            verdict = CONSISTENT
        published = figure.value * factor
        unit = "exchanges/s" if figure.unit == "1/s" else figure.unit
        stamps = f" with TCP timestamps, {number(ceilings[1])} without" if len(ceilings) > 1 else ""
        yield Finding(
            check="wire_ceiling",
            subject=figure.id,
            published=published,
            recomputed=ceilings[0],
            unit=figure.unit,
            verdict=verdict,
            why=f"{number(published)} is {100 * published / ceilings[0]:.2f} % of {number(ceilings[0])}"
            f" {unit}, the most that {number(link.rate_mbit_s)} Mbit/s carry at MTU {link.mtu_bytes}{stamps}",
        )


def _goodput_shares(group: Group, figure: Figure) -> list[float]:
    """Payload bytes, or exchanges, for each byte time of the wire: with TCP timestamps, then without."""
    workload, mtu = group.source.workloads[group.workload], group.source.link.mtu_bytes
    if figure.quantity == "transactions_per_s" and workload.request_bytes and workload.response_bytes:
        # Each direction has the wire to itself; the longer message decides.
        longer = max(workload.request_bytes, workload.response_bytes)
        return [1 / _on_wire(tcp_packets(longer, mtu, timestamps=stamps)) for stamps in (True, False)]
    if "throughput" not in figure.quantity:
        return []
    if workload.protocol == "udp":
        size = group.first("message_size_bytes", "local")
        return [size.value / _on_wire(udp_packets(int(size.value), mtu))] if size else []
    headers = IPV4_HEADER_BYTES + TCP_HEADER_BYTES
    return [(mtu - headers - stamps) / wire_bytes(mtu) for stamps in (TCP_TIMESTAMPS_BYTES, 0)]


def _on_wire(packets: list[int]) -> int:
    return sum(map(wire_bytes, packets))


def littles_law(group: Group) -> Iterator[Finding]:
    """Mean latency of a closed loop, clients divided by rate, against what the percentiles leave room for.

    Notes
    -----
    At least, every exchange is as fast as the percentiles allow. At most, each is as slow as they allow, and
    those beyond the last percentile follow the Pareto law through the last two. A mean above that needs
    exchanges of another kind, such as stalls. That all exchanges entered the percentiles alike is assumed.
    """
    workload = group.source.workloads[group.workload]
    percentiles = _percentiles(group)
    for rate in group.all("transactions_per_s"):
        if workload.instances is None or len(percentiles) < 2:
            continue
        mean_us = (
            Interval(workload.instances, workload.instances) / rate.within("1/s") * convert(1.0, "s", "us")
        )
        least, body, share = _room(percentiles)
        (before, before_us), (_, last_us) = percentiles[-2:]
        stretch = last_us.high / before_us.low if before_us.low else math.inf
        most = body + share * last_us.high * _pareto_tail(share / (1 - before), stretch)
        needed_us = (mean_us.middle - body) / share
        if mean_us.high < least or (
            workload.duration_s and needed_us > convert(workload.duration_s, "s", "us")
        ):
            verdict = IMPOSSIBLE
        elif mean_us.low > most:
            verdict = INCONSISTENT
        else:
            verdict = CONSISTENT
        why = (
            f"{workload.instances} closed-loop clients at {number(rate.value)} exchanges/s have a mean"
            f" latency of {number(mean_us.middle)} us; the percentiles leave room for {number(least)} to"
            f" {number(most)} us"
        )
        if needed_us > last_us.high:
            why += (
                f": the slowest {100 * share:.3g} % would have to average {number(needed_us / 1000)} ms or"
                f" more, {needed_us / last_us.middle:.3g} times the last percentile"
            )
        yield Finding("littles_law", rate.id, mean_us.middle, most, "us", verdict, why)


def _percentiles(group: Group) -> list[tuple[float, Interval]]:
    found = []
    for figure in group.figures:
        if match := re.fullmatch(r"latency_p(\d\d)_us", figure.quantity):
            found.append((int(match[1]) / 100, figure.printed))
    return sorted(found, key=lambda entry: entry[0])


def _room(percentiles: list[tuple[float, Interval]]) -> tuple[float, float, float]:
    """Least mean of all; most that the exchanges up to the last percentile add to it; share beyond that."""
    edges = [(0.0, Interval(0.0, 0.0)), *percentiles]
    least = most = 0.0
    for (p0, slower_than), (p1, faster_than) in pairwise(edges):
        least += (p1 - p0) * slower_than.low
        most += (p1 - p0) * faster_than.high
    last, last_us = edges[-1]
    return least + (1 - last) * last_us.low, most, 1 - last


def _pareto_tail(share: float, stretch: float) -> float:
    """Mean beyond a percentile in units of it, where `share` of the exchanges are `stretch` times slower."""
    if stretch <= 1:
        return 1.0
    slope = math.log(1 / share) / math.log(stretch)
    return slope / (slope - 1) if slope > 1 else math.inf
