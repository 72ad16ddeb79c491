"""Closed forms against figures that the literature states."""

import pytest

from nicperf.analytic import bus, ceilings


def test_rates_that_everybody_knows():
    assert ceilings.frames_per_s(46) == pytest.approx(1_488_095, abs=0.5)
    assert ceilings.frames_per_s(1500) == pytest.approx(81_274, abs=0.5)
    assert ceilings.tcp_goodput_mbit_s() == pytest.approx(941.48, abs=0.005)
    assert ceilings.tcp_goodput_mbit_s(timestamps=False) == pytest.approx(949.28, abs=0.005)
    assert ceilings.udp_goodput_mbit_s(1472) == pytest.approx(957.09, abs=0.005)
    assert ceilings.udp_goodput_mbit_s(65507) == pytest.approx(961.57, abs=0.005)


def test_exchanges_of_the_thread_of_2014():
    """What the wire carries of messages of 14,000 bytes, by hand: ten segments, 900 bytes around them."""
    fast = {"link_mbit_s": 10_000.0}
    assert ceilings.exchanges_per_s(14000, **fast) == pytest.approx(1.25e9 / 14_900)
    assert ceilings.exchanges_per_s(14000, **fast, timestamps=False) == pytest.approx(84_574, abs=1)
    assert ceilings.exchanges_per_s(1, **fast) == pytest.approx(1.25e9 / 91)
    with pytest.raises(ValueError, match="message_bytes = 0"):
        ceilings.exchanges_per_s(0)


def test_a_datagram_is_cut_into_units_of_eight():
    sizes = ceilings.udp_fragments(65507)
    assert (len(sizes), sum(sizes) - 20 * len(sizes)) == (45, 65515)
    assert all((size - 20) % 8 == 0 for size in sizes[:-1])
    assert ceilings.udp_fragments(1472) == [1500]
    assert ceilings.udp_fragments(1473) == [1500, 21]


@pytest.mark.parametrize("size", [-1, 65508])
def test_no_such_datagram(size):
    with pytest.raises(ValueError, match=f"message_bytes = {size}"):
        ceilings.udp_fragments(size)


def test_no_such_packet():
    with pytest.raises(ValueError, match="packet_bytes = 0"):
        ceilings.wire_bytes(0)


def test_burst_bandwidth():
    table = bus.burst_table().pivot(index="burst_words", columns="overhead_clocks", values="mbyte_s")
    assert table.loc[8, 8] == pytest.approx(66.7, abs=0.05)
    assert table.loc[16, 8] == pytest.approx(88.9, abs=0.05)
    assert table.loc[1, 9] == pytest.approx(13.3, abs=0.05)
    assert table.loc[379, 7] == pytest.approx(130.9, abs=0.05)
    with pytest.raises(ValueError, match="burst_words = 0"):
        bus.burst_mbyte_s(0)


def test_bus_time_of_a_frame_agrees_with_burst_bandwidth():
    # 1536 bytes are 48 bursts of 8 words: no partial burst, so the two closed forms must meet.
    assert 1536 / bus.frame_bus_ns(1536, 8) * 1000 == pytest.approx(bus.burst_mbyte_s(8))
    assert bus.frame_bus_ns(1514, 8) > bus.frame_bus_ns(1514, 16) > bus.frame_bus_ns(1514, None)
    fast = bus.ParallelBus(width_bytes=8, clock_mhz=200 / 3, overhead_clocks=8)
    assert bus.frame_bus_ns(1514, None, fast) == pytest.approx((190 + 8) * 15)
