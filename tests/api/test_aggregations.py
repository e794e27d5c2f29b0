"""sum, min, max, minBy and maxBy on every kind of element."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest
from pyspark.sql import Row

from flinkish.api.aggregations import ComparableAggregator, SumAggregator
from flinkish.api.errors import IllegalArgumentError, InvalidProgramError


class Reading(NamedTuple):
    sensor: str
    degrees: float
    number: int


@dataclass(frozen=True)
class Measured:
    sensor: str
    degrees: float
    number: int


SHAPES: dict[str, tuple[Any, Any]] = {
    "tuple": (lambda *fields: fields, 1),
    "list": (lambda *fields: list(fields), 1),
    "named tuple by position": (Reading, 1),
    "named tuple by name": (Reading, "degrees"),
    "row by position": (lambda s, d, n: Row(sensor=s, degrees=d, number=n), 1),
    "row by name": (lambda s, d, n: Row(sensor=s, degrees=d, number=n), "degrees"),
    "dict": (lambda s, d, n: {"sensor": s, "degrees": d, "number": n}, "degrees"),
    "dataclass by position": (Measured, 1),
    "dataclass by name": (Measured, "degrees"),
}


@pytest.fixture(params=SHAPES.values(), ids=SHAPES.keys())
def shape(request):
    return request.param


def test_sum_keeps_the_other_fields_of_the_first(shape):
    make, field = shape
    result = SumAggregator(field).reduce(make("a", 2, 1), make("a", 5, 2))
    assert result == make("a", 7, 1)
    assert type(result) is type(make("a", 7, 1))


@pytest.mark.parametrize(("kind", "expected"), [("min", 2), ("max", 5)])
def test_min_and_max_change_only_the_field(shape, kind, expected):
    make, field = shape
    aggregator = ComparableAggregator(field, kind)
    assert aggregator.reduce(make("a", 2, 1), make("a", 5, 2)) == make("a", expected, 1)
    assert aggregator.reduce(make("a", 5, 1), make("a", 2, 2)) == make("a", expected, 1)


@pytest.mark.parametrize(("kind", "expected"), [("minBy", (2, 1)), ("maxBy", (5, 2))])
def test_min_by_and_max_by_keep_the_whole_element(shape, kind, expected):
    make, field = shape
    result = ComparableAggregator(field, kind).reduce(make("a", 2, 1), make("a", 5, 2))
    assert result == make("a", *expected)


@pytest.mark.parametrize("kind", ["minBy", "maxBy"])
@pytest.mark.parametrize(("first", "number"), [(True, 1), (False, 2)])
def test_of_equal_elements_the_first_or_the_last_is_kept(kind, first, number):
    aggregator = ComparableAggregator(1, kind, first)
    assert aggregator.reduce(("a", 3, 1), ("a", 3, 2)) == ("a", 3, number)


def test_the_inputs_are_not_changed():
    one, two = ["a", 1], ["a", 2]
    SumAggregator(1).reduce(one, two)
    ComparableAggregator(1, "max").reduce(one, two)
    assert (one, two) == (["a", 1], ["a", 2])


def test_nan_is_above_all_numbers_as_in_java():
    nan = float("nan")
    assert ComparableAggregator(1, "maxBy").reduce(("a", nan), ("b", 1.0))[0] == "a"
    assert ComparableAggregator(1, "maxBy").reduce(("a", 1.0), ("b", nan))[0] == "b"
    assert ComparableAggregator(1, "minBy").reduce(("a", nan), ("b", 1.0))[0] == "b"
    assert ComparableAggregator(1, "minBy").reduce(("a", 1.0), ("b", nan))[0] == "a"


@pytest.mark.parametrize("field", [-1, "", None, 1.5, True])
def test_a_field_that_can_be_none_is_refused_at_once(field):
    with pytest.raises(IllegalArgumentError, match="position"):
        SumAggregator(field)


@pytest.mark.parametrize(("element", "field"), [(("a",), 1), ({"a": 1}, "b"), (Measured, "x")])
def test_an_element_without_the_field_is_named(element, field):
    with pytest.raises(InvalidProgramError, match="has no field"):
        SumAggregator(field).reduce(element, element)


def test_a_sum_of_texts_is_refused():
    with pytest.raises(InvalidProgramError, match="no number"):
        SumAggregator(1).reduce(("a", "x"), ("a", "y"))
