"""The stopping rule: by hand, and how often its interval covers what is known."""

import math

import numpy as np
import pytest
from scipy.stats import binom, t

from nicperf.errors import ScenarioError
from nicperf.simulation import simulate, sweep
from nicperf.simulation.stopping import StoppingRule, half_width, pauses

REPLICATIONS = 400
SLICES = 1000


def covers_as_stated(covered: np.ndarray) -> bool:
    """Whether 92 to 96 % of all intervals may cover, seen that so many of these did.

    With a coverage inside that range, the binomial law lets this fail once in a thousand.
    """
    n = len(covered)
    return binom.ppf(0.0005, n, 0.92) <= covered.sum() <= binom.ppf(0.9995, n, 0.96)


def stopped(slices: np.ndarray, rule: StoppingRule) -> np.ndarray:
    """The part of a run after which the rule ends it."""
    return next((slices[:n] for n in pauses(len(slices)) if rule.satisfied(slices[:n])), slices)


def slotted_queue(rng: np.random.Generator, slots: int) -> tuple[np.ndarray, float]:
    """Departures per slice from a queue with room for four, shape (replications, slices); their exact mean.

    In a slot a packet arrives with probability 0.4 if there is room, or one departs with 0.4 if there is one.
    Up and down are equally likely, hence all five lengths: a packet departs in 0.4 * 4 / 5 of the slots.
    """
    length = rng.integers(0, 5, REPLICATIONS)
    out = np.zeros((REPLICATIONS, SLICES))
    for s in range(SLICES):
        for draw in rng.random((slots, REPLICATIONS)):
            departs = (draw < 0.4) & (length > 0)
            arrives = (draw > 0.6) & (length < 4)
            length += arrives.astype(int) - departs
            out[:, s] += departs
    return out, 0.4 * 4 / 5 * slots


def test_half_width_by_hand() -> None:
    # Two batches of two slices with means 1 and 3: s = sqrt(2), one degree of freedom, t = 12.706.
    assert half_width(np.array([9.0, 0, 2, 1, 5])[1:], 0.95) == pytest.approx(12.706 * 1.0, rel=1e-4)
    # The oldest slices are left over when they make no whole batch.
    assert half_width(np.array([9.0, 0, 2, 1, 5]), 0.95) == half_width(np.array([0.0, 2, 1, 5]), 0.95)
    assert math.isnan(half_width(np.ones(3), 0.95))


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.999])
def test_quantile_is_that_of_student(confidence: float) -> None:
    slices = np.random.default_rng(1).normal(size=400)
    means = slices.reshape(20, 20).mean(axis=1)
    low, high = t.interval(confidence, 19, means.mean(), means.std(ddof=1) / math.sqrt(20))
    assert half_width(slices, confidence) == pytest.approx((high - low) / 2)


def test_pauses_grow_and_end_with_the_run() -> None:
    assert list(pauses(1000)) == [100, 150, 225, 337, 505, 757, 1000]
    assert list(pauses(100)) == [100]


def test_interval_covers_the_throughput_of_a_queue() -> None:
    slices, mean = slotted_queue(np.random.default_rng(2), slots=20)
    parts = [stopped(replication, StoppingRule(0.02, 0.95)) for replication in slices]
    lengths = np.array([len(part) for part in parts])
    decided = (lengths > 100) & (lengths < SLICES)
    assert decided.mean() > 0.9  # neither the first look nor the end decides
    assert covers_as_stated(np.array([abs(part.mean() - mean) <= half_width(part, 0.95) for part in parts]))


def test_slices_far_below_the_correlation_time_cover_too_seldom() -> None:
    # Each slice remembers 98 % of the one before: some 100 slices per correlation time, ten in the shortest batch.
    # The check of coverage must see that.
    rng = np.random.default_rng(3)
    noise = rng.normal(size=(REPLICATIONS, SLICES))
    slow = np.empty_like(noise)
    slow[:, 0] = noise[:, 0]
    for s in range(1, SLICES):
        slow[:, s] = 0.98 * slow[:, s - 1] + math.sqrt(1 - 0.98**2) * noise[:, s]
    parts = [stopped(10 + replication, StoppingRule(0.05, 0.95)) for replication in slow]
    assert not covers_as_stated(np.array([abs(p.mean() - 10) <= half_width(p, 0.95) for p in parts]))


def test_interval_covers_the_throughput_of_the_simulator() -> None:
    # Bound by the sender's CPU, whose jobs vary by half: a saturated bus would make all slices alike.
    slow = {"local.cpu.jitter_percent": 50, "local.cpu.frequency_mhz": 500, "bus.clock_mhz": 66}
    long = sweep("velocity", "tcp_stream", slow, {}, seeds=range(1000, 1012), duration_s=5.0)
    known = long["throughput_mbit_s"].mean()
    runs = sweep("velocity", "tcp_stream", slow, {}, seeds=range(200), duration_s=1.0, stop_width=0.003)
    half_widths = runs["half_width_percent"] / 100 * runs["throughput_mbit_s"]
    early = runs["measured_s"] < 1.0
    assert early.mean() > 0.9
    assert (runs["half_width_percent"][early] <= 0.3).all()
    # What is called known must be known much better than the intervals tell.
    assert long["throughput_mbit_s"].sem() < 0.1 * half_widths.median()
    assert covers_as_stated((runs["throughput_mbit_s"] - known).abs().le(half_widths).to_numpy())


def test_a_stopped_run_is_the_beginning_of_the_full_one() -> None:
    options = {"duration_s": 0.4, "slices": 200}
    full = simulate("velocity", "udp_stream", **options)
    run = simulate("velocity", "udp_stream", stop_width=0.01, **options)
    n = len(run.rows)
    assert (n, run.measured_s) == (101, 0.2)
    assert (run.rows == full.rows[:n]).all()
    short = simulate("velocity", "udp_stream", duration_s=0.2, slices=100)
    assert (run.latency == short.latency).all()
    assert run.summary == short.summary
    assert run.half_width_percent == short.half_width_percent <= 1
    for table in ("timeline", "bus", "costs", "elasticities"):
        assert getattr(run, table).equals(getattr(short, table))


def test_a_wish_that_cannot_be_met_uses_all_the_time() -> None:
    run = simulate(duration_s=0.05, slices=150, stop_width=1e-9)
    assert run.measured_s == 0.05 and run.half_width_percent > 1e-7


def test_silence_is_no_precision() -> None:
    assert not StoppingRule(0.1, 0.95).satisfied(np.zeros(100))
    assert StoppingRule(0.1, 0.95).satisfied(np.ones(100))


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"stop_width": 0.0}, "stop_width = 0.0"),
        ({"stop_width": 5}, "stop_width = 5"),
        ({"stop_width": math.nan}, "stop_width = nan"),
        ({"stop_width": 0.01, "confidence": 95}, "confidence = 95"),
        ({"stop_width": 0.01, "slices": 99}, "slices = 99"),
    ],
)
def test_nonsense_is_refused(wrong: dict[str, float], named: str) -> None:
    with pytest.raises(ScenarioError, match=f"^scenario: {named}:"):
        simulate(**wrong)
