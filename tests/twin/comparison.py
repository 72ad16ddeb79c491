"""Core and twin side by side: the events one by one, then every counter."""

from collections import Counter
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from nicperf.engine.ledger import CONTEXTS
from nicperf.simulation._run import QUEUE_NAMES, Simulation
from nicperf.simulation.scenario import Scenario, host_spec, scenario
from nicperf.simulation.systems import SIDES

from ..observed import NAMES, SLOTS
from .simulator import HARD, IDLE, PROCESS, RX, SOFT, TX, Host, Twin

LONGEST_PS = 10**12
NOT_KEPT = {"allocated", "freed"}  # the twin has no pool of frames
COLUMNS = ("time_ps", "slot", *(f"{side}.{queue}" for side in SIDES for queue in QUEUE_NAMES))


class Difference(AssertionError):
    """Core and twin disagree; the message tells where first, and ends with a program that shows it."""


def compare(
    workload: str, settings: Mapping[str, Any], seed: int = 0, events: int = 1000, twin: type[Twin] = Twin
) -> Twin:
    """Execute the first events of a scenario in both (and those at the same instant as the last of them).

    Raises
    ------
    Difference
    """
    sc = scenario("velocity", workload, settings, seed=seed)
    trace = _core(sc, LONGEST_PS, events)[2]
    until_ps = int(trace[-1, 0]) if len(trace) == events else LONGEST_PS
    rows, latency, trace = _core(sc, until_ps, 2 * events)
    other = twin(seed, [parameters(sc, side) for side in SIDES])
    other.run(until_ps, 2 * events)
    core = [tuple(event) for event in trace.tolist()]
    differences = []
    if core != other.trace:
        last = max(len(core), len(other.trace))
        events = next(i for i in range(last) if core[i : i + 1] != other.trace[i : i + 1]) + 1
        parts = (("both", core, events - 2), ("core", core, events - 1), ("twin", other.trace, events - 1))
        differences = [f"{name} {_event(trace, i)}" for name, trace, i in parts]
    else:
        for side, row, buckets, host in zip(
            SIDES, rows[-1].tolist(), latency.tolist(), other.hosts, strict=True
        ):
            differences += _of_totals(side, row, buckets, totals(host) | {"events": len(core)})
    if differences:
        program = f"compare({workload!r}, {dict(settings)!r}, seed={seed}, events={events})"
        program = f"from tests.twin.comparison import compare\n\n{program}"
        raise Difference("\n".join([*differences, "", "# Run at the top of the checkout:", program]))
    return other


def _core(sc: Scenario, until_ps: int, events: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    hosts = (host_spec(sc, side) for side in SIDES)
    return Simulation(sc.driver, *hosts, sc.workload, sc.seed).run(0, until_ps, 1, events)


def _of_totals(side: str, row: list[int], buckets: list[int], twin: Mapping[str, int]) -> list[str]:
    core = dict(zip(NAMES, row, strict=True)) | {f"latency[{i}]": n for i, n in enumerate(buckets) if n}
    names = [name for name in core | twin if name in core or name.startswith("latency[")]
    pairs = {name: (core.get(name, 0), twin.get(name, 0)) for name in names if name not in NOT_KEPT}
    return [f"{side}.{name}: core {a}, twin {b}" for name, (a, b) in pairs.items() if a != b]


def _event(trace: Any, i: int) -> str:
    if not 0 <= i < len(trace):
        return f"event {i}: none"
    event = dict(zip(COLUMNS, trace[i], strict=True))
    slot = event.pop("slot")
    where = f"{SIDES[slot // len(SLOTS)]}.{SLOTS[slot % len(SLOTS)]}"
    lengths = " ".join(f"{name}={n}" for name, n in event.items() if n and name != "time_ps")
    return f"event {i}: {where} at {event['time_ps']} ps, then {lengths or 'all queues empty'}"


def parameters(sc: Scenario, side: str) -> dict[str, Any]:
    """All of a host by name; costs and times without their unit, in picoseconds (per byte, bus clock, byte on the wire)."""
    spec = host_spec(sc, side)
    mhz = spec.cpu.frequency_mhz / getattr(spec.cpu, "cycles_factor", 1)
    convert = {"cycles": lambda v: int(v * 1e6 / mhz + 0.5), "byte": lambda v: v * 1e6 / mhz}
    convert |= {"us": lambda v: int(v * 1e6), "ns": lambda v: int(v * 1e3)}
    p = {name: value for part in vars(spec).values() for name, value in vars(part).items()}
    for name, value in list(p.items()):
        stem, _, unit = name.rpartition("_")
        if unit in convert:
            p[stem.removesuffix("_cycles_per")] = convert[unit](value)
    spec = SimpleNamespace(**p)
    clock, arbitration = 1e6 / spec.clock_mhz, spec.arbitration_clocks
    # Of writes and of reads: where a burst ends, and its clocks besides its words and the arbitration.
    line = [n or 1 << 30 for n in (spec.write_line_bytes, spec.read_line_bytes)]
    overhead = [2 + spec.write_latency_clocks, 3 + spec.read_latency_clocks]
    burst_bytes = min(spec.latency_timer_clocks * spec.width_bytes, 4 * spec.dma_burst_dwords or 1 << 30)
    read_burst = int((min(burst_bytes, line[1]) / spec.width_bytes + arbitration + overhead[1]) * clock)
    address = spec.rx_buffer_address_mod_bytes
    # IP payload of each fragment of a datagram: all but the last a multiple of eight bytes.
    datagram, most = spec.message_bytes + 8, spec.mtu_bytes - 20
    step = datagram if datagram <= most else most // 8 * 8
    header = 34 if sc.workload == "udp_stream" else 54 + 12 * spec.tcp_timestamps
    mss = spec.mtu_bytes + 14 - header
    cached = spec.message_bytes * spec.send_buffers <= spec.last_cache_bytes
    return p | {
        "tcp": sc.workload != "udp_stream",
        "sendfile": sc.workload == "tcp_sendfile",
        "tx_scatter_gather": spec.tx_scatter_gather and sc.workload != "udp_stream",
        "irq_shared_handler": spec.irq_shared + spec.irq_shared_read,
        "napi_poll": spec.poll,
        "jitter": int(spec.jitter_percent / 100 * 65536),
        "byte": int(8e6 / spec.rate_mbit_s + 0.5),
        "clock": clock,
        "line": line,
        "overhead": overhead,
        "burst_bytes": burst_bytes,
        "read_burst": read_burst,
        "rx_offset": 0 if spec.rx_align_rule == "via" else 2 * address % 64,
        "header": header,
        "edge": spec.tcp_window_bytes,
        "mss": mss,
        "super_packet": max(spec.super_packet_bytes, mss) if spec.tx_scatter_gather else mss,
        "fragments": [min(step, datagram - at) for at in range(0, datagram, step)],
        "user_copy": spec.copy_cached if cached else spec.copy_cold,
    }


def totals(host: Host) -> dict[str, int]:
    """What the twin's host has counted, by the names of the core's counters."""
    delays = [now_ps - frame.born for now_ps, frame in host.delivered if frame.payload]
    # 16 buckets per octave: which one, the four bits after the leading one tell.
    shifts = [max(0, ps.bit_length() - 5) for ps in delays]
    buckets = Counter(16 * shift + (ps >> shift) for ps, shift in zip(delays, shifts, strict=True))
    tx_owned = len(host.posted) + len(host.tx_fifo)
    received = len(host.delivered) + len(host.backlog) + host.count["backlog_drops"] + len(host.filled)
    ledger = [(key, n) for key, n in host.count.items() if key[0] in ("ledger_ps", "calls")]
    return {
        **{name: n for name, n in host.count.items() if isinstance(name, str)},
        **{f"{kind}.{CONTEXTS[context]}.{name}": n for (kind, context, name), n in ledger},
        **{f"busy_ps.{name}": host.count["busy", 0, context] for context, name in enumerate(CONTEXTS)},
        **{f"latency[{bucket}]": n for bucket, n in buckets.items()},
        **dict(zip(QUEUE_NAMES, host.lengths(), strict=True)),
        "interrupts": host.count["calls", HARD, "irq_entry"],
        "softirqs": host.count["calls", SOFT, "softirq"],
        "polls": (host.count["calls", SOFT, "napi_poll"] + 1) // 2,
        "wakeups": host.count["calls", PROCESS, "wakeup"],
        "doorbells": host.count["tx_frames"],
        "tx_completions": host.count["tx_frames"] - tx_owned,
        "rx_frames": received,
        "acks_received": sum(not frame.payload for _, frame in host.delivered),
        "received_bytes": host.count["received_bytes"] + sum(getattr(host, "gathered", ())),
        "cpu_idle_ps": host.count["busy", 0, IDLE],
        "dma_busy_ps": host.count["busy", 1, RX] + host.count["busy", 1, TX],
        "dma_idle_ps": host.count["busy", 1, IDLE],
        "cpu_left_ps": sum(ps for job, ps in host.cpu.items() if job != IDLE),
        "dma_left_ps": sum(ps for job, ps in host.dma.items() if job != IDLE),
        "delivered": len(host.delivered),
        "latency_ps": sum(delays),
        "tx_done": len(host.sent),
        "tx_owned": tx_owned,
        "rx_credit": host.rx_free,
        "rx_owned": host.rx_free,
        "rx_returned": host.rx_taken,
    }
