"""Bursts and clocks of every move, against a formula that counts words one by one, and against the table of
the facts.
"""

from __future__ import annotations

import itertools

import pytest

from ..observed import observe

WORD = 4


def bursts_and_words(n_bytes: int, offset: int, limit: int, line: int, width: int = WORD) -> tuple[int, int]:
    """Walk over the bytes: a burst ends at the limit or at a line, a word at its boundary."""
    bursts, held, words = 0, limit, set()
    for at in range(offset, offset + n_bytes):
        if held == limit or (line and at % line == 0):
            bursts += 1
            held = 0
        held += 1
        words.add(at // width)
    return bursts, len(words)


@pytest.mark.parametrize("message_bytes", [18, 100, 1000, 1472])
def test_moves_of_one_buffer(message_bytes: int) -> None:
    """NIC limit x latency timer x line of the bridge x width, both directions; 64 combinations a size."""
    for dwords, timer, line, width in itertools.product((0, 8, 16, 64), (8, 64), (0, 64, 256, 32), (4, 8)):
        params = {
            "nic.dma_burst_dwords": dwords,
            "bus.latency_timer_clocks": timer,
            "bus.read_line_bytes": line,
            "bus.write_line_bytes": line,
            "bus.width_bytes": width,
            "bus.clock_mhz": 100.0,
            "workload.message_bytes": message_bytes,
        }
        end = observe("udp_stream", params, 0.0005, slices=1).end
        limit = min(timer * width, 4 * dwords or 10**6)
        frame = message_bytes + 42
        for host, use, overhead, times in (
            (end.local, "tx_data_read", 8, "tx_descriptor_read"),
            (end.remote, "rx_data_write", 4, "rx_writeback"),
        ):
            bursts, words = bursts_and_words(frame, 0, limit, line, width)
            n = host[f"bus_bursts.{times}"]
            assert n > 3
            assert host[f"bus_bursts.{use}"] == n * bursts
            assert host[f"bus_ps.{use}"] == n * (words + overhead * bursts) * 10_000


def test_descriptor_and_status() -> None:
    """16 bytes of descriptor for one buffer, 16 to receive, 4 of status each."""
    end = observe("udp_stream", {"bus.clock_mhz": 100.0, "workload.message_bytes": 18}, 0.001).end
    for host, use, clocks in (
        (end.local, "tx_descriptor_read", 8 + 4),
        (end.local, "tx_writeback", 4 + 1),
        (end.remote, "rx_descriptor_read", 8 + 4),
        (end.remote, "rx_writeback", 4 + 1),
    ):
        assert host[f"bus_ps.{use}"] == host[f"bus_bursts.{use}"] * clocks * 10_000 > 0


#: n words, bytes, MB/s with 7, 8 and 9 clocks of overhead on a 32-bit bus of 33.33 MHz.
TABLE = """
    4    16   48.5   44.4   41.0
    8    32   71.1   66.7   62.7
   16    64   92.8   88.9   85.3
   32   128  109.4  106.7  104.1
   64   256  120.2  118.5  116.9
  128   512  126.4  125.5  124.6
  379  1514  130.9  130.6  130.2
"""


@pytest.mark.parametrize("line", TABLE.strip().splitlines(), ids=lambda line: line.split()[0])
def test_the_table_of_the_facts(line: str) -> None:
    words, _, *published = map(float, line.split())
    for overhead, mbyte_s in zip((7, 8, 9), published, strict=True):
        params = {
            "bus.read_latency_clocks": overhead - 4.0,
            "bus.read_line_bytes": 0,
            "bus.latency_timer_clocks": 255,
        }
        use, each = "tx_data_read", words * WORD
        if words == 4:
            use = "tx_descriptor_read"
        elif words == 8:  # no frame is that short: one of 1504 bytes in bursts of eight words
            params |= {"nic.dma_burst_dwords": 8, "workload.message_bytes": 1504 - 42}
        elif words == 379:  # longer than any latency timer: two bursts
            continue
        else:
            params["workload.message_bytes"] = round(each) - 42
        end = observe("udp_stream", params, 0.001).end
        moved = each * end.local[f"bus_bursts.{use}"]
        assert moved / end.local[f"bus_ps.{use}"] * 1e6 == pytest.approx(mbyte_s, abs=0.05)


@pytest.mark.parametrize("gap_ns", [0.0, 3000.0, 15_000.0])
def test_a_dma_waits_for_registers(gap_ns: float) -> None:
    """A doorbell that meets a move delays it by its four clocks; in the set-up before the move there is time
    for it.
    """
    params = {
        "nic.frame_gap_ns": gap_ns,
        "cpu.frequency_mhz": 1000.0,
        "cpu.jitter_percent": 0.0,
        "bus.clock_mhz": 10.0,
        "bus.read_line_bytes": 0,
        "workload.message_bytes": 1472,
        "local.driver.tx_suppress_frames": 255,
    }
    run = observe("udp_stream", params, 0.0002, events=200)
    end = run.trace.times_ps("local.dma")[0]
    posts = run.trace.times_ps("local.cpu")[1::2]  # every datagram: one job to build it, one to send it
    doorbell_ps, begin = 4 * 100_000, posts[0] + gap_ns * 1000
    clocks = (8 + 4) + (379 + 8 * 6)  # descriptor; 1514 bytes in six bursts of at most 64 words
    later = posts[1:][posts[1:] < end]
    delay_ps = sum(min(max(post + doorbell_ps - begin, 0), doorbell_ps) for post in later)
    assert delay_ps >= 10 * doorbell_ps
    assert end == begin + clocks * 100_000 + delay_ps


def test_a_read_stalls_until_the_burst_ends() -> None:
    """Wholly idle bus: nine clocks and the bridge. Behind a move: the rest of its burst as well, never more
    than one.
    """
    idle_ps = 9 * 100_000 + 300_000
    params = {
        "bus.clock_mhz": 10.0,
        "bus.read_line_bytes": 0,
        "cpu.jitter_percent": 0.0,
        "workload.message_bytes": 1472,
    }
    busy = observe("udp_stream", params, 0.01).end.local
    stall_ps = busy["ledger_ps.hard_irq.mmio_read"] / busy["calls.hard_irq.mmio_read"]
    longest_burst_ps = (64 + 8) * 100_000
    assert idle_ps < stall_ps < idle_ps + longest_burst_ps
    alone = observe(
        "udp_stream", params | {"bus.clock_mhz": 533.0, "nic.frame_gap_ns": 20000.0}, 0.01
    ).end.local
    assert alone["ledger_ps.hard_irq.mmio_read"] == alone["calls.hard_irq.mmio_read"] * (
        round(9e6 / 533) + 300_000
    )


def test_the_read_of_a_receive_interrupt_delays_the_transmit_move_that_it_meets() -> None:
    """On a bus that never rests, each ACK received interrupts while the next data frame is being fetched: were
    the engine taken for idle, the bus would carry more than time allows.
    """
    params = {"local.bus.clock_mhz": 10.0, "nic.frame_gap_ns": 0.0, "nic.buffer_gap_ns": 0.0}
    end = observe("tcp_stream", {**params, "cpu.frequency_mhz": 10000.0}, 0.01).end
    assert end.local["rx_frames"] > 50 and end.local["dma_idle_ps"] < 0.001 * end.time_ps
    carried_ps = end.local.total("bus_ps.*") - end.local["dma_left_ps"]  # booked, but not yet moved
    assert 0.999 * end.time_ps < carried_ps <= end.time_ps
