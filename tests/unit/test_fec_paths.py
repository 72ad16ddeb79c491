"""Receive paths of the FEC's driver, worked out by hand: counts, lines and cycles for each frame."""

from __future__ import annotations

from typing import Any

import pytest

from nicperf.errors import ScenarioError
from nicperf.simulation import simulate

from ..observed import Side, Snapshot, observe

CALM = {
    "cpu.jitter_percent": 0.0,
    "remote.cpu.frequency_mhz": 1000.0,  # a cycle is a nanosecond
    "pktgen.rate_pps": 10_000.0,
    "driver.rx_coalesce_frames": 0,
}
#: What comes once for many frames is free, so that each frame costs the same.
FLAT = {
    f"page_costs.{step}_cycles": 0.0
    for step in ("alloc", "bulk", "hot", "cold", "buddy", "high_order", "free", "drain", "rewind")
}
FULL, SMALL = 1514, 60


def calm(path: str, frame_bytes: int = FULL, duration_s: float = 0.05, **params: Any) -> Snapshot:
    """The end of a run with a frame each 100 us; names in `params` have _ where the others have a dot."""
    more = {name.replace("__", "."): value for name, value in params.items()}
    settings = {**CALM, "driver.rx_path": path, "pktgen.frame_bytes": frame_bytes, **more}
    return observe("xdp", settings, duration_s, slices=1, system="fec").end


def frames(host: Side) -> int:
    return host["calls.soft_irq.rx_reap"]


PATHS = [("original", FULL), ("original", SMALL), ("release", FULL), ("recycle", FULL), ("recycle", SMALL)]


@pytest.mark.parametrize(("path", "frame_bytes"), PATHS)
def test_registers_and_barriers(path: str, frame_bytes: int) -> None:
    """Each frame: IEVENT, RDAR, a barrier. Each interrupt: read IEVENT, acknowledge, mask. The poll: read IEVENT,
    acknowledge, and at the end unmask.
    """
    end = calm(path, frame_bytes).remote
    n = frames(end)
    assert n == 500 and end["interrupts"] == end["polls"] == n
    assert end["calls.soft_irq.barrier"] == n
    assert end["calls.soft_irq.mmio_write"] == 2 * n + 2 * n
    assert (end["calls.hard_irq.mmio_write"], end["calls.hard_irq.mmio_read"]) == (2 * n, n)
    assert end["calls.soft_irq.mmio_read"] == n
    assert end["bus_bursts.mmio_write"] == end.total("calls.*.mmio_write")
    assert end["bus_bursts.mmio_read"] == end.total("calls.*.mmio_read")


@pytest.mark.parametrize(
    ("path", "frame_bytes", "maps", "syncs", "invalidated", "cleaned"),
    [
        ("original", FULL, 2, 0, 32, 32),  # unmap and map of 2048 bytes
        ("original", SMALL, 0, 2, 1, 32),  # 60 bytes to copy, then the whole buffer for the device
        ("original", 65, 0, 2, 2, 32),
        ("recycle", FULL, 0, 2, 24, 55),  # 1518 bytes with FCS; 3520 when the page comes back
        ("recycle", SMALL, 0, 2, 1, 55),
        ("recycle", 61, 0, 2, 2, 55),  # the FCS reaches into a second line
        ("release", FULL, 2, 2, 24, 55),  # maps and unmaps a page, cleans it once: before the device has it
    ],
)
def test_calls_and_lines(
    path: str, frame_bytes: int, maps: int, syncs: int, invalidated: int, cleaned: int
) -> None:
    # Bulks of one page: each allocation shows at once.
    start = calm(path, frame_bytes, 0.01, page_pool__bulk_pages=1).remote
    end = calm(path, frame_bytes, 0.05, page_pool__bulk_pages=1).remote
    n = frames(end) - frames(start)

    def per_frame(name: str) -> float:
        return (end[name] - start[name]) / n

    assert per_frame("dma_maps") + per_frame("dma_unmaps") == maps
    assert per_frame("calls.soft_irq.dma_map") == maps
    assert per_frame("dma_syncs") == per_frame("calls.soft_irq.dma_sync") == syncs
    assert per_frame("lines_invalidated") == invalidated
    assert per_frame("lines_cleaned") == cleaned
    assert per_frame("heads_allocated") == per_frame("heads_freed") == 1


STACK = {"netif_rx": 0, "skb_free": 300, "ip_input": 500, "udp": 800}
FRAME = {"rx_reap": 450, "barrier": 40, "mmio_write": 400, "mmio_read": 300, "build_skb": 250 + 180}
ONCE = {"softirq": 500, "napi_poll": 300}


@pytest.mark.parametrize(
    ("path", "frame_bytes", "own"),
    [
        ("original", FULL, {"dma_map": 2 * (150 + 320), "page": 15 + 70 + 60}),
        ("original", SMALL, {"dma_sync": 150 + 10 + 150 + 320, "copy": 210, "page": 15 + 70 + 60}),
        ("recycle", FULL, {"dma_sync": 150 + 240 + 150 + 550, "page": 10 + 70 + 60 + 30 + 15}),
        ("recycle", SMALL, {"dma_sync": 150 + 10 + 150 + 550, "page": 10 + 70 + 60 + 30 + 15}),
        (
            "release",
            FULL,
            {"dma_map": 15 + 15, "dma_sync": 150 + 240 + 150 + 550, "page": 20 + 10 + 20 + 70 + 60},
        ),
    ],
)
def test_nanoseconds_of_a_frame(path: str, frame_bytes: int, own: dict[str, int]) -> None:
    """One frame in each poll; copying costs 3.5 cycles per cold byte. GRO has nothing to do with datagrams."""
    params = {**FLAT, "page_pool.bulk_pages": 1, "memory.copy_cold_cycles_per_byte": 3.5}
    start = observe("xdp", settings(path, frame_bytes, params), 0.02, slices=1, system="fec").end.remote
    end = observe("xdp", settings(path, frame_bytes, params), 0.05, slices=1, system="fec").end.remote
    n = frames(end) - frames(start)
    soft = {
        name.split(".")[2]: (end[name] - start[name]) / n / 1000
        for name in end.counters
        if name.startswith("ledger_ps.soft_irq.")
    }
    assert {name: ns for name, ns in soft.items() if ns} == {
        **{name: ns for name, ns in {**STACK, **FRAME, **ONCE}.items() if ns},
        **own,
    }
    hard = end.total("ledger_ps.hard_irq.*") - start.total("ledger_ps.hard_irq.*")
    assert hard / n / 1000 == 2500 + 300 + 2 * 100


def settings(path: str, frame_bytes: int, more: dict[str, Any]) -> dict[str, Any]:
    return {**CALM, "driver.rx_path": path, "pktgen.frame_bytes": frame_bytes, **more}


def test_costs_of_a_run_say_the_same() -> None:
    run = simulate("fec", "xdp", settings("recycle", FULL, {}), warmup_s=0.01, duration_s=0.05)
    costs = run.costs.set_index(["side", "context", "operation"])
    assert run.data_frames == 500
    assert costs.loc[("remote", "soft_irq", "dma_sync"), "calls"] == 1000
    assert costs.loc[("remote", "soft_irq", "dma_sync"), "ns_per_frame"] == 390 + 700
    assert costs.loc[("remote", "soft_irq", "barrier"), "ns_per_frame"] == 40


# Copybreak ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("frame_bytes", "threshold", "copied"),
    [(255, 256, True), (256, 256, True), (257, 256, False), (60, 0, False), (1514, 1536, True)],
)
def test_copybreak_counts_without_fcs(frame_bytes: int, threshold: int, copied: bool) -> None:
    end = calm("original", frame_bytes, driver__rx_copybreak_bytes=threshold).remote
    assert end["copybreaks"] == end["calls.soft_irq.copy"] == (frames(end) if copied else 0)


def test_copybreak_is_dead_with_the_page_pool() -> None:
    assert calm("recycle", SMALL).remote["copybreaks"] == 0


# Memory -----------------------------------------------------------------------------------------------------


def test_pages_of_each_path() -> None:
    """Recycling allocates none; release one for each frame, 64 at once; the original path a block for 13."""
    start = {path: calm(path, FULL, 0.02).remote for path in ("original", "release", "recycle")}
    end = {path: calm(path, FULL, 0.1).remote for path in start}
    n = {path: frames(end[path]) - frames(start[path]) for path in start}
    assert end["recycle"]["pages_allocated"] == start["recycle"]["pages_allocated"] == 5 * 64
    released = end["release"]["pages_allocated"] - start["release"]["pages_allocated"]
    assert released % 64 == 0 and abs(released - n["release"]) < 64
    assert end["release"]["pages_freed"] == frames(end["release"])
    blocks = end["original"]["fragment_blocks"] - start["original"]["fragment_blocks"]
    assert abs(blocks - n["original"] / 13) <= 1
    assert end["original"]["fragments_taken"] == 256 + frames(end["original"])


@pytest.mark.parametrize("ring", [8, 256, 512])
def test_ring_size_is_what_is_posted(ring: int) -> None:
    for path in ("original", "recycle"):
        end = calm(path, SMALL, driver__rx_ring=ring).remote
        assert end["rx_owned"] == end["rx_credit"] == ring - end["rx_ring"]


def test_pool_hands_out_what_the_ring_gave_back() -> None:
    """The fifth bulk of 64 serves 64 frames, whose pages come back through the ring: each refill fetches 64."""
    end = calm("recycle", FULL, 0.1).remote
    assert frames(end) == end["rx_pp_recycle_ring"] == 1000
    assert end["rx_pp_alloc_refill"] == (1000 - 1) // 64
    assert end["rx_pp_alloc_slow"] == end["rx_pp_alloc_empty"] == 5 and end["rx_pp_inflight"] == 5 * 64


def test_direct_recycling_fills_the_cache() -> None:
    end = calm("recycle", FULL, driver__direct_recycling=True).remote
    assert end["rx_pp_recycle_cached"] == frames(end) and end["rx_pp_recycle_ring"] == 0
    assert end["rx_pp_alloc_refill"] == 0


@pytest.mark.parametrize("path", ["original", "release", "recycle"])
@pytest.mark.parametrize("at", ["mapping", "page", "release"])
def test_turnovers(path: str, at: str) -> None:
    start = calm(path, FULL, 0.02, driver__turnover_at=at, driver__turnover_cycles=1000.0).remote
    end = calm(path, FULL, 0.1, driver__turnover_at=at, driver__turnover_cycles=1000.0).remote
    n = frames(end) - frames(start)
    turned = end["turnovers"] - start["turnovers"]
    allocated = end["pages_allocated"] - start["pages_allocated"]
    assert turned == {
        ("original", "mapping"): n,
        ("original", "page"): allocated,
        ("original", "release"): 0,
        ("release", "mapping"): n,
        ("release", "page"): allocated,
        ("release", "release"): n,
    }.get((path, at), 0)
    assert end.total("ledger_ps.*.page_turnover") == end["turnovers"] * 1_000_000
    if path == "original" and at == "page":
        assert 0 < turned < n / 12


def test_a_page_that_the_full_ring_turns_away_turns_over() -> None:
    """48 packets merge three at a time; the process frees them all at once, into a ring of 8."""
    params = {"driver.rx_path": "recycle", "page_pool.ring_pages": 8, "cpu.jitter_percent": 0.0}
    end = observe("iperf", params, 0.02, slices=1, system="fec").end.remote
    assert end["rx_pp_recycle_ring_full"] > 0
    assert end["turnovers"] == end["rx_pp_recycle_ring_full"]


# Interrupts ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pps", "frames_per_interrupt", "us", "period_us"),
    [
        (
            30_000.0,
            200,
            1000.0,
            1000 + 100 / 3,
        ),  # timer from the first frame; the 31st after it starts the next
        (500_000.0, 200, 1000.0, 400),
        (500_000.0, 64, 1000.0, 128),
        (500_000.0, 200, 100.0, 102),  # 50 more frames at once with the timer: the 51st starts the next
        (20_000.0, 0, 1000.0, 50),
        (20_000.0, 100, 0.0, 5000),
    ],
)
def test_coalescing(pps: float, frames_per_interrupt: int, us: float, period_us: float) -> None:
    params = {
        "cpu.jitter_percent": 0.0,
        "remote.cpu.frequency_mhz": 6000.0,
        "pktgen.rate_pps": pps,
        "xdp.program": "drop",
        "driver.rx_coalesce_frames": frames_per_interrupt,
        "driver.rx_coalesce_us": us,
    }
    run = observe("xdp", params, 0.05, slices=5, system="fec")
    interrupts = run.end.remote["interrupts"] - run.snapshots[1].remote["interrupts"]
    assert interrupts == pytest.approx(40_000 / period_us, abs=1)


def test_the_timer_runs_from_the_first_frame() -> None:
    params = {**CALM, "pktgen.rate_pps": 30_000.0, "driver.rx_coalesce_frames": 200, "xdp.program": "drop"}
    run = observe("xdp", params, 0.0011, slices=1, events=10_000, system="fec")
    first = run.trace.times_ps("remote.dma")[0]
    assert run.trace.times_ps("remote.rx_timer")[0] == first + 1_000_000_000


OVERLOAD = {
    "cpu.jitter_percent": 0.0,
    "remote.cpu.frequency_mhz": 1000.0,
    "pktgen.frame_bytes": SMALL,
    "xdp.program": "drop",
}


def test_a_poll_takes_64_frames() -> None:
    """At overload the interrupt stays masked and each poll takes its whole budget."""
    run = observe("xdp", OVERLOAD, 0.02, slices=4, system="fec")
    for before, after in zip(run.snapshots[1:], run.snapshots[2:], strict=False):
        polls = after.remote["polls"] - before.remote["polls"]
        assert abs(frames(after.remote) - frames(before.remote) - 64 * polls) <= 64
        assert after.remote["interrupts"] == before.remote["interrupts"]
    end = run.end.remote
    assert end["calls.soft_irq.napi_poll"] == end["polls"]


def test_the_poll_goes_on_while_events_are_pending() -> None:
    """An interrupt for each frame, and frames that come nearly as fast as they are taken."""
    params = {**OVERLOAD, "driver.rx_coalesce_frames": 0, "pktgen.rate_pps": 560_000.0}
    end = observe("xdp", params, 0.05, slices=1, system="fec").end.remote
    again = end["calls.soft_irq.napi_poll"] - end["polls"]
    spent = end["polls"] - end["interrupts"]  # polls that used their budget up
    assert again > 100
    assert end["calls.soft_irq.mmio_read"] == pytest.approx(end["calls.soft_irq.napi_poll"] - spent, abs=1)
    unmasked = end["interrupts"]
    assert end["calls.soft_irq.mmio_write"] == pytest.approx(
        2 * frames(end) + end["calls.soft_irq.mmio_read"] + unmasked, abs=2
    )


# Loss -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["release", "recycle"])
def test_without_a_page_the_frame_is_lost_and_its_buffer_used_again(path: str) -> None:
    end = calm(path, FULL, driver__rx_ring=8, pages__limit_pages=8).remote
    assert end["rx_dropped"] == frames(end) == 500 and end["delivered"] == 0
    assert end["page_pool_alloc_failed"] == 500
    assert end["rx_owned"] == 8 - end["rx_ring"]
    assert end["skbs"] == 0


def test_one_page_more_is_enough_for_one_frame_at_a_time() -> None:
    end = calm("recycle", FULL, driver__rx_ring=8, pages__limit_pages=9).remote
    assert end["rx_dropped"] == 0 and end["delivered"] == frames(end)


def test_without_a_block_the_original_path_loses_frames() -> None:
    """Thirteen buffers to a block of eight pages, and no memory for a second: five frames, then none."""
    end = calm("original", FULL, driver__rx_ring=8, pages__limit_pages=8).remote
    assert end["delivered"] == 5 and end["rx_dropped"] == frames(end) - 5
    assert end["heads_allocated"] == 5 and end["pages_allocated"] == 1


def test_a_pool_that_recovers() -> None:
    """Memory for a burst that the reader holds back runs out and comes back."""
    params = {
        "driver.rx_path": "recycle",
        "driver.rx_ring": 16,
        "pages.limit_pages": 32,
        "socket.tcp_window_bytes": 1 << 20,
        "socket.rto_us": 1000.0,
        "remote.memory.copy_cold_cycles_per_byte": 10.0,
    }
    run = observe("iperf", params, 0.05, slices=5, system="fec")
    assert run.end.remote["rx_dropped"] > 0 < run.end.local["retransmits"]
    assert run.end.remote["received_bytes"] > run.snapshots[3].remote["received_bytes"]


@pytest.mark.parametrize("path", ["original", "recycle"])
def test_memory_must_fill_the_ring(path: str) -> None:
    with pytest.raises(ScenarioError, match=r"pages\.limit_pages = 40.*receive ring.*driver\.rx_ring"):
        calm(path, FULL, pages__limit_pages=40)


def test_pause_against_drops() -> None:
    """Small frames at line rate into a slow core: PAUSE holds the generator, without it the FIFO loses."""
    held = observe("xdp", OVERLOAD, 0.01, slices=1, system="fec").end
    lost = observe("xdp", {**OVERLOAD, "remote.nic.pause": False}, 0.01, slices=1, system="fec").end
    assert held.remote["rx_fifo_drops"] == 0 < held.remote["pauses"] == held.local["paused"]
    assert lost.remote["rx_fifo_drops"] > 0 == lost.remote["pauses"] == lost.local["paused"]
    assert lost.local["wire_busy_ps"] > 0.99 * 10**10
    assert frames(held.remote) == pytest.approx(frames(lost.remote), rel=0.02)
    sent = lost.local["tx_frames"] - 1  # one is on the wire
    assert sent == lost.remote["rx_fifo_drops"] + lost.remote["rx_fifo"] + lost.remote["rx_frames"]


def test_fifo_holds_what_its_size_allows() -> None:
    """With the ring full the FIFO fills: 2048 bytes hold 34 frames of 60."""
    params = {**OVERLOAD, "remote.nic.pause": False, "nic.rx_fifo_bytes": 2048, "driver.rx_ring": 8}
    run = observe("xdp", params, 0.005, slices=1, events=50_000, system="fec")
    assert run.trace.lengths["remote.rx_fifo"].max() == 2048 // 60


def test_truesize_shrinks_the_window_of_a_page_for_each_frame() -> None:
    """A receive buffer of 64 KiB offers 24 frames' worth without the pool, 15 with it: 2688 and 4352 bytes each."""
    offered = {}
    for path in ("original", "recycle"):
        params = {
            **FLAT,
            "driver.rx_path": path,
            "driver.window_counts_truesize": True,
            "socket.tcp_window_bytes": 65536,
        }
        run = simulate("fec", "iperf", params, duration_s=0.02, warmup_s=0.01, fidelity="timing")
        offered[path] = run.summary["throughput_mbit_s"]
    assert offered["recycle"] / offered["original"] == pytest.approx(2688 / 4352, rel=0.1)
