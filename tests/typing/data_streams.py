"""The types that a type checker, and with it an editor, infers for a job; ``make lint`` checks
them.

Nothing here is run: each function is a piece of a job, and ``assert_type`` pins the type of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_type

from flinkish import (
    Collector,
    DataStream,
    DataStreamSource,
    FileSource,
    FlatMapFunction,
    KeyedStream,
    KeySelector,
    MalformedRecord,
    MapFunction,
    OutputTag,
    SingleOutputStreamOperator,
    StreamExecutionEnvironment,
    WatermarkStrategy,
)

env = StreamExecutionEnvironment.getExecutionEnvironment()


class Length(MapFunction[str, int]):
    def map(self, value: str) -> int:
        return len(value)


class Words(FlatMapFunction[str, str]):
    def flatMap(self, value: str, out: Collector[str]) -> None:
        for word in value.split():
            out.collect(word)


class FirstLetter(KeySelector[str, str]):
    def getKey(self, value: str) -> str:
        return value[0]


def letters(word: str) -> Iterator[str]:
    yield from word


def collect_letters(word: str, out: Collector[bytes]) -> None:
    out.collect(word.encode())


def sources() -> None:
    assert_type(env.fromElements(1, 2, 3), DataStreamSource[int])
    assert_type(env.fromCollection(["to", "be"]), DataStreamSource[str])
    assert_type(env.fromSequence(1, 10), DataStreamSource[int])
    assert_type(env.readTextFile("/tmp/lines.txt"), DataStreamSource[str])
    lines = FileSource.forLines("/tmp/lines").withSplits(lambda line: line[0])
    assert_type(lines, FileSource[str])
    strategy = WatermarkStrategy[str].forMonotonousTimestamps()
    assert_type(env.fromSource(lines, strategy), DataStreamSource[str])
    broken = OutputTag[MalformedRecord]("broken")
    source = env.fromSource(lines.withMalformedRecords(broken), strategy)
    assert_type(source, DataStreamSource[str])
    assert_type(source.getSideOutput(broken), DataStream[MalformedRecord])


def map_takes_the_type_of_the_result(words: DataStream[str]) -> None:
    assert_type(words.map(len), SingleOutputStreamOperator[int])
    # mypy calls it tuple[str, int], pyright tuple[str, Literal[1]], which will do for one
    pairs: DataStream[tuple[str, int]] = words.map(lambda word: (word, 1))
    assert_type(pairs.map(lambda pair: pair[1]), SingleOutputStreamOperator[int])
    assert_type(words.map(Length()), SingleOutputStreamOperator[int])


def filter_keeps_the_type(words: DataStream[str]) -> None:
    assert_type(words.filter(lambda word: len(word) > 3), SingleOutputStreamOperator[str])


def flat_map_takes_the_type_of_an_item(words: DataStream[str]) -> None:
    assert_type(words.flatMap(letters), SingleOutputStreamOperator[str])
    assert_type(words.flatMap(lambda word: [len(word)]), SingleOutputStreamOperator[int])
    assert_type(words.flatMap(collect_letters), SingleOutputStreamOperator[bytes])
    assert_type(words.flatMap(Words()), SingleOutputStreamOperator[str])


def naming_keeps_the_type(words: DataStream[str]) -> None:
    assert_type(words.map(len).name("Length").uid("length"), SingleOutputStreamOperator[int])


def timestamps_keep_the_type(events: DataStream[tuple[str, int]]) -> None:
    strategy: WatermarkStrategy[tuple[str, int]] = WatermarkStrategy.forBoundedOutOfOrderness(
        5_000
    ).withTimestampAssigner(lambda event, timestamp: event[1])
    assert_type(
        events.assignTimestampsAndWatermarks(strategy),
        SingleOutputStreamOperator[tuple[str, int]],
    )


def a_strategy_knows_its_events() -> None:
    assert_type(
        WatermarkStrategy[str]
        .forMonotonousTimestamps()
        .withTimestampAssigner(lambda word, timestamp: assert_type(len(word), int)),
        WatermarkStrategy[str],
    )


def key_by_takes_the_type_of_the_key(words: DataStream[str]) -> None:
    assert_type(words.keyBy(len), KeyedStream[str, int])
    assert_type(words.keyBy(lambda word: word[0]), KeyedStream[str, str])
    assert_type(words.keyBy(FirstLetter()), KeyedStream[str, str])


def rolling_aggregations_keep_the_type(words: KeyedStream[str, int]) -> None:
    assert_type(words.reduce(lambda a, b: a + b), SingleOutputStreamOperator[str])
    assert_type(words.max(0), SingleOutputStreamOperator[str])


def union_keeps_the_type(words: DataStream[str], others: DataStream[str]) -> None:
    assert_type(words.union(others), DataStream[str])


def a_side_output_has_the_type_of_its_tag(counts: SingleOutputStreamOperator[int]) -> None:
    late = OutputTag[tuple[str, float]]("late")
    assert_type(counts.getSideOutput(late), DataStream[tuple[str, float]])


def collecting_gives_the_elements(counts: DataStream[int]) -> None:
    assert_type(counts.executeAndCollect(10), list[int])
    with counts.executeAndCollect() as results:
        assert_type(next(results), int)
