"""Patterns: what type checkers know of conditions, matches and results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, assert_type

from flinkish import Collector, DataStream, Duration, OutputTag
from flinkish.api.streams.data_stream import SingleOutputStreamOperator
from flinkish.cep import (
    CEP,
    GroupPattern,
    Pattern,
    PatternContext,
    PatternProcessFunction,
    PatternStream,
)


class Event(NamedTuple):
    user: str
    amount: float


class Refund(Event):
    pass


class Alerts(PatternProcessFunction[Event, str]):
    def processMatch(
        self, match: Mapping[str, Sequence[Event]], ctx: PatternContext, out: Collector[str]
    ) -> None:
        out.collect(match["small"][0].user)


def check(events: DataStream[Event]) -> None:
    small = Pattern[Event].begin("small").where(lambda event: event.amount < 1)
    assert_type(small, Pattern[Event, Event])
    refund = small.followedBy("refund").subtype(Refund)
    assert_type(refund, Pattern[Event, Refund])
    group = refund.next(Pattern[Event].begin("a").next("b")).oneOrMore()
    assert_type(group, GroupPattern[Event, Event])
    whole = group.within(Duration.ofMinutes(1))

    stream = CEP.pattern(events.keyBy(lambda event: event.user), whole)
    assert_type(stream, PatternStream[Event])
    assert_type(
        stream.select(lambda match: match["small"][0].amount), SingleOutputStreamOperator[float]
    )
    timed_out = OutputTag[str]("timed out")
    late = stream.select(timed_out, lambda match, at: match["small"][0].user, lambda match: 1)
    assert_type(late, SingleOutputStreamOperator[int])
    assert_type(stream.process(Alerts()), SingleOutputStreamOperator[str])
