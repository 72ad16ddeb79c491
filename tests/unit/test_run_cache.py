"""Runs kept on disk: the same figures to the bit, and nothing that is damaged, stale or foreign is believed."""

import os
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from nicperf.errors import ScenarioError
from nicperf.packets import ebpf
from nicperf.simulation import batches, cache, scenario, sweep
from nicperf.simulation.cache import KeyMaker, RunCache, open_cache

SHORT = {"duration_s": 0.004, "warmup_s": 0.001}
GRID: dict[str, list[Any]] = {"nic.dma_burst_dwords": [8, 64], "driver.version": ["1.14", "1.15"]}


def swept(folder: Path | bool, **options: Any) -> pd.DataFrame:
    return sweep("velocity", "tcp_stream", {}, GRID, seeds=range(2), cache=folder, **{**SHORT, **options})


@pytest.fixture(scope="module")
def expected() -> pd.DataFrame:
    return swept(False)


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Seeds of the runs that are really made."""
    made: list[int] = []
    real = batches.execute
    monkeypatch.setattr(batches, "execute", lambda *words: made.append(words[-1]) or real(*words))
    return made


def entries(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_a_second_sweep_runs_nothing_and_gives_the_same(
    tmp_path: Path, expected: pd.DataFrame, runs: list[int]
) -> None:
    first = swept(tmp_path)
    assert len(runs) == len(entries(tmp_path)) == 8
    runs.clear()
    again = swept(tmp_path)
    assert runs == []
    for frame in (first, again):
        assert_frame_equal(frame, expected, check_exact=True)
        assert frame.attrs == expected.attrs


def test_a_wider_sweep_runs_what_is_new(tmp_path: Path, runs: list[int]) -> None:
    swept(tmp_path)
    runs.clear()
    wider = swept(tmp_path, executor=None, confidence=0.95)
    assert runs == []
    frame = sweep("velocity", "tcp_stream", {}, GRID, seeds=[2, 0, 1], cache=tmp_path, **SHORT)
    assert runs == 4 * [2]
    pd.testing.assert_frame_equal(frame[frame["seed"] < 2].reset_index(drop=True), wider, check_exact=True)


def test_not_a_number_comes_back(tmp_path: Path) -> None:
    frames = [sweep("velocity", "udp_stream", {}, {}, cache=tmp_path, duration_s=1e-6) for _ in range(2)]
    assert frames[0].isna().any(axis=None) and frames[0].equals(frames[1])


@pytest.mark.parametrize(
    "damage",
    [
        lambda whole: whole[: len(whole) // 2],
        lambda whole: b"",
        lambda whole: whole[:-1],
        lambda whole: whole + b" ",
        lambda whole: whole[64:],
        lambda whole: whole.replace(b"throughput", b"troughput"),
        *(partial(lambda where, whole: flipped(whole, where), where) for where in (0, 40, 70, 200, -3)),
    ],
)
def test_a_damaged_entry_is_run_again_and_written_over(
    damage: Any, tmp_path: Path, expected: pd.DataFrame, runs: list[int]
) -> None:
    swept(tmp_path)
    victim = entries(tmp_path)[3]
    whole = victim.read_bytes()
    victim.write_bytes(damage(whole))
    runs.clear()
    assert_frame_equal(swept(tmp_path), expected, check_exact=True)
    assert len(runs) == 1 and victim.read_bytes() == whole


def flipped(whole: bytes, where: int) -> bytes:
    bits = bytearray(whole)
    bits[where] ^= 1
    return bytes(bits)


def test_entries_that_changed_places_are_not_believed(tmp_path: Path, expected: pd.DataFrame) -> None:
    swept(tmp_path)
    first, *_, last = entries(tmp_path)
    one, other = first.read_bytes(), last.read_bytes()
    assert one != other
    first.write_bytes(other)
    last.write_bytes(one)
    assert_frame_equal(swept(tmp_path), expected, check_exact=True)


def test_figures_of_other_code_are_not_believed(
    tmp_path: Path, runs: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    swept(tmp_path)
    runs.clear()
    old = cache.code_version()
    for module in (cache, batches):
        monkeypatch.setattr(module, "code_version", lambda: "another")
    swept(tmp_path)
    assert len(runs) == 8
    for entry in entries(tmp_path / "runs" / old):  # nor when somebody copies them over
        (tmp_path / "runs" / "another" / entry.parent.name / entry.name).write_bytes(entry.read_bytes())
    swept(tmp_path)
    assert len(runs) == 16


def test_the_code_of_the_model_is_in_the_version() -> None:
    files = cache._code()
    wanted = [
        "simulation/_run.pyx",
        "drivers/_fec.pyx",
        "stack/_tcp.pxd",
        "parts/bus.py",
        "packets/_checksum.h",
    ]
    assert {*wanted, "packets/programs/drop.o", "parameter.py"} <= set(files)
    assert not any(name.startswith(("experiments", "charts", "published")) for name in files)
    compiled = [path for path in files.values() if path.suffix in (".so", ".pyd")]
    assert any(path.name.startswith("_run.") for path in compiled)


def test_one_byte_of_code_is_another_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = tmp_path / "module.so"
    monkeypatch.setattr(cache, "_code", lambda: {"module": code})
    versions = []
    for content in (b"\0", b"\1", b"\0"):
        code.write_bytes(content)
        versions.append(cache.code_version.__wrapped__())
    assert versions[0] == versions[2] != versions[1]


def test_code_that_was_edited_after_its_import_keeps_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expected: pd.DataFrame
) -> None:
    monkeypatch.setattr(cache, "_LOADED_S", 0.0)
    with pytest.warns(UserWarning, match="edited after it was imported"):
        frame = swept(tmp_path)
    assert entries(tmp_path) == []
    assert_frame_equal(frame, expected, check_exact=True)


def test_equal_runs_have_equal_names_and_others_have_not() -> None:
    def name(params: dict[str, Any], job: dict[str, Any] | None = None, seed: int = 0, **times: Any) -> str:
        base = scenario("velocity", "tcp_stream", params, **{**SHORT, "slices": 1, **times})
        return KeyMaker(base).key(job or {}, seed)

    same = {
        name({}),
        name({"driver.tx_ring": 64}),
        name({"local.driver.tx_ring": "64", "remote.driver.tx_ring": 64.0}),
        name({"local.driver.tx_ring": 128}, {"local.driver.tx_ring": 64}),
    }
    assert len(same) == 1
    others = [
        name({"local.driver.tx_ring": 65}),
        name({"remote.driver.tx_ring": 65}),
        name({"driver.napi": True}),
        name({}, seed=1),
        name({}, duration_s=0.005),
        name({}, warmup_s=0.002),
        name({}, slices=2),
        name({}, slices=1000, stop_width=0.01),
        name({}, slices=1000, stop_width=0.02),
        name({}, slices=1000, stop_width=0.01, confidence=0.9),
        KeyMaker(scenario("velocity", "udp_stream", {}, slices=1, **SHORT)).key({}, 0),
        KeyMaker(scenario("mvneta", "iperf", {}, slices=1, **SHORT)).key({}, 0),
        KeyMaker(scenario("fec", "iperf", {}, slices=1, **SHORT)).key({}, 0),
    ]
    assert len({*others, *same}) == len(others) + 1


def test_the_content_of_a_program_is_in_the_name(tmp_path: Path) -> None:
    program = tmp_path / "own.o"
    folder = Path(ebpf.__file__).parents[1] / "programs"
    rates = []
    for sample in ("drop", "pass", "drop"):
        program.write_bytes((folder / f"{sample}.o").read_bytes())
        frame = sweep("fec", "xdp", {}, {"xdp.program": [str(program)]}, cache=tmp_path / "runs", **SHORT)
        rates.append(frame["rx_frames_per_s_remote"][0])
    assert rates[0] == rates[2] != rates[1]
    assert len(entries(tmp_path / "runs")) == 2


def test_several_writers_share_a_folder(tmp_path: Path, expected: pd.DataFrame) -> None:
    with (
        ThreadPoolExecutor(4) as threads,
        ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes,
    ):
        call = partial(sweep, "velocity", "tcp_stream", {}, GRID, seeds=range(2), cache=tmp_path, **SHORT)
        futures = [pool.submit(call) for pool in 4 * [threads, processes]]
        for future in futures:
            assert_frame_equal(future.result(), expected, check_exact=True)
    assert len(entries(tmp_path)) == 8  # none left beside


def test_a_stopped_sweep_goes_on(
    tmp_path: Path, runs: list[int], monkeypatch: pytest.MonkeyPatch, expected: pd.DataFrame
) -> None:
    counted = batches.execute

    def stop_at_the_fourth(*words: Any) -> Any:
        if len(runs) == 3:
            raise KeyboardInterrupt
        return counted(*words)

    monkeypatch.setattr(batches, "execute", stop_at_the_fourth)
    monkeypatch.setattr(batches, "BATCH_S", 1e-9)
    with ThreadPoolExecutor(1) as pool, pytest.raises(KeyboardInterrupt) as caught:
        swept(tmp_path, executor=pool)
    (note,) = caught.value.__notes__
    assert note == f"sweep: 3 of 8 runs are done and kept in {tmp_path}; the same call goes on from there"
    monkeypatch.setattr(batches, "execute", counted)
    runs.clear()
    assert_frame_equal(swept(tmp_path), expected, check_exact=True)
    assert len(runs) == 5


def test_a_stopped_sweep_without_a_cache_says_that_nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*words: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(batches, "execute", stop)
    with pytest.raises(KeyboardInterrupt) as caught:
        swept(False)
    assert caught.value.__notes__ == ["sweep: 0 of 8 runs are done and not kept"]


def test_a_worker_with_other_code_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "code_version", lambda: "another")
    with pytest.raises(ScenarioError, match="another nicperf"):
        swept(tmp_path)
    assert entries(tmp_path) == []


def test_a_full_disk_costs_the_cache_and_not_the_sweep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expected: pd.DataFrame
) -> None:
    def full(*_: Any) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(cache, "write_whole", full)
    with pytest.warns(UserWarning, match="No space left"):
        assert_frame_equal(swept(tmp_path), expected, check_exact=True)


def test_the_place_is_chosen_by_argument_variable_and_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NICPERF_CACHE", str(tmp_path / "variable"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    places = [opened and opened.folder for opened in map(open_cache, (tmp_path / "argument", True, False))]
    assert places == [tmp_path / "argument", tmp_path / "variable", None]
    monkeypatch.delenv("NICPERF_CACHE")
    opened = open_cache(True)
    assert opened and opened.folder.name == "nicperf" and opened.folder.is_relative_to(tmp_path / "xdg")
    monkeypatch.setenv("NICPERF_CACHE", "off")
    assert open_cache(True) is None


def test_a_place_that_cannot_be_used_is_refused_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.delattr(batches, "execute")
    with pytest.raises(ScenarioError, match=r"cache: folder = .*file.*NICPERF_CACHE"):
        swept(tmp_path / "file")


def test_entries_of_code_that_nobody_runs_go(tmp_path: Path) -> None:
    ages = {"old": 31, "recent": 29}
    for name, days in ages.items():
        (tmp_path / "runs" / name / "ab").mkdir(parents=True)
        os.utime(tmp_path / "runs" / name, 2 * (time.time() - days * 86400,))
    RunCache(tmp_path)
    assert {path.name for path in (tmp_path / "runs").iterdir()} == {"recent", cache.code_version()}
