"""Copies against measurements of a server core: its a and b go in, the table of calls must come out.

The table was measured with 48 KB of L1, 2 MB of L2 and 300 MB of L3, the last of which only has to lie between the rings of
16 MB and 1 GB: here 32 and 64 MB stand for it, to spare memory.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import pytest
from nicperf.parts._parts_probe import Copying

from nicperf.errors import ScenarioError
from nicperf.parts.copies import Copies
from nicperf.simulation import copy_map

CLOCK_MHZ = 2100.0
CACHES = {"l1_bytes": 48 << 10, "l2_bytes": 2 << 20, "l3_bytes": 32 << 20}
RINGS = {"L1": 32 << 10, "L2": 1 << 20, "L3": 16 << 20, "DRAM": 64 << 20}
CACHED = Copies(
    **CACHES,
    cached_call_cycles=4.0,
    cached_l1_cycles_per_byte=0.023,
    cached_l2_cycles_per_byte=0.055,
    cached_l3_cycles_per_byte=0.107,
    cached_dram_cycles_per_byte=0.242,
)
#: b of 8-byte non-temporal stores by ring; their a is given as a range over all rings.
MOVNTI_B = {"L1": 0.19, "L2": 0.18, "L3": 0.19, "DRAM": 0.11}
MOVNTI_A = (405.0, 434.0, 463.0)
#: Cycles per byte by ring and message size: memcpy, 8-byte non-temporal stores.
TABLE = {
    ("L1", 1400): (0.019, 0.438),
    ("L1", 16384): (0.057, 0.225),
    ("L2", 64): (0.137, 6.81),
    ("L2", 1400): (0.056, 0.549),
    ("L2", 14000): (0.060, 0.216),
    ("L2", 16384): (0.058, 0.204),
    ("L3", 1400): (0.115, 0.535),
    ("L3", 16384): (0.108, 0.216),
    ("L3", 65536): (0.104, 0.189),
    ("DRAM", 1400): (0.266, 0.473),
    ("DRAM", 16384): (0.239, 0.141),
    ("DRAM", 65536): (0.217, 0.120),
}


def cycles_per_byte(spec: Copies, ring: str, size_bytes: int) -> float:
    """Messages that start on a line of their own, in the second round of the ring."""
    copying = Copying(spec, CLOCK_MHZ, RINGS[ring])
    stride = -(-size_bytes // 64) * 64
    starts = range(0, RINGS[ring] - stride + 1, stride)
    for start in starts:
        copying.write_ps(start, size_bytes)
    ps = sum(copying.write_ps(start, size_bytes) for start in starts)
    return ps * CLOCK_MHZ / 1e6 / len(starts) / size_bytes


def misses(spec: Copies, column: int, rings: Iterable[str] = RINGS) -> dict[tuple[str, int], float]:
    """Error of each row of the table, as a share of the measured cost."""
    return {
        (ring, size): cycles_per_byte(spec, ring, size) / costs[column] - 1
        for (ring, size), costs in TABLE.items()
        if ring in rings
    }


def test_cached_copies_find_each_ring_in_its_level() -> None:
    """The fit is for 64 bytes to 64 KB with up to 58 % of error: large messages and rings beyond L1 are its strong side."""
    errors = misses(CACHED, 0)
    strong = {key: error for key, error in errors.items() if key[0] != "L1" and key[1] >= 14000}
    assert len(strong) == 6 and max(map(abs, strong.values())) < 0.13
    assert max(map(abs, errors.values())) < 0.62
    swapped = Copies(**{**vars(CACHED), "l2_bytes": 512 << 10})
    assert misses(swapped, 0, ["L2"])["L2", 16384] > 0.5  # a smaller L2 would have been seen


@pytest.mark.parametrize("ring", RINGS)
def test_stores_around_the_cache_cost_what_the_fit_claims(ring: str) -> None:
    def worst(a_cycles: float, b_cycles: float) -> float:
        spec = Copies(
            **CACHES,
            mode="nocache",
            nocache_penalty_cycles=a_cycles,
            nocache_cycles_per_byte=b_cycles,
        )
        return max(abs(error) for error in misses(spec, 1, [ring]).values())

    assert min(worst(a, MOVNTI_B[ring]) for a in MOVNTI_A) <= 0.11
    assert min(worst(a, 1.5 * MOVNTI_B[ring]) for a in MOVNTI_A) > 0.11


def missing_share(mode: str, working_set_bytes: int, ring_bytes: int) -> float:
    """Of 512 random accesses after each copy of 16 KiB, in the second half of a long run."""
    spec = Copies(**CACHES, mode=mode, application_bytes=working_set_bytes, application_miss_cycles=1.0)
    copying, rounds = Copying(spec, CLOCK_MHZ, ring_bytes), 1000
    ps = []
    for i in range(rounds):
        copying.write_ps(i * 16384 % ring_bytes, 16384)
        ps.append(copying.application_ps(512))
    return sum(ps[rounds // 2 :]) * CLOCK_MHZ / 1e6 / (rounds - rounds // 2) / 512


def test_an_application_suffers_only_where_it_fits_alone_and_not_with_the_copies() -> None:
    """Measured: 19.4 cycles an access alone, 63.9 with 1 MB of copies through the cache, 20.5 with copies around it.

    A miss then costs the difference over the share of misses: it must be some hundred cycles, between the caches of a server.
    """
    share = missing_share("cached", 1536 << 10, 1 << 20)
    assert 100 < (63.9 - 19.4) / share < 250
    assert missing_share("nocache", 1536 << 10, 1 << 20) == 0
    assert missing_share("cached", 1536 << 10, 32 << 10) < 0.01
    assert missing_share("cached", 512 << 10, 1 << 20) < 0.01
    assert missing_share("cached", 8 << 20, 1 << 20) < 0.01


@pytest.mark.parametrize("reading", ["per_call", "per_byte"])
@pytest.mark.parametrize("size_bytes", [1, 7, 8, 100, 1400, 16384])
def test_the_map_is_the_ring_in_closed_form(reading: str, size_bytes: int) -> None:
    """The part walks each ring three times; of the last round the mean counts. A ring ends where a line ends."""
    settings = {"l1_bytes": 4 << 10, "l2_bytes": 32 << 10, "l3_bytes": 128 << 10, "penalty_reading": reading}
    whole = math.lcm(64, size_bytes)
    for target in (2 << 10, 20 << 10, 100 << 10, 256 << 10):
        ring = max(target // whole, 1) * whole
        (row,) = copy_map(
            [size_bytes], [ring], **{f"copies.{k}": v for k, v in settings.items()}
        ).itertuples()
        for mode, expected in (("cached", row.cached_cycles), ("nocache", row.nocache_cycles)):
            copying = Copying(Copies(mode=mode, **settings), 1000.0, ring)
            rounds = [
                [copying.write_ps(start, size_bytes) for start in range(0, ring, size_bytes)]
                for _ in range(3)
            ]
            assert sum(rounds[-1]) / len(rounds[-1]) / 1000 == pytest.approx(expected, rel=1e-3)


def test_the_map_refuses_what_the_model_does_not_have() -> None:
    with pytest.raises(ScenarioError, match=r"copies\.l4_bytes"):
        copy_map(**{"copies.l4_bytes": 1})
    with pytest.raises(ScenarioError, match="sizes_bytes = 0"):
        copy_map([0])
