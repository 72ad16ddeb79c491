"""Pages, fragments, page_pool and heads of sk_buffs: sizes, counters, and what each step costs."""

from __future__ import annotations

from dataclasses import dataclass, fields

from nicperf.parameter import parameter


@dataclass(frozen=True)
class PageAllocator:
    """The kernel's page allocator: a list per CPU in front of the buddy lists.

    Notes
    -----
    Single pages come from the list, which takes a batch from the buddy lists when it is empty and gives one
    back when it is too long. Larger blocks come from the buddy lists each time. An allocation fails when all
    memory is out. Batch and length are usual values of a large zone, not those of any board here.

    Not modelled: zones, watermarks, reclaim, fragmentation of memory, other users of it, other CPUs, small
    blocks on the list per CPU (recent kernels).
    """

    limit_pages: int = parameter(65536, "pages", 1, 1 << 20, "Memory for the network, in pages of 4 KiB.")
    batch_pages: int = parameter(63, "pages", 1, 4096, "Moved at once to or from the buddy lists.")
    high_pages: int = parameter(378, "pages", 1, 65536, "Length at which the list gives a batch back.")


@dataclass(frozen=True)
class PagePool:
    """One page_pool of a receive queue.

    Notes
    -----
    `page_pool_alloc_pages` takes from the cache; an empty cache is refilled from the ring with up to
    `refill_pages`, and, when the ring is empty too, from the page allocator with `bulk_pages`, each of which
    is mapped once and stays mapped. `page_pool_put_page` returns a page that nobody else holds: to the cache
    where the caller may touch it (the driver in its poll; an sk_buff freed there only since v6.4), otherwise
    to the ring, and past a full ring to the allocator. A page that somebody else holds leaves the pool.

    Not modelled: fragments of a page, memory in reserve (pfmemalloc), the batches in which the consumer
    frees slots of the ring, more than one consumer, memory providers, the table of mapped pages that recent
    kernels keep.

    Source
    ------
    Linux v6.0, net/core/page_pool.c and include/net/page_pool.h. The cache holds two polls of 64 packets: one
    to allocate from, one for direct recycling by XDP_DROP. A ring beyond 32768 was refused in 2022.
    """

    cache_pages: int = parameter(128, "pages", 1, 4096, "PP_ALLOC_CACHE_SIZE.")
    refill_pages: int = parameter(64, "pages", 1, 4096, "PP_ALLOC_CACHE_REFILL.")
    bulk_pages: int = parameter(64, "pages", 1, 4096, "Pages of one bulk allocation.")
    ring_pages: int = parameter(
        0, "pages", 0, 32768, "pool_size; 0 takes the size of the driver's receive ring."
    )


# The counters of `page_pool_stats_t` in its order, as `ethtool -S` names them, and one of our own.
COUNTERS = (
    "rx_pp_alloc_fast",
    "rx_pp_alloc_slow",
    "rx_pp_alloc_slow_ho",
    "rx_pp_alloc_empty",
    "rx_pp_alloc_refill",
    "rx_pp_alloc_waive",
    "rx_pp_recycle_cached",
    "rx_pp_recycle_cache_full",
    "rx_pp_recycle_ring",
    "rx_pp_recycle_ring_full",
    "rx_pp_recycle_released_ref",
    "page_pool_alloc_failed",
)


@dataclass(frozen=True)
class SkbHeads:
    """The cache of sk_buff heads per CPU (napi_alloc_cache).

    Notes
    -----
    An empty cache takes a bulk from the slab; a full one gives half of its room back. `build_skb` and
    `netdev_alloc_skb` bypass it.

    Source
    ------
    Linux v6.0, net/core/skbuff.c: NAPI_SKB_CACHE_SIZE, NAPI_SKB_CACHE_BULK.
    """

    cache_heads: int = parameter(64, "heads", 2, 4096, "Room of the cache.")
    bulk_heads: int = parameter(16, "heads", 1, 2048, "Taken from the slab at once.")


@dataclass(frozen=True)
class PageCosts:
    """Cycles of each step, in the order of the steps in `_pages.pxd`.

    Notes
    -----
    The sums are published, how they divide among the steps is guessed. On a Xeon E5-1650 v4 the defaults give

    - cache to cache (`pool_fast` + `pool_cached`): 20 cycles, published 19..20;
    - through the ring (`pool_fast` + `pool_consume` + `pool_ring`): 55, published 54..57;
    - through the page allocator (`bulk` / 64 + `hot` + `free` + `pool_hold` + `pool_fast` + `pool_release`):
      255, published 222..284, without DMA mapping.

    On an unnamed arm64 server the three take 26..30, 54..57 and 178..185 ns. On a Cortex-A53 at 1.0 GHz
    allocating and freeing one page takes about 544 ns, 2.1 times the cycles of the Xeon: that factor on all
    steps is the first guess for a Cortex-A35, for which nothing is published. Steps without a published sum
    (cold pages, buddy lists, blocks, heads) are guesses throughout.

    The microseconds that recycling saved on an i.MX8QXP are not in these steps: cold page structures and data,
    truesize, and what follows in the stack carry most. An experiment may fit `pool_release_cycles` as the
    penalty for a page that leaves; it then stands for all of that, and should be named as fitted.

    Not modelled: the cost of a reference (get_page, put_page) by itself, for which no figure is published.

    Source
    ------
    netdev: Jesper Dangaard Brouer, January 2025, and Toke Hoiland-Jorgensen, 8 March 2025 (E5-1650 v4);
    Yunsheng Lin, 13 December 2024 and January 2025 (arm64). xdp-project, areas/arm64/board_espressobin08
    (Cortex-A53, a sum over its profile). xdp-project, areas/mem/page_pool06_alloc_pages_bulk: a bulk of 64
    saves 39 ns per page against single allocations.
    """

    alloc_cycles: float = parameter(
        140.0, "cycles", 0.0, 50000.0, "Call of the allocator for one page, besides the page."
    )
    bulk_cycles: float = parameter(
        320.0, "cycles", 0.0, 50000.0, "Call of the allocator for many pages, besides the pages."
    )
    hot_cycles: float = parameter(90.0, "cycles", 0.0, 50000.0, "A page that was freed here a while ago.")
    cold_cycles: float = parameter(
        250.0, "cycles", 0.0, 50000.0, "A page from the buddy lists: its structure is not in the cache."
    )
    buddy_cycles: float = parameter(
        1500.0, "cycles", 0.0, 500000.0, "Fetch a batch from the buddy lists, under their lock."
    )
    high_order_cycles: float = parameter(800.0, "cycles", 0.0, 500000.0, "Allocate a block of several pages.")
    free_cycles: float = parameter(110.0, "cycles", 0.0, 50000.0, "Free a page with its last reference.")
    drain_cycles: float = parameter(
        1500.0, "cycles", 0.0, 500000.0, "Give a batch back to the buddy lists, under their lock."
    )
    fragment_cycles: float = parameter(15.0, "cycles", 0.0, 50000.0, "Cut a fragment off the block.")
    rewind_cycles: float = parameter(
        30.0, "cycles", 0.0, 50000.0, "Start over on a block whose fragments are all back."
    )
    pool_fast_cycles: float = parameter(10.0, "cycles", 0.0, 50000.0, "page_pool: pop from the cache.")
    pool_consume_cycles: float = parameter(
        15.0, "cycles", 0.0, 50000.0, "page_pool: fetch one page from the ring into the cache."
    )
    pool_hold_cycles: float = parameter(
        20.0, "cycles", 0.0, 50000.0, "page_pool: take a page in, without its mapping."
    )
    pool_cached_cycles: float = parameter(
        10.0, "cycles", 0.0, 50000.0, "page_pool: put a page back into the cache."
    )
    pool_ring_cycles: float = parameter(
        30.0, "cycles", 0.0, 50000.0, "page_pool: put a page back into the ring, under the producer's lock."
    )
    pool_release_cycles: float = parameter(
        20.0, "cycles", 0.0, 50000.0, "page_pool: let a page go, without its unmapping."
    )
    head_alloc_cycles: float = parameter(70.0, "cycles", 0.0, 50000.0, "A head from the slab.")
    head_free_cycles: float = parameter(60.0, "cycles", 0.0, 50000.0, "A head back to the slab.")
    head_cached_cycles: float = parameter(
        10.0, "cycles", 0.0, 50000.0, "A head from the cache per CPU, or back to it."
    )
    head_bulk_alloc_cycles: float = parameter(
        500.0, "cycles", 0.0, 50000.0, "A bulk of heads from the slab into the cache."
    )
    head_bulk_free_cycles: float = parameter(
        700.0, "cycles", 0.0, 50000.0, "Half of the cache back to the slab."
    )


STEPS = tuple(field.name.removesuffix("_cycles") for field in fields(PageCosts))
