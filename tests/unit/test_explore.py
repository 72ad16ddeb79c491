"""The panel without a browser: every move is answered, the newest wins, and nonsense is explained."""

import csv
import io
import json
import math
import shlex
import time

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import nicperf as nic
from nicperf.cli import main
from nicperf.errors import ScenarioError
from nicperf.explore import panel as panels
from nicperf.explore.controls import controls, stops
from nicperf.explore.outcome import Outcome
from nicperf.explore.panel import Panel
from nicperf.explore.setting import Setting, opened_experiment, threads
from nicperf.explore.worker import Newest
from nicperf.parameter import Parameter

VELOCITY = {"thread": "velocity-2009", "configuration": "napi", "workload": "tcp_stream"}
BURST = "local.nic.dma_burst_dwords"
CLOCK = "bus.clock_mhz"


class Reader:
    """Moves a panel and keeps what it answers."""

    def __init__(self, monkeypatch):
        monkeypatch.setattr(panels, "PAUSE_S", 0.0)
        self.panel = Panel(Setting.start("velocity-2009", "napi", "tcp_stream"))
        self.answers = []
        self.panel.answer = self.answers.append
        self.number = 0

    def move(self, changed, gesture=0, settle=True, **place):
        self.number += 1
        request = {**VELOCITY, **place, "changed": changed, "gesture": gesture, "number": self.number}
        self.panel.ask(request)
        if settle:
            self.panel.settle()

    def last(self, kind):
        return next(answer for answer in reversed(self.answers) if answer["kind"] == kind)


@pytest.fixture
def reader(monkeypatch):
    return Reader(monkeypatch)


def shown(reader, quantity="Throughput (Mbit/s)", column="now_text"):
    rows = {row["quantity"]: row for row in reader.last("outcome")["figures"]}
    return rows[quantity][column]


def test_a_move_changes_the_figures_and_says_what_limits(reader):
    reader.move({BURST: "8"})
    run = nic.experiment("velocity-2009").simulate("napi", "tcp_stream", **{BURST: 8})
    assert float(shown(reader)) == pytest.approx(run.summary["throughput_mbit_s"], rel=1e-3)
    assert reader.last("limits")["number"] == 1
    assert run.binding in reader.last("limits")["spoken"]


def test_code_and_command_repeat_the_run(reader):
    reader.move({BURST: 8, "driver.rx_timer_us": "40", "local.driver.napi": "true"})
    answer = reader.last("outcome")
    names = {}
    exec(answer["code"], names)
    figures = reader.panel.shown.figures
    assert names["run"].summary["throughput_mbit_s"] == figures["throughput_mbit_s"]
    program, *words = shlex.split(answer["command"])
    done = CliRunner().invoke(main, [*words, "--format", "json"])
    assert program == "nicperf" and done.exit_code == 0
    assert json.loads(done.output)["throughput_mbit_s"] == pytest.approx(figures["throughput_mbit_s"])


def test_the_table_has_what_is_drawn(reader):
    reader.move({BURST: 8})
    rows = {row["quantity"]: row for row in csv.DictReader(io.StringIO(reader.last("outcome")["csv"]))}
    figures = reader.panel.shown.figures
    assert {name: float(rows[name]["now"]) for name in figures} == figures
    assert rows["throughput_mbit_s"]["unit"] == "Mbit/s"
    assert float(rows["throughput_mbit_s"]["published"]) == 641.77
    assert float(rows["cost.local.copy"]["now"]) == reader.panel.shown.costs["local", "copy"]
    assert rows[f"changed.{BURST}"]["now"] == "8"


@pytest.mark.parametrize(
    ("value", "reason"), [("fast", "not a number"), (-1, "out of range"), ("nan", "finite")]
)
def test_nonsense_is_explained_and_changes_nothing(reader, value, reason):
    reader.move({CLOCK: 40})
    before = reader.panel.shown
    reader.move({CLOCK: value})
    assert reason in reader.last("wrong")["wrong"][CLOCK]
    assert reader.panel.shown is before
    reader.move({CLOCK: 50})
    assert reader.answers[-1]["kind"] != "wrong" and reader.panel.shown is not before


def test_settings_that_exclude_each_other_are_explained(reader):
    reader.move({"local.wire.mtu_bytes": 1000})
    assert "set wire.mtu_bytes for both sides" in reader.last("wrong")["general"]


def test_a_fault_of_the_model_does_not_end_the_panel(reader, monkeypatch):
    monkeypatch.setattr(Outcome, "of", lambda *_: 1 / 0)
    reader.move({CLOCK: 40})
    assert "ZeroDivisionError" in reader.last("wrong")["general"]
    monkeypatch.undo()
    reader.move({CLOCK: 40})
    assert reader.last("outcome")["number"] == 2


def test_a_gesture_is_compared_with_what_was_there_before_it(reader):
    start = shown_value = reader.panel.shown.figures["throughput_mbit_s"]
    for clock in (30, 28, 26):
        reader.move({CLOCK: clock}, gesture=1)
    assert reader.panel.before.figures["throughput_mbit_s"] == start
    moved = reader.panel.shown.figures["throughput_mbit_s"]
    reader.move({CLOCK: 26, BURST: 8}, gesture=2)
    assert reader.panel.before.figures["throughput_mbit_s"] == moved != shown_value
    reader.move({}, gesture=3)  # reset
    assert reader.panel.shown.figures["throughput_mbit_s"] == start


def test_another_configuration_keeps_the_changes_and_another_thread_does_not(reader):
    reader.move({BURST: 8})
    reader.move({BURST: 8}, gesture=1, configuration="all")
    assert reader.last("state")["configuration"] == "all"
    assert dict(reader.panel.shown.setting.changed) == {BURST: 8}
    reader.move({BURST: 8}, gesture=2, thread="fec-2022")
    assert reader.panel.shown.setting.exp.slug == "fec-2022"
    assert reader.panel.shown.setting.changed == {} and reader.panel.before is None


def test_a_configuration_that_cannot_run_a_workload_is_explained():
    panel = Panel(Setting.start("fec-2022", "release", "drop_native"))
    answers = []
    panel.answer = answers.append
    asked = {"thread": "fec-2022", "configuration": "original", "workload": "drop_native", "changed": {}}
    panel.ask({**asked, "gesture": 1, "number": 1})
    panel.settle()
    assert "this driver has no XDP" in answers[-1]["general"]
    assert panel.shown.setting.configuration == "release"


def test_only_the_newest_move_is_simulated(reader, monkeypatch):
    simulated = []
    plain = Outcome.of.__func__

    def slow(cls, setting, part=1.0):
        simulated.append(dict(setting.changed))
        time.sleep(0.05)
        return plain(cls, setting, part)

    monkeypatch.setattr(Outcome, "of", classmethod(slow))
    for clock in range(20, 60):
        reader.move({CLOCK: clock}, settle=False)
    reader.panel.settle()
    assert simulated[-1] == {CLOCK: 59.0}
    assert len(simulated) <= 4
    assert reader.last("outcome")["number"] == 40


def test_a_slow_model_shows_a_short_run_first(reader, monkeypatch):
    monkeypatch.setattr(panels, "PATIENCE_S", 0.0)
    reader.move({CLOCK: 40})
    first, second = [answer for answer in reader.answers if answer["kind"] == "outcome"]
    assert not first["final"] and "the full run follows" in first["took"]
    assert second["final"]


def test_jobs_that_wait_are_dropped():
    done, worker = [], Newest()
    worker.put(lambda: (time.sleep(0.05), done.append(0)))
    time.sleep(0.01)
    for i in range(1, 5):
        worker.put(lambda i=i: done.append(i))
    worker.join()
    assert done == [0, 4]
    worker.put(lambda: done.append(5))
    worker.join()
    assert done[-1] == 5


@pytest.mark.parametrize("slug", threads())
def test_every_parameter_of_every_thread_has_a_control(slug):
    exp = opened_experiment(slug)
    listed = controls(Setting.start(exp), ["cpu.frequency_mhz"])
    assert listed[0]["name"] == "cpu.frequency_mhz"
    assert {control["name"] for control in listed} == set(exp.model.parameters(exp.config.driver))
    known = {"quoted", "datasheet", "measured", "fitted", "guessed", "configuration", "workload", "default"}
    for control in listed:
        assert control["doc"] and set(control["origin"].values()) <= known
        for side, found in control["stops"].items():
            assert control["value"][side] in found
    json.dumps(listed, allow_nan=False)


def test_unknown_names_are_suggested_for():
    with pytest.raises(ScenarioError, match=r"did you mean 'nic\.dma_burst_dwords'"):
        nic.explore("velocity-2009", parameters=["nic.dma_burst_dword"])
    with pytest.raises(ScenarioError, match="did you mean 'napi'"):
        nic.explore("velocity-2009", "napy")


def number(kind, low, high):
    return Parameter("a.b", "us", kind(low), low, high, (), "doc")


@given(
    kind=st.sampled_from([int, float]),
    low=st.integers(0, 10),
    span=st.integers(1, 10**9),
    place=st.floats(0, 1),
)
def test_sliders_stay_in_range_and_start_where_they_should(kind, low, span, place):
    spec = number(kind, low, low + span)
    value = kind(low + place * span)
    found = stops(spec, value)
    assert value in found and found == sorted(set(found)) and len(found) > 1
    assert all(spec.check(stop) == stop for stop in found)


def moves(control, side):
    """A stop of the control's slider, one of its choices, or something that nobody should have typed."""
    sensible = control["stops"].get(side or control["shown"][""]) or control["choices"] or [True, False]
    nonsense = st.sampled_from(["", "abc", "1e999", "nan", -1, 0, 1e300, None, True, [], "-0", "١"])
    return st.one_of(st.sampled_from(sensible), st.sampled_from(sensible), nonsense)


@st.composite
def any_move(draw):
    exp = opened_experiment(draw(st.sampled_from(["velocity-2009", "mvneta-2014", "fec-2022"])))
    base = Setting.start(
        exp, draw(st.sampled_from([*exp.configurations])), draw(st.sampled_from([*exp.workloads]))
    )
    changed = {}
    for control in draw(st.lists(st.sampled_from(controls(base)), min_size=1, max_size=3)):
        side = draw(st.sampled_from(control["sides"]))
        name = f"{side}.{control['name']}" if side else control["name"]
        changed[name] = draw(moves(control, side))
    return base, changed


@settings(max_examples=12, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(any_move())
def test_no_move_breaks_the_panel(move):
    base, changed = move
    panel = Panel.__new__(Panel)
    try:
        Panel.__init__(panel, base)
    except ScenarioError:
        return  # a workload that the configuration cannot run: the panel never gets there
    answers = []
    panel.answer = answers.append
    panel.look = lambda: None
    panel.ask({**base.place, "changed": changed, "gesture": 1, "number": 1})
    panel.settle()
    assert answers
    for answer in answers:
        assert answer["kind"] in ("state", "outcome", "wrong")
        assert "the model failed" not in answer.get("general", "")
        json.dumps(answer, allow_nan=False)
        for row in answer.get("figures", []):
            assert row["now"] is None or (0 <= row["now"] <= 1 + 1e-9 and math.isfinite(row["now"]))


def test_what_is_stored_is_a_picture_and_words():
    data, _ = nic.explore("velocity-2009", "napi", "tcp_stream")._repr_mimebundle_()
    assert {"image/png", "text/plain", "application/vnd.vegalite.v5+json"} < set(data)
    again, _ = nic.explore("velocity-2009", "napi", "tcp_stream")._repr_mimebundle_()
    live = "application/vnd.jupyter.widget-view+json"
    assert data.pop(live) != again.pop(live)
    assert data == again
