"""TCP: segments, windows, delayed ACKs, blocking, and the ways of scatter-gather: buffers a frame, GSO,
sendfile.
"""

from __future__ import annotations

import numpy as np
import pytest

from ..observed import observe

EXACT = {"cpu.frequency_mhz": 1000.0, "cpu.jitter_percent": 0.0}
SG = {"driver.tx_scatter_gather": True}
MSS = 1448


@pytest.mark.parametrize("settings", [{}, SG])
def test_one_acknowledgement_for_two_segments(settings: dict[str, object]) -> None:
    end = observe("tcp_stream", settings, 0.02).end
    pure = end.remote["acks_sent"] - end.remote["window_updates"]
    assert 2 * pure <= end.remote["delivered"] <= 2 * pure + 1 > 300


def test_a_single_segment_waits_for_the_timer() -> None:
    """A window of three segments: the third has no partner, its ACK comes 40 ms later, or what is set."""
    params = {
        "socket.tcp_window_bytes": 3 * MSS,
        "socket.delayed_ack_us": 300.0,
        "workload.receive_bytes": 100,
    }
    trace = observe("tcp_stream", params, 0.005, events=5000).trace
    timers = trace.times_ps("remote.delayed_ack")
    assert len(timers) > 5
    taken = trace.time_ps[np.flatnonzero(np.diff(trace.lengths["remote.backlog"], prepend=0) < 0)]
    for time_ps in timers:
        last = taken[taken < time_ps][-1]
        assert time_ps - last >= 0
    assert (np.isin(timers - 300 * 10**6, taken)).mean() > 0.9


def test_the_window_is_never_exceeded() -> None:
    """A reader that takes its time: unread plus under way stay within the window, and a shut window reopens
    by an update.
    """
    window = 20_000
    params = {
        "socket.tcp_window_bytes": window,
        "remote.memory.copy_cold_cycles_per_byte": 40.0,
        "local.stack.qdisc_packets": 4096,
    }
    run = observe("tcp_stream", params, 0.02, slices=400)
    for at in run.snapshots:
        read = at.remote["calls.process.skb_free"]  # segments, begun reads included
        assert at.local["tx_frames"] * MSS <= read * MSS + window + MSS
    assert run.end.remote["window_updates"] > 10
    assert run.end.local["retransmits"] == run.end.remote["socket_drops"] == 0


def test_a_small_window_limits_throughput() -> None:
    """Closed loop: at most a window for each round trip."""
    params = {"socket.tcp_window_bytes": 4 * MSS}
    small, large = observe("tcp_stream", params, 0.02).end, observe("tcp_stream", {}, 0.02).end
    assert small.remote["received_bytes"] < 0.9 * large.remote["received_bytes"]
    round_trip_ps = small.remote["latency_ps"] / small.remote["delivered"]  # there; the way back comes on top
    assert small.remote["received_bytes"] <= 4 * MSS * small.time_ps / round_trip_ps


def test_the_writer_blocks_on_its_buffer_and_wakes_at_two_thirds() -> None:
    params = {"local.socket.tcp_send_buffer_bytes": 60_000, "workload.message_bytes": 1000}
    run = observe("tcp_stream", params, 0.02, slices=1000)
    ahead = [at.local["sent_bytes"] - at.local["acks_received"] * 2 * MSS for at in run.snapshots[200:]]
    assert max(ahead) <= 60_000
    assert min(ahead) >= 40_000 - 4 * MSS
    assert run.end.local["wakeups"] > 10


def test_segments_are_full() -> None:
    for message_bytes in (1, 1000, 16384):
        run = observe("tcp_stream", {"workload.message_bytes": message_bytes}, 0.01)
        frames = run.end.local["tx_completions"]
        assert frames > 10
        assert run.end.local["wire_bytes"] in (1538 * frames, 1538 * (frames + 1))
    end = observe("tcp_stream", {"socket.tcp_timestamps": False}, 0.005).end
    assert end.remote["received_bytes"] == 1460 * end.remote["delivered"]


# Scatter-gather ---------------------------------------------------------------------------------------------


def buffers(first_byte: int, payload: int, page: int) -> list[tuple[int, int]]:
    """(offset in its page, size) of each page piece of a segment."""
    pieces = []
    while payload:
        size = min(payload, page - first_byte % page)
        pieces.append((first_byte % page, size))
        first_byte += size
        payload -= size
    return pieces


@pytest.mark.parametrize("page", [300, 512, 1000, 4096])
def test_buffers_of_a_frame(page: int) -> None:
    """A head of 66 bytes, then a buffer for each page that the segment touches: 8 bytes of descriptor for
    each.
    """
    params = {
        "local.stack.fragment_bytes": page,
        "bus.clock_mhz": 100.0,
        "bus.read_line_bytes": 64,
        "bus.latency_timer_clocks": 255,
    } | SG
    end = observe("tcp_stream", params, 0.01).end.local
    fetched, i = 0, 0
    descriptor = data = bursts = 0
    while descriptor < end["bus_ps.tx_descriptor_read"]:
        pieces = [(0, 66), *buffers(i * MSS, MSS, page)]
        assert len(pieces) <= 7
        descriptor += (8 + 2 + 2 * len(pieces)) * 10_000
        for offset, size in pieces:
            words = -(-(offset % 4 + size) // 4)
            lines = (offset % 256 + size - 1) // 64 - offset % 256 // 64 + 1
            data += (words + 8 * lines) * 10_000
            bursts += lines
        i += 1
        fetched += len(pieces)
    assert descriptor == end["bus_ps.tx_descriptor_read"]
    assert bursts == end["bus_bursts.tx_data_read"]
    assert data == end["bus_ps.tx_data_read"]
    assert end["gap_ps"] == 1_000_000 * fetched + 1_000_000 * end["bus_bursts.rx_writeback"]
    assert end["linearized"] == 0


@pytest.mark.parametrize(
    ("page", "linear"), [(128, "all"), (200, "all"), (241, "all"), (260, "some"), (300, "none")]
)
def test_more_than_seven_buffers_are_copied_together(page: int, linear: str) -> None:
    """The head and six page fragments fit: 1448 bytes touch 7 or 8 pages of 241 bytes, 6 or 7 of 260, 5 or 6
    of 300.
    """
    end = observe("tcp_stream", {"local.stack.fragment_bytes": page} | SG | EXACT, 0.01).end.local
    frames = end["tx_frames"]
    assert frames > 100
    assert end["linearized"] == sum(len(buffers(i * MSS, MSS, page)) > 6 for i in range(frames))
    assert {0: "none", frames: "all"}.get(end["linearized"], "some") == linear
    calls = end.total("calls.*.linearize")
    assert 0 <= calls - end["linearized"] <= 2
    assert end.total("ledger_ps.*.linearize") == calls * (500_000 + MSS * 680)


def test_scatter_gather_switches_gso_on() -> None:
    """Nobody asks for GSO: super-packets pay the protocol once, and each segment its cut."""
    plain = observe("tcp_stream", EXACT, 0.02).end.local
    scattered = observe("tcp_stream", EXACT | SG, 0.02).end.local
    assert plain.total("calls.*.gso_segment") == 0
    assert plain.total("calls.*.tcp_output") == pytest.approx(plain["tx_frames"], rel=0.2)
    assert scattered.total("calls.*.gso_segment") == pytest.approx(scattered["tx_frames"], abs=2)
    assert scattered.total("calls.*.tcp_output") < scattered["tx_frames"] / 4


def test_scatter_gather_costs_bus_and_saves_processor() -> None:
    plain = observe("tcp_stream", {"driver.napi": True}, 0.05).end
    scattered = observe("tcp_stream", {"driver.napi": True} | SG, 0.05).end
    assert scattered.remote["received_bytes"] < plain.remote["received_bytes"]
    busy = [end.local.total("busy_ps.*") / end.remote["received_bytes"] for end in (plain, scattered)]
    assert busy[1] < busy[0]


def test_super_packets_are_bounded() -> None:
    """One protocol pass for at most 10000 bytes: six segments of 1448."""
    end = observe("tcp_stream", SG | {"local.socket.super_packet_bytes": 10_000}, 0.02).end.local
    assert end["tx_frames"] <= 6 * end.total("calls.*.tcp_output")
    assert end["tx_frames"] > 4 * end.total("calls.*.tcp_output")


# Sendfile ---------------------------------------------------------------------------------------------------


def test_sendfile_without_scatter_gather_copies_page_by_page() -> None:
    """It costs what a stream costs, and each page on top."""
    stream, sendfile = (
        observe(workload, EXACT, 0.02).end.local for workload in ("tcp_stream", "tcp_sendfile")
    )
    assert stream.total("calls.*.sendpage") == 0
    pages = sendfile["calls.process.sendpage"]
    assert pages == pytest.approx((sendfile["sent_bytes"] + 8192) / 4096, abs=3)
    assert sendfile["ledger_ps.process.sendpage"] == pages * 1_400_000
    written = [host["ledger_ps.process.copy"] / 680 for host in (stream, sendfile)]
    assert written[1] == pytest.approx(sendfile["sent_bytes"], abs=20_000)
    assert written[0] == pytest.approx(written[1], rel=0.05)


def test_sendfile_with_scatter_gather_copies_nothing() -> None:
    stream, sendfile = (
        observe(workload, EXACT | SG, 0.02).end.local for workload in ("tcp_stream", "tcp_sendfile")
    )
    assert stream.total("calls.*.copy") - stream["copybreaks"] > 100  # besides short ACKs
    assert sendfile["calls.process.copy"] == 0
    assert sendfile["calls.process.sendpage"] > 100


def test_stream_and_sendfile_differ_in_processor_not_in_throughput() -> None:
    """What limits is downstream of the copy."""
    for settings in ({}, SG):
        ends = [
            observe(workload, settings | {"driver.napi": True}, 0.05).end
            for workload in ("tcp_stream", "tcp_sendfile")
        ]
        received = [end.remote["received_bytes"] for end in ends]
        assert received[0] == pytest.approx(received[1], rel=0.01)
        busy = [end.local["busy_ps.process"] for end in ends]
        assert (busy[1] < busy[0]) if settings else (busy[1] > busy[0])
