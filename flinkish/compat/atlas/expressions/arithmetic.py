"""Operators of numbers, comparisons and truth."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
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
    arguments,
    operator,
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


@operator("$multiply", 0, None)
def _multiply(*values: Any) -> Any:
    return reduce(multiply, (number("$multiply", value) for value in values), 1)


@operator("$divide", 2)
def _divide(left: Any, right: Any) -> Any:
    return divide(number("$divide", left), number("$divide", right))


@operator("$mod", 2)
def _mod(left: Any, right: Any) -> Any:
    if number("$mod", right) == 0:
        raise DocumentError("$mod: can't $mod by zero")
    number("$mod", left)
    if isinstance(left, Decimal) or isinstance(right, Decimal):
        return DECIMAL128.remainder(as_decimal(left), as_decimal(right))
    if isinstance(left, float) or (isinstance(right, float) and right != int(right)):
        return math.fmod(left, right) if math.isfinite(left) else math.nan
    rest = abs(int(left)) % abs(int(right))
    return integer_result(rest if left >= 0 else -rest, left, right)


@operator("$abs", 1)
def _abs(value: Any) -> Any:
    return (
        integer_result(abs(int(number("$abs", value))), value)
        if isinstance(value, int)
        else abs(number("$abs", value))
    )


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


@operator("$round", 1, 2)
def _round(value: Any, place: Any = 0) -> Any:
    return _towards("$round", value, place, ROUND_HALF_EVEN)


@operator("$trunc", 1, 2)
def _trunc(value: Any, place: Any = 0) -> Any:
    return _towards("$trunc", value, place, ROUND_DOWN)


@operator("$ceil", 1)
def _ceil(value: Any) -> Any:
    return _towards("$ceil", value, 0, ROUND_CEILING)


@operator("$floor", 1)
def _floor(value: Any) -> Any:
    return _towards("$floor", value, 0, ROUND_FLOOR)


@operator("$pow", 2)
def _pow(base: Any, exponent: Any) -> Any:
    number("$pow", base), number("$pow", exponent)
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


def _double(calculation: Callable[[], float]) -> float:
    try:
        return calculation()
    except OverflowError:
        return math.inf


def _function(name: str, function: Callable[[float], float], domain: Callable[[Any], bool]) -> None:
    """An operator of doubles, for numbers that ``domain`` is true of."""

    def call(value: Any) -> float | Decimal:
        number(name, value)
        if is_nan(value):
            return math.nan
        if not domain(value):
            raise DocumentError(f"{name} is not defined for {value}")
        result = _double(lambda: function(float(value)))
        return as_decimal(result) if isinstance(value, Decimal) else result

    operator(name, 1)(call)


def _any(value: Any) -> bool:
    return True


def _finite(value: Any) -> bool:
    return math.isfinite(value)


def _within_one(value: Any) -> bool:
    return bool(-1 <= value <= 1)


_function("$sqrt", math.sqrt, lambda value: value >= 0)
_function("$exp", math.exp, _any)
_function("$ln", math.log, lambda value: value > 0)
_function("$log10", math.log10, lambda value: value > 0)
for _name in ("sin", "cos", "tan"):
    _function(f"${_name}", getattr(math, _name), _finite)
for _name in ("asin", "acos"):
    _function(f"${_name}", getattr(math, _name), _within_one)
for _name in ("atan", "sinh", "cosh", "tanh", "asinh"):
    _function(f"${_name}", getattr(math, _name), _any)
_function("$acosh", math.acosh, lambda value: value >= 1)
_function("$atanh", math.atanh, lambda value: -1 < value < 1)
_function("$degreesToRadians", math.radians, _any)
_function("$radiansToDegrees", math.degrees, _any)


@operator("$atan2", 2)
def _atan2(y: Any, x: Any) -> float:
    return math.atan2(number("$atan2", y), number("$atan2", x))


@operator("$log", 2)
def _log(value: Any, base: Any) -> float:
    if number("$log", value) <= 0:
        raise DocumentError(f"$log's argument must be a positive number, but is {value}")
    if number("$log", base) <= 0 or base == 1:
        raise DocumentError(f"$log's base must be a positive number not equal to 1, but is {base}")
    return math.log(float(value)) / math.log(float(base))


OPERATORS["$rand"] = lambda argument, place: lambda document, variables: random.random()


def _bits(name: str, function: Callable[[int, int], int], neutral: int) -> None:
    def call(*values: Any) -> Any:
        for value in values:
            if not isinstance(value, int) or isinstance(value, bool):
                raise DocumentError(f"{name} only supports int and long, not {type_name(value)}")
        return integer_result(reduce(function, map(int, values), neutral), *values)

    operator(name, 0, None)(call)


_bits("$bitAnd", lambda left, right: left & right, -1)
_bits("$bitOr", lambda left, right: left | right, 0)
_bits("$bitXor", lambda left, right: left ^ right, 0)


@operator("$bitNot", 1)
def _bit_not(value: Any) -> Any:
    if not isinstance(value, int) or isinstance(value, bool):
        raise DocumentError(f"$bitNot only supports int and long, not {type_name(value)}")
    return integer_result(~int(value), value)


# ---------------------------------------------------------------------- comparison and truth


@operator("$cmp", 2, nulls=False)
def _cmp(left: Any, right: Any) -> int:
    found = compare(left, right)
    return (found > 0) - (found < 0)


@operator("$eq", 2, nulls=False)
def _eq(left: Any, right: Any) -> bool:
    return compare(left, right) == 0


@operator("$ne", 2, nulls=False)
def _ne(left: Any, right: Any) -> bool:
    return compare(left, right) != 0


@operator("$gt", 2, nulls=False)
def _gt(left: Any, right: Any) -> bool:
    return compare(left, right) > 0


@operator("$gte", 2, nulls=False)
def _gte(left: Any, right: Any) -> bool:
    return compare(left, right) >= 0


@operator("$lt", 2, nulls=False)
def _lt(left: Any, right: Any) -> bool:
    return compare(left, right) < 0


@operator("$lte", 2, nulls=False)
def _lte(left: Any, right: Any) -> bool:
    return compare(left, right) <= 0


@operator("$not", 1, nulls=False)
def _not(value: Any) -> bool:
    return not truth(value)


def _and(argument: Any, place: Place) -> Evaluator:
    parts = arguments(argument, place, 0, None)
    return lambda document, variables: all(truth(part(document, variables)) for part in parts)


def _or(argument: Any, place: Place) -> Evaluator:
    parts = arguments(argument, place, 0, None)
    return lambda document, variables: any(truth(part(document, variables)) for part in parts)


OPERATORS["$and"] = _and
OPERATORS["$or"] = _or


def _if_null(argument: Any, place: Place) -> Evaluator:
    *inputs, replacement = arguments(argument, place, 2, None)

    def call(document: Any, variables: Variables) -> Any:
        for part in inputs:
            if not is_null(value := part(document, variables)):
                return value
        return replacement(document, variables)

    return call


OPERATORS["$ifNull"] = _if_null
