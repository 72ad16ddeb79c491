"""The way of a packet through a run, and what it costs in each configuration."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import altair as alt
import pandas as pd

from nicperf import charts
from nicperf.charts import labels
from nicperf.report.table import Table

if TYPE_CHECKING:
    from nicperf.experiments import Experiment

# Order in which a packet meets the operations; those of two contexts may name the one that comes at this place.
# CPU work stands in the lane of its context, DMA in the bus's.
SENDER = (
    *("syscall", "page", "copy", "checksum", "skb_alloc", "udp", "tcp_output", "ip_fragment", "ip_output"),
    *("qdisc", "gso_segment", "linearize", "driver_xmit", "mmio_write", "tx_descriptor_read", "tx_data_read"),
    *("tx_writeback", "dma_set_up", "rx_descriptor_read", "rx_data_write", "rx_writeback"),
    *("irq_entry", "irq_shared_handler", "mmio_read", "softirq", "napi_poll", "tx_reap", "skb_free"),
    *("rx_reap", "rx_refill", "netif_rx", "ip_input", "tcp_input", "wakeup"),
)
RECEIVER = (
    *("rx_descriptor_read", "rx_data_write", "rx_writeback", "irq_entry", "irq_shared_handler", "mmio_read"),
    *("softirq", "napi_poll", "rx_reap", "soft_irq dma_sync", "soft_irq page", "skb_alloc", "rx_refill"),
    *("build_skb", "turnover", "barrier", "mmio_write", "gro", "netif_rx", "xdp", "ip_input"),
    *("ip_reassemble", "udp", "tcp_input", "wakeup", "syscall", "copy", "checksum", "skb_free", "page"),
    *("dma_sync", "tcp_output", "ip_output", "qdisc", "driver_xmit", "dma_map", "tx_descriptor_read"),
    *("tx_data_read", "tx_writeback", "tx_reap"),
)
BOTH = ("local", "remote")
LANES = {"process": 0, "soft_irq": 1, "hard_irq": 2, "bus": 3}
# A step that is neither 2 % of the dearest nor changed by a patch would only lengthen the drawing.
SMALL = 0.02
CHANGED = 0.1


def costs(
    exp: Experiment,
    workloads: str | Sequence[str],
    configurations: Sequence[str] | None = None,
    *,
    sides: Sequence[str] = BOTH,
    title: str = "Where does the CPU time of a frame go?",
) -> alt.FacetChart:
    """Draw the CPU time of a frame in several configurations, or under several workloads, side by side.

    Parameters
    ----------
    exp : Experiment
        With a stored fit.
    workloads : str or sequence of str
        One workload, whose bars are the configurations, or several, which are the bars themselves.
    configurations : sequence of str, optional
        All of the experiment when not given; one where there are several workloads.
    sides : sequence of str
        Hosts to draw.
    title : str
        The question.

    Returns
    -------
    altair.FacetChart
        Where a rate of packets was published, the time that it leaves for one is drawn hollow.
    """
    names = configurations or list(exp.configurations)
    if isinstance(workloads, str):
        bars, by = [(name, name, workloads) for name in names], "configuration"
    else:
        bars, by = [(workload, names[0], workload) for workload in workloads], "workload"
    joined = _joined(exp, bars, by, "costs", sides)
    return charts.costs(joined, by=by, published=_packet_times(exp, bars), title=title)


def bus(exp: Experiment, workload: str) -> alt.FacetChart:
    """Draw the bus time of a frame in every configuration, side by side."""
    bars = [(name, name, workload) for name in exp.configurations]
    return charts.bus(_joined(exp, bars, "configuration", "bus", BOTH), by="configuration")


def steps(exp: Experiment, workload: str, configurations: Sequence[str], side: str = "remote") -> Table:
    """CPU time of each step of one host, a column for each configuration, in ns per frame.

    Parameters
    ----------
    exp : Experiment
        With a stored fit.
    workload : str
        One of the experiment.
    configurations : sequence of str
        Those to compare.
    side : str
        ``local`` or ``remote``.

    Returns
    -------
    Table
        In the order in which a packet meets the steps. What is small everywhere shares one row.
    """
    keys = ["context", "operation"]
    found = []
    for name in configurations:
        rows = steps_of(exp.simulate(name, workload))
        rows = rows[(rows["side"] == side) & (rows["context"] != "bus")]
        found.append(rows.set_index(keys)["ns_per_frame"].rename(name))
    joined = pd.concat(found, axis=1).fillna(0.0).reset_index()
    joined = _in_order(joined, [side] * len(joined))
    numbers = joined[list(configurations)]
    shown = numbers.max(axis=1) >= SMALL * numbers.max().max()
    for column in keys:
        joined[column] = joined[column].map(labels.spaced)
    lines = [
        joined[shown],
        pd.DataFrame([{"context": "all", "operation": "the rest", **numbers[~shown].sum()}]),
        pd.DataFrame([{"context": "all", "operation": "sum", **numbers.sum()}]),
    ]
    who = labels.SIDES[side]
    return Table(pd.concat(lines, ignore_index=True), f"CPU time of the {who}, ns per frame, {workload}")


def path(run: Any, before: Any = None, *, sides: Sequence[str] = BOTH, title: str = "") -> alt.VConcatChart:
    """Draw the steps of a packet in a run, with the time that each takes.

    Parameters
    ----------
    run : nicperf.simulation.Run
        The run whose costs are drawn.
    before : nicperf.simulation.Run, optional
        Another run; steps that cost a tenth more or less in `run` are highlighted.
    sides : sequence of str
        Hosts to draw.
    title : str
        The question.

    Returns
    -------
    altair.VConcatChart
    """
    steps = steps_of(run)
    if before is not None:
        earlier = steps_of(before).set_index(["side", "context", "operation"])["ns_per_frame"]
        keys = pd.MultiIndex.from_frame(steps[["side", "context", "operation"]])
        then = earlier.reindex(keys).fillna(0.0).to_numpy()
        now = steps["ns_per_frame"].to_numpy()
        largest = steps["ns_per_frame"].max()
        steps["changed"] = (abs(now - then) > CHANGED * then) & (abs(now - then) > SMALL * largest)
    steps = steps[steps["side"].isin(sides)]
    shown = steps[steps["ns_per_frame"] >= SMALL * steps["ns_per_frame"].max()]
    return charts.path(shown, title=title) if title else charts.path(shown)


def steps_of(run: Any) -> pd.DataFrame:
    """CPU and bus time of each operation, in the order in which a packet meets them.

    Returns
    -------
    pandas.DataFrame
        `side, context, operation, ns_per_frame`; operations of the same name and context are summed.
    """
    columns = ["side", "context", "operation", "ns_per_frame"]
    bus = run.bus.rename(columns={"use": "operation"}).assign(context="bus")
    rows = pd.concat([run.costs[columns], bus[columns]], ignore_index=True)
    rows = rows.groupby(columns[:3], sort=False, as_index=False)["ns_per_frame"].sum()
    return _in_order(rows, rows["side"])[columns]


def _in_order(rows: pd.DataFrame, sides: Iterable[str]) -> pd.DataFrame:
    """Rows with `context` and `operation`, as the packet meets them, one side after the other."""
    order = {"local": SENDER, "remote": RECEIVER}
    named = zip(sides, rows["context"], rows["operation"], strict=True)
    keys = [(side, _place(order[side], c, o), LANES.get(c, len(LANES))) for side, c, o in named]
    return rows.iloc[sorted(range(len(keys)), key=keys.__getitem__)].reset_index(drop=True)


def _joined(
    exp: Experiment, bars: Sequence[tuple[str, str, str]], by: str, table: str, sides: Sequence[str]
) -> pd.DataFrame:
    """One table of several runs; each bar is its name, configuration and workload."""
    runs = {bar: exp.simulate(configuration, workload) for bar, configuration, workload in bars}
    frame = pd.concat([getattr(run, table).assign(**{by: bar}) for bar, run in runs.items()])
    return frame[frame["side"].isin(sides)].reset_index(drop=True)


def _packet_times(exp: Experiment, bars: Sequence[tuple[str, str, str]]) -> dict[str, float]:
    """Published time per packet in ns, by bar."""
    judged = exp.figures["role"].isin(["fit", "held_out"]) & (exp.figures["quantity"] == "packets_per_s")
    known = exp.figures[judged].set_index(["configuration", "workload"])["value"]
    return {bar: 1e9 / known[c, w] for bar, c, w in bars if (c, w) in known.index}


def _place(order: tuple[str, ...], context: str, operation: str) -> int:
    for name in (f"{context} {operation}", operation):
        if name in order:
            return order.index(name)
    return len(order)
