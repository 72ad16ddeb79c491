"""Pages, page_pool and fragments against the twin, operation by operation, with the laws in between."""

from __future__ import annotations

from collections import Counter, deque
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from nicperf.parts import _parts_probe as core
from nicperf.parts.pages import STEPS

from ..laws.pages import broken
from .pages import Cutter, Memory, Page, Pool

few = st.integers(1, 6)
SIZES = {
    **{"cache_pages": few, "refill_pages": few, "bulk_pages": few, "ring_pages": st.integers(0, 6)},
    **{"order": st.sampled_from([0, 0, 0, 1]), "maps": st.booleans(), "syncs": st.booleans()},
}


class Machine(RuleBasedStateMachine):
    """Core and twin side by side. The index of a page is the core's choice; from then on the twin's page has it."""

    twin = Pool

    @initialize(
        sizes=st.fixed_dictionaries(SIZES), limit=st.integers(1, 40), batch=few, high=few, data=st.data()
    )
    def start(self, sizes: dict[str, Any], limit: int, batch: int, high: int, data: Any) -> None:
        sizes["syncs"] &= sizes["maps"]
        self.sizes = sizes
        self.pages = core.Pages(limit_pages=limit, batch_pages=batch, high_pages=high)
        self.dma = core.Dma()
        self.pool = core.PagePool(
            self.pages, self.dma, count=data.draw(st.integers(2**32 - 20, 2**32 - 1)), **sizes
        )
        order = data.draw(st.integers(0, 3))
        self.fragments = core.Fragments(self.pages, order=order)
        self.memory = Memory(limit, batch, high)
        self.other = self.twin(self.memory, sizes)
        self.cutter = Cutter(self.memory, order)
        self.index: dict[Page, int] = {}
        self.held: list[Page] = []  # one entry for each reference outside the pool
        self.cut: list[Page] = []  # one entry for each fragment
        self.calls: Counter[str] = Counter()

    def same(self, i: int, page: Page | None) -> None:
        """Both sides mean the same page, and no two pages are one."""
        assert (i < 0) == (page is None)
        if page is not None:
            assert self.index.setdefault(page, i) == i
            users = {*self.held, *self.cut, *self.other.cache, *self.other.ring} - {page}
            assert i not in {self.index.get(user) for user in users}

    @rule()
    def pool_alloc(self) -> None:
        page = self.other.alloc()
        self.same(self.pool.alloc(), page)
        self.calls["alloc"] += 1
        if page:
            self.held.append(page)

    @rule(times=st.integers(2, 8))
    def pool_alloc_burst(self, times: int) -> None:
        for _ in range(times):
            self.pool_alloc()

    def pick(self, data: Any, *, in_pool: bool) -> Page | None:
        """One reference, taken out of the hands of its holder."""
        fitting = [i for i, page in enumerate(self.held) if page.in_pool == in_pool]
        return self.held.pop(data.draw(st.sampled_from(fitting))) if fitting else None

    @rule(data=st.data(), n_bytes=st.sampled_from([-1, 1, 64, 65, 1518, 9000]), direct=st.booleans())
    def pool_put(self, data: Any, n_bytes: int, direct: bool) -> None:
        if page := self.pick(data, in_pool=True):
            self.calls["put"] += 1
            assert self.pool.put(self.index[page], n_bytes, direct) == self.other.put(page, n_bytes, direct)

    @rule(data=st.data(), times=st.integers(2, 8), direct=st.booleans())
    def pool_put_burst(self, data: Any, times: int, direct: bool) -> None:
        for _ in range(times):
            self.pool_put(data, -1, direct)

    @rule(data=st.data())
    def pool_release(self, data: Any) -> None:
        if page := self.pick(data, in_pool=True):
            self.pool.release(self.index[page])
            self.other.leave(page)
            self.held.append(page)

    @rule(data=st.data())
    def another_holder(self, data: Any) -> None:
        if self.held:
            page = data.draw(st.sampled_from(self.held))
            self.pages.get(self.index[page])
            page.holders += 1
            self.held.append(page)

    @rule(data=st.data(), in_pool=st.booleans())
    def drop(self, data: Any, in_pool: bool) -> None:
        # The last holder of a page of the pool has to put it there.
        fitting = [p for p in self.held if not p.in_pool or (in_pool and p.holders > 1)]
        if fitting:
            page = data.draw(st.sampled_from(fitting))
            self.held.remove(page)
            assert self.pages.put(self.index[page]) == self.memory.drop(page)

    @rule(order=st.integers(0, 2), node=st.integers(0, 1))
    def alloc(self, order: int, node: int) -> None:
        page = self.memory.alloc(order, node)
        self.same(self.pages.alloc(order, node), page)
        if page:
            self.held.append(page)

    @rule(n=st.integers(1, 6))
    def alloc_bulk(self, n: int) -> None:
        ours, theirs = self.pages.alloc_bulk(n), self.memory.bulk(n, 0)
        assert len(ours) == len(theirs)
        for i, page in zip(ours, theirs, strict=True):
            self.same(i, page)
            self.held.append(page)

    @rule(node=st.integers(0, 1))
    def update_node(self, node: int) -> None:
        self.pool.update_node(node)
        self.other.update_node(node)

    @rule()
    def drain(self) -> None:
        assert self.pool.drain() == self.other.drain()

    @rule(n_bytes=st.sampled_from([64, 700, 2432, 4096, 5000]))
    def cut_fragment(self, n_bytes: int) -> None:
        ours, theirs = self.fragments.take(n_bytes), self.cutter.take(n_bytes)
        assert (ours is None) == (theirs is None)
        if ours and theirs:
            assert ours[1] == theirs[1]
            self.same(ours[0], theirs[0])
            self.cut.append(theirs[0])

    @precondition(lambda self: self.cut)
    @rule(data=st.data())
    def give_fragment(self, data: Any) -> None:
        block = self.cut.pop(data.draw(st.integers(0, len(self.cut) - 1)))
        assert self.pages.put(self.index[block]) == self.cutter.give(block)

    @invariant()
    def same_state(self) -> None:
        if not hasattr(self, "pool"):
            return
        assert broken(self.pages, self.pool, self.dma, self.sizes, self.calls) == set()
        assert {name: n for name, n in self.pool.stats.items() if n} == +self.other.count
        steps = dict(zip(STEPS, self.pages.stats["steps"], strict=True))
        assert {name: n for name, n in steps.items() if n} == +self.memory.did
        assert {name: n for name, n in self.fragments.stats.items() if n} == +self.cutter.count
        assert self.pages.stats["failed"] == self.memory.failed
        assert self.dma.stats["calls"][0] == self.other.dma["map"]
        assert self.dma.stats["calls"][3] == self.other.dma["unmap"]
        assert sum(self.dma.stats["cleaned_lines"]) == self.other.dma["lines"]
        assert self.pool.inflight == self.other.inflight
        for ours, theirs in ((self.pool.cache, self.other.cache), (self.pool.ring, self.other.ring)):
            assert [self.index.get(page, i) for i, page in zip(ours, theirs, strict=True)] == ours
        for page in self.held:
            assert self.pages.page(self.index[page])["refcount"] == page.holders


Machine.TestCase.settings = settings(max_examples=150, stateful_step_count=40)
TestPages = Machine.TestCase


class Queue(Pool):
    """The cache hands out its oldest page."""

    def alloc(self) -> Page | None:
        self.cache.reverse()
        page = super().alloc()
        self.cache.reverse()
        return page


class NewestFirst(Pool):
    """The ring hands out its newest page."""

    def refill(self) -> None:
        self.ring = deque(reversed(self.ring))
        super().refill()
        self.ring = deque(reversed(self.ring))


class NoWaive(Pool):
    """Pages of another node are as good as any."""

    def refill(self) -> None:
        for page in self.ring:
            page.node = self.node
        super().refill()


class AlwaysDirect(Pool):
    """The cache takes what only the ring may."""

    def put(self, page: Page, n_bytes: int, direct: bool) -> str:
        return super().put(page, n_bytes, True)


class SharedPagesRecycled(Pool):
    """A page is recycled though somebody else holds it."""

    def put(self, page: Page, n_bytes: int, direct: bool) -> str:
        holders, page.holders = page.holders, 1
        where = super().put(page, n_bytes, direct)
        page.holders = holders
        return where


class FullSync(Pool):
    """A return cleans all that the device may write."""

    def put(self, page: Page, n_bytes: int, direct: bool) -> str:
        return super().put(page, -1, direct)


class LeakingInflight(Pool):
    """A page that leaves still counts."""

    def leave(self, page: Page) -> None:
        super().leave(page)
        self.inflight += 1


class Greedy(Pool):
    """A refill takes one page too many."""

    def refill(self) -> None:
        sizes, self.sizes = self.sizes, self.sizes | {"refill_pages": self.sizes["refill_pages"] + 1}
        super().refill()
        self.sizes = sizes


@pytest.mark.parametrize(
    "mutant",
    [Queue, NewestFirst, NoWaive, AlwaysDirect, SharedPagesRecycled, FullSync, LeakingInflight, Greedy],
)
def test_the_comparison_sees_a_twin_that_errs(mutant: type[Pool]) -> None:
    class Mutated(Machine):
        twin = mutant

    profile = settings(
        max_examples=400, stateful_step_count=40, derandomize=True, database=None, phases=[Phase.generate]
    )
    with pytest.raises(AssertionError):
        run_state_machine_as_test(Mutated, settings=profile)
