"""What can be simulated: a pair of hosts for each driver, made of which parts and compiled classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from nicperf.drivers import desktop, fec, ixgbe, mvneta, pktgen, velocity
from nicperf.drivers._desktop import DesktopHost
from nicperf.drivers._fec import FecHost, UdpDiscard
from nicperf.drivers._ixgbe import IxgbeHost
from nicperf.drivers._mvneta import MvnetaHost
from nicperf.drivers._pktgen import PktgenHost
from nicperf.drivers._velocity import VelocityHost
from nicperf.drivers._velocity_bytes import VelocityBytesHost
from nicperf.parts.bus import ParallelBus
from nicperf.parts.copies import Copies
from nicperf.parts.cpu import Cpu, Memory, MulticoreCpu
from nicperf.parts.dma import Dma
from nicperf.parts.pages import PageAllocator, PageCosts, PagePool, SkbHeads
from nicperf.parts.wire import BufferedWire, Wire
from nicperf.stack._exchange import ExchangeClient, ExchangeSocket
from nicperf.stack._host import Socket
from nicperf.stack._iperf import IperfSender
from nicperf.stack._tcp import TcpReceiver, TcpSender
from nicperf.stack._udp import UdpReceiver, UdpSender
from nicperf.stack.costs import ExchangeSockets, ExchangeWorkload, IperfSockets, Sockets, Stack, Workload

SIDES = ("local", "remote")


@dataclass(frozen=True)
class End:
    """One host under one workload: the compiled classes of its driver, the same with real bytes, and its socket.

    With `every_core` there are as many of them as the CPU has cores, on one adapter.
    """

    host: type
    bytes_host: type | None
    socket: type
    every_core: bool = False


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
    rates : mapping
        Workload -> figure, for those whose result is not the payload delivered.
    """

    groups: tuple[Mapping[str, type], Mapping[str, type]]
    counters: tuple[tuple[str, ...], tuple[str, ...]]
    ends: Mapping[str, tuple[End, End]]
    defaults: Mapping[str, object]
    resources: Mapping[str, tuple[str, bool]]
    rates: Mapping[str, str] = field(default_factory=dict)

    def rate(self, workload: str) -> str:
        """The figure of a run's summary that counts as what it achieved."""
        return self.rates.get(workload, "throughput_mbit_s")

    @property
    def closed_loops(self) -> frozenset[str]:
        """Workloads that last as long as the windows of their instances take."""
        return frozenset(name for name, ends in self.ends.items() if ends[0].every_core)

    @property
    def device_width(self) -> int:
        """Columns of a snapshot for the device's counters."""
        return max(map(len, self.counters))


#: What every device counts first, for the headline figures.
COMMON_COUNTERS = ("wire_bytes", "wire_busy_ps", "gap_ps")

_HOST = {"cpu": Cpu, "memory": Memory, "stack": Stack, "socket": Sockets, "workload": Workload, "wire": Wire}
_FEC = {
    **_HOST,
    "nic": fec.FecNic,
    "driver": fec.FecDriver,
    "xdp": fec.Xdp,
    "dma": Dma,
    "pages": PageAllocator,
    "page_costs": PageCosts,
    "page_pool": PagePool,
    "heads": SkbHeads,
}
_MVNETA = {**_HOST, "nic": mvneta.MvnetaNic, "driver": mvneta.MvnetaDriver, "dma": Dma}
_IXGBE = {
    **_HOST,
    "cpu": MulticoreCpu,
    "socket": ExchangeSockets,
    "workload": ExchangeWorkload,
    "wire": BufferedWire,
    "copies": Copies,
    "nic": ixgbe.IxgbeNic,
    "driver": ixgbe.IxgbeDriver,
}
_VELOCITY = {**_HOST, "bus": ParallelBus, "nic": velocity.VelocityNic, "driver": velocity.VelocityDriver}
_DESKTOP = {**_HOST, "pc": desktop.DesktopNic}
#: A board with an i.MX8QXP. The process has a core of its own; the kernel of 2022 hands segments to GRO, which joins as many
#: buffers as an sk_buff has fragments, and passes them on without the backlog of netif_rx.
_FEC_VALUES = {
    "cpu.frequency_mhz": 1200.0,
    "cpu.process_core": "other",
    "stack.gro_segments": 17,
    "stack.netif_rx_cycles": 0.0,
    "workload.message_bytes": 131072,
    "workload.receive_bytes": 131072,
}
#: A PC of 2014 to 2022. Guesses, but for iperf2's 1.65 us per small write (`syscall_cycles`, with what the client itself
#: does) and the client's 416 KByte of send buffer, which are the thread's of 2022.
_DESKTOP_VALUES = {
    "cpu.frequency_mhz": 3500.0,
    "cpu.process_core": "other",
    "cpu.syscall_cycles": 5650.0,
    "memory.last_cache_bytes": 8 << 20,
    "memory.copy_cached_cycles_per_byte": 0.1,
    "memory.copy_cold_cycles_per_byte": 0.4,
    "stack.fragment_bytes": 32768,
    "stack.gro_segments": 45,
    "stack.netif_rx_cycles": 0.0,
    "workload.message_bytes": 131072,
    "workload.send_buffers": 1,
    "workload.receive_bytes": 131072,
}
#: An OpenBlocks AX3: two cores of an Armada XP, coherent in the kernels of 2014. The process has a core of its own.
_MVNETA_VALUES = {
    "cpu.frequency_mhz": 1333.0,
    "cpu.process_core": "other",
    "stack.netif_rx_cycles": 0.0,
    "dma.coherent": True,
    "dma.line_bytes": 32,
    "workload.message_bytes": 131072,
    "workload.send_buffers": 1,
}
#: A workstation of 2009 with Linux 3.12: no autocorking yet, and TCP lets 1 ms of its rate be below it. Buffers are what tuning
#: had made of them; the window is more than the round trip needs.
_IXGBE_VALUES = {
    "wire.rate_mbit_s": 10000.0,
    "cpu.frequency_mhz": 3200.0,
    "memory.last_cache_bytes": 8 << 20,
    "stack.fragment_bytes": 32768,
    "stack.netif_rx_cycles": 0.0,
    "socket.autocorking": False,
    "socket.tsq_bytes": 1200000,
    "socket.tcp_send_buffer_bytes": 4 << 20,
    "socket.tcp_window_bytes": 3 << 20,
}


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
        "desktop": System(
            groups=({**_DESKTOP, "socket": IperfSockets}, _DESKTOP),
            counters=(desktop.COUNTERS, desktop.COUNTERS),
            ends={"iperf": (End(DesktopHost, None, IperfSender), End(DesktopHost, None, TcpReceiver))},
            defaults={
                **{f"{side}.{name}": value for side in SIDES for name, value in _DESKTOP_VALUES.items()},
                "local.socket.tcp_send_buffer_bytes": 425984,
            },
            resources={
                "sender DMA engine": ("local.pc.dma_mbyte_s", True),
                "sender CPU": ("local.cpu.frequency_mhz", True),
                "wire": ("wire.rate_mbit_s", True),
                "receiver DMA engine": ("remote.pc.dma_mbyte_s", True),
                "receiver CPU": ("remote.cpu.frequency_mhz", True),
            },
        ),
        "fec": System(
            groups=({**_DESKTOP, "socket": IperfSockets, "pktgen": pktgen.Pktgen}, _FEC),
            counters=(pktgen.COUNTERS, fec.COUNTERS),
            ends={
                "iperf": (End(DesktopHost, None, IperfSender), End(FecHost, None, TcpReceiver)),
                "xdp": (End(PktgenHost, None, Socket), End(FecHost, None, UdpDiscard)),
            },
            defaults={
                **{f"local.{name}": value for name, value in _DESKTOP_VALUES.items()},
                **{f"remote.{name}": value for name, value in _FEC_VALUES.items()},
                "local.socket.tcp_send_buffer_bytes": 425984,
            },
            resources={
                "sender DMA engine": ("local.pc.dma_mbyte_s", True),
                "sender CPU": ("local.cpu.frequency_mhz", True),
                "wire": ("wire.rate_mbit_s", True),
                "receiver DMA engine": ("remote.nic.dma_mbyte_s", True),
                "receiver CPU": ("remote.cpu.frequency_mhz", True),
            },
            rates={"xdp": "rx_frames_per_s_remote"},
        ),
        "mvneta": System(
            groups=({**_MVNETA, "socket": IperfSockets}, _DESKTOP),
            counters=(mvneta.COUNTERS, desktop.COUNTERS),
            ends={
                "iperf": (End(MvnetaHost, None, IperfSender), End(DesktopHost, None, TcpReceiver)),
                "udp_stream": (End(MvnetaHost, None, UdpSender), End(DesktopHost, None, UdpReceiver)),
            },
            defaults={
                **{f"local.{name}": value for name, value in _MVNETA_VALUES.items()},
                **{f"remote.{name}": value for name, value in _DESKTOP_VALUES.items()},
            },
            resources={
                "sender DMA engine": ("local.nic.dma_mbyte_s", True),
                "sender CPU": ("local.cpu.frequency_mhz", True),
                "wire": ("wire.rate_mbit_s", True),
                "receiver DMA engine": ("remote.pc.dma_mbyte_s", True),
                "receiver CPU": ("remote.cpu.frequency_mhz", True),
            },
        ),
        "ixgbe": System(
            groups=(_IXGBE, _IXGBE),
            counters=(ixgbe.COUNTERS, ixgbe.COUNTERS),
            ends={
                "tcp_stream": (End(IxgbeHost, None, IperfSender), End(IxgbeHost, None, TcpReceiver)),
                "tcp_rr": (
                    End(IxgbeHost, None, ExchangeClient, every_core=True),
                    End(IxgbeHost, None, ExchangeSocket, every_core=True),
                ),
            },
            defaults={f"{side}.{name}": value for side in SIDES for name, value in _IXGBE_VALUES.items()},
            resources={
                "sender PCI Express": ("local.nic.pcie_mbyte_s", True),
                "sender CPU": ("local.cpu.frequency_mhz", True),
                "wire": ("wire.rate_mbit_s", True),
                "receiver PCI Express": ("remote.nic.pcie_mbyte_s", True),
                "receiver CPU": ("remote.cpu.frequency_mhz", True),
            },
            rates={"tcp_rr": "transactions_per_s"},
        ),
    }
)
