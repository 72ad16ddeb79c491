"""The running kernel segments the same super-frames: its wire frames must be ours, byte for byte."""

import os
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import nicperf as nic
from nicperf.errors import FrameError, ScenarioError
from nicperf.packets import Segments

from ..superframes import (
    ACK,
    CWR,
    DATA,
    ECE,
    FIN,
    PSH,
    RST,
    SYN,
    TCP,
    UDP,
    Superframe,
    ones_sum,
    pieces,
    superframes,
)
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


class Case(NamedTuple):
    """What the kernel and the package are asked."""

    superframe: Superframe
    mss: int
    fragment: bool
    ecn: int
    cuts: list[int]  # where a new piece of memory begins


@st.composite
def cases(draw: st.DrawFn, kinds: tuple[str, ...]) -> Case:
    kind = draw(st.sampled_from(kinds))
    mss = draw(st.integers(1, 9000) | st.sampled_from([536, 1448, 1460, 8948]))
    if kind == "fragment":
        mss = max(mss // 8, 1) * 8
    most_bytes = min(
        65535 if kind == "tcp" else 65400, 128 * mss if kind == "uso" else 300 * mss
    )  # 65535 are "BIG TCP": too long for the length field
    payload_bytes = draw(st.integers(1, most_bytes))
    if draw(st.booleans()):  # the edges between one more segment and one less
        payload_bytes = min(max(payload_bytes // mss * mss + draw(st.integers(-9, 1)), 1), most_bytes)
    superframe = draw(superframes(payload_bytes, TCP if kind == "tcp" else UDP, extended=kind != "fragment"))
    cuts = [
        superframe.header_bytes + c % (payload_bytes + 1)
        for c in draw(st.lists(st.integers(0, 65535), max_size=3))
    ]
    return Case(superframe, mss, kind == "fragment", draw(st.sampled_from([0, kernel.GSO_ECN])), cuts)


def ask(
    tap: Tap, superframe: Superframe, mss: int, *, fragment: bool = False, ecn: int = 0
) -> list[tuple[bytes, bytes]]:
    """Let the kernel segment, and wait for as many frames as the payload must become."""
    cut_bytes = len(superframe.payload) + 8 * fragment
    gso_type = kernel.GSO_NONE  # GSO with nothing to cut would be dropped
    if cut_bytes > mss and superframe.protocol == UDP:
        gso_type = kernel.GSO_UDP if fragment else kernel.GSO_UDP_L4
    elif cut_bytes > mss:
        gso_type = (kernel.GSO_TCPV6 if superframe.ipv6 else kernel.GSO_TCPV4) | ecn
    return tap.send(
        superframe.frame,
        gso_type,
        superframe.header_bytes,
        mss if gso_type else 0,
        superframe.transport_at,
        16 if superframe.protocol == TCP else 6,
        max(-(-cut_bytes // mss), 1),
    )


def drawn_id(case: Case, kernels: list[bytes]) -> int:
    """Identification of IPv6 fragments: the one thing that has to be taken from the kernel, which draws it."""
    at = case.superframe.network_at + 44
    return (
        int.from_bytes(kernels[0][at : at + 4])
        if case.fragment and case.superframe.ipv6 and len(kernels) > 1
        else 0
    )


def gathered(segments: Segments, memory: list[bytes]) -> list[bytes]:
    """The frames that a NIC would fetch by the descriptors."""
    frames: list[bytes] = []
    for fragment, offset, length, flags in segments.descriptors.tolist():
        area = segments.headers if fragment < 0 else memory[fragment]
        frames += [b""] if flags & 1 else []
        frames[-1] += area[offset : offset + length]
    return frames


ASK = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], database=None
)


@settings(ASK, max_examples=SUPERFRAMES)
@given(case=cases(("tcp", "tcp", "tcp", "uso", "fragment")))
def test_frames_are_the_kernels(finishing: Tap, case: Case) -> None:
    kernels = [
        frame for _, frame in ask(finishing, case.superframe, case.mss, fragment=case.fragment, ecn=case.ecn)
    ]
    memory = pieces(case.superframe.frame, case.cuts)
    udp = "fragment" if case.fragment else "segment"
    segments = nic.segment(memory, case.mss, udp=udp, fragment_id=drawn_id(case, kernels))
    assert segments.frames() == kernels
    assert segments.buffer == b"".join(kernels)
    assert gathered(segments, memory) == kernels


@settings(ASK, max_examples=500)
@given(case=cases(("tcp", "uso")))
def test_partial_checksums_are_the_kernels(summing: Tap, case: Case) -> None:
    seen = ask(summing, case.superframe, case.mss, ecn=case.ecn)
    segments = nic.segment(case.superframe.frame, case.mss, checksums="partial")
    assert segments.frames() == [frame for _, frame in seen]
    assert {header[0] for header, _ in seen} == {kernel.NEEDS_CSUM}


@pytest.mark.parametrize("ipv6", [False, True])
def test_most_segments_and_longest_frames(finishing: Tap, ipv6: bool) -> None:
    for payload_bytes, mss in ((65535, 1), (65535, 9000), (65535, 65000), (524240, 1448), (1, 1)):
        superframe = Superframe((4 * DATA)[:payload_bytes], ipv6=ipv6)
        kernels = [frame for _, frame in ask(finishing, superframe, mss)]
        assert len(kernels) == -(-payload_bytes // mss)
        assert nic.segment(superframe.frame, mss).frames() == kernels


@pytest.mark.parametrize(
    "flags", [PSH | ACK, FIN | PSH | ACK, RST | PSH | ACK, CWR | ECE | ACK, SYN | ACK, 0xFF]
)
def test_other_dialects_differ_where_they_are_documented_to(finishing: Tap, flags: int) -> None:
    superframe = Superframe(DATA[:4000], flags=flags)
    kernels = [frame for _, frame in ask(finishing, superframe, 1448)]
    at = superframe.transport_at + 13
    later_cwr, early_rst = [0, flags & CWR, flags & CWR], [flags & RST, flags & RST, 0]
    for dialect, differing in (
        ("dpdk", later_cwr),
        ("tso", [a | b for a, b in zip(later_cwr, early_rst, strict=True)]),
    ):
        frames = nic.segment(superframe.frame, 1448, dialect=dialect).frames()
        for mine, theirs, difference in zip(frames, kernels, differing, strict=True):
            assert mine[at] ^ theirs[at] == difference
            unlike = [i for i, (a, b) in enumerate(zip(mine, theirs, strict=True)) if a != b]
            assert set(unlike) <= ({at, at + 3, at + 4} if difference else set())  # flags and checksum


@pytest.mark.parametrize("ipv6", [False, True])
@pytest.mark.parametrize("fragment", [False, True])
def test_a_udp_checksum_of_zero_is_sent_as_ones(finishing: Tap, ipv6: bool, fragment: bool) -> None:
    chunk = DATA[: 2798 if fragment else 1398]
    blank = Superframe(
        bytes(2) + chunk, protocol=UDP, ipv6=ipv6
    )  # its sum, pseudo-header included, is what the two bytes complete
    filled = (0xFFFF ^ ones_sum(blank.frame[blank.transport_at :])).to_bytes(2) + chunk
    superframe = Superframe(filled if fragment else 2 * filled, protocol=UDP, ipv6=ipv6)
    kernels = [frame for _, frame in ask(finishing, superframe, 1400, fragment=fragment)]
    at = superframe.transport_at + 6 + 8 * (fragment and ipv6)
    assert kernels[0][at : at + 2] == b"\xff\xff"
    case = Case(superframe, 1400, fragment, 0, [])
    udp = "fragment" if fragment else "segment"
    assert (
        nic.segment(superframe.frame, 1400, udp=udp, fragment_id=drawn_id(case, kernels)).frames() == kernels
    )


# Who segmented? ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("protocol", "ipv6"), [(TCP, False), (TCP, True), (UDP, False), (UDP, True)])
def test_a_device_that_segments_gets_the_super_frame(available: None, protocol: int, ipv6: bool) -> None:
    superframe = Superframe(DATA[:20000], protocol=protocol, ipv6=ipv6)
    everything = (
        kernel.TUN_F_CSUM | kernel.TUN_F_TSO4 | kernel.TUN_F_TSO6 | kernel.TUN_F_USO4 | kernel.TUN_F_USO6
    )
    tap = Tap(everything)
    seen = ask(tap, superframe, 1400)
    tap.close()
    assert [frame for _, frame in seen] == [superframe.frame]
    _, _, _, gso_size, csum_start, _ = kernel.VNET.unpack(seen[0][0])
    assert (gso_size, csum_start) == (1400, superframe.transport_at)


# What the kernel does not let through -----------------------------------------------------------------

REFUSED = {
    "no IPv4 header": lambda frame: frame[:14] + b"\x44" + frame[15:],
    "no TCP header": lambda frame: frame[:46] + b"\x40" + frame[47:],
    "another protocol": lambda frame: frame[:23] + b"\x2f" + frame[24:],
    "no IP": lambda frame: frame[:12] + b"\x88\xb5" + frame[14:],
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_kernel_refuses_is_a_named_error(finishing: Tap, name: str) -> None:
    superframe = Superframe(DATA[:4000])
    wrong = REFUSED[name](superframe.frame)
    try:
        seen = finishing.send(wrong, kernel.GSO_TCPV4, 54, 1448, 34, 16, 1)
    except OSError:
        seen = []
    assert seen == []
    with pytest.raises(FrameError):
        nic.segment(wrong, 1448)


def test_the_kernel_refuses_more_datagrams_than_we_do(finishing: Tap) -> None:
    superframe = Superframe(DATA[: 128 * 400], protocol=UDP)
    assert len(ask(finishing, superframe, 400)) == len(nic.segment(superframe.frame, 400)) == 128
    superframe = Superframe(DATA[: 128 * 400 + 1], protocol=UDP)
    with pytest.raises(OSError, match="Invalid argument"):
        ask(finishing, superframe, 400)
    with pytest.raises(ScenarioError, match="128"):
        nic.segment(superframe.frame, 400)


def test_the_kernel_sends_fragments_to_wrong_places_where_we_refuse(finishing: Tap) -> None:
    superframe = Superframe(DATA[:4000], protocol=UDP)
    offsets = [
        int.from_bytes(frame[20:22]) & 0x1FFF for _, frame in ask(finishing, superframe, 1401, fragment=True)
    ]
    assert offsets == [0, 175, 350]  # times eight: 1400 and 2800, while the data are cut at 1401 and 2802
    with pytest.raises(ScenarioError, match="multiple of 8"):
        nic.segment(superframe.frame, 1401, udp="fragment")
