"""What copies between the user and the kernel cost, through the caches and around them."""

from __future__ import annotations

from dataclasses import dataclass

from nicperf.parameter import choice, parameter, switch

LEVELS = ("l1", "l2", "l3", "dram")
#: Message size at which the published penalty was measured: the two readings of it agree there.
PENALTY_BYTES = 16384


@dataclass(frozen=True)
class Copies:
    """Caches of one core, and the price of a byte by where its line is.

    Notes
    -----
    A copy call of S bytes costs a + b * S. Through the caches, b depends on where each line of the kernel's buffer
    is; the user's buffer is in L1. The price contains the read for ownership and the write-back of what makes
    room. Around the caches, b is one price, a is the wait for the write-combining buffers at the fence, and a
    call that starts in the middle of a line, which the call before has flushed in part, pays for that; a line that
    was cached is so no longer. Calls of up to 7 bytes use plain stores and a fence with nothing to wait for.

    What a non-temporal call costs more than its bytes was measured at one message size only.
    `nocache_penalty_cycles` is that surplus at 16384 bytes: all of it for each call (``per_call``), or in
    proportion to the bytes (``per_byte``).

    Levels are replaced first in, first out, and the last holds all that the others hold. A ring of buffers that
    is used in turn is then found in the smallest level that holds it whole. The device's reads without DDIO
    write dirty lines back and leave them clean or drop them; its writes go to memory. With DDIO both use the
    last level.

    An application may run beside the copies: random accesses in a working set, whose lines go in proportion to
    their share of the level that holds it.

    Not modelled: associativity, prefetchers, lines that several cores write, bandwidth taken from others, the few
    ways that DDIO may write to, huge pages and TLBs, plain stores for up to 7 bytes at both ends of a
    non-temporal copy. Cores that share the last level are given a share each. Prices in cycles follow the clock
    of the core; those of memory do not in truth.

    Source
    ------
    Linux 3.7 to 4.0, arch/x86/lib/copy_user_nocache_64.S (8-byte stores, one sfence for each call). Sizes: Nehalem
    (Bloomfield). Latencies: 10, 40 cycles and 51 ns, techreport 18581 and AnandTech 2978; ten line-fill buffers
    and 60 ns bound a core to 10.7 GB/s, from which 0.4 cycles per byte to DRAM and 0.15 to L3 are guesses, as are
    the other prices. Nothing is published for non-temporal stores of this processor: the byte costs what it
    costs in L3, where the pages that the thread's sender reuses are, and the surplus is left to a fit (a server
    core of recent years takes 405 to 463 cycles). Packed copies of 1400 bytes, seven of eight of which start in a
    line's middle, lost 12 cycles there with 8-byte stores (414 with 32-byte stores), although all end in one. A
    write-back to memory of 25.6 GB/s takes 2.5 ns.
    """

    mode: str = choice("cached", ("cached", "nocache"), "How data from the user are copied.")
    penalty_reading: str = choice(
        "per_call", ("per_call", "per_byte"), "What the surplus of a non-temporal copy is proportional to."
    )
    l1_bytes: int = parameter(32 << 10, "bytes", 64, 1 << 20, "Capacity of L1.")
    l2_bytes: int = parameter(256 << 10, "bytes", 64, 1 << 26, "Capacity of L2.")
    l3_bytes: int = parameter(8 << 20, "bytes", 64, 1 << 30, "Capacity of L3, or of this core's share of it.")
    cached_call_cycles: float = parameter(
        30.0, "cycles", 0.0, 10000.0, "Set-up of a copy through the caches."
    )
    cached_l1_cycles_per_byte: float = parameter(
        0.07, "cycles/byte", 0.0, 50.0, "Copy to or from a line in L1."
    )
    cached_l2_cycles_per_byte: float = parameter(
        0.09, "cycles/byte", 0.0, 50.0, "Copy to or from a line in L2."
    )
    cached_l3_cycles_per_byte: float = parameter(
        0.15, "cycles/byte", 0.0, 50.0, "Copy to or from a line in L3."
    )
    cached_dram_cycles_per_byte: float = parameter(
        0.4, "cycles/byte", 0.0, 50.0, "Copy to a line in memory, read for ownership and write-back included."
    )
    read_dram_cycles_per_byte: float = parameter(0.4, "cycles/byte", 0.0, 50.0, "Copy from a line in memory.")
    nocache_penalty_cycles: float = parameter(
        400.0, "cycles", 0.0, 10000.0, "Surplus of a non-temporal copy of 16384 bytes."
    )
    nocache_cycles_per_byte: float = parameter(
        0.15, "cycles/byte", 0.0, 50.0, "Non-temporal copy of a byte, without that."
    )
    split_line_cycles: float = parameter(
        14.0, "cycles", 0.0, 10000.0, "What starting in the middle of a line adds to a non-temporal copy."
    )
    idle_fence_cycles: float = parameter(5.0, "cycles", 0.0, 1000.0, "A fence with nothing to wait for.")
    ddio: bool = switch(False, "The device reads and writes the last level instead of memory.")
    snooped_line: str = choice(
        "clean", ("clean", "invalid"), "What a dirty line is after the device has read it, without DDIO."
    )
    dma_cache_ns: float = parameter(13.0, "ns", 0.0, 10000.0, "Latency of a device's read from a cache.")
    dma_memory_ns: float = parameter(51.0, "ns", 0.0, 10000.0, "Latency of a device's read from memory.")
    dma_writeback_ns: float = parameter(
        2.5, "ns", 0.0, 1000.0, "Write-back of a dirty line that it reads, without DDIO."
    )
    application_bytes: int = parameter(
        0, "bytes", 0, 1 << 30, "Working set of an application beside the copies; 0 for none."
    )
    application_accesses: int = parameter(
        512, "accesses", 0, 1 << 20, "Its random accesses between two copies to the kernel."
    )
    application_miss_cycles: float = parameter(
        125.0, "cycles", 0.0, 10000.0, "What a missing line adds to an access of that application."
    )


#: The counters of `copies_stats_t` in its order.
COUNTERS = (
    "copy_cached_calls",
    "copy_nocache_calls",
    "copy_read_calls",
    *(f"copy_write_{level}_bytes" for level in LEVELS),
    "copy_nocache_bytes",
    *(f"copy_read_{level}_bytes" for level in LEVELS),
    "copy_owned_lines",
    "copy_dirtied_lines",
    "copy_writeback_lines",
    "copy_displaced_lines",
    "copy_displaced_dirty_lines",
    "copy_partial_lines",
    "copy_split_lines",
    "copy_fences",
    "copy_idle_fences",
    "copy_dma_cache_lines",
    "copy_dma_memory_lines",
    "copy_dma_writeback_lines",
    "copy_dma_invalidated_lines",
    "copy_dma_allocated_lines",
    "copy_dma_overwritten_lines",
    "copy_application_accesses",
    "copy_application_misses",
    "copy_application_evictions",
)
