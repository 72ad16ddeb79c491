"""Stored notebooks are what `python -m nicperf.report update` would leave; their outputs nbval compares."""

from pathlib import Path

import nbformat
import pytest

from nicperf.charts.render import MIME
from nicperf.report.normalise import complaints

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def path(request):
    return request.param


@pytest.fixture
def outputs(path):
    return [o for cell in nbformat.read(path, as_version=4).cells for o in cell.get("outputs", [])]


def test_it_is_in_its_stored_form(path):
    assert complaints(path) == []


def test_every_chart_has_a_picture_and_words(outputs):
    charts = [output.data for output in outputs if MIME in output.get("data", {})]
    assert charts
    assert all({"image/png", "text/plain"} <= data.keys() for data in charts)
    assert all(len(data[MIME]["description"]) > 40 for data in charts)


def test_nothing_was_written_to_standard_error(outputs):
    assert [output.text for output in outputs if output.get("name") == "stderr"] == []
