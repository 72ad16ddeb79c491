"""nocache-2014: roles and tolerances as fixed before the first fit, and the two laws that the exchanges break."""

import pytest

from nicperf.analytic.ceilings import exchanges_per_s
from nicperf.experiments import Experiment, experiment

FIT = {
    "off.stream_same_cpu.local.cpu0_gcycle",
    "off.stream_split_cpu.local.cpu0_gcycle",
    "off.stream_split_cpu.local.cpu1_gcycle",
    "on.stream_same_cpu.local.cpu0_gcycle",
    "off.rr_1400.local.transactions_per_s",
    "off.rr_14000.local.latency_p50_us",
}
LARGE = {"workload.window_s": 2.0, "local.workload.start_skew_s": 0.06}


@pytest.fixture(scope="module")
def nocache() -> Experiment:
    return experiment("nocache-2014")


def test_roles_and_tolerances_stand_as_they_were_fixed(nocache):
    roles = nocache.figures.set_index("id")["role"]
    assert set(roles[roles == "fit"].index) == FIT
    assert set(roles[roles != "fit"]) == {"held_out"}
    tolerances = nocache.config.tolerances
    assert (
        tolerances["demand_cycle_per_byte"] == tolerances["cpu0_gcycle"] == tolerances["cpu1_gcycle"] == 0.02
    )
    assert tolerances["throughput_gbit_s"] == 0.005
    assert tolerances["transactions_per_s"] == 0.03
    assert [tolerances[f"latency_p{p}_us"] for p in (50, 90, 95, 99)] == [0.10, 0.30, 0.30, 0.30]


def test_fewer_parameters_than_rows(nocache):
    assert len(nocache.config.free) < len(FIT)


def test_the_option_costs_cycles_and_no_throughput(nocache):
    off, on = (nocache.simulate(mode, "stream_split_cpu").summary for mode in ("off", "on"))
    assert on["throughput_mbit_s"] == pytest.approx(off["throughput_mbit_s"], rel=0.005)
    assert on["process_cpu_percent_local"] > 1.05 * off["process_cpu_percent_local"]


def test_own_windows_carry_more_than_the_wire(nocache):
    """What is counted in windows that lie apart is above the wire; what is counted over all the time is not."""
    run = nocache.simulate("off", "rr_14000").summary
    most = exchanges_per_s(14000, link_mbit_s=10_000.0)
    assert run["transactions_per_s"] > most > run["transactions_per_s_of_the_whole"]


def test_what_is_lost_makes_most_of_the_mean(nocache):
    """The published percentiles force the slowest hundredth far above the rest; without loss nothing is there."""
    lossy, lossless = (
        nocache.simulate("off", "rr_14000", **LARGE, **{"wire.buffer_bytes": size}).summary
        for size in (150_000.0, 0.0)
    )
    assert lossy["latency_mean_us"] > 4 * lossy["latency_p50_us"]
    assert 0.3 < lossy["stalls_percent"] < 1.5
    assert lossless["stalls_percent"] == 0
    assert lossless["latency_p50_us"] == pytest.approx(lossless["latency_mean_us"], rel=0.1)


def test_the_two_readings_of_the_surplus_part_at_small_messages(nocache):
    """They agree at 16 KiB, the only size that was measured."""

    def demand(reading: str, size: int) -> float:
        changes = {"copies.penalty_reading": reading, "workload.message_bytes": size}
        return nocache.simulate("on", "stream_split_cpu", **changes).summary["process_cpu_percent_local"]

    assert demand("per_call", 16384) == pytest.approx(demand("per_byte", 16384), rel=0.1)
    assert demand("per_call", 1400) > 1.2 * demand("per_byte", 1400)
