"""The network unit of Marvell's Armada XP and its Linux driver of spring 2014: TCP segmentation in software (TSO)."""

from __future__ import annotations

from dataclasses import dataclass

from nicperf.parameter import choice, parameter, switch

SEGMENTATIONS = ("tso", "gso", "none")
HANDOVERS = ("count", "owner_bit")
UNITS = ("packets", "descriptors")
#: Transmit queues of the chip; each allocates header slots, one is used here.
TX_QUEUES = 8

#: What driver and chip count. Descriptors: written, sent. Mappings: of pieces of payload and of heads, wherever they are undone.
COUNTERS = tuple(
    """
    wire_bytes wire_busy_ps gap_ps doorbells tx_calls tx_dropped tx_segments tx_pieces tx_descriptors
    tx_completions tx_skbs_freed super_packets header_copies gso_segments page_references sliver_copies
    dma_maps dma_unmaps map_failures wrong_unmaps lost_maps tx_truncated tx_skipped tx_corrupt rx_fifo_drops
    rx_ring_empty copybreaks tx_interrupts rx_threshold_interrupts rx_timer_interrupts bql_stops """.split()
)


@dataclass(frozen=True)
class MvnetaNic:
    """The MAC with its FIFOs, its DMA engine and its counters.

    Transmit
        1. The doorbell adds descriptors to those that the chip may take (`handover` ``count``: up to 255 a
           write). With ``owner_bit``, the way of the older mv643xx, the chip takes a descriptor whose OWN
           bit is set; it goes on until it meets one without, and the doorbell starts it again.
        2. The engine takes the descriptors of one frame, from the first to the last mark: header, then
           pieces of payload, from the addresses that stand there. `dma_setup_ns` a frame, `descriptor_ns` a
           descriptor, `dma_mbyte_s` for the bytes. A descriptor that is not there inside a frame
           (``owner_bit``) cuts it off: the frame is lost (`tx_truncated`), what follows of it is passed
           over (`tx_skipped`).
        3. A piece of up to `sliver_bytes` that does not begin on 8 bytes is read wrongly: the frame leaves
           with a bad checksum and dies at the receiver (`tx_corrupt`). The mv643xx has this fault for 8
           bytes, the Armada XP has not.
        4. The wire takes the frame; then its descriptors count as sent. At `driver.tx_coalesce_count` of them
           (`coalesce_unit`) that are not yet taken back the chip asks for an interrupt. **No timer covers
           what stays below.**
    Receive
        1. The frame enters the FIFO; with no room it is lost. With a free descriptor the engine writes it
           to memory.
        2. An interrupt is asked for at `driver.rx_coalesce_frames`, or `driver.rx_coalesce_us` after the
           first frame.

    Notes
    -----
    Not modelled: further queues (one of eight is used), the arbiter between them, the checksum engine's
    time, PAUSE sent by this side (it obeys one), the parser, the buffer manager, fabric and memory as more
    than a rate and a set-up time.

    Source
    ------
    mvneta.c of Linux 3.18, mv643xx_eth.c (commits 968200f322da and 91986fd3d335). Whether the threshold
    counts packets or descriptors is not documented: the driver says packets, its counter counts
    descriptors. No public figure for FIFO depth or the fabric: these are guesses that let the wire through.
    """

    handover: str = choice("count", HANDOVERS, "How the chip learns what it may take.")
    coalesce_unit: str = choice("packets", UNITS, "What the transmit threshold counts.")
    sliver_bytes: int = parameter(0, "bytes", 0, 8, "Longest piece that must begin on 8 bytes; 8 = mv643xx.")
    rx_fifo_bytes: int = parameter(8192, "bytes", 2048, 1 << 20, "Receive FIFO.")
    tx_fifo_bytes: int = parameter(8192, "bytes", 2048, 1 << 20, "Transmit FIFO.")
    dma_setup_ns: float = parameter(200.0, "ns", 0.0, 20000.0, "DMA engine: set-up, per frame.")
    descriptor_ns: float = parameter(60.0, "ns", 0.0, 20000.0, "DMA engine: fetch of one descriptor.")
    dma_mbyte_s: float = parameter(1000.0, "MB/s", 1.0, 1e5, "DMA engine: rate of a frame's bytes.")


@dataclass(frozen=True)
class MvnetaDriver:
    """The driver: three ways to send a super-packet, and how descriptors come back.

    Transmit, ``tso``
        1. One call for the super-packet (`xmit_cycles`). With fewer free descriptors than 2 x segments +
           fragments, or if a mapping fails, it is freed and counted as dropped.
        2. For each segment: build the headers in a slot of the ring's header memory (`header_cycles`, and
           `header_uncached_cycles` where DMA is not coherent, as that memory is then uncached), one
           descriptor for it (`descriptor_cycles`). The slot has the descriptor's index. It is not mapped:
           the memory is coherent.
        3. For each piece, cut where a segment or a page fragment ends: map it (`dma`), one descriptor.
        4. The sk_buff hangs on the last descriptor of the last segment. Barrier (`barrier_cycles`),
           doorbell (`cpu.mmio_write_cycles`). The first descriptor is published last.
    Transmit, ``gso``
        1. The stack cuts first: for each segment an sk_buff (`stack.gso_segment_cycles`,
           `stack.skb_alloc_cycles`), a reference to each page it touches (`reference_cycles`), and a call
           of the driver; the super-packet's own sk_buff is freed after the last.
        2. The head is mapped like the pieces; descriptors as above. Barrier and doorbell for each segment,
           unless `xmit_more` leaves it to a later one: at most 255 descriptors a doorbell.
    Transmit, ``none``
        TCP makes segments from the start: everything above the driver is done for each.
    Switching
        ``ethtool -K eth0 tso off`` at `tso_off_s` and ``on`` at `tso_on_s` (simulated time with the
        warm-up, 0 = never): in between ``tso`` goes the way of ``gso``. The header memory stays allocated:
        `header_bytes`.
    Queue
        1. It stops at `tx_stop` descriptors (315 of 532: room for one more packet of any kind) and wakes
           when taking back has come down to half of that (157).
        2. With `bql` it also stops at a limit of bytes that the kernel's dynamic queue limits set. The first
           limit is one packet: above 1 `tx_coalesce_count` and `bql` can wait for each other for ever.
    Interrupt and poll
        1. Mask (one write), schedule the poll.
        2. Read the causes. If descriptors are sent: read their count, for each undo its mapping, for the
           last of a packet free the sk_buff (GSO: drop the page references); write the count back, at most
           255 a write.
        3. Take up to 64 frames: copy those of up to `rx_copybreak_bytes` into a small sk_buff, else take
           and map a fresh buffer. Return the descriptors with one write. With budget left, unmask.

    Faults of the past, switched on
        `fault_first_early`
            The first descriptor is handed over before the others are there (mv643xx until 968200f322da;
            needs `nic.handover` ``owner_bit``).
        `sliver_copy` off
            Slivers are not copied into the header memory, where they are aligned (mv643xx until
            91986fd3d335; needs `nic.sliver_bytes`).
        `fault_unwind`
            When a mapping fails, descriptors are unwound from ring index 0 instead of from the packet's
            first (until fef99e840d46 of 2023). `map_failure_calls` makes mappings fail.
        `tx_coalesce_count` 16
            The default until aebea2ba0f74 of December 2014: a socket whose send buffer holds fewer packets
            waits for ever.

    Notes
    -----
    Not modelled: other queues, the lock between sender and poll (part of `xmit_cycles` and
    `tx_reap_cycles`), changes of MTU, VLAN and IPv6, the limit of 17 fragments of an sk_buff, the cost of
    unwinding, padding of short frames, the re-use of a sliver's place by a later header (3b89624ab54b), the
    10 ms timer of kernels before 2014, GRO costs of data that this board receives.

    Source
    ------
    mvneta.c of Linux 3.18 and net/core/tso.c; commits e876f208af18 and 2adb719d74f6 (TSO), aebea2ba0f74
    (one interrupt for each packet), a29b6235560a (BQL), 2a90f7e1d5d0 (xmit_more). Cycles are guesses of the
    order that other drivers of this library use; the DPDK library's 54 ns on a Xeon for header and
    descriptors of a segment bound `header_cycles` from below.
    """

    segmentation: str = choice("tso", SEGMENTATIONS, "Who cuts segments: driver, stack below TCP, or TCP.")
    tso_off_s: float = parameter(0.0, "s", 0.0, 3600.0, "When TSO is switched off; 0 = never.")
    tso_on_s: float = parameter(0.0, "s", 0.0, 3600.0, "When it is switched on again; 0 = never.")
    tso_segments: int = parameter(100, "segments", 1, 100, "gso_max_segs: most segments of a super-packet.")
    tx_ring: int = parameter(532, "descriptors", 434, 1024, "Transmit descriptors.")
    rx_ring: int = parameter(128, "descriptors", 8, 1024, "Receive descriptors.")
    header_slot_bytes: int = parameter(128, "bytes", 128, 256, "Header memory of one transmit descriptor.")
    tx_coalesce_count: int = parameter(
        16, "1", 0, 511, "Sent packets or descriptors per interrupt; 0 = each."
    )
    rx_coalesce_frames: int = parameter(32, "frames", 0, 127, "Received frames per interrupt; 0 = each.")
    rx_coalesce_us: float = parameter(
        100.0, "us", 0.0, 1e5, "Longest wait of a received frame; 0 = for ever."
    )
    rx_copybreak_bytes: int = parameter(256, "bytes", 0, 1536, "Received frames up to this are copied.")
    xmit_more: bool = switch(False, "One doorbell for several packets (since January 2017).")
    bql: bool = switch(False, "Byte queue limits (since January 2017).")
    sliver_copy: bool = switch(True, "Slivers are copied to where they are aligned.")
    fault_first_early: bool = switch(False, "A packet's first descriptor is handed over first.")
    fault_unwind: bool = switch(False, "Unwinding starts at ring index 0.")
    map_failure_calls: int = parameter(0, "calls", 0, 1 << 30, "One mapping of so many fails; 0 = none.")
    xmit_cycles: float = parameter(400.0, "cycles", 0.0, 50000.0, "One call of the driver, with its lock.")
    header_cycles: float = parameter(150.0, "cycles", 0.0, 50000.0, "Build one segment's headers.")
    header_uncached_cycles: float = parameter(
        200.0, "cycles", 0.0, 50000.0, "What that takes more in uncached memory."
    )
    descriptor_cycles: float = parameter(50.0, "cycles", 0.0, 50000.0, "Fill one transmit descriptor.")
    barrier_cycles: float = parameter(60.0, "cycles", 0.0, 5000.0, "Barrier before a doorbell.")
    reference_cycles: float = parameter(50.0, "cycles", 0.0, 5000.0, "Take or drop one page reference.")
    sliver_cycles: float = parameter(60.0, "cycles", 0.0, 5000.0, "Copy one sliver.")
    tx_reap_cycles: float = parameter(60.0, "cycles", 0.0, 50000.0, "Take back one descriptor.")
    rx_reap_cycles: float = parameter(450.0, "cycles", 0.0, 50000.0, "Take one received frame.")
    poll_cycles: float = parameter(300.0, "cycles", 0.0, 50000.0, "One poll, besides its frames.")

    @property
    def longest_chain(self) -> int:
        """Most descriptors of one packet: 2 x segments + 17 fragments."""
        return 2 * self.tso_segments + 17

    @property
    def tx_stop(self) -> int:
        """Descriptors in use at which the queue stops."""
        return self.tx_ring - self.longest_chain

    @property
    def tx_wake(self) -> int:
        """Descriptors in use at which it wakes."""
        return self.tx_stop // 2

    @property
    def header_bytes(self) -> int:
        """Header memory of the port, allocated whether TSO is on or off."""
        return TX_QUEUES * self.tx_ring * self.header_slot_bytes
