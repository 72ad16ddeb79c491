"""Many netperf instances that exchange requests and responses over TCP: the sockets and processes of one core."""
from libc.stdint cimport int32_t, int64_t, uint32_t
from nicperf.parts._fifo cimport fifo_t
from nicperf.parts._frames cimport frame_t
from nicperf.parts._timers cimport timers_t
from nicperf.stack._host cimport Host, Socket, packet_t

cdef enum:
    HISTOGRAM_DECADES = 8
    HISTOGRAM_BUCKETS = 100             # of each

cdef enum:                              # kinds of deadlines
    TIMER_START, TIMER_RETRANSMIT, TIMER_DELAYED_ACK

cdef enum:                              # what a connection shall send without its process; a bit each
    SEND_SYN = 1
    SEND_AGAIN = 2
    SEND_PROBE = 4
    SEND_ACK = 8
    SEND_DATA = 16                      # what the process sends

cdef struct connection_t:
    # the stream that it sends
    int64_t written, acknowledged
    # the stream that it receives
    int64_t expected, unread_bytes, got_bytes, unacknowledged_bytes
    int64_t to_send_bytes               # of the message that its process writes
    # timers: when they shall fire (0 = off), and when an entry in the heap will look (0 = none)
    int64_t retransmit_ps, retransmit_entry_ps
    int64_t delayed_ack_ps, delayed_ack_entry_ps
    int64_t stop_ps                     # end of the instance's own window
    int64_t begun_ps                    # of the transaction under way
    int32_t backoff
    int32_t wants                       # SEND_...
    bint connected, probed, recovering, queued
    # results of the client
    int64_t transactions, timeouts
    int64_t latency_us, latency_us_squared                  # sums; netperf takes mean and deviation from these
    int64_t longest_ps


cdef class ExchangeSocket(Socket):
    cdef connection_t* connection
    cdef uint32_t* histogram            # of each connection
    cdef int32_t first, step, count     # instance i * step + first is connection i here
    cdef int32_t in_bytes, out_bytes    # of one message
    cdef int64_t window_ps, skew_ps, probe_ps, syn_ps
    cdef int32_t instances
    cdef fifo_t runnable                # processes that want the core
    cdef fifo_t sending                 # connections that shall send without their process
    cdef timers_t timers
    cdef packet_t out_process, out_soft
    cdef int32_t running                # process whose turn it is, -1 = none
    cdef int32_t turn_bytes             # that it reads in this turn
    cdef bint turn_sends
    cdef int32_t soft_sender            # connection that sends from the softirq, -1 = none
    cdef int32_t input_ack              # connection that acknowledges the packet under way, -1 = none

    cdef int place(self, int32_t core, int32_t cores) except -1
    cdef bint answers(self) noexcept nogil
    cdef void process_next(self, Host h) noexcept nogil
    cdef void soft_put(self, Host h, int32_t i) noexcept nogil
    cdef void input_syn(self, Host h, int32_t i) noexcept nogil
    cdef void input_acknowledgement(self, Host h, int32_t i, const frame_t* f) noexcept nogil
    cdef void timers_add(self, Host h, int64_t at_ps, int32_t i, int32_t kind) noexcept nogil
    cdef void delayed_ack(self, Host h, int32_t i) noexcept nogil
    cdef void retransmit(self, Host h, int32_t i) noexcept nogil
    cdef void wake(self, Host h, int32_t i) noexcept nogil
    cdef void turn_begin(self, Host h) noexcept nogil
    cdef void want(self, Host h, int32_t i, int32_t what) noexcept nogil
    cdef void segment_fill(self, Host h, packet_t* p, int32_t i, int32_t what) noexcept nogil
    cdef void segment_charge(self, Host h, int32_t context, const packet_t* p) noexcept nogil
    cdef void segment_sent(self, Host h, int32_t i) noexcept nogil
    cdef void timers_set(self, Host h) noexcept nogil
    cdef void arm_retransmit(self, Host h, int32_t i, int64_t at_ps) noexcept nogil
    cdef void arm_delayed_ack(self, Host h, int32_t i) noexcept nogil
    cdef void transaction_done(self, Host h, int32_t i) noexcept nogil


cdef class ExchangeClient(ExchangeSocket):
    pass
