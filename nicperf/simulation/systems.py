"""What can be simulated: a pair of hosts for each driver, made of which parts and compiled classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from nicperf.drivers import fec, velocity
from nicperf.drivers._fec import FecHost, UdpDiscard
from nicperf.drivers._velocity import VelocityHost
from nicperf.drivers._velocity_bytes import VelocityBytesHost
from nicperf.parts.bus import ParallelBus
from nicperf.parts.cpu import Cpu, Memory
from nicperf.parts.dma import Dma
from nicperf.parts.pages import PageAllocator, PageCosts, PagePool, SkbHeads
from nicperf.parts.wire import Wire
from nicperf.stack._tcp import TcpReceiver, TcpSender
from nicperf.stack._udp import UdpReceiver, UdpSender
from nicperf.stack.costs import Sockets, Stack, Workload

SIDES = ("local", "remote")


@dataclass(frozen=True)
class End:
    """One host under one workload: the compiled classes of its driver, the same with real bytes, and its socket."""

    host: type
    bytes_host: type | None
    socket: type


@dataclass(frozen=True)
class System:
    """Two hosts on a wire.

    Attributes
    ----------
    groups : tuple of mapping, (local, remote)
        Group of the dotted names -> dataclass of that part.
    counters : tuple of tuple of str, (local, remote)
        What the devices count, in the order of their structs; the first of each are `COMMON_COUNTERS`.
    ends : mapping
        Workload -> its (local, remote) `End`.
    defaults : mapping
        Values by full dotted name that differ from the default of the dataclass.
    resources : mapping
        What an elasticity speeds up, one at a time: resource -> (parameter, is it a speed).
    """

    groups: tuple[Mapping[str, type], Mapping[str, type]]
    counters: tuple[tuple[str, ...], tuple[str, ...]]
    ends: Mapping[str, tuple[End, End]]
    defaults: Mapping[str, object]
    resources: Mapping[str, tuple[str, bool]]

    @property
    def device_width(self) -> int:
        """Columns of a snapshot for the device's counters."""
        return max(map(len, self.counters))


#: What every device counts first, for the headline figures.
COMMON_COUNTERS = ("wire_bytes", "wire_busy_ps", "gap_ps")

_HOST = {"cpu": Cpu, "memory": Memory, "stack": Stack, "socket": Sockets, "workload": Workload, "wire": Wire}
_FEC = {
    **_HOST, "nic": fec.FecNic, "driver": fec.FecDriver, "xdp": fec.Xdp, "dma": Dma, "pages": PageAllocator,
    "page_costs": PageCosts, "page_pool": PagePool, "heads": SkbHeads,
}
_VELOCITY = {**_HOST, "bus": ParallelBus, "nic": velocity.VelocityNic, "driver": velocity.VelocityDriver}


def _velocity_ends(sender: type, receiver: type) -> tuple[End, End]:
    return End(VelocityHost, VelocityBytesHost, sender), End(VelocityHost, VelocityBytesHost, receiver)


SYSTEMS: Mapping[str, System] = MappingProxyType(
    {
        "velocity": System(
            groups=(_VELOCITY, _VELOCITY),
            counters=(velocity.COUNTERS, velocity.COUNTERS),
            ends={
                "udp_stream": _velocity_ends(UdpSender, UdpReceiver),
                "tcp_stream": _velocity_ends(TcpSender, TcpReceiver),
                "tcp_sendfile": _velocity_ends(TcpSender, TcpReceiver),
            },
            defaults={},
            resources={
                "sender bus": ("local.bus.clock_mhz", True),
                "sender DMA engine": ("local.nic.frame_gap_ns", False),
                "sender CPU": ("local.cpu.frequency_mhz", True),
                "wire": ("wire.rate_mbit_s", True),
                "receiver bus": ("remote.bus.clock_mhz", True),
                "receiver DMA engine": ("remote.nic.frame_gap_ns", False),
                "receiver CPU": ("remote.cpu.frequency_mhz", True),
            },
        ),
        "fec": System(
            groups=(_VELOCITY, _FEC),
            counters=(velocity.COUNTERS, fec.COUNTERS),
            ends={
                "iperf": (End(VelocityHost, None, TcpSender), End(FecHost, None, TcpReceiver)),
                "xdp": (End(VelocityHost, None, UdpSender), End(FecHost, None, UdpDiscard)),
            },
            defaults={},
            resources={},
        ),
    }
)
