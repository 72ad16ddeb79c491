"""Each of the seven patches is one switch, and does what its mechanism says, or nothing."""

from __future__ import annotations

import itertools

import pytest

from nicperf.drivers.velocity import DMA_LENGTH_DWORDS

from ..observed import Snapshot, observe

SEED_WORKLOADS = (
    ("udp_stream", {"workload.message_bytes": 65507}),
    ("tcp_stream", {}),
    ("tcp_sendfile", {}),
)


def ends(workload: str, params: dict[str, object], name: str, *values: object) -> list[Snapshot]:
    return [observe(workload, params | {name: value}, 0.01).end for value in values]


def same(one: Snapshot, other: Snapshot) -> bool:
    return one.local.counters == other.local.counters and one.remote.counters == other.remote.counters


@pytest.mark.parametrize(("workload", "params"), SEED_WORKLOADS)
def test_alignment_changes_nothing_on_x86(workload: str, params: dict[str, object]) -> None:
    """Patch 2: a buffer at 32 modulo 64 goes to the next line under either rule: 32 + 32 = 32 + (64 - 32)."""
    lines = params | {"bus.write_line_bytes": 64}  # the bridge would notice
    assert same(*ends(workload, lines, "driver.rx_align_rule", "mainline", "via"))


@pytest.mark.parametrize(("mod", "offset"), [(0, 0), (2, 4), (16, 32), (31, 62), (33, 2), (63, 62)])
def test_alignment_elsewhere(mod: int, offset: int) -> None:
    """Mainline's rule leaves the frame at twice the remainder, VIA's always on a line: 24 or 25 bursts for
    1514 bytes.
    """
    params = {
        "remote.driver.rx_buffer_address_mod_bytes": mod,
        "bus.write_line_bytes": 64,
        "workload.message_bytes": 1472,
    }
    mainline, via = ends("udp_stream", params, "driver.rx_align_rule", "mainline", "via")
    clocks = set()
    for end, start in ((mainline, offset), (via, 0)):
        host = end.remote
        lines = (start + 1514 - 1) // 64 + 1
        words = (start % 4 + 1514 + 3) // 4
        clocks.add(words + 4 * lines)
        assert host["bus_bursts.rx_data_write"] == lines * host["bus_bursts.rx_writeback"]
        assert host["bus_ps.rx_data_write"] == pytest.approx(
            host["bus_bursts.rx_writeback"] * (words + 4 * lines) * 30_000, rel=1e-6
        )
    assert same(mainline, via) == (len(clocks) == 1)


def test_via_rule_is_always_aligned() -> None:
    params = {
        "bus.write_line_bytes": 64,
        "remote.driver.rx_align_rule": "via",
        "workload.message_bytes": 1472,
    }
    runs = ends("udp_stream", params, "remote.driver.rx_buffer_address_mod_bytes", 0, 1, 17, 63)
    assert all(same(one, other) for one, other in itertools.pairwise(runs))


def test_suppression_lowers_interrupts() -> None:
    """Patch 3, for completions."""
    params = {"workload.message_bytes": 1472, "local.driver.napi": True}
    plain, suppressed = ends("udp_stream", params, "local.driver.tx_suppress_frames", 0, 31)
    assert plain.local["interrupts"] > 25 * suppressed.local["interrupts"] > 0


def test_napi_lowers_register_accesses() -> None:
    """Patch 4: 1 read and 3 writes instead of 2 and 3."""
    old, new = ends("udp_stream", {"workload.message_bytes": 1472}, "local.driver.napi", False, True)
    reads = [end.local["bus_bursts.mmio_read"] / end.local["interrupts"] for end in (old, new)]
    assert reads == pytest.approx([2, 1], abs=0.05)


def test_burst_codes_of_the_register() -> None:
    """Patch 5: codes 0 to 5 are 8 to 256 words of 4 bytes, 6 and 7 go on until the FIFO is empty."""
    assert DMA_LENGTH_DWORDS == {0: 8, 1: 16, 2: 32, 3: 64, 4: 128, 5: 256, 6: 0, 7: 0}


@pytest.mark.parametrize("code", DMA_LENGTH_DWORDS)
def test_burst_length(code: int) -> None:
    """On a bus that does not cut: 1514 bytes in as many bursts as the code asks for, but for the latency
    timer of 255 clocks.
    """
    params = {"bus.read_line_bytes": 0, "bus.latency_timer_clocks": 255, "workload.message_bytes": 1472}
    host = observe("udp_stream", params | {"nic.dma_burst_dwords": DMA_LENGTH_DWORDS[code]}, 0.005).end.local
    expected = {0: 48, 1: 24, 2: 12, 3: 6, 4: 3, 5: 2, 6: 2, 7: 2}[code]
    assert host["bus_bursts.tx_data_read"] == expected * host["bus_bursts.tx_descriptor_read"]


def test_a_bridge_that_cuts_lines_makes_longer_bursts_useless() -> None:
    params = {"bus.read_line_bytes": 64, "workload.message_bytes": 1472}
    runs = ends("udp_stream", params, "local.nic.dma_burst_dwords", 16, 64, 256, 0)
    assert (
        len(
            {
                run.local["bus_bursts.tx_data_read"] / run.local["bus_bursts.tx_descriptor_read"]
                for run in runs
            }
        )
        == 1
    )
    short = ends("udp_stream", params, "local.nic.dma_burst_dwords", 8)[0]
    assert short.remote["received_bytes"] < 0.85 * runs[0].remote["received_bytes"]


def test_scatter_gather_means_more_buffers() -> None:
    """Patch 6: a frame comes from one buffer, or from its head and the pages it touches."""
    plain, scattered = ends("tcp_stream", {}, "local.driver.tx_scatter_gather", False, True)
    words = [
        end.local["bus_ps.tx_descriptor_read"] / end.local["bus_ps.tx_writeback"]
        for end in (plain, scattered)
    ]
    assert words[1] > 1.2 * words[0]


@pytest.mark.parametrize(("workload", "params"), SEED_WORKLOADS)
def test_the_version_changes_nothing(workload: str, params: dict[str, object]) -> None:
    """Patch 7."""
    assert same(*ends(workload, params, "driver.version", "1.14", "1.15"))
