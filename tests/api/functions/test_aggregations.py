"""sum, min, max, minBy and maxBy on every kind of element."""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

import pytest
from pyspark.sql import Row

from flinkish import StreamExecutionEnvironment, TumblingEventTimeWindows, Types
from flinkish.api.errors import IllegalArgumentError, InvalidProgramError
from flinkish.api.functions.aggregations import ComparableAggregator, SumAggregator
from flinkish.testing import StreamTestHarness


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


class Plain:
    """An object with attributes, Flink's POJO."""

    def __init__(self, sensor, degrees):
        self.sensor = sensor
        self.degrees = degrees


def test_the_attributes_of_plain_objects_are_aggregated():
    first, second = Plain("a", 2), Plain("b", 5)
    total = SumAggregator("degrees").reduce(first, second)
    assert (type(total), total.sensor, total.degrees) == (Plain, "a", 7)
    assert ComparableAggregator("degrees", "max").reduce(first, second).degrees == 5
    assert (first.degrees, second.degrees) == (2, 5)


@pytest.mark.parametrize(
    "field", [lambda e: e.degrees, lambda e: e[1], attrgetter("degrees"), itemgetter(1)]
)
def test_a_function_that_reads_a_field_is_that_field(field):
    first, second = Reading("a", 2, 1), Reading("a", 5, 2)
    assert SumAggregator(field).reduce(first, second) == Reading("a", 7, 1)
    assert ComparableAggregator(field, "max").reduce(first, second) == Reading("a", 5, 1)
    assert ComparableAggregator(field, "maxBy").reduce(first, second) == second


def test_the_element_of_the_lowest_or_highest_value_of_any_function():
    first, second = Reading("a", -7.0, 1), Reading("a", 5, 2)
    by_size = ComparableAggregator(lambda e: abs(e.degrees), "maxBy")
    assert by_size.reduce(first, second) == first
    harness = StreamTestHarness(lambda s: s.keyBy("sensor").minBy(lambda e: abs(e.degrees)))
    for reading in (first, second):
        harness.processElement(reading)
    assert [record.value for record in harness.getOutput()] == [first, second]


@pytest.mark.parametrize("kind", ["min", "max"])
def test_a_function_that_computes_has_no_field_for_the_result(kind):
    with pytest.raises(InvalidProgramError, match=f"^{kind}: .* does more than read a field"):
        ComparableAggregator(lambda e: abs(e.degrees), kind)
    with pytest.raises(InvalidProgramError, match=r"sum: .* cannot be called with 1 argument"):
        SumAggregator(lambda a, b: a)


@pytest.mark.parametrize("kind", [Types.STRING(), Types.BOOLEAN(), Types.LIST(Types.LONG())])
def test_a_sum_of_what_is_known_to_be_no_number_is_refused_at_once(kind):
    elements = StreamExecutionEnvironment().fromCollection([], Types.TUPLE([kind, Types.LONG()]))
    for stream in (elements.keyBy(1), elements.windowAll(TumblingEventTimeWindows.of(1))):
        with pytest.raises(InvalidProgramError, match=rf"sum: field 0 is of type {kind}, which"):
            stream.sum(0)
        stream.sum(1)
        stream.min(0)
