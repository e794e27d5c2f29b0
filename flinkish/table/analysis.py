"""Turns the parts of a query into typed expressions, as Flink's planner does, and refuses
expressions that are not known to give Flink's results."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import reduce
from typing import Any, NoReturn, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from flinkish.api.errors import IllegalArgumentError
from flinkish.table import collection_functions as collection
from flinkish.table import json_functions as jsons
from flinkish.table import refusals
from flinkish.table import text_functions as texts
from flinkish.table import time_functions as times
from flinkish.table.arithmetic import (
    HEX,
    NEGATE,
    ROUND,
    TRUNCATE,
    Arithmetic,
    arithmetic_type,
    common_number,
    to_number,
)
from flinkish.table.casts import cast_kernel, tried
from flinkish.table.data_types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INT,
    MILLISECONDS,
    MONTHS,
    NULL,
    STRING,
    UNBOUNDED,
    DataType,
    DataTypes,
)
from flinkish.table.expressions import (
    Arrow,
    Call,
    Case,
    Coalesce,
    ColumnRead,
    Connection,
    Expression,
    Kernel,
    Literal,
    RowByRow,
    Values,
)
from flinkish.table.functions import FUNCTIONS, accepts
from flinkish.table.text import Text
from flinkish.table.user_functions import UserFunction

Node: TypeAlias = exp.Expr


@dataclass(frozen=True)
class Column:
    """A column that expressions may name. ``rowtime``: whether the column is the time attribute."""

    name: str
    type: DataType
    table: str | None = None
    rowtime: bool = False


@dataclass(frozen=True)
class Scope:
    """The names that the expressions of a query may use."""

    text: Text
    columns: tuple[Column, ...]
    functions: Mapping[str, UserFunction] = field(default_factory=dict)


def common_type(types: Sequence[DataType]) -> DataType | None:
    """The common type of all ``types``, None if they have none."""
    nullable = any(kind.nullable for kind in types)
    known = [kind.nullableIf(nullable) for kind in types if kind.name != "NULL"]
    if not known:
        return NULL
    found = known[0]
    for other in known[1:]:
        common = _common(found, other)
        if common is None:
            return None
        found = common
    return found.nullableIf(nullable or len(known) < len(types))


def _common(one: DataType, other: DataType) -> DataType | None:
    if one == other:
        return one
    if one.isNumeric and other.isNumeric:
        return common_number(one, other)
    if one.isText and other.isText:
        return DataType("VARCHAR", max(one.precision, other.precision), nullable=one.nullable)
    if one.name == other.name and (one.isTimestamp or one.name == "TIME"):
        return one if one.precision >= other.precision else other
    if one.name == other.name and one.children and len(one.children) == len(other.children):
        children = [common_type([a, b]) for a, b in zip(one.children, other.children)]
        known = tuple(child for child in children if child is not None)
        if len(known) == len(children):
            return replace(one, children=known)
    return None


def comparable(one: DataType, other: DataType) -> bool:
    """Whether values of two types can be compared with Flink's results."""
    if "NULL" in (one.name, other.name):
        return True
    if one.children or other.children:
        return False
    return (
        (one.isNumeric and other.isNumeric)
        or (one.isText and other.isText)
        or one.name == other.name
    )


def _widest(kind: DataType, values: Sequence[Expression]) -> DataType:
    """DOUBLE if one of ``values`` has that type; operators take the type of their first operand, as
    in Calcite."""
    double = kind.name == "FLOAT" and any(value.type.name == "DOUBLE" for value in values)
    return DOUBLE.nullableIf(kind.nullable) if double else kind


class Analyser:
    """Turns nodes of a query into expressions."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._text = scope.text

    def expression(self, node: Node) -> Expression:
        """The expression of ``node``."""
        make = _NODES.get(type(node))
        if make is None:
            if isinstance(node, (exp.Subquery, exp.Select, exp.Exists)):
                self._text.refuse(node, "a query inside an expression", refusals.SUBQUERY)
            if isinstance(node, exp.Window):
                self._text.refuse(node, "OVER", refusals.OVER)
            self._unsupported(node, type(node).__name__.upper())
        return make(self, node)

    def condition(self, node: Node) -> Expression:
        """The expression of a condition."""
        found = self.expression(node)
        if found.type.name not in ("BOOLEAN", "NULL"):
            self._text.fail(node, f"a condition has to be BOOLEAN, and this is {found.type}.")
        return found

    def _unsupported(self, node: Node, what: str) -> NoReturn:
        self._text.refuse(
            node,
            what,
            "Write a map(...) before the view or behind toDataStream(table), or a function of your own with"
            " createTemporaryFunction. docs/table.md lists what there is.",
        )

    def _call(
        self,
        node: Node,
        name: str,
        kind: DataType,
        kernel: Kernel,
        *arguments: Expression,
        fails: bool = False,
    ) -> Expression:
        return Call(kind, name, arguments, kernel, self._text.place(node), fails)

    # ------------------------------------------------------------------ names and constants

    def column(self, node: exp.Column) -> Expression:
        """A column by its name, or a field of a row."""
        parts = [part.name for part in node.parts]
        if (
            len(parts) == 1
            and parts[0].upper() in refusals.CLOCK
            and not node.this.args.get("quoted")
        ):
            self._text.refuse(node, parts[0].upper(), refusals.VALUE_OF_CLOCK)
        for qualified in (True, False):
            if qualified and len(parts) == 1:
                continue
            found = self._named(node, parts[0] if qualified else None, parts[1 if qualified else 0])
            if found is not None:
                for name in parts[2 if qualified else 1 :]:
                    found = self._field(node, found, name)
                return found
        there = ", ".join(column.name for column in self._scope.columns)
        return self._text.fail(
            node, f"there is no column {'.'.join(parts)!r}. The columns are {there}."
        )

    def _named(self, node: Node, table: str | None, name: str) -> Expression | None:
        found = [
            (number, column)
            for number, column in enumerate(self._scope.columns)
            if column.name == name and table in (None, column.table)
        ]
        if len(found) > 1:
            self._text.fail(
                node, f"the column {name!r} is ambiguous. Write the name of its table before it."
            )
        return ColumnRead(found[0][1].type, found[0][0]) if found else None

    def _field(self, node: Node, value: Expression, name: str) -> Expression:
        if value.type.name != "ROW" or name not in value.type.fields:
            self._text.fail(node, f"{value.type} has no field {name!r}.")
        kind = value.type.children[value.type.fields.index(name)]
        kind = kind.nullableIf(kind.nullable or value.type.nullable)
        return self._call(node, name, kind, RowByRow(collection.field_at, typed=True), value)

    def dot(self, node: exp.Dot) -> Expression:
        """A field of an expression that is a row."""
        return self._field(node, self.expression(node.this), node.expression.name)

    def literal(self, node: exp.Literal) -> Expression:
        """A string or a number."""
        text = node.this
        if node.is_string:
            return Literal(DataType("CHAR", len(text), nullable=False), text)
        if "e" in text.lower():
            return Literal(DOUBLE.notNull(), float(text))
        if "." in text:
            value = Decimal(text)
            scale = len(text.partition(".")[2])
            digits = max(len(value.as_tuple().digits), scale + 1)
            return Literal(DataType("DECIMAL", digits, scale, nullable=False), value)
        number = int(text)
        if number >= 2**63:
            self._text.fail(
                node, "the number is larger than a BIGINT. Write it with a decimal point."
            )
        return Literal((INT if number < 2**31 else BIGINT).notNull(), number)

    def boolean(self, node: exp.Boolean) -> Expression:
        """TRUE or FALSE."""
        return Literal(BOOLEAN.notNull(), bool(node.this))

    def null(self, node: exp.Null) -> Expression:
        """NULL."""
        return Literal(NULL, None)

    def typed_literal(self, node: exp.Cast) -> Expression:
        """``DATE '...'`` and the like, the only casts that are not parsed as functions in this
        dialect."""
        kind = node.to.sql().upper()
        value = times.read_literal(kind, node.this.this) if node.this.is_string else None
        if value is None:
            self._text.fail(
                node,
                f"this is no {kind}. Write it as in DATE '2024-02-29' or TIMESTAMP '2024-02-29 12:34:56'.",
            )
        fraction = len(node.this.this.partition(".")[2])
        return Literal(DataType(kind, 0 if kind == "DATE" else fraction, nullable=False), value)

    def parenthesised(self, node: exp.Paren) -> Expression:
        """``(...)``."""
        return self.expression(node.this)

    # ------------------------------------------------------------------ operators

    def arithmetic(self, node: exp.Binary) -> Expression:
        """``+ - * / %``."""
        operator = _OPERATORS[type(node)]
        if operator in "+-" and isinstance(node.expression, exp.Interval):
            return self._moved(node, operator)
        one, other = self.expression(node.this), self.expression(node.expression)
        if not (one.type.isNumeric and other.type.isNumeric):
            self._text.fail(
                node,
                f"{operator} takes two numbers, and these are {one.type} and {other.type}. Write a CAST.",
            )
        if operator == "%" and (one.type.isApproximate or other.type.isApproximate):
            self._text.fail(node, "% takes exact numbers. Cast them to DECIMAL.")
        return self._arithmetic(node, operator, one, other)

    def _arithmetic(
        self, node: Node, operator: str, one: Expression, other: Expression
    ) -> Expression:
        kind = arithmetic_type(operator, one.type, other.type)
        fails = operator in "/%" and not kind.isApproximate and not _not_zero(other)
        return self._call(node, operator, kind, Arithmetic(operator), one, other, fails=fails)

    def _moved(self, node: exp.Binary, operator: str) -> Expression:
        value, length = self.expression(node.this), self.interval(node.expression)
        if not accepts("time", value.type):
            self._text.fail(node, f"an interval is added to a time, and this is {value.type}.")
        if operator == "-":
            length = replace(length, value=-length.value)
        return self._later(node, value, length)

    def _later(self, node: Node, value: Expression, length: Expression) -> Expression:
        kind = value.type.nullableIf(value.type.nullable or length.type.nullable)
        months = length.type.name == MONTHS.name
        if months and kind.name == "TIME":
            self._text.fail(node, "months cannot be added to a TIME.")
        if kind.isTimestamp and not months and kind.precision < 3 and not _whole_seconds(length):
            kind = replace(kind, precision=3)
        move = times.plus_months if months else times.plus_millis
        return self._call(node, "+", kind, RowByRow(move), value, length, fails=True)

    def interval(self, node: exp.Interval) -> Literal:
        """``INTERVAL '1' DAY``, in months or ms."""
        value, sign, unit = node.this, 1, node.args.get("unit")
        if isinstance(value, exp.Neg):
            value, sign = value.this, -1
        if isinstance(unit, exp.IntervalSpan):
            names = (unit.this.name, unit.expression.name)
        else:
            names = (unit.name if unit else "", None)
        begin, end = (name.upper() if name else None for name in names)
        found = (
            times.interval(value.name, begin or "", end) if isinstance(value, exp.Literal) else None
        )
        if found is None:
            self._text.fail(
                node,
                "the interval cannot be read. Write one such as INTERVAL '90' MINUTE, or '1 02:03:04' DAY TO SECOND.",
            )
        months, length = found
        return Literal((MONTHS if months else MILLISECONDS).notNull(), sign * length)

    def interval_alone(self, node: exp.Interval) -> Expression:
        """An interval that is not added to anything."""
        self._unsupported(node, "an INTERVAL as a value")

    def negation(self, node: exp.Neg) -> Expression:
        """``-x``."""
        value = self.expression(node.this)
        if isinstance(value, Literal) and value.type.isNumeric:
            return replace(value, value=-value.value)
        if not value.type.isNumeric:
            self._text.fail(node, f"- takes a number, and this is {value.type}.")
        return self._call(node, "-", value.type, NEGATE, value)

    def concatenation(self, node: exp.DPipe) -> Expression:
        """``||``."""
        parts = [self.expression(part) for part in node.flatten()]
        if not all(part.type.isText for part in parts):
            self._text.fail(
                node,
                f"|| takes texts, and these are {', '.join(str(part.type) for part in parts)}. Write a CAST.",
            )
        return reduce(lambda one, other: self._joined(node, one, other), parts)

    def _joined(self, node: Node, one: Expression, other: Expression) -> Expression:
        nullable = one.type.nullable or other.type.nullable
        length = one.type.precision + other.type.precision
        name = "CHAR" if one.type.name == other.type.name == "CHAR" else "VARCHAR"
        unbounded = UNBOUNDED in (one.type.precision, other.type.precision)
        kind = STRING if unbounded else DataType(name, length)
        return self._call(node, "||", kind.nullableIf(nullable), texts.concat, one, other)

    def comparison(self, node: exp.Binary) -> Expression:
        """``= <> < <= > >=``."""
        if isinstance(node, exp.NEQ) and "!=" in self._between(node):
            self._text.fail(node, "write <> for !=, which Flink's SQL does not have.")
        return self.compared(
            node,
            _COMPARISONS[type(node)],
            self.expression(node.this),
            self.expression(node.expression),
        )

    def _between(self, node: exp.Binary) -> str:
        left = [part.meta["end"] for part in node.this.walk() if "end" in part.meta]
        right = [part.meta["start"] for part in node.expression.walk() if "start" in part.meta]
        return self._text.sql[max(left) : min(right)] if left and right else ""

    def compared(self, node: Node, name: str, one: Expression, other: Expression) -> Expression:
        """A comparison of two values."""
        if not comparable(one.type, other.type):
            self._text.fail(node, f"{one.type} and {other.type} cannot be compared. Write a CAST.")
        if one.type.isTimestamp != other.type.isTimestamp:
            self._text.fail(node, f"{one.type} and {other.type} cannot be compared. Write a CAST.")
        kind = BOOLEAN.nullableIf(one.type.nullable or other.type.nullable)
        if isinstance(one, ColumnRead) and one == other:
            # Calcite folds this to a constant, also for NaN
            return self._call(node, name, kind, _SameColumn(name in _OF_EQUALS), one)
        return self._call(node, name, kind, _Comparison(name), one, other)

    def connection(self, node: exp.Connector) -> Expression:
        """AND and OR."""
        one, other = self.condition(node.this), self.condition(node.expression)
        kind = BOOLEAN.nullableIf(one.type.nullable or other.type.nullable)
        return Connection(kind, one, other, isinstance(node, exp.Or))

    def not_(self, node: exp.Not) -> Expression:
        """NOT."""
        inner = node.this
        value = self.condition(inner)
        if isinstance(inner, exp.Is) and isinstance(value, Call) and value.name == "IS JSON":
            return self._call(node, "NOT", value.type, Arrow("invert"), value)
        return self._call(node, "NOT", BOOLEAN.nullableIf(value.type.nullable), _invert, value)

    def is_(self, node: exp.Is) -> Expression:
        """``IS NULL``, ``IS TRUE``, ``IS JSON``."""
        value, what = self.expression(node.this), node.expression
        if isinstance(what, exp.Null):
            return self._call(node, "IS NULL", BOOLEAN.notNull(), _is_null, value)
        if isinstance(what, exp.Boolean):
            truth = bool(what.this)
            return self._call(
                node, "IS TRUE", BOOLEAN.notNull(), _is_true if truth else _is_false, value
            )
        if isinstance(what, exp.JSON) and value.type.isText:
            kind = str(what.this or "VALUE").upper()
            kind = "VALUE" if kind in ("FALSE", "NONE") else kind
            return self._call(node, "IS JSON", BOOLEAN.notNull(), jsons.is_json(kind), value)
        return self._unsupported(node, "this kind of IS")

    def distinct_from(self, node: exp.Binary) -> Expression:
        """``IS [NOT] DISTINCT FROM``."""
        one, other = self.expression(node.this), self.expression(node.expression)
        if not comparable(one.type, other.type):
            self._text.fail(node, f"{one.type} and {other.type} cannot be compared. Write a CAST.")
        same = isinstance(node, exp.NullSafeEQ)
        return self._call(node, "IS DISTINCT FROM", BOOLEAN.notNull(), _Distinct(same), one, other)

    def between(self, node: exp.Between) -> Expression:
        """``BETWEEN``."""
        value = self.expression(node.this)
        low, high = self.expression(node.args["low"]), self.expression(node.args["high"])
        at_least = self.compared(node, "greater_equal", value, low)
        at_most = self.compared(node, "less_equal", value, high)
        kind = BOOLEAN.nullableIf(at_least.type.nullable or at_most.type.nullable)
        return Connection(kind, at_least, at_most, False)

    def in_(self, node: exp.In) -> Expression:
        """``IN (...)``."""
        if node.args.get("query") is not None:
            self._text.refuse(node, "IN with a query", refusals.SUBQUERY)
        value = self.expression(node.this)
        tests = [
            self.compared(node, "equal", value, self.expression(option))
            for option in node.expressions
        ]
        return reduce(
            lambda one, other: Connection(
                BOOLEAN.nullableIf(one.type.nullable or other.type.nullable), one, other, True
            ),
            tests,
        )

    def like(self, node: exp.Like, escape: Expression | None = None) -> Expression:
        """``LIKE``."""
        arguments = [self.expression(node.this), self.expression(node.expression)]
        if not all(argument.type.isText for argument in arguments):
            self._text.fail(node, "LIKE takes texts. Write a CAST.")
        arguments += [] if escape is None else [escape]
        kind = BOOLEAN.nullableIf(any(argument.type.nullable for argument in arguments))
        fails = escape is not None
        found = self._call(node, "LIKE", kind, texts.like_kernel, *arguments, fails=fails)
        return self._call(node, "NOT", kind, _invert, found) if node.args.get("negate") else found

    def escape(self, node: exp.Escape) -> Expression:
        """``LIKE ... ESCAPE``."""
        if not isinstance(node.this, exp.Like):
            self._unsupported(node, "ESCAPE")
        return self.like(node.this, self.expression(node.expression))

    # ------------------------------------------------------------------ conditions

    def case(self, node: exp.Case) -> Expression:
        """``CASE``."""
        subject = node.args.get("this")
        conditions, results = [], []
        for branch in node.args["ifs"]:
            if subject is None:
                conditions.append(self.condition(branch.this))
            else:
                value = self.expression(subject)
                conditions.append(
                    self.compared(branch, "equal", value, self.expression(branch.this))
                )
            results.append(self.expression(branch.args["true"]))
        default = node.args.get("default")
        results.append(Literal(NULL, None) if default is None else self.expression(default))
        return self._case(node, conditions, results)

    def _case(
        self, node: Node, conditions: list[Expression], results: list[Expression]
    ) -> Expression:
        kind = self._common(node, results)
        return Case(kind, tuple(conditions), tuple(self.converted(node, r, kind) for r in results))

    def _common(self, node: Node, values: Sequence[Expression]) -> DataType:
        kind = common_type([value.type for value in values])
        if kind is None:
            listed = ", ".join(str(value.type) for value in values)
            self._text.fail(node, f"the values have no common type: {listed}. Write a CAST.")
        return kind

    def if_(self, node: exp.If) -> Expression:
        """``IF(condition, value, other)``."""
        arguments = [node.this, node.args.get("true"), node.args.get("false")]
        if None in arguments:
            self._text.fail(node, "IF takes a condition and two values.")
        condition = self.condition(arguments[0])
        results = [self.expression(argument) for argument in arguments[1:]]
        found = self._case(node, [condition], results)
        return replace(found, type=found.type.nullableIf(True))

    def converted(self, node: Node, value: Expression, kind: DataType) -> Expression:
        """``value`` converted to ``kind``, the common type of several values."""
        if value.type.nullableIf(True) == kind.nullableIf(True):
            return value
        if value.type.isText and kind.isText and kind.name == "VARCHAR":
            return value
        found = cast_kernel(value.type, kind)
        if found is None and value.type.children:
            self._unsupported(node, f"{value.type} as {kind}")
        assert found is not None, (value.type, kind)
        return self._call(node, "CAST", kind.nullableIf(value.type.nullable), found[0], value)

    # ------------------------------------------------------------------ functions

    def function(self, node: exp.Anonymous) -> Expression:
        """A function by its name."""
        name = node.name.upper()
        own = self._scope.functions.get(node.name) or self._scope.functions.get(name.lower())
        if own is not None:
            return self._user_function(node, own)
        if name in refusals.AGGREGATES:
            self._text.refuse(node, name, refusals.GROUP)
        if name in refusals.CLOCK:
            self._text.refuse(node, name, refusals.VALUE_OF_CLOCK)
        special = _SPECIAL.get(name)
        if special is not None:
            return special(self, node, node.expressions)
        return self._of_values(node, name, [self.expression(part) for part in node.expressions])

    def _of_values(self, node: Node, name: str, arguments: list[Expression]) -> Expression:
        function = FUNCTIONS.get(name)
        if function is None:
            self._unsupported(node, f"the function {name}")
        if not function.accepts(len(arguments)):
            self._text.fail(node, f"{name} does not take {len(arguments)} arguments.")
        for number, argument in enumerate(arguments):
            takes = function.takes[min(number, len(function.takes) - 1)]
            if not accepts(takes, argument.type):
                self._text.fail(
                    node,
                    f"argument {number + 1} of {name} has to be a {takes}, and is {argument.type}. Write a CAST.",
                )
        types = [argument.type for argument in arguments]
        nullable = function.nullable
        if nullable is None:
            nullable = any(kind.nullable for kind in types)
        kind = function.result(types).nullableIf(nullable)
        return self._call(node, name, kind, function.kernel, *arguments, fails=function.fails)

    def _user_function(self, node: exp.Anonymous, function: UserFunction) -> Expression:
        arguments = [self.expression(part) for part in node.expressions]
        types = function.inputTypes
        if types is not None and len(types) != len(arguments):
            self._text.fail(node, f"{node.name} takes {len(types)} arguments.")
        for argument, kind in zip(arguments, types or ()):
            if common_type([argument.type, kind]) is None:
                self._text.fail(
                    node, f"{node.name} takes a {kind}, and this is {argument.type}. Write a CAST."
                )
        kinds = types or [argument.type for argument in arguments]
        converted = [self.converted(node, value, kind) for value, kind in zip(arguments, kinds)]
        return self._call(
            node, node.name, function.resultType, function.kernel(node.name), *converted, fails=True
        )

    def cast(self, node: Node, parts: Sequence[Node], trying: bool = False) -> Expression:
        """``CAST`` and ``TRY_CAST``."""
        value, text = self.expression(parts[0]), parts[1].name
        try:
            wanted = DataTypes.of(text.strip())
        except IllegalArgumentError as error:
            self._text.fail(node, str(error))
        if value.type.isText and wanted.isTimestamp and trying and wanted.name == "TIMESTAMP_LTZ":
            self._unsupported(node, "TRY_CAST of a text to TIMESTAMP_LTZ")
        found = cast_kernel(value.type, wanted)
        if found is None:
            self._text.refuse(
                node,
                f"a cast of {value.type} to {wanted}",
                "Cast in two steps, or write a map(...).",
            )
        kernel, fails = found
        kind = wanted.nullableIf(value.type.nullable or trying)
        if trying:
            return self._call(node, "TRY_CAST", kind, tried(kernel), value)
        return self._call(node, "CAST", kind, kernel, value, fails=fails)

    def try_cast(self, node: Node, parts: Sequence[Node]) -> Expression:
        """``TRY_CAST``."""
        return self.cast(node, parts, trying=True)

    def coalesce(self, node: Node, parts: Sequence[Node]) -> Expression:
        """``COALESCE`` and ``IFNULL``."""
        values = [self.expression(part) for part in parts]
        if not values:
            self._text.fail(node, "COALESCE takes values.")
        kind = _widest(self._common(node, values), values)
        kind = kind.nullableIf(all(value.type.nullable for value in values))
        return Coalesce(kind, tuple(self.converted(node, value, kind) for value in values))

    def nullif(self, node: Node, parts: Sequence[Node]) -> Expression:
        """``NULLIF(value, other)``."""
        if len(parts) != 2:
            self._text.fail(node, "NULLIF takes two values.")
        value = self.expression(parts[0])
        same = self.compared(node, "equal", value, self.expression(parts[1]))
        kind = value.type.nullableIf(True)
        return Case(kind, (same,), (self.converted(node, Literal(NULL, None), kind), value))

    def mod(self, node: Node, parts: Sequence[Node]) -> Expression:
        """``MOD(value, divisor)``."""
        if len(parts) != 2:
            self._text.fail(node, "MOD takes two numbers.")
        one, other = (self.expression(part) for part in parts)
        if not (accepts("exact number", one.type) and accepts("exact number", other.type)):
            self._text.fail(node, "MOD takes exact numbers. Cast them to DECIMAL.")
        return self._arithmetic(node, "%", one, other)

    def extreme(self, node: Node, parts: Sequence[Node]) -> Expression:
        """``GREATEST`` and ``LEAST``."""
        values = [self.expression(part) for part in parts]
        kind = _widest(self._common(node, values), values)
        if kind.children:
            self._unsupported(node, node.name.upper())
        arguments = (self.converted(node, value, kind) for value in values)
        kernel = RowByRow(max if node.name.upper() == "GREATEST" else min)
        return self._call(node, node.name.upper(), kind, kernel, *arguments)

    def rounded(self, node: Node, parts: Sequence[Node]) -> Expression:
        """``ROUND`` and ``TRUNCATE``."""
        values = [self.expression(part) for part in parts]
        if not 1 <= len(values) <= 2 or not values[0].type.isNumeric:
            self._text.fail(
                node,
                f"{node.name.upper()} takes a number and, if you like, how many digits to keep.",
            )
        kind, digits = values[0].type, values[1] if len(values) == 2 else Literal(INT.notNull(), 0)
        if kind.isDecimal:
            if not isinstance(digits, Literal):
                self._unsupported(
                    node, f"{node.name.upper()} of a DECIMAL to digits that are no constant"
                )
            kind = _rounded_decimal(kind, digits.value)
        kind = kind.nullableIf(kind.nullable or digits.type.nullable)
        kernel = ROUND if node.name.upper() == "ROUND" else TRUNCATE
        return self._call(node, node.name.upper(), kind, kernel, values[0], digits)

    def hexadecimal(self, node: Node, parts: Sequence[Node]) -> Expression:
        """``HEX`` of a number or a string."""
        values = [self.expression(part) for part in parts]
        if len(values) != 1 or not (values[0].type.isText or values[0].type.isInteger):
            self._text.fail(node, "HEX takes a whole number or a text.")
        return self._call(node, "HEX", STRING.nullableIf(values[0].type.nullable), HEX, values[0])

    def constant(self, node: Node, parts: Sequence[Node]) -> Expression:
        """``PI()`` and ``E()``."""
        return Literal(DOUBLE.notNull(), _CONSTANTS[node.name.upper()])

    def substring(self, node: exp.Substring) -> Expression:
        """``SUBSTRING(text FROM start FOR length)``."""
        given = [node.this, node.args.get("start"), node.args.get("length")]
        return self._of_values(
            node, "SUBSTRING", [self.expression(part) for part in given if part is not None]
        )

    def trim(self, node: exp.Trim) -> Expression:
        """``TRIM(BOTH characters FROM text)``."""
        where = {"LEADING": "LTRIM", "TRAILING": "RTRIM"}.get(
            str(node.args.get("position") or "").upper(), "BTRIM"
        )
        given = [node.this, node.args.get("expression")]
        arguments = [self.expression(part) for part in given if part is not None]
        found = self._of_values(node, where, arguments)
        length = arguments[0].type.precision
        return replace(found, type=DataType("VARCHAR", length, nullable=found.type.nullable))

    def position(self, node: exp.StrPosition) -> Expression:
        """``POSITION(part IN text)``."""
        return self._of_values(
            node, "LOCATE", [self.expression(node.args["substr"]), self.expression(node.this)]
        )

    def overlay(self, node: exp.Overlay) -> Expression:
        """``OVERLAY(text PLACING other FROM start FOR length)``."""
        given = [node.this, node.expression, node.args["from_"], node.args.get("for_")]
        arguments = [self.expression(part) for part in given if part is not None]
        kinds = ("text", "text", "whole number", "whole number")
        if not all(accepts(kind, value.type) for kind, value in zip(kinds, arguments)):
            self._text.fail(node, "OVERLAY takes two texts and positions.")
        kind = STRING.nullableIf(any(value.type.nullable for value in arguments))
        return self._call(node, "OVERLAY", kind, RowByRow(texts.overlay), *arguments)

    # ------------------------------------------------------------------ times

    def extract(self, node: exp.Extract) -> Expression:
        """``EXTRACT(unit FROM time)``."""
        value, unit = self.expression(node.expression), node.name.upper()
        kernel = times.part_kernel(unit)
        if kernel is None:
            self._unsupported(node, f"EXTRACT of {unit}")
        if not accepts("time", value.type):
            self._text.fail(node, f"EXTRACT takes a time, and this is {value.type}.")
        if value.type.name == "TIME" and unit not in ("HOUR", "MINUTE", "SECOND"):
            self._text.fail(node, f"a TIME has no {unit}.")
        if value.type.name == "DATE" and unit in ("HOUR", "MINUTE", "SECOND"):
            return Literal(BIGINT.notNull(), 0)
        return self._call(node, "EXTRACT", BIGINT.nullableIf(value.type.nullable), kernel, value)

    def ceiling(self, node: exp.Expr) -> Expression:
        """``CEIL`` and ``FLOOR`` of a number, or of a time to a unit."""
        value, to = self.expression(node.this), node.args.get("to")
        up = isinstance(node, exp.Ceil)
        if to is None:
            return self._of_values(node, "CEIL" if up else "FLOOR", [value])
        kernel = times.rounding_kernel(to.name.upper(), up)
        months = up and value.type.isTimestamp and to.name.upper() in times.UNIT_MONTHS
        if kernel is None or months or not accepts("date or timestamp", value.type):
            self._unsupported(node, f"{'CEIL' if up else 'FLOOR'} of {value.type} to {to.name}")
        return self._call(node, "CEIL" if up else "FLOOR", value.type, kernel, value, fails=up)

    def timestamp_add(self, node: Node, parts: Sequence[Node]) -> Expression:
        """``TIMESTAMPADD(unit, count, time)``."""
        unit = parts[0].name.upper() if len(parts) == 3 else ""
        if unit not in (*times.UNIT_MILLIS, *times.UNIT_MONTHS):
            self._text.fail(node, "TIMESTAMPADD takes a unit such as DAY, a number and a time.")
        count, value = self.expression(parts[1]), self.expression(parts[2])
        if not (count.type.isInteger and accepts("date or timestamp", value.type)):
            self._text.fail(node, "TIMESTAMPADD takes a whole number and a date or timestamp.")
        months = unit in times.UNIT_MONTHS
        size = Literal(BIGINT.notNull(), (times.UNIT_MONTHS if months else times.UNIT_MILLIS)[unit])
        kind = value.type.nullableIf(value.type.nullable or count.type.nullable)
        if kind.name == "DATE" and unit in ("HOUR", "MINUTE", "SECOND"):
            self._unsupported(node, f"TIMESTAMPADD of {unit} to a DATE")
        add = RowByRow(_ADD_MONTHS if months else _ADD_MILLIS)
        return self._call(node, "TIMESTAMPADD", kind, add, value, count, size, fails=True)

    def timestamp_diff(self, node: Node, parts: Sequence[Node]) -> Expression:
        """``TIMESTAMPDIFF(unit, from, to)``."""
        unit = parts[0].name.upper() if len(parts) == 3 else ""
        if unit == "WEEK" or unit not in (*times.UNIT_MILLIS, *times.UNIT_MONTHS):
            self._text.fail(node, "TIMESTAMPDIFF takes a unit such as DAY and two times.")
        begin, end = (self.expression(part) for part in parts[1:])
        if begin.type.name != end.type.name or not accepts("date or timestamp", begin.type):
            self._text.fail(
                node,
                f"TIMESTAMPDIFF takes two dates or timestamps of one kind, and these are {begin.type} and {end.type}.",
            )
        kind = INT.nullableIf(begin.type.nullable or end.type.nullable)
        return self._call(node, "TIMESTAMPDIFF", kind, times.timestamp_diff(unit), begin, end)

    # ------------------------------------------------------------------ collections and JSON

    def bracket(self, node: exp.Bracket) -> Expression:
        """``array[position]``, ``map[key]`` and ``MAP[key, value]``."""
        if isinstance(node.this, exp.Column) and node.this.sql().upper() == "MAP":
            return self._map(node, [self.expression(part) for part in node.expressions])
        value, keys = (
            self.expression(node.this),
            [self.expression(part) for part in node.expressions],
        )
        kind = value.type
        if kind.name == "ARRAY" and len(keys) == 1 and keys[0].type.isInteger:
            return self._call(
                node,
                "ITEM",
                kind.children[0].nullableIf(True),
                RowByRow(collection.element_at),
                value,
                *keys,
                fails=True,
            )
        if kind.name == "MAP" and len(keys) == 1 and comparable(kind.children[0], keys[0].type):
            return self._call(
                node,
                "ITEM",
                kind.children[1].nullableIf(True),
                RowByRow(collection.value_at),
                value,
                *keys,
            )
        return self._text.fail(node, f"{kind} has no such element.")

    def array(self, node: exp.Array) -> Expression:
        """``ARRAY[...]``."""
        values = [self.expression(part) for part in node.expressions]
        if not values:
            self._text.fail(node, "an ARRAY has elements.")
        kind = self._common(node, values)
        arguments = (self.converted(node, value, kind) for value in values)
        kernel = RowByRow(collection.array_of, nulls=True)
        return self._call(node, "ARRAY", DataTypes.ARRAY(kind).notNull(), kernel, *arguments)

    def _map(self, node: Node, values: list[Expression]) -> Expression:
        if not values or len(values) % 2:
            self._text.fail(node, "a MAP has keys and values.")
        keys, items = self._common(node, values[::2]), self._common(node, values[1::2])
        arguments = (
            self.converted(node, value, items if number % 2 else keys)
            for number, value in enumerate(values)
        )
        kernel = RowByRow(collection.map_of, nulls=True)
        return self._call(node, "MAP", DataTypes.MAP(keys, items).notNull(), kernel, *arguments)

    def row(self, node: Node, parts: Sequence[Node]) -> Expression:
        """``ROW(...)``."""
        values = [self.expression(part) for part in parts]
        fields = [(f"EXPR${number}", value.type) for number, value in enumerate(values)]
        kernel = RowByRow(collection.row_of, nulls=True, typed=True)
        return self._call(node, "ROW", DataTypes.ROW(*fields).notNull(), kernel, *values)

    def json_value(self, node: Node, parts: Sequence[Node]) -> Expression:
        """``JSON_VALUE(text, path RETURNING type DEFAULT value ON EMPTY)``."""
        text, path, clauses = self._json(node, parts)
        returning, rest = STRING, clauses
        found = re.match(r"RETURNING\s+(\w+)\s*", clauses, re.I)
        if found:
            returning, rest = DataTypes.of(found[1]), clauses[found.end() :]
            if returning.name not in jsons.RETURNING and returning != STRING:
                self._unsupported(node, f"JSON_VALUE returning {returning}")
        modes = {"EMPTY": jsons.NULL, "ERROR": jsons.NULL}
        defaults: dict[str, Expression] = {}
        pattern = r"(NULL|ERROR|DEFAULT\s+('(?:[^']|'')*'|-?[\w.]+))\s+ON\s+(EMPTY|ERROR)\s*"
        while found := re.match(pattern, rest, re.I):
            why = found[3].upper()
            modes[why] = jsons.DEFAULT if found[2] else found[1].upper()
            if found[2]:
                given = self._constant(node, found[2])
                defaults[why] = self.converted(node, given, returning)
                if not returning.isText and given.type.isText:
                    self._unsupported(node, "a DEFAULT of another type")
            rest = rest[found.end() :]
        if rest.strip():
            self._unsupported(node, f"JSON_VALUE with {rest.strip()}")
        on = jsons.OnMissing(modes["EMPTY"], modes["ERROR"])
        others = [defaults.get(why, Literal(returning, None)) for why in ("EMPTY", "ERROR")]
        kernel = RowByRow(jsons.JsonValue(on, returning), nulls=True)
        return self._call(
            node,
            "JSON_VALUE",
            returning,
            kernel,
            text,
            path,
            *others,
            fails=jsons.ERROR in modes.values(),
        )

    def _constant(self, node: Node, text: str) -> Expression:
        if text.startswith("'"):
            text = text[1:-1].replace("''", "'")
            return Literal(DataType("CHAR", len(text), nullable=False), text)
        negative = text.startswith("-")
        word = text.lstrip("-")
        if word.upper() in ("TRUE", "FALSE"):
            return Literal(BOOLEAN.notNull(), word.upper() == "TRUE")
        found = self.literal(exp.Literal(this=word, is_string=False))
        assert isinstance(found, Literal)
        return replace(found, value=-found.value) if negative else found

    def _json(self, node: Node, parts: Sequence[Node]) -> tuple[Expression, Expression, str]:
        if len(parts) != 3:
            self._text.fail(node, "the function takes a text and a path.")
        text, path = self.expression(parts[0]), self.expression(parts[1])
        if not (accepts("text", text.type) and isinstance(path, Literal) and path.type.isText):
            self._text.fail(node, "the function takes a text, and a path that is a constant.")
        try:
            found = jsons.path_of(path.value)
        except Exception as error:
            self._unsupported(node, f"{error}:")
        if found.several:
            self._unsupported(node, "a path with *")
        return text, path, parts[2].name.strip()

    def json_exists(self, node: Node, parts: Sequence[Node]) -> Expression:
        """``JSON_EXISTS(text, path TRUE ON ERROR)``."""
        text, path, clauses = self._json(node, parts)
        found = re.fullmatch(r"(?:(TRUE|FALSE|UNKNOWN|ERROR)\s+ON\s+ERROR)?", clauses, re.I)
        if found is None:
            self._unsupported(node, f"JSON_EXISTS with {clauses}")
        kernel = RowByRow(jsons.JsonExists((found[1] or "FALSE").upper()), nulls=True)
        fails = (found[1] or "").upper() == jsons.ERROR
        return self._call(node, "JSON_EXISTS", BOOLEAN, kernel, text, path, fails=fails)

    def json_query(self, node: Node, parts: Sequence[Node]) -> Expression:
        """``JSON_QUERY(text, path WITH WRAPPER)``."""
        text, path, clauses = self._json(node, parts)
        wrapper, rest = "WITHOUT", clauses
        found = re.match(
            r"(WITHOUT|WITH)(?:\s+(CONDITIONAL|UNCONDITIONAL))?(?:\s+ARRAY)?\s+WRAPPER\s*",
            rest,
            re.I,
        )
        if found:
            wrapper = (
                "WITHOUT"
                if found[1].upper() == "WITHOUT"
                else (found[2] or "UNCONDITIONAL").upper()
            )
            rest = rest[found.end() :]
        modes = {"EMPTY": jsons.NULL, "ERROR": jsons.NULL}
        while found := re.match(
            r"(NULL|ERROR|EMPTY ARRAY|EMPTY OBJECT)\s+ON\s+(EMPTY|ERROR)\s*", rest, re.I
        ):
            modes[found[2].upper()] = found[1].upper()
            rest = rest[found.end() :]
        if rest.strip():
            self._unsupported(node, f"JSON_QUERY with {rest.strip()}")
        on = jsons.OnMissing(modes["EMPTY"], modes["ERROR"])
        kernel = RowByRow(jsons.JsonQuery(wrapper, on), nulls=True)
        return self._call(
            node, "JSON_QUERY", STRING, kernel, text, path, fails=jsons.ERROR in modes.values()
        )

    def json_object(self, node: Node, parts: Sequence[Node]) -> Expression:
        """``JSON_OBJECT(key VALUE value)``."""
        mode = parts[-1].name if len(parts) % 2 else "NULL"
        values = [self.expression(part) for part in parts[: len(parts) // 2 * 2]]
        kernel = RowByRow(jsons.JsonObject(mode == "ABSENT"), nulls=True)
        return self._as_json(node, kernel, values)

    def json_array(self, node: Node, parts: Sequence[Node]) -> Expression:
        """``JSON_ARRAY(value, ...)``."""
        values = [self.expression(part) for part in parts[:-1]]
        kernel = RowByRow(jsons.JsonArray(parts[-1].name == "ABSENT"), nulls=True)
        return self._as_json(node, kernel, values)

    def _as_json(self, node: Node, kernel: Kernel, values: list[Expression]) -> Expression:
        for value in values:
            plain = (
                value.type.isNumeric or value.type.isText or value.type.name in ("BOOLEAN", "NULL")
            )
            if not plain or (isinstance(value, Call) and value.name.startswith("JSON_")):
                self._unsupported(node, f"{node.name.upper()} of {value.type} or of JSON")
        return self._call(node, node.name.upper(), STRING.notNull(), kernel, *values)


# ---------------------------------------------------------------------- kernels of operators


@dataclass(frozen=True)
class _Comparison:
    """The kernel of a comparison."""

    name: str

    def __call__(self, call: Call, one: Values, other: Values) -> Values:
        types = [argument.type for argument in call.arguments]
        equality = self.name in ("equal", "not_equal")
        return getattr(pc, self.name)(*_of_one_type(types, one, other, equality))


_OF_EQUALS = ("equal", "less_equal", "greater_equal")


@dataclass(frozen=True)
class _SameColumn:
    """The kernel of a comparison of a column with itself."""

    truth: bool

    def __call__(self, call: Call, values: Values) -> Values:
        return pc.if_else(pc.is_valid(values), self.truth, pa.scalar(None, pa.bool_()))


def _of_one_type(
    types: Sequence[DataType], one: Values, other: Values, equality: bool = True
) -> tuple[Values, Values]:
    if one.type == other.type:
        return one, other
    if types[0].isNumeric and types[1].isNumeric:
        common = common_number(*types)
        if not equality and "DOUBLE" in (types[0].name, types[1].name):
            common = DOUBLE  # for = and <> it is the type of the first operand, as for +
        if not common.isDecimal:
            return to_number(one, types[0], common), to_number(other, types[1], common)
        wide = pa.decimal256(76, common.scale)
        return one.cast(wide), other.cast(wide)
    if pa.types.is_null(one.type):
        return one.cast(other.type), other
    return one, other.cast(one.type)


@dataclass(frozen=True)
class _Distinct:
    """The kernel of ``IS [NOT] DISTINCT FROM``."""

    same: bool

    def __call__(self, call: Call, one: Values, other: Values) -> Values:
        one, other = _of_one_type([argument.type for argument in call.arguments], one, other)
        equal = pc.fill_null(pc.equal(one, other), False)
        both = pc.and_(pc.is_null(one), pc.is_null(other))
        same = pc.or_(equal, both)
        return same if self.same else pc.invert(same)


def _invert(call: Call, values: Values) -> Values:
    return pc.invert(values if pa.types.is_boolean(values.type) else values.cast(pa.bool_()))


def _is_null(call: Call, values: Values) -> Values:
    return pc.is_null(values)


def _is_true(call: Call, values: Values) -> Values:
    return pc.fill_null(values, False)


def _is_false(call: Call, values: Values) -> Values:
    return pc.fill_null(pc.invert(values), False)


def _ADD_MONTHS(value: Any, count: int, size: int) -> Any:
    return times.plus_months(value, count * size)


def _ADD_MILLIS(value: Any, count: int, size: int) -> Any:
    return times.plus_millis(value, count * size)


def _not_zero(value: Expression) -> bool:
    return isinstance(value, Literal) and bool(value.value)


def _whole_seconds(length: Expression) -> bool:
    return isinstance(length, Literal) and length.value % 1000 == 0


def _rounded_decimal(kind: DataType, digits: int) -> DataType:
    if digits >= kind.scale:
        return kind
    whole = kind.precision - kind.scale
    if digits < 0:
        return DataType("DECIMAL", min(38, whole + 1), 0, kind.nullable)
    return DataType("DECIMAL", whole + 1 + digits, digits, kind.nullable)


_CONSTANTS = {"PI": 3.141592653589793, "E": 2.718281828459045}

_OPERATORS: dict[type[Node], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
}
_COMPARISONS: dict[type[Node], str] = {
    exp.EQ: "equal",
    exp.NEQ: "not_equal",
    exp.LT: "less",
    exp.LTE: "less_equal",
    exp.GT: "greater",
    exp.GTE: "greater_equal",
}
_NODES: dict[type[Node], Callable[[Analyser, Any], Expression]] = {
    exp.Column: Analyser.column,
    exp.Dot: Analyser.dot,
    exp.Literal: Analyser.literal,
    exp.Boolean: Analyser.boolean,
    exp.Null: Analyser.null,
    exp.Cast: Analyser.typed_literal,
    exp.Paren: Analyser.parenthesised,
    exp.Interval: Analyser.interval_alone,
    exp.Neg: Analyser.negation,
    exp.DPipe: Analyser.concatenation,
    exp.And: Analyser.connection,
    exp.Or: Analyser.connection,
    exp.Not: Analyser.not_,
    exp.Is: Analyser.is_,
    exp.NullSafeEQ: Analyser.distinct_from,
    exp.NullSafeNEQ: Analyser.distinct_from,
    exp.Between: Analyser.between,
    exp.In: Analyser.in_,
    exp.Like: Analyser.like,
    exp.Escape: Analyser.escape,
    exp.Case: Analyser.case,
    exp.If: Analyser.if_,
    exp.Anonymous: Analyser.function,
    exp.Substring: Analyser.substring,
    exp.Trim: Analyser.trim,
    exp.StrPosition: Analyser.position,
    exp.Overlay: Analyser.overlay,
    exp.Extract: Analyser.extract,
    exp.Ceil: Analyser.ceiling,
    exp.Floor: Analyser.ceiling,
    exp.Bracket: Analyser.bracket,
    exp.Array: Analyser.array,
    **dict.fromkeys(_OPERATORS, Analyser.arithmetic),
    **dict.fromkeys(_COMPARISONS, Analyser.comparison),
}
"""The methods that turn nodes into expressions, by the class of the node."""

_SPECIAL: dict[str, Callable[[Analyser, Node, Sequence[Node]], Expression]] = {
    "CAST": Analyser.cast,
    "TRY_CAST": Analyser.try_cast,
    "COALESCE": Analyser.coalesce,
    "IFNULL": Analyser.coalesce,
    "NULLIF": Analyser.nullif,
    "MOD": Analyser.mod,
    "GREATEST": Analyser.extreme,
    "LEAST": Analyser.extreme,
    "ROUND": Analyser.rounded,
    "TRUNCATE": Analyser.rounded,
    "HEX": Analyser.hexadecimal,
    "PI": Analyser.constant,
    "E": Analyser.constant,
    "TIMESTAMPADD": Analyser.timestamp_add,
    "TIMESTAMPDIFF": Analyser.timestamp_diff,
    "ROW": Analyser.row,
    "JSON_VALUE": Analyser.json_value,
    "JSON_EXISTS": Analyser.json_exists,
    "JSON_QUERY": Analyser.json_query,
    "JSON_OBJECT": Analyser.json_object,
    "JSON_ARRAY": Analyser.json_array,
}
"""Functions with types, units or clauses among their arguments."""

SUPPORTED = frozenset(
    {*FUNCTIONS, *_SPECIAL, "SUBSTRING", "TRIM", "POSITION", "OVERLAY", "EXTRACT", "IF"}
)
"""The names of all functions."""
