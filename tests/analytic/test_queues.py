"""The engine's server in the textbook's queues, against the textbook: a million customers, fixed seeds,
intervals of 99.9 %.

An interval must hold the exact value, and be too short to hold the value of the neighbouring theory.
"""

from __future__ import annotations

import numpy as np
import pytest
from nicperf.engine._probe import repair, serve

from nicperf.analytic.queues import closed_throughput, mg1_wait, priority_times

from .batches import exponential_ps, interval

N = 1_000_000
SERVICE_PS = 1e6
LOADS = (0.5, 0.8)


def sojourn_ps(arrival_ps: np.ndarray, classes: np.ndarray, work_ps: np.ndarray) -> np.ndarray:
    departure_ps, account = serve(arrival_ps, classes.astype(np.int32), work_ps)
    assert sum(account["busy_ps"]) == work_ps.sum()
    assert account["idle_ps"] + work_ps.sum() == departure_ps.max()
    return departure_ps - arrival_ps


def arrivals_ps(seed: int, stream: int, load: float) -> np.ndarray:
    return np.cumsum(exponential_ps(seed, stream, N, SERVICE_PS / load))


@pytest.mark.parametrize("load", LOADS)
def test_constant_service(load: float) -> None:
    work_ps = np.full(N, int(SERVICE_PS))
    low, high = interval(sojourn_ps(arrivals_ps(1, 0, load), np.zeros(N), work_ps) - work_ps)
    exact = SERVICE_PS * mg1_wait(load, 1.0, 0)
    assert low < exact < high
    assert high - low < 0.1 * exact
    assert not low < SERVICE_PS * mg1_wait(load, 1.0, 1) < high


@pytest.mark.parametrize("load", LOADS)
def test_exponential_service(load: float) -> None:
    work_ps = exponential_ps(2, 1, N, SERVICE_PS)
    low, high = interval(sojourn_ps(arrivals_ps(2, 0, load), np.zeros(N), work_ps) - work_ps)
    exact = SERVICE_PS * mg1_wait(load, 1.0, 1)
    assert low < exact < high
    assert high - low < 0.1 * exact
    assert not low < SERVICE_PS * mg1_wait(load, 1.0, 0) < high


def test_an_urgent_class_takes_the_server_at_once() -> None:
    rates, services = (0.3, 0.25), (1.0, 2.0)  # per microsecond, in microseconds: 80 % load
    arrival_ps = np.cumsum(exponential_ps(3, 0, N, 1e6 / sum(rates)))
    urgent = exponential_ps(3, 1, N, 1e6) < 1e6 * np.log(sum(rates) / rates[1])
    work_ps = np.where(urgent, *(exponential_ps(3, 2 + i, N, 1e6 * s) for i, s in enumerate(services)))
    assert np.mean(urgent) == pytest.approx(rates[0] / sum(rates), rel=0.01)
    time_ps = sojourn_ps(arrival_ps, np.where(urgent, 0, 1), work_ps)
    together = 1e6 * mg1_wait(sum(rates), np.dot(rates, services) / sum(rates), 1)
    for chosen, exact in zip((urgent, ~urgent), priority_times(rates, services), strict=True):
        low, high = interval(time_ps[chosen])
        assert low < 1e6 * exact < high
        assert high - low < 0.1 * 1e6 * exact
        assert not low < together < high


@pytest.mark.parametrize("machines", [1, 4, 8])
def test_closed_loop(machines: int) -> None:
    think, service = 20.0, 1.0
    thought_ps = exponential_ps(4, 0, N + machines, 1e6 * think)
    low, high = interval(
        np.diff(repair(machines, thought_ps, exponential_ps(4, 1, N, 1e6 * service)), prepend=0)
    )
    assert low < 1e6 / closed_throughput(machines, think, service) < high
    assert not low < 1e6 / closed_throughput(machines + 1, think, service) < high


def test_closed_forms_agree_with_each_other() -> None:
    """Mean-value analysis against the balance equations, priorities of one class against the plain queue."""
    for machines in range(1, 12):
        # Probabilities of k machines at the server, not yet normalised.
        ratio, term, total = (1.0 / 5.0, 1.0, 1.0)
        for k in range(machines):
            term *= (machines - k) * ratio
            total += term
        assert closed_throughput(machines, 5.0, 1.0) == pytest.approx(1 - 1 / total)
    assert priority_times([0.7], [1.0]) == pytest.approx([mg1_wait(0.7, 1.0, 1) + 1])
    # With equal services, who goes first does not change the mean.
    both = priority_times([0.3, 0.4], [1.0, 1.0])
    assert np.dot([0.3, 0.4], both) / 0.7 == pytest.approx(mg1_wait(0.7, 1.0, 1) + 1)


def test_no_mean() -> None:
    with pytest.raises(ValueError, match="load = 1: the queue grows"):
        mg1_wait(0.5, 2.0, 0)
    with pytest.raises(ValueError, match=r"load = 1\.1"):
        priority_times([0.5, 0.6], [1.0, 1.0])
    with pytest.raises(ValueError, match="machines = 0"):
        closed_throughput(0, 1.0, 1.0)
