"""Super-frames written field by field, and the strategy that draws them: shares nothing with the package."""

import struct
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random

from hypothesis import strategies as st

TCP, UDP = 6, 17
FIN, SYN, RST, PSH, ACK, URG, ECE, CWR = (1 << bit for bit in range(8))
DATA = Random(1).randbytes(1 << 17)


def ones_sum(data: bytes) -> int:
    """RFC 1071's sum as it reads: 16-bit words, carries added back at the end."""
    data += bytes(len(data) % 2)
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total


@dataclass(frozen=True)
class Superframe:
    """What stands in the headers; lengths and checksums follow from it, unless `told_bytes` says otherwise."""

    payload: bytes
    protocol: int = TCP
    ipv6: bool = False
    tags: tuple[bytes, ...] = ()
    ip_options: bytes = b""
    extensions: bytes = b""  # behind the IPv6 header; `next_header` announces them
    next_header: int | None = None
    tcp_options: bytes = b""
    flags: int = PSH | ACK
    sequence: int = 0xFFFF_FF00
    ip_id: int = 65530
    ip_flags: int = 0x4000
    traffic_class: int = 0
    hops: int = 64
    urgent: int = 0
    source: bytes = field(default=bytes(range(1, 17)))
    target: bytes = field(default=bytes(range(17, 33)))

    @property
    def addresses(self) -> bytes:
        return self.source + self.target if self.ipv6 else self.source[:4] + self.target[:4]

    @property
    def network_at(self) -> int:
        return 14 + 4 * len(self.tags)

    @property
    def transport_at(self) -> int:
        return self.network_at + (40 + len(self.extensions) if self.ipv6 else 20 + len(self.ip_options))

    @property
    def header_bytes(self) -> int:
        return self.transport_at + (20 + len(self.tcp_options) if self.protocol == TCP else 8)

    @property
    def frame(self) -> bytes:
        if self.protocol == TCP:
            words = (5 + len(self.tcp_options) // 4) << 4
            ports = struct.pack(">HHII", 49153, 49154, self.sequence, 77)
            rest = (
                struct.pack(">BBH", words, self.flags, 1000),
                struct.pack(">H", self.urgent) + self.tcp_options,
            )
            length = 20 + len(self.tcp_options) + len(self.payload)
        else:
            length = 8 + len(self.payload)
            ports, rest = struct.pack(">HH", 49153, 49154), (struct.pack(">H", fits(length)), b"")
        pseudo = ones_sum(self.addresses + struct.pack(">II", length, self.protocol))
        transport = ports + rest[0] + struct.pack(">H", pseudo) + rest[1] + self.payload
        if self.ipv6:
            first = self.protocol if self.next_header is None else self.next_header
            size = fits(len(self.extensions) + length)
            network = struct.pack(
                ">IHBB", 6 << 28 | self.traffic_class << 20 | 0x12345, size, first, self.hops
            )
            network += self.addresses + self.extensions
        else:
            head = 20 + len(self.ip_options)
            network = struct.pack(
                ">BBHHHBBH", 0x40 | head // 4, self.traffic_class, fits(head + length), self.ip_id, self.ip_flags,
                self.hops, self.protocol, 0,
            )  # fmt: skip
            network += self.addresses + self.ip_options
            network = network[:10] + struct.pack(">H", 0xFFFF ^ ones_sum(network)) + network[12:]
        ethertype = b"\x86\xdd" if self.ipv6 else b"\x08\x00"
        return (
            bytes.fromhex("020000000002 020000000001") + b"".join(self.tags) + ethertype + network + transport
        )


def fits(length: int) -> int:
    """A length field; what is too long for it says zero."""
    return length if length <= 0xFFFF else 0


def _tags() -> st.SearchStrategy[tuple[bytes, ...]]:
    return st.sampled_from([(), (), (b"\x81\x00\x20\x05",), (b"\x88\xa8\x00\x07", b"\x81\x00\x0f\xff")])


def _words(most: int) -> st.SearchStrategy[bytes]:
    """Options of up to so many 32-bit words, more often none."""
    return st.one_of(st.just(0), st.integers(0, most)).map(lambda n: DATA[5 : 5 + 4 * n])


@st.composite
def superframes(draw: st.DrawFn, payload_bytes: int, protocol: int, *, extended: bool = True) -> Superframe:
    """Any super-frame with that much payload."""
    ipv6 = draw(st.booleans())
    at = draw(st.integers(0, len(DATA) - payload_bytes))
    extensions, first = b"", None
    if ipv6 and extended and draw(st.integers(0, 3)) == 0:  # hop-by-hop with a PadN, then destination options
        sizes = draw(st.sampled_from([(0,), (1, 0), (0, 2)]))
        kinds = [0, 60][: len(sizes)] if len(sizes) > 1 else [draw(st.sampled_from([0, 60]))]
        for size, following in zip(sizes, [*kinds[1:], protocol], strict=True):
            extensions += bytes([following, size, 1, 8 * size + 4]) + bytes(8 * size + 4)
        first = kinds[0]
    return Superframe(
        payload=DATA[at : at + payload_bytes],
        protocol=protocol,
        ipv6=ipv6,
        tags=draw(_tags()),
        ip_options=b"" if ipv6 else draw(_words(10)),
        extensions=extensions,
        next_header=first,
        tcp_options=draw(_words(10)) if protocol == TCP else b"",
        flags=draw(st.integers(0, 255)),
        sequence=draw(st.integers(0, 0xFFFF_FFFF)),
        ip_id=draw(st.integers(0, 0xFFFF)),
        ip_flags=draw(st.sampled_from([0, 0x4000, 0x8000])),
        traffic_class=draw(st.integers(0, 255)),
        hops=draw(st.integers(1, 255)),
        urgent=draw(st.sampled_from([0, 9000])),
        source=draw(st.sampled_from([bytes(range(1, 17)), b"\xff" * 16, DATA[:16]])),
    )


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    """The same bytes, cut at some places."""
    edges = [0, *sorted(cuts), len(data)]
    return [data[a:b] for a, b in pairwise(edges)]
