"""What holds of pages at any time, read from the structures alone."""

from __future__ import annotations

from collections import Counter
from typing import Any


def broken(pages: Any, pool: Any, dma: Any, sizes: dict[str, int], calls: Counter[str]) -> set[str]:
    """Names of the laws that do not hold.

    `sizes` are the pool's parameters, `calls` how often `alloc` and `put` of the pool were called.
    """
    idle = [*pages.unused, *pages.local]
    inside = [*pool.cache, *pool.ring]
    known = {i: pages.page(i) for i in range(pages.known)}
    live = {i: page for i, page in known.items() if i not in idle}
    members = {i for i, page in live.items() if page["pool"]}
    s = pool.stats
    got = s["alloc_fast"] + s["alloc_refill"] + s["alloc_slow"] + s["alloc_slow_high_order"]
    asked = s["alloc_slow"] + s["alloc_slow_high_order"] + s["alloc_failed"]  # the page allocator
    to_ring = s["recycle_ring"] + s["recycle_ring_full"]
    left = s["recycle_cached"] + to_ring + s["recycle_released_refcnt"]
    laws = {
        "a page is in one place": len({*idle, *inside}) == len(idle) + len(inside),
        "idle pages have no holder": all(known[i]["refcount"] == 0 for i in idle),
        "other pages have one": all(page["refcount"] > 0 for page in live.values()),
        "pages in the pool have no other holder": all(
            i in members and known[i]["refcount"] == 1 for i in inside
        ),
        "memory adds up": pages.used_pages
        == len(pages.local) + sum(1 << page["order"] for page in live.values()),
        "nothing leaks": pages.stats["allocated"] - pages.stats["freed"] == len(live),
        "inflight counts the pool's pages": pool.inflight == len(members),
        "the pool's pages and no others are mapped": {i for i, page in known.items() if page["mapped"]}
        == (members if sizes["maps"] else set()),
        "maps and unmaps balance": dma.stats["calls"][0] - dma.stats["calls"][3]
        == sum(page["mapped"] for page in known.values()),
        "cache within its size": len(pool.cache)
        <= max(sizes["cache_pages"], sizes["refill_pages"], sizes["bulk_pages"]),
        "ring within its size": len(pool.ring) <= sizes["ring_pages"],
        "each allocation counts once": got + s["alloc_failed"] == calls["alloc"],
        "the allocator is asked after an empty ring or a waive": s["alloc_empty"]
        <= asked
        <= s["alloc_empty"] + s["alloc_waive"],
        "each return counts once": left == calls["put"],
        "a full cache leads to the ring": s["recycle_cache_full"] <= to_ring,
    }
    return {law for law, holds in laws.items() if not holds}
