"""An iperf2 client on the TCP of Linux 6.0. The rules follow net/ipv4/tcp.c and tcp_output.c; each names its function.

1. A write costs a system call and copies into the last sk_buff of the write queue, as long as that has not been sent and is
   shorter than the size goal: whole segments, at most `super_packet_bytes` and half of the peer's window. Each further sk_buff
   and page fragment is charged when it begins. Before a new sk_buff, and only then, the process waits if the send buffer is
   full; it wakes once a third of it is free (tcp_sendmsg_locked, tcp_xmit_size_goal, sk_stream_write_space).
2. The end of a write pushes, also a full sk_buff, unless autocorking holds an sk_buff below the goal back: while earlier data
   is unacknowledged and more than this sk_buff is still below TCP (tcp_push, tcp_should_autocork). An ACK pushes too, and so does
   a completion if autocorking or the small queue has held something back (tcp_tsq_write).
3. A push sends sk_buffs one after the other as far as the window reaches, cut to whole segments and a last piece of any size
   (tcp_write_xmit, tcp_mss_split_point).
   a. Nagle's rule in Minshall's form: a piece shorter than a segment waits while another such piece is unacknowledged
      (tcp_nagle_check), unless `nodelay`.
   b. A packet that the window would cut waits for more, unless a third of the window is open (tcp_tso_should_defer).
   c. Nothing leaves while more than `tsq_bytes`, and more than two of these packets, are below TCP (tcp_small_queue_check).
4. A loss is noticed as in `_tcp.pyx`. The first segment goes out again, alone; once it is acknowledged, all that follows.
5. With everything acknowledged and a shut window, the retransmission timer sends a probe without data (tcp_send_probe0).

Not modelled: the congestion window and slow start, pacing, and with them the sizing of packets by rate (at the rate of a gigabit
a packet of 1 ms is larger than the largest), SACK, the memory of sk_buffs in the send buffer
(it counts payload), zero-copy, the socket lock and its backlog, the time limit of step 3b, what the client's reports cost.
"""
from cython cimport final
from libc.stdint cimport int32_t, int64_t
from nicperf.engine._ledger cimport (
    OP_COPY, OP_IP_INPUT, OP_IP_OUTPUT, OP_PAGE, OP_SKB_ALLOC, OP_SKB_FREE, OP_SYSCALL, OP_TCP_INPUT, OP_TCP_OUTPUT, PROCESS,
    SOFT_IRQ, ledger_charge,
)
from nicperf.engine._queue cimport queue_set
from nicperf.parts._frames cimport TCP_DATA, frame_t
from nicperf.stack._host cimport EVENT_RTO, Host
from nicperf.stack._tcp cimport TcpSender, tcp_begun


cdef class IperfSender(TcpSender):

    cdef int configure(self, Host h, object spec) except -1:
        sockets = spec.socket
        self.nodelay = sockets.nodelay
        self.autocorking = sockets.autocorking
        self.overhead_bytes = sockets.tx_overhead_bytes
        self.tsq_bytes = sockets.tsq_bytes
        return 0

    cdef void start(self, Host h) noexcept nogil:
        cdef int64_t mss = h.set.mss_bytes
        self.output_owner = -1
        self.window_bytes = self.window_edge = h.peer.set.receive_buffer_bytes
        self.goal_bytes = <int32_t>max(min(<int64_t>h.set.super_packet_bytes, self.window_bytes // 2) // mss * mss, mss)
        self.process_next(h)

    # process ---------------------------------------------------------------------------------------------------------

    cdef void process_next(self, Host h) noexcept nogil:
        if self.looked < self.written:
            self.look(h)
        if h.queue_run(PROCESS):
            return
        if self.output_ready(h):
            self.output_begin(h, PROCESS)
            return
        if self.blocked:
            return
        if (self.written == self.tail_start or self.written - self.tail_start >= self.goal_bytes) \
                and self.written - self.acknowledged >= h.set.send_buffer_bytes:
            self.blocked = self.pushed = True
            if self.output_ready(h):
                self.output_begin(h, PROCESS)
            return
        self.append_begin(h)

    @final
    cdef void look(self, Host h) noexcept nogil:
        """A copy has ended: push, hold back, or let the sk_buff grow."""
        cdef int64_t tail_bytes = self.written - self.tail_start
        self.looked = self.written
        if tail_bytes >= self.goal_bytes:
            self.pushed = True
        elif self.left_bytes == 0 and tail_bytes:
            if self.autocorking and self.next_sequence > self.acknowledged \
                    and self.below_bytes > self.overhead_bytes + tail_bytes:
                self.throttled = True
            else:
                self.pushed = True

    @final
    cdef void append_begin(self, Host h) noexcept nogil:
        """Copy to the end of the write or of the sk_buff."""
        cdef int64_t tail_bytes = self.written - self.tail_start
        cdef int32_t n
        if self.left_bytes == 0:
            self.left_bytes = h.set.message_bytes
            ledger_charge(&h.ledger, PROCESS, OP_SYSCALL, h.cost.syscall, 1)
        if tail_bytes == 0 or tail_bytes >= self.goal_bytes:
            self.tail_start = self.written
            tail_bytes = 0
            ledger_charge(&h.ledger, PROCESS, OP_SKB_ALLOC, h.cost.skb_alloc, 1)
        self.chunk_bytes = <int32_t>min(<int64_t>self.left_bytes, self.goal_bytes - tail_bytes)
        n = tcp_begun(self.written, self.written + self.chunk_bytes, h.set.fragment_bytes)
        ledger_charge(&h.ledger, PROCESS, OP_PAGE, n * h.cost.page, n)
        ledger_charge(&h.ledger, PROCESS, OP_COPY, h.copy_in_ps(0, self.chunk_bytes), 1)
        h.submit(PROCESS)

    # output ----------------------------------------------------------------------------------------------------------

    cdef int64_t output_bytes(self, Host h) noexcept nogil:
        """Payload of the next packet, 0 if none may leave now."""
        cdef int64_t mss = h.set.mss_bytes
        cdef int64_t size = self.written - self.next_sequence       # of the first sk_buff not sent
        cdef int64_t room = self.window_edge - self.next_sequence
        cdef int64_t flight = self.next_sequence - self.acknowledged, piece
        cdef bint last = self.next_sequence >= self.tail_start
        cdef bint nagle = not self.nodelay and self.acknowledged < self.small_end <= self.next_sequence
        if not last:
            size = (self.tail_start - self.next_sequence - 1) % self.goal_bytes + 1
        if self.recovering:
            return 0 if flight else min(size, mss)
        if size <= 0 or room < min(size, mss):
            return 0
        if size < mss:
            if nagle and last:
                return 0
        elif size > mss:
            if flight and room < self.goal_bytes and (last or room < size) and 3 * room < self.window_bytes:
                return 0
            size = min(size, room)
            piece = size % mss
            if nagle and size > mss:
                size -= piece
        if self.tsq_bytes and flight and self.below_bytes > max(self.tsq_bytes, 2 * (size + self.overhead_bytes)):
            self.throttled = True
            return 0
        return size

    cdef bint output_ready(self, Host h) noexcept nogil:
        """A push goes on until something stops it."""
        if self.output_owner >= 0:
            return False
        self.pushed = self.pushed and self.output_bytes(h) > 0
        return self.pushed or self.probe

    cdef void output_begin(self, Host h, int32_t context) noexcept nogil:
        if self.pushed:
            TcpSender.output_begin(self, h, context)
            self.out.truesize_bytes = self.out.payload_bytes + self.overhead_bytes
            return
        self.output_owner = context
        self.out.kind = TCP_DATA
        self.out.sequence = self.acknowledged - 1       # has been received: asks for an ACK, and is not charged to the socket
        self.out.payload_bytes = self.out.segment_bytes = self.out.truesize_bytes = 0
        self.out.length_bytes = h.set.header_bytes
        ledger_charge(&h.ledger, context, OP_SKB_ALLOC, h.cost.skb_alloc, 1)
        ledger_charge(&h.ledger, context, OP_TCP_OUTPUT, h.cost.tcp_output, 1)
        ledger_charge(&h.ledger, context, OP_IP_OUTPUT, h.cost.ip_output, 1)
        h.queue_claim(context, &self.out)
        h.submit(context)

    cdef void output_done(self, Host h, int32_t context) noexcept nogil:
        cdef int64_t end = self.out.sequence + self.out.payload_bytes, drops = h.stats.qdisc_drops
        cdef int32_t truesize_bytes = self.out.truesize_bytes
        if self.out.payload_bytes == 0:
            self.probe = False
        elif self.next_sequence == self.out.sequence:
            self.tail_start = max(self.tail_start, end)
            self.packets += 1
            if self.out.payload_bytes % h.set.mss_bytes:
                self.small_end = end
        self.below_bytes += truesize_bytes
        TcpSender.output_done(self, h, context)
        if h.stats.qdisc_drops > drops:
            self.below_bytes -= truesize_bytes

    cdef void sent(self, Host h, int32_t truesize_bytes) noexcept nogil:
        self.below_bytes -= truesize_bytes
        if self.throttled:
            self.throttled = False
            self.pushed = True

    # ACKs ------------------------------------------------------------------------------------------------------------

    @final
    cdef int64_t freed_packets(self, int64_t freed_bytes) noexcept nogil:
        """How many of the packets under way an ACK of so many bytes frees, if these are of one size."""
        cdef int64_t flight = self.next_sequence - self.acknowledged
        return self.packets if freed_bytes >= flight else self.packets * freed_bytes // flight

    cdef void input_begin(self, Host h, const frame_t* f) noexcept nogil:
        cdef int64_t freed_bytes = f.ack - self.acknowledged, n
        ledger_charge(&h.ledger, SOFT_IRQ, OP_IP_INPUT, h.cost.ip_input, 1)
        ledger_charge(&h.ledger, SOFT_IRQ, OP_TCP_INPUT, h.cost.tcp_input, 1)
        ledger_charge(&h.ledger, SOFT_IRQ, OP_SKB_FREE, h.cost.skb_free, 1)
        if freed_bytes > 0:
            n = self.freed_packets(freed_bytes)
            ledger_charge(&h.ledger, SOFT_IRQ, OP_SKB_FREE, n * h.cost.skb_free, n)
            n = tcp_begun(self.acknowledged, f.ack, h.set.fragment_bytes)
            ledger_charge(&h.ledger, SOFT_IRQ, OP_PAGE, n * h.cost.page, n)

    cdef void input_done(self, Host h, const frame_t* f) noexcept nogil:
        cdef int64_t before = self.next_sequence
        if f.ack > self.acknowledged:
            self.packets -= self.freed_packets(f.ack - self.acknowledged)
            h.acknowledged(0, f.ack - self.acknowledged)
            self.recovering = False
        TcpSender.input_done(self, h, f)
        if self.next_sequence < before:
            self.go_back()
        self.tail_start = max(self.tail_start, self.next_sequence)
        self.pushed = True

    @final
    cdef void go_back(self) noexcept nogil:
        self.packets = 0
        self.recovering = True

    cdef void timer(self, Host h, int32_t event) noexcept nogil:
        cdef int64_t before = self.next_sequence
        TcpSender.timer(self, h, event)
        if event != EVENT_RTO:
            return
        self.pushed = True
        if self.next_sequence < before:
            self.go_back()
        elif self.next_sequence == self.acknowledged and self.written > self.next_sequence:
            self.probe = self.output_bytes(h) == 0
            queue_set(h.q, h.base + EVENT_RTO, h.q.now_ps + h.set.rto_ps)
