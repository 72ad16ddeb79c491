"""The host of `desktop.py`."""
from libc.stdint cimport int32_t, int64_t, uint8_t
from nicperf.parts._fifo cimport fifo_t
from nicperf.stack._host cimport Host, packet_t

cdef enum:                              # DMA engine classes: receive goes first
    DESKTOP_DMA_RX, DESKTOP_DMA_TX

cdef struct desktop_params_t:
    int32_t tx_ring, rx_ring, tx_fifo_bytes, rx_fifo_bytes, pause_above_bytes
    int64_t hold_off_ps, dma_setup_ps
    double dma_byte_ps
    int64_t xmit, xmit_buffer, tx_reap, rx_reap, rx_refill, poll
    bint tso, pause

cdef struct desktop_stats_t:            # names in desktop.py, in this order
    int64_t wire_bytes, wire_busy_ps, gap_ps
    int64_t doorbells, tx_packets, tx_descriptors, tx_completions, rx_fifo_drops, rx_ring_empty, rx_refills, pauses, held_off

cdef struct desktop_packet_t:           # what a chain of descriptors tells the NIC to send
    packet_t packet                     # shrinks as frames are fetched
    int64_t born_ps
    int32_t descriptors


cdef class DesktopHost(Host):
    cdef desktop_params_t p
    cdef desktop_stats_t device_stats
    # rings, in host memory
    cdef uint8_t* tx_owned              # by the NIC
    cdef uint8_t* rx_owned
    cdef int32_t* rx_frame              # the frame that each receive buffer holds
    cdef desktop_packet_t* chain        # one for each packet in the transmit ring
    cdef int32_t chain_driver, chain_nic, chain_clean       # next to fill, to fetch, to take back
    cdef int32_t chains_posted, chains_done                 # posted but not fetched; fetched but not taken back
    cdef int32_t tx_driver, tx_nic, tx_free, tx_done        # next descriptor to fill, to write back; free, written back
    cdef int32_t rx_nic, rx_clean, rx_fill                  # next to fill, to take, to return
    cdef int32_t rx_credit, rx_done, rx_returned            # descriptors the NIC may use; filled; taken but not returned
    cdef bint stopped
    # NIC
    cdef fifo_t tx_fifo, rx_fifo
    cdef int32_t tx_fifo_bytes, rx_fifo_bytes
    cdef bint wire_busy, pausing, cause, irq_enabled
    cdef int64_t irq_allowed_ps         # the next interrupt does not come before
    # the poll under way
    cdef int32_t poll_rx, poll_tx

    cdef int32_t descriptors(self, const packet_t* p) noexcept nogil
    cdef void dma_submit(self, int32_t cls, int32_t length_bytes) noexcept nogil
    cdef void dma_tx_start(self) noexcept nogil
    cdef void dma_rx_start(self) noexcept nogil
    cdef void tx_fetched(self) noexcept nogil
    cdef void rx_written(self) noexcept nogil
    cdef void irq_update(self) noexcept nogil
