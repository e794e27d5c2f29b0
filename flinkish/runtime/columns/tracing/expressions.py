"""The computation of a traced function, as expressions over columns: plain data, evaluated by
``expression_run``."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

Kind = Literal["int", "float", "bool", "str", "none", "opaque", "object", "unknown"]
"""The Python type of all values of an expression. Values of ``opaque`` are passed on, those of
``object`` are made by a call, and both are taken by calls; ``unknown`` is for tracing a function
before its input is known."""


@dataclass(frozen=True, eq=False)
class Column:
    """A column of the input."""

    number: int
    kind: Kind


@dataclass(frozen=True, eq=False)
class Accumulated:
    """A field of the accumulator that the function was called with."""

    number: int
    kind: Kind


@dataclass(frozen=True, eq=False)
class Constant:
    """A Python value."""

    value: Any
    kind: Kind


@dataclass(frozen=True, eq=False)
class Operation:
    """An operation on one or two values; ``name`` is that of its kernel."""

    name: str
    arguments: tuple[Expression, ...]
    kind: Kind


@dataclass(frozen=True, eq=False)
class Call:
    """A Python function that is called for each element."""

    function: Any
    arguments: tuple[Expression, ...]
    kind: Kind


@dataclass(frozen=True, eq=False)
class Choice:
    """One of two values, depending on a condition."""

    condition: Expression
    then: Expression
    otherwise: Expression
    kind: Kind


Expression: TypeAlias = Column | Accumulated | Constant | Operation | Call | Choice


class Step(NamedTuple):
    """An operation, and the outcomes of the conditions that lead to it."""

    path: tuple[tuple[Expression, bool], ...]
    operation: Expression

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """The operation and the conditions."""
        return (self.operation, *(condition for condition, _ in self.path))


PYTHON_TYPES: dict[Kind, type] = {"int": int, "float": float, "bool": bool, "str": str}
"""The class of the values of a kind."""


NUMBERS = ("int", "float", "bool")

COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
"""Python's function for each comparison operator."""

MIRRORED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
"""The comparison of the same operands in the other order."""


RAISE = "raise"
"""The name of the operation of a path on which a function raises an exception."""


class Expressions:
    """Creates expressions. Equal expressions are one object, so that each is evaluated once."""

    def __init__(self) -> None:
        self._made: dict[tuple[Any, ...], Expression] = {}

    def column(self, number: int, kind: Kind) -> Expression:
        return self._one(("column", number), Column(number, kind))

    def accumulated(self, number: int, kind: Kind) -> Expression:
        return self._one(("accumulated", number), Accumulated(number, kind))

    def constant(self, value: Any, kind: Kind) -> Expression:
        """A Python value. The key is its repr, which differs for 0.0 and -0.0, and for 1 and
        True."""
        return self._one(("constant", kind, repr(value)), Constant(value, kind))

    def operation(self, name: str, kind: Kind, *arguments: Expression) -> Expression:
        key = (name, kind, *map(id, arguments))
        return self._one(key, Operation(name, arguments, kind))

    def call(self, function: Any, kind: Kind, *arguments: Expression) -> Expression:
        """A Python function that is called for each element."""
        return self._one(
            ("call", id(function), *map(id, arguments)), Call(function, arguments, kind)
        )

    def choice(self, condition: Expression, then: Expression, otherwise: Expression) -> Expression:
        """One of two values. If their kinds differ, the values chosen in a run must all be of one
        kind."""
        if then is otherwise:
            return then
        if condition.kind == "bool" and _is(then, True) and _is(otherwise, False):
            # A column of bools may have nulls, which are falsy
            if isinstance(condition, Column):
                return self.operation("truth", "bool", condition)
            return condition
        kind = then.kind if then.kind == otherwise.kind else "unknown"
        key = ("choice", id(condition), id(then), id(otherwise))
        return self._one(key, Choice(condition, then, otherwise, kind))

    def as_float(self, value: Expression) -> Expression:
        """A number as float, as Python converts an operand of float arithmetic."""
        if value.kind == "float":
            return value
        if isinstance(value, Choice):
            return self.choice(
                value.condition, self.as_float(value.then), self.as_float(value.otherwise)
            )
        return self.operation("float", "float", value)

    def truth(self, value: Expression) -> Expression:
        if value.kind in ("bool", "unknown"):
            return value
        return self.operation("truth", "bool", value)

    def replaced(self, within: Expression, old: Expression, new: Expression) -> Expression:
        """``within`` with ``old`` replaced by ``new``. Sums of constants become constants, as in a
        trace, where Python computes them."""
        if within is old:
            return new
        parts = [self.replaced(part, old, new) for part in parts_of(within)]
        if isinstance(within, Operation):
            constants = [part.value for part in parts if isinstance(part, Constant)]
            if within.kind == "int" and within.name in "+-" and len(constants) == 2:
                first, second = constants
                return self.constant(
                    first + second if within.name == "+" else first - second, "int"
                )
            return self.operation(within.name, within.kind, *parts)
        if isinstance(within, Call):
            return self.call(within.function, within.kind, *parts)
        return self.choice(*parts) if isinstance(within, Choice) else within

    def _one(self, key: tuple[Any, ...], made: Expression) -> Expression:
        return self._made.setdefault(key, made)


def _is(expression: Expression, value: bool) -> bool:
    return isinstance(expression, Constant) and expression.value is value


def parts_of(expression: Expression) -> tuple[Expression, ...]:
    if isinstance(expression, (Operation, Call)):
        return expression.arguments
    if isinstance(expression, Choice):
        return expression.condition, expression.then, expression.otherwise
    return ()


def objects_of(expression: Expression) -> frozenset[Expression]:
    """The expressions whose value may be the same object as that of ``expression``: the branches of
    a choice, or itself. Only floats count, and values of an unknown kind: for the others, equality
    decides."""
    if isinstance(expression, Choice):
        return objects_of(expression.then) | objects_of(expression.otherwise)
    return frozenset({expression} if expression.kind in ("float", "unknown") else ())


def leaves(*expressions: Expression) -> list[Expression]:
    """All columns, constants and accumulator fields in ``expressions``, each once."""
    found: list[Expression] = []
    seen: set[int] = set()
    remaining = list(expressions)
    while remaining:
        expression = remaining.pop()
        if id(expression) not in seen:
            seen.add(id(expression))
            parts = parts_of(expression)
            remaining.extend(parts)
            if not parts:
                found.append(expression)
    return found


def columns_read(*expressions: Expression) -> set[int]:
    return {leaf.number for leaf in leaves(*expressions) if isinstance(leaf, Column)}


def folds(expression: Expression) -> bool:
    """Whether ``expression`` depends on the accumulator."""
    return any(isinstance(leaf, Accumulated) for leaf in leaves(expression))
