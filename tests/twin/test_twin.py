"""The core does what the twin does: event by event, counter by counter."""

import ast
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as profile

from nicperf.simulation.systems import SYSTEMS

from . import comparison, simulator
from .comparison import Difference, compare
from .scenarios import scenarios

PATCHES = {
    "driver.rx_checksum_rule": "via",
    "driver.rx_align_rule": "via",
    "driver.tx_suppress_frames": 31,
    "driver.rx_suppress_frames": 31,
    "driver.napi": True,
    "nic.dma_burst_dwords": 64,
    "driver.tx_scatter_gather": True,
}
BUSY_POLL = {"remote.driver.napi": True, "remote.nic.pause": False, "remote.driver.rx_ring": 252}
BUSY_POLL |= {"remote.driver.rx_suppress_frames": 100, "remote.driver.rx_timer_us": 1000.0}
BUSY_POLL |= {"remote.driver.rx_reap_cycles": 20000.0}
SLOW_HANDLER = {"remote.driver.rx_reap_cycles": 50000.0}
FRAGMENTS = {"local.driver.tx_scatter_gather": True, "stack.fragment_bytes": 250}
LOSSY = {"remote.nic.rx_fifo_bytes": 2048, "remote.nic.frame_gap_ns": 20000.0}


# A scenario is costly to draw: no health check may stop the search for one that differs.
@profile(max_examples=300, suppress_health_check=list(HealthCheck))
@given(scenarios)
def test_random_scenarios(scenario: dict[str, Any]) -> None:
    compare(**scenario)


@pytest.mark.parametrize("patches", [{}, PATCHES], ids=["none", "all"])
@pytest.mark.parametrize("workload", list(SYSTEMS["velocity"].ends))
def test_the_published_configurations(workload: str, patches: dict[str, Any]) -> None:
    twin = compare(workload, patches, events=10000)
    assert len(twin.trace) >= 10000


def test_a_full_device_queue_is_let_go() -> None:
    # A softirq fills the only place after the process has claimed the queue: once, the claim stayed for ever.
    settings = {
        "remote.stack.qdisc_packets": 1,
        "socket.tcp_window_bytes": 16384,
        "remote.cpu.frequency_mhz": 700.0,
        "remote.stack.tcp_output_cycles": 8000.0,
    }
    assert compare("tcp_stream", settings, events=3000).hosts[1].count["qdisc_drops"] > 0


def test_a_softirq_raised_for_nothing_is_entered_even_if_that_costs_nothing() -> None:
    # The process sends from the queue: a softirq that finds it so has nothing to do.
    compare(
        "tcp_stream", {"local.driver.tx_scatter_gather": True, "local.cpu.softirq_cycles": 0.0}, events=3000
    )


@pytest.mark.parametrize(
    ("rule", "wrong", "settings"),
    [
        ("BACKLOG_WEIGHT", 63, BUSY_POLL),
        ("POLL_BUDGET", 63, BUSY_POLL),
        ("SERVE_MOST", 15, {"local.driver.tx_suppress_frames": 20}),
        ("RX_GROUP", 8, {}),
        ("PAUSE_BELOW", 23, SLOW_HANDLER),
        ("RESUME_AT", 44, SLOW_HANDLER),
        ("PAUSE_BYTES", 65535 * 32, SLOW_HANDLER),
        ("MOST_BUFFERS", 8, FRAGMENTS),
        ("TRAIN_SEGMENTS", 1, {}),
        ("DUPLICATES_BEFORE_RETRANSMIT", 2, LOSSY),
    ],
)
def test_a_wrong_rule_is_seen(
    rule: str, wrong: int, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    compare("tcp_stream", settings, events=4000)
    monkeypatch.setattr(simulator, rule, wrong)
    with pytest.raises(Difference, match=r"(?s)core event \d+: .*twin event \d+: ") as seen:
        compare("tcp_stream", settings, events=4000)
    program = str(seen.value).split("checkout:\n")[1]
    calls: list[Any] = []
    with monkeypatch.context() as patch:  # the program runs the same scenario
        patch.setattr(comparison, "compare", lambda *args, **kwargs: calls.append((args, kwargs)))
        exec(program.replace("tests.twin", comparison.__package__ or ""), {})
    assert [args for args, _ in calls] == [("tcp_stream", settings)]


def test_the_twin_is_small() -> None:
    """Few enough lines of code to be read beside the rules: comments, docstrings and blank lines do not count."""
    source = Path(simulator.__file__).read_text()
    texts = [
        n.value
        for n in ast.walk(ast.parse(source))
        if isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant)
    ]
    documentation = {line for text in texts for line in range(text.lineno, text.end_lineno + 1)}
    lines = enumerate(source.splitlines(), 1)
    code = [line for i, line in lines if line.strip() and line.strip()[0] != "#" and i not in documentation]
    assert len(code) <= 400 and max(map(len, code)) <= 110
