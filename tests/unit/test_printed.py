import pytest

from nicperf.errors import UnitError
from nicperf.published.interval import Interval
from nicperf.published.printed import Printed, read_printed


@pytest.mark.parametrize(
    ("text", "unit", "value", "spread", "resolution"),
    [
        ("541.8", "Mbit/s", 541.8, None, 0.1),
        ("60.50", "%", 60.5, None, 0.01),
        ("107520", "B", 107520, None, 1),
        ("100", "1", 100, None, 1),
        ("~15%", "%", 15, None, 1),
        ("692000±1000 tps", "1/s", 692000, 1000, 1000),
        ("86450±80", "1/s", 86450, 80, 10),
        ("334.37±0.02", "us", 334.37, 0.02, 0.01),
        ("0.80±0.10", "cycle/B", 0.8, 0.1, 0.01),
        ("1.09 GBytes", "MiB", 1116.16, None, 10.24),
        ("875 Mbits/sec", "Mbit/s", 875, None, 1),
        ("466,553", "1/s", 466553, None, 1),
        ("1,234,500±1,500", "1/s", 1234500, 1500, 100),
    ],
)
def test_value_spread_and_rounding(text, unit, value, spread, resolution):
    printed = read_printed(text, unit)
    assert printed == Printed(
        pytest.approx(value), spread and pytest.approx(spread), pytest.approx(resolution)
    )


@pytest.mark.parametrize("text", ["", "fast", "1,00", "1000,000", "1,000,", "-1", "1e3", "5±", "±5", "1 2"])
def test_not_a_printed_number(text):
    with pytest.raises(ValueError, match="not a printed number"):
        read_printed(text, "1")


def test_printed_unit_of_another_kind():
    with pytest.raises(UnitError):
        read_printed("5 MBytes", "Mbit/s")


def test_interval_arithmetic_by_hand():
    a, b = Interval(1.0, 2.0), Interval(4.0, 5.0)
    assert a + b == Interval(5.0, 7.0)
    assert a * b == Interval(4.0, 10.0)
    assert a * 3.0 == Interval(3.0, 6.0)
    assert b / a == Interval(2.0, 5.0)
    assert a / Interval(0.0, 1.0) == Interval(1.0, float("inf"))
    assert a.overlaps(Interval(2.0, 3.0)) and not a.overlaps(b)
    assert Interval.around(0.2, 0.5) == Interval(0.0, 0.7)
