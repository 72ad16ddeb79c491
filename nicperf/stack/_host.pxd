"""A host: its CPU, the softirq loop, the device queue, one socket; the driver is a subclass."""
from libc.stdint cimport int32_t, int64_t, uint64_t
from nicperf.engine._ledger cimport CONTEXTS, ledger_t
from nicperf.engine._queue cimport QUEUE_GROUP, queue_t
from nicperf.engine._random cimport random_t
from nicperf.engine._server cimport server_t
from nicperf.parts._fifo cimport fifo_t
from nicperf.parts._frames cimport frame_t, frames_t

cdef enum:                              # event slots of one host
    EVENT_CPU, EVENT_DMA, EVENT_WIRE, EVENT_PROCESS     # these move with every frame: QUEUE_BUSY
    EVENT_TX_TIMER, EVENT_RX_TIMER, EVENT_DELAYED_ACK, EVENT_RTO, EVENT_PAUSE
    EVENTS_PER_HOST = QUEUE_GROUP

cdef enum:                              # what the softirq job under way will do when it ends
    SOFT_NOTHING, SOFT_ENTRY, SOFT_POLL, SOFT_BACKLOG, SOFT_XMIT, SOFT_OUTPUT

cdef enum:
    LATENCY_BUCKETS = 1024              # 16 per octave of picoseconds
    QUEUES = 6                          # levels of a host: see `Host.levels`
    STATES = 5                          # further ones: see `Host.state`

cdef struct costs_t:                    # picoseconds, or picoseconds per byte, on this host's CPU
    int64_t irq_entry, irq_shared, mmio_read, mmio_write, softirq, syscall, wakeup
    int64_t skb_alloc, skb_free, page, sendpage, tcp_output, tcp_input, udp, ip_output, ip_input
    int64_t ip_fragment, ip_reassemble, gso_segment, qdisc, gro, netif_rx
    double copy_cached, copy_cold, checksum
    int64_t jitter                      # half width of every job's length, in 1/65536

cdef struct settings_t:                 # of this host's socket, stack and workload
    int32_t mtu_bytes, mss_bytes, ack_bytes, header_bytes
    int32_t fragment_bytes, super_packet_bytes, backlog_packets, qdisc_packets, gro_segments
    int32_t message_bytes, receive_bytes, last_cache_bytes
    int64_t send_footprint_bytes        # beyond 32 bits for the largest messages and most buffers
    int64_t send_buffer_bytes, receive_buffer_bytes
    int32_t tx_truesize_bytes, rx_truesize_bytes
    int64_t rto_ps, delayed_ack_ps
    bint gso, sendfile, fragments_verified
    bint pages                          # the driver wants to know who keeps what it received

cdef struct packet_t:                   # waits in the device queue; a super-packet shrinks as segments leave
    int64_t sequence
    int64_t ack
    int64_t window_edge
    int32_t kind
    int32_t payload_bytes
    int32_t segment_bytes               # payload per frame: less than payload_bytes only for GSO
    int32_t length_bytes                # headers of one frame
    int32_t index
    int32_t last
    int32_t truesize_bytes

cdef struct host_stats_t:
    int64_t interrupts, polls, softirqs, wakeups
    int64_t tx_frames, rx_frames
    int64_t qdisc_drops, backlog_drops, reassembly_drops, socket_drops
    int64_t tx_stops, tx_wakes, retransmits
    int64_t sent_bytes, received_bytes  # payload that the application gave or that reached the socket in order
    int64_t messages, acks_sent, acks_received, window_updates
    int64_t delivered                   # frames that the protocol has taken
    int64_t latency_ps                  # of data frames among them, driver to protocol, summed

cdef inline int64_t cycles_ps(double cycles, double frequency_mhz):
    return <int64_t>(cycles * 1e6 / frequency_mhz + 0.5)


cdef class Host


cdef class Socket:
    cdef int configure(self, Host h, object spec) except -1
    cdef void start(self, Host h) noexcept nogil
    cdef void process_done(self, Host h) noexcept nogil
    cdef void input_begin(self, Host h, const frame_t* f) noexcept nogil
    cdef void input_done(self, Host h, const frame_t* f) noexcept nogil
    cdef bint output_ready(self, Host h) noexcept nogil
    cdef void output_begin(self, Host h, int32_t context) noexcept nogil
    cdef void output_done(self, Host h, int32_t context) noexcept nogil
    cdef void sent(self, Host h, int32_t truesize_bytes) noexcept nogil
    cdef void timer(self, Host h, int32_t event) noexcept nogil


cdef class Host:
    # What each event touches comes first, the large tables last.
    cdef queue_t* q
    cdef frames_t* frames
    cdef Socket socket
    cdef Host peer
    cdef server_t* serves[CONTEXTS]     # the CPU of each context
    cdef packet_t* qdisc
    cdef int64_t byte_ps                # one byte on the wire
    cdef int32_t base                   # first event slot
    cdef int32_t qdisc_head, qdisc_count
    cdef int32_t qdisc_owner            # context that sends from the queue now, -1 = none
    cdef int32_t soft_job
    cdef int32_t soft_frame
    cdef int32_t backlog_quota          # packets that the backlog may still take before a waiting poll
    cdef bint soft_raised, poll_scheduled, tx_scheduled
    cdef bint process_xmit              # the process job under way is a transmission from the queue
    cdef bint paused                    # the peer has asked for silence (802.3x)
    cdef int32_t gro_held               # packet that GRO may still add to, -1 = none
    cdef int32_t gro_segments           # in it
    cdef fifo_t backlog                 # frame indices
    cdef random_t random
    cdef server_t cpu
    cdef server_t dma
    cdef server_t process_cpu           # of the process, if it does not share the one that takes the interrupts
    cdef settings_t set
    cdef host_stats_t stats
    cdef costs_t cost
    cdef ledger_t ledger
    cdef uint64_t* latency              # LATENCY_BUCKETS of them

    cdef void submit(self, int32_t context) noexcept nogil
    cdef void event(self, int32_t kind) noexcept nogil
    cdef void dispatch(self) noexcept nogil
    cdef void job_done(self, int32_t context) noexcept nogil
    cdef bint process_busy(self) noexcept nogil
    cdef void soft_raise(self) noexcept nogil
    cdef void soft_next(self) noexcept nogil
    cdef void soft_done(self) noexcept nogil
    cdef void netif_rx(self, int32_t frame) noexcept nogil
    cdef void gro_receive(self, int32_t frame) noexcept nogil
    cdef void gro_flush(self) noexcept nogil
    cdef bint queue_direct(self) noexcept nogil
    cdef void queue_claim(self, int32_t context, const packet_t* p) noexcept nogil
    cdef void queue_put(self, const packet_t* p, int32_t context) noexcept nogil
    cdef bint queue_run(self, int32_t context) noexcept nogil
    cdef void queue_sent(self) noexcept nogil

    # the driver
    cdef int configure(self, object spec, str workload) except -1
    cdef int join(self, list cores, object spec) except -1
    cdef void connect(self, Host peer)
    cdef int64_t copy_in_ps(self, int32_t process, int64_t n_bytes) noexcept nogil
    cdef int64_t copy_out_ps(self, int32_t process, int64_t n_bytes) noexcept nogil
    cdef void acknowledged(self, int32_t process, int64_t n_bytes) noexcept nogil
    cdef void levels(self, int64_t* row) noexcept nogil
    cdef void state(self, int64_t* row) noexcept nogil
    cdef void counted(self, int64_t* device, int64_t* bus) noexcept nogil
    cdef void dma_done(self) noexcept nogil
    cdef void wire_start(self) noexcept nogil
    cdef void wire_done(self) noexcept nogil
    cdef void device_timer(self, int32_t kind) noexcept nogil
    cdef void irq_done(self) noexcept nogil
    cdef void poll_begin(self) noexcept nogil
    cdef void poll_done(self) noexcept nogil
    cdef bint xmit_room(self) noexcept nogil
    cdef void xmit_charge(self, int32_t context, const packet_t* p) noexcept nogil
    cdef void xmit(self, packet_t* p) noexcept nogil
    cdef void arrive(self, int32_t frame) noexcept nogil
    cdef void pause(self) noexcept nogil
    cdef void resume(self) noexcept nogil
    cdef void merged(self, int32_t into, int32_t frame) noexcept nogil
    cdef void taken(self, int32_t frame, bint kept) noexcept nogil
    cdef int64_t consume(self, int32_t context, int64_t n_bytes) noexcept nogil
