"""The VIA Velocity and the via-velocity driver of Linux 2.6.32, each patch of November 2009 a switch."""

from __future__ import annotations

from dataclasses import dataclass

from nicperf.parameter import choice, parameter, switch

#: Register DCFG0 bits 2:0 -> longest DMA burst in 32-bit words; 0 = until the FIFO is empty or full.
DMA_LENGTH_DWORDS = {0: 8, 1: 16, 2: 32, 3: 64, 4: 128, 5: 256, 6: 0, 7: 0}

#: What driver and chip count.
COUNTERS = tuple(
    """
    wire_bytes wire_busy_ps gap_ps
    doorbells linearized copybreaks tx_completions tx_timer_fires rx_timer_fires tx_threshold_fires
    rx_threshold_fires rx_fifo_drops pauses rx_ring_empty refills
    """.split()
)


@dataclass(frozen=True)
class VelocityNic:
    """The controller: one bus master, two FIFOs, one interrupt line.

    Transmit
        1. The doorbell (or the end of the previous frame) lets the engine read the next descriptor: 8 bytes
           and 8 for each buffer.
        2. It reads each buffer in bursts into the transmit FIFO. Setting up a frame takes `frame_gap_ns`,
           each further buffer `buffer_gap_ns`, both without the bus.
        3. The wire takes the frame from the FIFO. When it has left, the engine writes the status word back
           (OWN cleared).
        4. A completion counts for the interrupt: at once, or towards `driver.tx_suppress_frames` and the
           timer.
    Receive
        1. The frame enters the receive FIFO; with no room it is lost. PAUSE asks the peer to stop while fewer
           than 24 descriptors are free and lets it go on at 48, or when the longest pause of the standard is over.
        2. The engine reads the descriptor (16 bytes), writes the frame in bursts, and writes the status back
           (OWN cleared).
        3. The arrival counts for the interrupt like a completion.
    Receive moves go before transmit moves; both preempt at the granularity of a burst.

    Notes
    -----
    Not modelled: four transmit queues (Linux uses one), VLAN and address filters, large send (undocumented),
    the hold-off timer (unused by Linux), jumbo frames, link negotiation.

    Source
    ------
    Descriptor layouts, ring limits, burst codes and suppression registers: via-velocity.h of Linux, vge(4)
    and if_vgereg.h of FreeBSD. That suppression timers start as `tx_timer_starts` and `rx_timer_starts` say
    is a guess: no public document tells.
    """

    dma_burst_dwords: int = choice(
        0, (0, 8, 16, 32, 64, 128, 256), "Longest DMA burst (patch 5); 0 = until empty.", unit="dwords"
    )
    frame_gap_ns: float = parameter(
        1000.0, "ns", 0.0, 20000.0, "DMA engine set-up per frame, without the bus."
    )
    buffer_gap_ns: float = parameter(
        1000.0, "ns", 0.0, 20000.0, "DMA engine set-up per buffer after a frame's first, without the bus."
    )
    tx_fifo_bytes: int = parameter(49152, "bytes", 2048, 1 << 20, "Transmit FIFO.")
    rx_fifo_bytes: int = parameter(16384, "bytes", 2048, 1 << 20, "Receive FIFO.")
    pause: bool = switch(True, "802.3x flow control, as negotiated by default.")
    tx_timer_starts: str = choice(
        "queue_empty", ("queue_empty", "first_pending"), "What starts the transmit suppression timer."
    )
    rx_timer_starts: str = choice(
        "first_pending", ("queue_empty", "first_pending"), "What starts the receive suppression timer."
    )


@dataclass(frozen=True)
class VelocityDriver:
    """The driver: descriptors, service routines and the seven patches.

    Transmit
        1. With more than 6 page fragments the skb is made linear (scatter-gather only).
        2. Head and fragments go into one 64-byte descriptor with up to 7 buffers; OWN passes it to the chip.
        3. One posted doorbell write per frame. The queue stops when no descriptor is free and wakes when one
           is.
    Interrupt without NAPI
        1. Read ISR (stalls), mask, then loop: acknowledge, serve at most 16 received descriptors if ISR tells of
           receptions and at most 16 sent ones if it tells of completions, read ISR again.
        2. Unmask when ISR is clear. Frames go up by netif_rx: backlog, then softirq.
    Interrupt with NAPI (patch 4)
        1. Read ISR, acknowledge, mask, schedule the poll.
        2. The poll serves received (half the budget), sent (16), received, sent (16); with budget left it
           completes and unmasks. Frames still go up by netif_rx: the series keeps the backlog hop.
    Receive service
        1. Frames shorter than `rx_copybreak_bytes` are copied into a small skb and keep their buffer; others
           give it away.
        2. Descriptors return to the chip in groups of four, with one posted write per batch.

    Notes
    -----
    Patch 1 is `rx_checksum_rule`, 2 `rx_align_rule`, 3 the suppression thresholds and timers, 4 `napi`, 5
    `nic.dma_burst_dwords`, 6 `tx_scatter_gather` (which switches on GSO, as the core does), 7 `version`,
    which nothing reads.

    Not modelled: VLAN acceleration, multicast lists, ethtool, suspend, error recovery, the ISR's error bits.

    Source
    ------
    drivers/net/via-velocity.c of Linux 2.6.32 (before) and 2.6.35 (after the series); VIA's own driver for
    the default thresholds and timers.
    """

    rx_checksum_rule: str = choice(
        "mainline", ("mainline", "via"), "Which received packets count as verified (patch 1)."
    )
    rx_align_rule: str = choice(
        "mainline", ("mainline", "via"), "How a receive buffer is aligned to 64 bytes (patch 2)."
    )
    rx_buffer_address_mod_bytes: int = parameter(
        32, "bytes", 0, 63, "Address of a fresh receive buffer modulo 64."
    )
    tx_suppress_frames: int = parameter(
        0, "frames", 0, 255, "Completions per transmit interrupt (patch 3); 0 = no suppression."
    )
    rx_suppress_frames: int = parameter(
        0, "frames", 0, 255, "Arrivals per receive interrupt (patch 3); 0 = no suppression."
    )
    tx_timer_us: float = parameter(100.0, "us", 0.0, 4032.0, "Transmit suppression timer; 0 = none.")
    rx_timer_us: float = parameter(20.0, "us", 0.0, 4032.0, "Receive suppression timer; 0 = none.")
    napi: bool = switch(False, "NAPI poll with two passes (patch 4).")
    tx_scatter_gather: bool = switch(False, "Page fragments in the descriptor, and GSO with it (patch 6).")
    version: str = choice("1.14", ("1.14", "1.15"), "Driver version (patch 7).")
    tx_ring: int = parameter(64, "descriptors", 16, 256, "Transmit descriptors.")
    rx_ring: int = parameter(
        64, "descriptors", 64, 255, "Receive descriptors, rounded down to a multiple of four."
    )
    rx_copybreak_bytes: int = parameter(200, "bytes", 0, 1540, "Frames shorter than this are copied.")
    xmit_cycles: float = parameter(300.0, "cycles", 0.0, 50000.0, "Fill one descriptor.")
    xmit_buffer_cycles: float = parameter(60.0, "cycles", 0.0, 50000.0, "Map one buffer.")
    tx_reap_cycles: float = parameter(
        200.0, "cycles", 0.0, 50000.0, "Take back one sent descriptor, besides freeing its skb."
    )
    rx_reap_cycles: float = parameter(400.0, "cycles", 0.0, 50000.0, "Take one received descriptor.")
    rx_refill_cycles: float = parameter(
        150.0, "cycles", 0.0, 50000.0, "Map and post one new receive buffer, besides allocating it."
    )
    poll_cycles: float = parameter(200.0, "cycles", 0.0, 50000.0, "One pass of the poll, besides its frames.")
