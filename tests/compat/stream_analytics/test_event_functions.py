"""LAG, LAST, ISFIRST, TopOne, CollectTop, Windows and joins by DATEDIFF as Python calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from flinkish import DataStream, FlinkishError, StreamExecutionEnvironment
from flinkish.compat.stream_analytics import (
    Duration,
    HoppingWindow,
    TumblingWindow,
    collectTop,
    isFirst,
    joinDateDiff,
    lag,
    last,
    timestampBy,
    topOne,
    windows,
)
from flinkish.testing import StreamTestHarness


class Reading(NamedTuple):
    at: int
    device: str
    temp: int | None


READINGS = [
    Reading(1_000, "a", 20),
    Reading(2_000, "b", 30),
    Reading(4_000, "a", None),
    Reading(11_000, "a", 25),
    Reading(12_000, "b", 10),
]


def results(function: Callable[[DataStream[Reading]], DataStream[Any]]) -> list[Any]:
    env = StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    timed = timestampBy(env.fromCollection(READINGS), "at", arrivalTime="at")
    return list(function(timed).executeAndCollect(100))


def test_lag() -> None:
    found = results(lambda s: lag(s, "temp", Duration("s", 10), partitionBy="device", default=-1))
    # 1 and 11, and 2 and 12 are just ten seconds apart, which is outside
    assert [value for _, value in found] == [-1, -1, 20, None, -1]
    assert [event for event, _ in found] == READINGS
    warm = results(
        lambda s: lag(s, "at", Duration("minute", 1), offset=2, when=lambda event: event.temp)
    )
    assert [value for _, value in warm] == [None, None, 1_000, 1_000, 2_000]


def test_last() -> None:
    found = results(
        lambda s: last(
            s, "temp", Duration("hour", 1), partitionBy="device", when=lambda e: e.temp is not None
        )
    )
    assert [value for _, value in found] == [20, 30, 20, 25, 10]


def test_is_first() -> None:
    found = results(lambda s: isFirst(s, Duration("s", 10), partitionBy=lambda e: e.device))
    assert [value for _, value in found] == [True, True, False, True, True]
    warm = results(lambda s: isFirst(s, Duration("s", 10), when=lambda e: (e.temp or 0) > 20))
    assert [value for _, value in warm] == [False, True, False, True, False]


def test_what_is_out_of_reach_is_forgotten() -> None:
    def both(stream: DataStream[Reading]) -> DataStream[Any]:
        timed = timestampBy(stream, "at", arrivalTime="at")
        firsts = isFirst(timed, Duration("s", 10), partitionBy="device")
        return lag(timed, "temp", Duration("s", 5), partitionBy="device").union(firsts)

    harness = StreamTestHarness(both)
    for reading in READINGS:
        harness.processElement(reading)
    assert harness.numKeyedStateEntries() > 0
    harness.processElement(Reading(60_000, "c", 1))
    held = harness.numKeyedStateEntries()
    harness.processElement(Reading(120_000, "d", 1))
    assert harness.numKeyedStateEntries() == held


def test_the_top_of_windows() -> None:
    tops = results(
        lambda s: s.windowAll(TumblingWindow("s", 10)).aggregate(topOne("temp", descending=True))
    )
    assert tops == [READINGS[1], READINGS[3]]
    ranked = results(
        lambda s: s.windowAll(TumblingWindow("s", 10)).aggregate(collectTop(2, lambda e: e.temp))
    )
    assert ranked == [
        [(1, READINGS[2]), (2, READINGS[0])],
        [(1, READINGS[4]), (2, READINGS[3])],
    ]


def test_several_windows() -> None:
    def counted(windowed: Any) -> DataStream[int]:
        return windowed.process(lambda key, context, found: [(key, len(list(found)))])  # type: ignore[no-any-return]

    assigners = {"ten": TumblingWindow("s", 10), "hop": HoppingWindow("s", 20, 20)}
    found = results(lambda s: windows(s.keyBy("device"), assigners, counted))
    assert sorted(found) == [
        ("hop", ("a", 3)),
        ("hop", ("b", 2)),
        ("ten", ("a", 1)),
        ("ten", ("a", 2)),
        ("ten", ("b", 1)),
        ("ten", ("b", 1)),
    ]


def test_joins_count_boundaries() -> None:
    def times(found: list[Any]) -> list[tuple[int, int | None]]:
        return sorted((a.at // 1000, b and b.at // 1000) for a, b in found)

    pairs = results(
        lambda s: joinDateDiff(s, s, "s", 1, 10, where="device", equalTo=lambda e: e.device)
    )
    assert times(pairs) == [(1, 4), (1, 11), (2, 12), (4, 11)]
    # a minute has one boundary here, and none of these is across it
    assert len(results(lambda s: joinDateDiff(s, s, "minute", 0, 0))) == 25
    assert results(lambda s: joinDateDiff(s, s, "minute", 1, 1)) == []
    alone = results(
        lambda s: joinDateDiff(s, s, "s", 2, 3, where="device", equalTo="device", outer=True)
    )
    assert sorted((a.at // 1000, b is None) for a, b in alone) == [
        (1, False),
        (2, True),
        (4, True),
        (11, True),
        (12, True),
    ]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: lag(s, "temp", 5), "lag: limitDuration"),
        (lambda s: lag(s, "temp", Duration("s", 1), offset=0), "lag: offset"),
        (lambda s: last(5, "temp", Duration("s", 1)), "last"),
        (lambda s: isFirst(s, Duration("fortnight", 1)), "fortnight"),
        (lambda s: windows(s, {}, len), "assigners is empty"),
        (lambda s: joinDateDiff(s, s, "month", 0, 1), "timeunit is 'month'"),
        (lambda s: joinDateDiff(s, s, "s", 2, 1), "lowerBound 2 is above"),
        (lambda s: joinDateDiff(s, s, "s", 0, 1, where="device"), "where and equalTo together"),
        (lambda s: collectTop(0, "temp"), "collectTop: count"),
    ],
)
def test_wrong_arguments(call: Any, message: str) -> None:
    with pytest.raises(FlinkishError, match=message):
        results(call)
