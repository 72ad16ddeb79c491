"""TCP between two hosts that neither lose nor reorder unless a buffer overflows.

Sender: the process copies messages into the socket and blocks when the send buffer is full (woken at two thirds). Full
segments leave while the peer's window has room, from the process or from the softirq that handled an ACK. With GSO, segments
leave as super-packets: at the end of a message, when one is full, or once a third of the window is open.
Receiver: more than one full segment is acknowledged at once, less after the delayed-ACK time. The process reads what is
there. A read that re-opens a window that had shrunk to less than half sends an update. One that empties the queue acknowledges
a segment that was not full (tcp_cleanup_rbuf): the sender may wait for that by Nagle's rule.

Loss is repaired by going back to the first unacknowledged byte after three duplicate ACKs or the retransmission timeout.

Not modelled: slow start and congestion window (the measurement starts after a warm-up and nothing is lost on the way),
buffer tuning, SACK, prequeue, the socket lock (one output at a time stands for it), PSH and urgent data.
"""
from cython cimport final
from libc.stdint cimport int32_t, int64_t
from nicperf.engine._ledger cimport (
    OP_COPY, OP_IP_INPUT, OP_IP_OUTPUT, OP_PAGE, OP_SENDPAGE, OP_SKB_ALLOC, OP_SKB_FREE, OP_SYSCALL, OP_TCP_INPUT,
    OP_TCP_OUTPUT, OP_WAKEUP, PROCESS, SOFT_IRQ, ledger_charge,
)
from nicperf.engine._queue cimport queue_pending, queue_set
from nicperf.parts._frames cimport TCP_ACK, TCP_DATA, frame_t
from nicperf.stack._host cimport EVENT_DELAYED_ACK, EVENT_RTO, Host, Socket

cdef enum:
    DUPLICATES_BEFORE_RETRANSMIT = 3
    TRAIN_SEGMENTS = 2                  # leave in one job: what an ACK of two segments lets go without a break


cdef class TcpSender(Socket):

    cdef void start(self, Host h) noexcept nogil:
        self.output_owner = -1
        self.window_edge = h.set.receive_buffer_bytes
        self.process_next(h)

    # process ---------------------------------------------------------------------------------------------------------

    cdef void process_next(self, Host h) noexcept nogil:
        """Send what may be sent, else write on, else wait for space."""
        if h.queue_run(PROCESS):
            return
        if self.output_ready(h):
            self.output_begin(h, PROCESS)
            return
        if self.blocked:
            return
        if self.buffer_room(h) < h.set.mss_bytes:
            self.blocked = True
            if self.output_ready(h):        # a partly written message may leave now
                self.output_begin(h, PROCESS)
            return
        self.write_begin(h)

    @final
    cdef int64_t buffer_room(self, Host h) noexcept nogil:
        return h.set.send_buffer_bytes - (self.written - self.acknowledged)

    @final
    cdef void write_begin(self, Host h) noexcept nogil:
        """Copy up to the end of the segment (or page); to the end of the message while the window is shut anyway."""
        cdef int32_t unit = h.set.fragment_bytes if h.set.gso else h.set.mss_bytes, n
        cdef int64_t end
        if self.left_bytes == 0:
            self.left_bytes = h.set.message_bytes
            ledger_charge(&h.ledger, PROCESS, OP_SYSCALL, h.cost.syscall, 1)
        self.chunk_bytes = <int32_t>min(<int64_t>self.left_bytes, self.buffer_room(h))
        if self.window_edge - self.next_sequence >= h.set.mss_bytes:
            self.chunk_bytes = min(self.chunk_bytes, unit - <int32_t>(self.written % unit))
        end = self.written + self.chunk_bytes
        if h.set.sendfile:
            n = tcp_begun(self.written, end, h.set.fragment_bytes)
            ledger_charge(&h.ledger, PROCESS, OP_SENDPAGE, n * h.cost.sendpage, n)
        if h.set.gso:
            n = tcp_begun(self.written, end, h.set.fragment_bytes)
            ledger_charge(&h.ledger, PROCESS, OP_PAGE, n * h.cost.page, n)
        n = tcp_begun(self.written, end, h.set.super_packet_bytes if h.set.gso else h.set.mss_bytes)
        ledger_charge(&h.ledger, PROCESS, OP_SKB_ALLOC, n * h.cost.skb_alloc, n)
        if not (h.set.sendfile and h.set.gso):  # without scatter-gather sendfile maps each page and copies it
            ledger_charge(&h.ledger, PROCESS, OP_COPY, h.copy_in_ps(0, self.chunk_bytes), 1)
        h.submit(PROCESS)

    cdef void process_done(self, Host h) noexcept nogil:
        if self.waking:
            self.waking = False
        elif self.output_owner == PROCESS:
            self.output_done(h, PROCESS)
        elif self.chunk_bytes:
            self.written += self.chunk_bytes
            self.left_bytes -= self.chunk_bytes
            self.chunk_bytes = 0
            if self.left_bytes == 0:
                h.stats.messages += 1
                h.stats.sent_bytes += h.set.message_bytes
        self.process_next(h)

    # output ----------------------------------------------------------------------------------------------------------

    cdef int64_t output_bytes(self, Host h) noexcept nogil:
        """Payload of the next packet or train of segments, 0 if none may leave now."""
        cdef int64_t mss = h.set.mss_bytes
        cdef int64_t queued = self.written - self.next_sequence
        cdef int64_t room = self.window_edge - self.next_sequence
        cdef int64_t size = min(queued, room)
        if size < mss:
            return 0
        if not h.set.gso:
            return min(size // mss, <int64_t>TRAIN_SEGMENTS) * mss
        size = min(size, h.set.super_packet_bytes)
        if queued < h.set.super_packet_bytes and self.left_bytes > 0 and not self.blocked:
            return 0                        # the message goes on: the packet may still grow
        if size < min(queued, <int64_t>h.set.super_packet_bytes) and 3 * room < h.set.receive_buffer_bytes \
                and self.next_sequence > self.acknowledged:
            return 0                        # the window may open further
        return size // mss * mss

    cdef bint output_ready(self, Host h) noexcept nogil:
        return self.output_owner < 0 and self.output_bytes(h) > 0

    cdef void output_begin(self, Host h, int32_t context) noexcept nogil:
        cdef int32_t n
        self.output_owner = context
        self.out.kind = TCP_DATA
        self.out.sequence = self.next_sequence
        self.out.payload_bytes = <int32_t>self.output_bytes(h)
        self.out.segment_bytes = h.set.mss_bytes
        self.out.length_bytes = h.set.header_bytes
        n = 1 if h.set.gso else self.out.payload_bytes // h.set.mss_bytes
        # Clones go down, the originals wait for their ACK.
        ledger_charge(&h.ledger, context, OP_SKB_ALLOC, n * h.cost.skb_alloc, n)
        ledger_charge(&h.ledger, context, OP_TCP_OUTPUT, n * h.cost.tcp_output, n)
        ledger_charge(&h.ledger, context, OP_IP_OUTPUT, n * h.cost.ip_output, n)
        h.queue_claim(context, &self.out)
        h.submit(context)

    cdef void output_done(self, Host h, int32_t context) noexcept nogil:
        cdef int32_t payload_bytes = self.out.payload_bytes
        self.output_owner = -1
        if self.next_sequence == self.out.sequence:     # unless a retransmission has moved it meanwhile
            self.next_sequence += payload_bytes
        h.queue_put(&self.out, context)
        if not queue_pending(h.q, h.base + EVENT_RTO):
            self.progress_ps = h.q.now_ps
            queue_set(h.q, h.base + EVENT_RTO, h.q.now_ps + h.set.rto_ps)

    # ACKs ------------------------------------------------------------------------------------------------------------

    cdef void input_begin(self, Host h, const frame_t* f) noexcept nogil:
        cdef int64_t freed = f.ack - self.acknowledged
        ledger_charge(&h.ledger, SOFT_IRQ, OP_IP_INPUT, h.cost.ip_input, 1)
        ledger_charge(&h.ledger, SOFT_IRQ, OP_TCP_INPUT, h.cost.tcp_input, 1)
        ledger_charge(&h.ledger, SOFT_IRQ, OP_SKB_FREE, h.cost.skb_free, 1)
        if freed <= 0:
            return
        if h.set.gso:
            ledger_charge(&h.ledger, SOFT_IRQ, OP_PAGE, h.cost.page * freed // h.set.fragment_bytes, 1)
            ledger_charge(&h.ledger, SOFT_IRQ, OP_SKB_FREE, h.cost.skb_free * freed // h.set.super_packet_bytes, 1)
        else:
            ledger_charge(&h.ledger, SOFT_IRQ, OP_SKB_FREE, h.cost.skb_free * freed // h.set.mss_bytes, 1)

    cdef void input_done(self, Host h, const frame_t* f) noexcept nogil:
        h.stats.acks_received += 1
        if f.ack > self.acknowledged:
            self.acknowledged = f.ack
            self.next_sequence = max(self.next_sequence, f.ack)
            self.progress_ps = h.q.now_ps
            self.duplicates = 0
        elif f.window_edge == self.window_edge and self.next_sequence > self.acknowledged:
            self.duplicates += 1
            if self.duplicates == DUPLICATES_BEFORE_RETRANSMIT:
                h.stats.retransmits += 1
                self.next_sequence = self.acknowledged
        self.window_edge = max(self.window_edge, f.window_edge)
        if self.blocked and 3 * (self.written - self.acknowledged) <= 2 * h.set.send_buffer_bytes:
            self.blocked = False
            if h.process_busy():     # it still sends: no need to wake it
                return
            self.waking = True
            h.stats.wakeups += 1
            ledger_charge(&h.ledger, PROCESS, OP_WAKEUP, h.cost.wakeup, 1)
            h.submit(PROCESS)

    cdef void timer(self, Host h, int32_t event) noexcept nogil:
        if event != EVENT_RTO or self.next_sequence == self.acknowledged:
            return
        if h.q.now_ps - self.progress_ps >= h.set.rto_ps:
            h.stats.retransmits += 1
            self.next_sequence = self.acknowledged
            self.duplicates = 0
            self.progress_ps = h.q.now_ps
        queue_set(h.q, h.base + EVENT_RTO, self.progress_ps + h.set.rto_ps)


cdef class TcpReceiver(Socket):

    cdef void start(self, Host h) noexcept nogil:
        self.blocked = True
        self.ack_owner = -1
        self.advertised_edge = h.set.receive_buffer_bytes

    cdef void input_begin(self, Host h, const frame_t* f) noexcept nogil:
        ledger_charge(&h.ledger, SOFT_IRQ, OP_IP_INPUT, h.cost.ip_input, 1)
        ledger_charge(&h.ledger, SOFT_IRQ, OP_TCP_INPUT, h.cost.tcp_input, 1)
        self.ack_now = f.sequence != self.expected or self.unacknowledged + f.payload_bytes > h.set.mss_bytes
        if self.ack_now:
            self.ack_charge(h, SOFT_IRQ)

    cdef void input_done(self, Host h, const frame_t* f) noexcept nogil:
        cdef int64_t fresh = f.sequence + f.payload_bytes - self.expected
        if f.sequence <= self.expected and fresh > 0:   # a retransmission may be cut differently: its beginning is known
            self.expected += fresh
            self.unread_bytes += fresh
            h.stats.received_bytes += fresh
            self.unacknowledged += fresh
            self.arrived_ps = h.q.now_ps
            self.short_segment |= f.payload_bytes < h.set.mss_bytes
        else:
            h.stats.socket_drops += 1
        if self.ack_now:
            self.ack_put(h, SOFT_IRQ)
        elif self.unacknowledged and not queue_pending(h.q, h.base + EVENT_DELAYED_ACK):
            queue_set(h.q, h.base + EVENT_DELAYED_ACK, h.q.now_ps + h.set.delayed_ack_ps)
        if self.blocked and self.unread_bytes:
            self.blocked = False
            self.waking = True
            h.stats.wakeups += 1
            ledger_charge(&h.ledger, PROCESS, OP_WAKEUP, h.cost.wakeup, 1)
            h.submit(PROCESS)

    # ACKs ------------------------------------------------------------------------------------------------------------

    @final
    cdef void ack_charge(self, Host h, int32_t context) noexcept nogil:
        self.out.kind = TCP_ACK
        self.out.payload_bytes = 0
        self.out.segment_bytes = 0
        self.out.length_bytes = h.set.ack_bytes
        ledger_charge(&h.ledger, context, OP_SKB_ALLOC, h.cost.skb_alloc, 1)
        ledger_charge(&h.ledger, context, OP_TCP_OUTPUT, h.cost.tcp_output, 1)
        ledger_charge(&h.ledger, context, OP_IP_OUTPUT, h.cost.ip_output, 1)
        h.queue_claim(context, &self.out)

    @final
    cdef void ack_put(self, Host h, int32_t context) noexcept nogil:
        self.advertised_edge = max(self.advertised_edge, self.expected + h.set.receive_buffer_bytes - self.unread_bytes)
        self.out.ack = self.expected
        self.out.window_edge = self.advertised_edge
        self.unacknowledged = 0
        self.short_segment = False
        h.stats.acks_sent += 1
        h.queue_put(&self.out, context)
        if context == SOFT_IRQ and h.qdisc_count:
            h.tx_scheduled = True

    cdef bint output_ready(self, Host h) noexcept nogil:
        return self.ack_wanted and self.ack_owner < 0

    cdef void output_begin(self, Host h, int32_t context) noexcept nogil:
        self.ack_wanted = False
        self.ack_owner = context
        self.ack_charge(h, context)
        h.submit(context)

    cdef void output_done(self, Host h, int32_t context) noexcept nogil:
        self.ack_owner = -1
        self.ack_put(h, context)

    cdef void timer(self, Host h, int32_t event) noexcept nogil:
        if event != EVENT_DELAYED_ACK or self.unacknowledged == 0:
            return
        if h.q.now_ps - self.arrived_ps >= h.set.delayed_ack_ps:
            self.ack_wanted = True
        else:
            queue_set(h.q, h.base + EVENT_DELAYED_ACK, self.arrived_ps + h.set.delayed_ack_ps)

    # process ---------------------------------------------------------------------------------------------------------

    @final
    cdef void read_begin(self, Host h) noexcept nogil:
        cdef int64_t segments
        self.reading_bytes = <int32_t>min(self.unread_bytes, <int64_t>h.set.receive_bytes)
        if self.reading_bytes == 0:
            self.blocked = True
            return
        segments = h.consume(PROCESS, self.reading_bytes)
        ledger_charge(&h.ledger, PROCESS, OP_SYSCALL, h.cost.syscall, 1)
        ledger_charge(&h.ledger, PROCESS, OP_COPY, h.copy_out_ps(0, self.reading_bytes), 1)
        ledger_charge(&h.ledger, PROCESS, OP_SKB_FREE, segments * h.cost.skb_free, segments)
        h.submit(PROCESS)

    cdef void process_done(self, Host h) noexcept nogil:
        cdef int64_t left, fresh
        if self.waking:
            self.waking = False
        elif self.ack_owner == PROCESS:
            self.output_done(h, PROCESS)
        elif self.reading_bytes:
            self.unread_bytes -= self.reading_bytes
            self.reading_bytes = 0
            h.stats.messages += 1
            left = self.advertised_edge - self.expected
            fresh = h.set.receive_buffer_bytes - self.unread_bytes
            if 2 * left <= h.set.receive_buffer_bytes and fresh >= 2 * left:
                h.stats.window_updates += 1
                self.ack_wanted = True
            self.ack_wanted |= self.short_segment and self.unread_bytes == 0
        if h.queue_run(PROCESS):
            return
        if self.output_ready(h):
            self.output_begin(h, PROCESS)
            return
        self.read_begin(h)
