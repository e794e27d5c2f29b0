"""Compiles expressions of the query language to Python functions of the rows in scope."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from flinkish.compat.folds import HIGHEST
from flinkish.compat.stream_analytics.text import Place, Text, shown_sql, written
from flinkish.compat.stream_analytics.values import (
    Environment,
    Evaluate,
    ValueFailure,
    bigint,
    field_of,
    frozen,
    has_field,
    like_expression,
    number_of,
    pair,
    remainder,
    text_of,
    type_name,
)


@dataclass(frozen=True)
class Scope:
    """The names that the expressions of a SELECT may use."""

    text: Text
    sources: tuple[str, ...]
    """The names of the sources in lower case."""
    functions: Mapping[str, Callable[..., Any]]
    """Python functions by name."""
    computed: Mapping[str, str] = field(default_factory=dict)
    """By the text of an expression, the name under which its value is in the environment."""
    grouped: bool = False
    """Whether only what is computed may be named."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """By the lower-case name of a field of the only source, ``bigint`` or ``nvarchar``, if it is that or NULL in every
    event."""


OPERANDS = frozenset({"this", "expression", "expressions"})
OVER_PARTS = OPERANDS | {"partition_by", "order", "over"}
"""The parts of a function with OVER."""


def compile_expression(node: exp.Expression, scope: Scope) -> Evaluate:
    """The function that ``node`` stands for; raises IllegalArgumentError where it is none."""
    if scope.computed:
        slot = scope.computed.get(written(node))
        if slot is not None:
            return computed_value(slot)
    for kind in type(node).__mro__:
        compiler = COMPILERS.get(kind)
        if compiler is not None:
            refuse_others(node, PARTS.get(kind, OPERANDS), scope)
            return compiler(node, scope)
    raise scope.text.error(node, f"{shown_sql(node)} is not supported here.")


def computed_value(slot: str) -> Evaluate:
    """What the environment has under ``slot``."""
    return lambda rows: rows[slot]


def refuse_others(node: exp.Expression, known: frozenset[str], scope: Scope) -> None:
    """Raise IllegalArgumentError if ``node`` has parts that nothing here reads."""
    for name, part in node.args.items():
        if part and name not in known:
            first = part[0] if isinstance(part, list) else part
            place = first if isinstance(first, exp.Expression) else node
            said = shown_sql(place) if place is first else name.upper().strip("_")
            raise scope.text.error(place, f"{said} is not supported here.")


def constant(node: exp.Expression, scope: Scope) -> Any:
    """The value of an expression that names nothing; None of any other."""
    names = any(isinstance(part, (exp.Column, exp.Anonymous)) for part in node.walk())
    return None if names else compile_expression(node, scope)({})


def compile_condition(node: exp.Expression, scope: Scope) -> Callable[[Environment], bool]:
    """Whether a condition is true; it is not where it is NULL."""
    condition = compile_expression(node, scope)
    return lambda rows: bool(condition(rows))


def guard(place: Place, what: str, call: Callable[..., Any]) -> Callable[..., Any]:
    """``call`` whose failures say where they are."""

    def checked(*values: Any) -> Any:
        try:
            return call(*values)
        except ValueFailure as failure:
            raise place.error(f"{what}: {failure}.") from None

    return checked


_WHOLE = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod)


def kind_of(node: exp.Expression, scope: Scope) -> str | None:
    """``bigint`` or ``nvarchar`` if that, or NULL, is what an expression gives for every event; else None."""
    names = names_of(node)
    if names is not None and len(scope.sources) == 1:
        of_source = len(names) > 1 and names[0].lower() in scope.sources
        return scope.columns.get(".".join(names[of_source:]).lower())
    if isinstance(node, exp.Literal):
        fits = not node.is_string and node.name.isdigit() and int(node.name) <= HIGHEST
        return "bigint" if fits else None
    if isinstance(node, exp.Paren):
        return kind_of(node.this, scope)
    parts: list[exp.Expression | None] = []
    if isinstance(node, _WHOLE):
        parts = [node.this, node.expression]
    elif isinstance(node, exp.Case):
        parts = [*(branch.args["true"] for branch in node.args["ifs"]), node.args.get("default")]
    found = {kind_of(part, scope) for part in parts if part is not None}
    return "bigint" if found == {"bigint"} else None


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


def _path(value: Any, names: Sequence[str]) -> Any:
    for name in names:
        value = field_of(value, name)
    return value


def _column(node: exp.Expression, scope: Scope) -> Evaluate:
    names = names_of(node)
    if names is None:
        return _field_of_expression(node, scope)
    if scope.computed:
        slot = scope.computed.get(f"name:{'.'.join(names[1:]).lower()}")
        if slot is not None and names[0].lower() in scope.sources:
            return computed_value(slot)
        for length in range(len(names), 0, -1):
            slot = scope.computed.get(f"name:{'.'.join(names[:length]).lower()}")
            if slot is not None:
                rest = tuple(names[length:])
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
    names = tuple(names)
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
    raise scope.text.error(node, f"{shown_sql(node)} is no column.")


# ---------------------------------------------------------------------- operators


def _binary(call: Callable[[Any, Any], Any]) -> Callable[[exp.Expression, Scope], Evaluate]:
    def compiler(node: exp.Expression, scope: Scope) -> Evaluate:
        left = compile_expression(node.this, scope)
        right = compile_expression(node.expression, scope)
        calls = any(isinstance(part, exp.Anonymous) for part in node.walk())
        what = node.key.upper() if calls else node.sql(dialect="tsql")
        guarded = guard(scope.text.place(node), what, call)

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


def _arithmetic(call: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda left, right: _checked(call(*_numbers(left, right)))


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
        return remainder(abs(first), abs(second)) * (-1 if first < 0 else 1)
    return math.fmod(first, second)


def _unary(what: str, call: Callable[[Any], Any]) -> Callable[[exp.Expression, Scope], Evaluate]:
    def compiler(node: exp.Expression, scope: Scope) -> Evaluate:
        value = compile_expression(node.this, scope)
        guarded = guard(scope.text.place(node), what, call)

        def evaluate(rows: Environment) -> Any:
            found = value(rows)
            return None if found is None else guarded(found)

        return evaluate

    return compiler


def _logical(decisive: bool) -> Callable[[exp.Expression, Scope], Evaluate]:
    """AND, which a false operand decides, or OR, which a true one does."""

    def compiler(node: exp.Expression, scope: Scope) -> Evaluate:
        left = compile_expression(node.this, scope)
        right = compile_expression(node.expression, scope)

        def evaluate(rows: Environment) -> Any:
            first = left(rows)
            if first is not None and bool(first) == decisive:
                return decisive
            second = right(rows)
            if second is not None and bool(second) == decisive:
                return decisive
            return None if first is None or second is None else not decisive

        return evaluate

    return compiler


def _is(node: exp.Expression, scope: Scope) -> Evaluate:
    value = compile_expression(node.this, scope)
    if not isinstance(node.expression, exp.Null):
        raise scope.text.error(node, "IS compares with NULL only. Write =, IS NULL or IS NOT NULL.")
    return lambda rows: value(rows) is None


def _between(node: exp.Expression, scope: Scope) -> Evaluate:
    low = exp.GTE(this=node.this.copy(), expression=node.args["low"].copy())
    high = exp.LTE(this=node.this.copy(), expression=node.args["high"].copy())
    return _logical(False)(exp.And(this=low, expression=high), scope)


def _in(node: exp.Expression, scope: Scope) -> Evaluate:
    if node.args.get("query") is not None or not node.expressions:
        raise scope.text.error(node, "IN takes a list of values. Write a JOIN for a subquery.")
    value = compile_expression(node.this, scope)
    items = tuple(compile_expression(item, scope) for item in node.expressions)
    equal = guard(scope.text.place(node), "IN", _equal)

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
    ways = tuple(branches)

    def evaluate(rows: Environment) -> Any:
        for condition, value in ways:
            if condition(rows):
                return value(rows)
        return otherwise(rows)

    return evaluate


COMPILERS: dict[type[Any], Callable[[Any, Scope], Evaluate]] = {
    exp.Literal: _literal,
    exp.Null: _null,
    exp.Boolean: _boolean,
    exp.Column: _column,
    exp.Dot: _column,
    exp.Paren: lambda node, scope: compile_expression(node.this, scope),
    exp.Neg: _unary("-", lambda value: -number_of(value)),
    exp.Not: _unary("NOT", lambda value: not value),
    exp.And: _logical(False),
    exp.Or: _logical(True),
    exp.EQ: _binary(_equal),
    exp.NEQ: _binary(lambda left, right: not _equal(left, right)),
    exp.GT: _binary(_compared(lambda left, right: left > right)),
    exp.GTE: _binary(_compared(lambda left, right: left >= right)),
    exp.LT: _binary(_compared(lambda left, right: left < right)),
    exp.LTE: _binary(_compared(lambda left, right: left <= right)),
    exp.Add: _binary(_add),
    exp.Sub: _binary(_arithmetic(lambda left, right: left - right)),
    exp.Mul: _binary(_arithmetic(lambda left, right: left * right)),
    exp.Div: _binary(_divide),
    exp.Mod: _binary(_remainder),
    exp.Is: _is,
    exp.Between: _between,
    exp.In: _in,
    exp.Like: _like,
    exp.Escape: _like,
    exp.Case: _case,
}
"""By the kind of a node, what compiles it; ``calls`` adds its own."""

PARTS: dict[type[Any], frozenset[str]] = {
    exp.Literal: OPERANDS | {"is_string"},
    exp.Column: OPERANDS | {"table", "db", "catalog"},
    exp.Between: OPERANDS | {"low", "high"},
    exp.In: OPERANDS | {"query"},
    exp.Like: OPERANDS | {"negate"},
    exp.Case: OPERANDS | {"ifs", "default"},
    exp.Div: OPERANDS | {"typed", "safe"},
}
"""By the kind of a node, the parts that its compiler reads, if they are more than the operands."""
