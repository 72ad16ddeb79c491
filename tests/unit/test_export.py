"""What a run is written as, read back by other code: our parsers, and readers written from the formats."""

import json
import os
import re
import stat
import struct
from pathlib import Path

import jsonschema
import pytest

import nicperf as nic
from nicperf.errors import ScenarioError
from nicperf.simulation import Run

UDP = {"workload.message_bytes": 65507}


@pytest.fixture(scope="module", params=["tcp_stream", "tcp_sendfile", "udp_stream"])
def run(request: pytest.FixtureRequest) -> Run:
    params = UDP if request.param == "udp_stream" else {"local.driver.napi": True}
    return nic.simulate(
        workload=request.param, params=params, duration_s=0.05, fidelity="bytes", capture_frames=40
    )


# pcapng ----------------------------------------------------------------------------------------------


def blocks(content: bytes) -> list[tuple[int, bytes]]:
    found = []
    while content:
        kind, length = struct.unpack_from("<II", content)
        assert length % 4 == 0 and struct.unpack_from("<I", content, length - 4)[0] == length
        found.append((kind, content[8 : length - 4]))
        content = content[length:]
    return found


def options(content: bytes) -> dict[int, bytes]:
    found = {}
    while content:
        code, length = struct.unpack_from("<HH", content)
        found[code] = content[4 : 4 + length]
        content = content[4 + length + -length % 4 :]
    assert list(found)[-1] == 0 and found[0] == b""
    return found


def test_pcapng_holds_the_capture(run: Run) -> None:
    (section, head), (interface, description), *packets = blocks(run.to_pcapng())
    assert (section, struct.unpack_from("<IHHq", head)) == (0x0A0D0D0A, (0x1A2B3C4D, 1, 0, -1))
    assert (interface, struct.unpack_from("<HHI", description)) == (1, (1, 0, 0))
    assert options(description[8:])[9] == b"\x09" and options(description[8:])[8] == struct.pack("<Q", 10**9)
    assert [kind for kind, _ in packets] == [6] * len(run.capture) == [6] * 40
    for i, (_, body) in enumerate(packets):
        on, high, low, kept, length = struct.unpack_from("<5I", body)
        frame = body[20 : 20 + kept]
        assert (on, kept, frame) == (0, length, list(run.capture.frames())[i])
        assert (high << 32 | low) == run.capture.time_ps[i] // 1000 + 10**9
        outbound = frame[5] == 2  # to the remote host
        assert options(body[20 + kept + -kept % 4 :])[2] == struct.pack("<I", 2 if outbound else 1)


def test_files_are_written_whole_and_over_what_was_there(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "run.pcapng"
    path.write_bytes(b"old")
    assert run.to_pcapng(path) is None
    assert path.read_bytes() == run.to_pcapng()
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.pcapng"]
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o644
    assert run.to_folded(str(path)) is None and path.read_text() == run.to_folded()
    assert run.to_speedscope(path) is None and path.read_text() == run.to_speedscope()


def test_nothing_is_left_of_a_file_that_cannot_be_written(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError("no space left")

    path = tmp_path / "run.pcapng"
    path.write_bytes(b"old")
    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="no space"):
        run.to_pcapng(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.pcapng"] and path.read_bytes() == b"old"


def test_a_timing_run_has_no_bytes_to_write(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r'fidelity = .timing.*use simulate\(\.\.\., fidelity="bytes"\)'):
        nic.simulate(duration_s=0.01).to_pcapng(tmp_path / "run.pcapng")
    assert not list(tmp_path.iterdir())


# profiles --------------------------------------------------------------------------------------------


def test_folded_stacks_add_up_to_the_cost_ledger(run: Run) -> None:
    total: dict[tuple[str, ...], int] = {}
    for line in run.to_folded().splitlines():
        side, context, operation, ns = re.fullmatch(r"(\w+);(\w+);(\w+) (\d+)", line).groups()
        assert operation != "variation"
        total[side, context] = total.get((side, context), 0) + int(ns)
    ledger = run.costs.groupby(["side", "context"]).ns_per_frame.sum() * run.data_frames
    assert total == {key: pytest.approx(ns, abs=20) for key, ns in ledger.items()}


def test_speedscope_has_the_same_stacks(run: Run) -> None:
    document = json.loads(run.to_speedscope())
    name = {"type": "string"}
    profile = {
        "type": {"const": "sampled"},
        "name": name,
        "unit": {"enum": ["bytes", "microseconds", "milliseconds", "nanoseconds", "none", "seconds"]},
        "startValue": {"type": "number"},
        "endValue": {"type": "number"},
        "samples": {"type": "array", "items": {"type": "array", "items": {"type": "number"}}},
        "weights": {"type": "array", "items": {"type": "number"}},
    }
    frames = {
        "type": "array",
        "items": {"type": "object", "properties": {"name": name}, "required": ["name"]},
    }
    # What speedscope's published schema asks of a file with sampled profiles.
    schema = {
        "properties": {
            "$schema": {"const": "https://www.speedscope.app/file-format-schema.json"},
            "shared": {"properties": {"frames": frames}, "required": ["frames"]},
            "profiles": {"type": "array", "items": {"properties": profile, "required": list(profile)}},
            "name": name,
            "exporter": name,
            "activeProfileIndex": {"type": "number"},
        },
        "required": ["$schema", "shared", "profiles"],
    }
    jsonschema.validate(document, schema)
    names = [frame["name"] for frame in document["shared"]["frames"]]
    lines = [
        f"{profile['name']};{names[context]};{names[operation]} {ns}"
        for profile in document["profiles"]
        for (context, operation), ns in zip(profile["samples"], profile["weights"], strict=True)
    ]
    assert lines == run.to_folded().splitlines()
    assert all(profile["endValue"] == sum(profile["weights"]) for profile in document["profiles"])


# tool output -----------------------------------------------------------------------------------------


def test_netperf_reads_back(run: Run) -> None:
    (record,) = nic.parse(run.to_netperf())
    summary, sc = run.summary, run.scenario
    sides = [
        f"{quantity}_{side}"
        for quantity in ("cpu_percent", "service_demand_us_per_kb")
        for side in ("local", "remote")
    ]
    for name in sides:
        digits = 2 if name.startswith("cpu") else 3
        assert getattr(record, name) == round(summary[name], digits)
    assert record.test.lower() == sc.workload
    assert record.message_size_bytes == sc.host("local")["workload"].message_bytes
    if sc.workload == "udp_stream":
        messages = run.counters.query("counter == 'messages'").set_index("side").value
        assert (record.messages_local, record.messages_remote) == (messages["local"], messages["remote"])
        assert record.throughput_mbit_s_local == round(summary["sent_mbit_s"], 1)
        assert record.throughput_mbit_s_remote == round(summary["throughput_mbit_s"], 1)
        assert record.elapsed_s_local == record.elapsed_s_remote == sc.duration_s
    else:
        assert record.throughput_mbit_s == round(summary["throughput_mbit_s"], 2)
        assert record.elapsed_s == sc.duration_s


def test_netperf_of_a_run_that_delivers_nothing() -> None:
    idle = nic.simulate(params={"wire.rate_mbit_s": 1.0}, warmup_s=0.0, duration_s=0.001)
    (record,) = nic.parse(idle.to_netperf())
    assert (record.throughput_mbit_s, record.service_demand_us_per_kb_local) == (0, -1)


@pytest.mark.parametrize("slices", [1, 7])
def test_iperf_reads_back(slices: int) -> None:
    run = nic.simulate(duration_s=0.07, slices=slices)
    (record,) = nic.parse(run.to_iperf())
    assert record.role == "server" and record.window_bytes == 262144
    intervals = record.intervals or (record.total,)
    timeline = run.timeline
    assert [report.end_s for report in intervals] == [round(t, 4) for t in timeline.t_s]
    for report, mbit_s in zip(intervals, timeline.throughput_mbit_s, strict=True):
        assert report.throughput_mbit_s == pytest.approx(mbit_s, rel=0.005)  # three digits
        seconds = report.end_s - report.start_s
        assert report.transfer_mib == pytest.approx(mbit_s * 1e6 / 8 * seconds / 2**20, rel=0.005)
    assert record.total.throughput_mbit_s == pytest.approx(run.summary["throughput_mbit_s"], rel=0.005)


def test_iperf_has_no_udp() -> None:
    with pytest.raises(ScenarioError, match=r"jitter.*use to_netperf"):
        nic.simulate(workload="udp_stream", duration_s=0.01).to_iperf()
