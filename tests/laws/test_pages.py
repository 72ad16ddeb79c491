"""Each law of pages notices its breach, and a long life leaks nothing."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from nicperf.parts._parts_probe import Dma, Fragments, PagePool, Pages

from .pages import broken

SIZES = {"cache_pages": 4, "refill_pages": 3, "bulk_pages": 4, "ring_pages": 3, "maps": True}


class Scene:
    """A pool with pages in the cache, in the ring, with a holder, and beside it."""

    def __init__(self) -> None:
        self.pages, self.dma, self.calls = (
            Pages(limit_pages=50, batch_pages=4, high_pages=8),
            Dma(),
            Counter(),
        )
        self.pool = PagePool(self.pages, self.dma, **SIZES)
        self.held = [self.alloc() for _ in range(5)]
        self.put(self.held.pop(0))
        self.put(self.held.pop(0))
        self.ordinary = self.pages.alloc()

    def alloc(self) -> int:
        self.calls["alloc"] += 1
        return self.pool.alloc()

    def put(self, page: int, direct: bool = False) -> str:
        self.calls["put"] += 1
        return self.pool.put(page, allow_direct=direct)

    def broken(self, **sizes: Any) -> set[str]:
        return broken(self.pages, self.pool, self.dma, SIZES | sizes, self.calls)

    def lose_cached(self) -> None:
        """A page is freed under the pool's feet."""
        self.pages.put(self.pool.cache[0])


def corrupt(where: str, **values: int) -> Callable[[Scene], None]:
    def change(scene: Scene) -> None:
        places = {
            "held": scene.held,
            "ring": scene.pool.ring,
            "idle": scene.pages.local,
            "ordinary": [scene.ordinary],
        }
        scene.pages.corrupt(places[where][0], **values)

    return change


def call(name: str) -> Callable[[Scene], None]:
    return lambda scene: scene.calls.update([name])


BREACHES: list[tuple[str, Callable[[Scene], None]]] = [
    ("a page is in one place", lambda scene: scene.pool.corrupt_ring(scene.pool.cache[0])),
    ("a page is in one place", Scene.lose_cached),
    ("idle pages have no holder", corrupt("idle", refcount=1)),
    ("other pages have one", corrupt("held", refcount=0)),
    ("pages in the pool have no other holder", corrupt("ring", refcount=2)),
    ("pages in the pool have no other holder", corrupt("ring", pool=0)),
    ("memory adds up", corrupt("ordinary", order=1)),
    ("nothing leaks", Scene.lose_cached),
    ("inflight counts the pool's pages", corrupt("held", pool=0)),
    ("inflight counts the pool's pages", corrupt("ordinary", pool=1)),
    ("the pool's pages and no others are mapped", corrupt("held", mapped=0)),
    ("the pool's pages and no others are mapped", corrupt("ordinary", mapped=1)),
    ("maps and unmaps balance", corrupt("held", mapped=0)),
    ("maps and unmaps balance", lambda scene: scene.dma.call(3, 0, 4096, 2)),
    ("each allocation counts once", call("alloc")),
    ("each return counts once", call("put")),
]


def test_the_scene_breaks_no_law() -> None:
    scene = Scene()
    assert scene.pool.cache and scene.pool.ring and scene.held and scene.pages.local
    assert scene.broken() == set()


@pytest.mark.parametrize(("law", "breach"), BREACHES)
def test_a_breach_is_seen(law: str, breach: Callable[[Scene], None]) -> None:
    scene = Scene()
    breach(scene)
    if law == "nothing leaks":  # the page was freed by the wrong hand: its count fits, its place does not
        assert "a page is in one place" in scene.broken()
        scene.pages.corrupt(scene.pages.local[-1], refcount=1)
        scene.pages.put(scene.pages.local[-1])
    assert law in scene.broken()


@pytest.mark.parametrize(
    ("law", "sizes"),
    [
        ("cache within its size", {"cache_pages": 1, "refill_pages": 1, "bulk_pages": 1}),
        ("ring within its size", {"ring_pages": 1}),
    ],
)
def test_a_size_that_is_exceeded_is_seen(law: str, sizes: dict[str, int]) -> None:
    assert law in Scene().broken(**sizes)


@pytest.mark.parametrize(
    ("law", "counter", "change"),
    [
        ("the allocator is asked after an empty ring or a waive", "alloc_empty", 1),
        ("the allocator is asked after an empty ring or a waive", "alloc_slow", 1),
        ("a full cache leads to the ring", "recycle_cache_full", 9),
    ],
)
def test_a_counter_that_moved_alone_is_seen(law: str, counter: str, change: int) -> None:
    scene = Scene()

    class Pool:
        cache, ring, inflight = scene.pool.cache, scene.pool.ring, scene.pool.inflight
        stats = scene.pool.stats | {counter: scene.pool.stats[counter] + change}

    assert law in broken(scene.pages, Pool, scene.dma, SIZES, scene.calls)


@pytest.mark.parametrize("seed", range(3))
def test_a_long_life_leaks_nothing(seed: int) -> None:
    """Bursts of 64 like polls, sk_buffs freed late, some pages kept by others; at the end all memory is back."""
    draw = random.Random(seed)
    pages, dma, calls = Pages(limit_pages=250), Dma(), Counter()
    pool, fragments = PagePool(pages, dma), Fragments(pages)
    sizes = {"cache_pages": 128, "refill_pages": 64, "bulk_pages": 64, "ring_pages": 256, "maps": True}
    queue: list[int] = []
    kept: list[int] = []
    for poll in range(600):
        for _ in range(draw.randint(1, 64)):
            page = pool.alloc()
            calls["alloc"] += 1
            if page >= 0:
                queue.append(page)
            if (taken := fragments.take(draw.choice((256, 2432)))) is not None:
                kept.append(taken[0])
        draw.shuffle(queue)
        for _ in range(draw.randint(0, len(queue))):
            page = queue.pop()
            fate = draw.random()
            if fate < 0.1:
                pool.release(page)
                kept.append(page)
                continue
            if fate < 0.15:
                pages.get(page)
                kept.append(page)
            calls["put"] += 1
            pool.put(page, allow_direct=fate < 0.4)
        for _ in range(draw.randint(0, len(kept))):
            pages.put(kept.pop())
        if poll % 50 == 0:
            assert broken(pages, pool, dma, sizes, calls) == set()
    counters = pool.stats
    assert min(counters[name] for name in ("alloc_fast", "alloc_slow", "alloc_refill", "alloc_failed")) > 0
    for page in queue:
        pool.put(page)
    for page in kept:
        pages.put(page)
    fragments.drain()
    assert pool.drain() == 0
    assert pages.used_pages == len(pages.local) and pages.stats["allocated"] == pages.stats["freed"]
