"""`nicperf sweep` on the command line."""

import io
import json
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner, Result

import nicperf
from nicperf.cli import main

WORDS = ["sweep", "velocity-2009", "napi", "tcp_stream"]


@pytest.fixture(autouse=True)
def short_and_unfitted(monkeypatch: pytest.MonkeyPatch) -> None:
    exp = nicperf.experiment("velocity-2009")
    exp.fit = SimpleNamespace(values={})
    real = exp.scenario
    exp.scenario = lambda *names: {**real(*names), "duration_s": 0.005}
    monkeypatch.setattr(nicperf, "experiment", lambda slug: exp, raising=False)


def run(*words: str) -> Result:
    return CliRunner().invoke(main, [*WORDS, *words])


def test_every_layout_has_a_row_for_each_run() -> None:
    grid = ["nic.dma_burst_dwords=8,16,32", "driver.napi=true,false", "--seeds", "2"]
    rows: list[dict[str, Any]] = json.loads(run(*grid, "--format", "json").stdout)
    assert [(row["nic.dma_burst_dwords"], row["driver.napi"], row["seed"]) for row in rows] == [
        (burst, napi, seed) for burst in (8, 16, 32) for napi in (True, False) for seed in (0, 1)
    ]
    frame = pd.read_csv(io.StringIO(run(*grid, "--format", "csv").stdout))
    pd.testing.assert_frame_equal(frame, pd.DataFrame(rows))
    head, _, *lines = run(*grid).stdout.splitlines()
    assert head.split()[:4] == ["nic.dma_burst_dwords", "driver.napi", "seed", "throughput_mbit_s"]
    assert len(lines) == 12 and lines[0].split()[3] == f"{rows[0]['throughput_mbit_s']:.6g}"


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["nic.dma_burst_dwords"], "name=value"),
        (["nic.dma_burst_dwords=8,7"], "= 7"),
        (["nic.dma_burst=8"], "'nic.dma_burst_dwords'"),
        (["nic.frame_gap_ns=1,,2"], "not a number"),
        (["driver.napi=on", "driver.napi=off"], "set twice"),
        (["--seeds", "0"], "--seeds"),
    ],
)
def test_wrong_input_is_one_clear_error(words: list[str], named: str) -> None:
    result = run(*words)
    assert (result.exit_code, result.stdout) == (2, "")
    (error,) = [line for line in result.stderr.splitlines() if line.startswith("Error: ")]
    assert named in error
