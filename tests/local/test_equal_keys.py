"""Keys that are equal are one key, whatever their types, at any parallelism and after a savepoint."""

from __future__ import annotations

import datetime as dt
import enum
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest

import flinkish as fl

START = dt.datetime(2024, 11, 3, 5, 10)
YORK = ZoneInfo("America/New_York")


class OwnDate(dt.date):
    pass


class Pair(NamedTuple):
    first: object
    second: object


Day = enum.Enum(
    "Day", {f"D{n}": (2024, 1, n + 1) for n in range(20)}, type=dt.date, module=__name__
)


def moment(n):
    return START + dt.timedelta(hours=n)


def in_york(n):
    return moment(n).replace(tzinfo=dt.UTC).astimezone(YORK)


def stamp(n):
    return pd.Timestamp(moment(n))


KINDS = {
    "timestamp": (moment, stamp),
    "timestamp in a tuple": (lambda n: (n, moment(n)), lambda n: Pair(float(n), stamp(n))),
    "timedelta": (lambda n: dt.timedelta(hours=n), lambda n: pd.Timedelta(hours=n)),
    "date": (
        lambda n: dt.date(2024, 1, n + 1),
        lambda n: list(Day)[n] if n % 2 else OwnDate(2024, 1, n + 1),
    ),
    "time": (
        lambda n: dt.time(n, 30, tzinfo=dt.UTC),
        lambda n: dt.time(n + 1, 30, tzinfo=dt.timezone(dt.timedelta(hours=1))),
    ),
    "fold": (in_york, lambda n: in_york(n).replace(fold=1 - in_york(n).fold)),
    "number": (lambda n: Decimal(n) / 2, lambda n: Fraction(n, 2)),
    "number of NumPy": (lambda n: n, np.int16),
}
BOTH = [n for n in range(20) if in_york(n).fold == 0]
"""Without the hour that comes again: its keys are those of the hour before."""


ELEMENTS = [(kind, n) for kind in KINDS for n in BOTH]


def first(element):
    kind, n = element[1:]
    return kind, KINDS[kind][0](n)


def second(element):
    kind, n = element[1:]
    return kind, KINDS[kind][1](n)


def either(element):
    return first(element) if element[0] == 1 else second(element)


def local(parallelism=4):
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    return env.setParallelism(parallelism)


def timed(env, side):
    strategy = fl.WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(lambda e, _: 0)
    elements = env.fromCollection(ELEMENTS).assignTimestampsAndWatermarks(strategy)
    return elements.map(lambda e: (side, *e))


class Meet(fl.KeyedCoProcessFunction):
    def open(self, context):
        self.first = self.getRuntimeContext().getState(fl.ValueStateDescriptor("first"))

    def processElement1(self, value, ctx, out):
        self._meet(value, out)

    def processElement2(self, value, ctx, out):
        self._meet(value, out)

    def _meet(self, value, out):
        other = self.first.value()
        if other is None:
            self.first.update(value)
        else:
            out.collect((other, value))


WINDOW = fl.TumblingEventTimeWindows.of(fl.Duration.ofSeconds(1))


def joined(one, two):
    sides = one.join(two).where(first).equalTo(second)
    return sides.window(WINDOW).apply(lambda a, b: (a, b))


def grouped(one, two):
    sides = one.coGroup(two).where(first).equalTo(second)
    return sides.window(WINDOW).apply(lambda a, b, out: out.collect((*a, *b)))


def joined_in_an_interval(one, two):
    keyed = one.keyBy(first).intervalJoin(two.keyBy(second))
    return keyed.between(0, 0).process(lambda a, b, ctx, out: out.collect((a, b)))


def connected(one, two):
    return one.connect(two).keyBy(first, second).process(Meet())


def united(one, two):
    pairs = one.union(two).map(lambda e: (e,)).keyBy(lambda es: either(es[0]))
    return pairs.reduce(lambda a, b: a + b).filter(lambda es: len(es) == 2)


@pytest.mark.parametrize("meet", [joined, grouped, joined_in_an_interval, connected, united])
def test_two_streams_meet_by_equal_keys(meet):
    env = local()
    pairs = meet(timed(env, 1), timed(env, 2)).executeAndCollect()
    expected = [((1, *element), (2, *element)) for element in ELEMENTS]
    assert sorted(tuple(sorted(pair)) for pair in pairs) == sorted(expected)
