"""Joins of streams by DATEDIFF, and with reference data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from flinkish.api.functions.functions import Collector
from flinkish.api.functions.process import KeyedProcessContext, KeyedTimerContext
from flinkish.api.functions.runtime_context import OpenContext
from flinkish.api.functions.state import MapStateDescriptor
from flinkish.api.functions.two_input import KeyedCoProcessFunction
from flinkish.compat.stream_analytics.calls import unit_of
from flinkish.compat.stream_analytics.compiler import (
    Environment,
    Evaluate,
    Scope,
    compile_expression,
    names_of,
)
from flinkish.compat.stream_analytics.dates import MILLISECONDS
from flinkish.compat.stream_analytics.text import is_function
from flinkish.compat.stream_analytics.values import Record, join_key

_DAY = 86_400_000
_SIZES = {**MILLISECONDS, "week": 7 * _DAY}
_WEEK_SHIFT = 4 * _DAY
"""The epoch is a Thursday, and weeks begin on Sundays."""


@dataclass(frozen=True)
class TimeBounds:
    """``DATEDIFF(unit, left, right) BETWEEN low AND high``, counted in boundaries of the unit."""

    source: str
    """The source on the left that the time is counted from."""
    size: int
    shift: int
    low: int
    high: int

    def number(self, time: int) -> int:
        """The number of the unit that a time in ms is in."""
        return (time + self.shift) // self.size

    def contains(self, left: int, right: int) -> bool:
        """Whether two events are that far apart."""
        return self.low <= self.number(right) - self.number(left) <= self.high

    def last_right(self, left: int) -> int:
        """The last time (ms) of an event on the right that goes with one on the left."""
        return (self.number(left) + self.high + 1) * self.size - self.shift - 1

    def unmatched(self, left: int) -> int:
        """``System.Timestamp()`` of an event on the left without a partner, in ms."""
        return left + max(self.high, 0) * self.size

    def last_left(self, right: int) -> int:
        """The last time (ms) of an event on the left that goes with one on the right."""
        return (self.number(right) - self.low + 1) * self.size - self.shift - 1


def conjuncts(node: exp.Expression) -> list[exp.Expression]:
    """The conditions that AND joins."""
    if isinstance(node, exp.Paren):
        return conjuncts(node.this)
    if isinstance(node, exp.And):
        return [*conjuncts(node.this), *conjuncts(node.expression)]
    return [node]


def time_bounds(
    node: exp.Expression, left: Sequence[str], right: str, scope: Scope
) -> TimeBounds | None:
    """The bounds that a condition sets, None if it is another."""
    if isinstance(node, exp.Between):
        call, low, high = node.this, node.args["low"], node.args["high"]
    elif isinstance(node, exp.EQ):
        call, low, high = node.this, node.expression, node.expression
    else:
        return None
    if not is_function(call, "DATEDIFF") or len(call.expressions) != 3:
        return None
    unit_node, *events = call.expressions
    names = [(names_of(event) or [""]) for event in events]
    sources = [found[0].lower() for found in names if len(found) == 1]
    if len(sources) != 2 or right not in sources:
        return None
    unit = unit_of(unit_node, scope)
    if unit not in _SIZES:
        raise scope.text.error(
            unit_node,
            f"a join counts in units of fixed length, not in {unit}. Write day, hour or shorter.",
        )
    bounds = [_whole_number(bound, scope) for bound in (low, high)]
    if sources[0] == right:
        sources.reverse()
        bounds = [-bounds[1], -bounds[0]]
    if sources[0] not in left:
        return None
    if bounds[0] > bounds[1]:
        raise scope.text.error(node, "no event is in these bounds: the first is above the second.")
    shift = _WEEK_SHIFT if unit == "week" else 0
    return TimeBounds(sources[0], _SIZES[unit], shift, bounds[0], bounds[1])


def _whole_number(node: exp.Expression, scope: Scope) -> int:
    if not any(isinstance(part, (exp.Column, exp.Anonymous)) for part in node.walk()):
        value = compile_expression(node, scope)({})
        if isinstance(value, int):
            return value
    raise scope.text.error(node, "the bounds of DATEDIFF in a join are whole numbers.")


def equal_sides(
    node: exp.Expression, left: Sequence[str], right: str
) -> tuple[exp.Expression, exp.Expression] | None:
    """The sides of ``left.a = right.b``, None if the condition is another."""
    if not isinstance(node, exp.EQ):
        return None
    found = [_sources(side) for side in (node.this, node.expression)]
    if found[0] and found[0] <= set(left) and found[1] == {right}:
        return node.this, node.expression
    if found[1] and found[1] <= set(left) and found[0] == {right}:
        return node.expression, node.this
    return None


def _sources(node: exp.Expression) -> set[str]:
    """The sources that an expression names; one without a source is "?"."""
    found = set()
    for part in node.walk():
        if isinstance(part, exp.Column):
            names = names_of(part) or ["?"]
            found.add(names[0].lower() if len(names) > 1 else "?")
    return found


class DateDiffJoin(KeyedCoProcessFunction[Any, Environment, Environment, Environment]):
    """Pairs the events of two streams whose times are within the bounds; an event is kept until the watermark
    says that none can go with it any more."""

    def __init__(
        self,
        bounds: TimeBounds,
        condition: Callable[[Environment], bool],
        right: str,
        outer: bool,
        slack: int,
    ) -> None:
        self._bounds, self._condition = bounds, condition
        self._right_name, self._outer = right, outer
        self._slack = slack
        """By how much the time of an event on the left may be behind that of the row it is in, in ms."""

    def open(self, openContext: OpenContext) -> None:
        context = self.getRuntimeContext()
        self._left = context.getMapState(
            MapStateDescriptor[int, list[tuple[Environment, bool]]]("left")
        )
        self._right = context.getMapState(MapStateDescriptor[int, list[Environment]]("right"))

    def processElement1(
        self, value: Environment, ctx: KeyedProcessContext[Any], out: Collector[Environment]
    ) -> None:
        matched = False
        for _, events in self._right.entries():
            for event in events:
                matched |= self._pair(value, event, out)
        time = value[f"@{self._bounds.source}"]
        until = value["@"] if time is None else max(self._bounds.last_right(time), value["@"])
        self._left.put(until, [*(self._left.get(until) or ()), (value, matched)])
        ctx.timerService().registerEventTimeTimer(until)

    def processElement2(
        self, value: Environment, ctx: KeyedProcessContext[Any], out: Collector[Environment]
    ) -> None:
        for until, events in list(self._left.entries()):
            now = [(event, self._pair(event, value, out) or matched) for event, matched in events]
            if [matched for _, matched in now] != [matched for _, matched in events]:
                self._left.put(until, now)
        time = value["@"]
        until = max(self._bounds.last_left(time) + self._slack, time)
        self._right.put(until, [*(self._right.get(until) or ()), value])
        ctx.timerService().registerEventTimeTimer(until)

    def onTimer(
        self, timestamp: int, ctx: KeyedTimerContext[Any], out: Collector[Environment]
    ) -> None:
        for event, matched in self._left.get(timestamp) or ():
            if self._outer and not matched:
                left = event[f"@{self._bounds.source}"]
                time = event["@"] if left is None else self._bounds.unmatched(left)
                nothing = {self._right_name: None, f"@{self._right_name}": None}
                out.collect({**event, **nothing, "@": max(time, event["@"])})
        self._left.remove(timestamp)
        self._right.remove(timestamp)

    def _pair(self, left: Environment, right: Environment, out: Collector[Environment]) -> bool:
        time = left[f"@{self._bounds.source}"]
        if time is None or not self._bounds.contains(time, right[f"@{self._right_name}"]):
            return False
        rows = {**left, **right, "@": max(left["@"], right["@"])}
        if not self._condition(rows):
            return False
        out.collect(rows)
        return True


class ReferenceJoin:
    """Adds rows of reference data to events."""

    def __init__(
        self,
        name: str,
        rows: Sequence[Record],
        keys: Sequence[tuple[Evaluate, Evaluate]],
        condition: Callable[[Environment], bool],
        outer: bool,
    ) -> None:
        self._name, self._condition, self._outer = name, condition, outer
        self._keys = [left for left, _ in keys]
        self._rows: dict[Any, list[Record]] = {}
        for row in rows:
            values = [right({name: row, "@": 0}) for _, right in keys]
            if all(value is not None for value in values):
                self._rows.setdefault(tuple(map(join_key, values)), []).append(row)

    def __call__(self, rows: Environment) -> Iterator[Environment]:
        """The event with each row that goes with it."""
        key = tuple(join_key(left(rows)) for left in self._keys)
        found = False
        for row in self._rows.get(key, ()):
            joined = {**rows, self._name: row, f"@{self._name}": rows["@"]}
            if self._condition(joined):
                found = True
                yield joined
        if self._outer and not found:
            yield {**rows, self._name: None, f"@{self._name}": None}
