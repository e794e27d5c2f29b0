"""Types: what annotations, generics and samples say, and what the stream of a job has."""

from __future__ import annotations

import datetime
import enum
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Generic, NamedTuple, TypedDict, TypeVar

import pytest

import flinkish as fl
from flinkish import Types
from flinkish.api.errors import IllegalArgumentError, InvalidProgramError
from flinkish.api.types.columns import columns_of, type_of_columns
from flinkish.api.types.type_info import TypeInformation, type_of_samples

T = TypeVar("T")


class Carrier(enum.Enum):
    AA = 1


class Airport(NamedTuple):
    code: str
    height: float | None


@dataclass(frozen=True)
class Flight:
    origin: Airport
    delays: list[int]
    carrier: Carrier


@dataclass
class Node:
    name: str
    parent: Node | None


class Weather(TypedDict):
    wind: float


@pytest.mark.parametrize(
    ("annotation", "shown"),
    [
        (str, "String"),
        (int, "Long"),
        (float, "Double"),
        (bool, "Boolean"),
        (bytes, "Array<Byte>"),
        (Decimal, "BigDecimal"),
        (datetime.datetime, "Timestamp"),
        (datetime.date, "Date"),
        (datetime.time, "Time"),
        (datetime.timedelta, "Duration"),
        (Carrier, "Carrier"),
        (list[int], "List<Long>"),
        (tuple[int, ...], "Array<Long>"),
        (tuple[str, int | None], "Tuple<String, Long>"),
        (dict[str, list[float]], "Map<String, List<Double>>"),
        (Airport, "Airport<code: String, height: Double>"),
        (
            Flight,
            "Flight<origin: Airport<code: String, height: Double>, delays: List<Long>,"
            " carrier: Carrier>",
        ),
        (Node, "Node<name: String, parent: Pickled>"),
        (Weather, "Row<wind: Double>"),
        (int | str, "Pickled"),
        (Any, "Pickled"),
        (object, "Pickled"),
        (set[int], "Pickled"),
    ],
)
def test_an_annotation_stands_for_a_type(annotation, shown):
    assert str(TypeInformation.of(annotation)) == shown


def test_a_type_tells_its_parts():
    airport = Types.NAMED_TUPLE(Airport)
    assert (airport.getArity(), airport.getFieldNames()) == (2, ("code", "height"))
    assert airport.getFieldTypes() == (Types.STRING(), Types.DOUBLE())
    assert airport.getTypeClass() is Airport
    assert airport.isTupleType()
    assert not airport.isBasicType()
    assert Types.TUPLE([Types.INT(), Types.STRING()]).getFieldNames() == ("f0", "f1")
    assert Types.TUPLE(Types.INT(), Types.STRING()) == Types.TUPLE([Types.INT(), Types.STRING()])
    assert Types.ROW(Types.INT()) == Types.ROW([Types.INT()])
    assert Types.ROW([Types.INT()]) == Types.ROW_NAMED(["f0"], [Types.INT()])
    assert Types.LONG().isBasicType()
    assert (Types.LONG().getArity(), Types.LONG().getFieldNames()) == (1, ())
    assert Types.LOCAL_DATE() == Types.SQL_DATE()
    assert Types.LOCAL_TIME() == Types.SQL_TIME()


def test_what_is_no_class_with_fields_is_refused():
    with pytest.raises(IllegalArgumentError, match="is not a dataclass"):
        Types.DATACLASS(Airport)
    with pytest.raises(IllegalArgumentError, match="is not a NamedTuple"):
        Types.NAMED_TUPLE(Flight)
    with pytest.raises(IllegalArgumentError, match="2 names and 1 types"):
        Types.ROW_NAMED(["a", "b"], [Types.INT()])


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([1, 2], "Long"),
        ([1, 2.5], "Double"),
        ([1, 2**63], "BigInteger"),
        ([True], "Boolean"),
        ([("JFK", None), (None, 7)], "Tuple<String, Long>"),
        ([("JFK", None)], "Tuple<String, Pickled>"),
        ([("JFK", 1), ("LGA", "x")], "Tuple<String, Pickled>"),
        ([[], [1]], "List<Long>"),
        ([{}, {"a": 1.5}], "Map<String, Double>"),
        ([Airport("JFK", 4.0)], "Airport<code: String, height: Double>"),
        ([fl.Row(origin="JFK", delay=7)], "Row<origin: String, delay: Long>"),
    ],
)
def test_samples_tell_their_type(values, shown):
    assert str(type_of_samples(values)) == shown


@pytest.mark.parametrize("values", [[1, "a"], [(1,), (1, 2)], [Airport("", 0.0), ("", 0.0)]])
def test_samples_of_several_types_tell_none(values):
    assert fl.StreamExecutionEnvironment().fromCollection(values).getType() == (
        Types.PICKLED_BYTE_ARRAY()
    )


# ---------------------------------------------------------------------- streams


def length(word: str) -> int:
    return len(word)


def letters(word: str) -> Iterator[str]:
    yield from word


def collect_letters(word: str, out: fl.Collector[bytes]) -> None:
    out.collect(word.encode())


def pair(word: str, ctx: fl.ProcessFunction.Context, out: fl.Collector[tuple[str, int]]) -> None:
    out.collect((word, 1))


class Length(fl.MapFunction[str, int]):
    def map(self, value):
        return len(value)


class AnnotatedLength(fl.MapFunction):
    def map(self, value) -> int:
        return len(value)


class Base(fl.RichMapFunction[T, list[T]], Generic[T]):
    def map(self, value):
        return [value]


class OfText(Base[str]):
    pass


class Words(fl.FlatMapFunction[str, Airport]):
    def flatMap(self, value, out):
        pass


class Keyed(fl.KeyedProcessFunction[int, str, float]):
    def processElement(self, value, ctx, out):
        pass


class Mean(fl.AggregateFunction[str, int, float]):
    def createAccumulator(self):
        return 0

    add = getResult = None  # type: ignore[assignment]


class Label(fl.ProcessWindowFunction[float, str, int, fl.TimeWindow]):
    def process(self, key, context, elements, out):
        pass


class Pair(fl.JoinFunction[str, str, tuple[str, str]]):
    def join(self, first, second):
        return first, second


class Both(fl.CoMapFunction[str, str, int]):
    def map1(self, value):
        return 1

    map2 = map1


def joined_pair(a: str, b: str) -> list[int]:
    return [len(a), len(b)]


def window_of(key: int, window: fl.TimeWindow, elements: Iterable[str]) -> list[str]:
    return list(elements)


LATE = fl.OutputTag[tuple[str, float]]("late")
HOUR = fl.TumblingEventTimeWindows.of(fl.Time.hours(1))


def join(words):
    joined = words.join(words).where(len).equalTo(len)
    return joined.window(fl.TumblingEventTimeWindows.of(1))


STREAMS = {
    "source": (lambda s: s, "String"),
    "function": (lambda s: s.map(length), "Long"),
    "class as function": (lambda s: s.map(float), "Double"),
    "lambda": (lambda s: s.map(lambda word: word), "Pickled"),
    "returns": (lambda s: s.map(lambda word: word).returns(Types.STRING()), "String"),
    "returns of a class": (lambda s: s.map(lambda word: word).returns(list[int]), "List<Long>"),
    "output type": (lambda s: s.map(lambda word: word, Types.INT()), "Integer"),
    "generics": (lambda s: s.map(Length()), "Long"),
    "annotated method": (lambda s: s.map(AnnotatedLength()), "Long"),
    "generics of a generic": (lambda s: s.map(OfText()), "List<String>"),
    "filter": (lambda s: s.filter(str.isalpha), "String"),
    "flatMap returning": (lambda s: s.flatMap(letters), "String"),
    "flatMap collecting": (lambda s: s.flatMap(collect_letters), "Array<Byte>"),
    "flatMap of generics": (
        lambda s: s.flatMap(Words()),
        "Airport<code: String, height: Double>",
    ),
    "process": (lambda s: s.process(pair), "Tuple<String, Long>"),
    "keyed process": (lambda s: s.keyBy(len).process(Keyed()), "Double"),
    "reduce": (lambda s: s.keyBy(len).reduce(max), "String"),
    "sum": (lambda s: s.map(length).keyBy(lambda n: n).sum(0), "Long"),
    "arrival times": (
        lambda s: s.assignTimestampsAndWatermarks(
            fl.ArrivalTimeStrategy(arrivalTime=lambda word, timestamp: 0)
        ),
        "String",
    ),
    "timestamps": (
        lambda s: s.assignTimestampsAndWatermarks(fl.WatermarkStrategy.noWatermarks()),
        "String",
    ),
    "partitioned": (lambda s: s.rebalance().forward(), "String"),
    "union": (lambda s: s.union(s.map(str)), "String"),
    "union of two types": (lambda s: s.union(s.map(length)), "Pickled"),
    "project": (lambda s: s.process(pair).project(1, 0), "Tuple<Long, String>"),
    "side output": (lambda s: s.process(pair).getSideOutput(LATE), "Tuple<String, Double>"),
    "aggregate": (lambda s: s.keyBy(len).window(HOUR).aggregate(Mean()), "Double"),
    "window function": (lambda s: s.keyBy(len).window(HOUR).aggregate(Mean(), Label()), "String"),
    "plain window function": (lambda s: s.keyBy(len).window(HOUR).apply(window_of), "String"),
    "window reduce": (lambda s: s.windowAll(HOUR).reduce(max), "String"),
    "connected": (lambda s: s.connect(s).map(Both()), "Long"),
    "join": (lambda s: join(s).apply(Pair()), "Tuple<String, String>"),
    "join of a plain function": (lambda s: join(s).apply(joined_pair), "List<Long>"),
}


@pytest.mark.parametrize(("build", "shown"), STREAMS.values(), ids=STREAMS)
def test_a_stream_has_the_type_that_its_function_says(build, shown):
    words = fl.StreamExecutionEnvironment().fromElements("to", "be")
    assert str(build(words).getType()) == shown


def test_sources_know_their_type():
    env = fl.StreamExecutionEnvironment()
    assert env.fromSequence(1, 3).getType() == Types.LONG()
    assert env.readTextFile("lines.txt").getType() == Types.STRING()
    csv = fl.FileSource.forCsv("in", "origin string, delay int")
    expected = Types.ROW_NAMED(["origin", "delay"], [Types.STRING(), Types.INT()])
    assert env.fromSource(csv).getType() == expected
    generated = fl.DataGeneratorSource(str)
    assert env.fromSource(generated).getType() == Types.STRING()
    assert env.fromCollection([], Types.INT()).getType() == Types.INT()


def test_a_key_has_the_type_that_its_selector_says():
    words = fl.StreamExecutionEnvironment().fromElements("to", "be")
    assert words.keyBy(length).getKeyType() == Types.LONG()
    assert words.keyBy(lambda word: word, Types.STRING()).getKeyType() == Types.STRING()
    assert words.keyBy(lambda word: word).getKeyType() == Types.PICKLED_BYTE_ARRAY()
    assert words.process(pair).keyBy("f0").getKeyType() == Types.STRING()
    assert words.process(pair).keyBy(1).getKeyType() == Types.LONG()


# ---------------------------------------------------------------------- columns


def test_a_type_as_columns():
    assert columns_of(Types.DATACLASS(Flight), "sink") == (
        "`origin` struct<`code`: string, `height`: double>, `delays` array<bigint>,"
        " `carrier` string"
    )
    assert columns_of(Types.INT(), "sink") == "`value` int"
    assert columns_of(TypeInformation.of(dict[str, bytes]), "sink") == "`value` map<string, binary>"


def test_a_field_that_no_column_can_hold_is_named():
    with pytest.raises(
        InvalidProgramError, match=r"my sink: the field 'parent' is of type Pickled"
    ):
        columns_of(Types.DATACLASS(Node), "my sink")
    with pytest.raises(InvalidProgramError, match="the elements are of type Time, which no column"):
        columns_of(Types.SQL_TIME(), "toDataFrame")
    with pytest.raises(InvalidProgramError, match="toDataFrame: the elements are of type Pickled"):
        columns_of(Types.PICKLED_BYTE_ARRAY(), "toDataFrame")


@pytest.mark.parametrize(
    ("ddl", "shown"),
    [
        ("origin string, delay int", "Row<origin: String, delay: Integer>"),
        ("a string NOT NULL COMMENT 'x, y', b decimal(10,2)", "Row<a: String, b: BigDecimal>"),
        ("`a b``c`: array<map<string, int>>", "Row<a b`c: List<Map<String, Integer>>>"),
        ("s struct<x: bigint, y: binary>", "Row<s: Row<x: Long, y: Array<Byte>>>"),
        (
            "i interval day to second, t timestamp, n timestamp_ntz",
            "Row<i: Duration, t: Instant, n: LocalDateTime>",
        ),
        ("m interval year to month, v variant", "Row<m: Pickled, v: Pickled>"),
    ],
)
def test_columns_as_a_type(ddl, shown):
    assert str(type_of_columns(ddl)) == shown


@pytest.mark.parametrize("ddl", ["origin", "a array<int", "a int b int"])
def test_a_schema_that_cannot_be_read_is_shown(ddl):
    with pytest.raises(IllegalArgumentError, match="cannot be read"):
        type_of_columns(ddl)


def numbers():
    return fl.StreamExecutionEnvironment().fromElements(1, 2)


@pytest.mark.parametrize(
    "join",
    [
        lambda a, b, key, kind: a.join(b).where(key, Types.STRING()).equalTo(key, kind),
        lambda a, b, key, kind: a.coGroup(b).where(key, Types.STRING()).equalTo(key, kind),
        lambda a, b, key, kind: a.keyBy(key, Types.STRING()).intervalJoin(b.keyBy(key, kind)),
    ],
)
def test_keys_of_different_types_are_not_joined(join):
    def key(element):
        return element

    stream = numbers()
    join(stream, stream, key, Types.STRING())
    join(stream, stream, key, None)
    with pytest.raises(InvalidProgramError, match="keyed by different types, String and Long"):
        join(stream, stream, key, Types.LONG())


def test_a_second_field_is_no_type_of_the_key():
    with pytest.raises(
        InvalidProgramError, match=r"keyBy: keyType: 1 .* lambda e: \(e\[0\], e\[1\]\)"
    ):
        numbers().keyBy(0, 1)
