"""The arithmetic of the published figures: what it must find, and that each check can fail."""

import csv
import shutil

import pytest

from nicperf.errors import DataError
from nicperf.paths import data_dir
from nicperf.published import consistency
from nicperf.published.printed import read_printed


@pytest.fixture
def judge(tmp_path):
    """Consistency of a thread in which one figure was printed as another text."""

    def changed(slug, figure, text):
        shutil.copytree(data_dir() / slug, tmp_path / slug)
        table = tmp_path / slug / "figures.csv"
        rows = list(csv.DictReader(table.read_text(encoding="utf-8").splitlines()))
        row = next(row for row in rows if row["id"] == figure)
        raw = tmp_path / slug / "raw" / row["raw_file"]
        lines = raw.read_text(encoding="utf-8").split("\n")
        at = int(row["raw_line"]) - 1
        assert lines[at].count(row["value_text"]) == 1
        lines[at] = lines[at].replace(row["value_text"], text)
        raw.write_text("\n".join(lines), encoding="utf-8")
        printed = read_printed(text, row["unit"])
        row.update(value=printed.value, spread=printed.spread, value_text=text)
        with table.open("w", encoding="utf-8") as file:
            writer = csv.DictWriter(file, row)
            writer.writeheader()
            writer.writerows(rows)
        return consistency(slug, root=tmp_path)

    return changed


def verdict(table, check, subject):
    return table[(table["check"] == check) & (table["subject"] == subject)]["verdict"].tolist()


def test_all_18_service_demands_recompute():
    table = consistency("velocity-2009")
    rows = table[table["check"] == "service_demand"]
    assert len(rows) == 18
    assert rows["error_percent"].abs().max() < 0.05
    # 81.92 * CPU% / (Mbit/s), by hand for one row.
    row = rows[rows["subject"] == "baseline.tcp_stream.local.service_demand_us_per_kb"].iloc[0]
    assert row["recomputed"] == pytest.approx(81.92 * 60.54 / 505.25, rel=1e-6)


def test_velocity_agrees_with_itself():
    table = consistency("velocity-2009")
    assert set(table["verdict"]) == {"consistent"}
    assert (table["check"] == "rate_from_messages").sum() == 6
    ceiling = table[table["check"] == "wire_ceiling"].set_index("subject")
    assert len(ceiling) == 12
    assert ceiling.loc["napi.udp_stream.local.throughput_mbit_s", "recomputed"] == pytest.approx(
        961.57, abs=0.005
    )
    assert ceiling.loc["napi.tcp_stream.local.throughput_mbit_s", "recomputed"] == pytest.approx(
        941.48, abs=0.005
    )


def test_fec_agrees_with_itself_with_bytes_in_1024():
    table = consistency("fec-2022")
    assert set(table["verdict"]) == {"consistent"}
    assert (table["check"] == "rate_from_transfer").sum() == 44
    assert (table["check"] == "sum_of_intervals").sum() == 4


def test_the_column_headed_gigabits_holds_megabits():
    table = consistency("nocache-2014")
    slips = table[table["check"] == "unit"]
    assert len(slips) == 4 and set(slips["verdict"]) == {"inconsistent"}
    assert slips["subject"].str.endswith("throughput_gbit_s").all()
    assert slips["recomputed"].between(9.4, 9.41).all()
    assert slips["why"].str.endswith("the figure counts Mbit/s").all()


def test_cycles_per_byte_agree_once_the_unit_is_found():
    table = consistency("nocache-2014")
    rows = table[table["check"] == "cycles_per_byte"].set_index("subject")["recomputed"]
    assert set(table[table["check"] == "cycles_per_byte"]["verdict"]) == {"consistent"}
    assert rows.round(4).tolist() == [0.7998, 0.838, 0.9216, 0.9581]


def test_14000_byte_exchanges_exceed_the_wire():
    table = consistency("nocache-2014")
    rows = table[table["check"] == "wire_ceiling"].set_index("subject")
    for configuration, percent in (("off", 103.05), ("on", 102.64)):
        row = rows.loc[f"{configuration}.rr_14000.local.transactions_per_s"]
        assert row["verdict"] == "impossible"
        assert row["recomputed"] == pytest.approx(83_893, abs=1)
        assert f"{percent} %" in row["why"]
    assert verdict(table, "wire_ceiling", "off.rr_1400.local.transactions_per_s") == ["consistent"]
    assert rows.loc["off.stream_same_cpu.local.throughput_gbit_s", "error_percent"] == pytest.approx(
        -0.136, abs=0.01
    )


def test_percentiles_cannot_carry_the_mean_latency():
    table = consistency("nocache-2014")
    row = table[(table["check"] == "littles_law") & (table["subject"].str.startswith("off.rr_14000"))].iloc[0]
    assert row["verdict"] == "inconsistent"
    assert row["published"] == pytest.approx(200 / 86450 * 1e6, rel=1e-4)
    assert "154.5" in row["why"] and "slowest 1 %" in row["why"]
    assert verdict(table, "littles_law", "on.rr_14000.local.transactions_per_s") == ["inconsistent"]
    assert verdict(table, "littles_law", "off.rr_1400.local.transactions_per_s") == ["consistent"]


def test_without_a_rate_nothing_can_be_told():
    table = consistency("mvneta-2014")
    assert len(table) == 2 and set(table["verdict"]) == {"cannot tell"}
    assert table["recomputed"].isna().all()


def test_all_threads_at_once():
    table = consistency()
    assert len(table) == sum(len(consistency(slug)) for slug in table["slug"].unique())
    assert set(table["verdict"]) == {"consistent", "inconsistent", "impossible", "cannot tell"}
    with pytest.raises(DataError, match="did you mean 'velocity-2009'"):
        consistency("velocity-2010")


@pytest.mark.parametrize(
    ("slug", "figure", "text", "check", "subject"),
    [
        (
            "velocity-2009",
            "baseline.tcp_stream.local.cpu_percent",
            "60.64",
            "service_demand",
            "baseline.tcp_stream.local.service_demand_us_per_kb",
        ),
        (
            "velocity-2009",
            "napi.udp_stream.remote.messages",
            "26633",
            "rate_from_messages",
            "napi.udp_stream.remote.throughput_mbit_s",
        ),
        (
            "fec-2022",
            "original.iperf.local.interval_transfer_mib.s03",
            "107 MBytes",
            "rate_from_transfer",
            "original.iperf.local.interval_throughput_mbit_s.s03",
        ),
        (
            "fec-2022",
            "any.iperf_64.local.interval_transfer_mib.s07",
            "39.1 MBytes",
            "sum_of_intervals",
            "any.iperf_64.local.transfer_mib",
        ),
        (
            "nocache-2014",
            "on.stream_split_cpu.local.cpu0_gcycle",
            "5.94±0.03",
            "cycles_per_byte",
            "on.stream_split_cpu.local.demand_cycle_per_byte",
        ),
    ],
)
def test_relations_notice_a_wrong_figure(judge, slug, figure, text, check, subject):
    assert verdict(consistency(slug), check, subject) == ["consistent"]
    assert verdict(judge(slug, figure, text), check, subject) == ["inconsistent"]


@pytest.mark.parametrize(("rate", "expected"), [("945", "cannot tell"), ("951", "impossible")])
def test_a_rate_above_a_ceiling(judge, rate, expected):
    figure = "recycle.iperf.local.throughput_mbit_s"
    assert verdict(judge("fec-2022", figure, f"{rate} Mbits/sec"), "wire_ceiling", figure) == [expected]


def test_a_column_in_the_right_unit_has_no_slip(judge):
    figure = "off.stream_same_cpu.local.throughput_gbit_s"
    table = judge("nocache-2014", figure, "9.402±0.005")
    assert verdict(table, "unit", figure) == []
    assert verdict(table, "wire_ceiling", figure) == ["consistent"]


def test_a_slip_is_found_whatever_its_size_and_column(judge):
    table = judge("velocity-2009", "all.tcp_stream.local.throughput_mbit_s", "563360.00")
    slips = table[table["check"] == "unit"]
    assert set(slips["subject"]) == {"all.tcp_stream.local.throughput_mbit_s"}
    assert slips["why"].str.endswith("the figure counts kbit/s").all()


@pytest.mark.parametrize(
    ("rate", "expected"), [("692000", "consistent"), ("300000", "inconsistent"), ("1800000", "impossible")]
)
def test_littles_law_judges_both_ends(judge, rate, expected):
    figure = "off.rr_1400.local.transactions_per_s"
    table = judge("nocache-2014", figure, f"{rate}±1000 tps")
    assert verdict(table, "littles_law", figure) == [expected]
