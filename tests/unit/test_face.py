"""The public names of the package."""

import subprocess
import sys

import pytest

import nicperf as nic


def python(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()


def test_every_public_name_is_a_function() -> None:
    assert all(callable(getattr(nic, name)) for name in set(nic.__all__) - {"__version__"})
    assert set(nic.__all__) <= set(dir(nic))


def test_unknown_name() -> None:
    with pytest.raises(AttributeError, match="'simulat'"):
        _ = nic.simulat


@pytest.mark.parametrize("first", ["nicperf.experiments", "nicperf.experiments.calibrate", "nicperf"])
def test_the_function_is_not_hidden_by_the_package_of_its_name(first: str) -> None:
    code = f"import {first}, nicperf as nic; print('velocity-2009' in nic.experiments())"
    assert python(code) == "True"


@pytest.mark.parametrize("module", ["nicperf", "nicperf.cli"])
def test_import_is_light(module: str) -> None:
    heavy = "{'pandas', 'numpy', 'altair', 'scipy'}"
    assert python(f"import sys, {module}; print({heavy} & set(sys.modules))") == "set()"
