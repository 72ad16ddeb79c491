"""The Armada XP's driver: counts of three ways to segment, the ring's rules, coalescing, switching, faults of the past."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from nicperf.drivers._mvneta import DESCRIPTOR_BYTES
from nicperf.drivers.mvneta import MvnetaDriver
from nicperf.simulation import simulate
from nicperf.simulation._run import Simulation
from nicperf.simulation.scenario import host_spec, scenario

from .pairs import total, watch

MSS = 1448
EXACT = {"cpu.jitter_percent": 0.0}
#: More super-packets than the ring takes.
FULL = {
    "local.socket.tsq_bytes": 0,
    "local.socket.tcp_send_buffer_bytes": 1 << 22,
    "socket.tcp_window_bytes": 1 << 22,
}


def run(params, duration_s=0.05, **options):
    return watch({**EXACT, **params}, duration_s, driver="mvneta", **options)


def end(segmentation="tso", params=None, duration_s=0.05):
    return run({"driver.segmentation": segmentation, **(params or {})}, duration_s)[-1][0]


# counts ----------------------------------------------------------------------------------------------------------------


def test_the_ring_of_the_driver() -> None:
    assert DESCRIPTOR_BYTES == 32
    driver = MvnetaDriver()
    assert (driver.tx_ring, driver.longest_chain, driver.tx_stop, driver.tx_wake) == (532, 217, 315, 157)
    assert driver.header_bytes == 544_768
    assert MvnetaDriver(segmentation="gso").header_bytes == driver.header_bytes


def test_tso_does_everything_once_for_a_super_packet() -> None:
    """45 segments in 16 or 17 fragments of 4 KiB: 45 headers, about 60 pieces, 105 descriptors."""
    at = end("tso")
    packets = at["super_packets"]
    assert packets == at["tx_calls"] == at["doorbells"] > 50
    assert (
        at["tx_segments"] == at["header_copies"] == at["tx_frames"] == pytest.approx(45 * packets, rel=0.02)
    )
    assert (
        at["tx_descriptors"]
        == at["tx_segments"] + at["tx_pieces"]
        == pytest.approx(105.5 * packets, rel=0.02)
    )
    assert at["tx_skbs_freed"] == pytest.approx(packets, abs=8)
    assert at["dma_maps"] == at["tx_pieces"]
    assert at["gso_segments"] == at["page_references"] == 0
    assert total(at, "calls.", ".gso_segment") == 0


def test_gso_does_everything_for_each_segment() -> None:
    at = end("gso")
    segments = at["tx_segments"]
    assert segments == at["tx_calls"] == at["doorbells"]
    assert at["gso_segments"] == pytest.approx(segments, abs=10)  # a packet of one segment needs no cutting
    assert at["tx_descriptors"] == at["dma_maps"] == segments + at["tx_pieces"]
    assert at["page_references"] == pytest.approx(at["tx_pieces"], abs=10)
    assert total(at, "calls.", ".gso_segment") == pytest.approx(at["gso_segments"], abs=1)
    assert at["tx_skbs_freed"] == pytest.approx(segments, abs=400)
    assert at["super_packets"] == at["header_copies"] == 0
    # TCP and the device queue see super-packets.
    assert total(at, "calls.", ".tcp_output") == pytest.approx(segments / 45, rel=0.05)


def test_without_either_tcp_and_queue_see_each_segment() -> None:
    at = end("none")
    assert total(at, "calls.", ".tcp_output") == pytest.approx(at["tx_segments"], rel=0.02)
    assert total(at, "calls.", ".qdisc") == pytest.approx(at["tx_segments"], rel=0.02)
    assert at["gso_segments"] == at["page_references"] == at["super_packets"] == 0
    assert at["doorbells"] == at["tx_calls"] == at["tx_segments"]


def test_the_chip_gets_the_same_descriptors_either_way() -> None:
    tso, gso, none = (end(way) for way in ("tso", "gso", "none"))
    for at in (tso, gso, none):
        assert at["tx_descriptors"] / at["tx_segments"] == pytest.approx(1 + 1448 / 4096 + 1, abs=0.005)


def test_what_tso_saves() -> None:
    cost = {way: total(end(way), "busy_ps.", "") for way in ("tso", "gso", "none")}
    assert cost["tso"] < 0.9 * cost["gso"] < 0.9 * 0.9 * cost["none"]


@pytest.mark.parametrize(("mtu", "segments"), [(1500, 45), (576, 100)])
def test_at_most_100_segments(mtu: int, segments: int) -> None:
    at = end("tso", {"wire.mtu_bytes": mtu, "driver.tx_ring": 1024})
    assert at["tx_segments"] / at["super_packets"] == pytest.approx(segments, rel=0.05)
    assert at["tx_segments"] <= segments * at["super_packets"]


def test_larger_fragments_mean_fewer_pieces() -> None:
    at = end("tso", {"local.stack.fragment_bytes": 32768})
    assert at["tx_descriptors"] / at["super_packets"] == pytest.approx(92, rel=0.02)


def test_memory_that_is_not_coherent_costs_lines_and_headers() -> None:
    for way in ("tso", "gso"):
        coherent, other = (end(way, {"local.dma.coherent": yes}) for yes in (True, False))
        assert total(other, "ledger_ps.", ".dma_map") > 5 * total(coherent, "ledger_ps.", ".dma_map")
        calls = [at["tx_calls"] for at in (coherent, other)]
        xmit = [total(at, "ledger_ps.", ".driver_xmit") for at in (coherent, other)]
        more = (xmit[1] / calls[1]) / (xmit[0] / calls[0])
        assert (
            more > 1.2 if way == "tso" else more == pytest.approx(1, rel=0.01)
        )  # only TSO writes header memory


# ring, doorbell, coalescing --------------------------------------------------------------------------------------------


def test_the_queue_stops_at_315_and_wakes_at_157() -> None:
    sc = scenario("mvneta", "iperf", {**EXACT, **FULL})
    specs = [host_spec(sc, side) for side in ("local", "remote")]
    _, _, trace = Simulation("mvneta", *specs, "iperf", 0).run(0, 10**10, 2, 200_000)
    ring = trace[:, 3]
    assert 315 <= ring.max() <= 531
    steps = np.diff(ring)
    posted = ring[:-1][steps > 20]
    assert posted.max() < 315 and posted.min() == 0
    # Once stopped nothing is added before 157.
    stopped = False
    for before, after in pairwise(ring.tolist()):
        if after > before:
            assert not stopped
        stopped = after >= 315 or (stopped and after > 157)


@pytest.mark.parametrize("way", ["tso", "gso"])
def test_stops_and_wakes(way: str) -> None:
    at = end(way, FULL)
    assert 0 <= at["tx_stops"] - at["tx_wakes"] <= 1 and at["tx_wakes"] > 5


def test_one_doorbell_for_several_packets() -> None:
    at = end("gso", {"driver.xmit_more": True})
    assert at["tx_descriptors"] / 255 <= at["doorbells"] < 0.1 * at["tx_calls"]
    assert total(at, "calls.", ".barrier") == pytest.approx(at["doorbells"], rel=0.05)
    plain = end("gso")
    assert at["tx_segments"] == pytest.approx(plain["tx_segments"], rel=0.02)
    assert end("tso", {"driver.xmit_more": True})["doorbells"] > 50


@pytest.mark.parametrize(("unit", "threshold"), [("packets", 16), ("packets", 0), ("descriptors", 100)])
def test_an_interrupt_for_so_many(unit: str, threshold: int) -> None:
    """The chip asks at the threshold; polls that receive do not take back below it."""
    params = {"nic.coalesce_unit": unit, "driver.tx_coalesce_count": threshold, "driver.poll_cycles": 0.0}
    at = end("gso", params | {"driver.rx_coalesce_us": 0.0, "driver.rx_coalesce_frames": 0})
    sent = at["tx_completions"] if unit == "descriptors" else at["tx_frames"]
    reaped = total(at, "calls.", ".tx_reap")
    assert 0 < at["tx_interrupts"] <= sent / max(threshold, 1)
    assert reaped <= at["tx_completions"]
    left = at["tx_done"]
    assert left < 3 * max(threshold, 1) + 10


def test_a_small_send_buffer_waits_for_ever_for_the_sixteenth_packet() -> None:
    """Each datagram of 56 bytes is one packet; the buffer holds fewer than 16 of them."""
    params = {
        "workload.message_bytes": 56,
        "local.socket.udp_send_buffer_bytes": 4608,
        "local.socket.tx_truesize_bytes": 768,
    }
    stalled = run({**params, "driver.tx_coalesce_count": 16}, 0.05, workload="udp_stream")[-1]
    assert stalled[0]["tx_frames"] == stalled[1]["rx_frames"] == 6
    assert stalled[0]["tx_done"] == 6 and stalled[0]["tx_ring"] == 6
    for cure in ({"driver.tx_coalesce_count": 0}, {"local.socket.udp_send_buffer_bytes": 3 * 4608}):
        flowing = run({**params, "driver.tx_coalesce_count": 16, **cure}, 0.05, workload="udp_stream")[-1]
        assert flowing[1]["rx_frames"] > 500


def test_bql_keeps_ring_and_latency_short() -> None:
    def ring_and_latency_us(bql: bool) -> tuple[float, float]:
        params = {**FULL, "driver.segmentation": "gso", "driver.bql": bql, "driver.tx_coalesce_count": 0}
        snapshots = run(params, 0.1, slices=200)[100:]
        peer = snapshots[-1][1]
        assert peer["received_bytes"] > 0.095 * 941e6 / 8
        ring = float(np.mean([at[0]["tx_ring"] for at in snapshots]))
        return ring, peer["latency_ps"] / peer["delivered"] / 1e6

    (ring, latency_us), (long_ring, long_latency_us) = (ring_and_latency_us(bql) for bql in (True, False))
    assert ring < 0.1 * long_ring and latency_us < 0.2 * long_latency_us


def test_bql_and_a_threshold_wait_for_each_other() -> None:
    """The first limit lets one packet out, and the chip is silent about one."""
    params = {**FULL, "driver.segmentation": "gso", "driver.bql": True}
    at = run({**params, "driver.tx_coalesce_count": 16})[-1][0]
    assert at["tx_done"] == at["tx_ring"] == 2 and at["bql_stops"] == 1 and at["qdisc"] > 0


def test_received_frames_wait_for_the_timer_or_the_threshold() -> None:
    at = end("tso")
    assert at["rx_timer_interrupts"] > 50
    assert at["copybreaks"] == at["rx_frames"] - at["rx_ring"]
    each = end("tso", {"driver.rx_coalesce_frames": 0})
    assert each["rx_timer_interrupts"] == 0 < each["rx_threshold_interrupts"]


# switching -------------------------------------------------------------------------------------------------------------


def test_tso_is_switched_off_and_on_while_it_runs() -> None:
    params = {**EXACT, "driver.tso_off_s": 0.1, "driver.tso_on_s": 0.2}
    cpu = simulate(
        "mvneta", "iperf", params, duration_s=0.3, warmup_s=0.0, slices=30
    ).timeline.cpu_percent_local
    on, off, again = cpu[2:9].mean(), cpu[12:19].mean(), cpu[22:29].mean()
    assert off > 1.15 * on and again == pytest.approx(on, rel=0.05)
    assert cpu[12:19].min() > max(cpu[2:9].max(), cpu[22:29].max())


def test_switched_off_nothing_remains_but_memory() -> None:
    """As letter and driver say: without TSO a frame costs what it costs a driver that never had it."""
    off = run({"driver.tso_off_s": 1e-9})[-1][0]
    never = run({"driver.segmentation": "gso"})[-1][0]
    assert off == never
    assert off["header_copies"] == 0


# faults of the past ----------------------------------------------------------------------------------------------------

OWNER = {"nic.handover": "owner_bit", "socket.rto_us": 2000.0}


def test_a_first_descriptor_handed_over_early_is_sent_without_the_rest() -> None:
    """The chip still sends the packet before: it goes on, and finds the end too soon."""
    packets = {**OWNER, "local.cpu.frequency_mhz": 150.0, "local.socket.super_packet_bytes": 14480}
    broken = run({**packets, "driver.fault_first_early": True})[-1]
    assert broken[0]["tx_truncated"] > 5 and broken[0]["tx_skipped"] > 5
    assert broken[0]["retransmits"] > 0
    fixed = run(packets)[-1]
    assert fixed[0]["tx_truncated"] == fixed[0]["tx_skipped"] == fixed[0]["retransmits"] == 0
    assert fixed[1]["received_bytes"] > 1.2 * broken[1]["received_bytes"]


def test_slivers_are_sent_wrongly_unless_copied() -> None:
    """Without timestamps a segment has 1460 bytes: some pieces are of 4, at an odd multiple of 4."""
    chip = {"nic.sliver_bytes": 8, "socket.tcp_timestamps": False, "socket.rto_us": 2000.0}
    broken = run({**chip, "driver.sliver_copy": False})[-1]
    assert broken[0]["tx_corrupt"] > 0 and broken[0]["retransmits"] > 0
    fixed = run(chip)[-1]
    assert fixed[0]["tx_corrupt"] == fixed[0]["retransmits"] == 0
    assert fixed[0]["sliver_copies"] > 0
    assert fixed[0]["dma_maps"] == fixed[0]["tx_pieces"] - fixed[0]["sliver_copies"]
    other_chip = run({**chip, "nic.sliver_bytes": 0, "driver.sliver_copy": False})[-1]
    assert other_chip[0]["tx_corrupt"] == other_chip[0]["sliver_copies"] == 0


@pytest.mark.parametrize("way", ["tso", "gso"])
def test_unwinding_takes_back_its_own_descriptors(way: str) -> None:
    failing = {"driver.segmentation": way, "driver.map_failure_calls": 997, "socket.rto_us": 2000.0}
    fixed = run(failing)[-1][0]
    assert fixed["map_failures"] == fixed["tx_dropped"] > 3
    assert fixed["wrong_unmaps"] == fixed["lost_maps"] == 0


def test_unwinding_from_index_0_takes_back_those_of_others() -> None:
    failing = {"driver.map_failure_calls": 997, "socket.rto_us": 2000.0, "driver.fault_unwind": True}
    broken = run(failing)[-1][0]
    assert broken["map_failures"] > 3
    assert broken["wrong_unmaps"] > 0 and broken["lost_maps"] > 0


# laws ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["tso", "gso", "none"])
@pytest.mark.parametrize(
    "params",
    [
        {},
        FULL,
        {"wire.mtu_bytes": 576},
        {"nic.handover": "owner_bit", "driver.bql": True, "driver.xmit_more": True},
        {"workload.message_bytes": 3000, "local.socket.nodelay": True, "socket.tcp_timestamps": False},
        {"local.stack.fragment_bytes": 1000, "driver.map_failure_calls": 501, "socket.rto_us": 1000.0},
        {"local.cpu.process_core": "same", "local.cpu.frequency_mhz": 300.0, "local.dma.coherent": False},
    ],
)
def test_laws(way: str, params) -> None:
    for at, peer in run({"driver.segmentation": way, **params}, 0.02, slices=100):
        assert 0 <= at["tx_ring"] <= 531
        assert 0 <= at["tx_done"] <= at["tx_ring"]
        assert 0 <= at["tx_owned"] <= at["tx_ring"] - at["tx_done"]
        if "driver.xmit_more" not in params:
            assert at["tx_owned"] == at["tx_ring"] - at["tx_done"]
        # Descriptors: a header for each segment, and its pieces; within the driver's bound.
        assert at["tx_descriptors"] == at["tx_completions"] + at["tx_ring"] - at["tx_done"]
        if "driver.map_failure_calls" not in params:
            assert at["tx_descriptors"] == at["tx_segments"] + at["tx_pieces"]
            heads = at["tx_segments"] - at["header_copies"]
            assert at["dma_maps"] == at["tx_pieces"] + heads - at["sliver_copies"]
        fragments = at["tx_calls"] * (2 + 65536 // params.get("local.stack.fragment_bytes", 4096))
        assert at["tx_descriptors"] <= 2 * at["tx_segments"] + fragments
        assert at["wrong_unmaps"] == at["lost_maps"] == 0
        assert 0 <= at["dma_maps"] - at["dma_unmaps"] <= at["tx_ring"]
        if at["tx_ring"] == 0:
            assert at["dma_maps"] == at["dma_unmaps"]
            assert at["tx_skbs_freed"] == at["tx_calls"] - at["tx_dropped"]
        assert at["rx_credit"] + at["rx_ring"] == 128
        # Frames: all that were posted are in the ring, in the FIFO or over.
        arrived = peer["rx_frames"] + peer["rx_fifo"] + peer["rx_fifo_drops"]
        assert 0 <= at["tx_frames"] - arrived <= at["tx_ring"]
        # Time.
        busy = sum(at[f"busy_ps.{context}"] for context in ("hard_irq", "soft_irq", "process"))
        assert total(at, "ledger_ps.", "") == busy + at["cpu_left_ps"]
        assert at["dma_busy_ps"] + at["dma_left_ps"] >= at["gap_ps"]
