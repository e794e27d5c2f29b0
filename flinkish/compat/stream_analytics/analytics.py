"""Analytic functions: LAG, LAST, ISFIRST and aggregates over the last so many events of a partition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from flinkish.api.functions.functions import Collector
from flinkish.api.functions.process import (
    KeyedProcessContext,
    KeyedProcessFunction,
    KeyedTimerContext,
)
from flinkish.api.functions.runtime_context import OpenContext
from flinkish.api.functions.state import MapStateDescriptor
from flinkish.compat.stream_analytics.aggregates import compile_aggregate, whole_record
from flinkish.compat.stream_analytics.calls import AGGREGATES, unit_of
from flinkish.compat.stream_analytics.compiler import (
    OVER_PARTS,
    Environment,
    Evaluate,
    Scope,
    compile_condition,
    compile_expression,
    refuse_others,
)
from flinkish.compat.stream_analytics.dates import MILLISECONDS
from flinkish.compat.stream_analytics.text import (
    LIMIT,
    WHEN,
    function_name,
    is_function,
    written,
)
from flinkish.compat.stream_analytics.values import frozen

_ANALYTIC = ("LAG", "LAST", "ISFIRST")


@dataclass(frozen=True)
class Analytic:
    """A call of an analytic function."""

    name: str
    """Under which its value is in the environment."""
    partition: Evaluate
    partitionText: str
    value: Evaluate
    """What is remembered of an event."""
    result: Callable[[Sequence[tuple[int, Any]], bool, Environment], Any]
    """Makes the value of what is remembered, whether the event counts, and the event."""
    duration: int | None
    """How far it looks back, in ms."""
    keep: int | None
    """How many events it looks back, None for all."""
    before: bool
    """Whether it looks at the events before this one only."""
    when: Callable[[Environment], bool] | None


def is_analytic(node: exp.Expression) -> bool:
    """Whether ``node`` calls an analytic function."""
    if isinstance(node, exp.Window):
        limited = any(is_function(part, LIMIT) for part in node.args.get("partition_by") or ())
        return is_function(node.this, *_ANALYTIC) or (
            limited and is_function(node.this, *AGGREGATES)
        )
    return is_function(node, "ISFIRST") and not isinstance(node.parent, exp.Window)


def compile_analytic(node: exp.Expression, name: str, scope: Scope) -> Analytic:
    """The call that ``node`` stands for."""
    call = node.this if isinstance(node, exp.Window) else node
    refuse_others(node, OVER_PARTS, scope)
    function = (function_name(call) or "").upper()
    columns, limit, condition = [], None, None
    for part in node.args.get("partition_by") or ():
        if is_function(part, LIMIT):
            limit = _duration(part, scope)
        elif is_function(part, WHEN):
            condition = part.expressions[0]
        else:
            columns.append(part)
    keys = [compile_expression(column, scope) for column in columns]
    when = None if condition is None else compile_condition(condition, scope)

    def partition(rows: Environment) -> Any:
        return tuple(frozen(key(rows)) for key in keys)

    text = ", ".join(written(column) for column in columns)
    if function == "ISFIRST":
        length = _length(list(call.expressions), call, scope)

        def interval(rows: Environment) -> Any:
            return -(-rows["@"] // length)

        return Analytic(name, partition, text, interval, _is_first, None, 1, True, when)
    if limit is None:
        raise scope.text.error(node, f"{function} needs OVER (LIMIT DURATION(unit, length)).")
    if function in AGGREGATES:
        aggregate = compile_aggregate(node, scope)
        return Analytic(
            name,
            partition,
            text,
            lambda rows: rows,
            lambda kept, counts, rows: aggregate([found for _, found in kept]),
            limit,
            None,
            False,
            when,
        )
    return _looking_back(function, call, name, partition, text, limit, when, scope)


def _looking_back(
    function: str,
    call: exp.Expression,
    name: str,
    partition: Evaluate,
    text: str,
    limit: int,
    when: Callable[[Environment], bool] | None,
    scope: Scope,
) -> Analytic:
    arguments = list(call.expressions)
    most = 3 if function == "LAG" else 2
    if not 1 <= len(arguments) <= most:
        raise scope.text.error(call, f"{function} takes 1 to {most} arguments.")
    first = arguments[0]
    whole = isinstance(first, exp.Star)
    value = whole_record(scope) if whole else compile_expression(first, scope)
    offset = 1
    if function == "LAG" and len(arguments) > 1:
        written_offset = arguments[1]
        if not (isinstance(written_offset, exp.Literal) and written_offset.name.isdigit()):
            raise scope.text.error(call, "LAG takes a whole number of events, 1 or more, second.")
        offset = int(written_offset.name)
        if offset < 1:
            raise scope.text.error(
                call, "LAG looks back 1 event or more. Write LAST for the latest."
            )
    last = arguments[-1] if len(arguments) == most else None
    default: Evaluate = (lambda rows: None) if last is None else compile_expression(last, scope)

    def result(kept: Sequence[tuple[int, Any]], counts: bool, rows: Environment) -> Any:
        return kept[-offset][1] if len(kept) >= offset else default(rows)

    return Analytic(name, partition, text, value, result, limit, offset, function == "LAG", when)


def _is_first(kept: Sequence[tuple[int, Any]], counts: bool, rows: Environment) -> int:
    """``counts``: whether this event is one to count, in an interval that has none yet."""
    return int(counts)


def _duration(node: exp.Expression, scope: Scope) -> int:
    (duration,) = node.expressions[:1] or [node]
    inner = duration if is_function(duration, "DURATION") else node
    return _length(list(inner.expressions), node, scope)


def _length(arguments: list[exp.Expression], node: exp.Expression, scope: Scope) -> int:
    if len(arguments) == 2 and isinstance(arguments[1], exp.Literal):
        unit = unit_of(arguments[0], scope)
        if unit in MILLISECONDS and arguments[1].name.isdigit() and int(arguments[1].name):
            return MILLISECONDS[unit] * int(arguments[1].name)
    raise scope.text.error(
        node, "a length of time is a unit from day to millisecond and a whole number, 1 or more."
    )


class AnalyticFunction(KeyedProcessFunction[Any, Environment, Environment]):
    """Adds the values of analytic functions to events, in the order of their timestamps."""

    def __init__(self, calls: Sequence[Analytic]) -> None:
        self._calls = tuple(calls)

    def open(self, openContext: OpenContext) -> None:
        context = self.getRuntimeContext()
        self._waiting = context.getMapState(MapStateDescriptor[int, list[Environment]]("waiting"))
        self._kept = context.getMapState(
            MapStateDescriptor[tuple[int, Any], list[tuple[int, Any]]]("kept")
        )

    def processElement(
        self, value: Environment, ctx: KeyedProcessContext[Any], out: Collector[Environment]
    ) -> None:
        time = value["@"]
        self._waiting.put(time, [*(self._waiting.get(time) or ()), value])
        ctx.timerService().registerEventTimeTimer(time)

    def onTimer(
        self, timestamp: int, ctx: KeyedTimerContext[Any], out: Collector[Environment]
    ) -> None:
        for rows in self._waiting.get(timestamp) or ():
            found = {call.name: self._value(i, call, rows) for i, call in enumerate(self._calls)}
            out.collect({**rows, **found})
        self._waiting.remove(timestamp)

    def _value(self, number: int, call: Analytic, rows: Environment) -> Any:
        time = rows["@"]
        key = (number, call.partition(rows))
        before = self._kept.get(key) or []
        kept = before
        if call.duration is not None:
            kept = [entry for entry in before if entry[0] > time - call.duration]
        counts = call.when is None or call.when(rows)
        value = call.value(rows) if counts else None
        if call.duration is None:  # ISFIRST
            counts = counts and not (kept and kept[-1][1] == value)
        result = call.result(kept, counts, rows) if call.before else None
        if counts:
            kept = [*kept, (time, value)]
            if call.keep is not None:
                kept = kept[-call.keep :]
        if kept != before:
            self._kept.put(key, kept)
        return result if call.before else call.result(kept, counts, rows)
