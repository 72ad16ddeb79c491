"""/proc/interrupts, recognising the tool, files, and texts that hold several outputs."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nicperf.errors import ParseError
from nicperf.parsers import parse
from nicperf.records import Interrupts

INTERRUPTS = """\
           CPU0       CPU1
  0:         21          0   IO-APIC   2-edge      timer
 24:    1203944          7   PCI-MSI 524288-edge      eth0-TxRx-0
NMI:          0          0   Non-maskable interrupts
IPI0:       101        102   Rescheduling interrupts
ERR:          0
MIS:          0
"""


def test_interrupts():
    (record,) = parse(INTERRUPTS)
    assert isinstance(record, Interrupts) and record.cpus == ("CPU0", "CPU1")
    assert [line.label for line in record.lines] == ["0", "24", "NMI", "IPI0", "ERR", "MIS"]
    assert record.lines[1].counts == (1203944, 7)
    assert record.lines[1].description == "PCI-MSI 524288-edge      eth0-TxRx-0"
    assert (record.lines[4].counts, record.lines[4].description) == ((0,), "")
    frame = record.to_frame()
    assert len(frame) == 2 * 4 + 2
    assert frame["value"].sum() == 21 + 1203944 + 7 + 101 + 102


def test_interrupts_with_lines_left_out():
    (record,) = parse("CPU0\n0: 22153 IO-APIC-edge timer\n[...]\n16: 2673939 IO-APIC-fasteoi eth0\n")
    assert [(line.label, line.line) for line in record.lines] == [("0", 2), ("16", 4)]


@pytest.mark.parametrize(
    "text",
    [
        "CPU0 CPU1\n",
        "CPU0 CPU1\n0: 21 timer\n",
        "CPU0 CPU1\n0: 21 22\n",
        "CPU0 CPU1\n0: 21 22 IO-APIC timer\n24: 7\n",
        "CPU0\n0: 2x1 IO-APIC timer\n",
        "CPU0\nERR: 0 0\n",
        "CPU0\n0: 21 IO-APIC timer\nsomething else\n",
    ],
)
def test_broken_interrupts(text):
    with pytest.raises(ParseError) as caught:
        parse(text)
    assert caught.value.place and caught.value.cure


@pytest.mark.parametrize("text", ["", "\n\n", "hello\nworld\n", "$ uname -a\n"])
def test_no_tool_is_recognised(text):
    with pytest.raises(ParseError, match="netperf"):
        parse(text)


def test_command_without_its_output_is_a_cut():
    with pytest.raises(ParseError, match="ends where a tool's output"):
        parse(INTERRUPTS + "# cat /proc/interrupts\n")


def test_outputs_may_follow_each_other():
    records = parse(f"# cat /proc/interrupts\n{INTERRUPTS}\n# cat /proc/interrupts\n{INTERRUPTS}")
    assert [record.lines[0].line for record in records] == [3, 12]


def test_file_is_named_in_errors(tmp_path):
    path = tmp_path / "run.txt"
    path.write_text(INTERRUPTS)
    assert parse(path) == parse(str(path)) == parse(INTERRUPTS)
    path.write_text("CPU0 CPU1\n0: 21 timer\n")
    with pytest.raises(ParseError, match=r"run\.txt:2: "):
        parse(path)


@pytest.mark.parametrize("name", ["missing.txt", ".", "bad.txt", "nul\0.txt"])
def test_unreadable_files(tmp_path, name):
    (tmp_path / "bad.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ParseError, match="cannot be read: "):
        parse(tmp_path / name)
    with pytest.raises(ParseError, match="cannot be read: "):
        parse(str(tmp_path / name))


@given(st.text())
def test_any_text_is_records_or_a_parse_error(text):
    with contextlib.suppress(ParseError):
        parse(text + "\n")
