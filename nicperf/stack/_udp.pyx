"""UDP between two hosts.

Sender: the process builds every fragment of a datagram (copy, and checksum in software when there is more than one), then
sends them one by one. It blocks before a datagram while the send buffer is full, and is woken when half is free; fragments
are charged with truesize until the driver frees them. A datagram that would exceed twice the buffer is given up.
Receiver: the last fragment delivers the datagram, if the receive buffer has room for it; the process copies it, and sums
it while copying unless the driver has marked the fragments as verified.

Not modelled: reassembly timers and memory limits (an incomplete datagram is given up when the next one begins), several senders.
"""
from cython cimport final
from libc.stdint cimport int32_t, int64_t
from nicperf.engine._ledger cimport (
    OP_CHECKSUM, OP_COPY, OP_FRAGMENT, OP_IP_INPUT, OP_IP_OUTPUT, OP_REASSEMBLE, OP_SKB_ALLOC, OP_SKB_FREE, OP_SYSCALL, OP_UDP,
    OP_WAKEUP, PROCESS, SOFT_IRQ, ledger_charge,
)
from nicperf.parts._frames cimport UDP_FRAGMENT, frame_t
from nicperf.stack._host cimport Host, Socket

cdef enum:
    ETHERNET_HEADER_BYTES = 14
    IP_HEADER_BYTES = 20
    UDP_HEADER_BYTES = 8


cdef inline int32_t fragment_room(Host h) noexcept nogil:
    """IP payload of a full fragment: a multiple of eight."""
    return (h.set.mtu_bytes - IP_HEADER_BYTES) & ~7


cdef inline int32_t fragment_count(Host h) noexcept nogil:
    cdef int32_t size = h.set.message_bytes + UDP_HEADER_BYTES
    if size <= h.set.mtu_bytes - IP_HEADER_BYTES:
        return 1
    return (size + fragment_room(h) - 1) // fragment_room(h)


cdef inline int32_t application_bytes(int32_t ip_payload_bytes, int32_t index) noexcept nogil:
    """Bytes of the message in a fragment: the first one also carries the UDP header."""
    return ip_payload_bytes - (UDP_HEADER_BYTES if index == 0 else 0)


cdef class UdpSender(Socket):

    cdef void start(self, Host h) noexcept nogil:
        self.output_owner = -1
        self.fragments = fragment_count(h)
        self.process_next(h)

    @final
    cdef int32_t fragment_payload(self, Host h, int32_t i) noexcept nogil:
        """IP payload of fragment `i`, the UDP header of the first included."""
        if i < self.fragments - 1:
            return fragment_room(h)
        return h.set.message_bytes + UDP_HEADER_BYTES - i * fragment_room(h)

    @final
    cdef void process_next(self, Host h) noexcept nogil:
        if h.queue_run(PROCESS):
            return
        if self.built == self.fragments:
            if self.sent_fragments < self.fragments:
                self.output_begin(h, PROCESS)
                return
            self.built = 0
            self.sent_fragments = 0
            self.datagram += 1
            h.stats.messages += 1
        if self.built == 0 and self.charged_bytes >= h.set.send_buffer_bytes:
            self.blocked = True
            return
        self.build_begin(h)

    @final
    cdef void build_begin(self, Host h) noexcept nogil:
        cdef int32_t payload_bytes = self.fragment_payload(h, self.built)
        if self.built == 0:
            ledger_charge(&h.ledger, PROCESS, OP_SYSCALL, h.cost.syscall, 1)
            ledger_charge(&h.ledger, PROCESS, OP_UDP, h.cost.udp, 1)
        else:
            ledger_charge(&h.ledger, PROCESS, OP_FRAGMENT, h.cost.ip_fragment, 1)
        ledger_charge(&h.ledger, PROCESS, OP_SKB_ALLOC, h.cost.skb_alloc, 1)
        ledger_charge(&h.ledger, PROCESS, OP_COPY, h.copy_in_ps(0, payload_bytes), 1)
        if self.fragments > 1:
            ledger_charge(&h.ledger, PROCESS, OP_CHECKSUM, <int64_t>(payload_bytes * h.cost.checksum), 1)
        self.building = True
        h.submit(PROCESS)

    cdef void process_done(self, Host h) noexcept nogil:
        if self.waking:
            self.waking = False
        elif self.building:
            self.building = False
            self.built += 1
            self.charged_bytes += h.set.tx_truesize_bytes
            if self.charged_bytes > 2 * h.set.send_buffer_bytes and self.built < self.fragments:
                h.stats.socket_drops += 1
                self.charged_bytes -= <int64_t>self.built * h.set.tx_truesize_bytes
                self.built = 0
        elif self.output_owner == PROCESS:
            self.output_done(h, PROCESS)
        self.process_next(h)

    cdef void output_begin(self, Host h, int32_t context) noexcept nogil:
        cdef int32_t payload_bytes = self.fragment_payload(h, self.sent_fragments)
        self.output_owner = context
        self.out.kind = UDP_FRAGMENT
        self.out.sequence = self.datagram
        self.out.payload_bytes = payload_bytes
        self.out.segment_bytes = payload_bytes
        self.out.length_bytes = ETHERNET_HEADER_BYTES + IP_HEADER_BYTES
        self.out.index = self.sent_fragments
        self.out.last = self.sent_fragments == self.fragments - 1
        self.out.truesize_bytes = h.set.tx_truesize_bytes
        ledger_charge(&h.ledger, context, OP_IP_OUTPUT, h.cost.ip_output, 1)
        h.queue_claim(context, &self.out)
        h.submit(context)

    cdef void output_done(self, Host h, int32_t context) noexcept nogil:
        self.output_owner = -1
        h.stats.sent_bytes += application_bytes(self.out.payload_bytes, self.sent_fragments)
        self.sent_fragments += 1
        if h.qdisc_count >= h.set.qdisc_packets:
            self.charged_bytes -= h.set.tx_truesize_bytes   # the queue drops it and frees the skb
        h.queue_put(&self.out, context)

    cdef void sent(self, Host h, int32_t truesize_bytes) noexcept nogil:
        self.charged_bytes -= truesize_bytes
        if self.blocked and self.charged_bytes * 2 <= h.set.send_buffer_bytes:
            self.blocked = False
            self.waking = True
            h.stats.wakeups += 1
            ledger_charge(&h.ledger, PROCESS, OP_WAKEUP, h.cost.wakeup, 1)
            h.submit(PROCESS)


cdef class UdpReceiver(Socket):

    cdef void start(self, Host h) noexcept nogil:
        self.blocked = True
        self.datagram = -1
        self.fragments = fragment_count(h)

    cdef void input_begin(self, Host h, const frame_t* f) noexcept nogil:
        ledger_charge(&h.ledger, SOFT_IRQ, OP_IP_INPUT, h.cost.ip_input, 1)
        if self.fragments > 1:
            ledger_charge(&h.ledger, SOFT_IRQ, OP_REASSEMBLE, h.cost.ip_reassemble, 1)
        if f.last:
            ledger_charge(&h.ledger, SOFT_IRQ, OP_UDP, h.cost.udp, 1)

    cdef void input_done(self, Host h, const frame_t* f) noexcept nogil:
        cdef int64_t truesize_bytes = <int64_t>self.fragments * h.set.rx_truesize_bytes
        if f.sequence != self.datagram:
            if self.gathered:
                h.stats.reassembly_drops += 1
                h.stats.received_bytes -= self.gathered_bytes
            self.datagram = f.sequence
            self.gathered = 0
            self.gathered_bytes = 0
        self.gathered += 1
        self.gathered_bytes += application_bytes(f.payload_bytes, f.index)
        h.stats.received_bytes += application_bytes(f.payload_bytes, f.index)
        if self.gathered < self.fragments:
            return
        self.gathered = 0
        if self.charged_bytes and self.charged_bytes + truesize_bytes >= h.set.receive_buffer_bytes:
            h.stats.socket_drops += 1
            h.stats.received_bytes -= self.gathered_bytes
            return
        self.charged_bytes += truesize_bytes
        self.queued += 1
        if self.blocked:
            self.blocked = False
            self.waking = True
            h.stats.wakeups += 1
            ledger_charge(&h.ledger, PROCESS, OP_WAKEUP, h.cost.wakeup, 1)
            h.submit(PROCESS)

    @final
    cdef void read_begin(self, Host h) noexcept nogil:
        if self.queued == 0:
            self.blocked = True
            return
        self.reading = True
        ledger_charge(&h.ledger, PROCESS, OP_SYSCALL, h.cost.syscall, 1)
        ledger_charge(&h.ledger, PROCESS, OP_UDP, h.cost.udp, 1)
        ledger_charge(&h.ledger, PROCESS, OP_COPY, h.copy_out_ps(0, h.set.message_bytes), 1)
        if not h.set.fragments_verified and self.fragments > 1:
            ledger_charge(&h.ledger, PROCESS, OP_CHECKSUM, <int64_t>(h.set.message_bytes * h.cost.checksum), 1)
        ledger_charge(&h.ledger, PROCESS, OP_SKB_FREE, self.fragments * h.cost.skb_free, self.fragments)
        h.submit(PROCESS)

    cdef void process_done(self, Host h) noexcept nogil:
        if self.waking:
            self.waking = False
        elif self.reading:
            self.reading = False
            self.queued -= 1
            self.charged_bytes -= <int64_t>self.fragments * h.set.rx_truesize_bytes
            h.stats.messages += 1
        self.read_begin(h)
