"""Copies and page frags against the twin, operation by operation."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings
from nicperf.parts._parts_probe import Copying, Frags, Pages

from nicperf.parts.copies import COUNTERS, Copies

from .copies import LINE, Caches, Sender

SPACE_BYTES = 4096
MHZ = 3200.0
lines = st.integers(1, 24)
specs = st.builds(
    Copies,
    mode=st.sampled_from(["cached", "nocache"]),
    penalty_reading=st.sampled_from(["per_call", "per_byte"]),
    l1_bytes=lines.map(LINE.__mul__),
    l2_bytes=lines.map(LINE.__mul__),
    l3_bytes=lines.map(LINE.__mul__),
    ddio=st.booleans(),
    snooped_line=st.sampled_from(["clean", "invalid"]),
    application_bytes=st.sampled_from([0, 0, 256, 640, 4000]),
)
operations = st.lists(
    st.tuples(
        st.sampled_from(["write", "write", "read", "dma_read", "dma_write", "application"]),
        st.integers(0, SPACE_BYTES - 1),
        st.integers(1, 700),
    ),
    max_size=40,
)


def compare(spec: Copies, steps: list[tuple[str, int, int]], twin: Caches) -> None:
    core = Copying(spec, MHZ, SPACE_BYTES)
    for name, address, size in steps:
        n_bytes = min(size, SPACE_BYTES - address)
        if name == "application":
            ps, twin_ps = core.application_ps(size), twin.application(size) * 1e6 / MHZ
        elif name == "dma_write":
            core.dma_write(address, n_bytes)
            twin.dma_write(address, n_bytes)
            ps = twin_ps = 0
        else:
            ps = getattr(core, f"{name}_ps")(address, n_bytes)
            twin_ps = getattr(twin, name)(address, n_bytes) * (1e3 if name == "dma_read" else 1e6 / MHZ)
        assert ps == pytest.approx(twin_ps, rel=1e-9, abs=1)
    for line in range(SPACE_BYTES // LINE):
        where = ("l1", "l2", "l3", "dram")[core.level(line * LINE)]
        assert (where, core.dirty(line * LINE)) == (twin.level(line), line in twin.dirty)
    counted = dict(zip(COUNTERS, core.stats, strict=True))
    assert counted.pop("copy_application_misses") == pytest.approx(float(twin.missed), abs=1)
    assert counted.pop("copy_application_evictions") == pytest.approx(float(twin.evicted), abs=1)
    assert {name: n for name, n in counted.items() if n} == {
        f"copy_{name}": n for name, n in twin.did.items() if n
    }


@given(spec=specs, steps=operations)
@settings(max_examples=150)
def test_core_and_twin_find_every_line_in_the_same_place(
    spec: Copies, steps: list[tuple[str, int, int]]
) -> None:
    compare(spec, steps, Caches(spec))


def test_comparison_sees_a_line_more() -> None:
    spec = Copies(l1_bytes=256, l2_bytes=512, l3_bytes=1024)
    steps = [("write", 0, 320), ("write", 0, 64)]
    compare(spec, steps, Caches(spec))
    with pytest.raises(AssertionError):
        compare(spec, steps, Caches(replace(spec, l1_bytes=320)))


@given(
    limit=st.integers(1, 4),
    steps=st.lists(
        st.tuples(st.integers(0, 1), st.booleans(), st.integers(1, 40000), st.integers(0, 99)), max_size=60
    ),
)
@settings(max_examples=100)
def test_two_senders_get_the_chunks_of_the_twin(limit: int, steps: list[tuple[int, bool, int, int]]) -> None:
    pages = Pages(limit_pages=8 * limit)
    senders = [Frags(pages), Frags(pages)]
    unused = [*reversed(range(limit))]
    holders: dict[int, int] = {}
    twins = [Sender(unused, holders), Sender(unused, holders)]
    held: list[int] = []
    for who, allocates, n_bytes, which in steps:
        if allocates:
            chunk = senders[who].alloc(n_bytes)
            assert chunk == twins[who].alloc(n_bytes)
            held += [chunk[0]] if chunk else []
        elif held:
            address = held.pop(which % len(held))
            senders[who].free(address)
            twins[who].free(address)
    for sender, twin in zip(senders, twins, strict=True):
        assert Counter(sender.stats) == twin.did
        sender.drain()
    for address in held:
        senders[0].free(address)
    assert pages.used_pages == 0
