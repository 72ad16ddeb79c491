"""netperf TCP_RR, many instances at once, on the TCP of Linux 3.12.

1. Instance i forks at its share of `start_skew_s` and connects; the server's softirq answers the SYN. From then on each of
   its transactions is a request, the server's response, and no pause: the next request leaves in the turn that has read the
   response.
2. Processes of one core take turns in the order in which they woke (a run queue). A turn that ends a sleep costs
   `cpu.wakeup_cycles`, then a recv call for what is there, and once a message is complete a send call. A message is written
   in one piece; its packets are at most `super_packet_bytes` long. A server answers in the same way.
3. A packet that leaves acknowledges what has come in. More than one full segment that has not been acknowledged is so at once,
   from the softirq; less waits for a packet to go with, at most the delayed-ACK time.
4. Whatever is not acknowledged `rto_us` after the last progress goes out again, doubled each time. With a tail loss probe the
   last segment goes out once before, if there are more than one, after `tail_probe_us`. An ACK that acknowledges nothing
   new while something is under way says that it is lost: all of it goes out again, once.
5. Each client counts over its own window, `window_s` long from its fork. A transaction that ends later is not counted, and the
   client stops. Times are whole microseconds, from the end of one transaction to the end of the next; the first contains the
   connect. netperf's histogram: decades of a hundred buckets.

Not modelled: processes that move between cores, preemption by the scheduler, congestion window and slow start (10 segments
hold the largest message here), the exact order of netperf's two time stamps (its few cycles), the control connection, what
forking costs.

Source: netperf 2.6 (src/netlib.c, nettest_omni.c); Linux 3.12, net/ipv4/tcp_input.c, tcp_output.c, tcp_timer.c.
"""
from cython cimport final
from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint32_t
from libc.stdlib cimport calloc, free, malloc
from nicperf.engine._ledger cimport (
    OP_COPY, OP_IP_INPUT, OP_IP_OUTPUT, OP_PAGE, OP_SKB_ALLOC, OP_SKB_FREE, OP_SYSCALL, OP_TCP_INPUT, OP_TCP_OUTPUT, OP_WAKEUP,
    PROCESS, SOFT_IRQ, ledger_charge,
)
from nicperf.engine._queue cimport queue_set
from nicperf.parts._fifo cimport fifo_alloc, fifo_put, fifo_take
from nicperf.parts._frames cimport TCP_ACK, TCP_DATA, TCP_SYN, frame_t
from nicperf.parts._timers cimport deadline_t, timers_next_ps, timers_put, timers_take
from nicperf.stack._host cimport EVENT_RTO, Host, packet_t
from nicperf.stack._tcp cimport tcp_begun

import numpy as np

cdef enum:
    LARGEST_BACKOFF = 6                 # doublings of the retransmission timeout
    DEADLINES = 128                     # room for each connection: old ones stay until their time
    US = 1000000                        # picoseconds


cdef class ExchangeSocket(Socket):
    """The servers of one core; see `ExchangeClient` for what the other side adds."""

    def __dealloc__(self):
        free(self.connection)
        free(self.histogram)
        free(self.runnable.item)
        free(self.sending.item)
        free(self.timers.heap)

    cdef int configure(self, Host h, object spec) except -1:
        work, sockets = spec.workload, spec.socket
        self.instances = work.instances
        self.window_ps = <int64_t>(work.window_s * 1e12)
        self.skew_ps = <int64_t>(work.start_skew_s * 1e12)
        self.probe_ps = <int64_t>(sockets.tail_probe_us * 1e6)
        self.syn_ps = <int64_t>(sockets.syn_timeout_us * 1e6)
        self.in_bytes, self.out_bytes = work.request_bytes, work.response_bytes
        if not self.answers():
            self.in_bytes, self.out_bytes = self.out_bytes, self.in_bytes
        self.running = self.soft_sender = self.input_ack = -1
        return 0

    cdef int place(self, int32_t core, int32_t cores) except -1:
        """Take the instances of one of so many cores."""
        cdef int32_t i
        self.first, self.step = core, cores
        self.count = (self.instances - core + cores - 1) // cores
        self.connection = <connection_t*>calloc(max(self.count, 1), sizeof(connection_t))
        self.histogram = <uint32_t*>calloc(max(self.count, 1) * HISTOGRAM_DECADES * HISTOGRAM_BUCKETS, sizeof(uint32_t))
        self.timers.room = max(self.count, 1) * DEADLINES
        self.timers.heap = <deadline_t*>malloc(self.timers.room * sizeof(deadline_t))
        if self.connection == NULL or self.histogram == NULL or self.timers.heap == NULL \
                or fifo_alloc(&self.runnable, self.count + 1) < 0 or fifo_alloc(&self.sending, self.count + 1) < 0:
            raise MemoryError
        for i in range(self.count):
            self.connection[i].stop_ps = INT64_MAX
        return 0

    cdef bint answers(self) noexcept nogil:
        """Whether this end waits for requests."""
        return True

    def results(self):
        """What each instance of this core has measured.

        Returns
        -------
        figures : int64 array, shape (n, 6)
            Instance, transactions, timeouts, sums of the latency in us and of its square, longest in ps.
        histogram : uint32 array, shape (n, 8, 100)
            Transactions by decade and bucket of netperf's histogram.
        """
        figures = np.empty((self.count, 6), dtype=np.int64)
        histogram = np.empty((self.count, HISTOGRAM_DECADES, HISTOGRAM_BUCKETS), dtype=np.uint32)
        cdef int32_t i, b
        cdef int64_t[:, ::1] out = figures
        cdef uint32_t[:, ::1] buckets = histogram.reshape(self.count, HISTOGRAM_DECADES * HISTOGRAM_BUCKETS)
        cdef const connection_t* c
        for i in range(self.count):
            c = &self.connection[i]
            out[i, 0] = i * self.step + self.first
            out[i, 1] = c.transactions
            out[i, 2] = c.timeouts
            out[i, 3] = c.latency_us
            out[i, 4] = c.latency_us_squared
            out[i, 5] = c.longest_ps
            for b in range(HISTOGRAM_DECADES * HISTOGRAM_BUCKETS):
                buckets[i, b] = self.histogram[i * HISTOGRAM_DECADES * HISTOGRAM_BUCKETS + b]
        return figures, histogram

    # processes -------------------------------------------------------------------------------------------------------

    @final
    cdef void wake(self, Host h, int32_t i) noexcept nogil:
        cdef connection_t* c = &self.connection[i]
        if c.queued or self.running == i:
            return
        c.queued = True
        fifo_put(&self.runnable, i)
        h.stats.wakeups += 1
        if not h.process_busy():
            self.process_next(h)

    @final
    cdef void process_next(self, Host h) noexcept nogil:
        if h.queue_run(PROCESS) or self.runnable.count == 0:
            return
        self.running = fifo_take(&self.runnable)
        self.connection[self.running].queued = False
        ledger_charge(&h.ledger, PROCESS, OP_WAKEUP, h.cost.wakeup, 1)
        self.turn_begin(h)

    @final
    cdef void turn_begin(self, Host h) noexcept nogil:
        """Read what is there; with a message complete, or begun, send the next packet."""
        cdef connection_t* c = &self.connection[self.running]
        cdef int64_t packets
        self.turn_bytes = 0
        self.turn_sends = False
        if not c.connected and not self.answers():
            ledger_charge(&h.ledger, PROCESS, OP_SYSCALL, h.cost.syscall, 1)
            self.segment_fill(h, &self.out_process, self.running, SEND_SYN)
            self.turn_sends = True
        else:
            if c.unread_bytes:
                self.turn_bytes = <int32_t>min(c.unread_bytes, <int64_t>h.set.receive_bytes)
                packets = h.consume(PROCESS, self.turn_bytes)
                ledger_charge(&h.ledger, PROCESS, OP_SYSCALL, h.cost.syscall, 1)
                ledger_charge(&h.ledger, PROCESS, OP_COPY, h.copy_out_ps(self.running, self.turn_bytes), 1)
                ledger_charge(&h.ledger, PROCESS, OP_SKB_FREE, packets * h.cost.skb_free, packets)
            if c.got_bytes + self.turn_bytes >= self.in_bytes and h.q.now_ps < c.stop_ps:
                c.to_send_bytes += self.out_bytes
            if c.to_send_bytes:
                self.segment_fill(h, &self.out_process, self.running, SEND_DATA)
                packets = tcp_begun(c.written, c.written + self.out_process.payload_bytes, h.set.fragment_bytes)
                ledger_charge(&h.ledger, PROCESS, OP_SYSCALL, h.cost.syscall, 1)
                ledger_charge(&h.ledger, PROCESS, OP_PAGE, packets * h.cost.page, packets)
                ledger_charge(&h.ledger, PROCESS, OP_COPY, h.copy_in_ps(self.running, self.out_process.payload_bytes), 1)
                ledger_charge(&h.ledger, PROCESS, OP_SKB_ALLOC, h.cost.skb_alloc, 1)
                self.turn_sends = True
        if self.turn_sends:
            self.segment_charge(h, PROCESS, &self.out_process)
        h.submit(PROCESS)

    cdef void process_done(self, Host h) noexcept nogil:
        cdef connection_t* c
        cdef int32_t i = self.running
        if i < 0:                           # a packet of the device queue has left
            self.process_next(h)
            return
        c = &self.connection[i]
        self.running = -1
        c.unread_bytes -= self.turn_bytes
        c.got_bytes += self.turn_bytes
        if self.turn_bytes and c.got_bytes >= self.in_bytes:
            c.got_bytes -= self.in_bytes
            h.stats.messages += 1
            self.transaction_done(h, i)
        if self.turn_sends:
            self.out_process.ack = c.expected
            if self.out_process.kind == TCP_DATA:
                c.written += self.out_process.payload_bytes
                c.to_send_bytes -= self.out_process.payload_bytes
                h.stats.sent_bytes += self.out_process.payload_bytes
            self.segment_sent(h, i)
            h.queue_put(&self.out_process, PROCESS)
        if c.unread_bytes or c.to_send_bytes:    # it goes on without a sleep
            self.running = i
            self.turn_begin(h)
            return
        self.process_next(h)

    cdef void transaction_done(self, Host h, int32_t i) noexcept nogil:
        return

    # segments --------------------------------------------------------------------------------------------------------

    @final
    cdef void segment_fill(self, Host h, packet_t* p, int32_t i, int32_t what) noexcept nogil:
        cdef const connection_t* c = &self.connection[i]
        cdef int64_t under_way = c.written - c.acknowledged
        p.index = i * self.step + self.first
        p.kind = TCP_DATA
        p.segment_bytes = h.set.mss_bytes
        p.length_bytes = h.set.header_bytes
        p.ack = c.expected
        if what == SEND_DATA:
            p.sequence = c.written
            p.payload_bytes = <int32_t>min(c.to_send_bytes, <int64_t>h.set.super_packet_bytes)
        elif what == SEND_AGAIN:
            p.sequence = c.acknowledged
            p.payload_bytes = <int32_t>min(under_way, <int64_t>h.set.super_packet_bytes)
        elif what == SEND_PROBE:
            p.payload_bytes = <int32_t>((under_way - 1) % h.set.mss_bytes + 1)
            p.sequence = c.written - p.payload_bytes
        else:
            p.kind = TCP_SYN if what == SEND_SYN else TCP_ACK
            p.sequence = c.written
            p.payload_bytes = 0
            p.length_bytes = h.set.ack_bytes

    @final
    cdef void segment_charge(self, Host h, int32_t context, const packet_t* p) noexcept nogil:
        ledger_charge(&h.ledger, context, OP_SKB_ALLOC, h.cost.skb_alloc, 1)
        ledger_charge(&h.ledger, context, OP_TCP_OUTPUT, h.cost.tcp_output, 1)
        ledger_charge(&h.ledger, context, OP_IP_OUTPUT, h.cost.ip_output, 1)
        h.queue_claim(context, p)

    @final
    cdef void segment_sent(self, Host h, int32_t i) noexcept nogil:
        """What every packet that leaves does: it acknowledges, and what is under way has its timer."""
        cdef connection_t* c = &self.connection[i]
        cdef int64_t under_way = c.written - c.acknowledged
        c.unacknowledged_bytes = 0
        c.delayed_ack_ps = 0
        if not c.connected and not self.answers():
            self.arm_retransmit(h, i, h.q.now_ps + (self.syn_ps << c.backoff))
        elif under_way:
            if self.probe_ps and not c.probed and under_way > h.set.mss_bytes:
                self.arm_retransmit(h, i, h.q.now_ps + min(self.probe_ps, h.set.rto_ps))
            else:
                self.arm_retransmit(h, i, h.q.now_ps + (h.set.rto_ps << c.backoff))

    @final
    cdef void want(self, Host h, int32_t i, int32_t what) noexcept nogil:
        """Send something from the softirq."""
        if self.connection[i].wants == 0:
            fifo_put(&self.sending, i)
        self.connection[i].wants |= what

    cdef bint output_ready(self, Host h) noexcept nogil:
        return self.sending.count > 0 and self.soft_sender < 0

    cdef void output_begin(self, Host h, int32_t context) noexcept nogil:
        cdef connection_t* c
        cdef int32_t i = fifo_take(&self.sending), what = SEND_SYN
        c = &self.connection[i]
        while not c.wants & what:
            what <<= 1
        c.wants &= ~what
        if c.wants:
            fifo_put(&self.sending, i)
        self.soft_sender = i
        if what != SEND_SYN and what != SEND_ACK and c.written == c.acknowledged:
            what = SEND_ACK                 # acknowledged meanwhile
        self.segment_fill(h, &self.out_soft, i, what)
        self.segment_charge(h, context, &self.out_soft)
        h.submit(context)

    cdef void output_done(self, Host h, int32_t context) noexcept nogil:
        cdef int32_t i = self.soft_sender
        self.soft_sender = -1
        self.soft_put(h, i)

    @final
    cdef void soft_put(self, Host h, int32_t i) noexcept nogil:
        if self.out_soft.kind == TCP_ACK:
            h.stats.acks_sent += 1
        self.out_soft.ack = self.connection[i].expected
        self.segment_sent(h, i)
        h.queue_put(&self.out_soft, SOFT_IRQ)
        if h.qdisc_count:
            h.tx_scheduled = True

    # input -----------------------------------------------------------------------------------------------------------

    cdef void input_begin(self, Host h, const frame_t* f) noexcept nogil:
        cdef int32_t i = f.index // self.step
        cdef connection_t* c = &self.connection[i]
        cdef int64_t freed_bytes = f.ack - c.acknowledged, n
        ledger_charge(&h.ledger, SOFT_IRQ, OP_IP_INPUT, h.cost.ip_input, 1)
        ledger_charge(&h.ledger, SOFT_IRQ, OP_TCP_INPUT, h.cost.tcp_input, 1)
        self.input_ack = -1
        if f.payload_bytes == 0:
            ledger_charge(&h.ledger, SOFT_IRQ, OP_SKB_FREE, h.cost.skb_free, 1)
        elif f.sequence != c.expected or c.unacknowledged_bytes + f.payload_bytes > h.set.mss_bytes:
            self.input_ack = i
            self.segment_fill(h, &self.out_soft, i, SEND_ACK)
            self.segment_charge(h, SOFT_IRQ, &self.out_soft)
        if freed_bytes > 0:
            ledger_charge(&h.ledger, SOFT_IRQ, OP_SKB_FREE, h.cost.skb_free, 1)
            n = tcp_begun(c.acknowledged, f.ack, h.set.fragment_bytes)
            ledger_charge(&h.ledger, SOFT_IRQ, OP_PAGE, n * h.cost.page, n)

    cdef void input_done(self, Host h, const frame_t* f) noexcept nogil:
        cdef int32_t i = f.index // self.step
        cdef connection_t* c = &self.connection[i]
        cdef int64_t fresh_bytes
        if f.kind == TCP_SYN:
            self.input_syn(h, i)
            return
        if f.kind == TCP_ACK:
            h.stats.acks_received += 1
        self.input_acknowledgement(h, i, f)
        if f.payload_bytes:
            fresh_bytes = f.sequence + f.payload_bytes - c.expected
            if f.sequence <= c.expected and fresh_bytes > 0:
                c.expected += fresh_bytes
                c.unread_bytes += fresh_bytes
                c.unacknowledged_bytes += fresh_bytes
                h.stats.received_bytes += fresh_bytes
                self.wake(h, i)
            else:
                h.stats.socket_drops += 1
        if self.input_ack >= 0:
            self.input_ack = -1
            self.soft_put(h, i)
        elif c.unacknowledged_bytes:
            self.arm_delayed_ack(h, i)

    @final
    cdef void input_syn(self, Host h, int32_t i) noexcept nogil:
        cdef connection_t* c = &self.connection[i]
        if self.answers():
            c.connected = True
            self.want(h, i, SEND_SYN)
        elif not c.connected:
            c.connected = True
            c.retransmit_ps = 0
            c.backoff = 0
            c.to_send_bytes = self.out_bytes
            self.wake(h, i)

    @final
    cdef void input_acknowledgement(self, Host h, int32_t i, const frame_t* f) noexcept nogil:
        cdef connection_t* c = &self.connection[i]
        if f.ack > c.acknowledged:
            h.acknowledged(i, f.ack - c.acknowledged)
            c.acknowledged = f.ack
            c.backoff = 0
            c.probed = c.recovering = False
            c.retransmit_ps = 0
            if c.written > c.acknowledged:
                self.arm_retransmit(h, i, h.q.now_ps + h.set.rto_ps)
        elif f.kind == TCP_ACK and c.written > c.acknowledged and not c.recovering:
            c.recovering = True
            h.stats.retransmits += 1
            self.want(h, i, SEND_AGAIN)

    # timers ----------------------------------------------------------------------------------------------------------

    @final
    cdef void timers_set(self, Host h) noexcept nogil:
        if self.timers.count:
            queue_set(h.q, h.base + EVENT_RTO, timers_next_ps(&self.timers))

    @final
    cdef void timers_add(self, Host h, int64_t at_ps, int32_t i, int32_t kind) noexcept nogil:
        if self.timers.count == self.timers.room:
            h.frames.exhausted = True       # the run ends with an error
            return
        timers_put(&self.timers, at_ps, i, kind)
        self.timers_set(h)

    @final
    cdef void arm_retransmit(self, Host h, int32_t i, int64_t at_ps) noexcept nogil:
        """As the kernel's mod_timer, which nearly always moves a timer away: an entry that comes too early is put off then."""
        cdef connection_t* c = &self.connection[i]
        c.retransmit_ps = at_ps
        if c.retransmit_entry_ps == 0 or c.retransmit_entry_ps > at_ps:
            c.retransmit_entry_ps = at_ps
            self.timers_add(h, at_ps, i, TIMER_RETRANSMIT)

    @final
    cdef void arm_delayed_ack(self, Host h, int32_t i) noexcept nogil:
        cdef connection_t* c = &self.connection[i]
        if c.delayed_ack_ps:
            return
        c.delayed_ack_ps = h.q.now_ps + h.set.delayed_ack_ps
        if c.delayed_ack_entry_ps == 0:
            c.delayed_ack_entry_ps = c.delayed_ack_ps
            self.timers_add(h, c.delayed_ack_ps, i, TIMER_DELAYED_ACK)

    cdef void timer(self, Host h, int32_t event) noexcept nogil:
        cdef deadline_t d
        while self.timers.count and timers_next_ps(&self.timers) <= h.q.now_ps:
            d = timers_take(&self.timers)
            if d.kind == TIMER_START:
                self.connection[d.owner].begun_ps = h.q.now_ps
                self.connection[d.owner].stop_ps = h.q.now_ps + self.window_ps
                self.wake(h, d.owner)
            elif d.kind == TIMER_DELAYED_ACK:
                self.delayed_ack(h, d.owner)
            elif d.at_ps == self.connection[d.owner].retransmit_entry_ps:
                self.retransmit(h, d.owner)
        self.timers_set(h)

    @final
    cdef void delayed_ack(self, Host h, int32_t i) noexcept nogil:
        cdef connection_t* c = &self.connection[i]
        c.delayed_ack_entry_ps = 0
        if c.delayed_ack_ps > h.q.now_ps:
            c.delayed_ack_entry_ps = c.delayed_ack_ps
            self.timers_add(h, c.delayed_ack_ps, i, TIMER_DELAYED_ACK)
        elif c.delayed_ack_ps:
            c.delayed_ack_ps = 0
            self.want(h, i, SEND_ACK)

    @final
    cdef void retransmit(self, Host h, int32_t i) noexcept nogil:
        cdef connection_t* c = &self.connection[i]
        cdef int64_t at_ps = c.retransmit_ps
        c.retransmit_entry_ps = 0
        if at_ps == 0:
            return
        if at_ps > h.q.now_ps:
            self.arm_retransmit(h, i, at_ps)
            return
        c.retransmit_ps = 0
        h.stats.retransmits += 1
        if not c.connected and not self.answers():
            c.backoff = min(c.backoff + 1, LARGEST_BACKOFF)
            self.want(h, i, SEND_SYN)
        elif self.probe_ps and not c.probed and c.written - c.acknowledged > h.set.mss_bytes:
            c.probed = True
            self.want(h, i, SEND_PROBE)
        else:
            c.timeouts += 1
            c.backoff = min(c.backoff + 1, LARGEST_BACKOFF)
            self.want(h, i, SEND_AGAIN)


cdef class ExchangeClient(ExchangeSocket):
    """The netperf processes of one core: they connect, ask, and measure."""

    cdef bint answers(self) noexcept nogil:
        return False

    cdef void start(self, Host h) noexcept nogil:
        cdef int32_t i
        for i in range(self.count):
            timers_put(&self.timers, self.skew_ps * (i * self.step + self.first) // self.instances, i, TIMER_START)
        self.timers_set(h)

    cdef void transaction_done(self, Host h, int32_t i) noexcept nogil:
        cdef connection_t* c = &self.connection[i]
        cdef int64_t took_ps = h.q.now_ps - c.begun_ps, us = took_ps // US
        cdef int32_t decade = 0
        c.begun_ps = h.q.now_ps
        if h.q.now_ps >= c.stop_ps:
            return
        c.transactions += 1
        c.latency_us += us
        c.latency_us_squared += us * us
        c.longest_ps = max(c.longest_ps, took_ps)
        while us >= HISTOGRAM_BUCKETS and decade < HISTOGRAM_DECADES - 1:
            us //= 10
            decade += 1
        self.histogram[(i * HISTOGRAM_DECADES + decade) * HISTOGRAM_BUCKETS + min(us, <int64_t>HISTOGRAM_BUCKETS - 1)] += 1
