"""Arithmetic with BSON's four types of numbers: which type a result has, and when it grows into the next."""

from __future__ import annotations

import operator
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from flinkish.compat.atlas.bson.values import (
    DECIMAL128,
    INT64,
    DocumentError,
    Int64,
    is_number,
    type_name,
)


def number(name: str, value: Any) -> Any:
    """``value``; raises DocumentError unless it is a number."""
    if not is_number(value):
        raise DocumentError(f"{name} only supports numeric types, not {type_name(value)}")
    return value


def whole(name: str, value: Any) -> int:
    """``value`` as a whole number; raises DocumentError if it is none, such as 1.5."""
    if not is_number(value) or value != value or abs(value) >= INT64 or value != int(value):
        raise DocumentError(f"{name} needs a whole number, not {value!r}")
    return int(value)


def as_decimal(value: Any) -> Decimal:
    """A number as a decimal; a double has 15 significant digits then."""
    if isinstance(value, Decimal):
        return value
    if isinstance(value, float):
        return Decimal(f"{value:.15g}")
    return Decimal(int(value))


def integer_result(value: int, *operands: Any) -> Any:
    """A whole number as ``int`` or ``long``, or as double where 64 bits do not hold it."""
    if not -INT64 <= value < INT64:
        return float(value)
    if any(type(operand) is Int64 for operand in operands):
        return Int64(value)
    return value


def _arithmetic(
    decimals: Callable[[Decimal, Decimal], Decimal], numbers: Callable[[Any, Any], Any]
) -> Callable[[Any, Any], Any]:
    def calculated(left: Any, right: Any) -> Any:
        if isinstance(left, Decimal) or isinstance(right, Decimal):
            return decimals(as_decimal(left), as_decimal(right))
        if isinstance(left, float) or isinstance(right, float):
            return numbers(float(left), float(right))
        return integer_result(numbers(int(left), int(right)), left, right)

    return calculated


_sum = _arithmetic(DECIMAL128.add, operator.add)
subtract = _arithmetic(DECIMAL128.subtract, operator.sub)
multiply = _arithmetic(DECIMAL128.multiply, operator.mul)


def add(left: Any, right: Any) -> Any:
    if type(left) is int and type(right) is int:
        total = left + right
        return total if -INT64 <= total < INT64 else float(total)
    return _sum(left, right)


def divide(left: Any, right: Any) -> Any:
    """The quotient: a decimal if one of them is, else a double."""
    if right == 0:
        raise DocumentError("$divide: can't $divide by zero")
    if isinstance(left, Decimal) or isinstance(right, Decimal):
        return DECIMAL128.divide(as_decimal(left), as_decimal(right))
    return float(left) / float(right)
