"""A capture as a pcapng file.

Own code, because the libraries that write pcapng from Python have not been released since 2022 (dpkt, which
takes times as floating-point microseconds, and python-pcapng) or bring a whole packet toolbox (scapy).

Source
------
PCAP Now Generic (pcapng) Capture File Format, draft-ietf-opsawg-pcapng: sections 3.1 (blocks), 3.5 (options),
4.1 (section header), 4.2 (interface description), 4.3 (enhanced packet).
"""

from __future__ import annotations

import struct
from importlib import metadata

from nicperf.packets.capture import Capture

SECTION_HEADER, INTERFACE_DESCRIPTION, ENHANCED_PACKET = 0x0A0D0D0A, 1, 6
BYTE_ORDER_MAGIC = 0x1A2B3C4D
LENGTH_UNKNOWN = 0xFFFF_FFFF_FFFF_FFFF
LINK_ETHERNET = 1
USER_APPLICATION = 4
IF_NAME, IF_DESCRIPTION, IF_SPEED, IF_TSRESOL = 2, 3, 8, 9
EPB_FLAGS, INBOUND, OUTBOUND = 2, 1, 2
NANOSECONDS = 9  # resolution 10**-9

#: Simulated time zero in the file: leaves room for the handshake before it.
ZERO_NS = 1_000_000_000


def pcapng(capture: Capture, rate_mbit_s: float) -> bytes:
    """Return the file that shows a capture as the local host's interface would see it.

    Parameters
    ----------
    capture : Capture
    rate_mbit_s : float
        Speed of the link, for the interface description.

    Returns
    -------
    bytes
        Time stamps are simulated time plus one second, in nanoseconds.
    """
    application = f"nicperf {metadata.version('nicperf')}".encode()
    interface = (
        _option(IF_NAME, b"local")
        + _option(IF_DESCRIPTION, b"simulated wire; time zero of the model is at 1 s")
        + _option(IF_SPEED, struct.pack("<Q", round(rate_mbit_s * 1e6)))
        + _option(IF_TSRESOL, bytes([NANOSECONDS]))
        + _END
    )
    section = struct.pack("<IHHQ", BYTE_ORDER_MAGIC, 1, 0, LENGTH_UNKNOWN)
    blocks = [
        _block(SECTION_HEADER, section + _option(USER_APPLICATION, application) + _END),
        _block(INTERFACE_DESCRIPTION, struct.pack("<HHI", LINK_ETHERNET, 0, 0) + interface),
    ]
    direction = [
        _option(EPB_FLAGS, struct.pack("<I", INBOUND)) + _END,
        _option(EPB_FLAGS, struct.pack("<I", OUTBOUND)) + _END,
    ]
    times = (capture.time_ps // 1000 + ZERO_NS).tolist()
    for time_ns, outbound, frame in zip(times, capture.outbound.tolist(), capture.frames(), strict=True):
        head = struct.pack("<5I", 0, time_ns >> 32, time_ns & 0xFFFF_FFFF, len(frame), len(frame))
        blocks.append(_block(ENHANCED_PACKET, head + _padded(frame) + direction[outbound]))
    return b"".join(blocks)


def _padded(content: bytes) -> bytes:
    return content + bytes(-len(content) % 4)


def _option(code: int, value: bytes) -> bytes:
    return struct.pack("<HH", code, len(value)) + _padded(value)


def _block(kind: int, body: bytes) -> bytes:
    length = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", kind) + length + body + length


_END = _option(0, b"")
