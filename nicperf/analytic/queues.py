"""Waiting lines with an exact answer: what a right simulator must find when it simulates them.

Arrivals are Poisson, queues unlimited, and a class is served in the order of arrival, unless a function says
otherwise. Times are in any one unit, rates per that unit.
"""

from __future__ import annotations

from collections.abc import Sequence


def mg1_wait(arrival_rate: float, service: float, variation: float) -> float:
    """Mean time that a customer waits before its service, one server, any distribution of service.

    Parameters
    ----------
    arrival_rate : float
        Customers per unit of time, > 0.
    service : float
        Mean service time.
    variation : float
        Variance of the service time divided by its squared mean: 0 for constant (M/D/1), 1 for exponential
        service (M/M/1).

    Returns
    -------
    float

    Raises
    ------
    ValueError
        The server cannot keep up: `arrival_rate` x `service` is 1 or more.

    Notes
    -----
    load * service * (1 + variation) / (2 * (1 - load)), with load = arrival_rate * service.

    Source
    ------
    Formula of Pollaczek and Khinchine; L. Kleinrock, Queueing Systems I (1975), section 5.6.

    Examples
    --------
    >>> mg1_wait(0.5, 1.0, 0), mg1_wait(0.5, 1.0, 1)
    (0.5, 1.0)
    """
    load = _load([arrival_rate], [service])
    return load * service * (1 + variation) / (2 * (1 - load))


def priority_times(arrival_rates: Sequence[float], services: Sequence[float]) -> list[float]:
    """Mean time in the system per class, one server that a more urgent class takes at once (preempt-resume).

    Parameters
    ----------
    arrival_rates : sequence of float, length k
        Of each class, the most urgent first.
    services : sequence of float, length k
        Mean of the exponential service time of each class.

    Returns
    -------
    list of float, length k
        From arrival to departure, interruptions included.

    Raises
    ------
    ValueError
        All classes together ask for the whole server or more.

    Notes
    -----
    A customer of class i sees only classes 1..i. With u(i) the load of these and w(i) the mean work that they
    bring per unit of time while under way (sum of rate * service ** 2), it stays ``service / (1 - u(i - 1)) +
    w(i) / ((1 - u(i - 1)) * (1 - u(i)))``.

    Source
    ------
    D. Bertsekas and R. Gallager, Data Networks (1992), section 3.5.3.

    Examples
    --------
    >>> priority_times([0.25, 0.25], [1.0, 1.0])
    [1.3333333333333333, 2.6666666666666665]
    """
    _load(arrival_rates, services)
    times, above, residual = [], 0.0, 0.0
    for rate, service in zip(arrival_rates, services, strict=True):
        here = above + rate * service
        residual += rate * service**2
        times.append(service / (1 - above) + residual / ((1 - above) * (1 - here)))
        above = here
    return times


def closed_throughput(machines: int, think: float, service: float) -> float:
    """Services per unit of time when each of a few machines thinks, queues for one server and thinks again.

    Parameters
    ----------
    machines : int
        >= 1.
    think : float
        Mean of any distribution.
    service : float
        Mean of the exponential service time.

    Returns
    -------
    float

    Notes
    -----
    Exact mean-value analysis: a customer that arrives finds the server as it would be without that customer,
    so ``time(n) = service * (1 + queue(n - 1))``, ``throughput(n) = n / (think + time(n))``, and Little's law
    gives ``queue(n)``.

    Source
    ------
    M. Reiser and S. S. Lavenberg, Mean-Value Analysis of Closed Multichain Queuing Networks, Journal of the
    ACM 27 (1980).

    Examples
    --------
    >>> closed_throughput(1, 3.0, 1.0)
    0.25
    """
    if machines < 1:
        raise ValueError(f"machines = {machines}: there is at least one")
    throughput = queue = 0.0
    for n in range(1, machines + 1):
        time = service * (1 + queue)
        throughput = n / (think + time)
        queue = throughput * time
    return throughput


def _load(arrival_rates: Sequence[float], services: Sequence[float]) -> float:
    load = sum(rate * service for rate, service in zip(arrival_rates, services, strict=True))
    if load >= 1:
        raise ValueError(f"load = {load:g}: the queue grows for ever; a load below 1 has a mean")
    return load
