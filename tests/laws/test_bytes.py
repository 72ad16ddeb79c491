"""Payload survives segmentation, fragmentation and reassembly: closed forms say what the frames that were
counted carry.
"""

from __future__ import annotations

import pytest
from hypothesis import given

from nicperf.analytic.ceilings import udp_fragments, wire_bytes

from ..observed import Observed, Side, Snapshot
from .scenarios import eventful, runs

IP_BYTES, TCP_BYTES, TIMESTAMPS_BYTES, UDP_BYTES = 20, 20, 12, 8


def mss(host: Side) -> int:
    headers = IP_BYTES + TCP_BYTES + (TIMESTAMPS_BYTES if host.spec.socket.tcp_timestamps else 0)
    return host.spec.wire.mtu_bytes - headers


def packets(host: Side) -> list[int]:
    """IP packets of one datagram."""
    return udp_fragments(host.spec.workload.message_bytes, host.spec.wire.mtu_bytes)


def first(sizes: list[int], n: int) -> int:
    """Sum of the first `n` of a sequence that repeats."""
    return n // len(sizes) * sum(sizes) + sum(sizes[: n % len(sizes)])


def payloads(host: Side) -> list[int]:
    """Message bytes in each packet of one datagram."""
    sizes = [size - IP_BYTES for size in packets(host)]
    return [sizes[0] - UDP_BYTES, *sizes[1:]]


def segments_carry_the_stream(at: Snapshot) -> None:
    """Every frame of data holds one MSS: what arrived in order, what came again or too early, what was lost,
    what is on its way.
    """
    local, remote, size = at.local, at.remote, mss(at.local)
    assert size * remote["delivered"] == remote["received_bytes"] + size * remote["socket_drops"]
    lost = remote["rx_fifo_drops"] + remote["backlog_drops"]
    in_flight = (
        local["tx_ring"] - local["tx_done"] + remote["rx_fifo"] + remote["rx_ring"] + remote["backlog"]
    )
    beside = remote["socket_drops"] + lost + in_flight
    assert size * local["tx_frames"] == remote["received_bytes"] + size * beside


def the_stream_is_one(at: Snapshot) -> None:
    """Nothing arrives that was not written, and nothing is written beyond the send buffer."""
    message_bytes = at.local.spec.workload.message_bytes
    ahead = at.local["sent_bytes"] - at.remote["received_bytes"]  # the message under way is not in sent_bytes
    assert -message_bytes < ahead <= at.local.spec.socket.tcp_send_buffer_bytes
    assert at.local["sent_bytes"] == at.local["messages"] * message_bytes


def fragments_carry_the_datagrams(at: Snapshot) -> None:
    local, remote = at.local, at.remote
    sent = local["tx_frames"] + local["qdisc"] + local["qdisc_drops"]
    assert local["sent_bytes"] == first(payloads(local), sent)
    assert (
        remote["messages"] * local.spec.workload.message_bytes
        <= remote["received_bytes"]
        <= local["sent_bytes"]
    )
    if not (
        local["qdisc_drops"] or remote["rx_fifo_drops"] or remote["backlog_drops"] or remote["socket_drops"]
    ):
        assert remote["reassembly_drops"] == 0
        assert remote["received_bytes"] == first(payloads(local), remote["delivered"])


def the_wire_carries_whole_frames(at: Snapshot) -> None:
    for sender, _ in at.directions():
        if at.workload != "udp_stream":
            full = wire_bytes(
                sender.spec.wire.mtu_bytes if sender is at.local else sender.spec.wire.mtu_bytes - mss(sender)
            )
            begun = [full * n for n in (sender["tx_completions"], sender["tx_completions"] + 1)]
        elif sender is at.local and not sender["qdisc_drops"]:
            sizes = [wire_bytes(size) for size in packets(sender)]
            begun = [first(sizes, n) for n in (sender["tx_completions"], sender["tx_completions"] + 1)]
        else:
            continue
        assert sender["wire_bytes"] in begun
        assert sender["wire_busy_ps"] == sender["wire_bytes"] * round(8e6 / sender.spec.wire.rate_mbit_s)


TCP = ("tcp_stream", "tcp_sendfile")
UDP = ("udp_stream",)
LAWS = {
    segments_carry_the_stream: TCP,
    the_stream_is_one: TCP,
    fragments_carry_the_datagrams: UDP,
    the_wire_carries_whole_frames: TCP + UDP,
}


@pytest.mark.parametrize("law", LAWS)
def test_holds(law) -> None:
    @given(runs(workloads=LAWS[law]))
    def at_every_instant(run: Observed) -> None:
        for at in run.snapshots:
            law(at)

    at_every_instant()


FALSIFIED = [
    (segments_carry_the_stream, "tcp_stream", "remote", "received_bytes", 1),
    (segments_carry_the_stream, "tcp_stream", "remote", "delivered", -1),
    (segments_carry_the_stream, "tcp_stream", "remote", "backlog_drops", 1),
    (segments_carry_the_stream, "tcp_stream", "local", "tx_frames", 1),
    (the_stream_is_one, "tcp_stream", "remote", "received_bytes", 10**6),
    (the_stream_is_one, "tcp_stream", "local", "sent_bytes", 1),
    (fragments_carry_the_datagrams, "udp_stream", "local", "sent_bytes", -1),
    (fragments_carry_the_datagrams, "udp_stream", "local", "tx_frames", 1),
    (fragments_carry_the_datagrams, "udp_stream", "remote", "received_bytes", 8),
    (fragments_carry_the_datagrams, "udp_stream", "remote", "messages", 4),
    (the_wire_carries_whole_frames, "udp_stream", "local", "wire_bytes", 1),
    (the_wire_carries_whole_frames, "udp_stream", "local", "wire_busy_ps", 1),
    (the_wire_carries_whole_frames, "tcp_stream", "local", "wire_bytes", -1),
    (the_wire_carries_whole_frames, "tcp_stream", "remote", "wire_bytes", 4),
]


@pytest.mark.parametrize(("law", "workload", "side", "name", "change"), FALSIFIED)
def test_can_fail(law, workload: str, side: str, name: str, change: int) -> None:
    at = eventful(workload)
    law(at)
    with pytest.raises(AssertionError):
        law(at.doctored(side, name, change))
