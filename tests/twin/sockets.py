"""The twin's four ends of a connection: a socket with the netperf process behind it."""

from .machine import PROCESS, SOFT
from .velocity import Velocity

DUPLICATES_BEFORE_RETRANSMIT, TRAIN_SEGMENTS = 3, 2


class Socket(Velocity):
    def __init__(self, *args):
        super().__init__(*args)
        p, size, most = self.p, self.p.message_bytes + 8, self.p.mtu_bytes - 20
        cached = p.message_bytes * p.send_buffers <= p.last_cache_bytes
        self.user_copy = p.copy_cached if cached else p.copy_cold
        self.header = 54 + 12 * p.tcp_timestamps
        self.mss = p.mtu_bytes + 14 - self.header
        self.super_packet = max(p.super_packet_bytes, self.mss) if p.tx_scatter_gather else self.mss
        self.edge, self.sending, self.charged = p.tcp_window_bytes, False, 0  # charged: truesize (UDP)
        step = size if size <= most else most // 8 * 8
        self.fragments = [min(step, size - at) for at in range(0, size, step)]  # IP payload of each

    output_ready = False

    def freed(self):
        """The driver has given a sent frame back."""

    def copy_ops(self, size, rate, summed):
        return [("copy", int(size * rate), 1), ("checksum", summed * int(size * self.p.checksum), summed)]


class TcpSender(Socket):
    """Whole segments leave while the window has room: two at a time, or up to a super-packet with GSO."""

    written = next = acknowledged = progress_ps = duplicates = 0
    left = 0  # of the message being written
    blocked = False

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
        copy = [] if gso and sendfile else [("copy", int(size * self.user_copy), 1)]
        yield entry + copy + self.ops(skb_alloc=packets, sendpage=pages * sendfile, page=pages * gso)
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

    output_ready = property(lambda self: not self.sending and self.output_bytes() > 0)

    def output(self, context):
        start, end, self.sending = self.next, self.next + self.output_bytes(), True
        frames = [self.frame("data", self.header, self.mss, at) for at in range(start, end, self.mss)]
        n = 1 if self.p.tx_scatter_gather else len(frames)
        yield self.ops(skb_alloc=n, tcp_output=n, ip_output=n) + self.queue_claim(context, frames)
        self.sending = False
        self.next = end if self.next == start else self.next  # a retransmission may have begun meanwhile
        self.queue_put(context, frames)
        if "timeout" not in self.at:
            self.progress_ps, self.at["timeout"] = self.sim.now, self.sim.now + self.p.rto

    def receive(self, ack):
        freed = max(0, ack.ack - self.acknowledged)
        pages = self.p.tx_scatter_gather and freed > 0
        skbs = "skb_free", freed * self.p.skb_free // self.super_packet, freed > 0
        page = "page", pages * freed * self.p.page // self.p.fragment_bytes, pages
        yield [*self.ops("netif_rx", "ip_input", "tcp_input", "skb_free"), skbs, page]
        self.count["acks_received"] += 1
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


class TcpReceiver(Socket):
    """Acknowledges every second segment at once; a read that opens the window much sends an ACK, too."""

    expected = unread = unacknowledged = arrived_ps = 0
    ack_wanted = False
    blocked = property(lambda self: not self.unread)
    output_ready = property(lambda self: self.ack_wanted and not self.sending)

    def work(self):
        size, window = min(self.unread, self.p.receive_bytes), self.p.tcp_window_bytes
        yield [*self.ops("syscall", skb_free=-(-size // self.mss)), ("copy", int(size * self.p.copy_cold), 1)]
        self.unread -= size
        self.count["messages"] += 1
        if 2 * (self.edge - self.expected) <= min(window, window - self.unread):
            self.count["window_updates"] += 1
            self.ack_wanted = True

    def receive(self, segment):
        at_once = segment.sequence != self.expected or self.unacknowledged >= 1
        yield self.ops("netif_rx", "ip_input", "tcp_input") + (self.ack_ops(SOFT) if at_once else [])
        self.count["socket_drops"] += segment.sequence != self.expected
        if segment.sequence == self.expected:
            self.count["received_bytes"] += segment.payload
            self.expected += segment.payload
            self.unread += segment.payload
            self.unacknowledged, self.arrived_ps = self.unacknowledged + 1, self.sim.now
        if at_once:
            self.send_ack(SOFT)
        elif self.unacknowledged and "delayed_ack" not in self.at:
            self.at["delayed_ack"] = self.sim.now + self.p.delayed_ack
        if self.unread:
            self.wake(PROCESS)

    def delayed_ack(self):
        due_ps = self.arrived_ps + self.p.delayed_ack
        if self.unacknowledged and self.sim.now < due_ps:
            self.at["delayed_ack"] = due_ps
        self.ack_wanted |= self.unacknowledged > 0 and self.sim.now >= due_ps
        if self.output_ready:
            self.wake(SOFT)

    def output(self, context):
        self.ack_wanted, self.sending = False, True
        yield self.ack_ops(context)
        self.sending = False
        self.send_ack(context)

    def ack(self):
        return [self.frame("ack", self.header, 0, ack=self.expected, edge=self.edge)]

    def ack_ops(self, context):
        return self.ops("skb_alloc", "tcp_output", "ip_output") + self.queue_claim(context, self.ack())

    def send_ack(self, context):
        self.edge = max(self.edge, self.expected + self.p.tcp_window_bytes - self.unread)
        self.unacknowledged = 0
        self.count["acks_sent"] += 1
        self.queue_put(context, self.ack())


class UdpSender(Socket):
    """Builds all fragments of a datagram, then sends them; gives it up if they exceed twice the buffer."""

    number = built = passed_on = 0
    blocked = property(lambda self: not self.built and self.charged >= self.p.udp_send_buffer_bytes)

    def work(self):
        everything, first = len(self.fragments), not self.built
        if self.passed_on == everything:
            self.count["messages"] += 1
            self.number, self.built, self.passed_on = self.number + 1, 0, 0
        elif self.built == everything:
            size, i = self.fragments[self.passed_on], self.passed_on
            last, data = i + 1 == everything, size if i else size - 8
            frame = self.frame("fragment", 34, size, self.number, last=last, data=data)
            yield self.ops("ip_output") + self.queue_claim(PROCESS, [frame])
            self.passed_on += 1
            self.count["sent_bytes"] += data
            self.charged -= 0 if self.queue_put(PROCESS, [frame]) else self.p.tx_truesize_bytes
        else:
            copies = self.copy_ops(self.fragments[self.built], self.user_copy, everything > 1)
            yield self.ops("skb_alloc", syscall=first, udp=first, ip_fragment=not first) + copies
            self.built += 1
            self.charged += self.p.tx_truesize_bytes
            if self.charged > 2 * self.p.udp_send_buffer_bytes and self.built < everything:
                self.count["socket_drops"] += 1
                self.charged -= self.built * self.p.tx_truesize_bytes
                self.built = 0

    def freed(self):
        self.charged -= self.p.tx_truesize_bytes
        if 2 * self.charged <= self.p.udp_send_buffer_bytes:
            self.wake(PROCESS)


class UdpReceiver(Socket):
    """The last fragment delivers a datagram if the buffer has room; a new one ends an incomplete one."""

    datagram, gathered, queued = None, [], 0
    blocked = property(lambda self: not self.queued)

    def work(self):
        n, size, summed = len(self.fragments), self.p.message_bytes, self.p.rx_checksum_rule != "mainline"
        yield self.ops("syscall", "udp", skb_free=n) + self.copy_ops(size, self.p.copy_cold, n > 1 and summed)
        self.queued -= 1
        self.charged -= n * self.p.rx_truesize_bytes
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
            if self.charged and self.charged + truesize >= self.p.udp_receive_buffer_bytes:
                self.count.update(socket_drops=1, received_bytes=-whole)
                return
            self.charged += truesize
            self.queued += 1
            self.wake(PROCESS)
