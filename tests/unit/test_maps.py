"""Maps with iso-lines and Pareto fronts: what is drawn lies where the numbers say."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
import vl_convert
from hypothesis import given
from hypothesis import strategies as st

import nicperf as nic
from nicperf import charts
from nicperf.charts import render
from nicperf.errors import DataError

X, Y, Z = "nic.dma_burst_dwords", "bus.clock_mhz", "throughput_mbit_s"
CPU = "cpu_percent_local"


def plane(x: list[Any] = [8, 16, 64, 256], y: list[Any] = [25, 33, 66]) -> pd.DataFrame:  # noqa: B006
    """A value that rises by 100 from column to column and by 10 from row to row, whatever the settings are."""
    return pd.DataFrame(
        [{X: a, Y: b, Z: 100.0 * i + 10.0 * j} for i, a in enumerate(x) for j, b in enumerate(y)]
    )


def drawn(chart: Any, column: str) -> pd.DataFrame:
    """The data of the layers that have a column."""
    spec = chart.to_dict()
    frames = map(pd.DataFrame, spec["datasets"].values())
    return next(frame for frame in frames if column in frame)


def test_iso_lines_run_where_the_value_is() -> None:
    chart = charts.sweep2d(plane(), X, Y, isolines=[55.0, 150.0])
    points = drawn(chart, "line")
    assert set(points["level"]) == {55.0, 150.0}
    np.testing.assert_allclose(100 * points["column"] + 10 * points["row"], points["level"], atol=1e-9)
    for _, line in points.groupby("line"):
        assert (line["row"].min(), line["row"].max()) == (0, 2) and line["i"].is_monotonic_increasing


def test_seeds_are_averaged_before_lines_are_sought() -> None:
    noisy = pd.concat([plane().assign(**{Z: plane()[Z] + d}) for d in (-7.0, 7.0)])
    first, second = (drawn(charts.sweep2d(f, X, Y, isolines=[150.0]), "line") for f in (plane(), noisy))
    pd.testing.assert_frame_equal(first, second)


@pytest.mark.parametrize(
    ("most", "levels"), [(1, {200.0}), (3, {100.0, 200.0, 300.0}), (8, {50.0 * n for n in range(1, 7)})]
)
def test_levels_are_round_and_no_more_than_asked(most: int, levels: set[float]) -> None:
    found = set(drawn(charts.sweep2d(plane(), X, Y, isolines=most), "line")["level"])
    assert found == levels and len(found) <= most


def test_each_level_is_named_once_on_its_line() -> None:
    chart = charts.sweep2d(plane(), X, Y, isolines=3)
    points = drawn(chart, "line")
    named = next(
        pd.DataFrame(v) for v in chart.to_dict()["datasets"].values() if {"label", "column"} <= set(v[0])
    )
    assert sorted(map(float, named["label"])) == sorted(set(points["level"]))
    np.testing.assert_allclose(
        100 * named["column"] + 10 * named["row"], named["label"].astype(float), atol=1e-9
    )


def test_without_iso_lines_the_values_are_in_the_cells() -> None:
    texts = [json_layers(charts.sweep2d(plane(), X, Y, isolines=n)) for n in (0, 2)]
    assert texts == [["rect", "rect", "text"], ["rect", "rect", "line", "line", "text", "text"]]
    flat = plane().assign(**{Z: 5.0})
    assert json_layers(charts.sweep2d(flat, X, Y, isolines=4)) == ["rect", "rect", "text"]


def json_layers(chart: Any) -> list[str]:
    def marks(spec: dict[str, Any]) -> list[str]:
        if "layer" in spec:
            return [mark for layer in spec["layer"] for mark in marks(layer)]
        return [spec["mark"] if isinstance(spec["mark"], str) else spec["mark"]["type"]]

    return marks(chart.to_dict())


@pytest.mark.parametrize("frame", [plane(x=["a", "b"]), plane(y=[False, True]), plane(x=[8])])
def test_between_words_there_is_no_line(frame: pd.DataFrame) -> None:
    assert charts.sweep2d(frame, X, Y)
    with pytest.raises(DataError, match="isolines: nothing lies between"):
        charts.sweep2d(frame, X, Y, isolines=[5.0])


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=30))
def test_the_front_is_what_nothing_beats(points: list[tuple[int, int]]) -> None:
    frame = pd.DataFrame(points, columns=[Z, CPU])
    front = nic.pareto(frame)["on_front"]
    for (z, cpu), on_front in zip(points, front, strict=True):
        beaten = [(a, b) for a, b in points if (a >= z and b <= cpu) and (a > z or b < cpu)]
        assert on_front == (beaten == [])


def test_a_front_of_three_figures_and_rows_without_a_number() -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0, 2.0, np.nan], "b": [1.0, 2.0, 2.0, 0.0], "c": [0.0, 1.0, 2.0, 9.0]})
    assert nic.pareto(frame, maximise=["a", "c"], minimise=["b"])["on_front"].tolist() == [
        True,
        False,
        True,
        False,
    ]
    assert nic.pareto(frame, maximise=["a"], minimise=[])["on_front"].tolist() == [False, True, True, False]
    assert list(frame.columns) == ["a", "b", "c"]


def test_a_front_of_what_is_not_there_is_refused() -> None:
    with pytest.raises(DataError, match="did you mean 'throughput_mbit_s'"):
        nic.pareto(pd.DataFrame({Z: [1.0]}), maximise=["throughput_mbits"], minimise=[])
    with pytest.raises(DataError, match="no figures"):
        nic.pareto(pd.DataFrame({Z: [1.0]}), maximise=[], minimise=[])


def pareto_chart(**options: Any) -> Any:
    frame = plane().assign(**{CPU: plane()[Z] * (1 + plane()[Y] / 100)})
    published = pd.DataFrame({Z: [90.0], CPU: [120.0]})
    return charts.pareto(frame, [X, Y], published=published, start={X: 16, Y: 33}, **options)


def test_the_front_the_published_point_and_the_present_setting_are_marked() -> None:
    spec = pareto_chart(title="Which?").to_dict()
    marks = [layer["mark"] for layer in spec["layer"]]
    assert [m["type"] for m in marks] == ["line", "point", "point", "point", "text", "point", "text"]
    assert marks[5]["filled"] is False and marks[2]["filled"] is True
    data = next(pd.DataFrame(v) for v in spec["datasets"].values() if "now" in v[0] and len(v) == 12)
    (now,) = data[data["now"]].to_dict("records")
    assert (now["nic_dma_burst_dwords"], now["bus_clock_mhz"]) == (16, 33)
    assert data["on_front"].sum() == int(spec["description"].split(": ")[1].split(" of")[0])


@pytest.mark.parametrize("version", ["5.8", "6.4"])
@pytest.mark.parametrize("chart", [lambda: charts.sweep2d(plane(), X, Y, isolines=4), pareto_chart])
def test_drawn_in_the_vega_of_the_lab_and_of_the_report(chart: Any, version: str) -> None:
    spec = render.stable(chart().to_dict())
    svg = vl_convert.vegalite_to_svg(spec, vl_version=version)
    assert svg.count("<path") > 10 and ">null<" not in svg
    assert sum(c.isdigit() for c in spec["description"]) >= 2


@pytest.mark.parametrize("column", [X, Z, CPU])
def test_a_missing_column_is_named(column: str) -> None:
    frame = plane().assign(**{CPU: 1.0}).drop(columns=column)
    with pytest.raises(DataError, match=rf"charts\.pareto: {column}"):
        charts.pareto(frame, [X, Y])


def test_a_real_ring_and_its_coalescing_make_a_map() -> None:
    exp = nic.experiment("fec-2022")
    grid = {"remote.driver.rx_ring": [16, 64, 256], "remote.driver.rx_coalesce_us": [100.0, 1000.0, 5000.0]}
    frame = nic.sweep(exp, "recycle", "iperf", grid, duration_s=0.05, cache=False)
    chart = charts.sweep2d(
        frame, *grid, isolines=4, start={"remote.driver.rx_ring": 256, "remote.driver.rx_coalesce_us": 1000.0}
    )
    levels = drawn(chart, "line")["level"]
    assert frame[Z].min() < levels.min() and levels.max() < frame[Z].max()
