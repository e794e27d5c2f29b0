"""Calls of functions in the query language, and of analytic functions: LAG, LAST, ISFIRST and aggregates over the last
so many events of a partition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Any

from sqlglot import exp

from flinkish.api.errors import FlinkishError
from flinkish.compat.stream_analytics import dates
from flinkish.compat.stream_analytics.aggregates import AGGREGATES, compile_aggregate, whole_record
from flinkish.compat.stream_analytics.compiler import (
    COMPILERS,
    OVER_PARTS,
    PARTS,
    Scope,
    compile_condition,
    compile_expression,
    guard,
    names_of,
    refuse_others,
)
from flinkish.compat.stream_analytics.functions import FUNCTIONS
from flinkish.compat.stream_analytics.looking_back import Analytic, Over
from flinkish.compat.stream_analytics.text import (
    LIMIT,
    SYSTEM_TIMESTAMP,
    SYSTEM_WINDOW,
    TYPES,
    WHEN,
    function_name,
    is_function,
    written,
)
from flinkish.compat.stream_analytics.values import (
    Environment,
    Evaluate,
    ValueFailure,
    cast,
    date_of,
    datetime_of,
    frozen,
    number_of,
    value_of,
)

_MODEL = ("ANOMALYDETECTION_SPIKEANDDIP", "ANOMALYDETECTION_CHANGEPOINT", "ANOMALYDETECTION")
_PYTHON = (
    *("CREATEPOINT", "CREATELINESTRING", "CREATEPOLYGON", "HASHBYTES"),
    *("ST_DISTANCE", "ST_INTERSECTS", "ST_OVERLAPS", "ST_WITHIN"),
)
REFUSED = {
    **dict.fromkeys(_MODEL, "Call a model of your own as a function: udf.name(...)."),
    **dict.fromkeys(_PYTHON, "Write a Python function, and call it as udf.name(...)."),
    "GETMETADATAPROPERTYVALUE": "Put the metadata into a field of the event, and name that.",
    "GETDATE": "Write System.Timestamp(), the time of the event.",
}
"""Functions of Azure that are not here, with what to use instead."""


# ---------------------------------------------------------------------- functions


def _call(node: exp.Expression, scope: Scope) -> Evaluate:
    name = function_name(node) or ""
    upper = name.upper()
    special = SPECIAL.get(upper)
    if special is not None:
        return special(node, scope)
    python = _python_function(name, scope)
    function = FUNCTIONS.get(upper)
    if python is None and function is None:
        raise scope.text.error(node, _said_of(name, scope))
    fewest, most = (0, None) if function is None or python else (function.fewest, function.most)
    arguments = tuple(
        compile_expression(part.this if isinstance(part, exp.Ordered) else part, scope)
        for part in _arguments(node, scope, fewest, most)
    )
    if python is not None:
        return _python_call(node, scope, name, python, arguments)
    assert function is not None
    call = guard(scope.text.place(node), name, function.call)
    if function.takes_null:
        return lambda rows: call(*(argument(rows) for argument in arguments))
    return _null_of_null(arguments, call)


def _null_of_null(arguments: tuple[Evaluate, ...], call: Callable[..., Any]) -> Evaluate:
    def evaluate(rows: Environment) -> Any:
        values = [argument(rows) for argument in arguments]
        return None if any(value is None for value in values) else call(*values)

    return evaluate


def _python_function(name: str, scope: Scope) -> Callable[..., Any] | None:
    wanted = name.lower().removeprefix("udf.")
    return next((call for known, call in scope.functions.items() if known.lower() == wanted), None)


def _python_call(
    node: exp.Expression,
    scope: Scope,
    name: str,
    python: Callable[..., Any],
    arguments: Sequence[Evaluate],
) -> Evaluate:
    place = scope.text.place(node)

    def evaluate(rows: Environment) -> Any:
        try:
            return value_of(python(*(argument(rows) for argument in arguments)))
        except FlinkishError:
            raise
        except Exception as error:
            raise place.error(f"{name} has raised {type(error).__name__}: {error}.") from error

    return evaluate


def _said_of(name: str, scope: Scope) -> str:
    """Why there is no such function here, and what to write instead."""
    upper = name.upper()
    if upper in REFUSED:
        return f"{name} is not supported. {REFUSED[upper]}"
    if upper.startswith("UDF."):
        known = ", ".join(scope.functions) or "none"
        return f"there is no function {name[4:]!r} in udf, which has {known}."
    if upper.startswith("UDA."):
        return f"{name}: aggregates of your own are not supported. Write COLLECT(), and a udf over its array."
    if upper in _ONLY_OVER:
        return f"{name} needs OVER (LIMIT DURATION(unit, length))."
    if upper in _ROWS:
        return f"{name} gives rows. Write CROSS APPLY {name}(...) AS name."
    if upper in AGGREGATES:
        return (
            f"{name} is an aggregate function, which cannot be called here. Write GROUP BY with a window, or OVER"
            " (LIMIT DURATION(unit, length))."
        )
    near = get_close_matches(upper, [*FUNCTIONS, *AGGREGATES, *SPECIAL, *_ONLY_OVER, *_ROWS], 3)
    hint = f"Near are {', '.join(near)}." if near else "Pass a Python function of that name in udf."
    return f"there is no function {name}. {hint}"


_ONLY_OVER = frozenset({"LAG", "LAST"})
_ROWS = frozenset({"GETARRAYELEMENTS", "GETRECORDPROPERTIES"})


def unit_of(node: exp.Expression, scope: Scope) -> str:
    names = names_of(node)
    written_as = node.name if isinstance(node, exp.Literal) else (names or [""])[0]
    unit = dates.UNITS.get(written_as.lower())
    if unit is None or (names is not None and len(names) > 1):
        near = get_close_matches(written_as.lower(), dates.UNITS, 2)
        hint = f" Near are {', '.join(near)}." if near else ""
        raise scope.text.error(node, f"{written_as or node.sql()} is no unit of time.{hint}")
    return unit


def _arguments(
    node: exp.Expression, scope: Scope, fewest: int, most: int | None
) -> list[exp.Expression]:
    found = list(node.expressions)
    if len(found) < fewest or (most is not None and len(found) > most):
        wanted = f"{fewest} or more" if most is None else f"{fewest} to {most}"
        wanted = str(most) if fewest == most else wanted
        raise scope.text.error(
            node, f"{function_name(node)} has {len(found)} argument(s), and takes {wanted}."
        )
    return found


def _time_of(node: exp.Expression, scope: Scope) -> Evaluate:
    """A datetime; the name of a source stands for the time of its event."""
    names = names_of(node)
    if names is not None and len(names) == 1 and names[0].lower() in scope.sources:
        source = names[0].lower()

        def of_event(rows: Environment) -> Any:
            time = rows.get(f"@{source}")
            return None if time is None else date_of(time)

        return of_event
    return compile_expression(node, scope)


def _date_function(
    name: str, arguments: int, call: Callable[..., Any]
) -> Callable[[exp.Expression, Scope], Evaluate]:
    def compiler(node: exp.Expression, scope: Scope) -> Evaluate:
        unit_node, *rest = _arguments(node, scope, arguments, arguments)
        unit = unit_of(unit_node, scope)
        if name == "DATEADD" and unit == "weekday":
            unit = "day"
        values = tuple(_time_of(argument, scope) for argument in rest)
        guarded = guard(scope.text.place(node), name, call)
        return _null_of_null(values, lambda *found: guarded(unit, *found))

    return compiler


def _cast(node: exp.Expression, scope: Scope) -> Evaluate:
    (argument,) = _arguments(node, scope, 1, 1)
    kind = argument.alias.lower() if isinstance(argument, exp.Alias) else ""
    if kind not in TYPES:
        raise scope.text.error(
            node,
            f"{kind or 'nothing'} is no type to cast to. There are {', '.join(sorted(TYPES))}.",
        )
    value = compile_expression(argument.this, scope)
    if is_function(node, "TRY_CAST"):

        def attempt(rows: Environment) -> Any:
            try:
                return cast(value(rows), kind)
            except ValueFailure:
                return None

        return attempt
    call = guard(scope.text.place(node), "CAST", cast)
    return lambda rows: call(value(rows), kind)


def _iif(node: exp.Expression, scope: Scope) -> Evaluate:
    condition, value, otherwise = (
        compile_expression(argument, scope) for argument in _arguments(node, scope, 3, 3)
    )
    return lambda rows: value(rows) if condition(rows) else otherwise(rows)


def _over(node: exp.Expression, scope: Scope) -> Evaluate:
    if isinstance(node.this, exp.Anonymous):
        name = function_name(node.this) or ""
        raise scope.text.error(node.this, _said_of(name, scope))
    raise scope.text.error(node, "OVER follows a function.")


SPECIAL: dict[str, Callable[[exp.Expression, Scope], Evaluate]] = {
    "CAST": _cast,
    "TRY_CAST": _cast,
    "IIF": _iif,
    "DATEADD": _date_function(
        "DATEADD",
        3,
        lambda unit, number, date: dates.date_add(unit, int(number_of(number)), datetime_of(date)),
    ),
    "DATEDIFF": _date_function(
        "DATEDIFF",
        3,
        lambda unit, start, end: dates.date_difference(unit, datetime_of(start), datetime_of(end)),
    ),
    "DATEPART": _date_function(
        "DATEPART", 2, lambda unit, date: dates.date_part(unit, datetime_of(date))
    ),
    "DATENAME": _date_function(
        "DATENAME", 2, lambda unit, date: dates.date_name(unit, datetime_of(date))
    ),
    SYSTEM_TIMESTAMP: lambda node, scope: lambda rows: date_of(rows["@"]),
    SYSTEM_WINDOW: lambda node, scope: lambda rows: {"Id": rows.get("@window")},
}


COMPILERS[exp.Anonymous] = _call
COMPILERS[exp.Window] = _over
PARTS[exp.Window] = OVER_PARTS


# ---------------------------------------------------------------------- analytic functions


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
    most = 3 if function == "LAG" else 2
    arguments = _arguments(call, scope, 1, most)
    first = arguments[0]
    whole = isinstance(first, exp.Star)
    value = whole_record(scope) if whole else compile_expression(first, scope)
    offset = 1
    if function == "LAG" and len(arguments) > 1:
        second = arguments[1]
        is_number = isinstance(second, exp.Literal) and second.name.isdigit()
        offset = int(second.name) if is_number else 0
        if offset < 1:
            raise scope.text.error(
                call,
                "LAG takes a whole number, 1 or more, second. Write LAST for the latest event.",
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
        if unit in dates.MILLISECONDS and arguments[1].name.isdigit() and int(arguments[1].name):
            return dates.MILLISECONDS[unit] * int(arguments[1].name)
    raise scope.text.error(
        node, "a length of time is a unit from day to millisecond and a whole number, 1 or more."
    )
