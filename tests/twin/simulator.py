"""The twin: a second simulator of the velocity scenario in plain Python, from the rules in the docstrings.

Each context of a processor is a generator. It yields the operations of its next job and goes on when that
job has ended: what stands after a `yield` is what the job brings about. It yields ASLEEP to be woken later.
An operation is a tuple: name in the ledger, picoseconds, calls. A frame passes from one deque to the next, and
where it is says who owns its descriptor. Of parameters, costs and times are in picoseconds.
"""

from collections import Counter, deque
from functools import partialmethod
from itertools import pairwise, product
from math import inf
from types import SimpleNamespace

EVENTS = ("job_done", "dma_done", "wire_done", "process", "tx_due", "rx_due", "ack_due", "timeout", "start")
(HARD, SOFT, PROCESS, IDLE), (RX, TX), ASLEEP = range(4), range(2), None  # contexts; moves of the DMA engine
BACKLOG_WEIGHT, POLL_BUDGET, SERVE_MOST, RX_GROUP, MOST_BUFFERS = 64, 64, 16, 4, 7
PAUSE_BELOW, RESUME_AT, PAUSE_BYTES = 24, 48, 65535 * 512 // 8
DUPLICATES_BEFORE_RETRANSMIT, TRAIN_SEGMENTS = 3, 2


def pieces(start, size, unit):
    """Size and start of each part of a range that multiples of the unit cut."""
    cuts = [start, *range(start - start % unit + unit, start + size, unit), start + size]
    return [(b - a, a) for a, b in pairwise(cuts)]


class Host:
    """Stack, driver and device of one end. The processor and the DMA engine serve the lowest job first."""

    output_ready, freed = False, lambda self: None  # freed: the driver has given a sent frame back
    poll_scheduled, sending, owner = False, False, None  # owner: context that sends from the device queue
    quota = charged = rx_taken = 0  # taken: descriptors not yet returned
    tx_free = property(lambda self: self.tx_ring - len(self.posted) - len(self.tx_fifo) - len(self.sent))
    may_send = property(lambda self: self.owner is None and self.tx_free > 0)

    def __init__(self, sim, random, parameters):
        vars(self).update(parameters)
        self.sim, self.random, self.count, self.at = sim, random, Counter(), {}  # at: times of events
        self.queue, self.posted, self.tx_fifo, self.sent, *received = (deque() for _ in range(7))
        self.rx_fifo, self.filled, self.backlog = received
        self.delivered, self.entry, self.causes, self.on_bus = [], [], set(), {IDLE: 0}
        self.cpu, self.dma = {IDLE: inf}, {IDLE: inf}  # what each job still needs
        self.contexts = self.interrupts(), self.softirqs(), self.process()
        self.rx_all = self.rx_free = self.rx_ring // RX_GROUP * RX_GROUP

    def lengths(self):
        queues = (self.tx_fifo, self.rx_fifo, self.filled, self.backlog)
        return len(self.queue), self.tx_ring - self.tx_free, *map(len, queues)

    def ops(self, *names, **calls):
        """Operations with a fixed cost: each of the names once, others so many times."""
        return [(n, k * getattr(self, n), k) for n, k in (dict.fromkeys(names, 1) | calls).items()]

    def copy(self, size, rate, summed=False):
        return [("copy", int(size * rate), 1), ("checksum", summed * int(size * self.checksum), summed)]

    def job_done(self):
        self.cpu.pop(context := min(self.cpu))
        self.wake(context)

    def wake(self, context):
        """A sleeping context goes on to its next job, if it has one, whose length varies by the jitter."""
        operations = ASLEEP if context in self.cpu else next(self.contexts[context])
        if operations is not ASLEEP:
            if context == SOFT:
                operations, self.entry = self.entry + operations, []
            ps = sum(ps for _, ps, _ in operations)
            if self.jitter:
                z = self.random = (self.random + 0x9E3779B97F4A7C15) % 2**64  # splitmix64
                for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
                    z = (z ^ z >> shift) * factor % 2**64
                signed = (z >> 8) % 2**24 - 2**24 * (z >> 31 & 1)
                operations.append(("variation", (ps * self.jitter >> 16) * signed >> 23, 1))
            for name, ps, calls in operations:
                self.count.update({("ledger_ps", context, name): ps, ("calls", context, name): calls})
            self.cpu[context] = sum(ps for _, ps, _ in operations)

    def softirqs(self):
        while True:  # look anew after each step
            if self.output_ready:
                yield from self.output(SOFT)
            elif self.queue and self.may_send:
                yield from self.send(SOFT)
            elif self.poll_scheduled and not (self.backlog and self.quota > 0):
                self.quota = BACKLOG_WEIGHT
                done, _ = yield from self.serve(POLL_BUDGET // 2, SERVE_MOST, self.ops("napi_poll"))
                last = done + len(self.filled) < POLL_BUDGET
                yield from self.serve(POLL_BUDGET - done, SERVE_MOST, self.ops("napi_poll", mmio_write=last))
                self.poll_scheduled = not last
                self.write_registers(last)  # unmask
                if last and self.causes:
                    self.wake(HARD)
            elif self.backlog:
                self.quota -= 1  # that may still pass before a poll
                yield from self.receive(self.backlog[0])
                self.delivered.append((self.sim.now, self.backlog.popleft()))
            elif self.entry:  # raised for nothing
                yield []
            else:
                yield ASLEEP
                self.entry = self.ops("softirq")

    def process(self):
        while True:  # device queue first, then other output; else read or write on, or wait
            if self.queue and self.may_send:
                yield from self.send(PROCESS)
            elif self.output_ready:
                yield from self.output(PROCESS)
            elif not self.blocked:
                yield from self.work()
            else:
                yield ASLEEP
                yield self.ops("wakeup")

    def send(self, context, operations=(), frames=None):
        """A packet of these frames goes into the device queue. The first frame of the queue goes to the driver, if
        nobody else sends from it and none stood before the new ones. A packet stays until its last frame has gone."""
        n = int(bool(frames)) if self.tx_scatter_gather else len(frames or ())
        tcp = n * self.tcp
        operations = [*operations, *self.ops(skb_alloc=tcp, tcp_output=tcp, ip_output=n, qdisc=n)]
        if self.may_send and (frames is None or (frames and not self.queue)):
            self.owner, frame = context, (self.queue or [frames])[0][0]
            copy_ps, parts = int(frame.payload * self.copy_cached), len(frame.parts)
            linearize = "linearize", frame.linear * (self.skb_alloc + copy_ps), frame.linear
            operations += [*self.ops(gso_segment=frame.gso, skb_alloc=frame.gso, mmio_write=1), linearize]
            operations += [("driver_xmit", self.xmit + parts * self.xmit_buffer, 1)]
        yield operations
        fits = len(self.queue) < self.qdisc_packets
        self.count["qdisc_drops"] += n > 0 and not fits
        self.queue += [deque(frames)] if n and fits else []
        if self.owner == context:
            self.owner, frame = None, self.queue[0].popleft()
            if not self.queue[0]:
                self.queue.popleft()
            frame.born = self.sim.now
            self.posted.append(frame)
            self.count.update(tx_frames=1, linearized=frame.linear, tx_stops=not self.tx_free)
            self.write_registers()
            self.start()
        return fits

    def book(self, use, bursts, clocks):
        ps = int((clocks + bursts * self.arbitration_clocks) * self.clock + 0.5)
        self.count.update({f"bus_ps.{use}": ps, f"bus_bursts.{use}": bursts})
        return ps

    def transfer(self, use, size, offset=0):
        """Time to move bytes that start past a 256-byte boundary; a burst ends at a line or at the limit."""
        reads, width = use.endswith("read"), self.width_bytes
        bursts = sum(-(-n // self.burst_bytes) for n, _ in pieces(offset, size, self.line[reads]))
        words = -(-(offset + size) // width) - offset // width
        return self.book(use, bursts, words + bursts * self.overhead[reads])

    def disturb(self, held_ps):
        """The move under way waits for what its set-up does not hide; returns what it had left to move."""
        move, left_ps = min(self.dma), self.dma[min(self.dma)]
        set_up_ps = max(0, left_ps - self.on_bus[move])
        for need in (self.dma, self.on_bus):
            need[move] += max(0, held_ps - set_up_ps)
        return 0 if set_up_ps else left_ps

    def write_registers(self, n=1):
        self.disturb(sum(self.book("mmio_write", 1, 3) for _ in range(n)))

    def read_status(self):
        """A read stalls the CPU, also until the burst under way has ended."""
        held_ps = self.book("mmio_read", 1, 4 + self.register_latency_clocks)
        return "mmio_read", held_ps + self.disturb(held_ps) % self.read_burst + self.mmio_read, 1

    def frame(self, payload, sequence=0, **fields):
        """Parts in memory, as (size, offset): the head, and each page fragment that holds some of the payload."""
        gso, unit, length = self.tx_scatter_gather and payload > 0, self.fragment_bytes, self.header + payload
        pages = [(n, at % unit % 256) for n, at in pieces(sequence, payload, unit)] if gso else []
        linear = len(pages) >= MOST_BUFFERS
        parts = [(self.header, 0), *pages] if gso and not linear else [(length, 0)]
        fields |= {"payload": payload, "sequence": sequence, "length": length, "parts": parts}
        return SimpleNamespace(**fields, gso=gso, linear=linear)

    def start(self):
        """Let the wire begin, and each move between a FIFO and memory, if it can."""
        if self.tx_fifo and not {"start", "wire_done"} & set(self.at):
            size = 8 + max(self.tx_fifo[0].length, 60) + 4 + 12  # preamble, padded frame, FCS, gap
            self.count.update(wire_bytes=size, wire_busy_ps=size * self.byte)
            self.at["wire_done"] = self.sim.now + size * self.byte
        moves, room = {}, self.tx_fifo_bytes - sum(frame.length for frame in self.tx_fifo)
        if self.posted and self.posted[0].length <= room and TX not in self.dma:
            parts = self.posted[0].parts
            bus_ps = [self.transfer("tx_descriptor_read", 8 + 8 * len(parts))]
            bus_ps += [self.transfer("tx_data_read", size, offset) for size, offset in parts]
            moves[TX] = self.frame_gap + (len(parts) - 1) * self.buffer_gap, sum(bus_ps)
        if self.rx_fifo and self.rx_free and RX not in self.dma:
            bus_ps = self.transfer("rx_data_write", self.rx_fifo[0].length, self.rx_offset)
            bus_ps += self.transfer("rx_descriptor_read", 16) + self.transfer("rx_writeback", 4)
            moves[RX] = self.frame_gap, bus_ps
        for move, (set_up_ps, bus_ps) in moves.items():
            self.count["gap_ps"] += set_up_ps
            self.dma[move], self.on_bus[move] = set_up_ps + bus_ps, bus_ps

    def dma_done(self):
        self.dma.pop(move := min(self.dma))
        if move == TX:
            self.tx_fifo.append(self.posted.popleft())
            return self.start()
        self.filled.append(self.rx_fifo.popleft())
        self.rx_free -= 1
        if self.pause and self.rx_free < PAUSE_BELOW and "start" not in self.peer.at:
            self.count["pauses"] += 1
            self.peer.at["start"] = self.sim.now + PAUSE_BYTES * self.peer.byte
        self.count["rx_ring_empty"] += bool(self.rx_fifo) and not self.rx_free
        self.start()
        self.moderate("rx", not self.rx_fifo)

    def wire_done(self):
        """A frame has left, and so arrives: its status is written back, the interrupt logic told."""
        frame, peer = self.tx_fifo.popleft(), self.peer
        self.sent.append(frame)
        self.disturb(self.transfer("tx_writeback", 4))
        self.moderate("tx", not self.posted and not self.tx_fifo)
        fits = sum(f.length for f in peer.rx_fifo) + frame.length <= peer.rx_fifo_bytes
        peer.rx_fifo += [frame] * fits
        in_vain = fits and RX not in peer.dma and not peer.rx_free
        peer.count.update(rx_fifo_drops=not fits, rx_ring_empty=in_vain)
        peer.start()
        self.start()

    def moderate(self, way, queue_empty=False, due=False):
        """Fire at the threshold, or when the timer is due that is started below it."""
        threshold, delay_ps = getattr(self, f"{way}_suppress_frames"), getattr(self, f"{way}_timer")
        held = self.count["held", way] = self.count["held", way] + (not due)
        at_first = getattr(self, f"{way}_timer_starts") != "queue_empty"
        if due or held >= threshold:
            self.at.pop(f"{way}_due", None)
            self.count[f"{way}_{'timer' if due else 'threshold' if threshold else 'plain'}_fires"] += 1
            self.count["held", way] = 0
            self.causes.add(way)
            if not self.poll_scheduled:  # a handler leaves interrupts masked until its poll has ended
                self.wake(HARD)
        elif delay_ps and (held == 1 if at_first else queue_empty):
            self.at[f"{way}_due"] = self.sim.now + delay_ps

    tx_due, rx_due = partialmethod(moderate, "tx", due=True), partialmethod(moderate, "rx", due=True)

    def interrupts(self):
        while True:
            yield ASLEEP
            yield [*self.ops("irq_entry", "irq_shared_handler", mmio_write=2), self.read_status()]
            self.write_registers(1 + self.napi)  # mask; NAPI: acknowledge
            room, self.poll_scheduled = False, self.napi
            while self.causes and not self.napi:
                most = [SERVE_MOST * (way in self.causes) for way in ("rx", "tx")]
                self.causes = set()
                self.write_registers()  # acknowledge
                room |= (yield from self.serve(*most, [*self.ops("mmio_write"), self.read_status()]))[TX] > 0
            self.causes = set()
            self.write_registers(not self.napi)  # unmask
            if self.napi or self.backlog or (room and self.queue) or self.output_ready:
                self.wake(SOFT)

    def serve(self, most_rx, most_tx, operations):
        """What is ready when the job begins is served when it ends; returns how many of each."""
        rx, tx = min(most_rx, len(self.filled)), min(most_tx, len(self.sent))
        kept = [f.length for f in list(self.filled)[:rx] if f.length < self.rx_copybreak_bytes]
        steps = {"rx_reap": rx, "skb_alloc": rx, "rx_refill": rx - len(kept), "tx_reap": tx, "skb_free": tx}
        steps["mmio_write"] = rx > 0 and self.rx_taken + rx >= RX_GROUP
        yield [*operations, *self.ops(**steps), ("copy", int(sum(kept) * self.copy_cold), len(kept))]
        received, room = [self.filled.popleft() for _ in range(rx)], self.backlog_packets - len(self.backlog)
        self.backlog += received[:room]
        groups, self.rx_taken = divmod(self.rx_taken + rx, RX_GROUP)
        self.count.update(copybreaks=len(kept), backlog_drops=len(received[room:]), refills=groups > 0)
        self.rx_free += groups * RX_GROUP
        self.write_registers(groups > 0)
        if groups and self.rx_free >= min(RESUME_AT, self.rx_all - RX_GROUP):
            self.peer.at.pop("start", None)
            self.peer.start()
        self.start()
        self.count["tx_wakes"] += tx > 0 and not self.tx_free
        for _ in range(tx):
            self.sent.popleft()
            self.freed()
        return rx, tx


class TcpSender(Host):
    """Whole segments leave while the window has room: two at a time, or up to a super-packet with GSO."""

    written = next = acknowledged = progress_ps = duplicates = blocked = left = 0  # left: of the message
    output_ready = property(lambda self: not self.sending and self.output_bytes() > 0)

    def work(self):
        """Copy to the end of the segment (GSO: page), or of the message while the window is shut anyway."""
        gso, page = self.tx_scatter_gather, self.fragment_bytes
        room = self.tcp_send_buffer_bytes - (self.written - self.acknowledged)
        self.blocked = room < self.mss
        if self.blocked:
            return
        entry, self.left = self.ops(syscall=not self.left), self.left or self.message_bytes
        size, unit = min(self.left, room), page if gso else self.mss
        size = min(size, unit - self.written % unit) if self.edge - self.next >= self.mss else size
        # How many of them begin in what is written.
        pages, packets = (len(range(-self.written % n, size, n)) for n in (page, self.super_packet))
        steps = self.ops(skb_alloc=packets, sendpage=pages * self.sendfile, page=pages * gso)
        yield entry + steps + ([] if gso and self.sendfile else self.copy(size, self.user_copy))
        self.written, self.left = self.written + size, self.left - size
        self.count.update(messages=not self.left, sent_bytes=0 if self.left else self.message_bytes)

    def output_bytes(self):
        queued, room, gso = self.written - self.next, self.edge - self.next, self.tx_scatter_gather
        most = min(queued, self.super_packet if gso else TRAIN_SEGMENTS * self.mss)
        size = min(room, most)
        # GSO waits for more of the message, and of the window.
        grows = most < self.super_packet and self.left and not self.blocked
        opens = size < most and 3 * room < self.tcp_window_bytes and self.next > self.acknowledged
        return 0 if gso and (grows or opens) else max(0, size // self.mss * self.mss)

    def output(self, context):
        start, end, self.sending = self.next, self.next + self.output_bytes(), True
        yield from self.send(context, [], [self.frame(self.mss, at) for at in range(start, end, self.mss)])
        self.sending = False
        self.next = end if self.next == start else self.next  # a retransmission may have begun meanwhile
        if "timeout" not in self.at:
            self.progress_ps, self.at["timeout"] = self.sim.now, self.sim.now + self.rto

    def receive(self, ack):
        freed, gso = max(0, ack.ack - self.acknowledged), self.tx_scatter_gather
        skbs = "skb_free", freed * self.skb_free // self.super_packet, freed > 0
        page = "page", gso * freed * self.page // self.fragment_bytes, gso and freed > 0
        yield [*self.ops("netif_rx", "ip_input", "tcp_input", "skb_free"), skbs, page]
        if freed:
            self.acknowledged, self.next = ack.ack, max(self.next, ack.ack)
            self.progress_ps, self.duplicates = self.sim.now, 0
        elif ack.edge == self.edge and self.next > self.acknowledged:
            self.duplicates += 1
            lost = self.duplicates == DUPLICATES_BEFORE_RETRANSMIT
            self.count["retransmits"] += lost
            self.next = self.acknowledged if lost else self.next
        self.edge = max(self.edge, ack.edge)
        if self.blocked and 3 * (self.written - self.acknowledged) <= 2 * self.tcp_send_buffer_bytes:
            self.blocked = False
            self.wake(PROCESS)

    def timeout(self):
        if self.next > self.acknowledged:
            if self.sim.now - self.progress_ps >= self.rto:
                self.count["retransmits"] += 1
                self.next, self.duplicates, self.progress_ps = self.acknowledged, 0, self.sim.now
            self.at["timeout"] = self.progress_ps + self.rto


class TcpReceiver(Host):
    """Acknowledges more than one segment at once. A read that opens the window much sends an ACK, too, and one that
    empties the socket if what is not yet acknowledged is less than a segment.
    """

    expected = unread = unacknowledged = arrived_ps = ack_wanted = 0
    blocked = property(lambda self: not self.unread)
    output_ready = property(lambda self: self.ack_wanted and not self.sending)

    def work(self):
        size, window = min(self.unread, self.receive_bytes), self.tcp_window_bytes
        yield self.ops("syscall", skb_free=-(-size // self.mss)) + self.copy(size, self.copy_cold)
        self.unread -= size
        update = 2 * (self.edge - self.expected) <= min(window, window - self.unread)
        self.count.update(messages=1, window_updates=update)
        self.ack_wanted |= update or (not self.unread and 0 < self.unacknowledged < self.mss)

    def receive(self, segment):
        in_order, payload = segment.sequence == self.expected, segment.payload
        acks = [self.frame(0)] * (not in_order or self.unacknowledged + payload > self.mss)
        yield from self.send(SOFT, self.ops("netif_rx", "ip_input", "tcp_input"), acks)
        self.count.update(socket_drops=not in_order, received_bytes=in_order * payload)
        if in_order:
            self.expected, self.unread = self.expected + payload, self.unread + payload
            self.unacknowledged, self.arrived_ps = self.unacknowledged + payload, self.sim.now
        self.fill(acks)
        if not acks and "ack_due" not in self.at:
            self.at["ack_due"] = self.sim.now + self.delayed_ack
        if self.unread:
            self.wake(PROCESS)

    def output(self, context):
        self.ack_wanted, self.sending, acks = False, True, [self.frame(0)]
        yield from self.send(context, [], acks)
        self.sending = False
        self.fill(acks)

    def fill(self, acks):
        """An ACK that has just been sent tells what is known now."""
        for ack in acks:
            self.edge = max(self.edge, self.expected + self.tcp_window_bytes - self.unread)
            self.unacknowledged, ack.ack, ack.edge = 0, self.expected, self.edge
            self.count["acks_sent"] += 1

    def ack_due(self):
        if self.unacknowledged and self.sim.now < self.arrived_ps + self.delayed_ack:
            self.at["ack_due"] = self.arrived_ps + self.delayed_ack
        elif self.unacknowledged:
            self.ack_wanted = True


class UdpSender(Host):
    """Builds all fragments of a datagram, then sends them; gives it up if they exceed twice the buffer."""

    number = built = passed_on = 0
    blocked = property(lambda self: not self.built and self.charged >= self.udp_send_buffer_bytes)

    def work(self):
        n, first, truesize = len(self.fragments), not self.built, self.tx_truesize_bytes
        if self.built < n:
            copy = self.copy(self.fragments[self.built], self.user_copy, n > 1)
            yield self.ops("skb_alloc", syscall=first, udp=first, ip_fragment=not first) + copy
            self.built, self.charged = self.built + 1, self.charged + truesize
            if self.charged > 2 * self.udp_send_buffer_bytes and self.built < n:
                self.count["socket_drops"] += 1
                self.built, self.charged = 0, self.charged - self.built * truesize
        elif self.passed_on < n:
            i, size = self.passed_on, self.fragments[self.passed_on]
            frame = self.frame(size, self.number, last=i == n - 1, data=size - 8 * (i == 0))
            fits = yield from self.send(PROCESS, [], [frame])
            self.passed_on, self.charged = i + 1, self.charged - truesize * (not fits)
            self.count["sent_bytes"] += frame.data
        else:
            self.count["messages"] += 1
            self.number, self.built, self.passed_on = self.number + 1, 0, 0

    def freed(self):
        self.charged -= self.tx_truesize_bytes
        if 2 * self.charged <= self.udp_send_buffer_bytes:
            self.wake(PROCESS)


class UdpReceiver(Host):
    """The last fragment delivers a datagram if the buffer has room; a new one ends an incomplete one."""

    datagram, gathered, queued = None, [], 0
    blocked = property(lambda self: not self.queued)

    def work(self):
        n, summed = len(self.fragments), self.rx_checksum_rule != "mainline"
        copy = self.copy(self.message_bytes, self.copy_cold, n > 1 and summed)
        yield self.ops("syscall", "udp", skb_free=n) + copy
        self.queued, self.charged = self.queued - 1, self.charged - n * self.rx_truesize_bytes
        self.count["messages"] += 1

    def receive(self, fragment):
        n, truesize = len(self.fragments), len(self.fragments) * self.rx_truesize_bytes
        yield self.ops("netif_rx", "ip_input", ip_reassemble=n > 1, udp=fragment.last)
        if fragment.sequence != self.datagram:
            self.count["reassembly_drops"] += 0 < len(self.gathered) < n
            self.datagram, self.gathered = fragment.sequence, []
        self.gathered = [*self.gathered, fragment.data]
        if len(self.gathered) == n:
            fits = not self.charged or self.charged + truesize < self.udp_receive_buffer_bytes
            self.count.update(socket_drops=not fits, received_bytes=fits * sum(self.gathered))
            self.queued, self.charged, self.gathered = self.queued + fits, self.charged + truesize * fits, []
            if fits:
                self.wake(PROCESS)


class Twin:
    """Two hosts on a wire. At equal times the local one goes first, and of its events the first in EVENTS."""

    def __init__(self, seed, parameters):
        ends = (TcpSender, TcpReceiver) if parameters[0]["tcp"] else (UdpSender, UdpReceiver)
        self.now, self.trace = 0, []
        streams = [seed * 0xD1342543DE82EF95 + 0x9E3779B97F4A7C15 + 8 * i for i in range(2)]
        self.hosts = local, remote = [ends[i](self, streams[i], parameters[i]) for i in range(2)]
        local.peer, remote.peer = remote, local
        for host, context in product(self.hosts, range(3)):
            host.wake(context)

    def run(self, until_ps, events):
        """Execute all events until then, but not more; `trace` gets time, slot and queue lengths of each."""
        servers = [(i, e, jobs) for i, h in enumerate(self.hosts) for e, jobs in enumerate((h.cpu, h.dma))]
        over = False
        while not over:
            ends = [(self.now + jobs[min(jobs)], i, event) for i, event, jobs in servers]
            timers = [(t, i, EVENTS.index(name)) for i in range(2) for name, t in self.hosts[i].at.items()]
            time_ps, i, event = min(ends + timers)
            over = time_ps > until_ps or len(self.trace) == events
            time_ps, elapsed_ps = (until_ps, until_ps - self.now) if over else (time_ps, time_ps - self.now)
            for side, server, jobs in servers:
                self.hosts[side].count["busy", server, min(jobs)] += elapsed_ps
                jobs[min(jobs)] -= elapsed_ps
            self.now, host, job = time_ps, self.hosts[i], min(self.hosts[i].cpu)
            if not over:
                host.at.pop(EVENTS[event], None)
                getattr(host, EVENTS[event])()
                if EVENTS[event] in ("ack_due", "timeout") and host.output_ready:
                    host.wake(SOFT)
                host.count["preemptions"] += event > 0 and min(host.cpu) < job < IDLE
                self.trace.append(sum((h.lengths() for h in self.hosts), (time_ps, 16 * i + event)))
