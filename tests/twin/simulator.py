"""The twin: a second simulator of the velocity scenario in plain Python, from the rules in the docstrings.

Each context of a processor is a generator. It yields the operations of its next job and goes on when that
job has ended: what stands after a `yield` is what the job brings about. It yields ASLEEP to be woken later.
An operation is a tuple: name in the ledger, picoseconds, calls. A frame passes from one deque to the next, and
where it is says who owns its descriptor. Parameters are in picoseconds, without their unit in the name.
"""

from collections import Counter, deque
from functools import partialmethod
from itertools import pairwise
from math import inf
from types import SimpleNamespace

EVENTS = ("job_done", "dma_done", "wire_done", "tx_timer", "rx_timer", "delayed_ack", "timeout", "resume")
HARD, SOFT, PROCESS, IDLE = range(4)
RX, TX = range(2)  # moves of the DMA engine
ASLEEP = None
BACKLOG_WEIGHT, POLL_BUDGET, SERVE_MOST, RX_GROUP, MOST_BUFFERS = 64, 64, 16, 4, 7
PAUSE_BELOW, RESUME_AT, PAUSE_BYTES = 24, 48, 65535 * 512 // 8
DUPLICATES_BEFORE_RETRANSMIT, TRAIN_SEGMENTS = 3, 2


def pieces(start, size, unit):
    """(size, start) of each part of a range that multiples of the unit cut."""
    cuts = [start, *range(start - start % unit + unit, start + size, unit), start + size]
    return [(b - a, a) for a, b in pairwise(cuts)]


class Host:
    """Stack, driver and device of one end. The processor and the DMA engine serve the lowest job first."""

    output_ready, freed = False, lambda self: None  # freed: the driver has given a sent frame back
    tx_free = property(lambda self: self.p.tx_ring - len(self.posted) - len(self.tx_fifo) - len(self.sent))
    may_send = property(lambda self: self.owner is None and self.tx_free > 0)

    def __init__(self, sim, workload, random, p):
        self.sim, self.workload, self.random, self.p, self.at = sim, workload, random, p, {}  # at: of events
        self.count, self.ledger, self.calls, self.bus_ps, self.bursts, self.held = (
            Counter() for _ in range(6)
        )
        self.queue, self.posted, self.tx_fifo, self.sent, *received = (deque() for _ in range(7))
        self.rx_fifo, self.filled, self.backlog = received
        self.cpu, self.cpu_busy, self.dma, self.dma_busy = {IDLE: inf}, Counter(), {IDLE: inf}, Counter()
        self.contexts, self.on_bus = (self.interrupt(), self.softirq(), self.process()), {IDLE: 0}
        self.owner = None  # context whose job under way will send from the device queue
        self.poll_scheduled = self.sending = False
        self.quota = self.charged = self.rx_taken = 0  # taken: descriptors not yet returned
        self.delivered, self.entry, self.causes, self.rx_free = (
            [],
            [],
            set(),
            p.rx_ring // RX_GROUP * RX_GROUP,
        )
        self.burst_bytes = min(p.latency_timer_clocks * p.width_bytes, 4 * p.dma_burst_dwords or 1 << 30)
        # Of writes and of reads: where a burst ends, and its clocks besides its words.
        self.line, clocks = (
            (p.write_line_bytes or 1 << 30, p.read_line_bytes or 1 << 30),
            p.arbitration_clocks,
        )
        self.overhead = clocks + 2 + p.write_latency_clocks, clocks + 3 + p.read_latency_clocks
        self.edge, self.header = (
            p.tcp_window_bytes,
            34 if workload == "udp_stream" else 54 + 12 * p.tcp_timestamps,
        )
        self.mss, datagram, most = p.mtu_bytes + 14 - self.header, p.message_bytes + 8, p.mtu_bytes - 20
        self.super_packet = max(p.super_packet_bytes, self.mss) if p.tx_scatter_gather else self.mss
        self.fragments = [n for n, _ in pieces(0, datagram, datagram if datagram <= most else most // 8 * 8)]
        cached = p.message_bytes * p.send_buffers <= p.last_cache_bytes
        self.user_copy = p.copy_cached if cached else p.copy_cold
        self.draw()

    def lengths(self):
        used = self.p.tx_ring - self.tx_free
        return len(self.queue), used, *map(len, (self.tx_fifo, self.rx_fifo, self.filled, self.backlog))

    def ops(self, *names, **calls):
        """Operations with a fixed cost: each of the names once, others so many times."""
        return [(n, k * getattr(self.p, n), k) for n, k in (dict.fromkeys(names, 1) | calls).items()]

    def draw(self):
        """24 bits with a sign, of splitmix64."""
        z = self.random = (self.random + 0x9E3779B97F4A7C15) % 2**64
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
            z = (z ^ z >> shift) * factor % 2**64
        return (z >> 8) % 2**24 - 2**24 * (z >> 31 & 1)

    def go_on(self, context):
        """A context falls asleep, or has a next job, whose length varies by the jitter."""
        operations, jitter = next(self.contexts[context]), int(self.p.jitter_percent / 100 * 65536)
        if operations is ASLEEP:
            return
        if context == SOFT:
            operations, self.entry = self.entry + operations, []
        if jitter:
            half_width = sum(ps for _, ps, _ in operations) * jitter >> 16
            operations.append(("variation", half_width * self.draw() >> 23, 1))
        for name, ps, calls in operations:
            self.ledger[context, name] += ps
            self.calls[context, name] += calls
        self.cpu[context] = sum(ps for _, ps, _ in operations)

    def wake(self, context):
        if context not in self.cpu:
            self.go_on(context)

    def job_done(self):
        context = min(self.cpu)
        del self.cpu[context]
        self.go_on(context)

    def softirq(self):
        """Look anew after each step: TCP output, device queue, poll, backlog."""
        while True:
            if self.output_ready:
                yield from self.output(SOFT)
            elif self.queue and self.may_send:
                yield from self.send(SOFT)
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
                self.entry = self.ops("softirq")

    def process(self):
        """Send what stands in the device queue, then what else may be sent; read or write on; or wait."""
        while True:
            if self.queue and self.may_send:
                yield from self.send(PROCESS)
            elif self.output_ready:
                yield from self.output(PROCESS)
            elif not self.blocked:
                yield from self.work()
            else:
                yield ASLEEP
                yield self.ops("wakeup")

    def send(self, context, operations=(), frames=()):
        """A packet (of several frames) goes into the device queue, if there is one; the first frame in the queue
        goes to the driver if nobody else sends from it. A packet stays there until its last frame has gone."""
        n = min(1, len(frames)) if self.p.tx_scatter_gather else len(frames)
        operations = [*operations, *self.ops(qdisc=n)]
        if self.may_send and not (frames and self.queue):
            self.owner, frame = context, (self.queue or [frames])[0][0]
            gso, copy_ps = (
                self.p.tx_scatter_gather and frame.kind == "data",
                int(frame.payload * self.p.copy_cached),
            )
            linearize = "linearize", frame.linear * (self.p.skb_alloc + copy_ps), frame.linear
            fill = "driver_xmit", self.p.xmit + len(frame.buffers) * self.p.xmit_buffer, 1
            operations += [*self.ops(gso_segment=gso, skb_alloc=gso, mmio_write=1), linearize, fill]
        yield operations
        fits = len(self.queue) < self.p.qdisc_packets
        self.count["qdisc_drops"] += n > 0 and not fits
        self.queue += [deque(frames)] * (n > 0 and fits)
        if self.owner == context:
            self.owner, frame = None, self.queue[0].popleft()
            if not self.queue[0]:
                self.queue.popleft()
            frame.born = self.sim.now
            self.posted.append(frame)
            self.count.update(tx_frames=1, doorbells=1, linearized=frame.linear, tx_stops=not self.tx_free)
            self.write_registers()
            self.start()
        return fits

    def book(self, use, transactions, clocks):
        ps = int(clocks * self.p.clock + 0.5)
        self.bus_ps[use] += ps
        self.bursts[use] += transactions
        return ps

    def transfer(self, use, size, offset=0):
        """Time to move bytes that start past a 256-byte boundary; a burst ends at a line or at the limit."""
        reads, width = use.endswith("read"), self.p.width_bytes
        bursts = sum(-(-n // self.burst_bytes) for n, _ in pieces(offset, size, self.line[reads]))
        words = -(-(offset + size) // width) - offset // width
        return self.book(use, bursts, words + bursts * self.overhead[reads])

    def disturb(self, held_ps):
        """The move under way waits for what its set-up does not hide; returns what it had left to move."""
        move = min(self.dma)
        left_ps, set_up_ps = self.dma[move], max(0, self.dma[move] - self.on_bus[move])
        for need in (self.dma, self.on_bus):
            need[move] += max(0, held_ps - set_up_ps)
        return 0 if set_up_ps else left_ps

    def write_registers(self, n=1):
        self.disturb(sum(self.book("mmio_write", 1, self.p.arbitration_clocks + 3) for _ in range(n)))

    def read_status(self):
        """A read stalls the CPU, also until the burst under way has ended."""
        held_ps = self.book("mmio_read", 1, self.p.arbitration_clocks + 4 + self.p.register_latency_clocks)
        clocks = min(self.burst_bytes, self.line[True]) / self.p.width_bytes + self.overhead[True]
        return "mmio_read", held_ps + self.disturb(held_ps) % int(clocks * self.p.clock) + self.p.mmio_read, 1

    def frame(self, kind, payload, sequence=0, **fields):
        """Its buffers, as (size, offset): the head, and each page fragment that holds some of the payload."""
        buffers, page = [(self.header + payload, 0)], self.p.fragment_bytes
        if self.p.tx_scatter_gather and kind == "data":
            buffers = [(self.header, 0), *((n, at % page % 256) for n, at in pieces(sequence, payload, page))]
        fields |= {"kind": kind, "payload": payload, "sequence": sequence, "length": self.header + payload}
        linear = len(buffers) > MOST_BUFFERS
        return SimpleNamespace(
            **fields, linear=linear, buffers=[(fields["length"], 0)] if linear else buffers
        )

    def start(self):
        """Let the wire begin, and each move between a FIFO and memory, if it can."""
        gap_ps, moves = self.p.frame_gap, {}
        if self.tx_fifo and not {"resume", "wire_done"} & set(self.at):
            size = 8 + max(self.tx_fifo[0].length, 60) + 4 + 12  # preamble, padded frame, FCS, gap
            self.count.update(wire_bytes=size, wire_busy_ps=size * self.p.byte)
            self.at["wire_done"] = self.sim.now + size * self.p.byte
        used = sum(frame.length for frame in self.tx_fifo)
        if TX not in self.dma and self.posted and used + self.posted[0].length <= self.p.tx_fifo_bytes:
            buffers = self.posted[0].buffers
            bus_ps = self.transfer("tx_descriptor_read", 8 + 8 * len(buffers))
            bus_ps += sum(self.transfer("tx_data_read", *buffer) for buffer in buffers)
            moves[TX] = gap_ps + (len(buffers) - 1) * self.p.buffer_gap, bus_ps
        if RX not in self.dma and self.rx_fifo and self.rx_free:
            start = 0 if self.p.rx_align_rule == "via" else 2 * self.p.rx_buffer_address_mod_bytes % 64
            bus_ps = self.transfer("rx_data_write", self.rx_fifo[0].length, start)
            moves[RX] = (
                gap_ps,
                bus_ps + self.transfer("rx_descriptor_read", 16) + self.transfer("rx_writeback", 4),
            )
        for move, (set_up_ps, bus_ps) in moves.items():
            self.count["gap_ps"] += set_up_ps
            self.dma[move], self.on_bus[move] = set_up_ps + bus_ps, bus_ps

    resume = start

    def dma_done(self):
        move = min(self.dma)
        del self.dma[move]
        if move == TX:
            self.tx_fifo.append(self.posted.popleft())
            return self.start()
        self.filled.append(self.rx_fifo.popleft())
        self.rx_free -= 1
        if self.p.pause and self.rx_free < PAUSE_BELOW and "resume" not in self.peer.at:
            self.peer.at["resume"] = self.sim.now + PAUSE_BYTES * self.peer.p.byte
            self.count["pauses"] += 1
        self.count["rx_ring_empty"] += bool(self.rx_fifo) and not self.rx_free
        self.start()
        self.moderate("rx", not self.rx_fifo)

    def wire_done(self):
        """A frame has left, and so arrives: its status is written back, the interrupt logic told."""
        frame, peer = self.tx_fifo.popleft(), self.peer
        self.sent.append(frame)
        self.disturb(self.transfer("tx_writeback", 4))
        self.moderate("tx", not self.posted and not self.tx_fifo)
        fits = sum(f.length for f in peer.rx_fifo) + frame.length <= peer.p.rx_fifo_bytes
        peer.rx_fifo += [frame] * fits
        peer.count.update(
            rx_fifo_drops=not fits, rx_ring_empty=fits and RX not in peer.dma and not peer.rx_free
        )
        peer.start()
        self.start()

    def moderate(self, way, queue_empty):
        """Fire at the threshold; what stays below it is left to a timer."""
        threshold, delay_ps, starts = (
            getattr(self.p, f"{way}_{x}") for x in ("suppress_frames", "timer", "timer_starts")
        )
        self.held[way] += 1
        if self.held[way] >= threshold:
            self.at.pop(f"{way}_timer", None)
            self.fire(way, "threshold" if threshold else "plain")
        elif delay_ps and (queue_empty if starts == "queue_empty" else self.held[way] == 1):
            self.at[f"{way}_timer"] = self.sim.now + delay_ps

    def fire(self, way, why):
        self.count[f"{way}_{why}_fires"] += 1
        self.held[way] = 0
        self.causes.add(way)
        if not self.poll_scheduled:  # a handler leaves interrupts masked until its poll has ended
            self.wake(HARD)

    tx_timer, rx_timer = partialmethod(fire, "tx", "timer"), partialmethod(fire, "rx", "timer")

    def interrupt(self):
        while True:
            yield ASLEEP
            shared = "irq_shared_handler", self.p.irq_shared + self.p.irq_shared_read, 1
            yield [*self.ops("irq_entry", mmio_write=2), shared, self.read_status()]
            self.write_registers(1 + self.p.napi)  # mask; acknowledge
            if self.p.napi:
                self.causes, self.poll_scheduled = set(), True
                self.wake(SOFT)
                continue
            room = 0
            while self.causes:
                most = [SERVE_MOST * (way in self.causes) for way in ("rx", "tx")]
                self.causes = set()
                self.write_registers()  # acknowledge
                room += (yield from self.serve(*most, [*self.ops("mmio_write"), self.read_status()]))[TX]
            self.write_registers()  # unmask
            if self.backlog or (room and self.queue) or self.output_ready:
                self.wake(SOFT)

    def poll(self):
        entry = [("napi_poll", self.p.poll, 1)]
        done, _ = yield from self.serve(POLL_BUDGET // 2, SERVE_MOST, entry)
        last = done + len(self.filled) < POLL_BUDGET
        yield from self.serve(POLL_BUDGET - done, SERVE_MOST, entry + self.ops(mmio_write=last))
        if last:
            self.poll_scheduled = False
            self.write_registers()  # unmask
            if self.causes:
                self.wake(HARD)

    def serve(self, most_rx, most_tx, operations):
        """What is ready when the job begins is served when it ends; returns how many of each."""
        rx, tx = min(most_rx, len(self.filled)), min(most_tx, len(self.sent))
        kept = [f.length for f in list(self.filled)[:rx] if f.length < self.p.rx_copybreak_bytes]
        steps = {"rx_reap": rx, "skb_alloc": rx, "rx_refill": rx - len(kept), "tx_reap": tx, "skb_free": tx}
        steps["mmio_write"] = rx > 0 and self.rx_taken + rx >= RX_GROUP
        yield [*operations, *self.ops(**steps), ("copy", int(sum(kept) * self.p.copy_cold), len(kept))]
        received, room = (
            [self.filled.popleft() for _ in range(rx)],
            self.p.backlog_packets - len(self.backlog),
        )
        self.backlog += received[:room]
        groups, self.rx_taken = divmod(self.rx_taken + rx, RX_GROUP)
        self.count.update(copybreaks=len(kept), backlog_drops=len(received[room:]), refills=groups > 0)
        self.rx_free += groups * RX_GROUP
        if groups:
            self.write_registers()
            if self.rx_free >= min(RESUME_AT, self.p.rx_ring // RX_GROUP * RX_GROUP - RX_GROUP):
                self.peer.at.pop("resume", None)
                self.peer.start()
            self.start()
        self.count["tx_wakes"] += tx > 0 and not self.tx_free
        for _ in range(tx):
            self.sent.popleft()
            self.freed()
        return rx, tx


class TcpSender(Host):
    """Whole segments leave while the window has room: two at a time, or up to a super-packet with GSO."""

    written = next = acknowledged = progress_ps = duplicates = 0
    left, blocked = 0, False  # left: of the message being written
    output_ready = property(lambda self: not self.sending and self.output_bytes() > 0)

    def work(self):
        """Copy to the end of the segment (GSO: page), or of the message while the window is shut anyway."""
        gso, sendfile, page = self.p.tx_scatter_gather, self.workload == "tcp_sendfile", self.p.fragment_bytes
        room = self.p.tcp_send_buffer_bytes - (self.written - self.acknowledged)
        self.blocked = room < self.mss
        if self.blocked:
            return
        entry, self.left = self.ops(syscall=not self.left), self.left or self.p.message_bytes
        size, unit = min(self.left, room), page if gso else self.mss
        if self.edge - self.next >= self.mss:
            size = min(size, unit - self.written % unit)
        # How many of them begin in what is written.
        pages, packets = (len(range(-self.written % n, size, n)) for n in (page, self.super_packet))
        copies = not (gso and sendfile)
        steps = self.ops(skb_alloc=packets, sendpage=pages * sendfile, page=pages * gso)
        yield [*entry, ("copy", copies * int(size * self.user_copy), copies), *steps]
        self.written += size
        self.left -= size
        self.count.update(messages=not self.left, sent_bytes=0 if self.left else self.p.message_bytes)

    def output_bytes(self):
        queued, room, gso = self.written - self.next, self.edge - self.next, self.p.tx_scatter_gather
        most = min(queued, self.super_packet if gso else TRAIN_SEGMENTS * self.mss)
        size = min(room, most)
        # GSO waits for more of the message, and of the window.
        grows = most < self.super_packet and self.left and not self.blocked
        opens = size < most and 3 * room < self.p.tcp_window_bytes and self.next > self.acknowledged
        return 0 if gso and (grows or opens) else max(0, size // self.mss * self.mss)

    def output(self, context):
        start, end, self.sending = self.next, self.next + self.output_bytes(), True
        frames = [self.frame("data", self.mss, at) for at in range(start, end, self.mss)]
        n = 1 if self.p.tx_scatter_gather else len(frames)
        yield from self.send(context, self.ops(skb_alloc=n, tcp_output=n, ip_output=n), frames)
        self.sending = False
        self.next = end if self.next == start else self.next  # a retransmission may have begun meanwhile
        if "timeout" not in self.at:
            self.progress_ps, self.at["timeout"] = self.sim.now, self.sim.now + self.p.rto

    def receive(self, ack):
        freed = max(0, ack.ack - self.acknowledged)
        pages = self.p.tx_scatter_gather and freed > 0
        skbs = "skb_free", freed * self.p.skb_free // self.super_packet, freed > 0
        page = "page", pages * freed * self.p.page // self.p.fragment_bytes, pages
        yield [*self.ops("netif_rx", "ip_input", "tcp_input", "skb_free"), skbs, page]
        if freed:
            self.acknowledged, self.next = ack.ack, max(self.next, ack.ack)
            self.progress_ps, self.duplicates = self.sim.now, 0
        elif ack.edge == self.edge and self.next > self.acknowledged:
            self.duplicates += 1
            if self.duplicates == DUPLICATES_BEFORE_RETRANSMIT:
                self.go_back()
        self.edge = max(self.edge, ack.edge)
        if self.blocked and 3 * (self.written - self.acknowledged) <= 2 * self.p.tcp_send_buffer_bytes:
            self.blocked = False
            self.wake(PROCESS)

    def go_back(self):
        self.count["retransmits"] += 1
        self.next = self.acknowledged

    def timeout(self):
        if self.next > self.acknowledged:
            if self.sim.now - self.progress_ps >= self.p.rto:
                self.go_back()
                self.duplicates, self.progress_ps = 0, self.sim.now
            self.at["timeout"] = self.progress_ps + self.p.rto
        if self.output_ready:
            self.wake(SOFT)


class TcpReceiver(Host):
    """Acknowledges more than one segment at once; a read that opens the window much sends an ACK, too."""

    expected = unread = unacknowledged = arrived_ps = ack_wanted = 0
    blocked = property(lambda self: not self.unread)
    output_ready = property(lambda self: self.ack_wanted and not self.sending)

    def work(self):
        size, window = min(self.unread, self.p.receive_bytes), self.p.tcp_window_bytes
        copy = "copy", int(size * self.p.copy_cold), 1
        yield [*self.ops("syscall", skb_free=-(-size // self.mss)), copy]
        self.unread -= size
        update = 2 * (self.edge - self.expected) <= min(window, window - self.unread)
        self.count.update(messages=1, window_updates=update)
        self.ack_wanted |= update

    def receive(self, segment):
        in_order, operations = (
            segment.sequence == self.expected,
            self.ops("netif_rx", "ip_input", "tcp_input"),
        )
        at_once = not in_order or self.unacknowledged + segment.payload > self.mss
        ack = yield from self.job_with_ack(SOFT, operations) if at_once else iter([operations])
        payload = in_order * segment.payload
        self.unread, self.expected = self.unread + payload, self.expected + payload
        self.count.update(socket_drops=not in_order, received_bytes=payload)
        if in_order:
            self.unacknowledged, self.arrived_ps = self.unacknowledged + payload, self.sim.now
        if at_once:
            self.fill(ack)
        elif "delayed_ack" not in self.at:
            self.at["delayed_ack"] = self.sim.now + self.p.delayed_ack
        if self.unread:
            self.wake(PROCESS)

    def output(self, context):
        self.ack_wanted, self.sending = False, True
        ack = yield from self.job_with_ack(context)
        self.sending = False
        self.fill(ack)

    def job_with_ack(self, context, operations=()):
        ack = self.frame("ack", 0)
        yield from self.send(context, [*operations, *self.ops("skb_alloc", "tcp_output", "ip_output")], [ack])
        return ack

    def fill(self, ack):
        """The ACK that has just been sent tells what is known now."""
        self.edge = max(self.edge, self.expected + self.p.tcp_window_bytes - self.unread)
        self.unacknowledged, ack.ack, ack.edge = 0, self.expected, self.edge
        self.count["acks_sent"] += 1

    def delayed_ack(self):
        due_ps = self.arrived_ps + self.p.delayed_ack
        if self.unacknowledged and self.sim.now < due_ps:
            self.at["delayed_ack"] = due_ps
        self.ack_wanted |= self.unacknowledged > 0 and self.sim.now >= due_ps
        if self.output_ready:
            self.wake(SOFT)


class UdpSender(Host):
    """Builds all fragments of a datagram, then sends them; gives it up if they exceed twice the buffer."""

    number = built = passed_on = 0
    blocked = property(lambda self: not self.built and self.charged >= self.p.udp_send_buffer_bytes)

    def work(self):
        n, truesize = len(self.fragments), self.p.tx_truesize_bytes
        if self.built < n:
            first, summed, size = not self.built, n > 1, self.fragments[self.built]
            copies = (
                ("copy", int(size * self.user_copy), 1),
                ("checksum", summed * int(size * self.p.checksum), summed),
            )
            yield [*self.ops("skb_alloc", syscall=first, udp=first, ip_fragment=not first), *copies]
            self.built, self.charged = self.built + 1, self.charged + truesize
            if self.charged > 2 * self.p.udp_send_buffer_bytes and self.built < n:
                self.count["socket_drops"] += 1
                self.built, self.charged = 0, self.charged - self.built * truesize
        elif self.passed_on < n:
            i, size = self.passed_on, self.fragments[self.passed_on]
            frame = self.frame("fragment", size, self.number, last=i + 1 == n, data=size - 8 * (not i))
            fits = yield from self.send(PROCESS, self.ops("ip_output"), [frame])
            self.passed_on, self.charged = i + 1, self.charged - truesize * (not fits)
            self.count["sent_bytes"] += frame.data
        else:
            self.count["messages"] += 1
            self.number, self.built, self.passed_on = self.number + 1, 0, 0

    def freed(self):
        self.charged -= self.p.tx_truesize_bytes
        if 2 * self.charged <= self.p.udp_send_buffer_bytes:
            self.wake(PROCESS)


class UdpReceiver(Host):
    """The last fragment delivers a datagram if the buffer has room; a new one ends an incomplete one."""

    datagram, gathered, queued = None, [], 0
    blocked = property(lambda self: not self.queued)

    def work(self):
        n, size = len(self.fragments), self.p.message_bytes
        summed = n > 1 and self.p.rx_checksum_rule != "mainline"
        copies = (
            ("copy", int(size * self.p.copy_cold), 1),
            ("checksum", summed * int(size * self.p.checksum), summed),
        )
        yield [*self.ops("syscall", "udp", skb_free=n), *copies]
        self.queued, self.charged = self.queued - 1, self.charged - n * self.p.rx_truesize_bytes
        self.count["messages"] += 1

    def receive(self, fragment):
        n, truesize = len(self.fragments), len(self.fragments) * self.p.rx_truesize_bytes
        yield self.ops("netif_rx", "ip_input", ip_reassemble=n > 1, udp=fragment.last)
        if fragment.sequence != self.datagram:
            self.count.update(reassembly_drops=len(self.gathered) > 0, received_bytes=-sum(self.gathered))
            self.datagram, self.gathered = fragment.sequence, []
        self.gathered = [*self.gathered, fragment.data]
        self.count["received_bytes"] += fragment.data
        if len(self.gathered) == n:
            whole, self.gathered = sum(self.gathered), []
            fits = not self.charged or self.charged + truesize < self.p.udp_receive_buffer_bytes
            self.count.update(socket_drops=not fits, received_bytes=-whole * (not fits))
            self.queued, self.charged = self.queued + fits, self.charged + truesize * fits
            if fits:
                self.wake(PROCESS)


class Twin:
    """Two hosts on a wire. At equal times the local one goes first, and of its events the first in EVENTS."""

    def __init__(self, workload, seed, parameters):
        ends = (UdpSender, UdpReceiver) if workload == "udp_stream" else (TcpSender, TcpReceiver)
        self.now, self.trace, first = 0, [], seed * 0xD1342543DE82EF95
        self.hosts = [ends[i](self, workload, first + 8 * i, parameters[i]) for i in range(2)]
        for host, peer in zip(self.hosts, reversed(self.hosts), strict=True):
            host.peer = peer
            for context in range(3):
                host.go_on(context)

    def pending(self):
        """Time, host and number of each event to come."""
        for i, host in enumerate(self.hosts):
            servers = {"job_done": host.cpu, "dma_done": host.dma}
            ends = {event: self.now + jobs[min(jobs)] for event, jobs in servers.items()}
            yield from ((time_ps, i, EVENTS.index(event)) for event, time_ps in (host.at | ends).items())

    def advance(self, time_ps):
        for host in self.hosts:
            for jobs, busy in ((host.cpu, host.cpu_busy), (host.dma, host.dma_busy)):
                busy[min(jobs)] += time_ps - self.now
                jobs[min(jobs)] -= time_ps - self.now
        self.now = time_ps

    def run(self, until_ps, events):
        """Execute all events until then, but not more; `trace` gets time, slot and queue lengths of each."""
        while len(self.trace) < events:
            time_ps, i, event = min(self.pending())
            if time_ps > until_ps:
                break
            self.advance(time_ps)
            host = self.hosts[i]
            job = min(host.cpu)
            host.at.pop(EVENTS[event], None)
            getattr(host, EVENTS[event])()
            host.count["preemptions"] += event > 0 and min(host.cpu) < job < IDLE
            self.trace.append((time_ps, 16 * i + event, *self.hosts[0].lengths(), *self.hosts[1].lengths()))
        self.advance(until_ps)
