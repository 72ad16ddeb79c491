"""page_pool, page allocator and fragments in plain Python: objects and lists, nothing shared with the core."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass
from typing import Any


@dataclass(eq=False)
class Page:
    """Memory with holders; `fragments` counts those of a block that the cutter still owns."""

    order: int
    node: int
    holders: int = 1
    in_pool: bool = False
    fragments: int | None = None


class Memory:
    """The page allocator: how much is left, and which pages of the list per CPU are warm."""

    def __init__(self, limit: int, batch: int, high: int) -> None:
        self.left, self.batch, self.high = limit, batch, max(high, batch)
        self.list: list[str] = []
        self.did: Counter[str] = Counter()
        self.failed = 0

    def single(self, node: int) -> Page | None:
        if not self.list:
            n = min(self.batch, self.left)
            if n == 0:
                return None
            self.left -= n
            self.list = ["cold"] * n
            self.did["buddy"] += 1
        self.did[self.list.pop()] += 1
        return Page(0, node)

    def alloc(self, order: int, node: int) -> Page | None:
        if order == 0:
            page = self.single(node)
            self.did["alloc"] += page is not None
        else:
            page = Page(order, node) if self.left >= 2**order else None
            self.left -= 2**order if page else 0
            self.did["high_order"] += page is not None
        self.failed += page is None
        return page

    def bulk(self, n: int, node: int) -> list[Page]:
        pages = []
        while len(pages) < n and (page := self.single(node)):
            pages.append(page)
        self.did["bulk"] += bool(pages)
        self.failed += not pages
        return pages

    def drop(self, page: Page) -> bool:
        """One holder fewer."""
        page.holders -= 1
        if page.holders:
            return False
        self.did["free"] += 1
        if page.order:
            self.left += 2**page.order
            return True
        self.list.append("hot")
        if len(self.list) == self.high:
            keep = self.high - self.batch
            self.left += len(self.list) - keep
            del self.list[keep:]
            self.did["drain"] += 1
        return True


class Pool:
    """page_pool. Counters carry the kernel's names."""

    def __init__(self, memory: Memory, sizes: dict[str, Any]) -> None:
        self.memory, self.sizes = memory, sizes
        self.cache: list[Page] = []
        self.ring: deque[Page] = deque()
        self.node = 0
        self.inflight = 0
        self.count: Counter[str] = Counter()
        self.dma: Counter[str] = Counter()

    def leave(self, page: Page) -> None:
        page.in_pool = False
        self.inflight -= 1
        self.dma["unmap"] += self.sizes["maps"]
        self.memory.did["pool_release"] += 1

    def throw_out(self, page: Page) -> None:
        self.leave(page)
        self.memory.drop(page)

    def refill(self) -> None:
        if not self.ring:
            self.count["alloc_empty"] += 1
        for _ in range(min(self.sizes["refill_pages"], len(self.ring))):
            page = self.ring.popleft()
            self.memory.did["pool_consume"] += 1
            if page.node != self.node:
                self.throw_out(page)
                self.count["alloc_waive"] += 1
                return
            self.cache.append(page)

    def fetch(self) -> None:
        if self.sizes["order"]:
            page = self.memory.alloc(self.sizes["order"], self.node)
            self.cache = [page] if page else []
        else:
            self.cache = self.memory.bulk(self.sizes["bulk_pages"], self.node)
        for page in self.cache:
            page.in_pool = True
            self.inflight += 1
            self.memory.did["pool_hold"] += 1
            self.dma["map"] += self.sizes["maps"]
            self.dma["lines"] += 55 * (self.sizes["maps"] and self.sizes["syncs"])

    def alloc(self) -> Page | None:
        how = "alloc_fast"
        if not self.cache:
            self.refill()
            how = "alloc_refill"
        if not self.cache:
            self.fetch()
            how = "alloc_slow_high_order" if self.sizes["order"] else "alloc_slow"
        self.count[how if self.cache else "alloc_failed"] += 1
        self.memory.did["pool_fast"] += bool(self.cache)
        return self.cache.pop() if self.cache else None

    def put(self, page: Page, n_bytes: int, direct: bool) -> str:
        if page.holders > 1:
            self.count["recycle_released_refcnt"] += 1
            self.throw_out(page)
            return "released"
        if self.sizes["syncs"]:
            length = 3520 if n_bytes < 0 else min(n_bytes, 3520)
            self.dma["lines"] += -(-length // 64)
        if direct and len(self.cache) < self.sizes["cache_pages"]:
            return self.keep(page, self.cache, "cached", "cache")
        self.count["recycle_cache_full"] += direct
        if len(self.ring) < self.sizes["ring_pages"]:
            return self.keep(page, self.ring, "ring", "ring")
        self.count["recycle_ring_full"] += 1
        self.throw_out(page)
        return "ring_full"

    def keep(self, page: Page, where: Any, name: str, place: str) -> str:
        where.append(page)
        self.count[f"recycle_{name}"] += 1
        self.memory.did[f"pool_{name}"] += 1
        return place

    def update_node(self, node: int) -> None:
        self.node = node
        for page in self.cache:
            self.throw_out(page)
        self.cache = []

    def drain(self) -> int:
        self.update_node(self.node)
        while self.ring:
            self.throw_out(self.ring.popleft())
        return self.inflight


class Cutter:
    """Fragments of a block: whose are out, and how much of it is left."""

    def __init__(self, memory: Memory, order: int) -> None:
        self.memory, self.order = memory, order
        self.block: Page | None = None
        self.left = 0
        self.count: Counter[str] = Counter()

    def take(self, n_bytes: int) -> tuple[Page, int] | None:
        if self.block and self.left < n_bytes:
            if self.block.fragments:
                self.abandon()
            else:
                self.left = 4096 << self.block.order
                self.count["rewinds"] += 1
                self.memory.did["rewind"] += 1
        if self.block is None:
            self.block = self.memory.alloc(self.order, 0)
            if self.block is None and self.order:
                self.block = self.memory.alloc(0, 0)
                self.count["fallbacks"] += self.block is not None
            if self.block:
                self.block.fragments = 0
                self.left = 4096 << self.block.order
                self.count["blocks"] += 1
        if self.block is None or self.left < n_bytes:
            self.count["failed"] += 1
            return None
        self.block.fragments = (self.block.fragments or 0) + 1
        self.left -= n_bytes
        self.count["taken"] += 1
        self.memory.did["fragment"] += 1
        return self.block, self.left

    def abandon(self) -> None:
        """Its holders own the block from now on."""
        assert self.block
        self.block.holders = self.block.fragments or 0
        self.block.fragments = None
        self.block = None

    def give(self, block: Page) -> bool:
        if block.fragments is None:
            return self.memory.drop(block)
        block.fragments -= 1
        return False
