"""The command line: its words, its layouts, and its refusals."""

import csv
import io
import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner, Result

import nicperf
from nicperf import published
from nicperf.cli import main, value_of
from nicperf.errors import ScenarioError
from nicperf.experiments import threads
from nicperf.experiments.leave_out import COLUMNS as LEFT_OUT
from nicperf.experiments.sensitivity import COLUMNS as EFFECTS
from nicperf.paths import data_dir

KINDS = ("figures", "claims")


def run(*words: str, text: str | None = None) -> Result:
    return CliRunner().invoke(main, words, input=text)


def answer(*words: str, text: str | None = None) -> Any:
    """What a command says in JSON, and that it succeeds."""
    result = run(*words, "--format", "json", text=text)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


class FakeExperiment:
    """Remembers what it was asked, and answers with numbers that are easy to recognise."""

    asked: tuple[Any, ...] = ()

    def simulate(self, configuration: str, workload: str, seed: int, fidelity: str, **values: Any) -> Any:
        if configuration != "napi":
            raise ScenarioError(
                "unknown configuration", field="configuration", value=configuration, cure="use napi"
            )
        self.asked = (workload, seed, values)
        run = SimpleNamespace(summary={"throughput_mbit_s": 640.25, "wire_percent": math.nan}, binding="bus")
        vars(run).update(to_pcapng=None, to_folded=None, to_speedscope=None)
        return run

    def leave_out(self, write: bool, progress: bool) -> pd.DataFrame:
        self.asked = ("left out", write)
        return pd.DataFrame(
            [["workload", "udp", True, "cpu_percent", 3, 5.0, 9.5, "Fitted again."]], columns=LEFT_OUT
        )

    def screen(self, write: bool, progress: bool) -> pd.DataFrame:
        self.asked = ("screened", write)
        return pd.DataFrame([{"id": "a.udp", "parameter": "cpu.x", "mu_star_percent": 40.0}], columns=EFFECTS)

    def calibrate(self, write: bool, progress: bool) -> Any:
        self.asked = ("calibrated", write)
        frame = pd.DataFrame({"name": ["bus.read_latency_clocks"], "value": [9.5]})
        return SimpleNamespace(
            slug="x-2000",
            cost=1.5,
            figures_per_parameter=2.0,
            parameters=frame,
            residuals=frame,
            inseparable=("a, b",),
        )

    def ablation(self, progress: bool) -> pd.DataFrame:
        return pd.DataFrame({"patch": ["sg"], "change": [-80.0]})


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeExperiment:
    exp = FakeExperiment()
    monkeypatch.setattr(nicperf, "experiment", lambda slug: exp, raising=False)
    return exp


def test_simulate_passes_what_was_asked(fake: FakeExperiment) -> None:
    words = ["--set", "nic.dma_burst_dwords=64", "--set", "remote.cpu.clock_ghz=2.5", "--set", "nic.sg=true"]
    said = answer("simulate", "velocity-2009", "napi", "tcp_stream", "--seed", "3", *words)
    settings = {"nic.dma_burst_dwords": 64, "remote.cpu.clock_ghz": 2.5, "nic.sg": True}
    assert fake.asked == ("tcp_stream", 3, settings)
    assert said["set"] == settings
    assert (said["throughput_mbit_s"], said["wire_percent"], said["binding"]) == (640.25, None, "bus")


def test_simulate_as_table_and_csv(fake: FakeExperiment) -> None:
    words = ["simulate", "velocity-2009", "napi", "tcp_stream"]
    assert [line.split() for line in run(*words).stdout.splitlines()[2:]] == [
        ["throughput_mbit_s", "640.25"],
        ["wire_percent", "-"],
        ["binding", "bus"],
    ]
    rows = list(csv.DictReader(io.StringIO(run(*words, "--format", "csv").stdout)))
    assert rows[0] == {"quantity": "throughput_mbit_s", "value": "640.25"}


@pytest.fixture
def velocity(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The experiment at its prior centres: what is written is not about the fit."""
    exp = nicperf.experiment("velocity-2009")
    exp.fit = SimpleNamespace(values={})
    monkeypatch.setattr(nicperf, "experiment", lambda slug: exp, raising=False)
    return exp


def test_simulate_writes_what_other_tools_read(velocity: Any, tmp_path: Path) -> None:
    pcap, folded, speedscope = (tmp_path / name for name in ("run.pcapng", "run.folded", "run.json"))
    files = ["--pcap", str(pcap), "--folded", str(folded), "--speedscope", str(speedscope)]
    words = ["simulate", "velocity-2009", "napi", "tcp_stream", "--seed", "3"]
    done = velocity.simulate("napi", "tcp_stream", seed=3, fidelity="bytes")
    assert run(*words, *files, "--netperf").stdout == done.to_netperf()
    assert pcap.read_bytes() == done.to_pcapng()
    assert folded.read_text() == done.to_folded()
    assert speedscope.read_text() == done.to_speedscope()
    assert run(*words, "--iperf").stdout == done.to_iperf()
    assert velocity.simulate("napi", "tcp_stream", seed=3).summary == done.summary


def test_simulate_writes_nothing_that_it_cannot_finish(velocity: Any, tmp_path: Path) -> None:
    words = ["simulate", "velocity-2009", "napi", "udp_stream", "--folded", str(tmp_path / "run.folded")]
    for wrong, message in (
        (["--iperf"], "use to_netperf"),
        (["--netperf", "--format", "json"], "leave --format out"),
        (["--speedscope", str(tmp_path / "none" / "run.json")], "no folder that can be written to"),
        (["--pcap", str(tmp_path)], "is a directory"),
    ):
        result = run(*words, *wrong)
        assert result.exit_code == 2 and message in result.stderr
        assert list(tmp_path.iterdir()) == []


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Recorded verdicts of a quick thread in a folder of their own, and its ledger made once."""
    frame = threads.ledger("mvneta-2014")
    path = tmp_path / "mvneta-2014" / "verdicts.csv"
    path.parent.mkdir()
    path.write_text((data_dir() / "mvneta-2014" / "verdicts.csv").read_text())
    monkeypatch.setattr(threads, "data_dir", lambda: tmp_path)
    monkeypatch.setattr(threads, "ledger", lambda slug, progress: frame)
    return path


def test_ledger_has_every_figure_and_claim_of_every_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any model: each row is there all the same, and says why nothing can be told."""
    monkeypatch.setattr(threads, "_answered", lambda slug: False)
    rows = answer("ledger")
    expected = [
        (slug, row)
        for slug in published.slugs()
        for part in KINDS
        for row in getattr(published, part)(slug)["id"]
    ]
    assert [(row["slug"], row["id"]) for row in rows] == expected
    assert {row["kind"] for row in rows} == {"figure", "claim"}
    assert {(row["verdict"], row["why"]) for row in rows} == {
        ("cannot tell", "No model answers for this thread yet.")
    }


def test_ledger_as_a_table_and_its_exit_status(recorded: Path) -> None:
    result = run("ledger", "mvneta-2014")
    assert result.exit_code == 0 and result.stderr == ""
    assert max(map(len, result.stdout.splitlines())) <= 80
    for words in (
        "fitted: 1 figure with 1 free parameter",
        "nearest_row",
        "Cannot be left out",
        "cpu-ratio: direction",
    ):
        assert words in result.stdout
    kept = recorded.read_text()
    recorded.write_text(kept.replace("cpu-ratio,claim,direction only", "cpu-ratio,claim,reproduced"))
    result = run("ledger", "mvneta-2014", "--format", "csv")
    assert result.exit_code == 1
    assert result.stderr == "verdict changed: mvneta-2014 cpu-ratio: direction only, recorded: reproduced\n"
    result = run("ledger", "mvneta-2014", "--write", "--format", "csv")
    assert result.exit_code == 0 and recorded.read_text() == kept


def test_leave_out(fake: FakeExperiment) -> None:
    (row,) = answer("leave-out", "velocity-2009", "--write")
    assert (row["slug"], row["left_out"], row["worst_error_percent"]) == ("velocity-2009", "udp", 9.5)
    assert fake.asked == ("left out", True)


def test_sensitivity(fake: FakeExperiment) -> None:
    (row,) = answer("sensitivity", "velocity-2009", "--write")
    assert (row["slug"], row["parameter"], row["mu_star_percent"]) == ("velocity-2009", "cpu.x", 40.0)
    assert fake.asked == ("screened", True)
    assert "mu_star_confidence_percent" in run("sensitivity", "velocity-2009").stdout


def test_calibrate_and_ablation(fake: FakeExperiment) -> None:
    said = answer("calibrate", "velocity-2009", "--write")
    assert fake.asked == ("calibrated", True)
    assert said["parameters"] == [{"name": "bus.read_latency_clocks", "value": 9.5}]
    assert run("calibrate", "velocity-2009").stdout.endswith("a, b\n")
    assert answer("ablation", "velocity-2009") == [{"patch": "sg", "change": -80.0}]


def test_list_and_show_every_thread() -> None:
    rows = {row["slug"]: row for row in answer("list")}
    assert set(rows) == set(published.slugs())
    for slug, row in rows.items():
        assert row["model"] or run("show", slug).exit_code == 0
        frame = pd.read_csv(io.StringIO(run("show", slug, "--format", "csv").stdout))
        assert len(frame) == row["figures"] > 0


def test_show_tells_configurations_and_figures() -> None:
    said = answer("show", "mvneta-2014")
    assert set(said["configurations"]) == {figure["configuration"] for figure in said["figures"]}
    assert [claim["slug"] for claim in said["claims"]] == ["mvneta-2014"] * len(said["claims"])


def test_consistency_of_one_and_of_all() -> None:
    assert {row["slug"] for row in answer("consistency")} == set(published.slugs())
    assert {row["slug"] for row in answer("consistency", "fec-2022")} == {"fec-2022"}


def test_parse_reads_a_file_and_standard_input(root: Path) -> None:
    file = root / "data/velocity-2009/raw/napi.txt"
    from_file = answer("parse", str(file))
    assert from_file == answer("parse", "-", text=file.read_text())
    rates = [row["value"] for row in from_file if row["quantity"] == "throughput_mbit_s"]
    assert 641.77 in rates and from_file[-1]["record"] > from_file[0]["record"] == 1


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["shwo"], "'show'"),
        (["show", "velocty-2009"], "'velocity-2009'"),
        (["consistency", "velocity"], "velocity-2009"),
        (["simulate", "velocity-2009", "napy", "tcp_stream"], "napi"),
        (["simulate", "velocity-2009", "napi", "tcp_stream", "--set", "nic.sg"], "name=value"),
        (
            ["simulate", "velocity-2009", "napi", "tcp_stream", "--set", "a=1", "--set", "a=2"],
            "a is set twice",
        ),
        (["simulate", "velocity-2009", "napi", "tcp_stream", "--seed", "-1"], "--seed"),
        (["list", "--format", "xml"], "json"),
        (["parse", "no-such-file.txt"], "no-such-file.txt"),
    ],
)
def test_wrong_input_is_one_clear_error(fake: FakeExperiment, words: list[str], named: str) -> None:
    result = run(*words)
    assert result.exit_code == 2
    assert result.stdout == ""
    (error,) = [line for line in result.stderr.splitlines() if line.startswith("Error: ")]
    assert named in error


@pytest.mark.parametrize(
    ("text", "value"),
    [("64", 64), ("2.5", 2.5), ("1e3", 1000.0), ("TRUE", True), ("false", False), ("on", "on")],
)
def test_values_keep_their_kind(text: str, value: object) -> None:
    assert (value_of(text), type(value_of(text))) == (value, type(value))
