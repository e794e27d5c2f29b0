"""What a traced function computes, as expressions over columns: data without any engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

Kind = Literal["int", "float", "bool", "str", "none", "opaque", "unknown"]
"""The Python type of all values of an expression. ``opaque`` ones are only handed on; ``unknown`` is
for a look at a function before its input is known."""


@dataclass(frozen=True, eq=False)
class Column:
    """A column of the input."""

    number: int
    kind: Kind


@dataclass(frozen=True, eq=False)
class Accumulated:
    """A part of the accumulator that the function was given."""

    number: int
    kind: Kind


@dataclass(frozen=True, eq=False)
class Constant:
    """A value of Python."""

    value: Any
    kind: Kind


@dataclass(frozen=True, eq=False)
class Operation:
    """An operation on one value or two, by the name of its kernel."""

    name: str
    arguments: tuple[Expression, ...]
    kind: Kind


@dataclass(frozen=True, eq=False)
class Call:
    """A function of Python, called for each element."""

    function: Any
    arguments: tuple[Expression, ...]
    kind: Kind


@dataclass(frozen=True, eq=False)
class Choice:
    """One of two values, by a condition."""

    condition: Expression
    then: Expression
    otherwise: Expression
    kind: Kind


Expression: TypeAlias = Column | Accumulated | Constant | Operation | Call | Choice

PYTHON_TYPES: dict[Kind, type] = {"int": int, "float": float, "bool": bool, "str": str}
"""The class of the values of a kind."""


NUMBERS = ("int", "float", "bool")


class Expressions:
    """Makes expressions; equal ones are one object, so that each is computed once."""

    def __init__(self) -> None:
        self._made: dict[tuple[Any, ...], Expression] = {}

    def column(self, number: int, kind: Kind) -> Expression:
        """A column of the input."""
        return self._one(("column", number), Column(number, kind))

    def accumulated(self, number: int, kind: Kind) -> Expression:
        """A part of the accumulator."""
        return self._one(("accumulated", number), Accumulated(number, kind))

    def constant(self, value: Any, kind: Kind) -> Expression:
        """A value of Python. Its repr tells 0.0 from -0.0, and 1 from True."""
        return self._one(("constant", kind, repr(value)), Constant(value, kind))

    def operation(self, name: str, kind: Kind, *arguments: Expression) -> Expression:
        """An operation."""
        key = (name, kind, *map(id, arguments))
        return self._one(key, Operation(name, arguments, kind))

    def call(self, function: Any, kind: Kind, *arguments: Expression) -> Expression:
        """A function of Python for each element."""
        return self._one(
            ("call", id(function), *map(id, arguments)), Call(function, arguments, kind)
        )

    def choice(self, condition: Expression, then: Expression, otherwise: Expression) -> Expression:
        """One of two values; kinds that differ must agree in a run."""
        if then is otherwise:
            return then
        if condition.kind == "bool" and _is(then, True) and _is(otherwise, False):
            # A column of bools may have nulls, whose truth is False
            if isinstance(condition, Column):
                return self.operation("truth", "bool", condition)
            return condition
        kind = then.kind if then.kind == otherwise.kind else "unknown"
        key = ("choice", id(condition), id(then), id(otherwise))
        return self._one(key, Choice(condition, then, otherwise, kind))

    def as_float(self, value: Expression) -> Expression:
        """A number as float, as Python converts it where it meets one."""
        if value.kind == "float":
            return value
        if isinstance(value, Choice):
            return self.choice(
                value.condition, self.as_float(value.then), self.as_float(value.otherwise)
            )
        return self.operation("float", "float", value)

    def truth(self, value: Expression) -> Expression:
        """``bool(value)``."""
        if value.kind in ("bool", "unknown"):
            return value
        return self.operation("truth", "bool", value)

    def replaced(self, within: Expression, old: Expression, new: Expression) -> Expression:
        """``within`` with ``new`` in the place of ``old``; sums of constants are constants, as Python computes them
        before there is an expression."""
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
    """The expressions that it is computed of."""
    if isinstance(expression, (Operation, Call)):
        return expression.arguments
    if isinstance(expression, Choice):
        return expression.condition, expression.then, expression.otherwise
    return ()


def objects_of(expression: Expression) -> frozenset[Expression]:
    """What may be the object that it is: one of those that it chooses from, or itself; not an int, text or bool,
    where the same object is an equal one."""
    if isinstance(expression, Choice):
        return objects_of(expression.then) | objects_of(expression.otherwise)
    return frozenset({expression} if expression.kind in ("float", "unknown") else ())


def leaves(*expressions: Expression) -> list[Expression]:
    """All columns, constants and parts of accumulators in them, each once."""
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
    """The numbers of the columns in them."""
    return {leaf.number for leaf in leaves(*expressions) if isinstance(leaf, Column)}


def folds(expression: Expression) -> bool:
    """Whether it depends on the accumulator."""
    return any(isinstance(leaf, Accumulated) for leaf in leaves(expression))
