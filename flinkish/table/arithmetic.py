"""Arithmetic with the results of Flink's SQL: integers wrap around, division truncates, and the
digits of decimals follow from the types of both operands."""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flinkish.table.data_types import DOUBLE, INTEGERS, MAX_PRECISION, DataType
from flinkish.table.expressions import Call, EvaluationError, Missing, RowByRow, Values

EXACT = decimal.Context(prec=400, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)
_DIVISION = decimal.Context(prec=MAX_PRECISION, rounding=decimal.ROUND_HALF_UP)
_DIGITS = {"TINYINT": 3, "SMALLINT": 5, "INT": 10, "BIGINT": 19}
_LEAST_SCALE = 6

DIVISION_BY_ZERO = (
    "division by zero. Test the divisor in a WHERE or CASE, or write NULLIF(divisor, 0)"
)


# ---------------------------------------------------------------------- types


def as_decimal(kind: DataType) -> DataType:
    """The decimal type that holds all values of an exact numeric type."""
    if kind.isDecimal:
        return kind
    return DataType("DECIMAL", _DIGITS[kind.name], 0, kind.nullable)


def adjusted(precision: int, scale: int, nullable: bool) -> DataType:
    """A decimal type within 38 digits: the scale is reduced if needed, down to 6."""
    if precision > MAX_PRECISION:
        whole = precision - scale
        scale = max(MAX_PRECISION - whole, min(scale, _LEAST_SCALE))
        precision = MAX_PRECISION
    return DataType("DECIMAL", precision, scale, nullable)


def _sum(p1: int, s1: int, p2: int, s2: int) -> tuple[int, int]:
    scale = max(s1, s2)
    return max(p1 - s1, p2 - s2) + scale + 1, scale


def _product(p1: int, s1: int, p2: int, s2: int) -> tuple[int, int]:
    return p1 + p2 + 1, s1 + s2


def _quotient(p1: int, s1: int, p2: int, s2: int) -> tuple[int, int]:
    scale = max(_LEAST_SCALE, s1 + p2 + 1)
    return p1 - s1 + s2 + scale, scale


def _remainder(p1: int, s1: int, p2: int, s2: int) -> tuple[int, int]:
    scale = max(s1, s2)
    return min(p1 - s1, p2 - s2) + scale, scale


_DECIMAL_TYPES: dict[str, Callable[[int, int, int, int], tuple[int, int]]] = {
    "+": _sum,
    "-": _sum,
    "*": _product,
    "/": _quotient,
    "%": _remainder,
}


def common_number(one: DataType, other: DataType) -> DataType:
    """The common type of two numeric types."""
    nullable = one.nullable or other.nullable
    if one.isApproximate or other.isApproximate:
        if one.isDecimal or other.isDecimal:
            return DOUBLE.nullableIf(nullable)
        # For a FLOAT and a DOUBLE the first of them, as in Calcite
        return (one if one.isApproximate else other).nullableIf(nullable)
    if one.isDecimal or other.isDecimal:
        one, other = as_decimal(one), as_decimal(other)
        scale = max(one.scale, other.scale)
        whole = max(one.precision - one.scale, other.precision - other.scale)
        return DataType("DECIMAL", min(MAX_PRECISION, whole + scale), scale, nullable)
    wider = max(one.name, other.name, key=INTEGERS.index)
    return DataType(wider, nullable=nullable)


def arithmetic_type(operator: str, one: DataType, other: DataType) -> DataType:
    """The type of ``one operator other`` of two numbers."""
    if (one.isDecimal or other.isDecimal) and not (one.isApproximate or other.isApproximate):
        a, b = as_decimal(one), as_decimal(other)
        digits = _DECIMAL_TYPES[operator](a.precision, a.scale, b.precision, b.scale)
        return adjusted(*digits, one.nullable or other.nullable)
    if operator == "%" and one.isInteger and other.isInteger:
        return other.nullableIf(one.nullable or other.nullable)
    return common_number(one, other)


# ---------------------------------------------------------------------- kernels


@dataclass(frozen=True)
class Arithmetic:
    """The kernel of ``+ - * / %``."""

    operator: str

    def __call__(self, call: Call, one: Values, other: Values) -> Values:
        if call.type.isDecimal:
            return _OF_DECIMALS[self.operator](call, one, other)
        common = call.type
        if self.operator == "%" and common.isInteger:
            common = common_number(*(argument.type for argument in call.arguments))
        one, other = (
            to_number(values, argument.type, common)
            for values, argument in zip((one, other), call.arguments)
        )
        if self.operator in "/%":
            divide = _divide if self.operator == "/" else _rest
            return wrapped(divide(one, other, common), call.type)
        return _WRAPPING[self.operator](one, other)


_WRAPPING = {"+": pc.add, "-": pc.subtract, "*": pc.multiply}


def to_number(values: Values, given: DataType, wanted: DataType) -> Values:
    """Numbers converted to a wider type."""
    if values.type == wanted.arrow:
        return values
    if given.isDecimal:
        return _decimals_as_doubles(values).cast(wanted.arrow)
    return values.cast(wanted.arrow, safe=False)


def _decimals_as_doubles(values: Values) -> Values:
    if isinstance(values, pa.Scalar):
        value = values.as_py()
        return pa.scalar(None if value is None else float(value), pa.float64())
    return pa.array([None if v is None else float(v) for v in values.to_pylist()], pa.float64())


def wrapped(values: Values, kind: DataType) -> Values:
    """Integers wrapped around to fewer bits."""
    return values if values.type == kind.arrow else values.cast(kind.arrow, safe=False)


def _no_zeros(one: Values, other: Values) -> None:
    zero = pc.and_kleene(pc.equal(other, pa.scalar(0, other.type)), pc.is_valid(one))
    if isinstance(zero, pa.Scalar):
        if zero.as_py():
            raise EvaluationError(DIVISION_BY_ZERO)
        return
    found = pc.index(zero, True).as_py()
    if found >= 0:
        raise EvaluationError(DIVISION_BY_ZERO, found)


def _divide(one: Values, other: Values, kind: DataType) -> Values:
    if kind.isApproximate:
        return pc.divide(one, other)
    _no_zeros(one, other)
    # Arrow returns 0 for the quotient that wraps around: the smallest number divided by -1
    by_minus_one = pc.equal(other, pa.scalar(-1, other.type))
    divisor = pc.if_else(by_minus_one, pa.scalar(1, other.type), other)
    quotient = pc.divide(one, divisor)
    return pc.if_else(by_minus_one, pc.negate(one), quotient)


def _rest(one: Values, other: Values, kind: DataType) -> Values:
    if kind.isApproximate:
        return _RESTS(Call(kind, "%", (), _RESTS), one, other)
    _no_zeros(one, other)
    by_minus_one = pc.equal(other, pa.scalar(-1, other.type))
    divisor = pc.if_else(by_minus_one, pa.scalar(1, other.type), other)
    return pc.subtract(one, pc.multiply(pc.divide(one, divisor), divisor))


def _java_rest(one: float, other: float) -> float:
    return float(np.fmod(one, other))


_RESTS = RowByRow(_java_rest)


def fitted(value: Decimal | None, kind: DataType) -> Decimal | None:
    """A number with the digits of a decimal type, rounded half up; None if it has more integer
    digits."""
    if value is None:
        return None
    rounded = value.quantize(Decimal(1).scaleb(-kind.scale), decimal.ROUND_HALF_UP, EXACT)
    return rounded if len(rounded.as_tuple().digits) <= kind.precision else None


def _decimal(value: Any) -> Decimal:
    return value if isinstance(value, Decimal) else Decimal(value)


def exactly(value: Any) -> Decimal:
    """An integer or decimal number as a Decimal."""
    return value if isinstance(value, Decimal) else Decimal(value)


def _added(call: Call, one: Any, other: Any) -> Decimal | None:
    return fitted(EXACT.add(exactly(one), exactly(other)), call.type)


def _subtracted(call: Call, one: Any, other: Any) -> Decimal | None:
    return fitted(EXACT.subtract(exactly(one), exactly(other)), call.type)


def _multiplied(call: Call, one: Any, other: Any) -> Decimal | None:
    return fitted(EXACT.multiply(exactly(one), exactly(other)), call.type)


def _divided(call: Call, one: Any, other: Any) -> Decimal | None:
    if not other:
        raise Missing(DIVISION_BY_ZERO)
    return fitted(_DIVISION.divide(exactly(one), exactly(other)), call.type)


def _remaining(call: Call, one: Any, other: Any) -> Decimal | None:
    if not other:
        raise Missing(DIVISION_BY_ZERO)
    return fitted(EXACT.remainder(exactly(one), exactly(other)), call.type)


_OF_DECIMALS = {
    "+": RowByRow(_added, typed=True),
    "-": RowByRow(_subtracted, typed=True),
    "*": RowByRow(_multiplied, typed=True),
    "/": RowByRow(_divided, typed=True),
    "%": RowByRow(_remaining, typed=True),
}


def negated(call: Call, values: Values) -> Values:
    """``-x``."""
    return pc.negate(values)


# ---------------------------------------------------------------------- functions


def _absolute(call: Call, values: Values) -> Values:
    return pc.abs(values)


def _rounded_up(call: Call, values: Values) -> Values:
    if call.type.isDecimal:
        return _CEILING(call, values)
    return values if call.type.isInteger else pc.ceil(values)


def _rounded_down(call: Call, values: Values) -> Values:
    if call.type.isDecimal:
        return _BOTTOM(call, values)
    return values if call.type.isInteger else pc.floor(values)


def _to(call: Call, value: Any, digits: int, rounding: str) -> Any:
    """A number rounded to ``digits`` after the point, or before it if ``digits`` is negative."""
    kind = call.type
    if isinstance(value, float):
        if not math.isfinite(value):
            raise Missing(f"{value} cannot be rounded. Filter such values before")
        exact = Decimal(repr(value)) if kind.name == "DOUBLE" else Decimal(str(np.float32(value)))
        return float(exact.quantize(Decimal(1).scaleb(-digits), rounding, EXACT))
    exact = exactly(value)
    rounded = exact.quantize(Decimal(1).scaleb(-digits), rounding, EXACT)
    if kind.isDecimal:
        return fitted(rounded, kind)
    return wrap(int(rounded), kind)


BITS = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}


def wrap(value: int, kind: DataType) -> int:
    half = 1 << (BITS[kind.name] - 1)
    return (value + half) % (2 * half) - half


def _round(call: Call, value: Any, digits: int = 0) -> Any:
    return _to(call, value, digits, decimal.ROUND_HALF_UP)


def _truncate(call: Call, value: Any, digits: int = 0) -> Any:
    return _to(call, value, digits, decimal.ROUND_DOWN)


def _sign(value: Any) -> Any:
    if isinstance(value, Decimal):
        return Decimal((value > 0) - (value < 0))
    if isinstance(value, float) and (math.isnan(value) or value == 0):
        return value
    return type(value)((value > 0) - (value < 0))


@dataclass(frozen=True)
class OfDoubles:
    """The kernel of a NumPy function over doubles, which never fails: undefined results are NaN."""

    name: str

    def __call__(self, call: Call, *values: Values) -> Values:
        doubles = [
            to_number(column, argument.type, DOUBLE)
            for column, argument in zip(values, call.arguments)
        ]
        if all(isinstance(column, pa.Scalar) for column in doubles):
            return self(call, *(pa.repeat(column, 1) for column in doubles))[0]
        valid: Any = pa.scalar(True)
        for column in doubles:
            valid = pc.and_(valid, pc.is_valid(column))
        plain = [
            (np.nan if column.as_py() is None else column.as_py())
            if isinstance(column, pa.Scalar)
            else column.to_numpy(zero_copy_only=False)
            for column in doubles
        ]
        with np.errstate(all="ignore"):
            results = pa.array(_OF_DOUBLES[self.name](*plain))
        return pc.if_else(valid, results, pa.scalar(None, pa.float64()))


def _log(one: Any, other: Any = None) -> Any:
    return np.log(one) if other is None else np.log(other) / np.log(one)


def _square_root(value: Any) -> Any:
    return np.where(np.isneginf(value), np.inf, np.sqrt(value))


def _cotangent(value: Any) -> Any:
    return 1.0 / np.tan(value)


def _degrees(value: Any) -> Any:
    return value * (180.0 / math.pi)


def _radians(value: Any) -> Any:
    return value * (math.pi / 180.0)


_OF_DOUBLES: dict[str, Callable[..., Any]] = {
    "POWER": np.power,
    "SQRT": _square_root,
    "LN": np.log,
    "LOG": _log,
    "LOG10": np.log10,
    "LOG2": np.log2,
    "EXP": np.exp,
    "SIN": np.sin,
    "COS": np.cos,
    "TAN": np.tan,
    "COT": _cotangent,
    "ASIN": np.arcsin,
    "ACOS": np.arccos,
    "ATAN": np.arctan,
    "ATAN2": np.arctan2,
    "SINH": np.sinh,
    "COSH": np.cosh,
    "TANH": np.tanh,
    "DEGREES": _degrees,
    "RADIANS": _radians,
}
OF_DOUBLES = frozenset(_OF_DOUBLES)


def _ceiling(call: Call, value: Decimal) -> Any:
    return _to(call, value, 0, decimal.ROUND_CEILING)


def _bottom(call: Call, value: Decimal) -> Any:
    return _to(call, value, 0, decimal.ROUND_FLOOR)


_CEILING, _BOTTOM = RowByRow(_ceiling, typed=True), RowByRow(_bottom, typed=True)

ABS, NEGATE = _absolute, negated
CEIL, FLOOR = _rounded_up, _rounded_down
ROUND, TRUNCATE = RowByRow(_round, typed=True), RowByRow(_truncate, typed=True)
SIGN = RowByRow(_sign)


def _bits(value: int) -> str:
    return format(value % (1 << 64), "b")


def _hexadecimal(value: Any) -> str:
    if isinstance(value, str):
        return value.encode().hex().upper()
    return format(value % (1 << 64), "X")


BIN, HEX = RowByRow(_bits), RowByRow(_hexadecimal)
