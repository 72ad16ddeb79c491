"""The twin's machine: servers with priorities, and a processor with its softirq loop and device queue.

Each context of a processor is a generator. It yields the operations of its next job and goes on when that
job has ended: what stands after a `yield` is what the job brings about. It yields ASLEEP to be woken later.
An operation is a tuple: name in the ledger, picoseconds, calls.
"""

from collections import Counter, deque
from math import inf
from types import SimpleNamespace

HARD, SOFT, PROCESS, IDLE = range(4)
ASLEEP = None
BACKLOG_WEIGHT = 64


def in_picoseconds(spec):
    """All parameters of a host by name; costs and times also without their unit, in picoseconds."""
    mhz = spec.cpu.frequency_mhz
    convert = {"cycles": lambda v: int(v * 1e6 / mhz + 0.5), "byte": lambda v: v * 1e6 / mhz}
    convert |= {"us": lambda v: int(v * 1e6), "ns": lambda v: int(v * 1e3)}
    p = {name: value for part in vars(spec).values() for name, value in vars(part).items()}
    for name, value in list(p.items()):
        stem, _, unit = name.rpartition("_")
        if unit in convert:
            p[stem.removesuffix("_cycles_per")] = convert[unit](value)
    return SimpleNamespace(**p)


def splitmix64(seed, stream):
    state, mask = seed * 0xD1342543DE82EF95 + stream, (1 << 64) - 1
    while True:
        state = z = (state + 0x9E3779B97F4A7C15) & mask
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & mask
        z = (z ^ z >> 27) * 0x94D049BB133111EB & mask
        yield z ^ z >> 31


class Server:
    """Serves the lowest class that waits; a class that is overtaken keeps what it still needs."""

    def __init__(self):
        self.left, self.busy, self.running, self.preemptions = {IDLE: inf}, Counter(), IDLE, 0

    def work(self, ps):
        self.busy[self.running] += ps
        self.left[self.running] -= ps

    def turn(self):
        """Turn to the most urgent job."""
        best = min(self.left)
        self.preemptions += best < self.running < IDLE
        self.running = best

    def finish(self):
        """End the job under way and return its class."""
        finished, self.running = self.running, IDLE
        del self.left[finished]
        return finished


class Machine:
    """What depends neither on the network interface nor on the protocol; subclasses add these."""

    def __init__(self, sim, seed, stream, workload, spec):
        self.sim, self.workload, self.p, self.at = (
            sim,
            workload,
            in_picoseconds(spec),
            {},
        )  # at: times of events
        self.count, self.ledger, self.calls, self.delivered = Counter(), Counter(), Counter(), []
        self.random, self.jitter = splitmix64(seed, stream), int(self.p.jitter_percent / 100 * 65536)
        next(self.random)
        self.cpu, self.backlog, self.queue = Server(), deque(), deque()
        self.owner = None  # context whose job under way will send from the device queue
        self.asleep, self.entry, self.poll_scheduled, self.quota = {}, [], False, 0
        self.contexts = self.interrupt(), self.softirq(), self.process()

    def ops(self, *names, **calls):
        """Operations with a fixed cost: each of the names once, others so many times."""
        return [(n, k * getattr(self.p, n), k) for n, k in (dict.fromkeys(names, 1) | calls).items()]

    def job_done(self):
        self.go_on(self.cpu.finish())

    def go_on(self, context):
        """A context falls asleep, or has a next job, whose length varies by the jitter."""
        operations = next(self.contexts[context])
        self.asleep[context] = operations is ASLEEP
        if operations is ASLEEP:
            return
        if context == SOFT:
            operations, self.entry = self.entry + operations, []
        if self.jitter:
            draw = (next(self.random) >> 8 & 0xFFFFFF ^ 0x800000) - 0x800000  # 24 bits with a sign
            half_width = sum(ps for _, ps, _ in operations) * self.jitter >> 16
            operations.append(("variation", half_width * draw >> 23, 1))
        for name, ps, calls in operations:
            self.ledger[context, name] += ps
            self.calls[context, name] += calls
        self.cpu.left[context] = sum(ps for _, ps, _ in operations)

    def wake(self, context):
        if self.asleep[context]:
            self.go_on(context)

    def softirq(self):
        """Look anew after each step: TCP output, device queue, poll, backlog."""
        while True:
            if self.output_ready:
                yield from self.output(SOFT)
            elif self.queue and self.may_send:
                yield from self.queue_run(SOFT)
            elif self.poll_scheduled and not (self.backlog and self.quota > 0):
                self.quota = BACKLOG_WEIGHT
                yield from self.poll()
            elif self.backlog:
                self.quota -= 1  # that may still pass before a poll
                yield from self.receive(self.backlog[0])
                self.delivered.append((self.sim.now, self.backlog.popleft()))
            elif self.entry:  # raised for nothing
                yield []
            else:
                yield ASLEEP
                self.count["softirqs"] += 1
                self.entry = self.ops("softirq")

    def process(self):
        """Send what stands in the device queue, then what else may be sent; read or write on; or wait."""
        while True:
            if self.queue and self.may_send:
                yield from self.queue_run(PROCESS)
            elif self.output_ready:
                yield from self.output(PROCESS)
            elif not self.blocked:
                yield from self.work()
            else:
                yield ASLEEP
                self.count["wakeups"] += 1
                yield self.ops("wakeup")

    # device queue: who finds it empty pays for sending from it, and sends what stands first when the job ends

    may_send = property(lambda self: self.owner is None and self.tx_free > 0)

    def queue_claim(self, context, frames):
        """Operations of passing a packet (of several frames) on, as far as the driver if it is the first."""
        operations = self.ops(qdisc=1 if self.p.tx_scatter_gather else len(frames))
        if not self.queue and self.may_send:
            self.owner = context
            operations += self.xmit_ops(frames[0])
        return operations

    def queue_put(self, context, frames):
        fits = len(self.queue) < self.p.qdisc_packets
        self.count["qdisc_drops"] += not fits
        self.queue += [deque(frames)] * fits
        if self.owner == context:
            self.queue_send()
        return fits

    def queue_run(self, context):
        self.owner = context
        yield self.xmit_ops(self.queue[0][0])
        self.queue_send()

    def queue_send(self):
        """The first frame goes to the driver; its packet stays until the last one has gone."""
        self.owner, frame = None, self.queue[0].popleft()
        if not self.queue[0]:
            self.queue.popleft()
        self.xmit(frame)
