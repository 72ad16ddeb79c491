"""The way of a packet through a run, and what it costs in each configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import pandas as pd

from nicperf import charts

if TYPE_CHECKING:
    from nicperf.experiments import Experiment

# Order in which a packet meets the operations. CPU work stands in the lane of its context, DMA in the bus's.
SENDER = (
    *("syscall", "page", "copy", "checksum", "skb_alloc", "udp", "tcp_output", "ip_fragment", "ip_output"),
    *("qdisc", "gso_segment", "linearize", "driver_xmit", "mmio_write", "tx_descriptor_read", "tx_data_read"),
    *("tx_writeback", "dma_set_up", "rx_descriptor_read", "rx_data_write", "rx_writeback"),
    *("irq_entry", "irq_shared_handler", "mmio_read", "softirq", "napi_poll", "tx_reap", "skb_free"),
    *("rx_reap", "rx_refill", "netif_rx", "ip_input", "tcp_input", "wakeup"),
)
RECEIVER = (
    *("rx_descriptor_read", "rx_data_write", "rx_writeback", "irq_entry", "irq_shared_handler", "mmio_read"),
    *("softirq", "napi_poll", "rx_reap", "skb_alloc", "rx_refill", "mmio_write", "netif_rx", "ip_input"),
    *("ip_reassemble", "udp", "tcp_input", "wakeup", "syscall", "copy", "checksum", "page", "skb_free"),
    *(
        "tcp_output",
        "ip_output",
        "qdisc",
        "driver_xmit",
        "tx_descriptor_read",
        "tx_data_read",
        "tx_writeback",
    ),
    "tx_reap",
)
LANES = {"process": 0, "soft_irq": 1, "hard_irq": 2, "bus": 3}
# A step that is neither 2 % of the dearest nor changed by a patch would only lengthen the drawing.
SMALL = 0.02
CHANGED = 0.1


def costs(exp: Experiment, workload: str) -> alt.FacetChart:
    """Draw the CPU time of a frame in every configuration, side by side."""
    return charts.costs(_joined(exp, workload, "costs"), by="configuration")


def bus(exp: Experiment, workload: str) -> alt.FacetChart:
    """Draw the bus time of a frame in every configuration, side by side."""
    return charts.bus(_joined(exp, workload, "bus"), by="configuration")


def path(run: Any, before: Any = None, *, title: str = "") -> alt.VConcatChart:
    """Draw the steps of a packet in a run, with the time that each takes.

    Parameters
    ----------
    run : nicperf.simulation.Run
        The run whose costs are drawn.
    before : nicperf.simulation.Run, optional
        Another run; steps that cost a tenth more or less in `run` are highlighted.
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
    order = {"local": SENDER, "remote": RECEIVER}
    rows["place"] = [
        _place(order[side], operation)
        for side, operation in zip(rows["side"], rows["operation"], strict=True)
    ]
    rows["lane"] = rows["context"].map(LANES)
    return rows.sort_values(["side", "place", "lane"], kind="stable")[columns].reset_index(drop=True)


def _joined(exp: Experiment, workload: str, table: str) -> pd.DataFrame:
    runs = {name: exp.simulate(name, workload) for name in exp.configurations}
    return pd.concat(
        [getattr(run, table).assign(configuration=name) for name, run in runs.items()], ignore_index=True
    )


def _place(order: tuple[str, ...], operation: str) -> int:
    return order.index(operation) if operation in order else len(order)
