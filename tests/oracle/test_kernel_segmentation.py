"""The running kernel segments the same super-frames: its wire frames must be ours, byte for byte."""

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import given as given_
from hypothesis import strategies as st

import nicperf as nic
from nicperf.errors import FrameError, ScenarioError
from nicperf.packets import Segments

from ..superframes import ACK, CWR, DATA, ECE, FIN, PSH, RST, SYN, TCP, UDP, Superframe, pieces, superframes
from . import kernel
from .kernel import Tap

SUPERFRAMES = 5000


def unavailable() -> str:
    """Why the kernel cannot be asked here; empty if it can."""
    if os.geteuid():
        return "the kernel segments for root only (a tap device in a network namespace of its own)"
    try:
        Tap().close()
    except OSError as error:
        return f"no tap device in a network namespace: {error}"
    return ""


@pytest.fixture(scope="module")
def available() -> None:
    if reason := unavailable():
        pytest.skip(reason)


@pytest.fixture(scope="module")
def finishing(available: None) -> Iterator[Tap]:
    """A device without any offload: the kernel segments and sums."""
    tap = Tap()
    yield tap
    tap.close()


@pytest.fixture(scope="module")
def summing(available: None) -> Iterator[Tap]:
    """A device that sums, but does not segment."""
    tap = Tap(kernel.TUN_F_CSUM)
    yield tap
    tap.close()


def ask(tap: Tap, given: Superframe, mss: int, *, fragment: bool = False, ecn: int = 0) -> list[tuple[bytes, bytes]]:
    """Let the kernel segment, and wait for as many frames as the payload must become."""
    cut_bytes = len(given.payload) + 8 * fragment
    gso_type = kernel.GSO_NONE  # GSO with nothing to cut would be dropped
    if cut_bytes > mss and given.protocol == UDP:
        gso_type = kernel.GSO_UDP if fragment else kernel.GSO_UDP_L4
    elif cut_bytes > mss:
        gso_type = (kernel.GSO_TCPV6 if given.ipv6 else kernel.GSO_TCPV4) | ecn
    return tap.send(
        given.frame,
        gso_type,
        given.header_bytes,
        mss if gso_type else 0,
        given.transport_at,
        16 if given.protocol == TCP else 6,
        max(-(-cut_bytes // mss), 1),
    )


@st.composite
def cases(draw: st.DrawFn) -> tuple[Superframe, int, bool, int, list[int]]:
    """A super-frame, its MSS, whether UDP is fragmented, the ECN bit, and where the memory is cut into pieces."""
    kind = draw(st.sampled_from(["tcp", "tcp", "tcp", "uso", "fragment"]))
    mss = draw(st.integers(1, 9000) | st.sampled_from([536, 1448, 1460, 8948]))
    if kind == "fragment":
        mss = max(mss // 8, 1) * 8
    most_bytes = min(65535 if kind == "tcp" else 65400, 128 * mss if kind == "uso" else 300 * mss)  # 65535 are "BIG TCP": too long for the length field
    payload_bytes = draw(st.integers(1, most_bytes))
    if draw(st.booleans()):  # the edges between one more segment and one less
        payload_bytes = min(max(payload_bytes // mss * mss + draw(st.integers(-9, 1)), 1), most_bytes)
    given = draw(superframes(payload_bytes, TCP if kind == "tcp" else UDP, extended=kind != "fragment"))
    cuts = [given.header_bytes + c % (payload_bytes + 1) for c in draw(st.lists(st.integers(0, 65535), max_size=3))]
    return given, mss, kind == "fragment", draw(st.sampled_from([0, kernel.GSO_ECN])), cuts


def ours(given: Superframe, mss: int, cuts: list[int], kernels: list[bytes], *, fragment: bool, **choices: str) -> Segments:
    # Linux draws the identification of IPv6 fragments: the one thing that has to be taken from its frames.
    at = given.network_at + 44
    drawn = int.from_bytes(kernels[0][at : at + 4]) if fragment and given.ipv6 and len(kernels) > 1 else 0
    return nic.segment(
        pieces(given.frame, cuts), mss, udp="fragment" if fragment else "segment", fragment_id=drawn, **choices
    )


def gathered(segments: Segments, memory: list[bytes]) -> list[bytes]:
    """The frames that a NIC would fetch by the descriptors."""
    frames: list[bytes] = []
    for fragment, offset, length, flags in segments.descriptors.tolist():
        area = segments.headers if fragment < 0 else memory[fragment]
        frames += [b""] if flags & 1 else []
        frames[-1] += area[offset : offset + length]
    return frames


ASK = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], database=None)


@settings(ASK, max_examples=SUPERFRAMES)
@given_(case=cases())
def test_frames_are_the_kernels(finishing: Tap, case: tuple[Superframe, int, bool, int, list[int]]) -> None:
    given, mss, fragment, ecn, cuts = case
    kernels = [frame for _, frame in ask(finishing, given, mss, fragment=fragment, ecn=ecn)]
    segments = ours(given, mss, cuts, kernels, fragment=fragment)
    assert segments.frames() == kernels
    assert segments.buffer == b"".join(kernels)
    assert gathered(segments, pieces(given.frame, cuts)) == kernels


@settings(ASK, max_examples=500)
@given_(case=cases().filter(lambda case: not case[2]))
def test_partial_checksums_are_the_kernels(summing: Tap, case: tuple[Superframe, int, bool, int, list[int]]) -> None:
    given, mss, _, ecn, cuts = case
    seen = ask(summing, given, mss, ecn=ecn)
    kernels = [frame for _, frame in seen]
    assert {header[0] for header, _ in seen} == {kernel.NEEDS_CSUM}
    assert ours(given, mss, cuts, kernels, fragment=False, checksums="partial").frames() == kernels


@pytest.mark.parametrize("ipv6", [False, True])
def test_most_segments_and_longest_frames(finishing: Tap, ipv6: bool) -> None:
    for payload_bytes, mss in ((65535, 1), (65535, 9000), (65535, 65000), (1, 1)):
        given = Superframe(DATA[:payload_bytes], ipv6=ipv6)
        kernels = [frame for _, frame in ask(finishing, given, mss)]
        assert len(kernels) == -(-payload_bytes // mss)
        assert nic.segment(given.frame, mss).frames() == kernels


@pytest.mark.parametrize("flags", [PSH | ACK, FIN | PSH | ACK, RST | PSH | ACK, CWR | ECE | ACK, SYN | ACK, 0xFF])
def test_other_dialects_differ_where_they_are_documented_to(finishing: Tap, flags: int) -> None:
    given = Superframe(DATA[:4000], flags=flags)
    kernels = [frame for _, frame in ask(finishing, given, 1448)]
    at = given.transport_at + 13
    for dialect, differing in (
        ("tso", [flags & CWR if i else 0 for i in range(3)]),
        ("dpdk", [flags & CWR if i else 0 for i in range(3)]),
    ):
        if dialect == "tso":
            differing = [d | (flags & RST if i < 2 else 0) for i, d in enumerate(differing)]
        frames = nic.segment(given.frame, 1448, dialect=dialect).frames()
        assert [a[at] ^ b[at] for a, b in zip(frames, kernels, strict=True)] == differing
        for a, b, difference in zip(frames, kernels, differing, strict=True):
            assert (a == b) == (difference == 0)
            assert a[:at] + a[at + 1 : at + 3] + a[at + 5 :] == b[:at] + b[at + 1 : at + 3] + b[at + 5 :]


# Who segmented? ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("protocol", "ipv6"), [(TCP, False), (TCP, True), (UDP, False), (UDP, True)])
def test_a_device_that_segments_gets_the_super_frame(available: None, protocol: int, ipv6: bool) -> None:
    given = Superframe(DATA[:20000], protocol=protocol, ipv6=ipv6)
    everything = kernel.TUN_F_CSUM | kernel.TUN_F_TSO4 | kernel.TUN_F_TSO6 | kernel.TUN_F_USO4 | kernel.TUN_F_USO6
    tap = Tap(everything)
    seen = ask(tap, given, 1400)
    tap.close()
    assert [frame for _, frame in seen] == [given.frame]
    _, _, _, gso_size, csum_start, _ = kernel.VNET.unpack(seen[0][0])
    assert (gso_size, csum_start) == (1400, given.transport_at)


# What the kernel does not let through -----------------------------------------------------------------

REFUSED = {
    "no IPv4 header": lambda frame: frame[:14] + b"\x44" + frame[15:],
    "no TCP header": lambda frame: frame[:46] + b"\x40" + frame[47:],
    "another protocol": lambda frame: frame[:23] + b"\x2f" + frame[24:],
    "no IP": lambda frame: frame[:12] + b"\x88\xb5" + frame[14:],
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_kernel_refuses_is_a_named_error(finishing: Tap, name: str) -> None:
    given = Superframe(DATA[:4000])
    wrong = REFUSED[name](given.frame)
    try:
        seen = finishing.send(wrong, kernel.GSO_TCPV4, 54, 1448, 34, 16, 1)
    except OSError:
        seen = []
    assert seen == []
    with pytest.raises(FrameError):
        nic.segment(wrong, 1448)


def test_the_kernel_refuses_more_datagrams_than_we_do(finishing: Tap) -> None:
    given = Superframe(DATA[: 128 * 400], protocol=UDP)
    assert len(ask(finishing, given, 400)) == len(nic.segment(given.frame, 400)) == 128
    given = Superframe(DATA[: 128 * 400 + 1], protocol=UDP)
    with pytest.raises(OSError, match="Invalid argument"):
        ask(finishing, given, 400)
    with pytest.raises(ScenarioError, match="128"):
        nic.segment(given.frame, 400)


def test_the_kernel_sends_fragments_to_wrong_places_where_we_refuse(finishing: Tap) -> None:
    given = Superframe(DATA[:4000], protocol=UDP)
    offsets = [int.from_bytes(frame[20:22]) & 0x1FFF for _, frame in ask(finishing, given, 1401, fragment=True)]
    assert offsets == [0, 175, 350]  # times eight: 1400 and 2800, while the data are cut at 1401 and 2802
    with pytest.raises(ScenarioError, match="multiple of 8"):
        nic.segment(given.frame, 1401, udp="fragment")
