"""The checked-in evidence: what is there, where each number stands, and the roles as they were fixed."""

import re
from pathlib import Path

import pandas as pd
import pytest

from nicperf.parsers import parse
from nicperf.paths import data_dir
from nicperf.published import claims, figures, fit_rows, require_fit, slugs, source
from nicperf.records import Interrupts

SLUGS = ["velocity-2009", "mvneta-2014", "nocache-2014", "fec-2022"]
FIT = {
    "velocity-2009": {
        "baseline.udp_stream.local.throughput_mbit_s",
        "baseline.udp_stream.local.cpu_percent",
        "baseline.udp_stream.remote.cpu_percent",
        "napi.udp_stream.local.throughput_mbit_s",
        "napi.udp_stream.local.cpu_percent",
        "napi.tcp_stream.local.throughput_mbit_s",
        "napi.tcp_stream.local.cpu_percent",
        "napi.tcp_stream.remote.cpu_percent",
        "all.tcp_stream.local.throughput_mbit_s",
        "all.tcp_stream.local.cpu_percent",
        "all.tcp_sendfile.local.cpu_percent",
        "napi.session.local.interrupts_total",
    },
    "mvneta-2014": {"tso_off.iperf.local.cpu_percent"},
    "nocache-2014": {
        "off.stream_same_cpu.local.cpu0_gcycle",
        "off.stream_split_cpu.local.cpu0_gcycle",
        "off.stream_split_cpu.local.cpu1_gcycle",
        "on.stream_same_cpu.local.cpu0_gcycle",
        "off.rr_1400.local.transactions_per_s",
        "off.rr_14000.local.latency_p50_us",
    },
    "fec-2022": {
        "original.iperf.local.throughput_mbit_s",
        "recycle.drop_native.remote.packets_per_s",
        "recycle.drop_skb.remote.packets_per_s",
        "release.drop_skb.remote.packets_per_s",
    },
}


def test_all_four_threads_are_here():
    assert slugs() == SLUGS


@pytest.mark.parametrize(
    ("slug", "rows", "held_out", "context"),
    [
        ("velocity-2009", 102, 21, 69),
        ("mvneta-2014", 2, 1, 0),
        ("nocache-2014", 34, 28, 0),
        ("fec-2022", 149, 33, 112),
    ],
)
def test_number_of_figures_by_role(slug, rows, held_out, context):
    assert len(figures(slug)) == rows
    assert len(figures(slug, "held_out")) == held_out
    assert len(figures(slug, "context")) == context


@pytest.mark.parametrize("slug", SLUGS)
def test_rows_to_fit_are_those_fixed_before_the_first_fit(slug):
    assert set(fit_rows(slug)["id"]) == FIT[slug]
    require_fit(fit_rows(slug))


def test_every_other_throughput_cpu_and_interrupt_total_of_velocity_is_held_out():
    rows = figures("velocity-2009")
    measured = rows[rows["quantity"].isin(["throughput_mbit_s", "cpu_percent", "interrupts_total"])]
    others = measured[~measured["id"].isin(FIT["velocity-2009"])]
    assert set(others["role"]) == {"held_out"} and len(others) == 21
    assert set(rows[rows["quantity"] == "service_demand_us_per_kb"]["role"]) == {"context"}


def test_held_out_rows_of_the_other_threads():
    rows = figures("fec-2022", "held_out")
    assert rows.loc[rows["quantity"] == "throughput_mbit_s", "configuration"].tolist() == [
        *("release", "recycle", "any", "ring_16", "ring_64", "ring_128"),
    ]
    packets = rows[rows["quantity"] == "packets_per_s"]
    assert packets.groupby("configuration")["workload"].agg(set).to_dict() == {
        "recycle": {"pass_native", "pass_skb", "xdp2_skb"},
        "release": {"drop_native", "pass_native", "pass_skb", "xdp2_skb"},
        **{
            posting: {"xdpsock_native", "xdpsock_skb", "xdp2_native", "xdp2_skb"}
            for posting in ("first", "ring_16", "third")
        },
    }
    assert (rows["quantity"] == "packets_kpps").sum() == 8
    assert figures("mvneta-2014", "held_out")["id"].tolist() == ["tso_on.iperf.local.cpu_percent"]


@pytest.mark.parametrize("slug", SLUGS)
def test_value_text_stands_on_its_line(slug):
    """Separate from the loader, which checks the same."""
    for row in figures(slug).itertuples():
        lines = (data_dir() / slug / "raw" / row.raw_file).read_text(encoding="utf-8").splitlines()
        assert row.value_text in lines[row.raw_line - 1], row.id


@pytest.mark.parametrize("slug", ["velocity-2009", "fec-2022"])
def test_figures_of_tool_output_are_what_the_parsers_read(slug):
    """Every number that a parser finds is a row, and every row is a number that a parser finds."""
    found = []
    for name in source(slug).tool_output:
        for record in parse(data_dir() / slug / "raw" / name):
            frame = record.to_frame().assign(raw_file=name)
            if isinstance(record, Interrupts):
                timer = frame["description"].str.endswith("timer")
                frame["quantity"] = frame["quantity"].where(~timer, "timer_interrupts_total")
            found.append(frame)
    columns = ["raw_file", "raw_line", "side", "quantity", "value", "unit"]
    read = pd.concat(found).rename(columns={"line": "raw_line"})[columns].sort_values(columns)
    rows = figures(slug)
    rows = rows.loc[rows["raw_file"].isin(source(slug).tool_output), columns].sort_values(columns)
    pd.testing.assert_frame_equal(read.reset_index(drop=True), rows.reset_index(drop=True))


def test_every_number_of_the_authors_tables_is_a_row():
    for slug in ("nocache-2014", "mvneta-2014"):
        rows = figures(slug)
        for path in (data_dir() / slug / "raw").iterdir():
            lines = path.read_text(encoding="utf-8").splitlines()
            printed = sum(len(re.findall(r"\S±\S|~\d", line)) for line in lines)
            assert printed == (rows["raw_file"] == path.name).sum()
    assert figures("nocache-2014")["spread"].notna().all()


def test_every_rate_of_the_xdp_tools_is_a_row():
    """Totals of xdp_rxq_info, rx of xdpsock, each line of xdp2 but those with a stray packet or none, the sweep."""
    rate = r"XDP-RX CPU +total +([\d,]+)|^ *rx +(\d+) |proto \d+: +(\d\d+) pkt/s|(\d+)(?:K|Mbps)\b"
    rows = figures("fec-2022")
    rows = rows[~rows["raw_file"].isin(source("fec-2022").tool_output)]
    assert set(rows["raw_file"]) == set(source("fec-2022").messages)
    for name, found in rows.groupby("raw_file"):
        printed = []
        for number, line in enumerate((data_dir() / "fec-2022" / "raw" / name).read_text().splitlines(), 1):
            printed += [(number, "".join(texts)) for texts in re.findall(rate, line)]
        assert printed == sorted(
            zip(found["raw_line"], found["value_text"], strict=True), key=lambda row: row[0]
        )


def test_known_values():
    """Copied by hand from the posts."""
    by_id = pd.concat(map(figures, SLUGS)).set_index("id")["value"]
    assert by_id["napi.udp_stream.remote.throughput_mbit_s"] == 697.2
    assert by_id["all.tcp_sendfile.remote.service_demand_us_per_kb"] == 4.480
    assert by_id["baseline.session.local.interrupts_total"] == 2673939
    assert by_id["on.rr_14000.local.latency_p95_us"] == 2110
    assert by_id["on.stream_split_cpu.local.cpu1_gcycle"] == 5.523
    assert by_id["recycle.iperf.local.transfer_mib"] == 1.09 * 1024
    assert by_id["any.iperf_64.local.interval_throughput_mbit_s.s05"] == 311
    assert by_id["tso_on.iperf.local.cpu_percent"] == 15
    assert by_id["release.drop_skb.remote.packets_per_s"] == 104_443
    assert by_id["recycle.xdp2_skb.remote.packets_per_s"] == 122_473
    assert by_id["ring_128.xdpsock_native.remote.packets_kpps"] == 160


def test_claims_are_many_and_rest_on_figures_that_exist():
    everything = pd.concat(map(claims, SLUGS))
    assert len(everything) >= 25
    assert set(everything["slug"]) == set(SLUGS)
    for claim in everything.itertuples():
        assert set(claim.figures) <= set(figures(claim.slug)["id"]), claim.id
        assert len(claim.statement) > 20 and len(claim.refuted_by) > 20 and claim.place, claim.id


@pytest.mark.parametrize("slug", SLUGS)
def test_source_describes_what_the_figures_name(slug):
    described, rows = source(slug), figures(slug)
    assert set(rows["configuration"]) == set(described.configurations)
    assert set(rows["workload"]) == set(described.workloads)
    assert set(rows["side"]) <= set(described.hosts)
    assert described.unknown and str(described.date)[:4] == slug[-4:]


def test_no_host_or_person_is_named_in_raw_text():
    for path in Path(data_dir()).glob("*/raw/*"):
        text = path.read_text(encoding="utf-8")
        assert set(re.findall(r" to (\S+) \(", text)) <= {"remote"}, path
        assert set(re.findall(r"\S*@\S*", text)) <= {"user@client:~$", "root@board:~/bpf#", "sock0@eth0:0"}, (
            path
        )
        assert not re.search(r"^> ", text, re.MULTILINE), path
