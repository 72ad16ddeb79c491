import pickle

import pytest

from nicperf.errors import (
    DataError,
    NicperfError,
    ParseError,
    RoleError,
    ScenarioError,
    UnitError,
    closest,
)


def test_message_names_place_field_value_problem_and_cure():
    error = DataError("not a number", place="figures.csv:7", field="value", value="x", cure="write digits")
    assert str(error) == "figures.csv:7: value = 'x': not a number; write digits"


@pytest.mark.parametrize(
    ("keywords", "text"),
    [
        ({}, "wrong"),
        ({"field": "slug"}, "slug: wrong"),
        ({"value": 0}, "0: wrong"),
        ({"place": "scenario", "cure": "mend it"}, "scenario: wrong; mend it"),
    ],
)
def test_parts_may_be_missing(keywords, text):
    assert str(NicperfError("wrong", **keywords)) == text


@pytest.mark.parametrize("kind", [ScenarioError, DataError, ParseError, RoleError, UnitError])
def test_each_kind_is_a_value_error_and_survives_a_process_pool(kind):
    error = pickle.loads(pickle.dumps(kind("wrong", field="a", value=1, cure="mend it")))
    assert isinstance(error, ValueError)
    assert (str(error), error.value) == ("a = 1: wrong; mend it", 1)


def test_closest_offers_close_names_else_all():
    assert closest("napy", ["napi", "all"]) == "did you mean 'napi'?"
    assert closest("zzz", ["napi", "all"]) == "known: all, napi"
    assert closest("zzz", []) == "nothing is known here"
