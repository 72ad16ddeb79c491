"""A model in closed form with known parameters, and an experiment whose figures were made with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from nicperf.experiments.calibrate import calibrate
from nicperf.experiments.config import ExperimentConfig
from nicperf.experiments.config_reader import read
from nicperf.experiments.experiment import Experiment
from nicperf.experiments.fit import Fit, write_fit
from nicperf.experiments.predict import Predictor, Row
from nicperf.parameter import Parameter

NAN = float("nan")
CONFIG = Path(__file__).with_name("fake-2001.toml")
SPECS = {
    spec.name: spec
    for spec in (
        Parameter("bus.overhead_clocks", "clocks", 8.0, 0.0, 60.0, (), ""),
        Parameter("bus.fixed_clocks", "clocks", 40.0, 0.0, 400.0, (), ""),
        Parameter("cpu.frame_us", "us", 3.0, 0.0, 50.0, (), ""),
        Parameter("cpu.interrupt_us", "us", 5.0, 0.0, 50.0, (), ""),
        Parameter("cpu.other_interrupt_us", "us", 1.0, 0.0, 50.0, (), ""),
        Parameter("nic.burst_words", "dwords", 8, NAN, NAN, (8, 16), ""),
        Parameter("nic.frames_per_interrupt", "frames", 1, 1, 64, (), ""),
        Parameter("driver.napi", "", False, NAN, NAN, (), ""),
        Parameter("workload.message_bytes", "bytes", 1448, 1, 65507, (), ""),
    )
}
TRUTH = {"bus.overhead_clocks": 7.0, "bus.fixed_clocks": 55.0, "cpu.frame_us": 2.6, "cpu.interrupt_us": 4.4}


@dataclass(frozen=True)
class FakeRun:
    summary: Mapping[str, Any]


class FakeModel:
    """Bus-bound sender: frame time from bus clocks, CPU from frames and interrupts; counts whole frames."""

    def __init__(self) -> None:
        self.runs = 0

    def parameters(self, driver: str) -> Mapping[str, Parameter]:
        assert driver == "fake"
        return SPECS

    def simulate(
        self,
        *,
        driver: str,
        workload: str,
        params: Mapping[str, Any],
        seed: int,
        duration_s: float,
        warmup_s: float,
        fidelity: str = "timing",
    ) -> FakeRun:
        assert fidelity == "timing"
        self.runs += 1

        def of(name: str, side: str = "local") -> Any:
            return params.get(f"{side}.{name}", params.get(name, SPECS[name].default))

        bursts = -(-375 // of("nic.burst_words"))
        clocks = 375 + bursts * of("bus.overhead_clocks") + of("bus.fixed_clocks") * (1 + (workload == "tcp"))
        # A seed shifts the measured window by a part of a frame: the staircase of a packet simulator.
        frames = int(duration_s / (clocks * 30e-9) + seed / 7) / duration_s
        mbit_s = frames * 1448 * 8 / 1e6
        summary = {"throughput_mbit_s": mbit_s, "sent_mbit_s": mbit_s, "binding": "bus"}
        for side in ("local", "remote"):
            rate = frames / of("nic.frames_per_interrupt", side)
            cost_us = of("cpu.interrupt_us", side) + of("cpu.other_interrupt_us", side)
            per_frame = of("cpu.frame_us", side) * (1.0 if of("driver.napi", side) else 1.2)
            cpu = (frames * per_frame + rate * cost_us) * 1e-4
            summary[f"cpu_percent_{side}"] = cpu
            summary[f"interrupts_per_s_{side}"] = rate
            summary[f"service_demand_us_per_kb_{side}"] = 81.92 * cpu / mbit_s
        return FakeRun(summary)


@pytest.fixture
def model() -> FakeModel:
    return FakeModel()


@pytest.fixture(scope="session")
def config() -> ExperimentConfig:
    return read(CONFIG)


@pytest.fixture
def config_text() -> str:
    return CONFIG.read_text()


@pytest.fixture
def read_changed(config_text: str, tmp_path: Path) -> Callable[[str, str], ExperimentConfig]:
    """Read the experiment after one replacement in its text."""

    def read_it(old: str, new: str) -> ExperimentConfig:
        assert old in config_text
        path = tmp_path / CONFIG.name
        path.write_text(config_text.replace(old, new, 1))
        return read(path)

    return read_it


@pytest.fixture
def truth() -> dict[str, float]:
    return dict(TRUTH)


@pytest.fixture(scope="session")
def figures(config: ExperimentConfig) -> pd.DataFrame:
    """Figures that the model gives with the true parameters; the mixed configuration is held out."""
    rows = [
        Row(f"{c}.{w}.{s}.{q}", c, w, s, q)
        for c in config.configurations
        for w in config.workloads
        for s, q in (("local", "throughput_mbit_s"), ("local", "cpu_percent"), ("remote", "cpu_percent"))
    ]
    rows += [
        Row(f"{c}.session.local.interrupts_total", c, "session", "local", "interrupts_total")
        for c in config.configurations
    ]
    rows.append(Row("plain.udp.local.messages", "plain", "udp", "local", "messages"))
    rows.append(Row("plain.udp.local.errors", "plain", "udp", "local", "errors"))
    values = Predictor(config, FakeModel()).predict(rows, [TRUTH])[0]
    frame = pd.DataFrame([vars(row) for row in rows])
    frame["value"] = [0.0 if value is None else value for value in values]
    frame["value_text"] = frame["value"].map("{:.4f}".format)
    frame["unit"], frame["spread"] = "1", NAN
    frame["role"] = frame["configuration"].map({"plain": "fit", "quick": "fit", "mixed": "held_out"})
    frame.loc[frame["quantity"].isin(["messages", "errors"]), "role"] = "context"
    return frame


@pytest.fixture
def claims() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "id": ["faster", "slower", "unsaid"],
            "checks": [
                ["quick.tcp.local.throughput_mbit_s > 1.01 * plain.tcp.local.throughput_mbit_s"],
                ["plain+burst.tcp.local.throughput_mbit_s < plain.tcp.local.throughput_mbit_s"],
                [],
            ],
            "figures": [["quick.tcp.local.throughput_mbit_s"], [], []],
            "refuted_by": ["A slower run.", "A faster run.", "Somebody saying it."],
        }
    )


@pytest.fixture
def experiment(
    config: ExperimentConfig, figures: pd.DataFrame, claims: pd.DataFrame, model: FakeModel, tmp_path: Path
) -> Experiment:
    return Experiment(config, figures, claims, model, tmp_path)


@pytest.fixture(scope="session")
def fit(config: ExperimentConfig, figures: pd.DataFrame) -> Fit:
    """The fit of these figures, made once; tests must not change it."""
    return calibrate(Predictor(config, FakeModel()), figures[figures["role"] == "fit"])


@pytest.fixture
def stored_fit(experiment: Experiment, fit: Fit) -> Fit:
    """The same, stored in the folder of the experiment."""
    rows = experiment.figures[experiment.figures["role"] == "fit"]
    write_fit(fit, experiment.folder / "fit.json", experiment.config, rows)
    return fit
