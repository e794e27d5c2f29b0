"""Operators of numbers, comparisons and truth."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable
from datetime import datetime
from decimal import ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from functools import reduce
from typing import Any

from flinkish.compat.atlas.bson.numbers import (
    add,
    as_decimal,
    divide,
    integer_result,
    multiply,
    number,
    subtract,
    whole,
)
from flinkish.compat.atlas.bson.values import (
    DECIMAL128,
    DocumentError,
    Int64,
    compare,
    date_of,
    is_nan,
    is_null,
    is_number,
    millis,
    truth,
    type_name,
)
from flinkish.compat.atlas.expressions.compiler import (
    OPERATORS,
    Evaluator,
    Place,
    Variables,
    any_value,
    arguments,
    compiles,
    operator,
    operators,
)


@operator("$add", 0, None)
def _add(*values: Any) -> Any:
    total: Any = 0
    date: datetime | None = None
    for value in values:
        if isinstance(value, datetime):
            if date is not None:
                raise DocumentError("$add: only one date allowed in an $add expression")
            date = value
        elif is_number(value):
            total = add(total, value)
        else:
            raise DocumentError(f"$add only supports numeric or date types, not {type_name(value)}")
    return total if date is None else _moved("$add", date, total)


def _moved(name: str, date: datetime, length: Any) -> datetime:
    if is_nan(length) or abs(length) > 1 << 62:
        raise DocumentError(f"{name}: {length} ms is out of the range of dates")
    return date_of(millis(date) + int(_half_away(length)))


def _half_away(value: Any) -> Any:
    if not isinstance(value, (float, Decimal)):
        return value
    half = Decimal("0.5") if isinstance(value, Decimal) else 0.5
    rounded = math.floor(abs(value) + half)  # type: ignore[operator]
    return rounded if value >= 0 else -rounded


@operator("$subtract", 2)
def _subtract(left: Any, right: Any) -> Any:
    if isinstance(left, datetime):
        if isinstance(right, datetime):
            return Int64(millis(left) - millis(right))
        if is_number(right):
            return _moved("$subtract", left, -right)
    elif is_number(left) and is_number(right):
        return subtract(left, right)
    raise DocumentError(f"$subtract: can't $subtract {type_name(right)} from {type_name(left)}")


@operator("$multiply", 0, None, kinds=(number,))
def _multiply(*values: Any) -> Any:
    return reduce(multiply, values, 1)


@operator("$mod", 2, kinds=(number,))
def _mod(left: Any, right: Any) -> Any:
    if right == 0:
        raise DocumentError("$mod: can't $mod by zero")
    if isinstance(left, Decimal) or isinstance(right, Decimal):
        return DECIMAL128.remainder(as_decimal(left), as_decimal(right))
    if isinstance(left, float) or (isinstance(right, float) and right != int(right)):
        return math.fmod(left, right) if math.isfinite(left) else math.nan
    rest = abs(int(left)) % abs(int(right))
    return integer_result(rest if left >= 0 else -rest, left, right)


def _towards(name: str, value: Any, place: Any, rounding: str) -> Any:
    number(name, value)
    digits = whole(f"{name}: place", place)
    if not -20 < digits < 100:
        raise DocumentError(f"{name}: the place must be between -20 and 100, not {digits}")
    if not math.isfinite(value):
        return value
    exact = value if isinstance(value, Decimal) else Decimal(value)
    if isinstance(value, int) and digits >= 0:
        return value
    exponent = Decimal(1).scaleb(-digits)
    wide = DECIMAL128.copy()
    wide.prec = 1200  # a double has up to 1,100 digits
    rounded = exact.quantize(exponent, rounding, context=wide)
    if isinstance(value, Decimal):
        return DECIMAL128.plus(rounded)
    return float(rounded) if isinstance(value, float) else integer_result(int(rounded), value)


def _rounding(name: str, rounding: str, most: int) -> None:
    operator(name, 1, most)(lambda value, place=0: _towards(name, value, place, rounding))


_rounding("$round", ROUND_HALF_EVEN, 2)
_rounding("$trunc", ROUND_DOWN, 2)
_rounding("$ceil", ROUND_CEILING, 1)
_rounding("$floor", ROUND_FLOOR, 1)


@operator("$pow", 2, kinds=(number,))
def _pow(base: Any, exponent: Any) -> Any:
    if base == 0 and exponent < 0:
        raise DocumentError("$pow: cannot raise 0 to a negative exponent")
    if isinstance(base, Decimal) or isinstance(exponent, Decimal):
        return DECIMAL128.power(as_decimal(base), as_decimal(exponent))
    if isinstance(base, int) and isinstance(exponent, int):
        if exponent >= 0 and (abs(base) < 2 or exponent < 64):
            return integer_result(int(base) ** int(exponent), base, exponent)
        return _double(lambda: float(base) ** exponent)
    if base < 0 and exponent != int(exponent):
        return math.nan
    return _double(lambda: float(base) ** float(exponent))


def _abs(value: Any) -> Any:
    return integer_result(abs(int(value)), value) if isinstance(value, int) else abs(value)


def _double(calculation: Callable[[], float]) -> float:
    try:
        return calculation()
    except OverflowError:
        return math.inf


def _function(
    name: str, function: Callable[[float], float], domain: Callable[[Any], bool] | None
) -> None:
    """An operator of doubles, for numbers that ``domain`` is true of."""

    @operator(name, 1, kinds=(number,))
    def call(value: Any) -> float | Decimal:
        if is_nan(value):
            return math.nan
        if domain is not None and not domain(value):
            raise DocumentError(f"{name} is not defined for {value}")
        result = _double(lambda: function(float(value)))
        return as_decimal(result) if isinstance(value, Decimal) else result


for _name, _of, _domain in (
    ("$sqrt", math.sqrt, lambda value: value >= 0),
    ("$exp", math.exp, None),
    ("$ln", math.log, lambda value: value > 0),
    ("$log10", math.log10, lambda value: value > 0),
    ("$sin", math.sin, math.isfinite),
    ("$cos", math.cos, math.isfinite),
    ("$tan", math.tan, math.isfinite),
    ("$asin", math.asin, lambda value: -1 <= value <= 1),
    ("$acos", math.acos, lambda value: -1 <= value <= 1),
    ("$atan", math.atan, None),
    ("$sinh", math.sinh, None),
    ("$cosh", math.cosh, None),
    ("$tanh", math.tanh, None),
    ("$asinh", math.asinh, None),
    ("$acosh", math.acosh, lambda value: value >= 1),
    ("$atanh", math.atanh, lambda value: -1 < value < 1),
    ("$degreesToRadians", math.radians, None),
    ("$radiansToDegrees", math.degrees, None),
):
    _function(_name, _of, _domain)


@operator("$log", 2, kinds=(number,))
def _log(value: Any, base: Any) -> float:
    if value <= 0:
        raise DocumentError(f"$log's argument must be a positive number, but is {value}")
    if base <= 0 or base == 1:
        raise DocumentError(f"$log's base must be a positive number not equal to 1, but is {base}")
    return math.log(float(value)) / math.log(float(base))


OPERATORS["$rand"] = lambda argument, place: lambda document, variables: random.random()


def _bits(name: str, value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise DocumentError(f"{name} only supports int and long, not {type_name(value)}")
    return value


def _bitwise(name: str, function: Callable[[int, int], int], neutral: int) -> None:
    @operator(name, 0, None, kinds=(_bits,))
    def call(*values: int) -> Any:
        return integer_result(reduce(function, map(int, values), neutral), *values)


_bitwise("$bitAnd", lambda left, right: left & right, -1)
_bitwise("$bitOr", lambda left, right: left | right, 0)
_bitwise("$bitXor", lambda left, right: left ^ right, 0)

operators(
    {
        "$abs": (_abs, number),
        "$atan2": (math.atan2, number, number),
        "$bitNot": (lambda value: integer_result(~int(value), value), _bits),
        "$divide": (divide, number, number),
    },
    nulls=True,
)


# ---------------------------------------------------------------------- comparison and truth


operators(
    {
        "$cmp": (compare, any_value, any_value),
        "$eq": (lambda left, right: compare(left, right) == 0, any_value, any_value),
        "$ne": (lambda left, right: compare(left, right) != 0, any_value, any_value),
        "$gt": (lambda left, right: compare(left, right) > 0, any_value, any_value),
        "$gte": (lambda left, right: compare(left, right) >= 0, any_value, any_value),
        "$lt": (lambda left, right: compare(left, right) < 0, any_value, any_value),
        "$lte": (lambda left, right: compare(left, right) <= 0, any_value, any_value),
        "$not": (lambda value: not truth(value), any_value),
    },
    nulls=False,
)


def _combined(name: str, combine: Callable[[Iterable[bool]], bool]) -> None:
    @compiles(name)
    def compiler(argument: Any, place: Place) -> Evaluator:
        parts = arguments(argument, place, 0, None)
        return lambda document, variables: combine(truth(p(document, variables)) for p in parts)


_combined("$and", all)
_combined("$or", any)


@compiles("$ifNull")
def _if_null(argument: Any, place: Place) -> Evaluator:
    *inputs, replacement = arguments(argument, place, 2, None)

    def call(document: Any, variables: Variables) -> Any:
        for part in inputs:
            if not is_null(value := part(document, variables)):
                return value
        return replacement(document, variables)

    return call
