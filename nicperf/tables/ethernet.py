"""What a frame occupies on an Ethernet wire: IEEE 802.3, clauses 3 and 4."""

PREAMBLE_BYTES = 8  # 3.2.1 and 3.2.2: seven octets of preamble and the start frame delimiter
HEADER_BYTES = 14  # 3.2.3 to 3.2.6: destination, source, length/type
FCS_BYTES = 4  # 3.2.9: frame check sequence
GAP_BYTES = 12  # 4.4.2: interPacketGap, 96 bit times
MIN_FRAME_BYTES = 64  # 4.4.2: minFrameSize, header and FCS included
MTU_BYTES = 1500  # 3.2.7: data octets of a basic frame


def wire_bytes(packet_bytes: int) -> int:
    """Byte times that one network-layer packet occupies, from its preamble to the end of the gap.

    Parameters
    ----------
    packet_bytes : int
        The frame's data: IP header and what follows; short ones are padded.

    Returns
    -------
    int

    Examples
    --------
    >>> wire_bytes(1500), wire_bytes(40)
    (1538, 84)
    """
    frame = max(packet_bytes + HEADER_BYTES + FCS_BYTES, MIN_FRAME_BYTES)
    return PREAMBLE_BYTES + frame + GAP_BYTES
