"""One row and one parameter: solved for, at points of the prior ranges of the others; a share of several cores."""

from dataclasses import replace

import numpy as np
import pytest

from nicperf.errors import DataError, RoleError, ScenarioError
from nicperf.experiments.calibrate import calibrate
from nicperf.experiments.config_reader import read
from nicperf.experiments.fingerprint import config_hash
from nicperf.experiments.fit import read_fit, write_fit
from nicperf.experiments.predict import Predictor, rows_of

from .conftest import CONFIG

ROW = "mixed.udp.local.cpu_percent"


def kept(assumption, origin, limits):
    value = float(np.sqrt(limits[0] * limits[1])) if limits else assumption.value
    return replace(assumption, value=value, origin=origin, range=limits)


@pytest.fixture
def single(config):
    """Only the cost of a frame is free; that of an interrupt has a range that holds the truth."""
    overhead, fixed, frame, interrupt, other = config.assumptions
    assumptions = (
        kept(overhead, "measured", ()),
        kept(fixed, "measured", ()),
        kept(frame, "fitted", (0.1, 20.0)),
        kept(interrupt, "guessed", (1.0, 15.0)),
        other,
    )
    return replace(config, assumptions=assumptions)


@pytest.fixture
def row(figures):
    return figures[figures["id"] == ROW].assign(role="fit")


def test_every_vector_gives_the_published_figure(single, row, model):
    predictor = Predictor(single, model)
    fit = calibrate(predictor, row)
    names = ["cpu.frame_us", "cpu.interrupt_us"]
    assert list(fit.values) == list(fit.parameters["name"]) == names
    assert fit.equally_good[0] == fit.values
    assert fit.values["cpu.interrupt_us"] == pytest.approx(15**0.5)
    assert len(fit.equally_good) == single.calibration.ensemble
    predicted = np.array(predictor.predict(rows_of(row), fit.equally_good))[:, 0]
    assert predicted == pytest.approx(float(row["value"].iloc[0]), rel=2e-3)
    assert fit.cost < 1e-2 and fit.residuals["id"].tolist() == [ROW]


def test_the_ranges_are_covered_and_tie_the_parameter(single, row, model):
    """A dearer interrupt leaves less for a frame."""
    fit = calibrate(Predictor(single, model), row)
    table = fit.parameters.set_index("name")
    assert table.loc["cpu.interrupt_us", "width"] > 0.95
    assert table.loc["cpu.frame_us", "low"] < fit.values["cpu.frame_us"] < table.loc["cpu.frame_us", "high"]
    assert fit.correlation.loc["cpu.frame_us", "cpu.interrupt_us"] < -0.8
    assert any("the row tests nothing" in sentence for sentence in fit.inseparable)


def test_points_that_contradict_the_row_are_dropped(single, row, model):
    """An interrupt so dear that even frames for nothing are too much."""
    *first, frame, interrupt, other = single.assumptions
    dear = kept(interrupt, "guessed", (1.0, 50.0))
    fit = calibrate(Predictor(replace(single, assumptions=(*first, frame, dear, other)), model), row)
    assert 1 < len(fit.equally_good) < single.calibration.ensemble
    assert any("points of the priors contradict the row" in sentence for sentence in fit.inseparable)
    assert fit.parameters.set_index("name").loc["cpu.interrupt_us", "width"] < 0.95


def test_no_value_gives_the_figure(single, row, model):
    *first, frame, interrupt, other = single.assumptions
    cheap = kept(frame, "fitted", (0.01, 0.02))
    with pytest.raises(DataError, match=r"no value of cpu\.frame_us within its range gives this figure"):
        calibrate(Predictor(replace(single, assumptions=(*first, cheap, interrupt, other)), model), row)


def test_equal_on_any_number_of_threads(single, row, model):
    one, three = (calibrate(Predictor(single, model, threads=n), row) for n in (1, 3))
    assert one.equally_good == three.equally_good


def test_the_rule_for_fits_stands(single, row, figures, model):
    """Without a range of anything else one row still takes no free parameter; nor do two rows take two."""
    bare = replace(single, assumptions=tuple(a for a in single.assumptions if a.free or not a.range))
    with pytest.raises(ScenarioError, match="1 free parameters for 1 fit rows"):
        calibrate(Predictor(bare, model), row)
    two = replace(
        single, assumptions=tuple(replace(a, origin="fitted") if a.range else a for a in single.assumptions)
    )
    with pytest.raises(ScenarioError, match="2 free parameters for 2 fit rows"):
        calibrate(Predictor(two, model), figures[figures["role"] == "fit"].head(2))


def test_a_row_of_another_role_is_refused(single, row, model):
    with pytest.raises(RoleError):
        calibrate(Predictor(single, model), row.assign(role="held_out"))
    assert model.runs == 0


def test_the_fit_survives_its_file(single, row, model, tmp_path):
    fit = calibrate(Predictor(single, model), row)
    write_fit(fit, tmp_path / "fit.json", single, row)
    again = read_fit(tmp_path / "fit.json", single, row)
    assert again.values == pytest.approx(fit.values)
    assert len(again.equally_good) == len(fit.equally_good)


def test_a_percentage_of_several_cores(config, figures, model):
    rows = rows_of(figures[figures["id"].isin([ROW, "mixed.udp.remote.cpu_percent"])])
    vector = {a.name: float(a.value) for a in config.free}
    whole = dict(
        zip([r.side for r in rows], Predictor(config, model).predict(rows, [vector])[0], strict=True)
    )
    shared = Predictor(replace(config, cores={"local": 2}), model).predict(rows, [vector])[0]
    assert dict(zip([r.side for r in rows], shared, strict=True)) == {
        "local": pytest.approx(whole["local"] / 2),
        "remote": pytest.approx(whole["remote"]),
    }


@pytest.mark.parametrize(
    ("text", "problem"), [("middle = 2", "unknown name"), ("local = 0", "number of cores")]
)
def test_cores_are_checked(tmp_path, text, problem):
    path = tmp_path / CONFIG.name
    path.write_text(CONFIG.read_text() + f"\n[cores]\n{text}\n")
    with pytest.raises(DataError, match=problem):
        read(path)


def test_stored_fits_of_one_core_stay_valid(config):
    assert config_hash(replace(config, cores={"local": 2})) != config_hash(config)
    assert config.cores == {}
