"""Analytic functions: LAG, LAST, ISFIRST and aggregates over the last so many events of a partition."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from flinkish.compat.stream_analytics.aggregates import AGGREGATES, compile_aggregate, whole_record
from flinkish.compat.stream_analytics.calls import unit_of
from flinkish.compat.stream_analytics.compiler import (
    OVER_PARTS,
    Scope,
    compile_condition,
    compile_expression,
    refuse_others,
)
from flinkish.compat.stream_analytics.dates import MILLISECONDS
from flinkish.compat.stream_analytics.looking_back import Analytic, Over
from flinkish.compat.stream_analytics.text import LIMIT, WHEN, function_name, is_function, written
from flinkish.compat.stream_analytics.values import Environment, Evaluate, frozen

_ANALYTIC = ("LAG", "LAST", "ISFIRST")


def is_analytic(node: exp.Expression) -> bool:
    if isinstance(node, exp.Window):
        limited = any(is_function(part, LIMIT) for part in node.args.get("partition_by") or ())
        return is_function(node.this, *_ANALYTIC) or (
            limited and is_function(node.this, *AGGREGATES)
        )
    return is_function(node, "ISFIRST") and not isinstance(node.parent, exp.Window)


def compile_analytic(node: exp.Expression, name: str, scope: Scope) -> Analytic:
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
    keys = tuple(compile_expression(column, scope) for column in columns)
    when = None if condition is None else compile_condition(condition, scope)

    def partition(rows: Environment) -> Any:
        return tuple(frozen(key(rows)) for key in keys)

    over = Over(name, partition, ", ".join(map(written, columns)), when)
    if function == "ISFIRST":
        return Analytic.isFirst(over, _length(list(call.expressions), call, scope))
    if limit is None:
        raise scope.text.error(node, f"{function} needs OVER (LIMIT DURATION(unit, length)).")
    if function in AGGREGATES:
        aggregate = compile_aggregate(node, scope)
        return Analytic(
            over,
            value=lambda rows: rows,
            result=lambda kept, counts, rows: aggregate.of([found for _, found in kept]),
            duration=limit,
            keep=None,
            before=False,
        )
    return _looking_back(function, call, over, limit, scope)


def _looking_back(
    function: str, call: exp.Expression, over: Over, limit: int, scope: Scope
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

    return Analytic.earlier(over, value, default, limit, offset, before=function == "LAG")


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
