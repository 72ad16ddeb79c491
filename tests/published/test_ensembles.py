"""Each experiment keeps 200 equally good vectors, and what is stored of them is what the model says."""

import numpy as np
import pytest

import nicperf as nic
from nicperf.experiments import available
from nicperf.experiments.ensemble import predicted
from nicperf.experiments.predict import Predictor

ENOUGH = 200


@pytest.fixture(scope="module", params=available())
def exp(request):
    return nic.experiment(request.param)


def test_enough_vectors(exp, request):
    if (
        exp.slug == "nocache-2014"
    ):  # `nicperf calibrate nocache-2014 --write` draws them; it takes more than half an hour
        request.applymarker(
            pytest.mark.xfail(reason="only the vectors of the profiles are stored", strict=True)
        )
    assert len(exp.ensemble.vectors) >= exp.config.calibration.ensemble >= ENOUGH


def test_no_row_is_missing(exp):
    predictor = Predictor(exp.config, exp.model)
    assert {row.id for row in exp._asked if predictor.can_predict(row)} <= set(exp.ensemble.predictions)


def test_stored_predictions_are_what_the_model_says(exp):
    """The best vector and the last one, all rows, to the six digits that are kept."""
    places = [0, len(exp.ensemble.vectors) - 1]
    vectors = [exp.ensemble.vectors[place] for place in places]
    again = predicted(Predictor(exp.config, exp.model), exp._asked, vectors)
    stored = exp.ensemble.predictions.loc[places, list(again)]
    np.testing.assert_allclose(stored, again, rtol=6e-6)


def test_a_vector_fits_equally_well(exp):
    """The last vector drawn, against the fitted rows: its cost lies within delta of the optimum."""
    rows = exp.fit.residuals.set_index("id")
    tolerances = exp.figures.set_index("id").loc[rows.index, "quantity"].map(exp.config.tolerances)
    off = (exp.ensemble.predictions.iloc[-1][rows.index] / rows["published"] - 1) / tolerances
    assert (off**2).sum() <= exp.fit.cost + exp.fit.delta + 1e-3
