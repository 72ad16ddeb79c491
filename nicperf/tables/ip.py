"""Header sizes of IPv4, UDP and TCP, and how a message becomes packets."""

IPV4_HEADER_BYTES = 20  # RFC 791, section 3.1: without options
FRAGMENT_UNIT_BYTES = 8  # RFC 791, section 3.1: the fragment offset counts 8 octets
UDP_HEADER_BYTES = 8  # RFC 768
TCP_HEADER_BYTES = 20  # RFC 9293, section 3.1: without options
TCP_TIMESTAMPS_BYTES = 12  # RFC 7323, appendix A: ten octets of option after two NOPs


def udp_packets(payload_bytes: int, mtu_bytes: int) -> list[int]:
    """IP packets, headers included, that carry one UDP datagram.

    Parameters
    ----------
    payload_bytes : int
        What the application sent at once.
    mtu_bytes : int
        Largest packet.

    Returns
    -------
    list of int
        Bytes of each packet; more than one where the datagram is fragmented.

    Examples
    --------
    >>> sizes = udp_packets(65507, 1500)
    >>> len(sizes), sizes[0], sizes[-1]
    (45, 1500, 415)
    """
    left = payload_bytes + UDP_HEADER_BYTES
    if left + IPV4_HEADER_BYTES <= mtu_bytes:
        return [left + IPV4_HEADER_BYTES]
    room = (mtu_bytes - IPV4_HEADER_BYTES) // FRAGMENT_UNIT_BYTES * FRAGMENT_UNIT_BYTES
    return _packets(left, room, IPV4_HEADER_BYTES)


def tcp_packets(payload_bytes: int, mtu_bytes: int, *, timestamps: bool) -> list[int]:
    """IP packets, headers included, that carry one message of a TCP connection, sent by itself.

    Parameters
    ----------
    payload_bytes : int
        What the application sent at once; the connection is idle before and after.
    mtu_bytes : int
        Largest packet.
    timestamps : bool
        Whether each segment carries the timestamps option, as Linux does by default.

    Returns
    -------
    list of int
        Bytes of each packet.

    Examples
    --------
    >>> tcp_packets(3000, 1500, timestamps=True)
    [1500, 1500, 156]
    """
    headers = IPV4_HEADER_BYTES + TCP_HEADER_BYTES + (TCP_TIMESTAMPS_BYTES if timestamps else 0)
    return _packets(payload_bytes, mtu_bytes - headers, headers)


def _packets(payload_bytes: int, room: int, headers: int) -> list[int]:
    full, rest = divmod(payload_bytes, room)
    return [room + headers] * full + ([rest + headers] if rest else [])
