"""Layers of settings, and the settings a reader may change."""

import numpy as np
import pytest

from nicperf.errors import ScenarioError
from nicperf.experiments.scenario import layered


def test_a_later_plain_name_wins_over_both_sides():
    assert layered([{"local.x": 1, "remote.x": 2}, {"x": 3}]) == {"x": 3}


def test_a_later_side_wins_over_a_plain_name():
    assert layered([{"x": 3}, {"local.x": 1}]) == {"x": 3, "local.x": 1}


def test_patches_act_on_the_sender_and_the_receiver_has_all(experiment, stored_fit):
    params = experiment.scenario("mixed", "tcp")["params"]
    assert params["local.nic.burst_words"] == 8
    assert params["remote.nic.burst_words"] == 16
    assert params["local.driver.napi"] is True
    assert params["cpu.interrupt_us"] == stored_fit.values["cpu.interrupt_us"]
    assert params["cpu.other_interrupt_us"] == 1.0


def test_a_reader_changes_both_hosts_or_one(experiment, stored_fit):
    both = experiment.scenario("mixed", "tcp", **{"nic.burst_words": np.int64(16)})["params"]
    assert both["nic.burst_words"] == 16
    assert "local.nic.burst_words" not in both
    one = experiment.scenario("mixed", "tcp", **{"local.nic.burst_words": 16})["params"]
    assert (one["local.nic.burst_words"], one["remote.nic.burst_words"]) == (16, 16)


@pytest.mark.parametrize(
    ("configuration", "workload", "overrides", "message"),
    [
        ("mixd", "tcp", {}, "fake-2001: configuration = 'mixd': unknown configuration; did you mean 'mixed'"),
        ("mixed", "tpc", {}, "workload = 'tpc': unknown workload; did you mean 'tcp'"),
        ("mixed", "tcp", {"nic.burst_word": 8}, "unknown parameter; did you mean 'nic.burst_words'"),
        ("mixed", "tcp", {"nic.burst_words": 9}, r"nic.burst_words = 9: not one of 8, 16"),
        ("mixed", "tcp", {"local.cpu.frame_us": 99.0}, r"cpu.frame_us = 99.0: out of range; use 0..50 us"),
        ("mixed", "tcp", {"driver.napi": "perhaps"}, "driver.napi = 'perhaps': not a switch"),
    ],
)
def test_bad_input_is_named(experiment, stored_fit, configuration, workload, overrides, message):
    with pytest.raises(ScenarioError, match=message):
        experiment.simulate(configuration, workload, **overrides)


def test_simulate_runs_what_it_was_asked(experiment, stored_fit):
    slow = experiment.simulate("plain", "tcp", seed=1)
    fast = experiment.simulate("plain", "tcp", seed=1, **{"nic.burst_words": 16})
    assert fast.summary["throughput_mbit_s"] > 1.1 * slow.summary["throughput_mbit_s"]
