"""One super-frame of TCP over IPv4 and what must become of it, for every segmenter that is compared."""

from __future__ import annotations

import struct

MSS = 1448
ETHERNET_BYTES, IPV4_BYTES, TCP_BYTES = 14, 20, 32
HEADER_BYTES = ETHERNET_BYTES + IPV4_BYTES + TCP_BYTES
PAYLOAD_BYTES = 64000
SEGMENTS = -(-PAYLOAD_BYTES // MSS)


def super_frame() -> bytes:
    """64000 bytes with timestamps, PSH and ACK, as TCP hands them to a NIC that can segment."""
    payload = bytes((7 * i + i // 251) & 0xFF for i in range(PAYLOAD_BYTES))
    options = struct.pack(">BBBBII", 1, 1, 8, 10, 1, 2)
    tcp = struct.pack(">HHIIBBHHH", 49153, 49154, 0xFFFF_F000, 77, 8 << 4, 0x18, 1000, 0, 0) + options
    length = IPV4_BYTES + TCP_BYTES + PAYLOAD_BYTES
    ipv4 = struct.pack(">BBHHHBBHII", 0x45, 0, length, 65530, 0x4000, 64, 6, 0, 0xC0000201, 0xC0000202)
    return bytes.fromhex("020000000002 020000000001 0800") + ipv4 + tcp + payload
