"""Descriptors of the FEC as the chip lays them out, and the host that drives one."""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t
from nicperf.packets._headers cimport endpoint_t
from nicperf.packets.ebpf._xdp cimport XdpProgram
from nicperf.parts._bus cimport bus_stats_t
from nicperf.parts._dma cimport dma_t
from nicperf.parts._fifo cimport fifo_t
from nicperf.parts._fragments cimport fragments_t
from nicperf.parts._frames cimport frame_t
from nicperf.parts._heads cimport heads_t
from nicperf.parts._irq cimport moderation_t
from nicperf.parts._page_pool cimport page_pool_t
from nicperf.parts._pages cimport pages_t
from nicperf.stack._host cimport Host, Socket, packet_t

cdef enum:                              # control word of a descriptor
    RX_EMPTY = 0x8000                   # the MAC owns it
    RX_LAST = 0x0800
    TX_READY = 0x8000                   # the MAC owns it
    TX_LAST_WITH_FCS = 0x0C00           # TC and L

cdef enum:                              # DMA engine classes: receive goes first
    FEC_DMA_RX, FEC_DMA_TX

cdef enum:                              # event register
    IEVENT_RXF = 0x02000000
    IEVENT_TXF = 0x08000000

cdef enum:                              # choices of `rx_path` and `turnover_at` in fec.py, in the same order
    PATH_ORIGINAL, PATH_RELEASE, PATH_RECYCLE
cdef enum:
    TURNOVER_MAPPING, TURNOVER_PAGE, TURNOVER_RELEASE, TURNOVER_NEVER

cdef packed struct fec_descriptor_t:    # extended descriptor, 32 bytes
    uint16_t length
    uint16_t control
    uint32_t address
    uint32_t status
    uint32_t checksum
    uint32_t update
    uint32_t timestamp
    uint16_t reserved[4]

cdef struct fec_params_t:
    int32_t tx_ring, rx_ring, copybreak_bytes, tx_fifo_bytes, rx_fifo_bytes, pause_above_bytes
    int32_t rx_path, turnover_at
    int64_t dma_setup_ps
    double dma_byte_ps
    int64_t rx, barrier, build_skb, xmit, tx_reap, poll, turnover
    int64_t xdp_miss, xdp_run, xdp_call, xdp_generic, xdp_redirect
    double xdp_instruction
    bint pause, direct_recycling, xdp_native, xdp_skb, xdp_tx

cdef struct fec_stats_t:                # names in fec.py, in this order
    int64_t wire_bytes, wire_busy_ps, gap_ps
    int64_t doorbells, copybreaks, tx_completions, rx_threshold_fires, rx_timer_fires, tx_threshold_fires, tx_timer_fires
    int64_t rx_fifo_drops, rx_ring_empty, rx_dropped, pauses, turnovers
    int64_t xdp_instructions, xdp_calls, xdp_aborted, xdp_drop, xdp_pass, xdp_tx, xdp_redirect, udp_no_ports

cdef struct skb_t:
    int32_t page                        # a reference to it
    int32_t payload_bytes
    int32_t next                        # -1 = last of its list


cdef class FecHost(Host):
    cdef fec_params_t p
    cdef fec_stats_t device_stats
    cdef pages_t pages
    cdef page_pool_t pool
    cdef fragments_t fragments
    cdef heads_t heads
    cdef dma_t mapping
    # rings, in host memory
    cdef fec_descriptor_t* tx_ring
    cdef fec_descriptor_t* rx_ring
    cdef int32_t* tx_frame              # the frame of each transmit descriptor
    cdef int32_t* tx_page               # -1, or received data that it is sent from: 2 x page, or 2 x sk_buff + 1
    cdef int32_t* rx_frame              # the frame that each receive buffer holds, and the page of the buffer
    cdef int32_t* rx_page
    cdef int32_t tx_driver, tx_nic, tx_clean, tx_free       # next to fill, to fetch, to take back; free ones
    cdef int32_t tx_closed              # next the MAC closes
    cdef int32_t tx_on_chip, tx_done    # fetched but not closed; closed but not taken back
    cdef int32_t rx_nic, rx_clean, rx_credit                # next to fill, to take, descriptors the MAC may use
    cdef int32_t rx_done                # filled but not taken
    # sk_buffs above the driver: those of a frame are a list, several after GRO; so are those that the socket holds
    cdef skb_t* skb
    cdef int32_t* skb_free              # unused ones, last in first out
    cdef int32_t n_skb_free
    cdef int32_t* first_skb             # by frame, -1 = none
    cdef int32_t* last_skb
    cdef int32_t unread_first, unread_last, unread_offset
    cdef int64_t kept_bytes             # that ever were in the socket's
    # what has been charged of the DMA API, and what turned over
    cdef int64_t charged_maps, charged_syncs
    cdef int64_t rx_unmaps, released, turnovers_before
    # MAC
    cdef fifo_t tx_fifo, rx_fifo
    cdef int32_t tx_fifo_bytes, rx_fifo_bytes
    cdef bint wire_busy, pausing, irq_active, irq_enabled
    cdef uint32_t ievent
    cdef moderation_t tx_moderation, rx_moderation
    # the poll under way
    cdef int32_t stage, poll_received, taken_frame, taken_page, taken_skb, taken_verdict, serve_tx, attach
    cdef uint32_t events
    # XDP
    cdef XdpProgram program
    cdef uint8_t* packet                # where the program sees the frame
    cdef int32_t packet_bytes           # what it has made of it, and where that ends after the headroom
    cdef int32_t packet_end_bytes
    cdef bint touched                   # the frame's data is in the CPU's cache
    cdef endpoint_t from_peer, to_us    # what the frame's headers say

    cdef bus_stats_t bus

    cdef int allocate(self) except -1
    cdef void mmio(self, int32_t context, int32_t reads, int32_t writes) noexcept nogil
    cdef void dma_submit(self, int32_t cls, int32_t use, int32_t length_bytes) noexcept nogil
    cdef void tx_begin(self) noexcept nogil
    cdef void tx_apply(self) noexcept nogil
    cdef void send_back(self, int32_t page, int32_t length_bytes) noexcept nogil
    cdef void free_charged(self, int32_t frame) noexcept nogil
    cdef void power_up(self) noexcept nogil
    cdef void charge_pages(self, int32_t context, int64_t calls) noexcept nogil
    cdef void charge_dma(self, int32_t context) noexcept nogil
    cdef int64_t turnovers(self) noexcept nogil
    cdef void dma_rx_start(self) noexcept nogil
    cdef void dma_tx_start(self) noexcept nogil
    cdef void moderate(self, moderation_t* m, int32_t event, uint32_t cause) noexcept nogil
    cdef void irq_update(self) noexcept nogil
    cdef void rx_begin(self) noexcept nogil
    cdef void rx_original(self, int32_t at, int32_t length_bytes) noexcept nogil
    cdef void rx_page_pool(self, int32_t at, int32_t length_bytes) noexcept nogil
    cdef void rx_apply(self) noexcept nogil
    cdef void write_packet(self, const frame_t* f) noexcept nogil
    cdef int32_t run_program(self, int32_t context, const frame_t* f) noexcept nogil
    cdef int32_t new_skb(self, int32_t page) noexcept nogil
    cdef void free_skb(self, int32_t skb, int32_t context) noexcept nogil
    cdef void free_frame(self, int32_t frame, int32_t context) noexcept nogil


cdef class UdpDiscard(Socket):
    """Nobody listens: what the stack does with a frame of the packet generator, and the XDP program of skb mode before it."""

    cdef int32_t verdict
    cdef packet_t out
