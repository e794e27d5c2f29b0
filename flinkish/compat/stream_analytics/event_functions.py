"""Functions of the query language as Python calls: LAG, LAST, ISFIRST, TopOne, CollectTop, Windows and joins."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from flinkish.api.arguments import instance, integer, positive
from flinkish.api.errors import IllegalArgumentError, shown
from flinkish.api.functions.adapt import checked_callable, filter_call, key_call
from flinkish.api.functions.functions import AggregateFunction, FilterLike, KeySelectorLike
from flinkish.api.streams.data_stream import DataStream, SingleOutputStreamOperator
from flinkish.api.streams.keyed_stream import KeyedStream
from flinkish.api.streams.windowed_stream import constant_key, with_null_keys
from flinkish.api.types.fields import Field
from flinkish.api.windowing.assigners import WindowAssigner
from flinkish.compat.stream_analytics.datediff_join import SIZES, DateDiffJoin, TimeBounds
from flinkish.compat.stream_analytics.dates import UNITS
from flinkish.compat.stream_analytics.looking_back import Analytic, AnalyticFunction, Over, entered
from flinkish.compat.stream_analytics.queries import Offset, TimeUnit
from flinkish.compat.stream_analytics.values import Environment, frozen, sort_key

T = TypeVar("T")
T2 = TypeVar("T2")
R = TypeVar("R")


@dataclass(frozen=True)
class Duration:
    """``DURATION(timeunit, length)``: how far a function looks back."""

    timeunit: TimeUnit
    length: int

    def toMillis(self) -> int:
        """The duration in ms."""
        return Offset(self.timeunit, positive("Duration: length", self.length)).toMillis()


def lag(
    stream: DataStream[T],
    value: KeySelectorLike[T, Any] | Field,
    limitDuration: Duration,
    *,
    offset: int = 1,
    default: Any = None,
    partitionBy: KeySelectorLike[T, Any] | Field | None = None,
    when: FilterLike[T] | None = None,
) -> SingleOutputStreamOperator[tuple[T, Any]]:
    """``LAG(value, offset, default) OVER (PARTITION BY partitionBy LIMIT DURATION(...) WHEN when)``: each event
    with the value of the one that is ``offset`` events before it in its partition.

    Events go on in the order of their timestamps, once the watermark has reached them. ``when`` says which earlier
    events count. Raises IllegalArgumentError for an offset below 1.
    """
    positive("lag: offset", offset)
    return _looking_back("lag", stream, value, limitDuration, offset, default, partitionBy, when)


def last(
    stream: DataStream[T],
    value: KeySelectorLike[T, Any] | Field,
    limitDuration: Duration,
    *,
    default: Any = None,
    partitionBy: KeySelectorLike[T, Any] | Field | None = None,
    when: FilterLike[T] | None = None,
) -> SingleOutputStreamOperator[tuple[T, Any]]:
    """``LAST(value, default) OVER (...)``: each event with the value of the latest event of its partition that
    ``when`` holds for, which may be itself. See ``lag``."""
    return _looking_back("last", stream, value, limitDuration, None, default, partitionBy, when)


def isFirst(
    stream: DataStream[T],
    interval: Duration,
    *,
    partitionBy: KeySelectorLike[T, Any] | Field | None = None,
    when: FilterLike[T] | None = None,
) -> SingleOutputStreamOperator[tuple[T, bool]]:
    """``ISFIRST(timeunit, length) OVER (...)``: each event, and whether it is the first of its partition in its
    interval that ``when`` holds for. Intervals are those of tumbling windows."""
    instance("isFirst", stream, DataStream, "Pass the stream first.")
    instance("isFirst: interval", interval, Duration, 'Pass Duration("minute", 10).')
    call = Analytic.isFirst(_over(when), interval.toMillis())
    return _analysed("isFirst", stream, call, partitionBy).map(
        lambda rows: (rows["event"], bool(rows["#found"]))
    )


def _looking_back(
    method: str,
    stream: DataStream[T],
    value: Any,
    limitDuration: Duration,
    offset: int | None,
    default: Any,
    partitionBy: Any,
    when: Any,
) -> SingleOutputStreamOperator[tuple[T, Any]]:
    instance(method, stream, DataStream, "Pass the stream first.")
    instance(f"{method}: limitDuration", limitDuration, Duration, 'Pass Duration("hour", 1).')
    read = key_call(value, f"{method}: value")
    call = Analytic.earlier(
        _over(when),
        value=lambda rows: read(rows["event"]),
        default=lambda rows: default,
        duration=limitDuration.toMillis(),
        offset=offset or 1,
        before=offset is not None,
    )
    return _analysed(method, stream, call, partitionBy).map(
        lambda rows: (rows["event"], rows["#found"])
    )


def _over(when: Any) -> Over:
    """Of a stream whose key is the partition."""
    holds = None if when is None else filter_call(when)
    condition = None if holds is None else lambda rows: bool(holds(rows["event"]))
    return Over("#found", constant_key, "", condition)


def _analysed(
    method: str, stream: DataStream[Any], call: Analytic, partitionBy: Any
) -> SingleOutputStreamOperator[Environment]:
    events = entered(stream, "event")
    if partitionBy is None:
        return events.keyBy(constant_key).process(AnalyticFunction([call]))
    key = key_call(partitionBy, f"{method}: partitionBy")
    keyed = with_null_keys(events.keyBy(lambda rows: key(rows["event"])))
    return keyed.process(AnalyticFunction([call]))


# ---------------------------------------------------------------------- the top events of windows


class Ranked(NamedTuple):
    """An event with its rank, from 1."""

    rank: int
    value: Any


class _TopEvents(AggregateFunction[Any, list[Any], Any]):
    """Keeps the first events by the order."""

    def __init__(self, orderBy: Callable[[Any], Any], descending: bool, limit: int | None) -> None:
        self._order, self._descending, self._limit = orderBy, descending, limit

    def createAccumulator(self) -> list[Any]:
        return []

    def add(self, value: Any, accumulator: list[Any]) -> list[Any]:
        return self.merge(accumulator, [value])

    def merge(self, a: list[Any], b: list[Any]) -> list[Any]:
        both = sorted(
            [*a, *b], key=lambda event: sort_key(self._order(event)), reverse=self._descending
        )
        return both[: self._limit or 1]

    def getResult(self, accumulator: list[Any]) -> Any:
        if self._limit is None:
            return accumulator[0]
        return [Ranked(rank, event) for rank, event in enumerate(accumulator, start=1)]


def topOne(
    orderBy: KeySelectorLike[T, Any] | Field, *, descending: bool = False
) -> AggregateFunction[T, list[T], T]:
    """``TopOne() OVER (ORDER BY orderBy)``: the first event of a window in that order, for ``aggregate``. None is
    the lowest value; of equal ones the earlier element comes first."""
    instance("topOne: descending", descending, bool, "Pass True or False.")
    return _TopEvents(key_call(orderBy, "topOne: orderBy"), descending, None)


def collectTop(
    count: int, orderBy: KeySelectorLike[T, Any] | Field, *, descending: bool = False
) -> AggregateFunction[T, list[T], list[Ranked]]:
    """``CollectTop(count) OVER (ORDER BY orderBy)``: the first ``count`` events of a window with their ranks, for
    ``aggregate``."""
    positive("collectTop: count", count)
    instance("collectTop: descending", descending, bool, "Pass True or False.")
    return _TopEvents(key_call(orderBy, "collectTop: orderBy"), descending, count)


def windows(
    stream: DataStream[T],
    assigners: Mapping[str, WindowAssigner[Any, Any]],
    apply: Callable[[Any], DataStream[R]],
) -> DataStream[tuple[str, R]]:
    """``Windows(Window(id, window), ...)``: the results of several windows with the ids of these.

    ``stream``: keyed or not. ``assigners``: the windows by their ids. ``apply``: makes a stream of results of the
    windowed stream, such as ``lambda windowed: windowed.aggregate(...)``.
    """
    instance("windows", stream, DataStream, "Pass the stream first.")
    instance("windows: assigners", assigners, Mapping, "Pass a dict of windows by id.")
    checked_callable("windows: apply", apply, "f(windowed)", 1)
    if not assigners:
        raise IllegalArgumentError("windows: assigners is empty. Pass windows by their ids.")
    results = [_window(stream, name, each, apply) for name, each in assigners.items()]
    return results[0].union(*results[1:]) if len(results) > 1 else results[0]


def _window(
    stream: DataStream[Any], name: str, assigner: Any, apply: Callable[[Any], DataStream[R]]
) -> DataStream[tuple[str, R]]:
    instance(f"windows: assigners[{name!r}]", assigner, WindowAssigner, "Pass a window.")
    keyed = isinstance(stream, KeyedStream)
    windowed = stream.window(assigner) if keyed else stream.windowAll(assigner)  # type: ignore[attr-defined]
    results = apply(windowed)
    instance("windows: what apply gives", results, DataStream, "Return a stream of results.")
    return results.map(lambda result: (name, result))


# ---------------------------------------------------------------------- joins


def joinDateDiff(
    left: DataStream[T],
    right: DataStream[T2],
    timeunit: TimeUnit,
    lowerBound: int,
    upperBound: int,
    *,
    where: KeySelectorLike[T, Any] | Field | None = None,
    equalTo: KeySelectorLike[T2, Any] | Field | None = None,
    outer: bool = False,
) -> SingleOutputStreamOperator[tuple[T, T2 | None]]:
    """``left JOIN right ON DATEDIFF(timeunit, left, right) BETWEEN lowerBound AND upperBound``: the pairs of events
    between which so many boundaries of the unit lie, those of the same key if ``where`` and ``equalTo`` are given.

    A pair comes with the later of the two timestamps. ``outer``: an event on the left without a partner comes
    with None (LEFT JOIN) once the watermark says that none can come. A key of None has no partner.
    """
    for stream in (left, right):
        instance("joinDateDiff", stream, DataStream, "Pass the two streams first.")
    instance("joinDateDiff: outer", outer, bool, "Pass True or False.")
    unit = UNITS.get(timeunit) if isinstance(timeunit, str) else None
    if unit not in SIZES:
        raise IllegalArgumentError(
            f"joinDateDiff: timeunit is {shown(timeunit)}. Pass one from 'millisecond' to 'week'."
        )
    low = integer("joinDateDiff: lowerBound", lowerBound)
    high = integer("joinDateDiff: upperBound", upperBound)
    if low > high:
        raise IllegalArgumentError(
            f"joinDateDiff: lowerBound {low} is above upperBound {high}. Pass the lower one first."
        )
    if (where is None) != (equalTo is None):
        raise IllegalArgumentError("joinDateDiff: pass where and equalTo together, or neither.")
    first = _key("joinDateDiff: where", where, "left")
    second = _key("joinDateDiff: equalTo", equalTo, "right")
    partners = entered(right, "right").filter(lambda rows: second(rows) is not None)
    bounds = TimeBounds.of("left", str(unit), low, high)
    joined = (
        with_null_keys(entered(left, "left").keyBy(first))
        .connect(partners.keyBy(second))
        .process(DateDiffJoin(bounds, lambda rows: True, "right", outer, 0))
    )
    return joined.map(lambda rows: (rows["left"], rows["right"]))


def _key(method: str, selector: Any, source: str) -> Callable[[Environment], Any]:
    if selector is None:
        return constant_key
    read = key_call(selector, method)
    return lambda rows: frozen(read(rows[source]))
