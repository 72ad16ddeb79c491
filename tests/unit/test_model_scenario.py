"""What a scenario refuses, and the words it refuses with."""

from __future__ import annotations

from typing import Any

import pytest

from nicperf.errors import ScenarioError
from nicperf.simulation import parameters, scenario, simulate

REFUSED: list[tuple[dict[str, Any], str]] = [
    (
        {"nic.dma_burst_dword": 8},
        "nic.dma_burst_dword = 8: unknown parameter; did you mean 'nic.dma_burst_dwords'",
    ),
    (
        {"local.driver.nappi": True},
        "local.driver.nappi = True: unknown parameter; did you mean 'driver.napi'",
    ),
    (
        {"sender.driver.napi": True},
        "sender.driver.napi = True: unknown parameter; did you mean 'driver.napi'",
    ),
    ({"driver": True}, "driver = True: unknown parameter"),
    ({"bus.clock_mhz": 7.9}, "bus.clock_mhz = 7.9: out of range; use 8..533 MHz"),
    ({"bus.clock_mhz": float("nan")}, "bus.clock_mhz = nan: not a finite number"),
    ({"bus.clock_mhz": float("inf")}, "bus.clock_mhz = inf: not a finite number"),
    ({"bus.clock_mhz": "fast"}, "bus.clock_mhz = 'fast': not a number"),
    ({"bus.clock_mhz": None}, "bus.clock_mhz: not a finite number"),
    ({"bus.clock_mhz": True}, "bus.clock_mhz = True: not a finite number"),
    ({"driver.tx_ring": 64.5}, "driver.tx_ring = 64.5: not a whole number"),
    ({"driver.tx_ring": 257}, "driver.tx_ring = 257: out of range; use 16..256 descriptors"),
    ({"driver.rx_ring": 63}, "driver.rx_ring = 63: out of range; use 64..255 descriptors"),
    ({"driver.napi": "maybe"}, "driver.napi = 'maybe': not a switch; use true or false"),
    ({"driver.napi": 2}, "driver.napi = 2: not a switch"),
    ({"nic.dma_burst_dwords": 12}, "nic.dma_burst_dwords = 12: not one of 0, 8, 16, 32, 64, 128, 256"),
    ({"driver.version": "2"}, "driver.version = '2': not one of 1.14, 1.15"),
    (
        {"local.wire.mtu_bytes": 1400},
        "local.wire.mtu_bytes = 1400: the other side has 1500; set wire.mtu_bytes for both sides",
    ),
    ({"remote.wire.rate_mbit_s": 100}, "local.wire.rate_mbit_s = 1000.0: the other side has 100.0"),
    ({"local.workload.message_bytes": 18}, "local.workload.message_bytes = 18: the other side has 16384"),
    (
        {"workload.message_bytes": 65508},
        "workload.message_bytes = 65508: longer than a UDP datagram; use at most 65507",
    ),
]


@pytest.mark.parametrize(
    ("params", "message"), REFUSED, ids=[message.split(":")[0] for _, message in REFUSED]
)
def test_refused(params: dict[str, Any], message: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        scenario("velocity", "udp_stream", params)
    assert str(caught.value).startswith(f"scenario: {message}")


def test_unknown_driver_and_workload() -> None:
    with pytest.raises(ScenarioError, match="driver = 'veloctiy': unknown driver; did you mean 'velocity'"):
        simulate("veloctiy")
    with pytest.raises(
        ScenarioError, match="workload = 'tcp_steam': unknown workload; did you mean 'tcp_stream'"
    ):
        simulate("velocity", "tcp_steam")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"duration_s": -1.0}, "duration_s = -1.0: out of range; use 1e-06..3600 s"),
        ({"duration_s": 0.0}, "duration_s = 0.0: out of range"),
        ({"duration_s": float("nan")}, "duration_s = nan: out of range"),
        ({"warmup_s": 4000.0}, "warmup_s = 4000.0: out of range"),
        ({"slices": 0}, "slices = 0: out of range; use 1 or more"),
        ({"seed": -1}, "seed = -1: not a seed; use a whole number from 0 on"),
        ({"seed": 1.5}, "seed = 1.5: not a seed"),
    ],
)
def test_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        scenario("velocity", "udp_stream", {}, **arguments)
    assert str(caught.value).startswith(f"scenario: {message}")


def test_numbers_as_text_and_whole_floats() -> None:
    """What comes from a command line or from numpy."""
    sc = scenario(
        "velocity",
        "tcp_stream",
        {"driver.tx_ring": "32", "driver.napi": "on", "local.bus.clock_mhz": "66", "driver.rx_ring": 128.0},
    )
    assert dict(sc.settings) == {
        "local.driver.tx_ring": 32,
        "remote.driver.tx_ring": 32,
        "local.driver.napi": True,
        "remote.driver.napi": True,
        "local.bus.clock_mhz": 66.0,
        "local.driver.rx_ring": 128,
        "remote.driver.rx_ring": 128,
    }


@pytest.mark.parametrize("order", [1, -1])
def test_one_side_wins_over_both(order: int) -> None:
    params = [("driver.napi", True), ("remote.driver.napi", False)][::order]
    sc = scenario("velocity", "tcp_stream", dict(params))
    assert sc.host("local")["driver"].napi is True
    assert sc.host("remote")["driver"].napi is False


def test_every_parameter_takes_its_bounds() -> None:
    """And refuses what lies just outside."""
    for name, known in parameters().items():
        assert known.doc and name.count(".") == 1
        if known.kind in ("int", "float"):
            assert known.low <= known.default <= known.high
            for bound, beyond in ((known.low, known.low - 1), (known.high, known.high + 1)):
                assert known.check(bound) == bound
                with pytest.raises(ScenarioError, match=f"{name} = .*out of range"):
                    known.check(beyond)
        else:
            assert known.check(known.default) == known.default
