"""The packet generator of `pktgen.py`, executed."""
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy
from nicperf.engine._queue cimport queue_set, queue_set_busy
from nicperf.parts._frames cimport UDP_FRAGMENT, frame_t, frames_give, frames_take
from nicperf.stack._host cimport EVENT_TX_TIMER, EVENT_WIRE, Host

cdef enum:
    WIRE_OVERHEAD_BYTES = 24            # preamble 8, FCS 4, gap 12
    HEADER_BYTES = 34                   # Ethernet and IP: the stack counts the UDP header as payload of IP


cdef class PktgenHost(Host):

    cdef int configure(self, object spec, str workload) except -1:
        Host.configure(self, spec, workload)
        pktgen = spec.pktgen
        self.frame_bytes = pktgen.frame_bytes
        self.interval_ps = <int64_t>(1e12 / pktgen.rate_pps + 0.5) if pktgen.rate_pps else 0
        self.frame = -1
        queue_set(self.q, self.base + EVENT_TX_TIMER, 0)
        return 0

    cdef void counted(self, int64_t* device, int64_t* bus) noexcept nogil:
        memcpy(device, &self.device_stats, sizeof(pktgen_stats_t))

    cdef void device_timer(self, int32_t kind) noexcept nogil:
        self.due = True
        self.device_stats.late += self.paused or self.frame >= 0
        self.wire_start()

    cdef void wire_start(self) noexcept nogil:
        cdef int32_t bytes_on_wire = self.frame_bytes + WIRE_OVERHEAD_BYTES
        cdef frame_t* f
        if self.paused or not self.due or self.frame >= 0:
            return
        self.frame = frames_take(self.frames)
        if self.frame < 0:                  # the run ends with an error
            return
        f = &self.frames.frame[self.frame]
        f.kind = UDP_FRAGMENT
        f.sequence = self.datagram
        f.index = 0
        f.last = 1
        f.length_bytes = self.frame_bytes
        f.payload_bytes = self.frame_bytes - HEADER_BYTES
        f.born_ps = self.q.now_ps
        self.datagram += 1
        self.stats.tx_frames += 1
        self.device_stats.common.wire_bytes += bytes_on_wire
        self.device_stats.common.wire_busy_ps += bytes_on_wire * self.byte_ps
        queue_set_busy(self.q, self.base + EVENT_WIRE, self.q.now_ps + bytes_on_wire * self.byte_ps)
        if self.interval_ps:
            self.due = False
            queue_set(self.q, self.base + EVENT_TX_TIMER, self.q.now_ps + self.interval_ps)

    cdef void wire_done(self) noexcept nogil:
        cdef int32_t frame = self.frame
        self.frame = -1
        self.peer.arrive(frame)
        self.wire_start()

    cdef void arrive(self, int32_t frame) noexcept nogil:
        self.stats.rx_frames += 1
        self.device_stats.returned_bytes += self.frames.frame[frame].length_bytes
        frames_give(self.frames, frame)

    cdef void pause(self) noexcept nogil:
        self.device_stats.paused += 1
        Host.pause(self)
