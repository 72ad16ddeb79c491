"""Wireshark's dissectors read the captures: an oracle that shares nothing with this code."""

import shutil
import subprocess
from pathlib import Path

import pytest

import nicperf as nic
from nicperf.simulation import Run

TSHARK = shutil.which("tshark")
pytestmark = pytest.mark.skipif(TSHARK is None, reason="tshark is not installed (apt-get install tshark)")

# 0x400000 is Wireshark's "note"; a SYN is a "chat", below it.
COMPLAINTS = "_ws.malformed or _ws.expert.severity >= 0x400000 or tcp.analysis.flags or " + " or ".join(
    f"{protocol}.checksum.status == 0" for protocol in ("ip", "tcp", "udp")
)
SG = {"driver.tx_scatter_gather": True}
CLEAN = {
    "tcp": ("tcp_stream", {"local.driver.napi": True}),
    "tcp-fragments": ("tcp_stream", SG | {"local.driver.napi": True, "stack.fragment_bytes": 300}),
    "tcp-sendfile": ("tcp_sendfile", SG),
    "tcp-no-timestamps": ("tcp_stream", {"socket.tcp_timestamps": False}),
    "tcp-small-mtu": ("tcp_stream", {"wire.mtu_bytes": 576, "wire.rate_mbit_s": 100.0}),
    "udp-fragments": ("udp_stream", {"workload.message_bytes": 65507}),
    "udp-odd": ("udp_stream", {"workload.message_bytes": 4321, "driver.rx_checksum_rule": "via"}),
    "udp-padded": ("udp_stream", {"workload.message_bytes": 1}),
}


def tshark(path: Path, *arguments: str) -> list[list[str]]:
    """Lines of output, each split into fields."""
    checks = [word for p in ("ip", "tcp", "udp") for word in ("-o", f"{p}.check_checksum:TRUE")]
    done = subprocess.run(
        [TSHARK, "-r", path, *checks, *arguments], capture_output=True, text=True, check=True
    )
    return [line.split("\t") for line in done.stdout.splitlines()]


def fields(path: Path, which: str, *names: str) -> list[list[str]]:
    return tshark(path, "-Y", which, "-T", "fields", *(word for name in names for word in ("-e", name)))


def capture(path: Path, workload: str, params: dict[str, object], frames: int = 2000) -> Run:
    run = nic.simulate(
        workload=workload,
        params=params,
        duration_s=0.05,
        warmup_s=0.0,
        fidelity="bytes",
        capture_frames=frames,
    )
    run.to_pcapng(path)
    return run


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Run]]:
    folder = tmp_path_factory.mktemp("clean")
    return {name: (folder / name, capture(folder / name, *what)) for name, what in CLEAN.items()}


@pytest.mark.parametrize("name", CLEAN)
def test_nothing_to_complain_about(clean: dict[str, tuple[Path, Run]], name: str) -> None:
    path, run = clean[name]
    assert tshark(path, "-Y", COMPLAINTS) == []
    transport = name[:3]
    good = f"ip.checksum.status == 1 and ({transport}.checksum.status == 1 or ip.flags.mf == 1)"
    assert len(tshark(path, "-Y", good)) == len(run.capture) > 800


def test_time_and_direction(clean: dict[str, tuple[Path, Run]]) -> None:
    path, run = clean["tcp"]
    for row, time_ps, outbound in zip(
        fields(path, "ip", "frame.time_epoch", "frame.packet_flags_direction", "ip.src"),
        run.capture.time_ps.tolist(),
        run.capture.outbound.tolist(),
        strict=True,
    ):
        seconds, nanoseconds = divmod(10**9 + time_ps // 1000, 10**9)
        expected = f"{seconds}.{nanoseconds:09}", "0x00000002" if outbound else "0x00000001"
        assert (row[0], f"0x{int(row[1], 0):08x}", row[2]) == (
            *expected,
            "192.0.2.1" if outbound else "192.0.2.2",
        )


def test_the_stream_opens_with_a_handshake_and_carries_the_pattern(
    clean: dict[str, tuple[Path, Run]],
) -> None:
    path, _ = clean["tcp"]
    assert fields(path, "frame.number <= 3", "tcp.flags.str", "tcp.options.mss_val", "tcp.window_size") == [
        ["··········S·", "1460", "65535"],
        ["·······A··S·", "1460", "65535"],
        ["·······A····", "", "262144"],
    ]
    rows = fields(path, "tcp.len > 0", "tcp.seq", "tcp.payload")
    stream = bytes.fromhex("".join(payload for _, payload in rows))
    assert len(stream) > 10**6 and int(rows[-1][0]) + len(rows[-1][1]) // 2 == len(stream) + 1
    assert stream == b"".join(b"nic:" + at.to_bytes(4, "big") for at in range(0, len(stream), 8))


def test_timestamps_follow_the_clock_and_echo_the_peer(clean: dict[str, tuple[Path, Run]]) -> None:
    path, _ = clean["tcp"]
    names = ("ip.src", "frame.time_epoch", "tcp.options.timestamp.tsval", "tcp.options.timestamp.tsecr")
    latest = {"192.0.2.1": 0, "192.0.2.2": 0}
    for source, seconds, value, echo in fields(path, "tcp.flags.syn == 0", *names):
        ticks = int(value) - (5_000_000 if source == "192.0.2.1" else 10_000_000)
        assert 0 <= (float(seconds) - 1) * 1000 - ticks < 3 or ticks == 0
        latest[source] = int(value)
        peer = latest["192.0.2.2" if source == "192.0.2.1" else "192.0.2.1"]
        assert peer == 0 or peer - 3 <= int(echo) <= peer


def test_datagrams_reassemble(clean: dict[str, tuple[Path, Run]]) -> None:
    path, run = clean["udp-fragments"]
    rows = fields(path, "udp.length", "udp.length", "ip.fragment.count", "udp.payload")
    whole = [(int(length), int(count), bytes.fromhex(data)) for length, count, data in rows if count]
    assert len(whole) == len(run.capture) // 45 > 30
    for number, (length, count, data) in enumerate(whole):
        words = range(number << 16, (number << 16) + 65507, 8)
        assert (length, count) == (65515, 45)
        assert data == b"".join(b"nic:" + at.to_bytes(4, "big") for at in words)[:65507]


# What must not pass ----------------------------------------------------------------------------------


def test_losses_show(tmp_path: Path) -> None:
    loss = {"nic.pause": False, "remote.nic.rx_fifo_bytes": 2048, "remote.bus.clock_mhz": 20.0}
    run = capture(tmp_path / "lossy", "tcp_stream", loss)
    assert run.counters.query("counter == 'rx_fifo_drops'").value.sum() > 10
    path = tmp_path / "lossy"
    assert tshark(path, "-Y", "tcp.analysis.retransmission") and tshark(
        path, "-Y", "tcp.analysis.duplicate_ack"
    )
    assert not tshark(path, "-Y", "_ws.malformed or tcp.checksum.status == 0 or ip.checksum.status == 0")


@pytest.mark.parametrize(
    ("name", "at", "complaint"),
    [
        ("tcp", 14 + 8, "ip.checksum.status == 0"),  # time to live
        ("tcp", 34 + 13, "tcp.checksum.status == 0"),  # flags
        ("tcp", 100, "tcp.checksum.status == 0"),
        ("udp-fragments", 100, "udp.checksum.status == 0"),
        ("udp-padded", 42, "udp.checksum.status == 0"),
    ],
)
def test_one_wrong_byte_shows(
    clean: dict[str, tuple[Path, Run]], tmp_path: Path, name: str, at: int, complaint: str
) -> None:
    path, run = clean[name]
    content = bytearray(path.read_bytes())
    frame = next(frame for frame in list(run.capture.frames())[90:] if len(frame) > at)
    assert content.count(frame) == 1
    content[content.index(frame) + at] ^= 0x10
    wrong = tmp_path / "wrong"
    wrong.write_bytes(content)
    assert len(tshark(wrong, "-Y", complaint)) == 1
