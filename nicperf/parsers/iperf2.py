"""iperf2's text output for TCP, client and server, with and without -i, -P and -e; and its CSV (-y C).

Amounts are printed with prefixes that are powers of 1024, bit rates with powers of 1000 (iperf2's manual,
option -f). A run with -i ends with a line over the whole time; when that line is missing the output was cut.
Without -i one line is all there is. Which of the two it was is read from the command above the output, where
one stands; a single line of a server, of CSV or of iperf before 2.1 is otherwise taken to be all.
"""

from __future__ import annotations

import re

from nicperf.parsers.reader import Reader
from nicperf.records import Iperf2, IperfReport
from nicperf.units import convert, unit_named

_CUT = "give iperf2's output to its last line"
_NUMBER = r"\d{1,18}(?:\.\d{1,18})?"
_RULER = re.compile(r"-{20,}")
_TITLE = re.compile(r"(?P<role>Client|Server) (?:connecting to|listening on) .*\bTCP port \d+.*")
_WINDOW = re.compile(rf"TCP window size:\s*(?P<size>{_NUMBER}) (?P<unit>[KMG]?Byte)\b.*")
_CONNECTED = re.compile(r"\[ *(?P<id>\d+)\] (?P<addresses>local \S+ port \d+ connected with \S+ port \d+).*")
_COLUMNS = re.compile(r"\[ *ID\] Interval\s+Transfer\s+Bandwidth(?P<more>.*)")
_REPORT = re.compile(
    rf"\[ *(?P<id>\d+|SUM)\]\s*(?P<start>{_NUMBER})- *(?P<end>{_NUMBER}) sec"
    rf"\s+(?P<amount>{_NUMBER}) (?P<amount_unit>[KMGT]?Bytes)"
    rf"\s+(?P<rate>{_NUMBER}) (?P<rate_unit>[KMGT]?(?:bits|Bytes)/sec)(?P<more>.*)"
)
_CSV = re.compile(
    r"\d{14},(?P<local>[^,]+,\d+),(?P<remote>[^,]+,\d+),(?P<id>\d+|-1)"
    rf",(?P<start>{_NUMBER})-(?P<end>{_NUMBER}),(?P<bytes>\d{{1,18}}),(?P<rate>\d{{1,18}})"
)


def starts(line: str) -> bool:
    """Whether a line begins iperf2's output: a ruler, a title, or a CSV line."""
    return bool(
        _RULER.fullmatch(line) or line.startswith(("Client connecting", "Server listening")) or _is_csv(line)
    )


def read(reader: Reader) -> list[Iperf2]:
    """Read one client's or server's output, up to the first line that is not a part of it.

    Returns
    -------
    list of Iperf2
        One for each connection, in the order in which they appear, ``SUM`` included.

    Raises
    ------
    ParseError
        The output was cut, or a line is not what iperf2 prints for TCP.
    """
    return _read_csv(reader) if _is_csv(reader.line or "") else _read_text(reader)


def _read_text(reader: Reader) -> list[Iperf2]:
    if _RULER.fullmatch(reader.line or ""):
        reader.skip()
    role = reader.take(_TITLE, "'Client connecting to ...' or 'Server listening on ...', TCP")["role"].lower()
    window = None
    while reader.line is not None and not _RULER.fullmatch(reader.line):
        if match := _WINDOW.fullmatch(reader.line):
            window = convert(float(match["size"]), unit_named(match["unit"]), "B")
        elif not re.match(r"(Write|Read) buffer size|TOS set to|Binding to", reader.line):
            reader.fail("a line of the header, or the ruler that ends it")
        reader.skip()
    reader.take(_RULER, "the ruler that ends the header")

    found = _Connections()
    more = False
    while reader.line is not None and reader.line.startswith("["):
        if match := _CONNECTED.fullmatch(reader.line):
            found.announce(match["id"], match["addresses"])
        elif match := _COLUMNS.fullmatch(reader.line):
            more = bool(match["more"].strip())
        else:
            name, report = _read_report(reader, more)
            if name == "SUM":
                found.announce_sum()
            elif name not in found.open:
                reader.fail(f"a report of a connection announced above, not of [{name}]")
            found.open[name].append(report)
        reader.skip()
    if not found.all:
        reader.fail("a line '[  1] local ... connected with ...'")
    if role == "client" and len(found.all) > 1 and "SUM" not in found.open:
        reader.fail("the report [SUM] of parallel connections", _CUT)
    return [_whole(reader, role, *connection, window) for connection in found.all]


class _Connections:
    """Reports by connection. A number announced again is another connection, and has another sum."""

    def __init__(self) -> None:
        self.all: list[tuple[str, str, list[IperfReport]]] = []
        self.open: dict[str, list[IperfReport]] = {}

    def announce(self, name: str, addresses: str) -> None:
        self.open.pop("SUM", None)
        self.open[name] = []
        self.all.append((name, addresses, self.open[name]))

    def announce_sum(self) -> None:
        if "SUM" not in self.open:
            self.announce("SUM", "")


def _read_report(reader: Reader, more: bool) -> tuple[str, IperfReport]:
    match = _REPORT.fullmatch(reader.line or "")
    if match is None or (match["more"].strip() and not more):
        reader.fail(
            "a report '[  1] 0.0000-1.0000 sec  104 MBytes  868 Mbits/sec' with the columns announced"
        )
    return match["id"], IperfReport(
        start_s=float(match["start"]),
        end_s=float(match["end"]),
        time_step_s=_time_step_s(match["end"]),
        transfer_mib=convert(float(match["amount"]), unit_named(match["amount_unit"]), "MiB"),
        throughput_mbit_s=convert(float(match["rate"]), unit_named(match["rate_unit"]), "Mbit/s"),
        more=match["more"].strip(),
        line=reader.number,
    )


def _is_csv(line: str) -> bool:
    return re.match(r"\d{14},", line) is not None


def _read_csv(reader: Reader) -> list[Iperf2]:
    found = _Connections()
    seen: dict[str, str] = {}
    while reader.line is not None and _is_csv(reader.line):
        match = _CSV.fullmatch(reader.line)
        if match is None:
            reader.fail("the nine fields of iperf2's CSV for TCP")
        start, end = float(match["start"]), float(match["end"])
        bits, rate = 8 * int(match["bytes"]), int(match["rate"])
        step = _time_step_s(match["end"])
        # CSV has no mark at its end, but its rate repeats amount and time: a number cut short contradicts.
        shortest, longest = end - start - 1.1 * step, end - start + 1.1 * step
        if shortest > 0 and not bits / longest <= rate <= bits / shortest:
            reader.fail("a rate that follows from bytes and interval")
        name = "SUM" if match["id"] == "-1" else match["id"]
        addresses = f"local {match['local']} connected with {match['remote']}"
        if name == "SUM":
            found.announce_sum()
        elif seen.get(name) != addresses:
            seen[name] = addresses
            found.announce(name, addresses)
        report = IperfReport(start, end, step, bits / 8 / 2**20, rate / 1e6, "", reader.number)
        found.open[name].append(report)
        reader.skip()
    return [_whole(reader, "csv", *connection, None) for connection in found.all]


def _whole(
    reader: Reader, role: str, name: str, addresses: str, reports: list[IperfReport], window: float | None
) -> Iperf2:
    """Tell the intervals from the total, which spans them all and stands last."""
    *intervals, total = reports or reader.fail(f"a report of connection [{name}]")
    ends = [0.0, *(report.end_s for report in intervals)]
    whole = total.start_s == 0 and total.end_s >= ends[-1] and [r.start_s for r in intervals] == ends[:-1]
    if whole and not intervals:
        whole = not _may_be_interval(reader, role, total)
    if not whole:
        reader.fail(
            f"the report of [{name}] over the whole time",
            f"{_CUT}, and for a run without -i the command above it",
        )
    return Iperf2(role, name, addresses, window, tuple(intervals), total)


def _may_be_interval(reader: Reader, role: str, report: IperfReport) -> bool:
    """Whether the only report may be the first of several, the others having been cut off."""
    if "iperf" in reader.command:
        return any(word.startswith(("-i", "--interval")) for word in reader.command.split())
    # Intervals end on the second. A client that prints four decimals (2.1 and later) stops a little after it.
    return role == "client" and report.time_step_s < 0.001 and report.end_s.is_integer()


def _time_step_s(text: str) -> float:
    return 10.0 ** -len(text.partition(".")[2])
