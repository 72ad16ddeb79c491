"""Suggested settings: the optimum is found and described as it is, within limits, and equally each time."""

import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import nicperf as nic
from nicperf.cli import main
from nicperf.errors import ScenarioError
from nicperf.experiments import available
from nicperf.experiments import suggest as face
from nicperf.experiments.settable import STEPS, axis
from nicperf.simulation import batches, parameters

MODEL = parameters("velocity")


@pytest.fixture
def exp() -> Any:
    found = nic.experiment("velocity-2009")
    found.fit = SimpleNamespace(values={})  # prior centres: these tests are not about the fit
    found.config = replace(found.config, duration_s=0.02, warmup_s=0.005)
    return found


@pytest.fixture
def landscape(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Replaces the simulator by a function of the settings; the seed adds noise of a given size."""

    def install(height: Any, noise: float = 0.0, **others: Any) -> list[Mapping[str, Any]]:
        asked: list[Mapping[str, Any]] = []

        def run_all(base: Any, jobs: Any, executor: Any = None, **_: Any) -> dict[str, np.ndarray]:
            settings = [{**DEFAULTS, **one} for one, _ in jobs]
            asked.extend(settings)
            wobble = np.array([np.random.default_rng(seed).normal(0, noise) for _, seed in jobs])
            figures = {"throughput_mbit_s": np.array([height(s) for s in settings]) + wobble}
            for name, function in others.items():
                figures[name] = np.array([function(s) for s in settings]) + wobble
            return figures

        monkeypatch.setitem(face.__globals__, "run_all", run_all)
        return asked

    return install


DEFAULTS = {"local.driver.tx_ring": 64, "local.nic.dma_burst_dwords": 0, "local.driver.napi": True,
            "local.driver.rx_timer_us": 20.0}  # fmt: skip
LIMITS = {"local.driver.tx_ring": "16..256", "local.nic.dma_burst_dwords": "all", "local.driver.napi": "all"}
ALL_HELD = [
    f"local.driver.{name}"
    for name in (
        "rx_ring tx_suppress_frames rx_suppress_frames tx_timer_us rx_timer_us rx_copybreak_bytes tx_scatter_gather".split()
    )
] + ["local.nic.pause"]


def asked_for(exp: Any, **options: Any) -> Any:
    return nic.suggest(
        exp,
        "napi",
        "tcp_stream",
        within=LIMITS,
        hold=ALL_HELD,
        cache=False,
        **{"maximise": "throughput", **options},
    )


def peak(s: Mapping[str, Any]) -> float:
    """Best at a ring of about 128 with bursts of 32 and NAPI, flat in the ring around it."""
    ring = abs(np.log2(s["local.driver.tx_ring"] / 128))
    return (
        100.0 - 4 * ring**4 - 5 * (s["local.nic.dma_burst_dwords"] != 32) - 20 * (not s["local.driver.napi"])
    )


def test_the_peak_is_found_and_its_flat_top_is_measured(exp: Any, landscape: Any) -> None:
    landscape(peak)
    found = asked_for(exp)
    rows = found.settings.set_index("parameter")
    assert found.changes["local.nic.dma_burst_dwords"] == 32 and "local.driver.napi" not in found.changes
    low, high = map(float, rows.loc["local.driver.tx_ring", "flat"].split(".."))
    # Exact borders of 1 %: a quarter to the fourth root of two octaves; the settings tried lie 12 % apart.
    exact = 128 * 2 ** (0.25**0.25 * np.array([-1, 1]))
    assert exact[0] <= low <= exact[0] * 1.15 and exact[1] / 1.15 <= high <= exact[1]
    assert rows.loc["local.nic.dma_burst_dwords", "flat"] == "32"
    assert rows.loc["local.driver.napi", "worst_percent"] == pytest.approx(20, abs=0.1)
    assert found.exceeds_noise and "more than noise" in found.statements[0]


def test_what_makes_no_difference_stays_as_it_is(exp: Any, landscape: Any) -> None:
    landscape(
        lambda s: 50.0 + 10 * (s["local.nic.dma_burst_dwords"] == 64) - 1e-5 * s["local.driver.tx_ring"]
    )
    found = asked_for(exp)
    assert found.changes == {"local.nic.dma_burst_dwords": 64}
    assert found.settings["flat"].tolist() == ["16..256", "64", "False, True"]


def test_nothing_better_is_said(exp: Any, landscape: Any) -> None:
    landscape(lambda s: 50.0)
    found = asked_for(exp)
    assert (
        found.changes == {} and not found.exceeds_noise and "nothing within the limits" in found.statements[0]
    )
    assert "nothing changes it by more than 1%" in found.statements[1]


@pytest.mark.parametrize(("noise", "exceeds"), [(0.0, True), (0.3, True), (20.0, False)])
def test_a_gain_is_set_against_the_spread_over_seeds(
    exp: Any, landscape: Any, noise: float, exceeds: bool
) -> None:
    landscape(lambda s: 100.0 + 2 * (s["local.nic.dma_burst_dwords"] == 64), noise)
    found = asked_for(exp)
    assert found.exceeds_noise == exceeds
    assert found.low_percent <= found.gain_percent <= found.high_percent


def test_a_gain_below_the_published_spread_is_none(exp: Any, landscape: Any) -> None:
    landscape(lambda s: 100.0 + 0.4 * (s["local.nic.dma_burst_dwords"] == 64))
    found = asked_for(exp)
    assert found.gain_percent == pytest.approx(0.4) and found.noise_percent == 0.5 and not found.exceeds_noise


def test_seeds_that_judge_are_not_those_of_the_search() -> None:
    seeds = {seed for slug in available() for seed in nic.experiment(slug).config.seeds}
    assert not seeds & set(face.__globals__["JUDGES"])


def test_less_cpu_may_not_cost_throughput(exp: Any, landscape: Any) -> None:
    def cpu(s: Mapping[str, Any]) -> float:
        return 10.0 + s["local.driver.tx_ring"] / 64

    landscape(lambda s: 100.0 if s["local.driver.tx_ring"] >= 40 else 90.0, cpu_percent_local=cpu)
    found = asked_for(exp, maximise=None, minimise="cpu")
    smallest = min(s for s in axis("local.driver.tx_ring", "16..256", MODEL, "").settings if s >= 40)
    assert found.changes == {"local.driver.tx_ring": smallest}
    rows = found.settings.set_index("parameter")
    assert np.isnan(rows.loc["local.driver.tx_ring", "worst_percent"])
    assert "local.driver.tx_ring the throughput is not kept" in found.statements[2]


def test_the_budget_is_kept(exp: Any, landscape: Any) -> None:
    for evaluations in (1, 30, 100):
        asked = landscape(lambda s: float(len(str(s))))
        found = asked_for(exp, evaluations=evaluations)
        lines = sum(len(a.settings) for a in [axis(n, t, MODEL, "") for n, t in LIMITS.items()]) + 1
        assert len(asked) == found.runs <= max(evaluations, 12) + 1 + 6 * lines + 16


def test_equal_calls_give_equal_suggestions(exp: Any) -> None:
    with ThreadPoolExecutor(1) as pool:
        found = [asked_for(exp, evaluations=40, executor=executor) for executor in (None, pool)]
    pd.testing.assert_frame_equal(found[0].settings, found[1].settings, check_exact=True)
    assert found[0].statements == found[1].statements


def test_no_setting_of_a_small_grid_is_better(exp: Any) -> None:
    grid = {"local.driver.tx_ring": [16, 64, 256], "local.nic.dma_burst_dwords": [8, 32, 0]}
    limits = {name: ",".join(map(str, values)) for name, values in grid.items()}
    found = nic.suggest(
        exp, "baseline", "tcp_stream", maximise="throughput", within=limits,
        hold=ALL_HELD, cache=False,
    )  # fmt: skip
    frame = nic.sweep(exp, "baseline", "tcp_stream", grid, seeds=exp.config.seeds, cache=False)
    run = exp.simulate("baseline", "tcp_stream", seed=exp.config.seeds[0], **found.changes)
    best = frame["throughput_mbit_s"].max()
    assert run.summary["throughput_mbit_s"] >= best * (1 - 0.001)
    assert len(frame) == len(list(product(*grid.values())))


@pytest.mark.parametrize(
    ("name", "limits", "settings"),
    [
        ("driver.napi", "all", (False, True)),
        ("driver.napi", "false,true", (False, True)),
        ("driver.tx_ring", "64, 16", (16, 64)),
        ("driver.version", "all", ("1.14", "1.15")),
        ("nic.dma_burst_dwords", "64,8", (64, 8)),
        ("local.driver.rx_timer_us", "1,2.5", (1.0, 2.5)),
    ],
)
def test_limits_are_read(name: str, limits: str, settings: tuple[Any, ...]) -> None:
    found = axis(name, limits, MODEL, "")
    assert found.settings == settings and [*map(type, found.settings)] == [*map(type, settings)]


def test_long_ranges_are_spaced_by_ratio_and_keep_their_ends() -> None:
    for name, limits in (
        ("driver.tx_ring", "16..256"),
        ("driver.rx_timer_us", "0..4032"),
        ("driver.tx_ring", "all"),
    ):
        settings = axis(name, limits, MODEL, "").settings
        low, high = MODEL[name].low, MODEL[name].high
        assert (settings[0], settings[-1]) == (low, high) and STEPS - 4 <= len(settings) <= STEPS + 1
        steps = np.diff(np.log(settings[1:]))
        assert steps.max() < 2 * np.median(steps)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"maximise": None}, "one goal"),
        ({"minimise": "cpu"}, "one goal"),
        ({"maximise": "cpu"}, "unknown goal; known: throughput"),
        ({"maximise": None, "minimise": "latncy"}, "did you mean 'latency'"),
        ({"evaluations": 0}, "evaluations = 0"),
        ({"hold": ["driver.no"]}, "driver.no: is not moved anyway"),
        ({"within": {"driver.tx_rng": "16..32"}}, "'driver.tx_ring'"),
        ({"within": {"driver.tx_ring": "16..512"}}, "16..256"),
        ({"within": {"driver.tx_ring": "32..16"}}, "lower limit"),
        ({"within": {"driver.tx_ring": "32"}}, "no choice"),
        ({"within": {"driver.napi": "false..true"}}, "driver.napi"),
        ({"within": {"driver.version": "1.14..1.15"}}, "driver.version"),
    ],
)
def test_wrong_input_is_refused_before_anything_runs(
    exp: Any, options: dict[str, Any], named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(batches, "execute")
    with pytest.raises(ScenarioError) as caught:
        nic.suggest(exp, "napi", "tcp_stream", **{"maximise": "throughput", "cache": False, **options})
    assert named in str(caught.value)


def test_a_plain_name_moves_both_hosts_and_replaces_those_with_a_side(exp: Any, landscape: Any) -> None:
    asked = landscape(lambda s: float(s["local.driver.tx_ring"] == s.get("remote.driver.tx_ring", 64)) + 1)
    found = nic.suggest(
        exp, "napi", "tcp_stream", maximise="throughput", within={"driver.tx_ring": "16,128"}, cache=False,
        hold=[*ALL_HELD, "local.nic.dma_burst_dwords"],
    )  # fmt: skip
    assert found.settings["parameter"].tolist() == ["driver.tx_ring"]
    assert all(s["local.driver.tx_ring"] == s.get("remote.driver.tx_ring", 64) for s in asked)


def test_an_interruption_says_what_is_kept(exp: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    real = batches.execute
    made: list[int] = []

    def stop(*words: Any) -> Any:
        made.append(1)
        if len(made) == 20:
            raise KeyboardInterrupt
        return real(*words)

    monkeypatch.setattr(batches, "execute", stop)
    with pytest.raises(KeyboardInterrupt) as caught:
        nic.suggest(
            exp, "napi", "tcp_stream", maximise="throughput", within=LIMITS, hold=ALL_HELD, cache=tmp_path
        )
    (note,) = caught.value.__notes__
    assert note.startswith("suggest: ") and f"kept in {tmp_path}" in note


def test_the_command_line_prints_settings_words_and_a_command(
    exp: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nic, "experiment", lambda slug: exp, raising=False)
    words = (
        "suggest velocity-2009 baseline tcp_stream --maximise throughput --evaluations 20 --no-cache".split()
    )
    words += [word for name in ALL_HELD for word in ("--hold", name)] + ["--within", "local.driver.napi=all"]
    table = CliRunner().invoke(main, words)
    assert table.exit_code == 0, table.output
    assert (
        "local.nic.dma_burst_dwords" in table.stdout and "try: nicperf simulate velocity-2009" in table.stdout
    )
    stored = json.loads(CliRunner().invoke(main, [*words, "--format", "json"]).stdout)
    assert stored["changes"] and f"{stored['gain_percent']:+.2f} %" in stored["statements"][0]
    for name, value in stored["changes"].items():
        assert f"--set {name}={str(value).lower() if isinstance(value, bool) else value}" in table.stdout
    assert "local.driver.rx_ring" in stored["held"]


def test_where_nothing_is_settable_it_says_what_to_do(exp: Any) -> None:
    exp.config = replace(exp.config, settable={})
    with pytest.raises(ScenarioError, match="nothing to move; name a parameter and its limits"):
        nic.suggest(exp, "napi", "tcp_stream", maximise="throughput", cache=False)


def test_limits_in_the_file_are_checked(exp: Any) -> None:
    bad = replace(exp.config, settable={"driver.tx_ring": "1..2"})
    with pytest.raises(ScenarioError, match=r"velocity-2009.toml: \[settable\]"):
        type(exp)(bad, exp.figures, exp.claims, exp.model, exp.folder)
