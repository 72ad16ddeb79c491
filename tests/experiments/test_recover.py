"""Figures that the model itself made from known parameters are fitted back: for each experiment, on its own simulator."""

from dataclasses import replace

import numpy as np
import pytest

import nicperf as nic
from nicperf.experiments.calibrate import calibrate
from nicperf.experiments.config_reader import available
from nicperf.experiments.match import matches
from nicperf.experiments.predict import Predictor, rows_of
from nicperf.experiments.space import Space

# Not those with slow workloads: a search takes minutes there.
QUICK = [
    slug for slug in available() if nic.experiment(slug).calibrated and not nic.experiment(slug).config.slow
]
# How far each known value lies from the centre of its prior, as a share of the range.
AWAY = 0.15
# The end of a profile interval is searched for in steps that end at an eighth of the way to it.
NARROWED = 1 / 8
# What a run is cut to, for cost. Shorter ones make the stairs of the simulator high enough to stop the search of
# velocity-2009 on its way. A window and the skew of starts within it shrink together.
DURATION_S = 0.25
SHORT = {"workload.window_s": 0.2, "workload.start_skew_s": 0.006}


def shortened(config):
    """The experiment with one search and shorter runs."""

    def cut(item, field):
        settings = getattr(item, field)
        return replace(
            item, **{field: {k: min(v, SHORT[k]) if k in SHORT else v for k, v in settings.items()}}
        )

    return replace(
        config,
        duration_s=min(config.duration_s, DURATION_S),
        calibration=replace(config.calibration, starts=1, ensemble=24),
        workloads={name: cut(workload, "settings") for name, workload in config.workloads.items()},
        patches={name: cut(patch, "off") for name, patch in config.patches.items()},
    )


def missed(fit, space, point):
    """Parameters whose profile interval does not hold the coordinate, within what narrowing down leaves."""
    table = fit.parameters.set_index("name")
    low, best, high = (
        space.point([table.loc[name, end] for name in space.names]) for end in ("low", "value", "high")
    )
    reach = [low - NARROWED * (best - low), high + NARROWED * (high - best)]
    return [n for n, x, a, b in zip(space.names, point, *reach, strict=True) if not a <= x <= b]


@pytest.mark.parametrize("slug", QUICK)
def test_known_parameters_are_recovered(slug):
    exp = nic.experiment(slug)
    config = shortened(exp.config)
    predictor, space = Predictor(config, exp.model), Space(config.free)
    rng = np.random.default_rng(config.calibration.seed)
    away = AWAY * rng.choice([-1, 1], len(space.free))
    known = space.vector(np.clip(space.centre + away, 0, 1))
    rows = exp.figures[exp.figures["role"] == "fit"]
    rows = rows.assign(value=predictor.predict(rows_of(rows), [known])[0])

    fit = calibrate(predictor, rows)

    assert missed(fit, space, space.point(list(known.values()))) == []
    assert fit.residuals["misses_of_tolerance"].abs().max() < 0.3
    if matches(
        predictor, rows
    ):  # its interval is that of all priors; the value at their centre is the known one
        assert fit.values[space.names[0]] == pytest.approx(known[space.names[0]], rel=0.01)
    # And the intervals exclude something: what lies as far on the other side of the centre.
    assert missed(fit, space, np.clip(space.centre - away, 0, 1)) != []
