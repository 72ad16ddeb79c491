"""The twin's Velocity: bus, transmit and receive path, interrupts, and the driver's service routines.

Descriptors are deques: a frame passes from one to the next, and where it is says who owns its descriptor.
"""

from collections import Counter, deque
from functools import partialmethod
from itertools import pairwise
from types import SimpleNamespace

from .machine import ASLEEP, HARD, IDLE, SOFT, Machine, Server

MOST_BUFFERS, SERVE_MOST, POLL_BUDGET, RX_GROUP = 7, 16, 64, 4
PAUSE_BELOW, RESUME_AT, PAUSE_BYTES = 24, 48, 65535 * 512 // 8
RX, TX = range(2)  # moves of the DMA engine: receive goes first


class Velocity(Machine):
    def __init__(self, *args):
        super().__init__(*args)
        p, self.dma, self.on_bus = self.p, Server(), {IDLE: 0}  # on_bus: what a move needs after its set-up
        p.irq_shared_handler, p.napi_poll = p.irq_shared + p.irq_shared_read, p.poll
        self.bus_ps, self.transactions, self.held = Counter(), Counter(), Counter()
        self.posted, self.tx_fifo, self.sent, self.rx_fifo, self.filled = (deque() for _ in range(5))
        self.rx_free, self.rx_taken = p.rx_ring // RX_GROUP * RX_GROUP, 0  # taken: not yet returned
        self.causes = set()  # of the next interrupt: tx, rx
        self.byte_ps, self.clock_ps = int(8e6 / p.rate_mbit_s + 0.5), 1e6 / p.clock_mhz
        self.burst_bytes = min(p.latency_timer_clocks * p.width_bytes, 4 * p.dma_burst_dwords or 1 << 30)
        # Of writes and of reads: where a burst ends, and its clocks besides its words.
        self.line, clocks = (p.write_line_bytes, p.read_line_bytes), p.arbitration_clocks
        self.overhead = clocks + 2 + p.write_latency_clocks, clocks + 3 + p.read_latency_clocks

    def lengths(self):
        used = self.p.tx_ring - self.tx_free
        return len(self.queue), used, *map(len, (self.tx_fifo, self.rx_fifo, self.filled, self.backlog))

    # bus

    def book(self, use, transactions, clocks):
        ps = int(clocks * self.clock_ps + 0.5)
        self.bus_ps[use] += ps
        self.transactions[use] += transactions
        return ps

    def transfer(self, use, size, offset=0):
        """Time to move bytes that start past a 256-byte boundary; a burst ends at a line or at the limit."""
        reads, at, end, bursts = use.endswith("read"), offset, offset + size, 0
        while at < end:
            line_end = at - at % self.line[reads] + self.line[reads] if self.line[reads] else end
            at, bursts = min(end, at + self.burst_bytes, line_end), bursts + 1
        words = -(-end // self.p.width_bytes) - offset // self.p.width_bytes
        return self.book(use, bursts, words + bursts * self.overhead[reads])

    def disturb(self, held_ps):
        """The move under way waits for what its set-up does not hide; returns what it had left to move."""
        move, left_ps = self.dma.running, self.dma.left[self.dma.running]
        set_up_ps = max(0, left_ps - self.on_bus[move])
        for need in (self.dma.left, self.on_bus):
            need[move] += max(0, held_ps - set_up_ps)
        return 0 if set_up_ps else left_ps

    def write_registers(self, n=1):
        self.disturb(sum(self.book("mmio_write", 1, self.p.arbitration_clocks + 3) for _ in range(n)))

    def read_status(self):
        """A read stalls the CPU, also until the burst under way has ended."""
        held_ps = self.book("mmio_read", 1, self.p.arbitration_clocks + 4 + self.p.register_latency_clocks)
        words = min(self.burst_bytes, self.p.read_line_bytes or self.burst_bytes) / self.p.width_bytes
        wait_ps = self.disturb(held_ps) % int((words + self.overhead[True]) * self.clock_ps)
        return "mmio_read", held_ps + wait_ps + self.p.mmio_read, 1

    def move(self, kind, set_up_ps, bus_ps):
        self.count["gap_ps"] += set_up_ps
        self.dma.left[kind], self.on_bus[kind] = set_up_ps + bus_ps, bus_ps
        self.dma.turn()

    def dma_done(self):
        if self.dma.finish() == RX:
            self.stored()
        else:
            self.tx_fifo.append(self.posted.popleft())
            self.wire_start()
            self.fetch()
            self.dma.turn()

    # transmit

    @property
    def tx_free(self):
        return self.p.tx_ring - len(self.posted) - len(self.tx_fifo) - len(self.sent)

    def frame(self, kind, header, payload, sequence=0, **fields):
        """Its buffers, as (size, offset): the head, and each page fragment that holds some of the payload."""
        buffers, page, end = [(header + payload, 0)], self.p.fragment_bytes, sequence + payload
        if self.p.tx_scatter_gather and kind == "data":
            cuts = [sequence, *range(sequence - sequence % page + page, end, page), end]
            buffers = [(header, 0), *((b - a, a % page % 256) for a, b in pairwise(cuts))]
        frame = SimpleNamespace(kind=kind, payload=payload, sequence=sequence, **fields)
        frame.length = header + payload
        frame.linear = len(buffers) > MOST_BUFFERS
        frame.buffers = [(frame.length, 0)] if frame.linear else buffers
        return frame

    def xmit_ops(self, frame):
        segments = self.p.tx_scatter_gather and frame.kind == "data"
        copy_ps = int(frame.payload * self.p.copy_cached)
        linearize = "linearize", frame.linear * (self.p.skb_alloc + copy_ps), frame.linear
        fill = "driver_xmit", self.p.xmit + len(frame.buffers) * self.p.xmit_buffer, 1
        return [*self.ops(gso_segment=segments, skb_alloc=segments, mmio_write=1), linearize, fill]

    def xmit(self, frame):
        """Fill a descriptor and ring the doorbell."""
        frame.born = self.sim.now
        self.posted.append(frame)
        self.count.update(tx_frames=1, doorbells=1, linearized=frame.linear, tx_stops=not self.tx_free)
        self.write_registers()
        self.fetch()

    def fetch(self):
        """Move the next posted frame into the FIFO, if that has room."""
        room = self.p.tx_fifo_bytes - sum(frame.length for frame in self.tx_fifo)
        if TX not in self.dma.left and self.posted and self.posted[0].length <= room:
            buffers = self.posted[0].buffers
            bus_ps = self.transfer("tx_descriptor_read", 8 + 8 * len(buffers))
            bus_ps += sum(self.transfer("tx_data_read", size, offset) for size, offset in buffers)
            self.move(TX, self.p.frame_gap + (len(buffers) - 1) * self.p.buffer_gap, bus_ps)

    def wire_start(self):
        if self.tx_fifo and not {"resume", "wire_done"} & set(self.at):
            size = 8 + max(self.tx_fifo[0].length, 60) + 4 + 12  # preamble, padded frame, FCS, gap
            self.count.update(wire_bytes=size, wire_busy_ps=size * self.byte_ps)
            self.at["wire_done"] = self.sim.now + size * self.byte_ps

    def resume(self):
        self.at.pop("resume", None)
        self.wire_start()

    def wire_done(self):
        """A frame has left, and so arrives: its status is written back, the interrupt logic told."""
        self.sent.append(self.tx_fifo.popleft())
        self.disturb(self.transfer("tx_writeback", 4))
        self.count["tx_completions"] += 1
        self.moderate("tx", not self.posted and not self.tx_fifo)
        self.peer.arrive(self.sent[-1])
        self.wire_start()
        self.fetch()

    # receive

    def arrive(self, frame):
        fits = sum(f.length for f in self.rx_fifo) + frame.length <= self.p.rx_fifo_bytes
        self.count["rx_fifo_drops"] += not fits
        if fits:
            self.rx_fifo.append(frame)
            self.store()

    def store(self):
        """Move the first frame of the FIFO into a receive buffer."""
        waits, address = self.rx_fifo and RX not in self.dma.left, self.p.rx_buffer_address_mod_bytes
        self.count["rx_ring_empty"] += bool(waits) and not self.rx_free
        if waits and self.rx_free:
            start = (address + (64 - address if self.p.rx_align_rule == "via" else address)) % 64
            bus_ps = self.transfer("rx_data_write", self.rx_fifo[0].length, start)
            bus_ps += self.transfer("rx_descriptor_read", 16) + self.transfer("rx_writeback", 4)
            self.move(RX, self.p.frame_gap, bus_ps)

    def stored(self):
        self.filled.append(self.rx_fifo.popleft())
        self.rx_free -= 1
        self.count["rx_frames"] += 1
        if self.p.pause and self.rx_free < PAUSE_BELOW and "resume" not in self.peer.at:
            self.peer.at["resume"] = self.sim.now + PAUSE_BYTES * self.peer.byte_ps
            self.count["pauses"] += 1
        self.store()
        self.dma.turn()
        self.moderate("rx", not self.rx_fifo)

    # interrupts

    def moderate(self, way, queue_empty):
        """Fire at the threshold; what stays below it is left to a timer."""
        names = f"{way}_suppress_frames", f"{way}_timer", f"{way}_timer_starts"
        threshold, delay_ps, starts = (getattr(self.p, name) for name in names)
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
            self.count["interrupts"] += 1
            yield [*self.ops("irq_entry", "irq_shared_handler", mmio_write=2), self.read_status()]
            if self.p.napi:
                self.write_registers(2)  # acknowledge, mask
                self.causes, self.poll_scheduled = set(), True
                self.wake(SOFT)
                continue
            self.write_registers()  # mask
            room = False
            while self.causes:
                most = [SERVE_MOST * (way in self.causes) for way in ("rx", "tx")]
                self.causes = set()
                self.write_registers()  # acknowledge
                _, freed = yield from self.serve(*most, [*self.ops("mmio_write"), self.read_status()])
                room |= freed > 0
            self.write_registers()  # unmask
            if self.backlog or (room and self.queue) or self.output_ready:
                self.wake(SOFT)

    def poll(self):
        self.count["polls"] += 1
        done, _ = yield from self.serve(POLL_BUDGET // 2, SERVE_MOST, self.ops("napi_poll"))
        last = done + len(self.filled) < POLL_BUDGET
        yield from self.serve(POLL_BUDGET - done, SERVE_MOST, self.ops("napi_poll", mmio_write=last))
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
        copy = "copy", int(sum(kept) * self.p.copy_cold), len(kept)
        yield [*operations, *self.ops(**steps, mmio_write=rx > 0 and self.rx_taken + rx >= RX_GROUP), copy]

        received = [self.filled.popleft() for _ in range(rx)]
        room = self.p.backlog_packets - len(self.backlog)
        self.backlog += received[:room]
        self.count.update(copybreaks=len(kept), backlog_drops=len(received[room:]))
        groups, self.rx_taken = divmod(self.rx_taken + rx, RX_GROUP)
        self.rx_free += groups * RX_GROUP
        if groups:
            self.count["refills"] += 1
            self.write_registers()
            if self.rx_free >= min(RESUME_AT, self.p.rx_ring // RX_GROUP * RX_GROUP - RX_GROUP):
                self.peer.resume()
            self.store()
        self.count["tx_wakes"] += tx > 0 and not self.tx_free
        for _ in range(tx):
            self.sent.popleft()
            self.freed()
        return rx, tx
