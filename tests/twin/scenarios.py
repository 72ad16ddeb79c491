"""Random scenarios, small in every dimension: rings fill, queues drop, timers end, events tie."""

from typing import Any

from hypothesis import strategies as st

from nicperf.simulation.scenario import parameters
from nicperf.simulation.systems import SIDES, SYSTEMS

Settings = dict[str, Any]

#: Ranges in which something happens within a thousand events; others are the parameter's own, below 5000.
RANGES = {
    "cpu.frequency_mhz": (100, 5000),
    "cpu.syscall_cycles": (1, 5000),  # for nothing, a call could be made for ever at one instant
    "bus.clock_mhz": (10, 133),
    "nic.frame_gap_ns": (0, 3000),
    "nic.buffer_gap_ns": (0, 3000),
    "nic.tx_fifo_bytes": (2048, 8192),
    "nic.rx_fifo_bytes": (2048, 16384),
    "driver.tx_timer_us": (0, 200),
    "driver.rx_timer_us": (0, 200),
    "driver.tx_suppress_frames": (0, 80),
    "driver.rx_suppress_frames": (0, 80),
    "stack.backlog_packets": (1, 40),
    "stack.qdisc_packets": (1, 40),
    "socket.tcp_send_buffer_bytes": (4096, 131072),
    "socket.tcp_window_bytes": (4096, 131072),
    "socket.udp_send_buffer_bytes": (2304, 65536),
    "socket.udp_receive_buffer_bytes": (2304, 65536),
    "socket.tx_truesize_bytes": (256, 4096),
    "socket.rx_truesize_bytes": (256, 4096),
    "socket.rto_us": (1000, 20000),
    "socket.delayed_ack_us": (100, 2000),
    "workload.send_buffers": (1, 64),
    "workload.receive_bytes": (1000, 100000),
}
SHARED = {
    "wire.rate_mbit_s": st.sampled_from((10.0, 100.0, 300.0, 1000.0, 10000.0)),
    "wire.mtu_bytes": st.integers(576, 1500),
    "workload.message_bytes": st.integers(1, 1500) | st.integers(1, 65507),
}

#: All costs whole microseconds and nothing random: many events at the same picosecond.
TIDY = {
    "cpu.frequency_mhz": 1000.0,
    "cpu.jitter_percent": 0.0,
    "cpu.syscall_cycles": 1000.0,
    "bus.clock_mhz": 125.0,
    "bus.read_latency_clocks": 4.0,
    "wire.rate_mbit_s": 1000.0,
}

FAST_SENDER: Settings = {
    "local.cpu.frequency_mhz": 4000,
    "bus.clock_mhz": 133,
    "nic.frame_gap_ns": 0,
    "wire.rate_mbit_s": 1000,
}
#: What settings drawn one by one rarely bring about, after how many events; laid over those.
REGIMES: tuple[tuple[int, Settings], ...] = (
    (600, {}),
    (1000, {"local.driver.tx_scatter_gather": True, "stack.fragment_bytes": 200}),
    (1000, {"stack.qdisc_packets": 1, "driver.tx_ring": 16}),
    (1500, {"remote.nic.rx_fifo_bytes": 3000, "remote.stack.backlog_packets": 3, "socket.rto_us": 1000}),
    (2000, FAST_SENDER | {"remote.driver.rx_suppress_frames": 70, "remote.driver.rx_timer_us": 3000}),
    (2000, FAST_SENDER | {"remote.driver.rx_reap_cycles": 40000, "remote.nic.pause": False}),
)


def _value(name: str) -> st.SearchStrategy[Any]:
    parameter = parameters()[name]
    if parameter.choices:
        return st.sampled_from(parameter.choices)
    if parameter.kind == "bool":
        return st.booleans()
    low, high = RANGES.get(name, (parameter.low, min(parameter.high, 5000)))
    return st.integers(int(low), int(high)) if parameter.kind == "int" else st.floats(low, high)


def _tidy(name: str) -> st.SearchStrategy[Any]:
    return st.sampled_from((0.0, 1000.0, 3000.0)) if name.endswith(("_cycles", "_ns")) else _value(name)


def _settings(value: Any, always: Settings) -> st.SearchStrategy[Settings]:
    names = [name for name in parameters() if name != "cpu.process_core"]  # the twin has one core
    sided = {f"{side}.{name}": value(name) for side in SIDES for name in names}
    drawn = {
        name: strategy for name, strategy in sided.items() if name.split(".", 1)[1] not in {*SHARED, *always}
    }
    shared = {name: strategy for name, strategy in SHARED.items() if name not in always}
    return st.fixed_dictionaries({name: st.just(v) for name, v in always.items()}, optional=shared | drawn)


def _scenario(workload: str, settings: Settings, regime: tuple[int, Settings], seed: int) -> Settings:
    events, laid_over = regime
    names = {n for name in laid_over for n in (name, f"local.{name}", f"remote.{name}")}
    kept = {name: value for name, value in settings.items() if name not in names}
    return {"workload": workload, "settings": kept | laid_over, "seed": seed, "events": events}


scenarios = st.builds(
    _scenario,
    st.sampled_from(list(SYSTEMS["velocity"].ends)),
    _settings(_value, {}) | _settings(_tidy, TIDY),
    st.sampled_from(REGIMES),
    st.integers(0, 2**64 - 1),
)
