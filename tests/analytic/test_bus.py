"""Bus time of the executed path against the closed form of a burst, move by move and as the limit of
throughput.
"""

from __future__ import annotations

import pytest

from nicperf.analytic.bus import ParallelBus, burst_mbyte_s, frame_bus_ns

from ..observed import observe

CLOCK_MHZ = 100 / 3
# Clocks: arbitration 1, address 1, turnaround 1 (reads), latency 4 and 1, idle 1.
READ_OVERHEAD, WRITE_OVERHEAD = (8, 4)
READS = ParallelBus(4, CLOCK_MHZ, READ_OVERHEAD)
WRITES = ParallelBus(4, CLOCK_MHZ, WRITE_OVERHEAD)
PLAIN = {
    "bus.clock_mhz": CLOCK_MHZ,
    "bus.read_latency_clocks": 4.0,
    "bus.write_latency_clocks": 1.0,
    "bus.read_line_bytes": 0,
    "bus.latency_timer_clocks": 255,
    "workload.message_bytes": 1472,
}


@pytest.mark.parametrize("burst_words", [8, 16, 32, 64, 128])
def test_moves_of_a_full_frame(burst_words: int) -> None:
    end = observe("udp_stream", {**PLAIN, "nic.dma_burst_dwords": burst_words}, 0.003).end
    fetched = end.local["bus_bursts.tx_descriptor_read"]
    assert fetched > 50
    assert end.local["bus_ps.tx_data_read"] / fetched == pytest.approx(
        1000 * frame_bus_ns(1514, burst_words, READS), abs=1
    )
    stored = end.remote["bus_bursts.rx_writeback"]
    assert end.remote["bus_ps.rx_data_write"] / stored == pytest.approx(
        1000 * frame_bus_ns(1514, burst_words, WRITES), abs=1
    )


@pytest.mark.parametrize("burst_words", [8, 16, 64])
def test_throughput_of_a_full_bus(burst_words: int) -> None:
    """Per frame: descriptor, data, write-back, doorbell; per 31 frames an interrupt: one register read, three
    writes.
    """
    quiet = {
        "local.driver.napi": True,
        "local.driver.tx_suppress_frames": 31,
        "nic.frame_gap_ns": 0.0,
        "wire.rate_mbit_s": 1e4,
    }
    run = observe("udp_stream", {**PLAIN, **quiet, "local.nic.dma_burst_dwords": burst_words}, 0.05, slices=5)
    frames = run.snapshots[5].local["tx_completions"] - run.snapshots[1].local["tx_completions"]
    per_frame_ns = (
        frame_bus_ns(16, burst_words, READS)
        + frame_bus_ns(1514, burst_words, READS)
        + frame_bus_ns(4, burst_words, WRITES)
        + 1000 / CLOCK_MHZ * (4 + (9 + 3 * 4) / 31)
    )
    assert frames == pytest.approx(0.04e9 / per_frame_ns, rel=0.002)
    without_overhead_ns = 1000 / CLOCK_MHZ * (4 + 379 + 1)
    assert frames < 0.96 * 0.04e9 / without_overhead_ns


def test_bursts_of_the_published_guess() -> None:
    """Long messages approach what back-to-back bursts of 32 and 64 bytes carry: 66.7 and 88.9 MB/s at 8
    clocks.
    """
    for burst_words, mbyte_s in ((8, 66.7), (16, 88.9)):
        end = observe("udp_stream", {**PLAIN, "nic.dma_burst_dwords": burst_words}, 0.003).end
        rate = 1514 * end.local["bus_bursts.tx_descriptor_read"] / end.local["bus_ps.tx_data_read"] * 1e6
        assert rate == pytest.approx(burst_mbyte_s(burst_words), rel=0.01)
        assert rate == pytest.approx(mbyte_s, rel=0.01)
