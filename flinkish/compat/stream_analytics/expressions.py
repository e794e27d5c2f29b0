"""Expressions of the query language as Python functions of the rows in scope."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from sqlglot import exp

from flinkish.api.errors import FlinkishError
from flinkish.compat.stream_analytics.functions import FUNCTIONS
from flinkish.compat.stream_analytics import dates
from flinkish.compat.stream_analytics.text import (
    SYSTEM_TIMESTAMP,
    SYSTEM_WINDOW,
    TYPES,
    Place,
    Text,
    function_name,
    is_function,
    written,
)
from flinkish.compat.stream_analytics.values import (
    ValueFailure,
    bigint,
    cast,
    date_of,
    datetime_of,
    field_of,
    frozen,
    has_field,
    like_expression,
    number_of,
    pair,
    text_of,
    type_name,
    value_of,
)

Environment = dict[str, Any]
"""The rows in scope by the lower-case names of their sources, and under ``@name`` their event times in ms;
under ``@`` System.Timestamp() in ms, and under ``#...`` values that are computed before."""
Evaluate = Callable[[Environment], Any]

REFUSED = {
    "ANOMALYDETECTION_SPIKEANDDIP": "Call a model of your own as a function: udf.name(...).",
    "ANOMALYDETECTION_CHANGEPOINT": "Call a model of your own as a function: udf.name(...).",
    "ANOMALYDETECTION": "Call a model of your own as a function: udf.name(...).",
    "CREATEPOINT": "Write a Python function, and call it as udf.name(...).",
    "CREATELINESTRING": "Write a Python function, and call it as udf.name(...).",
    "CREATEPOLYGON": "Write a Python function, and call it as udf.name(...).",
    "ST_DISTANCE": "Write a Python function, and call it as udf.name(...).",
    "ST_INTERSECTS": "Write a Python function, and call it as udf.name(...).",
    "ST_OVERLAPS": "Write a Python function, and call it as udf.name(...).",
    "ST_WITHIN": "Write a Python function, and call it as udf.name(...).",
    "GETMETADATAPROPERTYVALUE": "Put the metadata into a field of the event, and name that.",
    "HASHBYTES": "Write a Python function, and call it as udf.name(...).",
    "GETDATE": "Write System.Timestamp(), the time of the event.",
}
"""Functions of Azure that are not here, with what to use instead."""


@dataclass(frozen=True)
class Scope:
    """What the expressions of a SELECT may name."""

    text: Text
    sources: tuple[str, ...]
    """The names of the sources in lower case."""
    functions: Mapping[str, Callable[..., Any]]
    """Python functions by name."""
    computed: Mapping[str, str] = field(default_factory=dict)
    """By the text of an expression, the name under which its value is in the environment."""
    grouped: bool = False
    """Whether only what is computed may be named."""


def compile_expression(node: exp.Expression, scope: Scope) -> Evaluate:
    """The function that ``node`` stands for; raises IllegalArgumentError where it is none."""
    if scope.computed:
        slot = scope.computed.get(written(node))
        if slot is not None:
            return operator.itemgetter(slot)
    for kind in type(node).__mro__:
        compiler = _COMPILERS.get(kind)
        if compiler is not None:
            refuse_others(node, _PARTS.get(kind, _OPERANDS), scope)
            return compiler(node, scope)
    raise scope.text.error(node, f"{node.sql(dialect='tsql')} is not supported here.")


def refuse_others(node: exp.Expression, known: frozenset[str], scope: Scope) -> None:
    """Raise IllegalArgumentError if ``node`` has parts that nothing here reads."""
    for name, part in node.args.items():
        if part and name not in known:
            first = part[0] if isinstance(part, list) else part
            place = first if isinstance(first, exp.Expression) else node
            said = place.sql(dialect="tsql") if place is first else name.upper().strip("_")
            raise scope.text.error(place, f"{said} is not supported here.")


def compile_condition(node: exp.Expression, scope: Scope) -> Callable[[Environment], bool]:
    """Whether a condition is true; it is not where it is NULL."""
    condition = compile_expression(node, scope)
    return lambda rows: bool(condition(rows))


def _guarded(place: Place, what: str, call: Callable[..., Any]) -> Callable[..., Any]:
    def guarded(*values: Any) -> Any:
        try:
            return call(*values)
        except ValueFailure as failure:
            raise place.error(f"{what}: {failure}.") from None

    return guarded


# ---------------------------------------------------------------------- literals and names


def _literal(node: exp.Expression, scope: Scope) -> Evaluate:
    value: Any = node.this
    if not node.args["is_string"]:
        value = int(value) if re.fullmatch(r"\d+", value) else float(value)
    return lambda rows: value


def _null(node: exp.Expression, scope: Scope) -> Evaluate:
    return lambda rows: None


def _boolean(node: exp.Expression, scope: Scope) -> Evaluate:
    value = int(bool(node.this))
    return lambda rows: value


def names_of(node: exp.Expression) -> list[str] | None:
    """The parts of a name such as ``source.record.field``, None if ``node`` is none."""
    if isinstance(node, exp.Column):
        parts = (node.args.get(part) for part in ("catalog", "db", "table", "this"))
        names = [part.name for part in parts if isinstance(part, exp.Identifier)]
        return names if isinstance(node.this, exp.Identifier) else [*names, "*"]
    if isinstance(node, exp.Dot):
        before = names_of(node.this)
        last = node.expression
        if before is not None and isinstance(last, (exp.Identifier, exp.Star)):
            return [*before, "*" if isinstance(last, exp.Star) else last.name]
    return None


def _path(value: Any, names: Sequence[str]) -> Any:
    for name in names:
        value = field_of(value, name)
    return value


def _column(node: exp.Expression, scope: Scope) -> Evaluate:
    names = names_of(node)
    if names is None:
        return _field_of_expression(node, scope)
    if names[0].lower() in scope.sources and len(names) > 1 and scope.computed:
        slot = scope.computed.get(f"name:{'.'.join(names[1:]).lower()}")
        if slot is not None:
            return operator.itemgetter(slot)
    if scope.computed:
        for length in range(len(names), 0, -1):
            slot = scope.computed.get(f"name:{'.'.join(names[:length]).lower()}")
            if slot is not None:
                rest = names[length:]
                return lambda rows: _path(rows[slot], rest)
    if scope.grouped:
        raise scope.text.error(
            node,
            f"{'.'.join(names)} is neither in GROUP BY nor in an aggregate function. Add it to GROUP BY, or put"
            " it into one, such as MAX.",
        )
    return named(names, scope)


def named(names: Sequence[str], scope: Scope) -> Evaluate:
    """The value that a name stands for: a source, or a field, which may be in a record."""
    first, rest = names[0].lower(), names[1:]
    sources = scope.sources
    if first in sources and rest:
        only = sources == (first,)

        def of_source(rows: Environment) -> Any:
            record = rows[first]
            # A field of the same name as the source counts where the source has no such field
            if only and not has_field(record, rest[0]) and has_field(record, first):
                return _path(record, names)
            return _path(record, rest)

        return of_source
    if len(sources) == 1:
        (source,) = sources

        def of_only(rows: Environment) -> Any:
            record = rows[source]
            if first == source and not rest and not has_field(record, names[0]):
                return record
            return _path(record, names)

        return of_only
    if first in sources:
        return lambda rows: rows[first]

    def of_any(rows: Environment) -> Any:
        for source in sources:
            record = rows[source]
            if has_field(record, names[0]):
                return _path(record, names)
        return None

    return of_any


def _field_of_expression(node: exp.Expression, scope: Scope) -> Evaluate:
    if isinstance(node, exp.Dot) and isinstance(node.expression, exp.Identifier):
        record, name = compile_expression(node.this, scope), node.expression.name
        return lambda rows: field_of(record(rows), name)
    raise scope.text.error(node, f"{node.sql(dialect='tsql')} is no column.")


# ---------------------------------------------------------------------- operators


def _binary(call: Callable[[Any, Any], Any]) -> Callable[[exp.Expression, Scope], Evaluate]:
    def compiler(node: exp.Expression, scope: Scope) -> Evaluate:
        left = compile_expression(node.this, scope)
        right = compile_expression(node.expression, scope)
        guarded = _guarded(scope.text.place(node), node.sql(dialect="tsql"), call)
        if any(isinstance(part, exp.Anonymous) for part in node.walk()):
            guarded = _guarded(scope.text.place(node), node.key.upper(), call)

        def evaluate(rows: Environment) -> Any:
            first, second = left(rows), right(rows)
            return None if first is None or second is None else guarded(first, second)

        return evaluate

    return compiler


def _equal(left: Any, right: Any) -> bool:
    if isinstance(left, (dict, list)) or isinstance(right, (dict, list)):
        return bool(frozen(left) == frozen(right))
    first, second = pair(left, right)
    return bool(first == second)


def _compared(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    return lambda left, right: compare(*pair(left, right))


def _numbers(left: Any, right: Any) -> tuple[int | float, int | float]:
    for value in (left, right):
        if not isinstance(value, (int, float, str)):
            raise ValueFailure(f"a {type_name(value)} is no number")
    return number_of(left), number_of(right)


def _checked(number: int | float) -> int | float:
    if isinstance(number, int):
        return bigint(number)
    if not math.isfinite(number):
        raise ValueFailure("the result is more than a float can hold")
    return number


def _add(left: Any, right: Any) -> Any:
    if isinstance(left, str) and isinstance(right, str):
        return left + right
    first, second = _numbers(left, right)
    return _checked(first + second)


def _subtract(left: Any, right: Any) -> Any:
    first, second = _numbers(left, right)
    return _checked(first - second)


def _multiply(left: Any, right: Any) -> Any:
    first, second = _numbers(left, right)
    return _checked(first * second)


def _divide(left: Any, right: Any) -> Any:
    first, second = _numbers(left, right)
    if second == 0:
        raise ValueFailure("division by zero")
    if isinstance(first, int) and isinstance(second, int):
        quotient = abs(first) // abs(second)
        return _checked(quotient if (first < 0) == (second < 0) else -quotient)
    return _checked(first / second)


def _remainder(left: Any, right: Any) -> Any:
    first, second = _numbers(left, right)
    if second == 0:
        raise ValueFailure("division by zero")
    if isinstance(first, int) and isinstance(second, int):
        return abs(first) % abs(second) * (-1 if first < 0 else 1)
    return math.fmod(first, second)


def _negative(node: exp.Expression, scope: Scope) -> Evaluate:
    value = compile_expression(node.this, scope)
    negate = _guarded(scope.text.place(node), "-", lambda number: -number_of(number))

    def evaluate(rows: Environment) -> Any:
        found = value(rows)
        return None if found is None else negate(found)

    return evaluate


def _and(node: exp.Expression, scope: Scope) -> Evaluate:
    left = compile_expression(node.this, scope)
    right = compile_expression(node.expression, scope)

    def evaluate(rows: Environment) -> Any:
        first = left(rows)
        if first is not None and not first:
            return False
        second = right(rows)
        if second is not None and not second:
            return False
        return None if first is None or second is None else True

    return evaluate


def _or(node: exp.Expression, scope: Scope) -> Evaluate:
    left = compile_expression(node.this, scope)
    right = compile_expression(node.expression, scope)

    def evaluate(rows: Environment) -> Any:
        first = left(rows)
        if first:
            return True
        second = right(rows)
        if second:
            return True
        return None if first is None or second is None else False

    return evaluate


def _not(node: exp.Expression, scope: Scope) -> Evaluate:
    condition = compile_expression(node.this, scope)

    def evaluate(rows: Environment) -> Any:
        found = condition(rows)
        return None if found is None else not found

    return evaluate


def _is(node: exp.Expression, scope: Scope) -> Evaluate:
    value = compile_expression(node.this, scope)
    if not isinstance(node.expression, exp.Null):
        raise scope.text.error(node, "IS compares with NULL only. Write =, IS NULL or IS NOT NULL.")
    return lambda rows: value(rows) is None


def _between(node: exp.Expression, scope: Scope) -> Evaluate:
    low = exp.GTE(this=node.this.copy(), expression=node.args["low"].copy())
    high = exp.LTE(this=node.this.copy(), expression=node.args["high"].copy())
    return _and(exp.And(this=low, expression=high), scope)


def _in(node: exp.Expression, scope: Scope) -> Evaluate:
    if node.args.get("query") is not None or not node.expressions:
        raise scope.text.error(node, "IN takes a list of values. Write a JOIN for a subquery.")
    value = compile_expression(node.this, scope)
    items = [compile_expression(item, scope) for item in node.expressions]
    equal = _guarded(scope.text.place(node), "IN", _equal)

    def evaluate(rows: Environment) -> Any:
        found = value(rows)
        if found is None:
            return None
        unknown = False
        for item in items:
            other = item(rows)
            if other is None:
                unknown = True
            elif equal(found, other):
                return True
        return None if unknown else False

    return evaluate


def _like(node: exp.Expression, scope: Scope) -> Evaluate:
    escape = None
    negated = bool(node.args.get("negate"))
    if isinstance(node, exp.Escape):
        escape, node = node.expression.name, node.this
        if not isinstance(node, exp.Like):
            raise scope.text.error(node, "ESCAPE belongs to LIKE.")
        negated = bool(node.args.get("negate"))
    value = compile_expression(node.this, scope)
    pattern = compile_expression(node.expression, scope)
    expressions: dict[str, str] = {}

    def evaluate(rows: Environment) -> Any:
        found, wanted = value(rows), pattern(rows)
        if found is None or wanted is None:
            return None
        text = text_of(wanted)
        if text not in expressions:
            expressions[text] = like_expression(text, escape)
        return (re.match(expressions[text], text_of(found)) is not None) != negated

    return evaluate


def _case(node: exp.Expression, scope: Scope) -> Evaluate:
    branches = []
    for branch in node.args["ifs"]:
        condition = branch.this
        if node.this is not None:
            condition = exp.EQ(this=node.this.copy(), expression=condition.copy())
        branches.append(
            (compile_expression(condition, scope), compile_expression(branch.args["true"], scope))
        )
    default = node.args.get("default")
    otherwise = _null(node, scope) if default is None else compile_expression(default, scope)

    def evaluate(rows: Environment) -> Any:
        for condition, value in branches:
            if condition(rows):
                return value(rows)
        return otherwise(rows)

    return evaluate


def _inner(node: exp.Expression, scope: Scope) -> Evaluate:
    return compile_expression(node.this, scope)


# ---------------------------------------------------------------------- functions


def _call(node: exp.Expression, scope: Scope) -> Evaluate:
    name = function_name(node) or ""
    upper = name.upper()
    special = _SPECIAL.get(upper)
    if special is not None:
        return special(node, scope)
    arguments = (
        [compile_expression(_plain(argument), scope) for argument in node.expressions]
        if (upper in FUNCTIONS or _python_function(name, scope) is not None)
        else []
    )
    python = _python_function(name, scope)
    if python is not None:
        return _python_call(node, scope, name, python, arguments)
    if upper not in FUNCTIONS:
        raise _unknown(node, scope, name)
    function = FUNCTIONS[upper]
    count, most = len(arguments), function.most
    if count < function.fewest or (most is not None and count > most):
        wanted = (
            f"{function.fewest} or more"
            if most is None
            else str(most)
            if most == function.fewest
            else f"{function.fewest} to {most}"
        )
        raise scope.text.error(node, f"{name} has {count} argument(s), and takes {wanted}.")
    call = _guarded(scope.text.place(node), name, function.call)
    if function.takes_null:
        return lambda rows: call(*(argument(rows) for argument in arguments))

    def evaluate(rows: Environment) -> Any:
        values = [argument(rows) for argument in arguments]
        return None if any(value is None for value in values) else call(*values)

    return evaluate


def _plain(argument: exp.Expression) -> exp.Expression:
    return argument.this if isinstance(argument, exp.Ordered) else argument


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


def _unknown(node: exp.Expression, scope: Scope, name: str) -> Exception:
    upper = name.upper()
    if upper in REFUSED:
        return scope.text.error(node, f"{name} is not supported. {REFUSED[upper]}")
    if upper.startswith("UDF."):
        known = ", ".join(scope.functions) or "none"
        return scope.text.error(
            node, f"there is no function {name[4:]!r} in udf, which has {known}."
        )
    if upper.startswith("UDA."):
        return scope.text.error(
            node,
            f"{name}: aggregates of your own are not supported. Write COLLECT(), and a udf over its array.",
        )
    if upper in _ONLY_OVER:
        return scope.text.error(node, f"{name} needs OVER (LIMIT DURATION(unit, length)).")
    if upper in _ROWS:
        return scope.text.error(node, f"{name} gives rows. Write CROSS APPLY {name}(...) AS name.")
    if upper in AGGREGATES:
        return scope.text.error(
            node,
            f"{name} is an aggregate function, which cannot be called here. Write GROUP BY with a window, or OVER"
            " (LIMIT DURATION(unit, length)).",
        )
    known_names = [*FUNCTIONS, *AGGREGATES, *_SPECIAL, *_ONLY_OVER, *_ROWS]
    near = get_close_matches(upper, known_names, 3)
    hint = (
        f" Near are {', '.join(near)}." if near else " Pass a Python function of that name in udf."
    )
    return scope.text.error(node, f"there is no function {name}.{hint}")


AGGREGATES = frozenset(
    [
        "COUNT",
        "COUNT_BIG",
        "SUM",
        "AVG",
        "MIN",
        "MAX",
        "STDEV",
        "STDEVP",
        "VAR",
        "VARP",
        "COLLECT",
        "COLLECTTOP",
        "TOPONE",
        "PERCENTILE_CONT",
        "PERCENTILE_DISC",
    ]
)
_ONLY_OVER = frozenset({"LAG", "LAST"})
_ROWS = frozenset({"GETARRAYELEMENTS", "GETRECORDPROPERTIES"})


def unit_of(node: exp.Expression, scope: Scope) -> str:
    """The unit of time that an argument names."""
    names = names_of(node)
    written_as = node.name if isinstance(node, exp.Literal) else (names or [""])[0]
    unit = dates.UNITS.get(written_as.lower())
    if unit is None or (names is not None and len(names) > 1):
        near = get_close_matches(written_as.lower(), dates.UNITS, 2)
        hint = f" Near are {', '.join(near)}." if near else ""
        raise scope.text.error(node, f"{written_as or node.sql()} is no unit of time.{hint}")
    return unit


def _arguments(node: exp.Expression, scope: Scope, fewest: int, most: int) -> list[exp.Expression]:
    found = list(node.expressions)
    if not fewest <= len(found) <= most:
        wanted = str(most) if fewest == most else f"{fewest} to {most}"
        raise scope.text.error(
            node, f"{function_name(node)} has {len(found)} argument(s), and takes {wanted}."
        )
    return found


def time_of(node: exp.Expression, scope: Scope) -> Evaluate:
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
        values = [time_of(argument, scope) for argument in rest]
        guarded = _guarded(scope.text.place(node), name, call)

        def evaluate(rows: Environment) -> Any:
            found = [value(rows) for value in values]
            return None if any(value is None for value in found) else guarded(unit, *found)

        return evaluate

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
    call = _guarded(scope.text.place(node), "CAST", cast)
    return lambda rows: call(value(rows), kind)


def _iif(node: exp.Expression, scope: Scope) -> Evaluate:
    condition, value, otherwise = (
        compile_expression(argument, scope) for argument in _arguments(node, scope, 3, 3)
    )
    return lambda rows: value(rows) if condition(rows) else otherwise(rows)


def _system_timestamp(node: exp.Expression, scope: Scope) -> Evaluate:
    return lambda rows: date_of(rows["@"])


def _system_window(node: exp.Expression, scope: Scope) -> Evaluate:
    if not scope.grouped:
        raise scope.text.error(node, "System.Window() needs GROUP BY with Windows(...).")
    return lambda rows: {"Id": rows["@window"]}


def _over(node: exp.Expression, scope: Scope) -> Evaluate:
    if isinstance(node.this, exp.Anonymous):
        raise _unknown(node.this, scope, function_name(node.this) or "")
    raise scope.text.error(node, "OVER follows a function.")


_SPECIAL: dict[str, Callable[[exp.Expression, Scope], Evaluate]] = {
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
    SYSTEM_TIMESTAMP: _system_timestamp,
    SYSTEM_WINDOW: _system_window,
}

_COMPILERS: dict[type[Any], Callable[[Any, Scope], Evaluate]] = {
    exp.Literal: _literal,
    exp.Null: _null,
    exp.Boolean: _boolean,
    exp.Column: _column,
    exp.Dot: _column,
    exp.Paren: _inner,
    exp.Neg: _negative,
    exp.Not: _not,
    exp.And: _and,
    exp.Or: _or,
    exp.EQ: _binary(_equal),
    exp.NEQ: _binary(lambda left, right: not _equal(left, right)),
    exp.GT: _binary(_compared(operator.gt)),
    exp.GTE: _binary(_compared(operator.ge)),
    exp.LT: _binary(_compared(operator.lt)),
    exp.LTE: _binary(_compared(operator.le)),
    exp.Add: _binary(_add),
    exp.Sub: _binary(_subtract),
    exp.Mul: _binary(_multiply),
    exp.Div: _binary(_divide),
    exp.Mod: _binary(_remainder),
    exp.Is: _is,
    exp.Between: _between,
    exp.In: _in,
    exp.Like: _like,
    exp.Escape: _like,
    exp.Case: _case,
    exp.Anonymous: _call,
    exp.Window: _over,
}

_OPERANDS = frozenset({"this", "expression", "expressions"})
OVER_PARTS = _OPERANDS | {"partition_by", "order", "over"}
"""The parts of a function with OVER."""
_PARTS: dict[type[Any], frozenset[str]] = {
    exp.Literal: _OPERANDS | {"is_string"},
    exp.Column: _OPERANDS | {"table", "db", "catalog"},
    exp.Between: _OPERANDS | {"low", "high"},
    exp.In: _OPERANDS | {"query"},
    exp.Like: _OPERANDS | {"negate"},
    exp.Case: _OPERANDS | {"ifs", "default"},
    exp.Div: _OPERANDS | {"typed", "safe"},
    exp.Window: OVER_PARTS,
}
"""The parts of a node that its compiler reads."""
