"""Four ways to predict a row without a mechanism. Whatever a model is worth shows against these, on the same rows.

no_change
    The figure stays what it is in the reference configuration: same workload, side and quantity.
wire_ceiling
    Throughputs, packets and exchanges are what the wire carries at most (`nicperf.analytic.ceilings`).
regression
    Linear least squares over the fitted rows of the same quantity. The response is the logarithm of the figure: effects
    multiply, a cost and its rate are alike, and nothing gets negative. The columns are an indicator for each
    configuration, each workload and each side, and the logarithm of the message size.
nearest_row
    The fitted row of the same quantity whose scenario differs in the fewest settings.

All see the rows that may be fitted, and of the row that they predict its names. So `no_change` is silent where the figure
before the change is held out itself.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from nicperf.analytic.ceilings import frames_per_s, tcp_goodput_mbit_s, udp_goodput_mbit_s, wire_bytes
from nicperf.experiments.config import ExperimentConfig, Setting
from nicperf.experiments.predict import Row, rows_of
from nicperf.experiments.quantities import MESSAGE
from nicperf.experiments.scenario import Specs, plain, settings
from nicperf.experiments.space import Array
from nicperf.published import require_fit
from nicperf.tables.ethernet import HEADER_BYTES
from nicperf.tables.ip import tcp_packets
from nicperf.units import convert, stem_of, unit_of

BASELINES = ("no_change", "wire_ceiling", "regression", "nearest_row")


class Baselines:
    """Predicts rows from the rows that may be fitted.

    Parameters
    ----------
    config : ExperimentConfig
        The experiment.
    specs : mapping
        The model's parameters, for what the experiment leaves at its default: rate and MTU of the wire.
    figures : DataFrame
        Published rows of role ``fit`` and no others.

    Raises
    ------
    RoleError
        A row whose role is not ``fit``.
    """

    def __init__(self, config: ExperimentConfig, specs: Specs, figures: pd.DataFrame) -> None:
        require_fit(figures)
        self._config = config
        self._specs = specs
        self._known = list(zip(rows_of(figures), figures["value"].astype(float), strict=True))

    def predict(self, rows: Sequence[Row]) -> pd.DataFrame:
        """Predict rows that the experiment has scenarios for.

        Parameters
        ----------
        rows : sequence of Row
            Names only.

        Returns
        -------
        DataFrame
            One line for each row, one column for each of `BASELINES`, in the row's unit; NaN where a baseline
            has nothing to say.
        """
        lines = [[self._value(name, row) for name in BASELINES] for row in rows]
        return pd.DataFrame(lines, columns=list(BASELINES), dtype=float)

    def _value(self, name: str, row: Row) -> float:
        value: float = getattr(self, f"_{name}")(row)
        return value

    def _no_change(self, row: Row) -> float:
        config = self._config
        place = (config.reference, row.workload, row.side, row.quantity)
        values = [v for r, v in self._known if (r.configuration, r.workload, r.side, r.quantity) == place]
        return values[0] if values and row.configuration != config.reference else math.nan

    def _wire_ceiling(self, row: Row) -> float:
        if row.workload not in self._config.workloads:  # a session has no one ceiling
            return math.nan
        chosen = {**{name: spec.default for name, spec in self._specs.items()}, **self._scenario(row)}
        if "wire.rate_mbit_s" not in chosen:  # a model without a wire
            return math.nan
        kind = self._config.workload(row.workload).workload
        link_mbit_s, mtu_bytes = float(chosen["wire.rate_mbit_s"]), int(chosen["wire.mtu_bytes"])
        message_bytes = int(chosen.get(MESSAGE, 0))
        if kind.startswith("udp"):
            goodput_mbit_s = udp_goodput_mbit_s(message_bytes, mtu_bytes, link_mbit_s)
        else:
            goodput_mbit_s = tcp_goodput_mbit_s(mtu_bytes, link_mbit_s)
        stem, unit = stem_of(row.quantity), unit_of(row.quantity)
        if stem == "throughput":
            return convert(goodput_mbit_s, "Mbit/s", unit)
        if stem == "messages":
            return goodput_mbit_s * 1e6 / 8 / message_bytes * self._config.workload(row.workload).elapsed_s
        if stem == "packets" and kind == "xdp":
            return convert(
                frames_per_s(int(chosen["pktgen.frame_bytes"]) - HEADER_BYTES, link_mbit_s), "1/s", unit
            )
        longer = max(int(chosen.get(f"workload.{part}_bytes", 0)) for part in ("request", "response"))
        if stem == "transactions" and longer:  # each direction has the wire to itself
            packets = tcp_packets(longer, mtu_bytes, timestamps=True)
            return convert(link_mbit_s * 1e6 / 8 / sum(map(wire_bytes, packets)), "1/s", unit)
        return math.nan

    def _regression(self, row: Row) -> float:
        known = self._same_quantity(row)
        if not known:
            return math.nan
        logarithms = np.log([value for _, value in known])
        columns = np.array([self._features(other, known) for other, _ in known])
        centre = columns.mean(axis=0)
        # Of all solutions the one of least norm: an indicator that no fitted row has gets no weight.
        weights, *_ = np.linalg.lstsq(columns - centre, logarithms - logarithms.mean(), rcond=None)
        return float(np.exp(logarithms.mean() + (self._features(row, known) - centre) @ weights))

    def _nearest_row(self, row: Row) -> float:
        known = self._same_quantity(row)
        if not known:
            return math.nan
        here = self._settings(row)

        def distance(other: Row) -> tuple[bool, int]:
            # The other host is further away than any setting; ties go to the row that stands first.
            return other.side != row.side, len(self._settings(other) ^ here)

        return min(known, key=lambda pair: distance(pair[0]))[1]

    def _same_quantity(self, row: Row) -> list[tuple[Row, float]]:
        """Fitted rows of this quantity, in the row's unit."""
        unit = unit_of(row.quantity)
        return [
            (other, convert(value, unit_of(other.quantity), unit))
            for other, value in self._known
            if stem_of(other.quantity) == stem_of(row.quantity)
        ]

    def _features(self, row: Row, known: Sequence[tuple[Row, float]]) -> Array:
        names = ("configuration", "workload", "side")
        levels = [(name, level) for name in names for level in sorted({getattr(r, name) for r, _ in known})]
        indicators = [float(getattr(row, name) == level) for name, level in levels]
        message_bytes = self._scenario(row).get(MESSAGE)
        return np.array([*indicators, math.log(float(message_bytes)) if message_bytes else 0.0])

    def _settings(self, row: Row) -> frozenset[tuple[str, Setting]]:
        """What the row's runs are set to; of a session the settings of all its tests."""
        tests = self._config.sessions.get(row.workload, [row.workload])
        configuration = self._config.configuration(row.configuration)
        return frozenset(
            pair
            for test in map(self._config.workload, tests)
            for pair in {
                **settings(self._config, configuration, test, {}),
                "workload": test.workload,
            }.items()
        )

    def _scenario(self, row: Row) -> Mapping[str, Setting]:
        """Settings by plain name; nothing for a session, which has several."""
        if row.workload not in self._config.workloads:
            return {}
        config = self._config
        found = settings(config, config.configuration(row.configuration), config.workload(row.workload), {})
        return {plain(name): value for name, value in found.items()}
