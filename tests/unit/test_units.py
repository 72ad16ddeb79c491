from fractions import Fraction

import numpy as np
import pytest

from nicperf.errors import UnitError
from nicperf.units import convert, scaled, unit_named, unit_of


@pytest.mark.parametrize(
    ("value", "source", "target", "expected"),
    [
        (1, "GiB", "MiB", 1024),
        (1, "GB", "MB", 1000),
        (8, "bit", "B", 1),
        (1, "MiB", "B", 1048576),
        (941.5, "Mbit/s", "Gbit/s", 0.9415),
        (25, "%", "1", 0.25),
        (1, "s/B", "us/KiB", 1024e6),
        (9.4, "Gcycle", "cycle", 9.4e9),
        (1, "1/s", "1/ms", 0.001),
    ],
)
def test_conversions_by_hand(value, source, target, expected):
    assert convert(value, source, target) == pytest.approx(expected, rel=1e-15)
    assert convert(expected, target, source) == pytest.approx(value, rel=1e-15)


def test_arrays_convert_too():
    assert convert(np.array([1.0, 2.0]), "kbit", "bit").tolist() == [1000, 2000]


def test_bytes_and_bits_differ_in_their_prefixes():
    assert unit_named("MBytes") == "MiB" and unit_named("Mbits/sec") == "Mbit/s"
    assert convert(1, unit_named("KBytes"), "B") == 1024
    assert convert(1, unit_named("Kbits"), "bit") == 1000


@pytest.mark.parametrize(
    ("printed", "unit"),
    [
        ("10^6bits/s", "Mbit/s"),
        ("10^9bits/sec", "Gbit/s"),
        ("us/KB", "us/KiB"),
        ("tps", "1/s"),
        ("Gb/s", "Gbit/s"),
        ("GBytes/sec", "GiB/s"),
        ("%", "%"),
    ],
)
def test_printed_words(printed, unit):
    assert unit_named(printed) == unit


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("service_demand_us_per_kb_remote", "us/KiB"),
        ("throughput_gbit_s", "Gbit/s"),
        ("interrupts_per_s_local", "1/s"),
        ("packets_kpps", "k/s"),
        ("latency_p50_us", "us"),
        ("elapsed_s", "s"),
        ("cpu0_gcycle", "Gcycle"),
        ("demand_cycle_per_byte", "cycle/B"),
        ("messages", "1"),
    ],
)
def test_names_end_in_their_unit(name, unit):
    assert unit_of(name) == unit


def test_unlike_units_are_refused():
    with pytest.raises(UnitError, match="measures data per time, not time"):
        convert(1.0, "Mbit/s", "s")


@pytest.mark.parametrize("unit", ["parsec", "Mbit/fortnight", "", "a/b/c"])
def test_unknown_units_are_named(unit):
    with pytest.raises(UnitError, match="no such unit"):
        unit_named(unit)


def test_scaled_names_the_unit_that_is_a_power_away():
    assert scaled("Gbit/s", Fraction(1, 1000)) == "Mbit/s"
    assert scaled("us", Fraction(1, 10)) is None
