"""The adapter and the queue pairs of `ixgbe.py`: one host for each core, all on one port."""
from libc.stdint cimport int32_t, int64_t, uint8_t
from nicperf.parts._copies cimport copies_params_t, copies_state_t, copies_stats_t
from nicperf.parts._fifo cimport fifo_t
from nicperf.parts._frames cimport frame_t, frames_t
from nicperf.parts._pages cimport pages_t
from nicperf.parts._sendmemory cimport sendmemory_t
from nicperf.stack._host cimport Host, packet_t

cdef enum:
    IXGBE_CORES = 8                     # most queue pairs of one adapter

cdef enum:                              # classes of the interrupt throttle, from the fastest
    ITR_LOWEST, ITR_LOW, ITR_BULK

cdef struct port_params_t:
    int32_t rx_fifo_bytes, pause_above_bytes
    int64_t buffer_bytes                # 0 = whatever the device queues hold
    int64_t read_ps
    double bus_byte_ps
    double burst_bytes                  # what the receiver joins, on average
    bint pause, rsc

cdef struct ixgbe_params_t:
    int32_t tx_ring, rx_ring
    int64_t itr_ps
    int64_t xmit, xmit_buffer, tx_reap, rx_reap, rx_page, rx_refill, poll, handover
    bint tso, rsc, dynamic

cdef struct ixgbe_stats_t:              # names in ixgbe.py, in this order
    int64_t wire_bytes, wire_busy_ps, gap_ps
    int64_t doorbells, tx_packets, tx_descriptors, tx_completions, lost_packets, pauses, rx_missed, rx_no_descriptor
    int64_t rx_descriptors, rsc_merged, rx_refills, held_off, itr_lowest, itr_low, itr_bulk

cdef struct ixgbe_packet_t:             # what a chain of descriptors tells the NIC to send
    packet_t packet                     # shrinks as bursts leave
    int64_t born_ps
    int64_t n_bytes                     # of all its frames
    int32_t descriptors
    bint lost

cdef struct itr_t:                      # one direction of one vector
    int64_t n_bytes                     # since the last look
    int32_t cls


cdef class IxgbePort:
    cdef void* pair[IXGBE_CORES]        # IxgbeHost of each queue; the first one's events are the port's too
    cdef IxgbePort peer
    cdef frames_t* frames
    cdef port_params_t p
    cdef ixgbe_stats_t s                # what concerns no single queue
    cdef int32_t pairs
    cdef int32_t turn                   # queue that sends now or has sent last
    cdef int64_t waiting_bytes          # posted and not yet on the wire, all queues
    cdef bint wire_busy, pausing
    cdef int32_t burst                  # frame on the wire
    cdef bint burst_last                # of its packet
    cdef double burst_left_bytes        # not used by the bursts before
    cdef int64_t memory_ps              # that its payload takes in the caches and in memory
    cdef fifo_t rx_fifo
    cdef int32_t rx_fifo_bytes

    cdef bint quiet(self) noexcept nogil
    cdef void start(self, bint idle) noexcept nogil
    cdef void done(self) noexcept nogil
    cdef void arrive(self, int32_t frame) noexcept nogil
    cdef void write_start(self) noexcept nogil
    cdef void written(self) noexcept nogil
    cdef int32_t descriptors(self, int32_t frame) noexcept nogil
    cdef int32_t burst_segments(self, int32_t segment_bytes) noexcept nogil


cdef class IxgbeHost(Host):
    cdef IxgbePort port
    cdef int32_t queue
    cdef ixgbe_params_t p
    cdef ixgbe_stats_t device_stats
    # rings, in host memory
    cdef ixgbe_packet_t* chain          # one for each packet in the transmit ring
    cdef int32_t chain_driver, chain_nic, chain_clean       # next to fill, to send, to take back
    cdef int32_t chains_posted, chains_done                 # posted but not sent; sent but not taken back
    cdef int32_t tx_free, tx_done                           # descriptors
    cdef fifo_t rx_ready                # frames in the receive ring
    cdef int32_t rx_credit, rx_done, rx_returned            # descriptors the NIC may use; filled; taken but not returned
    cdef bint stopped, cause, irq_enabled
    cdef int64_t irq_allowed_ps         # the next interrupt does not come before
    cdef int64_t itr_ps                 # throttle interval in force
    cdef itr_t tx_itr, rx_itr
    # memory of payload: page frags of the processes that send, then the buffers that the device fills
    cdef copies_params_t copies
    cdef copies_state_t caches
    cdef copies_stats_t copies_stats
    cdef pages_t blocks
    cdef sendmemory_t* sending          # of each process
    cdef int32_t processes
    cdef int64_t rx_start, rx_bytes, rx_written, rx_read
    cdef int32_t application_accesses
    # the poll under way
    cdef int32_t poll_rx, poll_tx, poll_buffers
    cdef bint poll_last

    cdef int place_memory(self, object spec, str workload) except -1
    cdef int64_t device_read_ps(self, const frame_t* f) noexcept nogil
    cdef void handover(self, int32_t context, int32_t n) noexcept nogil
    cdef bint next_lost(self) noexcept nogil
    cdef void packet_done(self) noexcept nogil
    cdef int64_t burst_take(self) noexcept nogil
    cdef int32_t packet_descriptors(self, const packet_t* p) noexcept nogil
    cdef void irq_update(self) noexcept nogil
    cdef void received(self, int32_t frame, int32_t descriptors) noexcept nogil
    cdef void itr_update(self, itr_t* itr) noexcept nogil
    cdef void itr_set(self) noexcept nogil
