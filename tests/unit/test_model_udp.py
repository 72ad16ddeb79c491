"""UDP: fragments, checksum in software, blocking, reassembly, and who sums at the receiver (patch 1)."""

from __future__ import annotations

import numpy as np
import pytest

from ..observed import Observed, observe

BIG = {
    "workload.message_bytes": 65507,
    "workload.send_buffers": 32,
    "cpu.jitter_percent": 0.0,
    "cpu.frequency_mhz": 1000.0,
}


@pytest.fixture(scope="module")
def run() -> Observed:
    return observe("udp_stream", BIG, 0.02, slices=200, events=50_000)


def test_65507_bytes_are_45_fragments(run: Observed) -> None:
    """44 of 1480 bytes and one of 395: with headers 1514 and 429 on the bus, 1538 and 453 on the wire."""
    host = run.end.local
    datagrams, rest = divmod(host["tx_completions"], 45)
    assert datagrams > 10
    on_wire = datagrams * (44 * 1538 + 453) + rest * 1538
    assert host["wire_bytes"] in (on_wire, on_wire + 1538)


@pytest.mark.parametrize(
    ("message_bytes", "mtu", "fragments"),
    [
        (1472, 1500, 1),
        (1473, 1500, 2),
        (1, 1500, 1),
        (65507, 576, 119),
        (548, 576, 1),
        (549, 576, 2),
        (2952, 1500, 2),
    ],
)
def test_number_of_fragments(message_bytes: int, mtu: int, fragments: int) -> None:
    end = observe("udp_stream", {"workload.message_bytes": message_bytes, "wire.mtu_bytes": mtu}, 0.004).end
    assert end.remote["messages"] > 0
    whole = end.remote["received_bytes"] // message_bytes + end.remote["socket_drops"]
    assert end.remote["delivered"] // fragments == whole
    assert end.local["calls.process.ip_fragment"] == pytest.approx(
        end.local["calls.process.skb_alloc"] * (1 - 1 / fragments), abs=2
    )


def test_fragments_are_summed_while_they_are_copied(run: Observed) -> None:
    """Every byte of payload and the UDP header once: 0.3 cycles; the source is cold, 32 buffers exceed the
    cache: 1.2.
    """
    host = run.end.local
    begun, rest = divmod(host["calls.process.copy"], 45)
    copied = begun * 65515 + rest * 1480
    assert host["calls.process.checksum"] == host["calls.process.copy"]
    assert host["ledger_ps.process.checksum"] == pytest.approx(copied * 300, abs=host["calls.process.copy"])
    assert host["ledger_ps.process.copy"] == pytest.approx(copied * 1200, abs=host["calls.process.copy"])


def test_what_fits_one_frame_is_summed_by_the_chip() -> None:
    host = observe("udp_stream", {"workload.message_bytes": 1472}, 0.002).end.local
    assert host["calls.process.copy"] > 50
    assert host.total("calls.*.checksum") == 0


def test_few_buffers_stay_in_the_cache() -> None:
    """2 x 65507 bytes fit one megabyte, 32 do not."""
    cached = observe("udp_stream", BIG | {"workload.send_buffers": 2}, 0.005).end.local
    per_byte = cached["ledger_ps.process.copy"] / cached["ledger_ps.process.checksum"]
    assert per_byte == pytest.approx(0.68 / 0.3, rel=1e-4)


def test_scatter_gather_does_not_reach_udp() -> None:
    plain = observe("udp_stream", BIG, 0.01).end
    scattered = observe("udp_stream", BIG | {"driver.tx_scatter_gather": True}, 0.01).end
    assert plain.local.counters == scattered.local.counters
    assert plain.remote.counters == scattered.remote.counters


def test_the_writer_blocks_and_wakes_at_half() -> None:
    """107520 bytes of buffer, 1768 for each fragment: blocked once 61 are charged, woken when 30 are left."""
    run = observe(
        "udp_stream", {"workload.message_bytes": 1472, "local.driver.tx_ring": 256}, 0.01, events=50_000
    )
    used = run.trace.lengths["local.tx_ring"]  # the ring holds all that is charged
    assert used.max() == 107520 // 1768 + 1
    grows = np.flatnonzero(np.diff(used, prepend=0) > 0)
    refills = grows[1:][np.diff(grows) > 20]  # the writer was away for many events
    assert len(refills) >= run.end.local["wakeups"] - 2 > 3
    assert set((used[refills] - 1).tolist()) <= {107520 // 2 // 1768, 107520 // 2 // 1768 - 1}


def test_a_datagram_beyond_twice_the_buffer_is_given_up() -> None:
    """45 x 1768 bytes against 2 x 20000: the kernel refuses it and nothing leaves."""
    end = observe("udp_stream", BIG | {"local.socket.udp_send_buffer_bytes": 20_000}, 0.01).end.local
    assert end["socket_drops"] > 5
    assert end["tx_frames"] == end["sent_bytes"] == end["messages"] == 0


def test_an_incomplete_datagram_is_given_up() -> None:
    """Fragments lost in the FIFO: their datagram never reaches the socket, its bytes do not count."""
    small = {"remote.nic.rx_fifo_bytes": 2048, "remote.nic.pause": False, "remote.bus.clock_mhz": 20.0}
    end = observe("udp_stream", BIG | small, 0.05).end.remote
    assert end["rx_fifo_drops"] > 0 < end["reassembly_drops"]
    assert end["received_bytes"] - end["messages"] * 65507 < 3 * 65507


def test_a_full_socket_drops_the_datagram() -> None:
    """Room for one datagram: while the slow process reads it, the next ones are lost."""
    params = BIG | {
        "remote.socket.udp_receive_buffer_bytes": 2304,
        "remote.memory.copy_cold_cycles_per_byte": 40.0,
    }
    end = observe("udp_stream", params, 0.05).end.remote
    assert end["socket_drops"] > 10
    assert end["reassembly_drops"] == 0
    assert end["delivered"] == pytest.approx(45 * (end["messages"] + end["socket_drops"]), abs=2 * 45)


def test_checksum_rule_changes_only_the_reader_s_checksum() -> None:
    """Patch 1: under mainline's rule fragments count as verified; under VIA's the process sums while it
    copies.
    """
    ends = {
        rule: observe("udp_stream", BIG | {"remote.driver.rx_checksum_rule": rule}, 0.02).end
        for rule in ("mainline", "via")
    }
    mainline, via = ends["mainline"].remote, ends["via"].remote
    assert mainline.total("calls.*.checksum") == 0
    assert via["calls.process.checksum"] == via["calls.process.copy"] > 5
    assert via["ledger_ps.process.checksum"] == pytest.approx(via["calls.process.copy"] * 65507 * 300, abs=20)
    own = {"calls.process.checksum", "ledger_ps.process.checksum", "busy_ps.process", "cpu_idle_ps"}
    differ = {name for name, value in mainline.counters.items() if via[name] != value}
    assert own <= differ
    assert {name for name in differ - own if name.startswith(("ledger", "calls", "bus"))} <= TIMING


#: What a longer read may shift by a few picoseconds of schedule: who preempts whom, and the reads under way
#: at the end.
TIMING = {"ledger_ps.hard_irq.mmio_read"}


def test_checksum_rule_does_not_matter_for_whole_datagrams() -> None:
    params = {"workload.message_bytes": 1472}
    plain, via = (
        observe("udp_stream", params | {"driver.rx_checksum_rule": rule}, 0.01).end
        for rule in ("mainline", "via")
    )
    assert plain.remote.counters == via.remote.counters
