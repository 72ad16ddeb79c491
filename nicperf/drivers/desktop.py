"""A PC with a gigabit controller on PCI Express, as sold from 2014 to 2022: the other end of most measurements."""

from __future__ import annotations

from dataclasses import dataclass

from nicperf.parameter import parameter, switch

#: What driver and chip count.
COUNTERS = tuple(
    """
    wire_bytes wire_busy_ps gap_ps
    doorbells tx_packets tx_descriptors tx_completions rx_fifo_drops rx_ring_empty rx_refills pauses held_off
    """.split()
)


@dataclass(frozen=True)
class DesktopNic:
    """Controller and driver in one: what e1000e and igb have in common.

    Transmit
        1. The driver fills a chain of descriptors: one for the header, one for every 8 KiB of payload begun,
           and a context descriptor before those of a super-packet. It costs `xmit_cycles` and
           `xmit_buffer_cycles` for each descriptor, then one posted write rings the doorbell. Without `tso`
           the stack cuts segments first (`stack.gso_segment_cycles` and an sk_buff each) and each is such a
           packet. The queue stops when the ring might not take the longest chain and wakes when it would take
           two.
        2. The engine fetches frame after frame of a super-packet into the transmit FIFO, as room comes: set-up
           `dma_setup_ns`, then the frame at `dma_mbyte_s`.
        3. With the packet's last frame fetched the engine writes the descriptors back: a completion, which is
           a cause of an interrupt.
        4. The wire takes the frames from the FIFO, unless the peer has asked for silence (PAUSE).
    Receive
        1. The frame enters the receive FIFO; with no room it is lost. With `pause` the peer is asked to stop
           while nine tenths are full.
        2. The engine writes it to memory (set-up and rate as above, before any transmission) if a descriptor is
           free. The arrival is a cause of an interrupt.
    Interrupt
        1. It comes at once if `hold_off_us` have passed since the one before, else then. The vector is the
           device's own and masks itself (MSI-X): nothing is read. The handler schedules the poll
           (`cpu.irq_entry_cycles`).
        2. The poll takes back every completed packet (`tx_reap_cycles` and the sk_buff) and at most 64 frames
           (`rx_reap_cycles`, an sk_buff each, `stack.gro_cycles` with GRO), which go up through GRO. Buffers
           return 16 or more at a time (`rx_refill_cycles` each and one posted write).
        3. A poll of fewer than 64 frames is the last: one posted write lets interrupts come again.

    Notes
    -----
    Not modelled: adaptive moderation (the hold-off is fixed), byte queue limits, several queues, doorbells
    saved by xmit_more, PCI Express as packets (a rate and a set-up stand for it), the cache effects of DMA,
    copies of small received frames (part of `rx_reap_cycles`), checksum errors, link negotiation.

    Source
    ------
    Linux v6.0, drivers/net/ethernet/intel/e1000e/netdev.c and igb/igb_main.c: chains, stop and wake, poll of
    64, refills of 16, watermark of nine tenths. The descriptor of 8 KiB is e1000e's. Hold-off of 50 us: both
    drivers' "low latency" setting, 20,000 interrupts a second. Ring of 256: default of both. 200 Mbyte/s: one
    lane of 2.5 GT/s carries 250, less the headers of packets of 128 bytes. FIFOs: usual sizes of the 82574
    (40 KiB, split). Cycles are guesses; so is the set-up time.
    """

    tso: bool = switch(True, "The NIC cuts super-packets; otherwise the stack does (GSO).")
    tx_ring: int = parameter(256, "descriptors", 64, 4096, "Transmit descriptors.")
    rx_ring: int = parameter(256, "descriptors", 64, 4096, "Receive descriptors.")
    tx_fifo_bytes: int = parameter(20480, "bytes", 2048, 1 << 20, "Transmit FIFO.")
    rx_fifo_bytes: int = parameter(20480, "bytes", 2048, 1 << 20, "Receive FIFO.")
    hold_off_us: float = parameter(50.0, "us", 0.0, 10000.0, "Least time between two interrupts.")
    pause: bool = switch(True, "Asks the peer for PAUSE (it always obeys one).")
    dma_setup_ns: float = parameter(300.0, "ns", 0.0, 20000.0, "DMA engine set-up per frame.")
    dma_mbyte_s: float = parameter(200.0, "Mbyte/s", 1.0, 100000.0, "DMA engine's rate.")
    xmit_cycles: float = parameter(
        400.0, "cycles", 0.0, 50000.0, "Map and post one packet, besides its descriptors."
    )
    xmit_buffer_cycles: float = parameter(60.0, "cycles", 0.0, 50000.0, "Fill one descriptor.")
    tx_reap_cycles: float = parameter(
        150.0, "cycles", 0.0, 50000.0, "Take back one sent packet, besides freeing its sk_buff."
    )
    rx_reap_cycles: float = parameter(300.0, "cycles", 0.0, 50000.0, "Take one received frame.")
    rx_refill_cycles: float = parameter(100.0, "cycles", 0.0, 50000.0, "Post one receive buffer.")
    poll_cycles: float = parameter(300.0, "cycles", 0.0, 50000.0, "One poll, besides its frames.")
