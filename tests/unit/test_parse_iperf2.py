"""iperf2's text and CSV, as versions 2.0 and 2.1 print them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nicperf.errors import ParseError
from nicperf.parsers import parse

RULER = "-" * 60 + "\n"
CLIENT = (
    RULER
    + """\
Client connecting to 192.0.2.2, TCP port 5001 with pid 13769 (1 flows)
Write buffer size: 131072 Byte
TOS set to 0x0 (Nagle on)
TCP window size: 16.0 KByte (default)
"""
    + RULER
    + """\
[  1] local 192.0.2.1%eth0 port 57322 connected with 192.0.2.2 port 5001 (sock=3) (icwnd/mss/irtt=14/1448/51)
[ ID] Interval            Transfer    Bandwidth       Write/Err  Rtry     Cwnd/RTT(var)        NetPwr
[  1] 0.0000-1.0000 sec  3.35 GBytes  28.7 Gbits/sec  27414/0       2266      364K/21(6) us  171105137
[  1] 1.0000-2.0000 sec  3.51 GBytes  30.2 Gbits/sec  28776/0       1249      325K/28(12) us  134704567
[  1] 0.0000-2.0051 sec  6.86 GBytes  29.4 Gbits/sec  56192/0       3515      345K/23(9) us  159703438
"""
)
SERVER = (
    RULER
    + """\
Server listening on TCP port 5001
TCP window size:  128 KByte (default)
"""
    + RULER
    + """\
[  1] local 192.0.2.2 port 5001 connected with 192.0.2.1 port 57322 (icwnd/mss/irtt=14/1448/31)
[ ID] Interval       Transfer     Bandwidth
[  1] 0.0000-1.9998 sec  6.86 GBytes  29.5 Gbits/sec
[  2] local 192.0.2.2 port 5001 connected with 192.0.2.1 port 57328 (icwnd/mss/irtt=14/1448/22)
[ ID] Interval       Transfer     Bandwidth
[  2] 0.0000-2.0000 sec  93.5 MBytes   392 Mbits/sec
"""
)
OLD = (
    RULER
    + """\
Client connecting to 192.0.2.2, TCP port 5001
TCP window size: 85.3 KByte (default)
"""
    + RULER
    + """\
[  4] local 192.0.2.1 port 51466 connected with 192.0.2.2 port 5001
[  3] local 192.0.2.1 port 51467 connected with 192.0.2.2 port 5001
[ ID] Interval       Transfer     Bandwidth
[  4]  0.0-10.0 sec   561 MBytes   471 Mbits/sec
[  3]  0.0-10.0 sec   560 MBytes   470 Mbits/sec
[SUM]  0.0-10.0 sec  1.09 GBytes   940 Mbits/sec
"""
)
CSV = "19700101000000,192.0.2.1,57328,192.0.2.2,5001,1,0.0-2.0,98043388,392075729\n"


def test_client_with_intervals():
    (record,) = parse(CLIENT)
    assert (record.role, record.connection, record.window_bytes) == ("client", "1", 16384)
    assert [(r.start_s, r.end_s, r.throughput_mbit_s) for r in record.intervals] == [
        (0.0, 1.0, 28700.0),
        (1.0, 2.0, 30200.0),
    ]
    assert record.total.transfer_mib == 6.86 * 1024
    assert (record.total.end_s, record.total.line) == (2.0051, 11)
    assert record.total.more.split()[0] == "56192/0"


def test_server_with_two_connections():
    first, second = parse(SERVER)
    assert (first.role, first.connection, second.connection) == ("server", "1", "2")
    assert second.addresses == "local 192.0.2.2 port 5001 connected with 192.0.2.1 port 57328"
    assert (second.total.transfer_mib, second.total.throughput_mbit_s) == (93.5, 392)
    assert first.to_frame()["side"].unique().tolist() == ["remote"]


def test_parallel_connections_of_an_old_version_and_their_sum():
    records = {record.connection: record for record in parse(OLD)}
    assert list(records) == ["4", "3", "SUM"]
    assert records["SUM"].total.transfer_mib == 1.09 * 1024
    assert records["4"].total.time_step_s == 0.1


@pytest.mark.parametrize(
    ("printed", "mib", "mbit_s"),
    [
        ("512 KBytes  4.19 Mbits/sec", 0.5, 4.19),
        ("1.00 GBytes   858 Mbits/sec", 1024, 858),
        ("64.0 Bytes   512 bits/sec", 64 / 2**20, 0.000512),
        ("1.50 MBytes  12.6 Kbits/sec", 1.5, 0.0126),
        ("2.00 MBytes  2.00 MBytes/sec", 2, 16.777216),
    ],
)
def test_bytes_count_in_1024_and_bits_in_1000(printed, mib, mbit_s):
    (record,) = parse(SERVER.split("[  2]")[0].replace("6.86 GBytes  29.5 Gbits/sec", printed))
    assert record.total.transfer_mib == pytest.approx(mib, rel=1e-12)
    assert record.total.throughput_mbit_s == pytest.approx(mbit_s, rel=1e-12)


def test_csv():
    (record,) = parse(CSV)
    assert (record.role, record.connection, record.intervals) == ("csv", "1", ())
    assert record.total.transfer_mib * 2**20 == 98043388
    assert record.total.throughput_mbit_s == pytest.approx(392.075729, rel=1e-12)


def test_csv_with_intervals():
    interval = CSV.replace("0.0-2.0", "0.0-1.0").replace("98043388", "49021694")
    second = interval.replace("0.0-1.0", "1.0-2.0")
    (record,) = parse(interval + second + CSV)
    assert [report.line for report in (*record.intervals, record.total)] == [1, 2, 3]


def test_csv_appended_by_two_runs_is_two_connections():
    first, second = parse(CSV + CSV.replace("57328", "57330"))
    assert first.intervals == second.intervals == ()
    assert second.total.line == 2


def test_csv_sums_belong_to_their_run():
    def run(port):
        a = CSV.replace("57328", str(port))
        return a + a.replace(f"{port}", f"{port + 1}").replace(",1,0.0", ",2,0.0") + SUM

    SUM = CSV.replace("57328", "0").replace("5001,1,", "0,-1,")
    assert [record.connection for record in parse(run(57328) + run(57340))] == ["1", "2", "SUM"] * 2


def test_number_that_an_old_server_uses_again_is_another_connection():
    again = SERVER.replace("[  2]", "[  1]")
    assert [record.total.transfer_mib for record in parse(again)] == [6.86 * 1024, 93.5]


def test_frame_names_intervals():
    frame = parse(CLIENT)[0].to_frame()
    assert frame["quantity"].tolist() == ["interval_transfer_mib", "interval_throughput_mbit_s"] * 2 + [
        "transfer_mib",
        "throughput_mbit_s",
    ]
    assert set(frame["unit"]) == {"MiB", "Mbit/s"}


@pytest.mark.parametrize("text", [CLIENT, OLD, SERVER.split("[  2]")[0]])
def test_cut_at_any_line(text):
    lines = text.splitlines()
    for end in range(len(lines)):
        with pytest.raises(ParseError, match=r"^text:\d+: ") as caught:
            parse("\n".join(lines[:end]) + "\n")
        assert caught.value.cure


def test_cut_after_the_first_interval_is_noticed_by_the_command():
    cut = "".join(line for line in OLD.splitlines(keepends=True) if "[  3]" not in line and "SUM" not in line)
    with pytest.raises(ParseError, match="over the whole time"):
        parse("$ iperf -c 192.0.2.2 -i 10 -t 60\n" + cut)
    assert len(parse("$ iperf -c 192.0.2.2\n" + cut)) == 1


def test_first_interval_of_a_client_alone_is_refused_and_the_command_cures_it():
    cut = "\n".join(CLIENT.splitlines()[:9]) + "\n"
    with pytest.raises(ParseError, match="the command above it"):
        parse(cut)
    assert parse("user@client:~$ iperf -c 192.0.2.2 -t 1 -e\n" + cut)[0].total.end_s == 1.0


@given(st.integers(0, len(CLIENT.rstrip()) - len(CLIENT.splitlines()[-1]) + 40))
def test_cut_at_any_character_before_the_last_column(end):
    with pytest.raises(ParseError):
        parse(CLIENT[:end] + "\n")


@given(st.integers(1, len(CSV) - 2))
def test_csv_cut_at_any_character(end):
    with pytest.raises(ParseError):
        parse(CSV[:end] + "\n")


@given(st.data())
def test_any_altered_character_is_an_error_or_a_record(data):
    text = data.draw(st.sampled_from([CLIENT, SERVER, OLD, CSV]))
    at = data.draw(st.integers(0, len(text) - 1))
    try:
        assert parse(text[:at] + data.draw(st.characters()) + text[at + 1 :] + "\n")
    except ParseError as error:
        assert error.place


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("TCP port 5001 with", "UDP port 5001 with", 2),
        ("TOS set", "TOS is", 4),
        ("[  1] 1.0000-2.0000", "[  2] 1.0000-2.0000", 10),
        ("3.51 GBytes", "3.5.1 GBytes", 10),
        ("30.2 Gbits/sec", "30.2 Gbits", 10),
        ("1.0000-2.0000", "1.5000-2.0000", 11),
        ("Bandwidth       Write/Err  Rtry     Cwnd/RTT(var)        NetPwr", "Bandwidth", 9),
    ],
)
def test_corrupted_line_is_named(old, new, line):
    with pytest.raises(ParseError, match=rf"^text:{line}: ") as caught:
        parse(CLIENT.replace(old, new, 1))
    assert caught.value.cure
