"""What the wire can carry at most, in closed form.

Nothing here simulates, and nothing but the standards' constants is shared with what does: a reader can
check each function by hand, and the simulator can be checked against it.
"""

from __future__ import annotations

from nicperf.tables.ethernet import (
    FCS_BYTES,
    GAP_BYTES,
    HEADER_BYTES,
    MIN_FRAME_BYTES,
    MTU_BYTES,
    PREAMBLE_BYTES,
)
from nicperf.tables.ip import (
    FRAGMENT_UNIT_BYTES,
    IPV4_HEADER_BYTES,
    TCP_HEADER_BYTES,
    TCP_TIMESTAMPS_BYTES,
    UDP_HEADER_BYTES,
    tcp_packets,
)


def wire_bytes(packet_bytes: int) -> int:
    """Byte times that one IP packet occupies on an Ethernet wire, preamble and gap included.

    Parameters
    ----------
    packet_bytes : int
        IP header and payload, >= 1.

    Returns
    -------
    int

    Source
    ------
    IEEE 802.3 clauses 3 and 4: preamble and start delimiter 8, header 14, FCS 4, gap 12, frame of at least
    64.

    Examples
    --------
    >>> wire_bytes(1500)
    1538
    >>> wire_bytes(46)
    84
    """
    if packet_bytes < 1:
        raise ValueError(f"packet_bytes = {packet_bytes}: a packet has at least 1 byte")
    frame = max(packet_bytes + HEADER_BYTES + FCS_BYTES, MIN_FRAME_BYTES)
    return PREAMBLE_BYTES + frame + GAP_BYTES


def frames_per_s(packet_bytes: int, link_mbit_s: float = 1000.0) -> float:
    """Frames of one size that a full wire carries in a second.

    Parameters
    ----------
    packet_bytes : int
        IP header and payload.
    link_mbit_s : float
        Rate of the link, decimal megabits.

    Returns
    -------
    float

    Examples
    --------
    >>> round(frames_per_s(46))
    1488095
    """
    return link_mbit_s * 1e6 / 8 / wire_bytes(packet_bytes)


def tcp_goodput_mbit_s(
    mtu_bytes: int = MTU_BYTES, link_mbit_s: float = 1000.0, *, timestamps: bool = True
) -> float:
    """Payload rate of TCP in full frames on a full wire, acknowledgements on the other direction ignored.

    Parameters
    ----------
    mtu_bytes : int
        Largest IP packet.
    link_mbit_s : float
        Rate of the link.
    timestamps : bool
        Whether each segment carries the 12 bytes of the timestamp option.

    Returns
    -------
    float
        Decimal megabits per second.

    Source
    ------
    RFC 9293 section 3.1 (20-byte header), RFC 7323 appendix A (12 bytes with padding).

    Examples
    --------
    >>> round(tcp_goodput_mbit_s(), 2)
    941.48
    """
    payload = mtu_bytes - IPV4_HEADER_BYTES - TCP_HEADER_BYTES - (TCP_TIMESTAMPS_BYTES if timestamps else 0)
    return link_mbit_s * payload / wire_bytes(mtu_bytes)


def exchanges_per_s(
    message_bytes: int,
    mtu_bytes: int = MTU_BYTES,
    link_mbit_s: float = 1000.0,
    *,
    timestamps: bool = True,
    acks: int = 0,
) -> float:
    """Messages of one size that TCP carries in one direction of a full wire, each in segments of its own.

    Parameters
    ----------
    message_bytes : int
        Payload of a message, at least 1.
    mtu_bytes, link_mbit_s, timestamps
        As for `tcp_goodput_mbit_s`.
    acks : int
        Pure acknowledgements that travel in this direction with each message.

    Returns
    -------
    float
        Per second. Where request and response are of this size, also the rate of transactions.

    Raises
    ------
    ValueError
        A message of no bytes.

    Examples
    --------
    >>> round(exchanges_per_s(14000, link_mbit_s=10_000.0))
    83893
    >>> round(exchanges_per_s(14000, link_mbit_s=10_000.0, acks=2))
    82891
    """
    if message_bytes < 1:
        raise ValueError(f"message_bytes = {message_bytes}: give 1 or more")
    ack_bytes = IPV4_HEADER_BYTES + TCP_HEADER_BYTES + (TCP_TIMESTAMPS_BYTES if timestamps else 0)
    packets = [*tcp_packets(message_bytes, mtu_bytes, timestamps=timestamps), *[ack_bytes] * acks]
    return link_mbit_s * 1e6 / 8 / sum(map(wire_bytes, packets))


def udp_fragments(message_bytes: int, mtu_bytes: int = MTU_BYTES) -> list[int]:
    """IP packet sizes that one UDP datagram becomes.

    Parameters
    ----------
    message_bytes : int
        Payload of the datagram, 0..65507.
    mtu_bytes : int
        Largest IP packet.

    Returns
    -------
    list of int
        Sizes with IP header; all but the last carry a multiple of 8 bytes.

    Source
    ------
    RFC 791 section 2.3 (fragments in units of 8 bytes), RFC 768 (8-byte header).

    Examples
    --------
    >>> sizes = udp_fragments(65507)
    >>> len(sizes), sizes[0], sizes[-1]
    (45, 1500, 415)
    """
    if not 0 <= message_bytes <= 65507:
        raise ValueError(f"message_bytes = {message_bytes}: a UDP datagram carries 0..65507 bytes")
    left = message_bytes + UDP_HEADER_BYTES
    if left + IPV4_HEADER_BYTES <= mtu_bytes:
        return [left + IPV4_HEADER_BYTES]
    room = (mtu_bytes - IPV4_HEADER_BYTES) // FRAGMENT_UNIT_BYTES * FRAGMENT_UNIT_BYTES
    sizes = [room + IPV4_HEADER_BYTES] * (left // room)
    return sizes + ([left % room + IPV4_HEADER_BYTES] if left % room else [])


def udp_goodput_mbit_s(message_bytes: int, mtu_bytes: int = MTU_BYTES, link_mbit_s: float = 1000.0) -> float:
    """Payload rate of UDP datagrams of one size on a full wire, fragments included.

    Parameters
    ----------
    message_bytes : int
        Payload of one datagram.
    mtu_bytes : int
        Largest IP packet.
    link_mbit_s : float
        Rate of the link.

    Returns
    -------
    float
        Decimal megabits per second.

    Examples
    --------
    >>> round(udp_goodput_mbit_s(65507), 2)
    961.57
    """
    return link_mbit_s * message_bytes / sum(map(wire_bytes, udp_fragments(message_bytes, mtu_bytes)))
