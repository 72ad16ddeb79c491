"""netperf's classic output, with banner: UDP_STREAM, TCP_STREAM and TCP_SENDFILE, with and without -c -C.

The columns are those of netperf 2.4 to 2.7 (``src/nettest_bsd.c``). Blanks between columns do not count,
because mail archives squeeze them. The number of decimals does: it is fixed in netperf, so that a number cut
short is noticed.
"""

from __future__ import annotations

import re

from nicperf.parsers.reader import Reader
from nicperf.records import NetperfTcp, NetperfUdp
from nicperf.units import convert, unit_named

_TESTS = {
    "UDP UNIDIRECTIONAL SEND": "UDP_STREAM",
    "UDP STREAM": "UDP_STREAM",
    "TCP STREAM": "TCP_STREAM",
    "TCP SENDFILE": "TCP_SENDFILE",
}
_BANNER = re.compile(
    rf"(?:MIGRATED )?(?P<test>{'|'.join(_TESTS)}) TEST from \S+ \(\S*\) port \d+ AF_INET6?"
    r" to (?P<remote>\S+) \(\S*\) port \d+ AF_INET6?(?P<options>(?: : [^:]+)*)"
)
_RATE = r"(?P<unit>(?:10\^[369]bits|[KMG]Bytes)/s(?:ec)?)"
# Header rows: what always stands there, and what the CPU columns add.
_TCP_HEADER = (
    ("Recv Send Send", " Utilization Service Demand"),
    ("Socket Socket Message Elapsed", " Send Recv Send Recv"),
    ("Size Size Size Time Throughput", " local remote local remote"),
    (rf"bytes bytes bytes secs\. {_RATE}", r" % \S % \S us/KB us/KB"),
)
_UDP_HEADER = (
    ("Socket Message Elapsed Messages", " CPU Service"),
    ("Size Size Time Okay Errors Throughput", " Util Demand"),
    (rf"bytes bytes secs # # {_RATE}", r" % \S\S us/KB"),
)
_INT, _DEC2, _DEC3 = r"(\d{1,18})", r"(-?\d{1,18}\.\d\d)", r"(-?\d{1,18}\.\d{3})"


def starts(line: str) -> bool:
    """Whether a line is the banner of a netperf test."""
    return " TEST from " in line


def read(reader: Reader) -> list[NetperfTcp | NetperfUdp]:
    """Read one test, from its banner to its last result line.

    Raises
    ------
    ParseError
        The text ends early, or a line is not what netperf prints there.
    """
    banner = reader.take(_BANNER, "the banner of UDP_STREAM, TCP_STREAM or TCP_SENDFILE")
    test = _TESTS[banner["test"]]
    options = tuple(option.strip() for option in banner["options"].split(" : ")[1:])
    read_results = _read_udp if test == "UDP_STREAM" else _read_tcp
    return [read_results(reader, test, banner["remote"], options)]


def _read_tcp(reader: Reader, test: str, remote: str, options: tuple[str, ...]) -> NetperfTcp:
    unit, cpu = _header(reader, _TCP_HEADER)
    columns = [_INT, _INT, _INT, _DEC2, _DEC2] + ([_DEC2, _DEC2, _DEC3, _DEC3] if cpu else [])
    line = reader.number
    found = reader.take(_row(" ".join(columns)), f"the result line of {test}").groups()
    return NetperfTcp(
        test=test,
        remote=remote,
        options=options,
        line=line,
        recv_socket_size_bytes=int(found[0]),
        send_socket_size_bytes=int(found[1]),
        message_size_bytes=int(found[2]),
        elapsed_s=float(found[3]),
        throughput_mbit_s=convert(float(found[4]), unit, "Mbit/s"),
        cpu_percent_local=float(found[5]) if cpu else None,
        cpu_percent_remote=float(found[6]) if cpu else None,
        service_demand_us_per_kb_local=float(found[7]) if cpu else None,
        service_demand_us_per_kb_remote=float(found[8]) if cpu else None,
    )


def _read_udp(reader: Reader, test: str, remote: str, options: tuple[str, ...]) -> NetperfUdp:
    unit, cpu = _header(reader, _UDP_HEADER)
    cpu_columns = [_DEC2, _DEC3] if cpu else []
    line = reader.number
    columns = [_INT, _INT, _DEC2, _INT, _INT, r"(\d{1,18}\.\d\d?)", *cpu_columns]
    sent = reader.take(_row(" ".join(columns)), f"the sender's line of {test}").groups()
    line_remote = reader.number
    # netperf prints both rates with one format: one or two decimals, by version.
    decimals = len(sent[5].partition(".")[2])
    columns = [_INT, _DEC2, _INT, rf"(\d{{1,18}}\.\d{{{decimals}}})", *cpu_columns]
    got = reader.take(_row(" ".join(columns)), f"the receiver's line of {test}").groups()
    return NetperfUdp(
        test=test,
        remote=remote,
        options=options,
        line=line,
        line_remote=line_remote,
        socket_size_bytes_local=int(sent[0]),
        message_size_bytes=int(sent[1]),
        elapsed_s_local=float(sent[2]),
        messages_local=int(sent[3]),
        message_errors=int(sent[4]),
        throughput_mbit_s_local=convert(float(sent[5]), unit, "Mbit/s"),
        cpu_percent_local=float(sent[6]) if cpu else None,
        service_demand_us_per_kb_local=float(sent[7]) if cpu else None,
        socket_size_bytes_remote=int(got[0]),
        elapsed_s_remote=float(got[1]),
        messages_remote=int(got[2]),
        throughput_mbit_s_remote=convert(float(got[3]), unit, "Mbit/s"),
        cpu_percent_remote=float(got[4]) if cpu else None,
        service_demand_us_per_kb_remote=float(got[5]) if cpu else None,
    )


def _header(reader: Reader, rows: tuple[tuple[str, str], ...]) -> tuple[str, bool]:
    """Read the header; return the unit of the rate and whether CPU columns follow."""
    always, added = rows[0]
    cpu = reader.take(_row(f"{always}({added})?"), "the first header row")[1] is not None
    for always, added in rows[1:]:
        match = reader.take(_row(always + added if cpu else always), "the next header row")
    return unit_named(match["unit"]), cpu


def _row(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern.replace(" ", r"\s+"))
