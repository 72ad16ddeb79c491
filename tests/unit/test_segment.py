"""Segmentation by hand, byte for byte; what holds for any super-frame; and every refusal."""

import pickle
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nicperf as nic
from nicperf.errors import FrameError, NicperfError, ScenarioError
from nicperf.packets import Descriptor, Segments, _checksum

from ..superframes import ACK, CWR, DATA, FIN, PSH, RST, TCP, UDP, Superframe, ones_sum, pieces, superframes

MACS = "020000000002020000000001"


def frames(*lines: str) -> list[bytes]:
    return [bytes.fromhex(MACS + line) for line in lines]


# By hand ----------------------------------------------------------------------------------------------

V6 = "20010db8000000000000000000000001 20010db8000000000000000000000002"
TCP_FRAME = "0800 4500002d ffff4000 40060000 c0000201 c0000202 c001c002 fffffffe 00000007 5099ffff 00000000 6162636465"


def test_tcp_over_ipv4() -> None:
    # The id wraps after ffff, the sequence after ffffffff; CWR stays on the first, PSH and FIN on the last.
    assert nic.segment(*frames(TCP_FRAME), 2).frames() == frames(
        "0800 4500002a ffff4000 4006b6ca c0000201 c0000202 c001c002 fffffffe 00000007 5090ffff 49e20000 6162",
        "0800 4500002a 00004000 4006b6ca c0000201 c0000202 c001c002 00000000 00000007 5010ffff 485f0000 6364",
        "0800 45000029 00014000 4006b6ca c0000201 c0000202 c001c002 00000002 00000007 5019ffff 46b90000 65",
    )


def test_partial_checksums_and_a_fixed_id() -> None:
    segments = nic.segment(*frames(TCP_FRAME), 3, checksums="partial", ip_id="fixed")
    assert segments.frames() == frames(
        "0800 4500002b ffff4000 4006b6c9 c0000201 c0000202 c001c002 fffffffe 00000007 5090ffff 84210000 616263",
        "0800 4500002a ffff4000 4006b6ca c0000201 c0000202 c001c002 00000001 00000007 5019ffff 84200000 6465",
    )


def test_no_checksums_leave_what_there_was() -> None:
    superframe = TCP_FRAME.replace("40060000", "4006dead").replace("00000000 61", "beef0000 61")
    assert nic.segment(*frames(superframe), 3, checksums="none").frames() == frames(
        "0800 4500002b ffff4000 4006dead c0000201 c0000202 c001c002 fffffffe 00000007 5090ffff beef0000 616263",
        "0800 4500002a 00004000 4006dead c0000201 c0000202 c001c002 00000001 00000007 5019ffff beef0000 6465",
    )


def test_udp_over_ipv6_behind_a_tag() -> None:
    head = f"8100 0005 86dd 60000000 000d1140 {V6} c001c002"
    assert nic.segment(*frames(f"{head} 000d 0000 6162636465"), 3).frames() == frames(
        f"{head} 000b 5ffc 616263".replace("000d1140", "000b1140"),
        f"{head} 000a bffb 6465".replace("000d1140", "000a1140"),
    )


def test_udp_fragments_over_ipv4() -> None:
    superframe = "0800 45000026 12344000 40110000 c0000201 c0000202 c001c002 0012 0000 6162636465666768696a"
    assert nic.segment(*frames(superframe), 16, udp="fragment").frames() == frames(
        "0800 45000024 12342000 4011c491 c0000201 c0000202 c001c002 0012 00c2 6162636465666768",
        "0800 45000016 12340002 4011e49d c0000201 c0000202 696a",
    )


def test_udp_fragments_over_ipv6() -> None:
    superframe = f"86dd 60000000 00121140 {V6} c001c002 0012 0000 6162636465666768696a"
    assert nic.segment(*frames(superframe), 16, udp="fragment", fragment_id=0xABCD).frames() == frames(
        f"86dd 60000000 00182c40 {V6} 11000001 0000abcd c001c002 0012 2951 6162636465666768",
        f"86dd 60000000 000a2c40 {V6} 11000010 0000abcd 696a",
    )


def test_a_udp_checksum_of_zero_is_sent_as_ones() -> None:
    superframe = "0800 4500001e 00004000 40110000 c0000201 c0000202 c001c002 000a 0000 fbd1"
    (frame,) = nic.segment(*frames(superframe), 9).frames()
    assert frame[40:] == bytes.fromhex("ffff fbd1")


FLAGS = FIN | RST | PSH | ACK | CWR


@pytest.mark.parametrize(
    ("dialect", "flags"),
    [
        ("gso", (RST | ACK | CWR, RST | ACK, FIN | RST | PSH | ACK)),
        ("tso", (ACK | CWR, ACK | CWR, FLAGS)),
        ("dpdk", (RST | ACK | CWR, RST | ACK | CWR, FLAGS)),
    ],
)
def test_flags_of_the_dialects(dialect: Any, flags: tuple[int, ...]) -> None:
    superframe = Superframe(b"abcde", flags=FLAGS)
    assert tuple(frame[47] for frame in nic.segment(superframe.frame, 2, dialect=dialect).frames()) == flags
    assert nic.segment(superframe.frame, 5, dialect=dialect).frames()[0][47] == FLAGS


def test_descriptors_of_64_kb_in_pages() -> None:
    # 64000 bytes in 4 KB fragments at MSS 1448: 45 segments, 60 pieces of data, 105 descriptors; in 32 KB ones, 91.
    superframe = Superframe(DATA[:64000], tcp_options=bytes(12))
    head = superframe.header_bytes
    for page_bytes, count in ((4096, 105), (32768, 91)):
        memory = pieces(superframe.frame, [head + i for i in range(0, 64000, page_bytes)])
        segments = nic.segment(memory, 1448, checksums="partial")
        assert (len(segments), len(segments.descriptors)) == (45, count)
    assert segments.descriptors[:3].tolist() == [(-1, 0, 66, 1), (1, 0, 1448, 2), (-1, 66, 66, 1)]
    assert segments.descriptors[-1].tolist() == (2, 63712 - 32768, 288, 2)


def test_descriptors_of_fragments_whose_first_is_filled_by_the_udp_header() -> None:
    superframe = Superframe(b"abcdefghi", protocol=UDP)
    segments = nic.segment(superframe.frame, 8, udp="fragment")
    assert segments.descriptors.tolist() == [
        (-1, 0, 42, 3),
        (-1, 42, 34, 1),
        (0, 42, 8, 2),
        (-1, 84, 34, 1),
        (0, 50, 1, 2),
    ]
    assert segments.headers[42 + 34 : 84] == bytes(8)


def test_what_a_frame_may_be() -> None:
    frame = Superframe(b"abcde").frame
    expected = nic.segment(frame, 2).frames()
    for same in (
        bytearray(frame),
        memoryview(frame),
        [frame],
        (frame[:56], b"", frame[56:57], frame[57:]),
        [frame, b""],
    ):
        segments = nic.segment(same, 2)
        assert segments.frames() == expected and segments.buffer == b"".join(expected)
    assert (len(segments), repr(segments)) == (3, "<Segments: 3 frames, 5 bytes of payload>")
    assert segments.buffer is segments.buffer and segments.descriptors is segments.descriptors
    assert Descriptor(int(segments.descriptors["flags"][0])) is Descriptor.FIRST
    with pytest.raises(TypeError, match=r"nicperf\.segment"):
        Segments()


def test_the_longest_and_the_most() -> None:
    assert len(nic.segment(Superframe(bytes(524240)).frame, 1)) == 524240
    assert len(nic.segment(Superframe(DATA[: 128 * 20], protocol=UDP).frame, 20)) == 128


def test_a_frame_without_payload_comes_out_whole() -> None:
    superframe = Superframe(b"", flags=FIN | ACK)
    segments = nic.segment(superframe.frame, 1460)
    assert [len(frame) for frame in segments.frames()] == [54] and segments.frames()[0][47] == FIN | ACK
    assert segments.descriptors.tolist() == [(-1, 0, 54, 3)]


# Laws -------------------------------------------------------------------------------------------------


@st.composite
def cuts(draw: st.DrawFn) -> tuple[Superframe, int, dict[str, Any], list[int]]:
    protocol = draw(st.sampled_from([TCP, UDP]))
    mss = draw(st.integers(1, 3000))
    superframe = draw(superframes(draw(st.integers(0, min(100 * mss, 60000))), protocol))
    choices = {
        "dialect": draw(st.sampled_from(["gso", "tso", "dpdk"])),
        "ip_id": draw(st.sampled_from(["increment", "fixed"])),
    }
    places = st.integers(superframe.header_bytes, superframe.header_bytes + len(superframe.payload))
    return superframe, mss, choices, draw(st.lists(places, max_size=4))


@given(cuts())
def test_payload_checksums_and_numbers(cut: tuple[Superframe, int, dict[str, Any], list[int]]) -> None:
    superframe, mss, choices, places = cut
    memory = pieces(superframe.frame, places)
    segments = nic.segment(memory, mss, **choices)
    at, sent = superframe.network_at, b""
    for i, frame in enumerate(segments.frames()):
        transport, payload = frame[superframe.transport_at :], frame[superframe.header_bytes :]
        assert len(payload) == mss or (i == len(segments) - 1 and len(payload) <= mss)
        if superframe.ipv6:
            assert int.from_bytes(frame[at + 4 : at + 6]) == len(frame) - at - 40
        else:
            assert int.from_bytes(frame[at + 2 : at + 4]) == len(frame) - at
            assert ones_sum(frame[at : superframe.transport_at]) == 0xFFFF
            step = i if choices["ip_id"] == "increment" else 0
            assert int.from_bytes(frame[at + 4 : at + 6]) == (superframe.ip_id + step) % 65536
        pseudo = superframe.addresses + len(transport).to_bytes(4) + superframe.protocol.to_bytes(4)
        assert ones_sum(pseudo + transport) == 0xFFFF
        if superframe.protocol == TCP:
            assert int.from_bytes(transport[4:8]) == (superframe.sequence + len(sent)) % 2**32
        else:
            assert int.from_bytes(transport[4:6]) == len(transport)
        sent += payload
    assert sent == superframe.payload
    assert len(segments.descriptors) <= 2 * len(segments) + len(memory)
    edges = segments.offsets.tolist()
    assert [segments.buffer[a:b] for a, b in pairwise(edges)] == segments.frames()


@given(cuts(), st.sampled_from(["full", "partial", "none"]))
def test_descriptors_gather_the_frames(
    cut: tuple[Superframe, int, dict[str, Any], list[int]], checksums: Any
) -> None:
    superframe, mss, choices, places = cut
    memory = pieces(superframe.frame, places)
    segments = nic.segment(memory, mss, checksums=checksums, **choices)
    fetched = [b""]
    for fragment, offset, length, flags in segments.descriptors.tolist():
        assert (flags & Descriptor.FIRST != 0) == (fragment < 0) and length > 0
        fetched[-1] += (segments.headers if fragment < 0 else memory[fragment])[offset : offset + length]
        fetched += [b""] if flags & Descriptor.LAST else []
    assert fetched == [*segments.frames(), b""]


@given(
    cuts(),
    st.lists(st.tuples(st.integers(12, 100), st.integers(0, 255)), max_size=3),
    st.none() | st.integers(0, 150),
    st.sampled_from(["segment", "fragment"]),
)
def test_damaged_headers_are_refused_or_taken_at_their_word(
    cut: tuple[Superframe, int, dict[str, Any], list[int]],
    damage: list[tuple[int, int]],
    length: int | None,
    udp: Any,
) -> None:
    superframe, mss, choices, places = cut
    frame = bytearray(superframe.frame)
    for at, value in damage:
        if at < len(frame):
            frame[at] = value
    try:
        segments = nic.segment(pieces(bytes(frame[:length]), places), mss, udp=udp, **choices)
    except NicperfError:
        return
    assert segments.buffer == b"".join(segments.frames())
    assert segments.descriptors["length_bytes"].sum() == len(segments.buffer)


@given(st.integers(0, 700), st.integers(0, 5), st.sampled_from([16, 32, 64]))
def test_every_width_of_vectors_sums_alike(n_bytes: int, start: int, width: int) -> None:
    data = memoryview(DATA)[start : start + n_bytes]
    superframe = Superframe(bytes(data))
    expected = nic.segment(superframe.frame, 333).buffer
    try:
        assert _checksum.choose(width) <= width
        assert nic.checksum(data) == 0xFFFF ^ ones_sum(bytes(data))
        assert nic.segment(superframe.frame, 333).buffer == expected
    finally:
        _checksum.choose()


# Refusals ---------------------------------------------------------------------------------------------

IPV4, IPV6 = Superframe(DATA[:3000]), Superframe(DATA[:3000], ipv6=True)
UDP4, UDP6 = (Superframe(DATA[:3000], protocol=UDP, ipv6=ipv6) for ipv6 in (False, True))
FRAGMENT = {"udp": "fragment"}


def put(superframe: Superframe, at: int, hexadecimal: str) -> bytes:
    new = bytes.fromhex(hexadecimal)
    return superframe.frame[:at] + new + superframe.frame[at + len(new) :]


def option(n_bytes: int) -> Superframe:
    """Behind a header with destination options of that size."""
    return Superframe(
        DATA[:3000],
        protocol=UDP,
        ipv6=True,
        next_header=60,
        extensions=bytes([UDP, n_bytes // 8 - 1]) + bytes(n_bytes - 2),
    )


FRAMES: dict[str, tuple[Any, str]] = {
    "empty": (b"", "length_bytes = 0: the frame ends inside its headers"),
    "MAC": (IPV4.frame[:13], "length_bytes = 13: the frame ends inside its headers"),
    "tag": (Superframe(b"", tags=(b"\x81\x00\x00\x01",)).frame[:17], "length_bytes = 17: the frame ends"),
    "IPv4": (IPV4.frame[:33], "length_bytes = 33: the frame ends"),
    "IPv4 options": (put(IPV4, 14, "4f")[:73], "length_bytes = 73: the frame ends"),
    "IPv6": (IPV6.frame[:53], "length_bytes = 53: the frame ends"),
    "IPv6 options": (put(IPV6, 20, "00")[:61], "length_bytes = 61: "),
    "no pieces": ([], "no frame at all"),
    "split headers": (
        [IPV4.frame[:53], IPV4.frame[53:]],
        "length_bytes = 53: the first piece of memory ends inside",
    ),
    "tags": (Superframe(b"", tags=(b"\x81\x00\x00\x01",) * 9).frame, "vlan.tags = 9: Linux follows no more"),
    "ethertype": (put(IPV4, 12, "0806"), "ethernet.type = 2054: neither IPv4 nor IPv6"),
    "version": (put(IPV4, 14, "65"), "ip.version = 6: the EtherType says another"),
    "version 6": (put(IPV6, 14, "45"), "ip.version = 4: the EtherType says another"),
    "ihl": (put(IPV4, 14, "44"), "ipv4.ihl = 4: an IPv4 header has at least five words"),
    "padding": (IPV4.frame + b"\0", "ip.length = 3040: the IP header tells another length"),
    "length": (put(IPV6, 18, "0001"), "ip.length = 1: the IP header tells another length"),
    "zero length": (put(IPV4, 16, "0000"), "ip.length = 0: the IP header tells another length"),
    "BIG TCP": (Superframe(bytes(524241)), "ip.length = 524281: longer than any super-frame of Linux"),
    "more fragments": (put(IPV4, 20, "2000"), "ip.fragment = 8192: a fragment"),
    "last fragment": (put(IPV4, 20, "0001"), "ip.fragment = 1: a fragment"),
    "IPv6 fragment": (put(IPV6, 20, "2c"), "a fragment of a packet"),
    "protocol": (put(IPV4, 23, "2f"), "ip.protocol = 47: neither TCP nor UDP"),
    "routing header": (put(IPV6, 20, "2b"), "ip.protocol = 43: neither TCP nor UDP"),
    "doff": (put(IPV4, 46, "40"), "tcp.doff = 4: a TCP header has at least five words"),
    "TCP options": (put(Superframe(b"abcdef"), 46, "70"), "length_bytes = 60: the frame ends"),
    "UDP length": (put(UDP4, 38, "0008"), "udp.length = 8: the UDP header tells another length"),
    "long headers": (option(208), "header_bytes = 270: the headers do not fit the 256 bytes"),
}
PARAMETERS: dict[str, tuple[bytes, int, dict[str, str], str]] = {
    "mss 0": (IPV4.frame, 0, {}, "mss = 0: out of range 1..65534"),
    "mss -1": (IPV4.frame, -1, {}, "mss = -1: out of range"),
    "mss 65535": (IPV4.frame, 65535, {}, "mss = 65535: out of range"),
    "too long a segment": (
        Superframe(DATA[:65535]).frame,
        65500,
        {},
        "mss = 65500: a segment would be longer",
    ),
    "datagrams": (
        Superframe(DATA[: 128 * 20 + 1], protocol=UDP).frame,
        20,
        {},
        "mss = 20: Linux makes no more than 128",
    ),
    "unit": (UDP4.frame, 1401, FRAGMENT, "mss = 1401: the fragment offset counts 8 bytes"),
    "partial": (UDP4.frame, 1400, FRAGMENT | {"checksums": "partial"}, "checksums = 'partial': no NIC can"),
    "dialect": (IPV4.frame, 1448, {"dialect": "tos"}, "dialect = 'tos': unknown; did you mean 'tso'?"),
    "checksums": (IPV4.frame, 1448, {"checksums": "ful"}, "checksums = 'ful': unknown; did you mean 'full'?"),
    "ip_id": (IPV4.frame, 1448, {"ip_id": "fix"}, "ip_id = 'fix': unknown; did you mean 'fixed'?"),
    "udp": (IPV4.frame, 1448, {"udp": "uso"}, "udp = 'uso': unknown; known: fragment, segment"),
}


def message(error: type[NicperfError], call: Callable[[], Any]) -> str:
    with pytest.raises(error) as caught:
        call()
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("name", FRAMES)
def test_frames_that_nobody_can_segment(name: str) -> None:
    frame, problem = FRAMES[name]
    assert problem in message(FrameError, lambda: nic.segment(getattr(frame, "frame", frame), 1448))


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters_that_cannot_be(name: str) -> None:
    frame, mss, choices, problem = PARAMETERS[name]
    assert problem in message(ScenarioError, lambda: nic.segment(frame, mss, **choices))


def test_datagrams_that_cannot_be_fragmented() -> None:
    for superframe, problem in (
        (option(8), "ipv6.next_header = 60: a datagram behind extension headers"),
        (Superframe(DATA[:65535], protocol=UDP), "ip.length = 65563: longer than a datagram can be"),
    ):
        assert problem in message(
            FrameError, lambda superframe=superframe: nic.segment(superframe.frame, 1400, udp="fragment")
        )
    assert len(nic.segment(option(8).frame, 4000, udp="fragment")) == 1


def test_what_is_not_memory() -> None:
    for wrong in ("text", None, 5, [IPV4.frame, "text"]):
        with pytest.raises(TypeError, match="bytes-like"):
            nic.segment(wrong, 1448)
    with pytest.raises(BufferError):
        nic.segment(memoryview(IPV4.frame)[::2], 1448)


def test_memory_is_given_back() -> None:
    frame = bytearray(IPV4.frame)
    segments = nic.segment(frame, 1448)
    with pytest.raises(BufferError):
        frame.clear()
    del segments
    with pytest.raises(FrameError):
        nic.segment([frame, frame], 1448)
    frame.clear()
