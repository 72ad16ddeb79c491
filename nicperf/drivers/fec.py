"""The FEC (ENET) of an i.MX8 and its Linux driver of September 2022: three ways to receive, and XDP."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from nicperf.errors import ScenarioError, closest
from nicperf.packets import ebpf
from nicperf.parameter import choice, parameter, switch, text
from nicperf.parts import pages

RX_PATHS = ("original", "release", "recycle")
TURNOVERS = ("mapping", "page", "release", "never")
XDP_MODES = ("native", "skb")

#: What driver and chip count; the page pool's names are those of ``ethtool -S``.
COUNTERS = (
    *"wire_bytes wire_busy_ps gap_ps".split(),
    *"""
    doorbells copybreaks tx_completions rx_threshold_fires rx_timer_fires tx_threshold_fires tx_timer_fires
    rx_fifo_drops rx_ring_empty rx_dropped pauses turnovers
    xdp_instructions xdp_calls xdp_aborted xdp_drop xdp_pass xdp_tx xdp_redirect udp_no_ports
    fragments_taken fragment_blocks pages_allocated pages_freed
    """.split(),
    *pages.COUNTERS,
    *"""
    rx_pp_inflight rx_pp_in_cache rx_pp_in_ring skbs heads_allocated heads_freed
    lines_cleaned lines_invalidated dma_maps dma_syncs dma_unmaps
    """.split(),
)


@dataclass(frozen=True)
class FecNic:
    """The MAC with its FIFOs and its DMA engine.

    Receive
        1. A frame enters the receive FIFO; with no room it is lost. Above `pause_above_bytes` the MAC asks
           the peer to pause, below it lets it go on.
        2. With a free descriptor the engine writes the frame to memory: `dma_setup_ns`, then `dma_mbyte_s`.
        3. The descriptor is closed and counts towards the coalesced interrupt: at
           `driver.rx_coalesce_frames`, or `driver.rx_coalesce_us` after the first.
    Transmit
        1. The doorbell (TDAR), or the end of the previous frame, lets the engine fetch the next frame into
           the FIFO.
        2. The wire takes it; then the descriptor is closed and counts like a received one.

    Notes
    -----
    Not modelled: three queues (one is used), checksum and VLAN engines (their work is free), the store-and-
    forward threshold, energy-efficient Ethernet, errors.

    Source
    ------
    fec.h and fec_main.c of Linux v6.0. No figure for FIFO depth or bus bursts of the i.MX8QXP is public:
    `rx_fifo_bytes`, `dma_setup_ns` and `dma_mbyte_s` are guesses that let the wire through.
    """

    rx_fifo_bytes: int = parameter(8192, "bytes", 2048, 1 << 20, "Receive FIFO.")
    tx_fifo_bytes: int = parameter(8192, "bytes", 2048, 1 << 20, "Transmit FIFO.")
    dma_setup_ns: float = parameter(
        100.0, "ns", 0.0, 20000.0, "DMA engine: descriptor and set-up, per frame."
    )
    dma_mbyte_s: float = parameter(800.0, "MB/s", 1.0, 1e5, "DMA engine: rate of a frame's bytes.")
    pause: bool = switch(True, "802.3x flow control, as the driver offers by default.")
    pause_above_bytes: int = parameter(
        2048, "bytes", 64, 1 << 20, "Fill of the receive FIFO that makes the MAC ask for a pause."
    )


@dataclass(frozen=True)
class FecDriver:
    """The driver: interrupt, poll, and the receive path before and after the page_pool patch.

    Interrupt
        1. Read and acknowledge IEVENT, mask (one read, two writes), schedule the poll.
        2. The poll takes up to 64 frames, one after the other, each through the stack before the next unless GRO holds
           it, then takes back sent descriptors. With budget left it reads and acknowledges IEVENT, begins another pass if
           there were events, and otherwise unmasks. Each call lets go what GRO holds (HZ below 1000, as on arm64).
    Receive, every path
        1. Write IEVENT, which clears a pending receive event; at the end a barrier, the descriptor, and a write to RDAR.
    Receive, ``original``: buffers of 2048 bytes from page fragments
        1. A frame up to `rx_copybreak_bytes`: a small sk_buff, sync its bytes for the CPU, copy, sync the
           buffer for the device; the buffer stays.
        2. A longer one: allocate and map a fresh sk_buff, unmap the old one, hand it up.
    Receive, ``release`` and ``recycle``: a page for each frame, copybreak is dead
        1. Sync the frame for the CPU, take a page from the pool for the descriptor.
        2. Native XDP runs. DROP and ABORTED put the page back into the cache at once.
        3. build_skb on the page. ``release`` takes the page out of the pool here (page_pool_release_page);
           ``recycle`` marks the sk_buff, and whoever frees it puts the page into the pool's ring (into the
           cache since v6.4, if that is the poll).
    Native XDP verdicts
        PASS goes on with step 3. TX syncs the frame, fills a descriptor and keeps the page until completion; the driver of
        2022 had no TX: with `xdp_tx` off it drops, as that driver did. REDIRECT goes to a socket of AF_XDP that copies: then
        the page is back in the cache at once, synced whole (xdp_return_buff). The path ``original`` has no native XDP.
    Skb-mode XDP
        The program runs on the finished sk_buff above the driver; DROP frees it there, TX sends it by the
        driver's transmit path.
    Transmit
        1. Map, descriptor, barrier, TDAR. Taking it back unmaps and frees.

    Notes
    -----
    *The turnover.* `turnover_cycles` is the part of the published difference between release and recycle that no mechanism
    here explains; it is fitted. `turnover_at` says to what it is tied: ``mapping``, each mapping of a receive buffer that is
    undone (what an IOMMU or a dear unmap would cost), ``page``, each page or block from the page allocator (cold page
    structures), ``release``, only a page that leaves the pool, or ``never``.

    *Truesize.* A full frame accounts for a page and its sk_buff with the pool (4352 bytes), for its buffer and sk_buff
    without (2688): with `window_counts_truesize` the same receive buffer offers a smaller window on the pool's paths.

    Not modelled: wake-up on LAN, time stamps, the byte swap of the i.MX28, changes of MTU, the restart of the
    MAC when a program is attached, XDP metadata in the stack, AF_XDP beyond the copy into its ring
    (``redirect``).

    Source
    ------
    Patches and tables on netdev, September to November 2022, by Shenwei Wang; fec_main.c of Linux v6.0 and v6.9. Default
    coalescing of 200 frames or 1000 us, rings of 512 (before) and 256 (after the patch), copybreak of 256 bytes stand there.
    """

    rx_path: str = choice("recycle", RX_PATHS, "How frames are received.")
    rx_ring: int = parameter(256, "descriptors", 8, 4096, "Receive descriptors.")
    tx_ring: int = parameter(512, "descriptors", 8, 4096, "Transmit descriptors.")
    rx_copybreak_bytes: int = parameter(
        256, "bytes", 0, 1536, "Frames up to this are copied (original path)."
    )
    rx_coalesce_frames: int = parameter(200, "frames", 0, 255, "Received frames per interrupt; 0 = each.")
    rx_coalesce_us: float = parameter(
        1000.0, "us", 0.0, 1e5, "Longest wait of a received frame; 0 = for ever."
    )
    tx_coalesce_frames: int = parameter(200, "frames", 0, 255, "Sent frames per interrupt; 0 = each.")
    tx_coalesce_us: float = parameter(1000.0, "us", 0.0, 1e5, "Longest wait of a sent frame; 0 = for ever.")
    direct_recycling: bool = switch(
        False, "Pages freed with an sk_buff in the poll go to the cache (since v6.4)."
    )
    xdp_tx: bool = switch(False, "The driver sends on XDP_TX (since 2023); without, it drops.")
    rx_cycles: float = parameter(
        450.0,
        "cycles",
        0.0,
        50000.0,
        "Take one received descriptor and return it, besides all that is named below.",
    )
    barrier_cycles: float = parameter(40.0, "cycles", 0.0, 5000.0, "Full barrier before a descriptor.")
    build_skb_cycles: float = parameter(
        250.0,
        "cycles",
        0.0,
        50000.0,
        "Set up the sk_buff around received data, besides its head and its memory.",
    )
    xmit_cycles: float = parameter(400.0, "cycles", 0.0, 50000.0, "Fill one transmit descriptor.")
    tx_reap_cycles: float = parameter(250.0, "cycles", 0.0, 50000.0, "Take back one sent descriptor.")
    poll_cycles: float = parameter(300.0, "cycles", 0.0, 50000.0, "One pass of the poll, besides its frames.")
    rx_sync_bytes: int = parameter(
        3520,
        "bytes",
        64,
        3520,
        "How much of a page the pool syncs for the device: all that a frame might fill.",
    )
    window_counts_truesize: bool = switch(
        False, "`socket.tcp_window_bytes` is memory that full frames fill with their truesize, not payload."
    )
    turnover_at: str = choice("mapping", TURNOVERS, "What `turnover_cycles` is tied to.")
    turnover_cycles: float = parameter(0.0, "cycles", 0.0, 50000.0, "Unexplained cost of a turnover; fitted.")


@dataclass(frozen=True)
class Xdp:
    """A program on the receive path; it is executed, instruction by instruction, on each frame.

    Notes
    -----
    Each instruction charges `instruction_cycles`, each call `call_cycles`: what compiled code takes, although here it is
    interpreted. The first touch of a frame's data by the CPU misses the cache and charges `miss_cycles`, once per frame: the
    program's touch, if it has more than the two instructions of a constant verdict, or that of the sk_buff's making. The
    program sees real headers (TCP of the stream, UDP without a checksum to port 9) before a payload of zeros; what it writes is
    not seen by others. Skb mode needs the packet generator.

    Not modelled: programs that run long without looking at the frame, multi-buffer frames, tail calls into other programs'
    costs, metadata handed to the stack.

    Source
    ------
    Figures are guesses for an in-order core; a miss to LPDDR4 takes 100 to 200 ns on such boards (lmbench
    tables of TI AM62x).
    """

    program: str = text("none", "A sample's name (`nicperf.packets.ebpf.samples`), an object file, or none.")
    mode: str = choice("native", XDP_MODES, "In the driver, or on the sk_buff above it (xdpgeneric).")
    instruction_cycles: float = parameter(
        1.5, "cycles", 0.0, 1000.0, "One instruction of the compiled program."
    )
    call_cycles: float = parameter(60.0, "cycles", 0.0, 50000.0, "One call of a helper.")
    miss_cycles: float = parameter(180.0, "cycles", 0.0, 50000.0, "First touch of received data.")
    run_cycles: float = parameter(60.0, "cycles", 0.0, 50000.0, "Enter the program and act on its verdict.")
    generic_cycles: float = parameter(
        300.0, "cycles", 0.0, 50000.0, "Skb mode: prepare the sk_buff for the program, besides running it."
    )
    redirect_cycles: float = parameter(
        400.0,
        "cycles",
        0.0,
        50000.0,
        "Act on a redirection: target, bulk queue, the copy into an AF_XDP ring.",
    )


def xdp_program(name: str) -> ebpf.Program:
    """The program that `Xdp.program` names, with maps of its own.

    Raises
    ------
    ScenarioError
        Neither a sample nor a file, or a file with several programs.
    DataError
        A file that is no object of clang.
    """
    if name in ebpf.samples():
        return ebpf.sample(name)
    if not Path(name).is_file():
        raise ScenarioError(
            "neither a sample program nor an object file",
            place="scenario",
            field="xdp.program",
            value=name,
            cure=closest(name, ebpf.samples()),
        )
    source = ebpf.load(name)
    if len(source.programs) > 1:
        raise ScenarioError(
            f"holds several programs ({', '.join(source.programs)})",
            place="scenario",
            field="xdp.program",
            value=name,
            cure="compile each into an object of its own",
        )
    return ebpf.Program(source, next(iter(source.programs)))
