"""ixgbe: a PCI Express adapter of 10 Gbit/s with several queue pairs, as Linux 3.12 drove it."""

from __future__ import annotations

from dataclasses import dataclass

from nicperf.parameter import choice, parameter, switch
from nicperf.parts import copies

#: What the driver and the adapter count, on all queues together, and what happens to payload in memory.
COUNTERS = (
    *"""
    wire_bytes wire_busy_ps gap_ps
    doorbells tx_packets tx_descriptors tx_completions lost_packets pauses rx_missed rx_no_descriptor
    rx_descriptors rsc_merged rx_refills held_off itr_lowest itr_low itr_bulk
    """.split(),
    *copies.COUNTERS,
)


@dataclass(frozen=True)
class IxgbeNic:
    """The adapter: TSO, RSC, PAUSE and the PCI Express link, shared by the queue pairs.

    Transmit
        1. A doorbell makes the adapter fetch descriptors and data: two reads over PCI Express
           (`pcie_read_ns` each) before the first frame, if the wire was idle; later ones are fetched meanwhile.
        2. Queues take turns. Of the packet at the head of a queue as many segments leave as one coalescing of the
           receiver takes (`rsc_bytes`), or its GRO (17), back to back: that burst is what is simulated, not each
           frame. It takes the wire for every frame's preamble, headers, FCS and gap, or PCI Express for its bytes,
           whichever is longer.
        3. With the last burst of a packet the descriptors are written back, a cause of an interrupt.
        4. A packet that would bring what waits for the wire above `wire.buffer_bytes` is lost: see
           `nicperf.parts.wire.BufferedWire`.
    Receive
        1. A burst enters the receive FIFO; with no room it is lost. With `pause` the peer is asked to stop
           while more than `pause_above_bytes` are full.
        2. The flow decides the queue: that of the core which sends for it (flow director, ATR).
        3. The burst is written to host memory over PCI Express as soon as its queue has descriptors for it.
           Without any, it waits and those behind it too (`pause`), or is lost.
        4. With `rsc` the frames of a burst become one packet in buffers of 2 KiB; without, one each. A coalescing
           also ends for reasons that are not modelled (time, PSH, other flows): `rsc_bytes` stands for them.

    Notes
    -----
    Not modelled: frames of two queues interleaved inside a burst (the adapter does that), RSC contexts that
    stay open over several bursts, header split, the reads and writes of descriptors as transactions of their
    own, flow director's filter table (a process that moves to another core), VLANs, checksum errors.

    Source
    ------
    Linux 3.12, drivers/net/ethernet/intel/ixgbe: buffers of 2 KiB and at most 16 of them in one coalescing
    (RSCCTL), flow control full by default. Intel 82599 data sheet: receive buffer of 512 KiB, PCI Express 2.0
    x8. Rate: 8 lanes of 5 GT/s in 8b/10b carry 4 GB/s, less the headers of packets of 256 bytes. The time of a
    read is a guess of the order measured on machines of 2008 to 2010.
    """

    tx_ring: int = parameter(512, "descriptors", 64, 4096, "Transmit descriptors of each queue.")
    rx_ring: int = parameter(512, "descriptors", 64, 4096, "Receive descriptors of each queue.")
    tso: bool = switch(True, "The NIC cuts super-packets; otherwise the stack does (GSO).")
    rsc: bool = switch(True, "The NIC joins segments of one burst (hardware LRO).")
    rsc_bytes: float = parameter(
        32768.0,
        "bytes",
        576.0,
        32768.0,
        "Payload that one coalescing joins, on average; 16 buffers of 2 KiB at most.",
    )
    rx_fifo_bytes: int = parameter(524288, "bytes", 65536, 1 << 22, "Receive FIFO.")
    pause: bool = switch(
        True, "Asks the peer for PAUSE (it always obeys one), and never drops for a full ring."
    )
    pause_above_bytes: int = parameter(
        458752, "bytes", 0, 1 << 22, "Fill of the receive FIFO above which the peer is asked to stop."
    )
    pcie_mbyte_s: float = parameter(
        3200.0, "Mbyte/s", 10.0, 100000.0, "PCI Express, payload in each direction."
    )
    pcie_read_ns: float = parameter(700.0, "ns", 0.0, 20000.0, "From a read request to its first data.")


@dataclass(frozen=True)
class IxgbeDriver:
    """The driver's part: descriptors, NAPI and interrupt throttling of each queue pair.

    Transmit
        1. A packet takes a context descriptor if the NIC shall cut it, one for its head, and one for each 16 KiB
           or fragment of a page block begun. It costs `xmit_cycles` and `xmit_buffer_cycles` for each
           descriptor, then a posted write rings the doorbell. The queue stops when the ring might not take the
           longest packet, and wakes when it would take two.
    Interrupt
        1. Each queue pair has a vector of its own, bound to the core that the pair belongs to. It comes at once if
           the throttle interval has passed since the one before, else then, and masks itself.
        2. NAPI takes back every completed packet (`tx_reap_cycles` and the sk_buff) and at most 64 received ones
           (`rx_reap_cycles`, an sk_buff, `rx_page_cycles` for each buffer), which go up through GRO.
        3. Buffers return 16 or more at a time (`rx_refill_cycles` each and one posted write).
        4. A poll of fewer than 64 packets is the last. With `itr` dynamic the throttle interval is set anew, for each
           direction by its bytes per microsecond of the interval before: up to 10 the class goes towards lowest
           latency (10 us), above 20 to bulk (125 us), between them low latency (50 us); the slower class of the two
           counts, and the interval approaches it in steps: 10 new old / (9 new + old). One posted write sets it and
           lets interrupts come again.

    Notes
    -----
    Not modelled: the watchdog, byte queue limits, adaptive filters of later drivers, interrupts moved between cores
    while the test runs.

    Source
    ------
    Linux 3.12, ixgbe_main.c: ixgbe_update_itr, ixgbe_set_itr, ixgbe_poll, rings of 512. Cycles are guesses.
    """

    itr: str = choice("dynamic", ("dynamic", "fixed"), "Interrupt throttling: adaptive, or `itr_us`.")
    itr_us: float = parameter(
        50.0, "us", 1.0, 1000.0, "Throttle interval: fixed, or where the adaptive one begins."
    )
    xmit_cycles: float = parameter(
        500.0, "cycles", 0.0, 50000.0, "Map and post one packet, besides its descriptors."
    )
    xmit_buffer_cycles: float = parameter(60.0, "cycles", 0.0, 50000.0, "Fill one descriptor.")
    tx_reap_cycles: float = parameter(
        200.0, "cycles", 0.0, 50000.0, "Take back one sent packet, besides freeing its sk_buff."
    )
    rx_reap_cycles: float = parameter(300.0, "cycles", 0.0, 50000.0, "Take one received packet.")
    rx_page_cycles: float = parameter(
        100.0, "cycles", 0.0, 50000.0, "Attach one received buffer to its sk_buff."
    )
    rx_refill_cycles: float = parameter(100.0, "cycles", 0.0, 50000.0, "Post one receive buffer.")
    poll_cycles: float = parameter(300.0, "cycles", 0.0, 50000.0, "One poll, besides its packets.")
