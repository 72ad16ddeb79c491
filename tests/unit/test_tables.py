"""Constants against totals that are known by another route."""

import pytest

from nicperf.tables.ethernet import MTU_BYTES, wire_bytes
from nicperf.tables.ip import tcp_packets, udp_packets


def test_smallest_frames_fill_a_gigabit_with_the_known_rate():
    assert round(1e9 / 8 / wire_bytes(46)) == 1_488_095
    assert wire_bytes(1) == wire_bytes(46) == 84  # padded


def test_goodput_of_full_frames():
    assert 1000 * 1448 / wire_bytes(MTU_BYTES) == pytest.approx(941.48, abs=0.005)
    assert 1000 * 1460 / wire_bytes(MTU_BYTES) == pytest.approx(949.28, abs=0.005)
    assert 1000 * 1472 / wire_bytes(MTU_BYTES) == pytest.approx(957.09, abs=0.005)


def test_largest_datagram_becomes_45_fragments():
    sizes = udp_packets(65507, MTU_BYTES)
    assert len(sizes) == 45
    assert sum(map(wire_bytes, sizes)) == 68125
    assert sum(size - 20 for size in sizes) == 65507 + 8


@pytest.mark.parametrize(("payload", "sizes"), [(1472, [1500]), (1473, [1500, 21]), (0, [28])])
def test_datagrams_around_the_mtu(payload, sizes):
    assert udp_packets(payload, MTU_BYTES) == sizes


def test_messages_become_segments():
    assert tcp_packets(14000, MTU_BYTES, timestamps=True) == [1500] * 9 + [14000 - 9 * 1448 + 52]
    assert tcp_packets(2920, MTU_BYTES, timestamps=False) == [1500, 1500]
    assert tcp_packets(0, MTU_BYTES, timestamps=False) == []
