"""Execute a scenario and read the result."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nicperf.engine.ledger import CONTEXTS, OPERATIONS
from nicperf.packets.capture import Capture
from nicperf.parts.bus import USES
from nicperf.simulation._run import Simulation
from nicperf.simulation.exchanges import PERCENTS, Exchanges
from nicperf.simulation.export import Exports
from nicperf.simulation.fidelity import DEFAULT_CAPTURE_FRAMES, wiretap_for
from nicperf.simulation.scenario import Scenario, host_spec, scenario, split_side
from nicperf.simulation.stopping import half_width, pauses
from nicperf.simulation.summary import HOST_COUNTERS, block_of, received_bytes, summarise
from nicperf.simulation.systems import SIDES, SYSTEMS, System

if TYPE_CHECKING:
    import pandas as pd

    from nicperf.packets._wiretap import Wiretap


@dataclass(frozen=True, eq=False)
class Run(Exports):
    """What one execution measured.

    Attributes
    ----------
    scenario : Scenario
        Exactly what was run; running it again gives the same bytes.
    rows : int64 array, shape (slices + 1, 2, n)
        Every counter of (local, remote) at the end of the warm-up and of each slice.
    latency : uint64 array, shape (2, buckets)
        Delivered data frames by time from the driver to the socket.
    capture : Capture or None
        What passed the wire, when the run carried bytes.
    exchanges : Exchanges or None
        What the instances of a closed loop measured.

    Notes
    -----
    Not modelled: how the tools sample. CPU percentages are exact busy time, where netperf reads 10 ms ticks.
    """

    scenario: Scenario
    rows: np.ndarray
    latency: np.ndarray
    capture: Capture | None = None
    exchanges: Exchanges | None = None

    @property
    def _system(self) -> System:
        return SYSTEMS[self.scenario.driver]

    def _block(self, name: str, side: int) -> np.ndarray:
        """Change of one block of counters over the measurement."""
        return self._slices(name, side).sum(axis=0)

    def _slices(self, name: str, side: int) -> np.ndarray:
        """Change of one block of counters per slice, shape (slices, width)."""
        return np.diff(block_of(self._system, self.rows[:, side], name), axis=0)

    def _host(self, side: int, counter: str) -> int:
        return int(self._block("host", side)[HOST_COUNTERS.index(counter)])

    def _device(self, side: int, counter: str) -> int:
        return int(self._block("device", side)[self._system.counters[side].index(counter)])

    @property
    def measured_s(self) -> float:
        """Simulated seconds measured: `duration_s` of the scenario, or less if its stopping rule ended it.

        Closed loops last from the start of their first instance to the end of the last one's window.
        """
        return self.exchanges.span_s if self.exchanges else measured_s(self.scenario, self.rows)

    @cached_property
    def half_width_percent(self) -> float:
        """Half width of the throughput's confidence interval, in percent of the throughput.

        By batch means over the slices (`nicperf.simulation.stopping`), with the confidence of the scenario's
        stopping rule; 95 % without one.
        """
        return half_width_percent(self.scenario, self.rows)

    @cached_property
    def data_frames(self) -> int:
        """Frames with payload that the sender posted during the measurement."""
        return self._host(0, "tx_frames")

    @cached_property
    def summary(self) -> dict[str, float]:
        """Headline figures, per second of simulated time: see `nicperf.simulation.summary.summarise`.

        A closed loop adds `transactions_per_s` (the sum of what the instances counted in their own windows),
        `transactions_per_s_of_the_whole` (over all the time that they took together), `latency_mean_us`,
        `latency_p50_us` and so on, `stalls_percent` (transactions that took 100 ms or longer) and `timeouts`.
        """
        figures = summarise(self._system, self.rows[-1] - self.rows[0], self.measured_s)
        if self.exchanges:
            figures |= self.exchanges.summary(self.scenario.host("local")["workload"].percentiles)
        return {name: float(value) for name, value in figures.items()}

    @cached_property
    def counters(self) -> pd.DataFrame:
        """Every counter: side, part, counter, value over the measurement (part ``bytes``: the whole run)."""
        import pandas as pd

        rows = []
        for i, side in enumerate(SIDES):
            parts = (("stack", "host", HOST_COUNTERS), ("driver", "device", self._system.counters[i]))
            for part, block, names in parts:
                rows += [(side, part, n, int(v)) for n, v in zip(names, self._block(block, i), strict=False)]
        if self.capture is not None:
            rows += self.capture.counters
        return pd.DataFrame(rows, columns=["side", "part", "counter", "value"])

    @cached_property
    def costs(self) -> pd.DataFrame:
        """CPU time by side, context and operation.

        Columns: side, context, operation, calls, cycles, ns_per_frame (per data frame), share (of the side's
        busy time). Rows that were never executed are left out.
        """
        import pandas as pd

        rows = []
        for i, side in enumerate(SIDES):
            ps = self._block("ledger_ps", i).reshape(len(CONTEXTS), -1)
            calls = self._block("ledger_calls", i).reshape(len(CONTEXTS), -1)
            mhz = self.scenario.host(side)["cpu"].frequency_mhz
            for c, context in enumerate(CONTEXTS):
                for o, operation in enumerate(OPERATIONS):
                    if calls[c, o]:
                        rows.append(
                            (side, context, operation, int(calls[c, o]), ps[c, o] * 1e-6 * mhz,
                             ps[c, o] / 1000 / max(self.data_frames, 1), ps[c, o] / ps.sum())
                        )  # fmt: skip
        return pd.DataFrame(
            rows, columns=["side", "context", "operation", "calls", "cycles", "ns_per_frame", "share"]
        )

    @cached_property
    def bus(self) -> pd.DataFrame:
        """Bus time by side and use: transactions, ns_per_frame (per data frame), share (of all time)."""
        import pandas as pd

        rows = []
        total_ps = self.measured_s * 1e12
        for i, side in enumerate(SIDES):
            uses = self._block("bus", i)
            for use, ps, n in zip(USES, uses[: len(USES)], uses[len(USES) :], strict=True):
                rows.append((side, use, int(n), ps / 1000 / max(self.data_frames, 1), ps / total_ps))
            gap_ps = self._device(i, "gap_ps")
            rows.append((side, "dma_set_up", 0, gap_ps / 1000 / max(self.data_frames, 1), gap_ps / total_ps))
        return pd.DataFrame(rows, columns=["side", "use", "transactions", "ns_per_frame", "share"])

    @cached_property
    def timeline(self) -> pd.DataFrame:
        """One row per slice: t_s (its end), throughput_mbit_s, and cpu_percent, interrupts_per_s by side."""
        import pandas as pd

        n = len(self.rows) - 1
        step_s = self.measured_s / n
        data: dict[str, Any] = {"t_s": step_s * np.arange(1, n + 1)}
        data["throughput_mbit_s"] = received_bytes(self.rows) * 8e-6 / step_s
        for i, side in enumerate(SIDES):
            data[f"cpu_percent_{side}"] = (
                self._slices("other", i)[:, : len(CONTEXTS)].sum(axis=1) * 1e-10 / step_s
            )
            data[f"interrupts_per_s_{side}"] = (
                self._slices("host", i)[:, HOST_COUNTERS.index("interrupts")] / step_s
            )
        return pd.DataFrame(data)

    @cached_property
    def percentiles(self) -> pd.DataFrame:
        """Latency of data frames from driver to receiving socket in us, known to 6 % (buckets).

        A closed loop adds that of its transactions, as netperf's histogram knows it, by both rules.
        """
        import pandas as pd

        counts = np.cumsum(self.latency[1])
        row: dict[str, Any] = {"quantity": "frame_latency_us"}
        for p in PERCENTS:
            bucket = int(np.searchsorted(counts, counts[-1] * p / 100)) if counts[-1] else 0
            octave, step = divmod(bucket, 16)
            row[f"p{p}"] = (float(bucket) if octave == 0 else (16 + step + 0.5) * 2.0 ** (octave - 1)) * 1e-6
        rows = [row]
        if self.exchanges:
            for how in ("mean_of_instances", "pooled"):
                latency = {f"p{p}": self.exchanges.latency_us(p, how) for p in PERCENTS}
                rows.append({"quantity": f"transaction_us_{how}", **latency})
        return pd.DataFrame(rows)

    @cached_property
    def elasticities(self) -> pd.DataFrame:
        """Percent of throughput per percent that one resource gets faster, each by a run of its own.

        Throughput is what the receiving socket got; where a workload delivers nothing there, as XDP does, the
        frames that the receiver took. Columns: resource, parameter, elasticity. A resource that limits has about
        1; several that share the limit add up to about 1.
        """
        import pandas as pd

        def elasticity(asked: tuple[str, bool]) -> float:
            name, is_speed = asked
            return self._relative(name, 1.0 + _STEP if is_speed else 1.0 / (1.0 + _STEP)) / _STEP

        resources = self._system.resources
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            found = list(pool.map(elasticity, resources.values()))
        rows = [
            (resource, name, e) for (resource, (name, _)), e in zip(resources.items(), found, strict=True)
        ]
        return pd.DataFrame(rows, columns=["resource", "parameter", "elasticity"])

    def _relative(self, name: str, factor: float) -> float:
        """Relative change of what the run achieved when a parameter is multiplied by `factor`."""
        side, rest = split_side(name)
        group, field = rest.split(".")
        value = getattr(self.scenario.host(side or SIDES[0])[group], field) * factor
        params = {**dict(self.scenario.settings)}
        params |= {f"{s}.{rest}": value for s in ([side] if side else SIDES)}
        other = simulate_scenario(
            scenario(
                self.scenario.driver, self.scenario.workload, params, seed=self.scenario.seed,
                duration_s=self.measured_s, warmup_s=self.scenario.warmup_s, slices=len(self.rows) - 1,
            )
        )  # fmt: skip
        rate = self._system.rate(self.scenario.workload)
        base = self.summary[rate]
        return other.summary[rate] / base - 1 if base else float("nan")

    @property
    def binding(self) -> str:
        """The resource with the largest elasticity: what limits this run; empty if it achieved nothing."""
        table = self.elasticities.dropna()
        if table.empty:
            return ""
        return str(table.resource.iloc[int(table.elasticity.to_numpy().argmax())])


#: Relative step of an elasticity: large against the noise of a run, small against the distance to the next
#: limit.
_STEP = 0.05


def measured_s(sc: Scenario, rows: np.ndarray) -> float:
    """Simulated seconds that the rows of a run span: see `Run.measured_s`."""
    return sc.duration_s * ((len(rows) - 1) / sc.slices)


def half_width_percent(sc: Scenario, rows: np.ndarray) -> float:
    """How well the rows of a run tell the throughput: see `Run.half_width_percent`."""
    slices = received_bytes(rows)
    width = half_width(slices, sc.stopping.confidence if sc.stopping else 0.95)
    return 100 * width / float(slices.mean()) if slices.any() else math.nan


class Outcome(NamedTuple):
    """What an execution leaves: rows, latency and exchanges as `Run` holds them, and the seconds that the rows span."""

    rows: np.ndarray
    latency: np.ndarray
    measured_s: float
    exchanges: Exchanges | None


def execute(sc: Scenario, local: Any, remote: Any, seed: int, wiretap: Wiretap | None = None) -> Outcome:
    """Execute a checked scenario; its hosts (`host_spec`) and seed are given apart, as a sweep varies them.

    With a wiretap the frames are real, and it records them.
    """
    simulation = Simulation(sc.driver, local, remote, sc.workload, seed, wiretap)
    if sc.workload in SYSTEMS[sc.driver].closed_loops:
        window_s = local.workload.window_s
        span_s = window_s + local.workload.start_skew_s
        rows, latency, _ = simulation.run(0, round(span_s * 1e12 / sc.slices), sc.slices)
        exchanges = Exchanges(window_s, span_s, *simulation.exchanges())
        return Outcome(rows, latency, span_s, exchanges)
    slice_ps = round(sc.duration_s * 1e12 / sc.slices)
    first, *later = pauses(sc.slices) if sc.stopping else [sc.slices]
    rows, latency, _ = simulation.run(round(sc.warmup_s * 1e12), slice_ps, first)
    for n in later:
        if sc.stopping and sc.stopping.satisfied(received_bytes(rows)):
            break
        more, latency = simulation.extend(slice_ps, n + 1 - len(rows))
        rows = np.concatenate([rows, more])
    return Outcome(rows, latency, measured_s(sc, rows), None)


def simulate_scenario(
    sc: Scenario, fidelity: str = "timing", capture_frames: int = DEFAULT_CAPTURE_FRAMES
) -> Run:
    """Execute a checked scenario."""
    wiretap = wiretap_for(sc.driver, sc.workload, fidelity, capture_frames)
    done = execute(sc, host_spec(sc, "local"), host_spec(sc, "remote"), sc.seed, wiretap)
    capture = None if wiretap is None else Capture.of(wiretap)
    return Run(sc, done.rows, done.latency, capture, done.exchanges)


def simulate(
    driver: str = "velocity",
    workload: str = "tcp_stream",
    params: Mapping[str, Any] | None = None,
    *,
    seed: int = 0,
    duration_s: float = 0.25,
    warmup_s: float = 0.05,
    slices: int | None = None,
    stop_width: float | None = None,
    confidence: float = 0.95,
    fidelity: str = "timing",
    capture_frames: int = DEFAULT_CAPTURE_FRAMES,
) -> Run:
    """Run one scenario from its dotted parameters.

    Parameters
    ----------
    driver : str
        Model of the data path; ``"velocity"``.
    workload : {"udp_stream", "tcp_stream", "tcp_sendfile"}
    params : mapping, optional
        Dotted name -> value; see `scenario`. What is not named keeps the default of its part.
    seed : int
        Seed of all random streams.
    duration_s, warmup_s : float
        Simulated seconds measured, and discarded before.
    slices : int, optional
        Rows of the timeline, equal parts of `duration_s`: 10, or 1000 with `stop_width`.
    stop_width : float, optional
        End the run before `duration_s` once the confidence interval of the throughput reaches no further
        than this to either side, relative to the throughput: 0.005 is 0.5 %. By batch means over the slices;
        the rule and its limits stand in `nicperf.simulation.stopping`. `Run.half_width_percent` tells what
        was reached, `Run.measured_s` what it took.
    confidence : float
        Of that interval.
    fidelity : {"timing", "bytes"}
        ``bytes`` carries real frames: the same figures, slower, and `Run.to_pcapng` has something to write.
    capture_frames : int
        Most frames to keep of a run with bytes, from the start of the warm-up on: 1.5 KB each.

    Returns
    -------
    Run

    Raises
    ------
    ScenarioError
        Unknown name, wrong type or a value out of range; bytes in a system without hosts that carry them.

    Examples
    --------
    >>> run = simulate("velocity", "tcp_stream", {"local.driver.napi": True})
    >>> run.summary["throughput_mbit_s"] > 100
    True
    """
    return simulate_scenario(
        scenario(
            driver,
            workload,
            params,
            seed=seed,
            duration_s=duration_s,
            warmup_s=warmup_s,
            slices=slices,
            stop_width=stop_width,
            confidence=confidence,
        ),
        fidelity,
        capture_frames,
    )
