"""Page allocator, fragments, page_pool and heads, worked out by hand."""

from __future__ import annotations

from dataclasses import fields

import pytest
from nicperf.parts._parts_probe import N_STEPS, Dma, Fragments, Heads, PagePool, Pages

from nicperf.parts.pages import COUNTERS, STEPS, PageCosts

HELD = {"mapped": True, "pool": 1}


def make(**params: int) -> tuple[PagePool, Pages, Dma]:
    pages, dma = Pages(limit_pages=2000), Dma()
    return PagePool(pages, dma, **params), pages, dma


def moved(pool: PagePool) -> dict[str, int]:
    """Counters that are not zero."""
    return {name: count for name, count in pool.stats.items() if count}


def steps(pages: Pages) -> dict[str, int]:
    return {name: times for name, times in zip(STEPS, pages.stats["steps"], strict=True) if times}


def test_names_are_those_of_the_core() -> None:
    assert len(STEPS) == N_STEPS
    pool, _, _ = make()
    ethtool = [
        name.replace("high_order", "ho").replace("released_refcnt", "released_ref") for name in pool.stats
    ]
    assert (*(f"rx_pp_{name}" for name in ethtool[:-1]), f"page_pool_{ethtool[-1]}") == COUNTERS


def test_every_step_is_priced_by_the_field_of_its_name() -> None:
    """Each step has a power of two for its price: the sum tells the steps."""
    pages = Pages(limit_pages=8, batch_pages=2, high_pages=2, step_ps=[1 << i for i in range(N_STEPS)])

    def spent() -> set[str]:
        ps = pages.take_ps()
        return {name for i, name in enumerate(STEPS) if ps >> i & 1}

    heads = Heads(pages, cache_heads=2, bulk_heads=1)
    pool = PagePool(pages, Dma(), bulk_pages=1, ring_pages=1)
    first = pages.alloc()
    assert spent() == {"alloc", "buddy", "cold"}
    block = pages.alloc(order=1)
    assert spent() == {"high_order"}
    pages.put(block)
    assert spent() == {"free"}
    pages.put(first)
    assert spent() == {"free", "drain"}
    page = pool.alloc()
    assert spent() == {"bulk", "buddy", "cold", "pool_hold", "pool_fast"}
    pool.put(page, allow_direct=True)
    assert spent() == {"pool_cached"}
    pool.alloc()
    assert spent() == {"pool_fast"}
    pool.put(page)
    assert spent() == {"pool_ring"}
    pool.alloc()
    assert spent() == {"pool_consume", "pool_fast"}
    pool.release(page)
    assert spent() == {"pool_release"}
    pages.put(page)
    assert spent() == {"free", "drain"}
    heads.take(through_cache=False)
    assert spent() == {"head_alloc"}
    heads.give(through_cache=False)
    assert spent() == {"head_free"}
    heads.take(through_cache=True)
    assert spent() == {"head_bulk_alloc", "head_cached"}
    heads.give(through_cache=True)
    assert spent() == {"head_cached"}
    heads.give(through_cache=True)
    assert spent() == {"head_cached", "head_bulk_free"}
    fragments = Fragments(pages, order=1)
    block, _ = fragments.take(8192)
    assert spent() == {"high_order", "fragment"}
    pages.put(block)
    fragments.take(8192)
    assert spent() == {"rewind", "fragment"}
    roomy = Pages(step_ps=[1 << i for i in range(N_STEPS)])
    roomy.put(roomy.alloc())
    roomy.take_ps()
    roomy.alloc()
    assert roomy.take_ps() == sum(1 << STEPS.index(step) for step in ("alloc", "hot"))


@pytest.mark.parametrize(
    "steps, low, high",
    [
        ({"pool_fast": 1, "pool_cached": 1}, 19, 20),
        ({"pool_fast": 1, "pool_consume": 1, "pool_ring": 1}, 54, 57),
        (
            {"bulk": 1 / 64, "hot": 1, "free": 1, "pool_hold": 1, "pool_fast": 1, "pool_release": 1},
            222,
            284,
        ),
    ],
)
def test_defaults_add_up_to_the_published_sums(steps: dict[str, float], low: float, high: float) -> None:
    costs = PageCosts()
    assert low <= sum(n * getattr(costs, f"{step}_cycles") for step, n in steps.items()) <= high
    assert all(field.name.endswith("_cycles") for field in fields(costs))


def test_per_cpu_list_gives_the_page_freed_last_and_takes_batches() -> None:
    pages = Pages(limit_pages=20, batch_pages=4, high_pages=6)
    taken = [pages.alloc() for _ in range(5)]
    assert len(set(taken)) == 5 and pages.used_pages == 8
    assert steps(pages) == {"alloc": 5, "cold": 5, "buddy": 2}
    pages.put(taken[2])
    assert pages.alloc() == taken[2]
    assert steps(pages) == {"alloc": 6, "hot": 1, "cold": 5, "buddy": 2, "free": 1}
    for page in taken[:3]:  # the third makes the list 6 long: 4 go back
        pages.put(page)
    assert steps(pages)["drain"] == 1 and len(pages.local) == 2 and pages.used_pages == 4


def test_cold_pages_stay_cold_below_those_freed_since() -> None:
    pages = Pages(batch_pages=4, high_pages=100)
    first, second = pages.alloc(), pages.alloc()
    pages.put(first)
    pages.put(second)
    for _ in range(4):
        pages.alloc()
    assert steps(pages) == {"alloc": 6, "hot": 2, "cold": 4, "buddy": 1, "free": 2}


def test_allocation_fails_when_memory_is_out_and_recovers() -> None:
    pages = Pages(limit_pages=10, batch_pages=4)
    block = pages.alloc(order=3)
    assert pages.alloc_bulk(5) != [] and pages.alloc() == -1 and pages.alloc_bulk(5) == []
    assert pages.alloc(order=1) == -1 and pages.stats["failed"] == 3
    pages.put(block)
    assert pages.alloc(order=3) == block
    assert pages.stats["allocated"] == 4 and pages.stats["freed"] == 1


def test_a_page_is_freed_with_its_last_reference() -> None:
    pages = Pages()
    page = pages.alloc()
    pages.get(page)
    assert not pages.put(page) and pages.put(page)
    assert pages.stats["freed"] == 1


def test_bulk_of_64_serves_64_allocations() -> None:
    pool, pages, dma = make()
    for _ in range(64):
        pool.alloc()
    assert moved(pool) == {"alloc_fast": 63, "alloc_slow": 1, "alloc_empty": 1}
    pool.alloc()
    assert moved(pool) == {"alloc_fast": 63, "alloc_slow": 2, "alloc_empty": 2}
    assert pool.inflight == 128 and len(pool.cache) == 63
    assert dma.stats["calls"][0] == 128 and steps(pages)["pool_hold"] == 128


@pytest.mark.parametrize(("burst", "refills"), [(1, 6400), (16, 400), (64, 100), (128, 100)])
def test_through_the_ring_a_refill_fetches_what_came_back_since(burst: int, refills: int) -> None:
    """The era before v6.4: pages of sk_buffs reach the cache by the ring only, 64 at most at a time."""
    pool, _, _ = make()
    held = [pool.alloc() for _ in range(256)]
    start = pool.stats
    for _ in range(6400 // burst):
        assert {pool.put(held.pop(0)) for _ in range(burst)} == {"ring"}
        held += [pool.alloc() for _ in range(burst)]
    gained = {name: count - start[name] for name, count in pool.stats.items() if count != start[name]}
    fast = {"alloc_fast": 6400 - refills} if burst > 1 else {}
    assert gained == {"recycle_ring": 6400, "alloc_refill": refills, **fast}
    assert pool.inflight == 256


def test_a_refill_takes_64_of_a_longer_ring() -> None:
    pool, pages, _ = make()
    held = [pool.alloc() for _ in range(256)]
    for page in held[:200]:
        pool.put(page)
    assert pool.alloc() == held[63]  # the cache is a stack: the last of the 64 comes first
    assert len(pool.cache) == 63 and len(pool.ring) == 136
    assert pool.stats["alloc_refill"] == 1 and steps(pages)["pool_consume"] == 64


def test_direct_recycling_is_a_stack_of_128_and_then_the_ring() -> None:
    pool, _, _ = make(ring_pages=3)
    held = [pool.alloc() for _ in range(192)]
    where = [pool.put(page, allow_direct=True) for page in held]
    assert where == ["cache"] * 128 + ["ring"] * 3 + ["ring_full"] * 61
    assert moved(pool) == {
        **{"alloc_fast": 189, "alloc_slow": 3, "alloc_empty": 3},
        **{"recycle_cached": 128, "recycle_cache_full": 64, "recycle_ring": 3, "recycle_ring_full": 61},
    }
    assert pool.inflight == 131 and pool.alloc() == held[127]


def test_a_page_that_somebody_else_holds_leaves_the_pool() -> None:
    pool, pages, dma = make(bulk_pages=1)
    page = pool.alloc()
    pages.get(page)
    assert pool.put(page, allow_direct=True) == "released"
    assert moved(pool) == {"alloc_slow": 1, "alloc_empty": 1, "recycle_released_refcnt": 1}
    assert pool.inflight == 0 and dma.stats["calls"] == [1, 1, 0, 1]
    assert pages.page(page)["pool"] == 0 and pages.page(page)["refcount"] == 1
    assert pages.put(page)


def test_a_released_page_is_an_ordinary_page() -> None:
    pool, pages, dma = make(bulk_pages=1)
    page = pool.alloc()
    assert {name: pages.page(page)[name] for name in HELD} == HELD
    pool.release(page)
    assert pool.inflight == 0 and dma.stats["calls"][3] == 1
    assert not pages.page(page)["mapped"] and pages.page(page)["pool"] == 0
    assert pages.put(page) and pages.alloc() == page


def test_pages_of_another_node_are_waived_one_at_a_time() -> None:
    pool, pages, _ = make(bulk_pages=4)
    held = [pool.alloc() for _ in range(4)]
    for page in held:
        pool.put(page)
    pool.update_node(1)
    fresh = pool.alloc()  # one is thrown out of the ring, then the allocator is asked
    assert pages.page(fresh)["node"] == 1 and len(pool.ring) == 3
    assert (pool.stats["alloc_waive"], pool.stats["alloc_slow"], pool.stats["alloc_refill"]) == (1, 2, 0)
    pool.put(fresh, allow_direct=True)
    pool.update_node(0)
    assert pool.cache == [] and pool.inflight == 3
    assert pool.alloc() == held[3]
    assert pool.stats["alloc_refill"] == 1


def test_a_waive_after_good_pages_still_is_a_refill() -> None:
    pool, _, _ = make(bulk_pages=2)
    held = [pool.alloc() for _ in range(2)]
    pool.update_node(1)
    right = pool.alloc()
    for page in (right, *held):
        pool.put(page)
    pool.update_node(1)
    assert pool.alloc() == right
    assert (pool.stats["alloc_waive"], pool.stats["alloc_refill"], len(pool.ring)) == (1, 1, 1)


def test_higher_orders_come_one_at_a_time() -> None:
    pool, pages, _ = make(order=2)
    held = [pool.alloc() for _ in range(3)]
    assert moved(pool) == {"alloc_slow_high_order": 3, "alloc_empty": 3}
    assert pool.inflight == 3 and pages.used_pages == 12
    pool.put(held[0])
    pool.put(held[1], allow_direct=True)
    assert {pool.alloc(), pool.alloc()} == set(held[:2])
    assert (pool.stats["alloc_fast"], pool.stats["alloc_refill"]) == (1, 1)


def test_an_empty_allocator_is_a_failed_allocation_and_a_short_bulk_is_not() -> None:
    pages, dma = Pages(limit_pages=5, batch_pages=2), Dma()
    pool = PagePool(pages, dma)
    held = [pool.alloc() for _ in range(6)]
    assert held[5] == -1 and min(held[:5]) >= 0
    assert moved(pool) == {"alloc_fast": 4, "alloc_slow": 1, "alloc_empty": 2, "alloc_failed": 1}
    pool.put(held[0])
    assert pool.alloc() == held[0]


def test_counts_wrap_at_32_bits() -> None:
    pool, _, _ = make(count=2**32 - 3, bulk_pages=8, ring_pages=2)
    held = [pool.alloc() for _ in range(8)]
    assert pool.inflight == 8
    for page in held:
        pool.put(page)
    assert pool.inflight == 2


def test_a_pool_ends_when_its_last_page_is_back() -> None:
    pool, pages, _ = make()
    held = [pool.alloc() for _ in range(3)]
    assert pool.drain() == 3 and pool.cache == []
    assert pool.put(held[0]) == "ring"
    assert pool.drain() == 2
    pool.release(held[1])
    pool.put(held[2])
    assert pool.drain() == 0
    assert pages.stats["allocated"] - pages.stats["freed"] == 1  # the released page still has a holder


def test_fragments_are_cut_from_the_end_of_a_block() -> None:
    # netdev_alloc_skb(2048): 2048 + 64 pad + 320 shared info = 2432 bytes, 13 to a block of 32 KiB
    pages = Pages(limit_pages=100)
    fragments = Fragments(pages)
    taken = [fragments.take(2432) for _ in range(14)]
    assert [offset for _, offset in taken] == [32768 - 2432 * n for n in range(1, 14)] + [32768 - 2432]
    assert len({page for page, _ in taken[:13]}) == 1 and taken[13][0] != taken[0][0]
    assert fragments.stats == {"taken": 14, "blocks": 2, "fallbacks": 0, "rewinds": 0, "failed": 0}
    assert pages.page(taken[0][0])["refcount"] == 13  # only those who hold fragments
    assert [pages.put(page) for page, _ in taken[:13]] == [False] * 12 + [True]
    pages.put(taken[13][0])
    fragments.drain()
    assert pages.used_pages == 0


def test_a_block_whose_fragments_are_back_starts_over() -> None:
    pages = Pages(limit_pages=100)
    fragments = Fragments(pages)
    for _ in range(13 * 5):
        pages.put(fragments.take(2432)[0])
    assert fragments.stats == {"taken": 65, "blocks": 1, "fallbacks": 0, "rewinds": 4, "failed": 0}
    fragments.drain()
    assert pages.used_pages == 0 and pages.stats["freed"] == 1


def test_without_a_block_a_fragment_takes_a_page() -> None:
    pages = Pages(limit_pages=7, batch_pages=1)
    fragments = Fragments(pages)
    taken = [fragments.take(2432) for _ in range(8)]
    assert taken[7] is None and [offset for _, offset in taken[:7]] == [4096 - 2432] * 7
    assert fragments.stats == {"taken": 7, "blocks": 7, "fallbacks": 7, "rewinds": 0, "failed": 1}
    for page, _ in taken[:7]:
        assert pages.put(page)
    assert fragments.take(5000) is None and fragments.take(4096) is not None


def test_heads_move_in_bulk() -> None:
    pages = Pages()
    heads = Heads(pages)
    for _ in range(17):
        heads.take(through_cache=True)
    assert heads.state == {"outside": 17, "slab": 32, "cached": 15}
    assert steps(pages) == {"head_bulk_alloc": 2, "head_cached": 17}
    heads.take(through_cache=False)
    assert heads.state == {"outside": 18, "slab": 33, "cached": 15}
    for _ in range(18):
        heads.give(through_cache=True)
    assert heads.state == {"outside": 0, "slab": 33, "cached": 33}
    for _ in range(31):
        heads.take(through_cache=False)
        heads.give(through_cache=True)  # a receiver that mixes both drifts to a full cache
    assert heads.state == {"outside": 0, "slab": 32, "cached": 32}
    assert steps(pages)["head_bulk_free"] == 1


def test_a_full_cache_of_heads_keeps_half() -> None:
    heads = Heads(Pages(), cache_heads=5, bulk_heads=4)
    for _ in range(9):
        heads.take(through_cache=False)
    for _ in range(5):
        heads.give(through_cache=True)
    assert heads.state == {"outside": 4, "slab": 6, "cached": 2}
