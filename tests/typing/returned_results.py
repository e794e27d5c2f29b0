"""Functions that emit any number may return or yield their results: a type checker takes both, and knows
the type of what comes out; ``make lint`` checks it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_type

from flinkish import (
    BroadcastProcessFunction,
    CoFlatMapFunction,
    Collector,
    CoProcessFunction,
    DataStream,
    FlatJoinFunction,
    FlatMapFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    KeyedStream,
    ProcessFunction,
    ProcessJoinFunction,
    SingleOutputStreamOperator,
)


class Letters(FlatMapFunction[str, str]):
    def flatMap(self, value: str, out: Collector[str]) -> Iterator[str]:
        yield from value


class Lengths(ProcessFunction[str, int]):
    def processElement(
        self, value: str, ctx: ProcessFunction.Context, out: Collector[int]
    ) -> list[int]:
        return [len(value)]


class Keyed(KeyedProcessFunction[str, str, int]):
    def processElement(
        self, value: str, ctx: KeyedProcessFunction.Context[str], out: Collector[int]
    ) -> Iterator[int]:
        yield len(value)

    def onTimer(
        self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext[str], out: Collector[int]
    ) -> list[int] | None:
        return [timestamp] if timestamp else None


class EitherLetters(CoFlatMapFunction[str, bytes, str]):
    def flatMap1(self, value: str, out: Collector[str]) -> Iterator[str]:
        yield from value

    def flatMap2(self, value: bytes, out: Collector[str]) -> list[str]:
        return [value.hex()]


class Either(CoProcessFunction[str, bytes, int]):
    def processElement1(
        self, value: str, ctx: CoProcessFunction.Context, out: Collector[int]
    ) -> Iterator[int]:
        yield len(value)

    def processElement2(
        self, value: bytes, ctx: CoProcessFunction.Context, out: Collector[int]
    ) -> list[int]:
        return [len(value)]


class EitherKeyed(KeyedCoProcessFunction[str, str, bytes, int]):
    def processElement1(
        self, value: str, ctx: KeyedCoProcessFunction.Context[str], out: Collector[int]
    ) -> Iterator[int]:
        yield len(value)

    def processElement2(
        self, value: bytes, ctx: KeyedCoProcessFunction.Context[str], out: Collector[int]
    ) -> list[int]:
        return [len(value)]


class Ruled(BroadcastProcessFunction[str, bytes, int]):
    def processElement(
        self, value: str, ctx: BroadcastProcessFunction.ReadOnlyContext, out: Collector[int]
    ) -> Iterator[int]:
        yield len(value)

    def processBroadcastElement(
        self, value: bytes, ctx: BroadcastProcessFunction.Context, out: Collector[int]
    ) -> list[int]:
        return [len(value)]


class RuledKeyed(KeyedBroadcastProcessFunction[str, str, bytes, int]):
    def processElement(
        self,
        value: str,
        ctx: KeyedBroadcastProcessFunction.ReadOnlyContext[str],
        out: Collector[int],
    ) -> Iterator[int]:
        yield len(value)

    def processBroadcastElement(
        self, value: bytes, ctx: KeyedBroadcastProcessFunction.Context[str], out: Collector[int]
    ) -> list[int]:
        return [len(value)]

    def onTimer(
        self,
        timestamp: int,
        ctx: KeyedBroadcastProcessFunction.OnTimerContext[str],
        out: Collector[int],
    ) -> Iterator[int]:
        yield timestamp


class Near(ProcessJoinFunction[str, bytes, int]):
    def processElement(
        self, left: str, right: bytes, ctx: ProcessJoinFunction.Context, out: Collector[int]
    ) -> Iterator[int]:
        yield len(left) + len(right)


class Pairs(FlatJoinFunction[str, bytes, int]):
    def join(self, first: str, second: bytes, out: Collector[int]) -> list[int]:
        return [len(first) + len(second)]


def letters(word: str, out: Collector[str]) -> Iterator[str]:
    yield from word


def length(word: str, ctx: ProcessFunction.Context, out: Collector[int]) -> list[int]:
    return [len(word)]


def length_under_key(
    word: str, ctx: KeyedProcessFunction.Context[str], out: Collector[int]
) -> Iterator[int]:
    yield len(word)


def near(
    left: str, right: bytes, ctx: ProcessJoinFunction.Context, out: Collector[int]
) -> Iterator[int]:
    yield len(left) + len(right)


def results_have_the_type_of_what_is_returned_or_yielded(
    words: DataStream[str], keyed: KeyedStream[str, str], keyedBytes: KeyedStream[bytes, str]
) -> None:
    assert_type(words.flatMap(Letters()), SingleOutputStreamOperator[str])
    assert_type(words.flatMap(letters), SingleOutputStreamOperator[str])
    assert_type(words.process(Lengths()), SingleOutputStreamOperator[int])
    assert_type(words.process(length), SingleOutputStreamOperator[int])
    assert_type(keyed.process(Keyed()), SingleOutputStreamOperator[int])
    assert_type(keyed.process(length_under_key), SingleOutputStreamOperator[int])
    assert_type(
        keyed.intervalJoin(keyedBytes).between(-5, 5).process(near), SingleOutputStreamOperator[int]
    )
