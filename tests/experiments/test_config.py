"""A slip in an experiment file is an error that names file, key, value and cure."""

import re

import pytest

from nicperf.errors import DataError, NicperfError, ScenarioError
from nicperf.experiments.scenario import check_config
from nicperf.parameter import Parameter


def test_the_file_is_read(config):
    assert config.slug == "fake-2001"
    assert list(config.configurations) == ["plain", "mixed", "quick"]
    assert config.patches["napi"].on == {"driver.napi": True}
    assert [a.name for a in config.free][:2] == ["bus.overhead_clocks", "bus.fixed_clocks"]
    assert config.seeds == (1, 2)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('slug = "fake-2001"', 'slug = "other"', r":2: slug = 'other': unknown name; known: fake-2001"),
        ('driver = "fake"', "", r":1: driver: is missing"),
        ('driver = "fake"', "driver = 3", r":4: driver = 3: wrong type; give a text"),
        ("starts = 3", "strats = 3", r":12: strats = 3: unknown key; did you mean 'starts'"),
        ("[noise]", "[nosie]", r":22: nosie = .*: unknown key; did you mean 'noise'"),
        ("duration_s = 0.25", "duration_s = 0.0", r":5: duration_s = 0\.0: outside 0\.001\.\.100"),
        ("seeds = [1, 2]", "seeds = [1, 1]", r"seeds = \(1, 1\): expected different whole"),
        ("seeds = [1, 2]", "seeds = []", r"seeds = \(\): expected different whole"),
        (
            'reference = "plain"',
            'reference = "plan"',
            r"reference = 'plan': unknown name; did you mean 'plain'",
        ),
        ("ensemble = 30", "ensemble = 3", r"ensemble = 3: outside 24"),
        (
            "cpu_percent = 0.08",
            "cpu_precent = 0.08",
            r"cpu_precent = 0\.08: no such quantity here; did you mean",
        ),
        ("cpu_percent = 0.08", "cpu_percent = 8", r"cpu_percent = 8: a relative size"),
        ("throughput_mbit_s = 0.02", "", r":23: throughput_mbit_s = 0\.005: no such quantity here"),
        (
            'on = { "driver.napi" = true }',
            "on = {}",
            r"on = 'driver\.napi': 'off' and 'on' must name the same",
        ),
        ('on = { "driver.napi" = true }', 'on = { "driver.napi" = [1] }', r":40: on = .*: wrong type"),
        (
            'local_patches = ["moderation", "napi"]',
            'local_patches = ["naip"]',
            r"'naip': unknown name; did you",
        ),
        ('session = ["udp", "tcp"]', 'session = ["udp", "tpc"]', r"session = 'tpc': .*mean 'tcp'"),
        ('origin = "guessed"', 'origin = "felt"', r":112: origin = 'felt': unknown name; known: datasheet"),
        ("range = [2.0, 30.0]\n", "", r"bus\.overhead_clocks: a fitted parameter needs a prior range"),
        ("range = [2.0, 30.0]", "range = [2.0]", r"range = \(2\.0,\): bus\.overhead_clocks: expected two"),
        ("range = [2.0, 30.0]", "range = [30.0, 2.0]", r"the lower one first"),
        ("value = 10.0", "value = 31.0", r"value = 31\.0: bus\.overhead_clocks: outside its range"),
        ('name = "bus.fixed_clocks"', 'name = "bus.overhead_clocks"', r"this parameter is stated twice"),
        ('name = "cpu.other_interrupt_us"', 'name = "driver.napi"', r"patch napi sets it too; keep one"),
        ("[experiment]", "[experiment", r":1: is not TOML"),
    ],
)
def test_each_slip_is_named(read_changed, old, new, message):
    with pytest.raises(DataError, match=message) as error:
        read_changed(old, new)
    assert re.search(r"fake-2001\.toml:\d+: ", str(error.value))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"driver.napi" = false', '"driver.napi" = 3', r"patches\.napi\.off: driver\.napi = 3"),
        ('name = "cpu.frame_us"', 'name = "cpu.farme_us"', r"cpu\.farme_us: unknown parameter; did you mean"),
        ('unit = "us"', 'unit = "ns"', r"unit = 'ns': differs from the model's unit; write 'us'"),
        ("range = [2.0, 30.0]", "range = [2.0, 90.0]", r"range: bus\.overhead_clocks = 90\.0: out of range"),
        (
            '"workload.message_bytes" = 1472',
            '"workload.message_bytes" = 0',
            r"workloads\.udp: workload\.mess",
        ),
    ],
)
def test_what_the_model_refuses_is_named(read_changed, model, old, new, message):
    with pytest.raises(NicperfError, match=message):
        check_config(read_changed(old, new), model.parameters("fake"))


def test_only_a_real_number_can_be_fitted(read_changed, model):
    specs = dict(model.parameters("fake"))
    specs["cpu.frame_us"] = Parameter("cpu.frame_us", "us", 3, 0, 50, (), "")
    with pytest.raises(DataError, match="only a real number can be fitted"):
        check_config(read_changed("value = 5.0", "value = 5"), specs)


def test_patches_can_be_added_to_a_configuration(config):
    built = config.configuration("plain+napi+burst")
    assert built.local_patches == ("napi", "burst")
    assert built.remote_patches == config.configurations["plain"].remote_patches
    for name, message in (("plian+napi", "unknown configuration; did"), ("plain+napy", "unknown patch; did")):
        with pytest.raises(ScenarioError, match=message):
            config.configuration(name)
