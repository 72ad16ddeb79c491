"""The checked build finds every kind of fault it is for: each is committed on purpose, in a process of its own."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(
    "NICPERF_CHECKED" not in os.environ, reason="checks the checked build: make test-checked"
)

FAULTS = {
    "slot_beyond_the_queue": "insufficient space",
    "ledger_overflow": "signed integer overflow",
    "class_beyond_the_server": "out of bounds|shift exponent",
    "fifo_after_free": "heap-use-after-free",
    "fifo_with_a_wrong_mask": "heap-buffer-overflow",
    "cycles_beyond_an_integer": "outside the range of representable values",
    "row_beyond_the_view": "IndexError: Out of bounds",
}


def run(call: str) -> subprocess.CompletedProcess[str]:
    program = f"import checked_faults; checked_faults.{call}"
    return subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_stops_the_process(fault: str) -> None:
    done = run(f"{fault}()")
    assert done.returncode != 0
    assert any(words in done.stderr for words in FAULTS[fault].split("|")), done.stderr


@pytest.mark.parametrize(
    "call", ["ledger_overflow(1)", "fifo_with_a_wrong_mask(15)", "row_beyond_the_view(3)"]
)
def test_right_use_passes(call: str) -> None:
    assert run(call).returncode == 0, run(call).stderr
