"""Descriptors of the Armada XP's network unit as the chip lays them out, and the host that drives one."""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t
from nicperf.drivers._byte_limits cimport byte_limits_t
from nicperf.parts._dma cimport dma_t
from nicperf.parts._fifo cimport fifo_t
from nicperf.stack._host cimport Host, packet_t

cdef enum:                              # DMA engine classes: receive goes first
    MVNETA_DMA_RX, MVNETA_DMA_TX

cdef enum:                              # choices of mvneta.py, in the same order
    SEGMENT_TSO, SEGMENT_GSO, SEGMENT_NONE

cdef packed struct mvneta_descriptor_t:  # transmit, 32 bytes
    uint32_t command
    uint16_t l4_checksum
    uint16_t length
    uint32_t address
    uint32_t owner                      # of the mv643xx; reserved in mvneta
    uint32_t reserved[4]

cdef struct mvneta_params_t:
    int32_t segmentation, tx_ring, rx_ring, longest_chain, tx_stop, tx_wake, slot_bytes, tx_coalesce, rx_coalesce
    int32_t copybreak_bytes, tx_fifo_bytes, rx_fifo_bytes, sliver_bytes, map_failure_calls
    int64_t tso_off_ps, tso_on_ps, rx_timer_ps, dma_setup_ps, descriptor_ps
    double dma_byte_ps
    int64_t xmit, header, descriptor, barrier, reference, sliver, tx_reap, rx_reap, poll
    bint owner_bit, count_descriptors, xmit_more, bql, sliver_copy, first_early, unwind_from_zero

cdef struct mvneta_stats_t:             # names in mvneta.py, in this order
    int64_t wire_bytes, wire_busy_ps, gap_ps
    int64_t doorbells, tx_calls, tx_dropped, tx_segments, tx_pieces, tx_descriptors, tx_completions, tx_skbs_freed
    int64_t super_packets, header_copies, gso_segments, page_references, sliver_copies
    int64_t dma_maps, dma_unmaps, map_failures, wrong_unmaps, lost_maps
    int64_t tx_truncated, tx_skipped, tx_corrupt
    int64_t rx_fifo_drops, rx_ring_empty, copybreaks, tx_interrupts, rx_threshold_interrupts, rx_timer_interrupts, bql_stops

cdef struct mvneta_slot_t:              # what the driver keeps for each transmit descriptor
    bint mapped
    bint skb                            # the descriptor is the last of one
    int32_t references                  # pages that this sk_buff refers to by itself
    int32_t truesize_bytes
    int64_t bytes                       # length of the sk_buff

cdef struct mvneta_header_t:            # stands for the bytes of a header, or of a sliver
    packet_t packet
    int64_t born_ps


cdef class MvnetaHost(Host):
    cdef mvneta_params_t p
    cdef mvneta_stats_t device_stats
    cdef dma_t mapping
    cdef byte_limits_t limits
    # host memory
    cdef mvneta_descriptor_t* tx_ring
    cdef mvneta_slot_t* tx_slot
    cdef mvneta_header_t* header        # coherent memory, a slot for each descriptor
    cdef mvneta_header_t* head          # heads of sk_buffs that were mapped, by descriptor
    cdef int32_t* rx_frame              # the frame that each receive buffer holds
    # driver
    cdef int32_t tx_driver, tx_clean    # next descriptor to fill, to take back
    cdef int32_t tx_first               # of the packet that is being posted
    cdef int32_t tx_count, tx_held      # in use; of these, written but not yet handed over
    cdef int64_t map_calls
    cdef bint stopped, bql_stopped
    # the packet charged for: the driver cuts it; it is a later segment; its doorbell is left to the next
    cdef bint by_driver, gso_follows, ring_later
    cdef int32_t rx_clean
    # chip
    cdef int32_t tx_nic                 # next to fetch
    cdef int32_t tx_given, tx_pending   # handed over and not sent; of these, not fetched (handover by count)
    cdef int32_t tx_fetching, tx_carried            # on the way into the FIFO; of frames that were cut off
    cdef int32_t tx_sent, tx_sent_packets           # not yet taken back
    cdef int32_t rx_nic, rx_credit, rx_done
    cdef fifo_t tx_fifo, tx_sizes, rx_fifo          # frames (a corrupt one as ~index) and their descriptors
    cdef int32_t tx_fifo_bytes, rx_fifo_bytes
    cdef bint tx_active, wire_busy, irq_enabled, rx_timed
    # the poll under way
    cdef int32_t poll_tx, poll_tx_packets, poll_rx

    cdef void fill(self, uint32_t command, int32_t length_bytes, uint32_t address, bint mapped) noexcept nogil
    cdef bint is_sliver(self, int32_t n_bytes, int64_t address) noexcept nogil
    cdef bint map(self) noexcept nogil
    cdef bint fill_frame(self, packet_t* p, int32_t payload_bytes) noexcept nogil
    cdef void unwind(self, int32_t n) noexcept nogil
    cdef void drop(self, packet_t* p) noexcept nogil
    cdef void doorbell(self) noexcept nogil
    cdef void tx_start(self) noexcept nogil
    cdef void tx_fetched(self) noexcept nogil
    cdef void rx_start(self) noexcept nogil
    cdef void rx_written(self) noexcept nogil
    cdef bint tx_cause(self) noexcept nogil
    cdef bint rx_cause(self) noexcept nogil
    cdef void irq_update(self) noexcept nogil
