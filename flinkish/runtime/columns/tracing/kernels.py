"""The kernels of operations: each computes from whole arrays what Python gives for each element.

NumPy's integers wrap around where Python's grow, its division by zero returns a number, and it has
no nulls. If a value could differ from Python's, a kernel raises ``Inexact``, and the function is
called for each element of the run.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flinkish.runtime.columns.tracing.values import LEAST, MOST, Inexact, Values

_EXACT_FLOAT = 2**53
"""Every integer up to this can be represented as a float."""

# ---------------------------------------------------------------------- numbers


_Bounds: TypeAlias = Callable[[int, int, int, int], tuple[int, int]]


def _difference_bounds(a: int, b: int, c: int, d: int) -> tuple[int, int]:
    return a - d, b - c


def _product_bounds(a: int, b: int, c: int, d: int) -> tuple[int, int]:
    products = (a * c, a * d, b * c, b * d)
    return min(products), max(products)


def _within(a: Values, b: Values, bounds: _Bounds) -> tuple[int, int]:
    """Bounds of a result. Raises Inexact if it may not fit into 64 bits."""
    low, high = bounds(*a.bounds(), *b.bounds())
    if low < LEAST or high > MOST:
        a.tighten()
        b.tighten()
        low, high = bounds(*a.bounds(), *b.bounds())
        if low < LEAST or high > MOST:
            raise Inexact
    return low, high


def _arithmetic(function: Callable[[Any, Any], Any], bounds: _Bounds) -> Callable[..., Values]:
    def computed(a: Values, b: Values) -> Values:
        if "float" in (a.kind, b.kind):
            return _float(function(a.floats(), b.floats()))
        a, b = a.integers(), b.integers()
        low, high = _within(a, b, bounds)
        return Values("int", function(a.data, b.data), low, high)

    return computed


def _float(data: Any) -> Values:
    return Values("float", data if isinstance(data, np.ndarray) else float(data))


def _has_zero(data: Any) -> bool:
    return bool((data == 0).any()) if isinstance(data, np.ndarray) else data == 0


def _quotient(a: Values, b: Values) -> Values:
    if "float" not in (a.kind, b.kind):
        _check_exact_as_floats(a, b)
    return _float_division(operator.truediv, a, b)


def _check_exact_as_floats(a: Values, b: Values) -> None:
    """Raises Inexact for integers that floats cannot represent."""
    for operand in (a, b):
        if operand.kind != "float":
            low, high = operand.integers().bounds()
            if max(-low, high) > _EXACT_FLOAT:
                raise Inexact


def _floor_quotient(a: Values, b: Values) -> Values:
    if "float" in (a.kind, b.kind):
        return _float_division(np.floor_divide, a, b)
    a, b = _divided(a, b)
    low, high = a.bounds()
    largest = max(-low, high) + 1
    if largest > MOST and b.bounds()[0] <= -1:
        raise Inexact
    return Values("int", np.floor_divide(a.data, b.data), max(-largest, LEAST), min(largest, MOST))


def _remainder(a: Values, b: Values) -> Values:
    if "float" in (a.kind, b.kind):
        return _float_division(np.remainder, a, b)
    a, b = _divided(a, b)
    low, high = b.bounds()
    return Values("int", np.remainder(a.data, b.data), min(low, 0), max(high, 0))


def _divided(a: Values, b: Values) -> tuple[Values, Values]:
    a, b = a.integers(), b.integers()
    if _has_zero(b.data):
        raise Inexact
    return a, b


def _float_division(function: Any, a: Values, b: Values) -> Values:
    divisor = b.floats()
    if _has_zero(divisor):
        raise Inexact
    return _float(function(a.floats(), divisor))


def _bitwise(function: Callable[[Any, Any], Any]) -> Callable[..., Values]:
    def computed(a: Values, b: Values) -> Values:
        if a.kind == b.kind == "bool":
            return Values("bool", function(a.data, b.data))
        return Values("int", function(a.integers().data, b.integers().data))

    return computed


def _negative(a: Values) -> Values:
    if a.kind == "float":
        return Values("float", -a.data)
    a = a.integers()
    low, high = _within(Values("int", 0), a, _difference_bounds)
    return Values("int", -a.data, low, high)


def _positive(a: Values) -> Values:
    return a.integers() if a.kind == "bool" else a


def _inverted(a: Values) -> Values:
    a = a.integers()
    return Values("int", ~a.data)


def _absolute(a: Values) -> Values:
    if a.kind == "float":
        return Values("float", abs(a.data))
    a = a.integers()
    low, high = _within(Values("int", 0), a, _difference_bounds)
    return Values("int", abs(a.data), 0, max(-low, high))


# ---------------------------------------------------------------------- conversions


def _to_int(a: Values) -> Values:
    if a.kind != "float":
        return a.integers()
    data = a.data
    if not isinstance(data, np.ndarray):
        if not math.isfinite(data) or abs(data) >= 2.0**63:
            raise Inexact
        return Values("int", int(data))
    if not bool((np.abs(data) < 2.0**63).all()):
        raise Inexact
    return Values("int", data.astype(np.int64))


def _to_float(a: Values) -> Values:
    return a if a.kind == "float" else _float(a.floats())


def truths(a: Values) -> Values:
    """Whether each value is true, as ``bool`` says."""
    if a.kind == "bool":
        return a
    if a.kind == "str":
        if a.constant:
            return Values("bool", bool(a.data))
        return _of_mask(pc.not_equal(a.data, ""))
    if a.kind not in ("int", "float"):
        raise Inexact
    return Values("bool", a.data != 0)


def _of_mask(mask: pa.Array) -> Values:
    return Values("bool", mask.to_numpy(zero_copy_only=False).astype(np.bool_))


# ---------------------------------------------------------------------- comparisons


def _comparison(compare: Callable[[Any, Any], Any], texts: str) -> Callable[..., Values]:
    def computed(a: Values, b: Values) -> Values:
        if a.kind == b.kind == "str":
            if a.constant and b.constant:
                return Values("bool", compare(a.data, b.data))
            return _of_mask(getattr(pc, texts)(_text(a), _text(b)))
        if "float" in (a.kind, b.kind):
            _check_exact_as_floats(a, b)
            return Values("bool", compare(a.floats(), b.floats()))
        return Values("bool", compare(a.integers().data, b.integers().data))

    return computed


def _without_nan(compare: Callable[..., Values]) -> Callable[..., Values]:
    """A comparison of values that may be one object. Raises Inexact for NaN, which equals itself
    only as an item of a tuple."""

    def computed(a: Values, b: Values) -> Values:
        for operand in (a, b):
            if operand.kind == "float" and bool(np.isnan(operand.data).any()):
                raise Inexact
        return compare(a, b)

    return computed


_EQUAL = _comparison(operator.eq, "equal")
_UNEQUAL = _comparison(operator.ne, "not_equal")


# ---------------------------------------------------------------------- texts


def _text(a: Values) -> Any:
    return pa.scalar(a.data, pa.string()) if a.constant else a.data


def _plus(a: Values, b: Values) -> Values:
    if "str" not in (a.kind, b.kind):
        return _PLUS(a, b)
    if a.kind != b.kind:
        raise Inexact
    if a.constant and b.constant:
        return Values("str", a.data + b.data)
    return Values("str", pc.binary_join_element_wise(_text(a), _text(b), ""))


def _text_length(a: Values) -> Values:
    if a.kind != "str":
        raise Inexact
    if a.constant:
        return Values("int", len(a.data))
    lengths = pc.utf8_length(a.data).to_numpy(zero_copy_only=False)
    return Values("int", lengths.astype(np.int64))


_PLUS = _arithmetic(operator.add, lambda a, b, c, d: (a + c, b + d))

KERNELS: dict[str, Callable[..., Values]] = {
    "+": _plus,
    "-": _arithmetic(operator.sub, _difference_bounds),
    "*": _arithmetic(operator.mul, _product_bounds),
    "/": _quotient,
    "//": _floor_quotient,
    "%": _remainder,
    "&": _bitwise(operator.and_),
    "|": _bitwise(operator.or_),
    "^": _bitwise(operator.xor),
    "<": _comparison(operator.lt, "less"),
    "<=": _comparison(operator.le, "less_equal"),
    ">": _comparison(operator.gt, "greater"),
    ">=": _comparison(operator.ge, "greater_equal"),
    "==": _EQUAL,
    "!=": _UNEQUAL,
    "== or same": _without_nan(_EQUAL),
    "!= or same": _without_nan(_UNEQUAL),
    "unary -": _negative,
    "unary +": _positive,
    "unary ~": _inverted,
    "unary abs": _absolute,
    "itself": lambda a: a,
    "int": _to_int,
    "float": _to_float,
    "truth": truths,
    "len": _text_length,
}
