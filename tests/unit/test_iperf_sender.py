"""The sending side of iperf2: writes of any size, and which packets become of them."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from .pairs import total, watch

MSS = 1448
EXACT = {"cpu.jitter_percent": 0.0}
SMALL = {**EXACT, "workload.message_bytes": 64}
NODELAY = {"local.socket.nodelay": True}
NO_CORK = {"local.socket.autocorking": False}


def test_bulk_fills_the_wire() -> None:
    """1448 bytes of payload for 1538 on the wire, and a processor with nothing to do."""
    start, end = (watch({}, 0.1, slices=2)[i] for i in (1, 2))
    rate = (end[1]["received_bytes"] - start[1]["received_bytes"]) * 8 / 0.05 / 1e6
    assert rate == pytest.approx(1000 * MSS / 1538, rel=0.002)
    assert total(end[0], "busy_ps.", "") < 0.2 * 0.1e12
    frames = end[0]["tx_frames"]
    assert frames > 20 * end[0]["tx_packets"] / 2  # super-packets
    assert end[0]["retransmits"] == end[1]["socket_drops"] == 0


def test_a_small_write_costs_what_it_costs() -> None:
    """The process writes all the time; what else it does, it does once for many writes."""
    end = watch(SMALL, 0.05)[-1]
    write_ps = 5650 / 3500 * 1e6 + 64 * 0.1 / 3500 * 1e6
    assert end[0]["messages"] == pytest.approx(0.05e12 / write_ps, rel=0.06)
    assert end[0]["messages"] < 0.05e12 / write_ps
    assert 0.5 * MSS < end[1]["received_bytes"] / end[0]["tx_frames"] <= MSS


def test_nodelay_sends_each_write() -> None:
    """With nothing below TCP, or without autocorking, a packet for each."""
    end = watch({**SMALL, **NODELAY, **NO_CORK}, 0.02)[-1]
    assert 0 <= end[0]["messages"] - end[0]["tx_frames"] <= 1
    slow = {"local.cpu.syscall_cycles": 50_000.0, "pc.hold_off_us": 0.0}
    end = watch({**SMALL, **NODELAY, **slow}, 0.02)[-1]
    assert 0 <= end[0]["messages"] - end[0]["tx_frames"] <= 1 < 1000 < end[0]["messages"]


def test_autocorking_waits_for_completions() -> None:
    """These come at most once in 50 us: by then 30 writes have become one packet and a few that ACKs let go."""
    corked, plain = (watch({**SMALL, **NODELAY, **cork}, 0.02)[-1][0] for cork in ({}, NO_CORK))
    assert corked["tx_frames"] < 0.75 * plain["tx_frames"]
    assert corked["messages"] > 1.5 * plain["messages"]


def test_nagle_allows_one_short_segment_under_way() -> None:
    """A round trip of 100 us: by then one short segment, and full ones."""
    params = {**SMALL, **NO_CORK, "pc.hold_off_us": 100.0}
    end = watch(params, 0.05)[-1]
    nagle = end[1]["received_bytes"] / end[0]["tx_frames"]
    end = watch({**params, **NODELAY}, 0.05)[-1]
    assert end[1]["received_bytes"] / end[0]["tx_frames"] == pytest.approx(64, rel=0.01)
    assert nagle > 0.6 * MSS


def test_a_short_segment_is_acknowledged_when_it_is_read() -> None:
    """Nothing follows it under Nagle's rule: the delayed ACK of 40 ms must not be what it waits for."""
    params = {**EXACT, "workload.message_bytes": 1, "local.cpu.syscall_cycles": 20_000.0}
    run = watch(params, 0.02, slices=20)
    got = [at[1]["received_bytes"] for at in run]
    assert all(after > before for before, after in pairwise(got))


@pytest.mark.parametrize(("tso", "chain"), [(True, 2 + 8), (False, 45 * 2)])
def test_the_small_queue_limits_what_is_below(tso: bool, chain: int) -> None:
    """Two super-packets at least, else what is set; `chain` descriptors each. One cut by the stack counts until
    its last segment is done.
    """
    params = {**EXACT, "local.socket.tcp_send_buffer_bytes": 1 << 22, "socket.tcp_window_bytes": 1 << 22}
    params |= {"local.pc.tx_ring": 4096, "local.pc.tso": tso}
    limited = watch({**params, "local.socket.tsq_bytes": 1}, 0.02, slices=200)
    free = watch({**params, "local.socket.tsq_bytes": 0}, 0.02, slices=200)
    assert max(at[0]["tx_ring"] for at in limited[10:]) <= 4 * chain
    assert max(at[0]["tx_ring"] for at in free[10:]) > 20 * chain
    assert limited[-1][1]["received_bytes"] == pytest.approx(free[-1][1]["received_bytes"], rel=0.02)


def test_the_writer_blocks_and_wakes_at_two_thirds() -> None:
    params = {**EXACT, "local.socket.tcp_send_buffer_bytes": 60_000, "workload.message_bytes": 1000}
    params |= {"local.socket.super_packet_bytes": MSS}
    run = watch(params, 0.02, slices=400)
    ahead = [at[0]["sent_bytes"] - at[1]["received_bytes"] for at in run[40:]]
    assert max(ahead) <= 60_000 + MSS + 1000
    assert run[-1][0]["wakeups"] > 50


@pytest.mark.parametrize("tso", [True, False])
def test_it_recovers_from_loss(tso: bool) -> None:
    """A receive FIFO of one frame: the stream goes on in order after each loss."""
    params = {
        "remote.pc.rx_fifo_bytes": 2048,
        "remote.pc.pause": False,
        "remote.pc.dma_mbyte_s": 110.0,
        "local.pc.tso": tso,
        "socket.rto_us": 2000.0,
        "workload.message_bytes": 5000,
    }
    run = watch(params, 0.1, slices=10)
    assert run[-1][1]["rx_fifo_drops"] > 10
    assert run[-1][0]["retransmits"] > 5
    got = [at[1]["received_bytes"] for at in run]
    assert all(after > before for before, after in pairwise(got))


def test_a_shut_window_is_asked_for() -> None:
    """A reader that takes 10 ms for a full window: probes every 3 ms, which brings no data."""
    params = {
        **EXACT,
        "workload.receive_bytes": 1 << 20,
        "socket.tcp_window_bytes": 20_000,
        "remote.memory.copy_cold_cycles_per_byte": 50.0,
        "remote.cpu.frequency_mhz": 100.0,
        "socket.rto_us": 3000.0,
        "socket.delayed_ack_us": 100.0,
    }
    run = watch(params, 0.1, slices=4)
    assert run[-1][1]["socket_drops"] > 5  # probes: nothing else is out of order
    assert run[-1][0]["retransmits"] == 0
    assert run[-1][1]["received_bytes"] > run[-2][1]["received_bytes"]


@example(301, 4096, 66285, 65160, {}, {}, "same", 1500, 2048)  # lost is what follows a full frame too closely
@given(
    message_bytes=st.integers(1, 200_000),
    buffer_bytes=st.integers(4096, 500_000),
    window_bytes=st.integers(4096, 500_000),
    super_packet_bytes=st.sampled_from([1448, 3000, 65160]),
    changes=st.dictionaries(
        st.sampled_from(
            ["local.socket.nodelay", "local.socket.autocorking", "local.pc.tso", "remote.pc.pause"]
        ),
        st.booleans(),
    ),
    more=st.dictionaries(
        st.sampled_from(["local.socket.tsq_bytes", "local.stack.qdisc_packets", "remote.stack.gro_segments"]),
        st.sampled_from([1, 3, 40]),
    ),
    cores=st.sampled_from(["same", "other"]),
    mtu_bytes=st.sampled_from([576, 1500]),
    fifo_bytes=st.sampled_from([2048, 20480]),
)
def test_no_stall_and_nothing_lost(
    message_bytes: int,
    buffer_bytes: int,
    window_bytes: int,
    super_packet_bytes: int,
    changes: dict[str, bool],
    more: dict[str, int],
    cores: str,
    mtu_bytes: int,
    fifo_bytes: int,
) -> None:
    """Whatever the sizes, bytes go on arriving, and what was written has arrived or is still in the buffer (or in
    the window: the buffer's limit is looked at only where an sk_buff begins).
    """
    params = {
        "workload.message_bytes": message_bytes,
        "local.socket.tcp_send_buffer_bytes": buffer_bytes,
        "socket.tcp_window_bytes": window_bytes,
        "local.socket.super_packet_bytes": super_packet_bytes,
        "cpu.process_core": cores,
        "wire.mtu_bytes": mtu_bytes,
        "remote.pc.rx_fifo_bytes": fifo_bytes,
        "socket.rto_us": 1000.0,
        "socket.delayed_ack_us": 200.0,
        **changes,
        **more,
    }
    run = watch(params, 0.04, slices=4)
    for before, after in pairwise(run):
        assert after[1]["received_bytes"] > before[1]["received_bytes"]
    for local, remote in run:
        ahead = local["sent_bytes"] + message_bytes - remote["received_bytes"]
        assert 0 <= ahead <= max(buffer_bytes, window_bytes) + 65536 + 2 * message_bytes
        for side in (local, remote):
            used = side["tx_ring"]
            assert used == side["tx_done"] + side["tx_owned"]
            assert side["rx_credit"] == side["rx_owned"]
            assert side["rx_credit"] + side["rx_ring"] + side["rx_returned"] == 256
        assert local["allocated"] - local["freed"] <= 2000
