"""StreamInsight's events as a user writes them, for mypy --strict."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import assert_type

from flinkish import DataStream, Duration, KeyedStream, SingleOutputStreamOperator, TimeWindow
from flinkish.compat.streaminsight import (
    TICK,
    AdvanceTimeGenerationSettings,
    AdvanceTimeImportSettings,
    AdvanceTimePolicy,
    AdvanceTimeSettings,
    CepStream,
    EdgeEvent,
    EventShape,
    IntervalEvent,
    PointEvent,
    TemporalEvent,
    TimeSpan,
    alterEventDuration,
    clipEventDuration,
    committed,
    countByStartTimeWindow,
    hoppingWindow,
    join,
    leftAntiSemiJoin,
    shiftEventTime,
    snapshotWindow,
    toEdgeStreamable,
    toIntervalStreamable,
    toPointEventStream,
    toPointStreamable,
    union,
)


@dataclass
class Trade:
    symbol: str
    at: int
    price: float


@dataclass
class Listing:
    symbol: str
    since: int
    until: int


def events(trades: DataStream[Trade], listings: DataStream[Listing]) -> None:
    settings = AdvanceTimeSettings(
        AdvanceTimeGenerationSettings(10, Duration.ofSeconds(5), True),
        None,
        AdvanceTimePolicy.Adjust,
    )
    AdvanceTimeGenerationSettings(timedelta(seconds=1), -TICK)
    points = toPointStreamable(trades, lambda t: PointEvent(t.at, t), settings)
    assert_type(points, SingleOutputStreamOperator[TemporalEvent[Trade]])
    imported = AdvanceTimeSettings(None, AdvanceTimeImportSettings(points))
    intervals = toIntervalStreamable(
        listings, lambda e: IntervalEvent(e.since, e.until, e), imported
    )
    edges = toEdgeStreamable(listings, lambda e: EdgeEvent.createStart(e.since, e), imported)
    both = union(intervals, edges)
    assert_type(both, DataStream[TemporalEvent[Listing]])
    joined = join(points, both, lambda t, e: t.symbol == e.symbol, lambda t, e: (t.price, e.until))
    assert_type(joined, SingleOutputStreamOperator[TemporalEvent[tuple[float, int]]])
    assert_type(committed(joined), SingleOutputStreamOperator[TemporalEvent[tuple[float, int]]])


def windows(trades: DataStream[TemporalEvent[Trade]]) -> None:
    def highest(window: TimeWindow, found: Iterable[IntervalEvent[Trade]]) -> list[float]:
        return [max(event.payload.price for event in found)]

    def of_symbol(
        symbol: str, window: TimeWindow, found: Iterable[IntervalEvent[Trade]]
    ) -> list[tuple[str, int]]:
        return [(symbol, len(list(found)))]

    five = Duration.ofMinutes(5)
    assert_type(
        hoppingWindow(trades, five, Duration.ofMinutes(1)).apply(highest),
        SingleOutputStreamOperator[TemporalEvent[float]],
    )
    keyed = trades.keyBy(lambda event: event.payload.symbol)
    assert_type(keyed, KeyedStream[TemporalEvent[Trade], str])
    assert_type(
        snapshotWindow(keyed).apply(of_symbol),
        SingleOutputStreamOperator[TemporalEvent[tuple[str, int]]],
    )
    lasting = shiftEventTime(alterEventDuration(trades, lambda event: five), -five.toMillis())
    assert_type(
        countByStartTimeWindow(lasting, 3).apply(highest),
        SingleOutputStreamOperator[TemporalEvent[float]],
    )


def pieces(
    trades: DataStream[TemporalEvent[Trade]], listings: DataStream[TemporalEvent[Listing]]
) -> None:
    def same(trade: Trade, listing: Listing) -> bool:
        return trade.symbol == listing.symbol

    named = CepStream.create(
        "trades", trades, None, EventShape.Point, AdvanceTimeSettings.increasingStartTime()
    )
    assert_type(named, SingleOutputStreamOperator[TemporalEvent[Trade]])
    unlisted = leftAntiSemiJoin(named, listings, same)
    assert_type(unlisted, SingleOutputStreamOperator[TemporalEvent[Trade]])
    endless = alterEventDuration(unlisted, lambda event: TimeSpan.MaxValue)
    clipped = clipEventDuration(endless, listings, same)
    assert_type(clipped, SingleOutputStreamOperator[TemporalEvent[Trade]])
    assert_type(toPointEventStream(clipped), SingleOutputStreamOperator[TemporalEvent[Trade]])
    best = hoppingWindow(clipped, 10, 5, 3).take(
        3, lambda trade: trade.price, True, lambda trade, rank: (rank, trade.symbol)
    )
    assert_type(best, SingleOutputStreamOperator[TemporalEvent[tuple[int, str]]])
    first = snapshotWindow(clipped).take(1, lambda trade: trade.price)
    assert_type(first, SingleOutputStreamOperator[TemporalEvent[Trade]])
