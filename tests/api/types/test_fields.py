"""Fields by position, name and path; what is not there is named with what is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import pytest
from pyspark.sql import Row as SparkRow

import flinkish as fl
from flinkish.api.errors import InvalidProgramError
from flinkish.api.functions.aggregations import ComparableAggregator, SumAggregator
from flinkish.api.types.fields import field_getter, field_read, with_field
from flinkish.testing import StreamTestHarness


class Airport(NamedTuple):
    code: str
    delay: int


@dataclass(frozen=True)
class Flight:
    origin: Airport
    number: int

    @property
    def name(self) -> str:
        return f"{self.origin.code}{self.number}"


JFK = Airport("JFK", 7)

PATHS = [
    (("a", 1), 1, 1),
    (("a", 1), "f1", 1),
    (("a", 1), "1", 1),
    (["a", 1], "f1", 1),
    (JFK, "delay", 7),
    (JFK, "f1", 7),
    (JFK, 1, 7),
    (Flight(JFK, 3), "origin.code", "JFK"),
    (Flight(JFK, 3), 1, 3),
    (Flight(JFK, 3), "name", "JFK3"),
    ((JFK, 3), "f0.delay", 7),
    (((1, 2), 3), "f0.f1", 2),
    ({"origin": {"code": "JFK"}}, "origin.code", "JFK"),
    ({"origin.code": "JFK"}, "origin.code", "JFK"),
    (fl.Row(origin=JFK), "origin.code", "JFK"),
    (SparkRow(origin=SparkRow(code="JFK")), "origin.code", "JFK"),
    (fl.Row(of=1, make=2), "of", 1),
    (5, 0, 5),
    (5, "0", 5),
    ("text", 0, "text"),
    ("text", "*", "text"),
    (JFK, "_", JFK),
    (b"ab", 0, 97),
]


@pytest.mark.parametrize(("element", "field", "value"), PATHS)
def test_a_field_is_read(element, field, value):
    assert field_getter(field)(element) == value


@pytest.mark.parametrize(
    ("element", "field", "value"),
    [path for path in PATHS if path[1] not in ("name", "_") and path[0] != b"ab"],
)
def test_a_field_is_set_in_a_copy(element, field, value):
    changed = with_field(element, field, "new")
    assert field_getter(field)(changed) == "new"
    assert field_getter(field)(element) == value


def test_the_whole_element_is_replaced():
    assert with_field(JFK, "_", "new") == "new"


@pytest.mark.parametrize(
    ("element", "field", "fields"),
    [
        (("a", 1), 2, "f0, f1"),
        (("a", 1), "f2", "f0, f1"),
        (("a", 1), "delay", "f0, f1"),
        (JFK, "dealy", "code, delay"),
        (Flight(JFK, 3), "origin.dealy", "code, delay"),
        (Flight(JFK, 3), 2, "origin, number"),
        ({"a": 1}, "b", "a"),
        (fl.Row(a=1), "b", "a"),
        (SparkRow(a=1), "b", "a"),
        (5, 1, r"\*"),
        (5, "delay", r"\*"),
        (5, "f0", r"\*"),
        (Flight(JFK, 3), "f0", "origin, number"),
    ],
)
def test_a_field_that_is_not_there_is_named_with_those_that_are(element, field, fields):
    with pytest.raises(InvalidProgramError, match=f"has no field .*; its fields are {fields}"):
        field_getter(field)(element)


def test_aggregations_by_path():
    first, second = Flight(Airport("JFK", 2), 1), Flight(Airport("LGA", 5), 2)
    total = SumAggregator("origin.delay").reduce(first, second)
    assert total == Flight(Airport("JFK", 7), 1)
    assert ComparableAggregator("origin.delay", "maxBy").reduce(first, second) == second
    assert SumAggregator("f1").reduce(("a", 2), ("b", 3)) == ("a", 5)


@pytest.mark.parametrize("field", [0, "*"])
def test_single_values_are_aggregated_whole(field):
    assert SumAggregator(field).reduce(2, 3) == 5
    assert ComparableAggregator(field, "max").reduce("to", "be") == "to"


@pytest.mark.parametrize("key", ["origin.code", lambda flight: flight.origin.code])
def test_a_key_by_path(key):
    harness = StreamTestHarness(lambda flights: flights.keyBy(key).sum("number"))
    for flight in (Flight(JFK, 3), Flight(Airport("LGA", 0), 1), Flight(JFK, 4)):
        harness.processElement(flight)
    assert [record.value.number for record in harness.getOutput()] == [3, 1, 7]


def test_a_field_that_a_type_does_not_have_is_refused_at_once():
    flights = fl.StreamExecutionEnvironment().fromElements(Flight(JFK, 3))
    with pytest.raises(InvalidProgramError, match=r"keyBy: .*no field 'numbre'.*origin, number"):
        flights.keyBy("numbre")
    with pytest.raises(InvalidProgramError, match=r"no field 'dealy'\. Its fields are code, delay"):
        flights.keyBy("number").sum("origin.dealy")
    with pytest.raises(InvalidProgramError, match="no field 'numbre'"):
        flights.windowAll(fl.TumblingEventTimeWindows.of(1)).max("numbre")
    assert flights.keyBy("name").getKeyType() == fl.Types.PICKLED_BYTE_ARRAY()


def test_connected_streams_by_fields():
    env = fl.StreamExecutionEnvironment()
    pairs, flights = env.fromElements(("JFK", 3)), env.fromElements(Flight(JFK, 3))
    by_one = pairs.connect(flights).keyBy("f0", "origin.code")
    assert by_one.getFirstInput().getKeySelector()(("JFK", 3)) == "JFK"  # type: ignore[attr-defined]
    by_two = pairs.connect(flights).keyBy(["f0", "f1"], ["origin.code", "number"])
    keys = [stream.getKeySelector() for stream in (by_two.getFirstInput(), by_two.getSecondInput())]
    assert keys[0](("JFK", 3)) == keys[1](Flight(JFK, 3)) == ("JFK", 3)
    assert str(by_one.getType1()) == "Tuple<String, Long>"
    assert by_one.getType2() == fl.Types.DATACLASS(Flight)


def test_a_key_that_is_one_field_is_read_as_a_column():
    assert field_read(field_getter(2)) == 2
    assert field_read(field_getter("origin")) == "origin"
    assert field_read(field_getter("origin.code")) is None
    assert field_read(field_getter("*")) is None
