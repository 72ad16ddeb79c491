"""What a tool printed, as frozen records: the parsers write them, `to_frame` makes them tidy.

A record holds the numbers of the tool and nothing derived from them. Numeric fields end in their unit
(`nicperf.units.unit_of`) and carry the side, `local` or `remote`, that took the number: local is the host on
which netperf or the iperf client ran. A field whose column was not printed is None.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from nicperf.units import unit_of

if TYPE_CHECKING:
    from pandas import DataFrame


def _by(side: str, line: str = "line") -> Any:
    """Field of a number: which side took it, and which field tells its line."""
    return field(metadata={"side": side, "line": line})


class Record(ABC):
    """What all records share: `readings` (one dictionary for each number) and `to_frame`."""

    __slots__ = ()

    @abstractmethod
    def readings(self) -> Iterator[dict[str, Any]]:
        """Each printed number with its test, side, quantity, unit and line."""

    def to_frame(self) -> DataFrame:
        """Tidy frame of the record, one row for each number.

        Returns
        -------
        pandas.DataFrame
            `test`, `side`, `quantity`, `value`, `unit`, `line` and what the kind of record adds.
        """
        from pandas import DataFrame  # the import takes a second, and most users of records never need it

        return DataFrame(list(self.readings()))


class _Netperf(Record):
    __slots__ = ()

    def readings(self) -> Iterator[dict[str, Any]]:
        for item in fields(self):  # type: ignore[arg-type]
            value = getattr(self, item.name)
            if item.metadata and value is not None:
                yield {
                    "test": self.test,  # type: ignore[attr-defined]
                    "side": item.metadata["side"],
                    "quantity": item.name.removesuffix("_local").removesuffix("_remote"),
                    "value": float(value),
                    "unit": unit_of(item.name),
                    "line": getattr(self, item.metadata["line"]),
                }


@dataclass(frozen=True, slots=True)
class NetperfTcp(_Netperf):
    """One TCP_STREAM or TCP_SENDFILE test of netperf's classic output.

    Attributes
    ----------
    test : str
        ``TCP_STREAM`` or ``TCP_SENDFILE``.
    remote : str
        Remote host as the banner names it.
    options : tuple of str
        What the banner lists behind the addresses, such as ``demo`` or ``cpu bind``.
    line : int
        1-based line of the result.
    cpu_percent_local, cpu_percent_remote : float or None
        Of all processors; netperf prints -1 where it did not measure.
    service_demand_us_per_kb_local, service_demand_us_per_kb_remote : float or None
        Microseconds of processor time for each 1024 bytes.
    """

    test: str
    remote: str
    options: tuple[str, ...]
    line: int
    recv_socket_size_bytes: int = _by("remote")
    send_socket_size_bytes: int = _by("local")
    message_size_bytes: int = _by("local")
    elapsed_s: float = _by("local")
    throughput_mbit_s: float = _by("local")
    cpu_percent_local: float | None = _by("local")
    cpu_percent_remote: float | None = _by("remote")
    service_demand_us_per_kb_local: float | None = _by("local")
    service_demand_us_per_kb_remote: float | None = _by("remote")


@dataclass(frozen=True, slots=True)
class NetperfUdp(_Netperf):
    """One UDP_STREAM test of netperf's classic output: a line of the sender, a line of the receiver.

    Attributes
    ----------
    test : str
        ``UDP_STREAM``.
    remote : str
        Remote host as the banner names it.
    options : tuple of str
        What the banner lists behind the addresses.
    line, line_remote : int
        1-based lines of the sender's and the receiver's result.
    messages_local, messages_remote : int
        Datagrams sent and datagrams received.
    service_demand_us_per_kb_local : float or None
        netperf charges the sender's time to the bytes *received*.
    """

    test: str
    remote: str
    options: tuple[str, ...]
    line: int
    line_remote: int
    socket_size_bytes_local: int = _by("local")
    message_size_bytes: int = _by("local")
    elapsed_s_local: float = _by("local")
    messages_local: int = _by("local")
    message_errors: int = _by("local")
    throughput_mbit_s_local: float = _by("local")
    cpu_percent_local: float | None = _by("local")
    service_demand_us_per_kb_local: float | None = _by("local")
    socket_size_bytes_remote: int = _by("remote", "line_remote")
    elapsed_s_remote: float = _by("remote", "line_remote")
    messages_remote: int = _by("remote", "line_remote")
    throughput_mbit_s_remote: float = _by("remote", "line_remote")
    cpu_percent_remote: float | None = _by("remote", "line_remote")
    service_demand_us_per_kb_remote: float | None = _by("remote", "line_remote")


@dataclass(frozen=True, slots=True)
class IperfReport:
    """One report line of iperf2.

    Attributes
    ----------
    start_s, end_s : float
        The interval, from the start of the connection.
    time_step_s : float
        How finely both are printed: 0.0001 since iperf 2.1, 0.1 before.
    transfer_mib : float
        Amount in MiB; iperf2's byte prefixes are powers of 1024.
    throughput_mbit_s : float
        Rate in decimal Mbit/s.
    more : str
        Further columns (``-e``) as printed.
    line : int
        1-based line.
    """

    start_s: float
    end_s: float
    time_step_s: float
    transfer_mib: float
    throughput_mbit_s: float
    more: str
    line: int


@dataclass(frozen=True, slots=True)
class Iperf2(Record):
    """One TCP connection of an iperf2 client or server, or ``SUM`` of parallel ones.

    Attributes
    ----------
    role : str
        ``client``, ``server``, or ``csv`` where the output does not tell.
    connection : str
        The number in brackets, or ``SUM``.
    addresses : str
        Both ends as printed; empty for ``SUM``.
    window_bytes : float or None
        TCP window size of the header.
    intervals : tuple of IperfReport
        What ``-i`` printed; empty without it.
    total : IperfReport
        The last line, over the whole connection.
    """

    role: str
    connection: str
    addresses: str
    window_bytes: float | None
    intervals: tuple[IperfReport, ...]
    total: IperfReport

    def readings(self) -> Iterator[dict[str, Any]]:
        """Two rows for each report line: amount and rate; those of intervals are named so."""
        for report in (*self.intervals, self.total):
            prefix = "" if report is self.total else "interval_"
            for quantity in ("transfer_mib", "throughput_mbit_s"):
                yield {
                    "test": "iperf",
                    "connection": self.connection,
                    "side": "remote" if self.role == "server" else "local",
                    "start_s": report.start_s,
                    "end_s": report.end_s,
                    "quantity": prefix + quantity,
                    "value": getattr(report, quantity),
                    "unit": unit_of(quantity),
                    "line": report.line,
                }


@dataclass(frozen=True, slots=True)
class Interrupt:
    """One line of /proc/interrupts.

    Attributes
    ----------
    label : str
        Number of the line, or a name such as ``NMI``.
    counts : tuple of int
        Interrupts since boot, one entry for each processor.
    description : str
        Controller, trigger and devices.
    line : int
        1-based line.
    """

    label: str
    counts: tuple[int, ...]
    description: str
    line: int


@dataclass(frozen=True, slots=True)
class Interrupts(Record):
    """One reading of /proc/interrupts.

    Attributes
    ----------
    cpus : tuple of str
        Column heads, ``CPU0`` and so on.
    lines : tuple of Interrupt
        In the order printed; lines that the author left out are missing.
    """

    cpus: tuple[str, ...]
    lines: tuple[Interrupt, ...]

    def readings(self) -> Iterator[dict[str, Any]]:
        """One row for each line and processor."""
        for entry in self.lines:
            # A line such as ERR has one count for the machine, whatever the number of processors.
            for cpu, count in zip(self.cpus, entry.counts, strict=False):
                yield {
                    "test": "interrupts",
                    "side": "local",
                    "cpu": cpu,
                    "label": entry.label,
                    "description": entry.description,
                    "quantity": "interrupts_total",
                    "value": float(count),
                    "unit": "1",
                    "line": entry.line,
                }
