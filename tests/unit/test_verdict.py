"""Each of the four verdicts, from both sides of its border."""

import math

import pytest

from nicperf.stats import VERDICTS, judge, printed_resolution


def test_the_words_are_fixed():
    assert VERDICTS == ("reproduced", "direction only", "not reproduced", "cannot tell")


@pytest.mark.parametrize(
    ("predicted", "reference", "verdict"),
    [
        (119.0, None, "reproduced"),
        (117.7, None, "reproduced"),
        (117.5, None, "not reproduced"),
        (122.5, None, "not reproduced"),
        # published +20 % against its reference
        (110.0, (100.0, 100.0), "direction only"),
        (150.0, (100.0, 100.0), "direction only"),
        (90.0, (100.0, 100.0), "not reproduced"),
        (100.4, (100.0, 100.0), "not reproduced"),  # the predicted change is inside the noise
        (140.0, (119.9, 100.0), "not reproduced"),  # the published change is
        (119.0, (100.0, 200.0), "reproduced"),  # inside the tolerance, whatever the change
    ],
)
def test_borders(predicted, reference, verdict):
    found = judge(120.0, predicted, 0.02, noise=0.005, reference=reference)
    assert found.verdict == verdict
    assert found.error_percent == pytest.approx(100 * (predicted / 120 - 1))


@pytest.mark.parametrize(
    ("published", "predicted", "tolerance", "resolution", "why"),
    [
        (120.0, None, 0.02, 0.0, "makes no statement"),
        (120.0, math.nan, 0.02, 0.0, "makes no statement"),
        (120.0, 120.0, None, 0.0, "No tolerance"),
        (0.0, 1.0, 0.02, 0.0, "other than 0"),
        (4.0, 4.0, 0.08, 0.125, "printed to"),
    ],
)
def test_cannot_tell(published, predicted, tolerance, resolution, why):
    found = judge(published, predicted, tolerance, resolution=resolution)
    assert found.verdict == "cannot tell"
    assert why in found.why


def test_the_sentence_names_sizes_and_the_reference():
    why = judge(120.0, 110.0, 0.02, reference=(100.0, 100.0), reference_name="baseline").why
    assert why == (
        "8.3% below the published figure, outside 2%; "
        "the change against baseline is +10.0%, published +20.0%."
    )


@pytest.mark.parametrize(
    ("text", "resolution"),
    [
        ("541.8", 0.05 / 541.8),
        ("41.10", 0.005 / 41.1),
        ("4", 0.125),
        (".5 s", 0.1),
        ("1,000", 0.0005),
        ("0", 0),
        ("-", 0),
    ],
)
def test_printed_resolution(text, resolution):
    assert printed_resolution(text) == pytest.approx(resolution)
