"""Charts of small made-up frames: they compile, say what they show, and refuse frames they cannot show."""

import json
import re
import warnings

import pandas as pd
import pytest
import vl_convert

from nicperf import charts
from nicperf.charts import labels, render, setting, theme
from nicperf.errors import DataError

pytestmark = pytest.mark.filterwarnings("ignore:Automatically deduplicated")

BURSTS = [8, 16, 32, 64, 128, 256]


def sweep_frame(seeds=1):
    rows = [
        {
            "workload": workload,
            "seed": seed,
            "nic.dma_burst_dwords": burst,
            "throughput_mbit_s": top * burst / (burst + 8) + seed,
            "cpu_percent_local": 40 * burst / (burst + 8),
            "interrupts_per_s_local": 6000.0 + burst,
        }
        for workload, top in (("tcp_stream", 700.0), ("udp_stream", 760.0))
        for burst in BURSTS
        for seed in range(seeds)
    ]
    return pd.DataFrame(rows)


def published_frame():
    return pd.DataFrame(
        [
            {
                "workload": "tcp_stream",
                "nic.dma_burst_dwords": 64,
                "throughput_mbit_s": 640.0,
                "cpu_percent_local": 41.0,
            },
            {
                "workload": "udp_stream",
                "nic.dma_burst_dwords": 64,
                "throughput_mbit_s": 690.0,
                "cpu_percent_local": 18.0,
            },
        ]
    )


def ledger_frame():
    rows = []
    for quantity, unit, base, tolerance in (
        ("throughput_mbit_s", "Mbit/s", 500.0, 2.0),
        ("cpu_percent", "%", 40.0, 8.0),
        ("interrupts_total", "count", 300000.0, 10.0),
    ):
        for i, configuration in enumerate(("baseline", "napi", "all")):
            error = [0.4, -1.1, 9.0][i]
            rows.append(
                {
                    "id": f"{configuration}.tcp_stream.local.{quantity}",
                    "configuration": configuration,
                    "workload": "tcp_stream",
                    "side": "local",
                    "quantity": quantity,
                    "unit": unit,
                    "role": ["fit", "held_out", "held_out"][i],
                    "published": base * (1 + i / 5),
                    "predicted": base * (1 + i / 5) * (1 + error / 100),
                    "error_percent": error,
                    "tolerance_percent": tolerance,
                    "verdict": "reproduced" if abs(error) <= tolerance else "not reproduced",
                    "why": "made up",
                }
            )
    return pd.DataFrame(rows)


def scores_frame():
    rows = [
        ["velocity-2009", "cpu_percent", "model", 11, 3.4, 17.4],
        ["velocity-2009", "cpu_percent", "nearest_row", 11, 32.0, 51.2],
        ["velocity-2009", "throughput_mbit_s", "model", 8, 0.0, 0.9],
    ]
    columns = ["slug", "quantity", "predictor", "rows", "median_error_percent", "worst_error_percent"]
    return pd.DataFrame(rows, columns=columns)


def costs_frame():
    steps = [
        ("local", "process", "copy from user", 900.0),
        ("local", "process", "socket and IP", 1700.0),
        ("local", "process", "driver xmit", 600.0),
        ("local", "hard irq", "ISR read", 820.0),
        ("local", "soft irq", "reap TX", 310.0),
        ("remote", "hard irq", "ISR read", 90.0),
        ("remote", "soft irq", "poll RX", 700.0),
        ("remote", "soft irq", "backlog", 350.0),
        ("remote", "soft irq", "TCP receive", 1200.0),
        ("remote", "process", "copy to user", 1500.0),
    ]
    return pd.DataFrame(steps, columns=["side", "context", "operation", "ns_per_frame"])


def bus_frame():
    steps = [
        ("local", "tx_data_read", 11_000.0),
        ("local", "tx_descriptor_read", 400.0),
        ("local", "mmio_write", 120.0),
        ("remote", "rx_data_write", 9_500.0),
    ]
    return pd.DataFrame(steps, columns=["side", "use", "ns_per_frame"])


def ring_frame():
    kinds = ["mapped header", "payload", "payload"]
    rows = [("GSO", kinds[slot % 3], slot % 3 == 2, slot, 1 + slot // 3, 724.0) for slot in range(9)]
    return pd.DataFrame(rows, columns=["way", "kind", "last_of_call", "slot", "segment", "length_bytes"])


def timeline_frame():
    return pd.DataFrame(
        {
            "t_s": [0.0, 0.05, 0.10, 0.15],
            "throughput_mbit_s": [640.0, 642.0, 641.0, 642.5],
            "cpu_percent_local": [41.0, 41.5, 41.2, 41.3],
            "interrupts_per_s_local": [5300.0, 5320.0, 5290.0, 5310.0],
        }
    )


def pool_frame():
    rows = [
        {"t_ms": t, "line": line, "workload": workload, "pages_allocated_per_ms": factor * 64.0}
        for workload, factor in (("drop_skb", 2), ("iperf", 1))
        for line in ("release", "recycle")
        for t in (1.0, 2.0, 3.0)
    ]
    return pd.DataFrame(rows)


def alternatives_frame():
    rows = [
        ("unmap", "old.iperf.local.throughput_mbit_s", "fit", 875.0, 0.1, 3.0, "reproduced"),
        ("cold", "old.iperf.local.throughput_mbit_s", "fit", 875.0, -0.1, 3.0, "reproduced"),
        ("unmap", "new.iperf.local.throughput_mbit_s", "held_out", 858.0, -0.7, 3.0, "reproduced"),
        ("cold", "new.iperf.local.throughput_mbit_s", "held_out", 858.0, -26.0, 3.0, "not reproduced"),
    ]
    names = ["explanation", "id", "role", "published", "error_percent", "tolerance_percent", "verdict"]
    frame = pd.DataFrame(rows, columns=names)
    return frame.assign(predicted=frame["published"] * (1 + frame["error_percent"] / 100))


def ceilings_frame():
    return pd.DataFrame(
        [
            {"configuration": c, "workload": w, "resource": r, "published": p, "ceiling": v}
            for c, w, p in (
                ("baseline", "udp_stream", 541.8),
                ("napi", "udp_stream", 697.3),
                ("napi", "tcp_stream", 641.8),
            )
            for r, v in (("wire", 957.0), ("bus", 710.0), ("cpu", 3900.0))
        ]
    )


def ablation_frame():
    patches = (
        ("", 0.0),
        ("checksum", 0.0),
        ("suppression", 60.0),
        ("napi", 40.0),
        ("scatter_gather", -120.0),
    )
    return pd.DataFrame(
        [
            {
                "mode": mode,
                "step": step,
                "patch": patch,
                "workload": workload,
                "quantity": quantity,
                "unit": unit,
                "change": change * scale,
                "change_low": change * scale - 10,
                "change_high": change * scale + 20,
            }
            for quantity, unit, scale in (
                ("throughput_mbit_s", "Mbit/s", 1.0),
                ("cpu_percent_local", "%", -0.2),
            )
            for workload in ("udp_stream", "tcp_stream")
            for mode in ("alone", "in order")
            for step, (patch, change) in enumerate(patches)
        ]
    )


def sensitivity_frame():
    return pd.DataFrame(
        {
            "parameter": ["bus.clock_mhz", "bus.setup_clocks", "cpu.copy_ns"],
            "elasticity": [0.91, -0.42, -0.01],
        }
    )


def morris_frame():
    names = ["bus.clock_mhz", "cpu.copy_ns", "nic.gap_ns"]
    effects = [(-80.0, 80.0, 12.0, 20.0), (5.0, 30.0, 35.0, 40.0), (0.0, 0.0, 0.0, 0.0)]
    columns = ["mu_percent", "mu_star_percent", "mu_star_confidence_percent", "sigma_percent"]
    return pd.DataFrame(
        [
            {"id": name, "parameter": parameter, **dict(zip(columns, numbers, strict=True))}
            for name in ("new.tcp.local.cpu_percent", "new.udp.local.cpu_percent")
            for parameter, numbers in zip(names, effects, strict=True)
        ]
    )


def map_frame():
    return pd.DataFrame(
        [
            {"nic.dma_burst_dwords": a, "bus.clock_mhz": b, "throughput_mbit_s": 20.0 * a * b / (a + 8)}
            for a in BURSTS
            for b in (25, 33, 66)
        ]
    )


def copies_frame():
    return pd.DataFrame(
        [
            {
                "scenario": "alone",
                "source": "hot",
                "placement": "aligned",
                "footprint": footprint,
                "footprint_bytes": ring,
                "mode": mode,
                "routine": routine,
                "size_bytes": size,
                "p10_ns_per_byte": a / size + b,
                "median_ns_per_byte": 1.1 * (a / size + b),
            }
            for footprint, ring in (("L2", 1 << 20), ("DRAM", 600 << 20))
            for mode, routine, a, b in (
                ("cached", "vector", 3.0, 0.02 if footprint == "L2" else 0.1),
                ("nocache", "stream", 200.0, 0.05),
            )
            for size in (64, 1400, 65536)
        ]
    )


def crossovers_frame():
    return pd.DataFrame(
        [["aligned", "DRAM", 600 << 20, "vector", "stream", 4000.0, "from here on"]],
        columns="placement footprint footprint_bytes cached nocache crossover_bytes nocache_pays".split(),
    )


def copy_map_frame():
    return pd.DataFrame(
        [
            (size, ring, 20 + size * (0.1 if ring < 1 << 20 else 0.4), 400 + 0.2 * size)
            for size in (64, 1024, 16384)
            for ring in (1 << 16, 1 << 20, 1 << 24)
        ],
        columns=["size_bytes", "footprint_bytes", "cached_cycles", "nocache_cycles"],
    ).assign(ratio=lambda f: f["nocache_cycles"] / f["cached_cycles"])


def copy_place_frame():
    return pd.DataFrame([(16384, 300e3, 1200e3)], columns=["size_bytes", "low_bytes", "high_bytes"])


def significance_frame():
    return pd.DataFrame(
        [
            ("rr", "latency_p50_us", "yes", True, -12.7, -20.0, -8.7, 1e-7, 13.0, -0.03),
            ("rr", "latency_p99_us", "no", False, 0.4, 0.0, 0.9, 1.0, 12.0, 0.01),
        ],
        columns=[
            *["workload", "quantity", "significant", "called_equal", "t", "t_low", "t_high"],
            *["p_holm", "freedom", "delta_percent"],
        ],
    )


def latency_frame():
    return pd.DataFrame(
        [("as assumed", 300.0, 50.0), ("as assumed", 900.0, 1.0), ("lossless", 2400.0, 50.0)],
        columns=["variant", "latency_us", "slower_percent"],
    )


DRAWN = {
    "latency": lambda: charts.latency(latency_frame(), latency_frame()[:1], title="How long?"),
    "ledger": lambda: charts.ledger(ledger_frame()),
    "ledger_of_all": lambda: charts.ledger(ledger_frame().assign(slug=["a-1", "b-2", "b-2"] * 3)),
    "scores": lambda: charts.scores(scores_frame()),
    "figures": lambda: charts.figures(ledger_frame()),
    "costs": lambda: charts.costs(costs_frame()),
    "costs_published": lambda: charts.costs(costs_frame(), published={"process": 3100.0}),
    "alternatives": lambda: charts.alternatives(alternatives_frame()),
    "bus": lambda: charts.bus(bus_frame()),
    "path": lambda: charts.path(costs_frame().assign(changed=lambda f: f["operation"] == "ISR read")),
    "ring": lambda: charts.ring(ring_frame()),
    "timeline": lambda: charts.timeline(timeline_frame()),
    "timeline_by": lambda: charts.timeline(
        pool_frame(), ["pages_allocated_per_ms"], by="line", bound="workload"
    ),
    "ceilings": lambda: charts.ceilings(ceilings_frame()),
    "ablation": lambda: charts.ablation(ablation_frame()),
    "copies": lambda: charts.copies(copies_frame(), crossovers_frame()),
    "copy_map": lambda: charts.copy_map(copy_map_frame(), copy_place_frame()),
    "sensitivity": lambda: charts.sensitivity(sensitivity_frame()),
    "morris": lambda: charts.morris(morris_frame()),
    "significance": lambda: charts.significance(significance_frame()),
    "sweep": lambda: charts.sweep(
        sweep_frame(), "nic.dma_burst_dwords", bound="workload", published=published_frame()
    ),
    "sweep_by": lambda: charts.sweep(sweep_frame(seeds=3), "nic.dma_burst_dwords", by="workload"),
    "sweep2d": lambda: charts.sweep2d(
        map_frame(),
        "nic.dma_burst_dwords",
        "bus.clock_mhz",
        start={"nic.dma_burst_dwords": 64, "bus.clock_mhz": 33},
    ),
}


@pytest.fixture(params=DRAWN)
def spec(request):
    return render.stable(DRAWN[request.param]().to_dict())


@pytest.mark.parametrize("version", ["5.8", "6.4"])
def test_draws_in_the_vega_of_the_lab_and_of_the_report(spec, version):
    svg = vl_convert.vegalite_to_svg(spec, vl_version=version)
    assert svg.count("<path") > 3


def test_has_a_title_and_a_description_with_numbers(spec):
    title = spec["title"]
    assert (title["text"] if isinstance(title, dict) else title).strip()
    assert sum(c.isdigit() for c in spec["description"]) >= 2


def test_colours_are_those_of_the_theme(spec):
    # Any other grey or black would vanish on a dark page.
    text = json.dumps({k: v for k, v in spec.items() if k != "config"})
    assert '"black"' not in text
    assert "#000" not in text


def test_two_charts_of_equal_frames_are_equal_bytes():
    first, second = (json.dumps(render.stable(DRAWN["sweep"]().to_dict())) for _ in range(2))
    assert first == second


def test_noise_below_six_digits_does_not_reach_the_output():
    noisy = sweep_frame()
    noisy["throughput_mbit_s"] *= 1 + 1e-13
    specs = [charts.sweep(f, "nic.dma_burst_dwords", by="workload").to_dict() for f in (sweep_frame(), noisy)]
    assert json.dumps(specs[0]) != json.dumps(specs[1])
    assert json.dumps(render.stable(specs[0])) == json.dumps(render.stable(specs[1]))


def test_compact_data_draw_the_same_picture():
    for name, draw in DRAWN.items():
        rounded = json.loads(
            json.dumps(draw().to_dict()), parse_float=lambda text: float(f"{float(text):.6g}")
        )
        plain = {**rounded, "$schema": render.SCHEMA}
        svgs = [vl_convert.vegalite_to_svg(s, vl_version="5.21") for s in (plain, render.stable(plain))]
        first, second = (re.sub(r"view_[0-9a-f]+(_\d+)?_|(?<=gradient_)\d+", "", svg) for svg in svgs)
        assert first == second, name


def test_words_with_digits_are_not_taken_for_dates():
    spec = render.stable(DRAWN["ablation"]().to_dict())
    assert spec["data"]["format"]["parse"]["patch"] == "string"


def test_a_difference_in_the_sixth_digit_does_reach_the_output():
    moved = sweep_frame()
    moved["throughput_mbit_s"] *= 1 + 1e-5
    specs = [
        render.stable(charts.sweep(f, "nic.dma_burst_dwords", by="workload").to_dict())
        for f in (sweep_frame(), moved)
    ]
    assert specs[0] != specs[1]


def test_bundle_carries_specification_picture_and_words():
    bundle = render.bundle(DRAWN["sensitivity"]().to_dict())
    assert bundle[render.MIME]["$schema"] == render.SCHEMA
    assert bundle["image/png"].startswith("iVBORw0KGgo")
    assert "elasticities" in bundle["text/plain"].lower()


def test_nothing_is_warned_about_while_a_chart_is_shown():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        render.enable()
        DRAWN["sweep"]()._repr_mimebundle_()
    assert not seen


CARRY = {
    "ledger": (charts.ledger, ledger_frame, "verdict", "predicted"),
    "figures": (charts.figures, ledger_frame, "role", "published"),
    "costs": (charts.costs, costs_frame, "operation", "ns_per_frame"),
    "bus": (charts.bus, bus_frame, "use", "ns_per_frame"),
    "path": (charts.path, costs_frame, "context", "ns_per_frame"),
    "ring": (charts.ring, ring_frame, "kind", "slot"),
    "timeline": (charts.timeline, timeline_frame, "t_s", "throughput_mbit_s"),
    "ceilings": (charts.ceilings, ceilings_frame, "resource", "ceiling"),
    "ablation": (charts.ablation, ablation_frame, "patch", "change_low"),
    "copies": (charts.copies, copies_frame, "placement", "p10_ns_per_byte"),
    "copy_map": (charts.copy_map, copy_map_frame, "size_bytes", "ratio"),
    "latency": (
        lambda f: charts.latency(f, title="How long?"),
        latency_frame,
        "variant",
        "slower_percent",
    ),
    "scores": (charts.scores, scores_frame, "predictor", "worst_error_percent"),
    "sensitivity": (charts.sensitivity, sensitivity_frame, "parameter", "elasticity"),
    "morris": (charts.morris, morris_frame, "parameter", "mu_star_percent"),
    "significance": (charts.significance, significance_frame, "called_equal", "t"),
    "sweep": (
        lambda f: charts.sweep(f, "nic.dma_burst_dwords"),
        sweep_frame,
        "nic.dma_burst_dwords",
        "throughput_mbit_s",
    ),
    "alternatives": (charts.alternatives, alternatives_frame, "verdict", "error_percent"),
    "sweep2d": (
        lambda f: charts.sweep2d(f, "nic.dma_burst_dwords", "bus.clock_mhz"),
        map_frame,
        "bus.clock_mhz",
        "throughput_mbit_s",
    ),
}


@pytest.mark.parametrize("name", CARRY)
def test_a_missing_column_is_named_with_the_chart(name):
    draw, frame, column, _ = CARRY[name]
    with pytest.raises(
        DataError, match=rf"charts\.{name}.*: {column}: column missing; (did you mean|known:)"
    ):
        draw(frame().drop(columns=column))


@pytest.mark.parametrize("name", CARRY)
def test_words_where_numbers_belong_are_refused(name):
    draw, frame, _, column = CARRY[name]
    with pytest.raises(DataError, match=f"{column} = 'many': not a column of numbers"):
        draw(frame().assign(**{column: "many"}))


@pytest.mark.parametrize("name", CARRY)
def test_an_empty_frame_is_refused(name):
    draw, frame, _, _ = CARRY[name]
    with pytest.raises(DataError, match="no rows"):
        draw(frame().iloc[:0])


def test_figures_of_a_quantity_that_no_row_has_are_refused():
    with pytest.raises(DataError, match="no rows"):
        charts.figures(ledger_frame(), ["latency_us"])


def test_rows_without_a_prediction_are_counted_not_hidden():
    frame = ledger_frame()
    frame.loc[0, "predicted"] = float("nan")
    assert "8 rows; 1 more have no prediction" in charts.ledger(frame).to_dict()["title"]["subtitle"]


def test_the_ledger_of_several_experiments_has_a_list_of_them_and_reasons_at_the_pointer():
    spec = DRAWN["ledger_of_all"]().to_dict()
    (chosen,) = spec["params"]
    assert chosen["bind"]["options"] == ["all", "a-1", "b-2"]
    assert {row["why"] for rows in spec["datasets"].values() for row in rows if row} == {"made up"}
    assert "params" not in charts.ledger(ledger_frame()).to_dict()


def test_an_error_of_nothing_stands_at_the_axis():
    rows = next(rows for rows in charts.scores(scores_frame()).to_dict()["datasets"].values())
    assert [row["from"] for row in rows] == [3.4, 32.0, 0.01]
    assert rows[2]["median_error_percent"] == 0


def test_small_operations_are_summed_not_dropped():
    frame = pd.DataFrame(
        [
            {"side": "local", "context": "process", "operation": f"step {i}", "ns_per_frame": 100.0 - i}
            for i in range(12)
        ]
    )
    spec = charts.costs(frame).to_dict()
    rows = max(spec["datasets"].values(), key=len)
    assert sum(r["ns_per_frame"] for r in rows) == pytest.approx(frame["ns_per_frame"].sum())
    assert len(rows) == 8


def drawn(chart):
    return vl_convert.vegalite_to_svg(render.stable(chart.to_dict()), vl_version="6.4")


def test_a_published_time_is_one_hollow_mark_on_its_bar():
    with_mark, without = (
        drawn(charts.costs(costs_frame(), published=published)).count('stroke-width="2"')
        for published in ({"process": 3100.0}, None)
    )
    assert with_mark - without == 2  # both sides have a bar of that name


def test_explanations_of_a_row_do_not_cover_each_other():
    points = re.findall(
        r'role="graphics-symbol" aria-roledescription="point"[^>]*translate\(([\d.]+),([\d.]+)\)',
        drawn(charts.alternatives(alternatives_frame())),
    )
    heights = [y for _, y in points]
    assert len(heights) == 4
    assert heights[0] != heights[1]  # a panel for each role, in the panel's own measure
    assert heights[2] != heights[3]


def test_a_line_of_a_run_over_time_is_chosen_by_a_list():
    spec = charts.timeline(pool_frame(), ["pages_allocated_per_ms"], by="line", bound="workload").to_dict()
    (chosen,) = [p for p in spec["params"] if p["name"] == "shown"]
    assert chosen["bind"]["options"] == ["drop_skb", "iperf"]
    assert "shown for workload = drop_skb" in spec["description"]


def test_seeds_stay_visible_as_dots():
    spec = DRAWN["sweep_by"]().to_dict()
    (rows,) = (v for v in spec["datasets"].values() if len(v) > 1)
    assert len(rows) == 2 * len(BURSTS) * 3
    line = next(layer for layer in spec["spec"]["layer"] if layer["mark"]["type"] == "line")
    assert line["encoding"]["y"]["aggregate"] == "mean"


def test_published_values_are_marked_and_told_apart():
    spec = DRAWN["sweep"]().to_dict()
    (rows,) = (v for v in spec["datasets"].values() if len(v) > 1)
    assert [r["Throughput (Mbit/s)"] for r in rows if r["published"]] == [640.0, 690.0]


def test_without_published_values_none_are_drawn():
    layers = DRAWN["sweep_by"]().to_dict()["spec"]["layer"]
    assert not any(layer["mark"].get("shape") == "diamond" for layer in layers)


def test_the_marker_starts_at_the_published_setting():
    (marker,) = [p for p in DRAWN["sweep"]().to_dict()["params"] if p["name"] == "at"]
    assert marker["value"] == [{"x": 64}]
    assert marker["bind"]["options"] == BURSTS


def test_the_marker_is_moved_in_every_panel():
    spec = DRAWN["sweep"]().to_dict()
    (marker,) = [p for p in spec["params"] if p["name"] == "at"]
    assert spec["spec"]["layer"][0]["name"] in marker["views"]
    assert spec["facet"]["row"]["sort"] == [
        "Throughput (Mbit/s)",
        "CPU, sender (%)",
        "Interrupts, sender (1/s)",
    ]


def test_the_second_control_chooses_the_workload():
    spec = DRAWN["sweep"]().to_dict()
    (shown,) = [p for p in spec["params"] if p["name"] == "shown"]
    assert shown["bind"]["options"] == ["tcp_stream", "udp_stream"]


@pytest.mark.parametrize(
    ("settings", "kind"),
    [([16, 32, 48], "range"), ([8, 16, 32], "select"), ([False, True], "select"), (["a", "b"], "select")],
)
def test_the_control_fits_the_settings(settings, kind):
    assert setting.control(settings, "x").to_dict()["input"] == kind


def test_settings_come_as_plain_values_in_order():
    values = pd.Series([64, 8, 8, 16])
    assert setting.ordered(values) == [8, 16, 64]
    assert all(type(v) is int for v in setting.ordered(values))
    assert setting.ordered([True, False]) == [True, False]


def test_hollow_is_published_and_filled_is_predicted():
    assert theme.PUBLISHED["filled"] is False
    layers = DRAWN["figures"]().to_dict()["vconcat"][0]["layer"]
    marks = {layer["encoding"]["x"]["field"]: layer["mark"].get("filled") for layer in layers}
    assert marks["published"] is False
    assert marks["predicted"] is True


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2673939.0, "2,674,000"),
        (0.0, "0"),
        (-1.2345, "-1.234"),
        (0.00001234, "1.234e-05"),
        (float("nan"), "–"),
    ],
)
def test_numbers_keep_four_digits(value, text):
    assert labels.number(value) == text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("throughput_mbit_s", "Throughput (Mbit/s)"),
        ("interrupts_per_s_remote", "Interrupts, receiver (1/s)"),
        ("driver.tx_ring", "TX ring"),
        ("bus.clock_mhz", "Clock (MHz)"),
    ],
)
def test_titles_have_units(name, text):
    assert labels.title(name) == text


def test_effects_are_drawn_for_the_figures_asked_for_and_with_their_direction():
    name = "new.udp.local.cpu_percent"
    (rows,) = charts.morris(morris_frame(), [name]).to_dict()["datasets"].values()
    assert {row["id"] for row in rows} == {name}
    assert [row["said"] for row in rows] == ["−80", "±30"]  # and no bar for what does nothing
    assert [row["from"] for row in rows] == [68.0, 0.0]
    with pytest.raises(DataError, match="no parameter acts on this figure"):
        charts.morris(morris_frame(), ["new.rr.local.cpu_percent"])
