"""netperf's classic output, as the tool prints it with its blanks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nicperf.errors import ParseError
from nicperf.parsers import parse
from nicperf.records import NetperfTcp, NetperfUdp

BANNER = "{} TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to remote (192.0.2.2) port 0 AF_INET{}\n"
UDP = (
    BANNER.format("UDP UNIDIRECTIONAL SEND", " : demo")
    + """\
Socket  Message  Elapsed      Messages                   CPU      Service
Size    Size     Time         Okay Errors   Throughput   Util     Demand
bytes   bytes    secs            #      #   10^6bits/sec % SS     us/KB

107520   65507   20.00       26615      0      697.3     17.61    2.069
108544           20.00       26613             697.2     23.55    2.767

"""
)
UDP_PLAIN = (
    BANNER.format("MIGRATED UDP STREAM", " : demo : cpu bind")
    + """\
Socket  Message  Elapsed      Messages
Size    Size     Time         Okay Errors   Throughput
bytes   bytes    secs            #      #   10^6bits/sec

212992   65507   10.00      159034      2    8334.20
212992           10.00      159030           8333.99

"""
)
TCP = (
    BANNER.format("TCP STREAM", "")
    + """\
Recv   Send    Send                          Utilization       Service Demand
Socket Socket  Message  Elapsed              Send     Recv     Send    Recv
Size   Size    Size     Time     Throughput  local    remote   local   remote
bytes  bytes   bytes    secs.    10^6bits/s  % S      % S      us/KB   us/KB

 87380  16384  16384    20.02       505.25   60.54    29.52    9.817   4.787

"""
)
SENDFILE_PLAIN = (
    BANNER.format("TCP SENDFILE", " : demo")
    + """\
Recv   Send    Send
Socket Socket  Message  Elapsed
Size   Size    Size     Time     Throughput
bytes  bytes   bytes    secs.    10^9bits/sec

 87380  16384  16384    10.00       9.41
"""
)
WHOLE = [UDP, UDP_PLAIN, TCP, SENDFILE_PLAIN]
# A line that is a result, and the last line of each kind of output.
ENDS = {UDP: 8, UDP_PLAIN: 8, TCP: 7, SENDFILE_PLAIN: 7}


def test_udp_stream():
    (record,) = parse(UDP)
    assert record == NetperfUdp(
        test="UDP_STREAM",
        remote="remote",
        options=("demo",),
        line=6,
        line_remote=7,
        socket_size_bytes_local=107520,
        message_size_bytes=65507,
        elapsed_s_local=20.0,
        messages_local=26615,
        message_errors=0,
        throughput_mbit_s_local=697.3,
        cpu_percent_local=17.61,
        service_demand_us_per_kb_local=2.069,
        socket_size_bytes_remote=108544,
        elapsed_s_remote=20.0,
        messages_remote=26613,
        throughput_mbit_s_remote=697.2,
        cpu_percent_remote=23.55,
        service_demand_us_per_kb_remote=2.767,
    )


def test_udp_stream_without_cpu_columns():
    (record,) = parse(UDP_PLAIN)
    assert record.options == ("demo", "cpu bind")
    assert (record.messages_local, record.message_errors, record.messages_remote) == (159034, 2, 159030)
    assert (record.throughput_mbit_s_local, record.throughput_mbit_s_remote) == (8334.2, 8333.99)
    assert record.cpu_percent_local is record.service_demand_us_per_kb_remote is None


def test_tcp_stream():
    (record,) = parse(TCP)
    assert record == NetperfTcp(
        "TCP_STREAM",
        "remote",
        (),
        7,
        recv_socket_size_bytes=87380,
        send_socket_size_bytes=16384,
        message_size_bytes=16384,
        elapsed_s=20.02,
        throughput_mbit_s=505.25,
        cpu_percent_local=60.54,
        cpu_percent_remote=29.52,
        service_demand_us_per_kb_local=9.817,
        service_demand_us_per_kb_remote=4.787,
    )


def test_sendfile_without_cpu_columns_in_another_unit():
    (record,) = parse(SENDFILE_PLAIN)
    assert (record.test, record.throughput_mbit_s, record.cpu_percent_local) == ("TCP_SENDFILE", 9410.0, None)


def test_unmeasured_cpu_stays_as_printed():
    (record,) = parse(TCP.replace("29.52    9.817   4.787", "-1.00    9.817   -1.000"))
    assert (record.cpu_percent_remote, record.service_demand_us_per_kb_remote) == (-1.0, -1.0)


def test_several_tests_in_one_text_and_squeezed_blanks():
    squeezed = "\n".join(" ".join(line.split()) for line in "".join(WHOLE).splitlines() if line.strip())
    tests = [record.test for record in parse(squeezed)]
    assert tests == ["UDP_STREAM", "UDP_STREAM", "TCP_STREAM", "TCP_SENDFILE"]
    assert parse("".join(WHOLE))[2].throughput_mbit_s == parse(TCP)[0].throughput_mbit_s


def test_frame_has_a_row_for_each_number():
    frame = parse(TCP)[0].to_frame()
    assert list(frame.columns) == ["test", "side", "quantity", "value", "unit", "line"]
    assert len(frame) == 9
    cpu = frame[frame["quantity"] == "cpu_percent"]
    assert dict(zip(cpu["side"], cpu["value"], strict=True)) == {"local": 60.54, "remote": 29.52}
    assert len(parse(SENDFILE_PLAIN)[0].to_frame()) == 5


@pytest.mark.parametrize("text", WHOLE)
def test_cut_at_any_line(text):
    lines = text.splitlines()
    while not lines[-1]:
        lines.pop()
    for end in range(len(lines)):
        with pytest.raises(ParseError, match=r"^text:\d+: the text ends where .* was expected; "):
            parse("\n".join(lines[:end]) + "\n")


@given(st.data())
def test_cut_at_any_character(data):
    """Every number has fixed decimals, so that no shorter text is taken for the whole."""
    text = data.draw(st.sampled_from(WHOLE)).rstrip("\n")
    cut = text[: data.draw(st.integers(0, len(text) - 1))]
    with pytest.raises(ParseError):
        parse(cut + "\n")


@given(st.data())
def test_any_altered_character_is_an_error_or_another_record(data):
    text = data.draw(st.sampled_from(WHOLE))
    at = data.draw(st.integers(0, len(text) - 1))
    altered = text[:at] + data.draw(st.characters()) + text[at + 1 :]
    try:
        records = parse(altered + "\n")
    except ParseError as error:
        assert error.place
    else:
        assert len(records) == 1


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("Utilization       ", "", 2),
        ("% S      % S", "% S", 5),
        ("505.25", "505.2.5", 7),
        ("9.817", "9.81", 7),
        ("505.25", "nan", 7),
        (" 87380", "x87380", 7),
        ("TCP STREAM", "TCP REQUEST/RESPONSE", 1),
    ],
)
def test_corrupted_line_is_named(old, new, line):
    with pytest.raises(ParseError, match=rf"^text:{line}: line = '.*': expected ") as caught:
        parse(TCP.replace(old, new, 1))
    assert caught.value.value == TCP.replace(old, new, 1).splitlines()[line - 1].strip()
    assert caught.value.cure
