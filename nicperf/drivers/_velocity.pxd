"""Descriptors of the VIA Velocity as the chip lays them out, and the host that drives one."""
from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t
from nicperf.parts._bus cimport bus_t
from nicperf.parts._fifo cimport fifo_t
from nicperf.parts._irq cimport moderation_t
from nicperf.stack._host cimport Host, packet_t

cdef enum:
    TX_BUFFERS = 7
    RX_GROUP = 4                        # receive descriptors return in groups
    FRAME_SPACE_BYTES = 4096            # of the address space, for the buffers that one frame comes from

cdef enum:                              # word 0 of both descriptors: status 15:0, length 29:16, OWN 31
    LENGTH_SHIFT = 16
    LENGTH_MASK = 0x3FFF
cdef extern from *:
    """
    #define OWNED_BY_NIC 0x80000000U
    """
    const uint32_t OWNED_BY_NIC

cdef enum:                              # word 1 of a transmit descriptor
    TX_COMMAND_SHIFT = 28               # buffers + 1
    TX_COMMAND_NORMAL = 0x3000000       # TCPLS = 3: first and last descriptor of the frame
    TX_COMMAND_INTERRUPT = 0x800000     # TIC

cdef enum:                              # interrupt status: ordinary and suppressed sources
    ISR_RX = 0x0001                     # PRXI
    ISR_TX = 0x0002                     # PTXI
    ISR_RX_SUPPRESSED = 0x0004          # PPRXI
    ISR_TX_SUPPRESSED = 0x0008          # PPTXI

cdef enum:                              # DMA engine classes: receive goes first
    DMA_RX, DMA_TX

cdef packed struct buffer_t:
    uint32_t address_low
    uint16_t address_high
    uint16_t size                       # 13:0 size

cdef packed struct tx_descriptor_t:     # 64 bytes
    uint32_t word0
    uint32_t word1
    buffer_t buffer[TX_BUFFERS]

cdef packed struct rx_descriptor_t:     # 16 bytes
    uint32_t word0
    uint32_t word1
    uint32_t address_low
    uint16_t address_high
    uint16_t size

cdef struct velocity_params_t:
    int32_t tx_ring, rx_ring, copybreak_bytes, tx_fifo_bytes, rx_fifo_bytes
    int64_t frame_gap_ps, buffer_gap_ps  # DMA set-up of a frame, and of each buffer after the first
    int64_t burst_ps                    # one full burst on the bus
    int64_t xmit, xmit_buffer, tx_reap, rx_reap, rx_refill, poll
    bint napi, scatter_gather, pause, realign_via
    int32_t rx_address_mod

cdef struct velocity_stats_t:           # names in velocity.py, in this order
    int64_t wire_bytes, wire_busy_ps, gap_ps
    int64_t doorbells, linearized, copybreaks, tx_completions, tx_timer_fires, rx_timer_fires
    int64_t tx_threshold_fires, rx_threshold_fires, rx_fifo_drops, pauses, rx_ring_empty, refills


cdef class VelocityHost(Host):
    cdef velocity_params_t p
    cdef velocity_stats_t device_stats
    cdef bus_t bus
    cdef int64_t bus_left_ps[2]         # of each DMA class: the end of its job that needs the bus
    # rings, in host memory
    cdef tx_descriptor_t* tx_ring
    cdef int32_t* tx_frame              # the frame of each transmit descriptor
    cdef int32_t* tx_truesize           # what its skb is charged with
    cdef int32_t* rx_frame              # the frame that each receive buffer holds
    cdef rx_descriptor_t* rx_ring
    cdef int32_t tx_driver, tx_nic, tx_clean, tx_free       # next to fill, to fetch, to take back; free ones
    cdef int32_t tx_written_back        # next the NIC completes
    cdef int32_t tx_on_chip, tx_done    # fetched but not completed; completed but not taken back
    cdef int32_t rx_nic, rx_clean, rx_credit                # next to fill, to take, descriptors the NIC may use
    cdef int32_t rx_done                # filled but not taken
    cdef int32_t rx_fill, rx_returned   # next to return; taken but not yet returned
    # NIC
    cdef fifo_t tx_fifo, rx_fifo
    cdef int32_t tx_fifo_bytes, rx_fifo_bytes
    cdef bint wire_busy, pausing, irq_active, irq_enabled
    cdef uint32_t isr
    cdef moderation_t tx_moderation, rx_moderation
    # the service routine under way
    cdef int32_t serve_rx, serve_tx, stage, poll_received

    cdef int32_t buffers(self, const packet_t* p, int32_t* size) noexcept nogil
    cdef int64_t mmio(self, int32_t reads, int32_t writes) noexcept nogil
    cdef void doorbell(self) noexcept nogil
    cdef void dma_tx_start(self) noexcept nogil
    cdef void dma_rx_start(self) noexcept nogil
    cdef void dma_submit(self, int32_t cls, int64_t gap_ps, int64_t bus_ps) noexcept nogil
    cdef void dma_delay(self, int64_t bus_ps) noexcept nogil
    cdef void moderate(self, moderation_t* m, int32_t event, uint32_t plain, uint32_t suppressed, bint queue_empty) noexcept nogil
    cdef void irq_update(self) noexcept nogil
    cdef int32_t rx_offset(self) noexcept nogil
    cdef void power_up(self) noexcept nogil
    cdef void serve_charge(self, int32_t context, int32_t most_rx, int32_t most_tx) noexcept nogil
    cdef void serve_apply(self) noexcept nogil
