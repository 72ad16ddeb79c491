"""The Internet checksum against sums by hand, and frames of a bytes run taken apart by other code."""

import array
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nicperf as nic
from nicperf.simulation import Run


def checksum(data: bytes) -> int:
    """RFC 1071 as it reads: 16-bit words, carries added back at the end."""
    data += bytes(len(data) % 2)
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def test_checksum_of_the_rfc() -> None:
    assert nic.checksum(bytes.fromhex("0001f203f4f5f6f7")) == 0xFFFF - 0xDDF2


@pytest.mark.parametrize(("data", "sum_of_it"), [(b"", 0xFFFF), (b"\x01", 0xFEFF), (b"\xff" * 65536, 0)])
def test_checksum_at_the_edges(data: bytes, sum_of_it: int) -> None:
    assert nic.checksum(data) == sum_of_it


@given(st.binary(max_size=200), st.integers(0, 9))
def test_checksum_of_any_bytes_at_any_address(data: bytes, start: int) -> None:
    assert nic.checksum(memoryview(data)[start:]) == checksum(data[start:])


@given(st.integers(65530, 65560), st.integers(0, 255))
def test_checksum_of_large_buffers(size: int, value: int) -> None:
    data = bytes([value]) * (size // 2) + bytes(range(256)) * (size // 512) + b"\x01"
    assert nic.checksum(data) == checksum(data)


def test_data_with_their_own_checksum_give_zero() -> None:
    data = bytearray(range(20))
    data[10:12] = bytes(2)
    data[10:12] = struct.pack(">H", nic.checksum(data))
    assert nic.checksum(data) == 0


def test_checksum_takes_what_has_a_buffer_and_nothing_else() -> None:
    assert nic.checksum(array.array("H", [1, 2])) == nic.checksum(array.array("H", [1, 2]).tobytes())
    with pytest.raises(TypeError, match="bytes-like"):
        nic.checksum("text")
    with pytest.raises(BufferError):
        nic.checksum(memoryview(bytes(8))[::2])


# Frames ----------------------------------------------------------------------------------------------

VIEW = {"fidelity": "bytes", "duration_s": 0.01, "warmup_s": 0.0}
CONFIGURATIONS = {
    "one buffer": ("tcp_stream", {"local.driver.napi": True}),
    "fragments": ("tcp_stream", {"driver.tx_scatter_gather": True, "stack.fragment_bytes": 300}),
    "made linear": ("tcp_stream", {"driver.tx_scatter_gather": True, "stack.fragment_bytes": 128}),
    "sendfile": ("tcp_sendfile", {"driver.tx_scatter_gather": True}),
    "no timestamps": ("tcp_stream", {"socket.tcp_timestamps": False, "wire.mtu_bytes": 600}),
    "large window": ("tcp_stream", {"socket.tcp_window_bytes": 1 << 20}),
    "copied": ("tcp_stream", {"driver.rx_copybreak_bytes": 1540, "driver.rx_align_rule": "via"}),
    "datagram": ("udp_stream", {"workload.message_bytes": 65507}),
    "datagram, summed": ("udp_stream", {"workload.message_bytes": 20001, "driver.rx_checksum_rule": "via"}),
    "small datagram": ("udp_stream", {"workload.message_bytes": 1}),
    "whole datagram": ("udp_stream", {"workload.message_bytes": 1472}),
    "one byte too many": ("udp_stream", {"workload.message_bytes": 1473, "driver.rx_checksum_rule": "via"}),
}


def payload(position: int, length: int) -> bytes:
    """What the applications send, from a position on."""
    words = b"".join(
        b"nic:" + struct.pack(">I", p & 0xFFFFFFFF) for p in range(position & ~7, position + length, 8)
    )
    return words[position & 7 :][:length]


def pseudo(ip: bytes, transport: bytes) -> bytes:
    return ip[12:20] + struct.pack(">BBH", 0, ip[9], len(transport)) + transport


def simulate(name: str) -> tuple[Run, list[tuple[int, bytes, bytes]]]:
    """Run a configuration; of each frame its direction, IPv4 header and the rest, checked down to there."""
    workload, params = CONFIGURATIONS[name]
    run = nic.simulate(workload=workload, params=params, **VIEW)
    assert len(run.capture) == run.capture.passed_frames > 100
    packets = []
    for outbound, frame in zip(run.capture.outbound.tolist(), run.capture.frames(), strict=True):
        to, by = (2, 1) if outbound else (1, 2)
        ip, transport = frame[14:34], frame[34 : 14 + struct.unpack_from(">H", frame, 16)[0]]
        assert frame[:14].hex() == f"02000000000{to}02000000000{by}0800"
        assert (checksum(ip), ip[0], ip[12:].hex()) == (0, 0x45, f"c000020{by}c000020{to}")
        assert len(frame) == max(34 + len(transport), 60) and not any(frame[34 + len(transport) :])
        packets.append((outbound, ip, transport))
    return run, packets


def counters(run: Run) -> dict[str, int]:
    """What the receivers found, both sides together."""
    return run.counters.query("part == 'bytes'").groupby("counter").value.sum().to_dict()


@pytest.mark.parametrize(
    "name", [name for name, (workload, _) in CONFIGURATIONS.items() if "tcp" in workload]
)
def test_tcp_frames(name: str) -> None:
    run, packets = simulate(name)
    scales = [tcp[(tcp[12] >> 4 << 2) - 1] for _, _, tcp in packets[:2]]  # the last option of a SYN
    edge, sent = struct.unpack_from(">H", packets[1][2], 14)[0], 0
    for number, (outbound, ip, tcp) in enumerate(packets):
        sequence, ack, start, flags, window = struct.unpack_from(">IIBBH", tcp, 4)
        data = tcp[start >> 4 << 2 :]
        assert checksum(pseudo(ip, tcp)) == 0 and ip[6] == 0x40
        assert flags == {0: 0x02, 1: 0x12}.get(number, 0x10)
        if number > 1 and not outbound:
            edge = ack - 1_000_001 + (window << scales[1])
        elif number > 1 and data:
            assert sequence - 1_000_001 == sent and data == payload(sent, len(data))
            sent += len(data)
            assert sent <= edge
    assert sent > 100_000
    found = counters(run)
    assert (
        found["frames"] > 50
        and found["software_sums"] == found["bad_checksums"] == found["bad_payloads"] == 0
    )


@pytest.mark.parametrize(
    "name", [name for name, (workload, _) in CONFIGURATIONS.items() if "udp" in workload]
)
def test_udp_frames(name: str) -> None:
    run, packets = simulate(name)
    params = CONFIGURATIONS[name][1]
    datagrams: dict[bytes, list[tuple[int, bytes, bytes]]] = {}
    for _, ip, transport in packets:
        datagrams.setdefault(ip[4:6], []).append((struct.unpack_from(">H", ip, 6)[0], ip, transport))
    *whole, _ = datagrams.values()  # the last one may be under way
    for number, fragments in enumerate(whole):
        udp = b"".join(transport for _, _, transport in fragments)
        assert checksum(pseudo(fragments[0][1], udp)) == 0 and struct.unpack_from(">H", udp, 4)[0] == len(udp)
        assert udp[8:] == payload(number << 16, params["workload.message_bytes"])
        sizes = [len(transport) for _, _, transport in fragments]
        places = [0x2000 | sum(sizes[:i]) // 8 for i in range(len(sizes))]
        places[-1] = places[-1] & 0x1FFF if len(sizes) > 1 else 0x4000
        assert [place for place, _, _ in fragments] == places
    found = counters(run)
    assert found["bad_checksums"] == found["bad_payloads"] == 0
    assert (found["software_sums"] > 0) == (params.get("driver.rx_checksum_rule") == "via")
