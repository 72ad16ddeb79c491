"""`nicperf sweep` on the command line."""

import io
import json
import os
import re
import signal
import sys
import time
from pathlib import Path
from subprocess import PIPE, Popen
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner, Result

import nicperf
from nicperf import layout
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


def test_rows_go_to_a_file_with_their_units(tmp_path: Path) -> None:
    grid = ["nic.dma_burst_dwords=8,16", "driver.version=1.14,1.15"]
    printed = pd.read_csv(io.StringIO(run(*grid, "--format", "csv").stdout))
    for name, read in (("x.csv", pd.read_csv), ("x.parquet", pd.read_parquet)):
        result = run(*grid, "--out", str(tmp_path / name))
        assert (result.exit_code, result.stdout) == (
            0,
            "",
        ) and f"4 runs written to {tmp_path / name}" in result.stderr
        frame = read(tmp_path / name)
        if name == "x.parquet":
            units = frame.attrs["units"]
            assert (units["nic.dma_burst_dwords"], units["cpu_percent_local"], units["seed"]) == (
                "dwords",
                "%",
                "1",
            )
            assert list(frame["driver.version"]) == 2 * ["1.14", "1.15"]
            frame = frame.astype({"driver.version": float})
        pd.testing.assert_frame_equal(frame, printed)
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--out", "x.xlsx"], ".csv, .parquet"),
        (["--out", "x"], ".csv, .parquet"),
        (["--out", "nowhere/x.csv"], "'nowhere' is no folder"),
        (["--out", "x.csv", "--format", "json"], "leave --format out"),
    ],
)
def test_a_file_that_could_not_be_written_is_refused_first(
    words: list[str], named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(nicperf, "sweep", raising=False)
    monkeypatch.setitem(nicperf._HOME, "sweep", "no such module")
    result = run(*words)
    assert result.exit_code == 2 and named in result.stderr, result.stderr


def test_parquet_without_pyarrow_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "find_spec", lambda name: None)
    result = run("--out", "x.parquet")
    assert result.exit_code == 2 and "nicperf[parquet]" in result.stderr


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x.csv").write_text("old")

    def fail(*_: Any) -> None:
        raise OSError("no space")

    monkeypatch.setattr(os, "replace", fail)
    assert run("--out", str(tmp_path / "x.csv")).exit_code != 0
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("x.csv", "old")]


def test_ctrl_c_keeps_what_is_done_and_says_so(tmp_path: Path) -> None:
    grid = "nic.frame_gap_ns=" + ",".join(map(str, range(100, 4000)))
    environment = {**os.environ, "NICPERF_CACHE": str(tmp_path)}
    command = [sys.executable, "-m", "nicperf.cli", *WORDS, grid]
    with Popen(command, stdout=PIPE, stderr=PIPE, text=True, env=environment) as process:
        while process.poll() is None and not any((tmp_path / "runs").glob("*/*/*")):
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert (process.returncode, out) == (130, "")
    said = re.search(r"(\d+) of 3900 runs are done and kept in (.*); the same call goes on from there", err)
    assert said and int(said[1]) == len(list((tmp_path / "runs").glob("*/*/*"))) and said[2] == str(tmp_path)
