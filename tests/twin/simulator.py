"""The twin: a second simulator of the velocity scenario in plain Python, from the rules in the docstrings."""

from nicperf.simulation.scenario import host_spec
from nicperf.simulation.systems import SIDES

from .sockets import TcpReceiver, TcpSender, UdpReceiver, UdpSender

EVENTS = ("job_done", "dma_done", "wire_done", "process", "tx_timer", "rx_timer", "delayed_ack", "timeout", "resume")


class Twin:
    """Two hosts on a wire. At equal times the local one goes first, and of its events the first in EVENTS."""

    def __init__(self, scenario):
        self.now, self.trace, workload, seed = 0, [], scenario.workload, scenario.seed
        ends = (UdpSender, UdpReceiver) if workload == "udp_stream" else (TcpSender, TcpReceiver)
        specs = [host_spec(scenario, side) for side in SIDES]
        self.hosts = [ends[i](self, seed, len(EVENTS) * i, workload, specs[i]) for i in range(2)]
        for host, peer in zip(self.hosts, reversed(self.hosts), strict=True):
            host.peer = peer
            for context in range(3):
                host.go_on(context)
            host.cpu.turn()

    def pending(self):
        for i, host in enumerate(self.hosts):
            servers = {"job_done": host.cpu, "dma_done": host.dma}
            ends = {event: self.now + server.left[server.running] for event, server in servers.items()}
            yield from ((time_ps, i, EVENTS.index(event)) for event, time_ps in {**host.at, **ends}.items())

    def advance(self, time_ps):
        for host in self.hosts:
            host.cpu.work(time_ps - self.now)
            host.dma.work(time_ps - self.now)
        self.now = time_ps

    def run(self, until_ps, events):
        """Execute all events until then, but not more; `trace` gets time, slot and queue lengths of each."""
        while len(self.trace) < events:
            time_ps, i, event = min(self.pending())
            if time_ps > until_ps:
                break
            self.advance(time_ps)
            self.hosts[i].at.pop(EVENTS[event], None)
            getattr(self.hosts[i], EVENTS[event])()
            self.hosts[i].cpu.turn()
            slot = 16 * i + event
            self.trace.append((time_ps, slot, *self.hosts[0].lengths(), *self.hosts[1].lengths()))
        self.advance(until_ps)
