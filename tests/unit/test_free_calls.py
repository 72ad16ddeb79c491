"""A process whose calls cost nothing would make them for ever at one instant."""

import pytest

from nicperf.errors import ScenarioError
from nicperf.parameter import Parameter
from nicperf.simulation import parameters, simulate


def free(parameter: Parameter) -> bool:
    return parameter.name.endswith(("_cycles", "_cycles_per_byte")) and parameter.low == 0


def test_a_system_call_costs_something() -> None:
    with pytest.raises(ScenarioError, match="syscall_cycles"):
        simulate("velocity", "udp_stream", {"cpu.syscall_cycles": 0})


def test_a_run_ends_when_all_that_may_be_free_is() -> None:
    # Every datagram is too long for its send buffer and is given up at once.
    settings = {name: 0 for name, parameter in parameters().items() if free(parameter)}
    settings |= {"workload.message_bytes": 65507, "socket.udp_send_buffer_bytes": 2304}
    run = simulate("velocity", "udp_stream", settings, duration_s=0.001, warmup_s=0)
    assert run.summary["sent_mbit_s"] == 0
