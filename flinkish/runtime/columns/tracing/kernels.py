"""Evaluates expressions over the columns of a run, with results equal to Python's, or not at all.

NumPy's integers wrap around where Python's grow, its division by zero returns a number, and it has
no nulls. If a value could differ from Python's, a kernel raises ``Inexact``, and the function is
called for each element of the run.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import repeat
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from flinkish.runtime.columns.tracing.expressions import (
    NUMBERS,
    RAISE,
    Accumulated,
    Call,
    Choice,
    Column,
    Constant,
    Expression,
    Kind,
    Operation,
    Step,
    folds,
    parts_of,
)
from flinkish.runtime.records.rows import python_values


class Inexact(Exception):
    """A result computed from the columns of this run could differ from Python's, so it deoptimizes:
    the function is called for each element of the run."""


NOT_EXACT = (Inexact, ArithmeticError, TypeError, ValueError, pa.ArrowException)
"""Exceptions that a kernel raises if its result could differ from Python's."""

Mask: TypeAlias = NDArray[np.bool_]

LEAST, MOST = -(2**63), 2**63 - 1
_EXACT_FLOAT = 2**53
"""Every integer up to this can be represented as a float."""


class Values:
    """The values of an expression in a run, all of one kind.

    ``data`` is a NumPy array for numbers and for objects, an Arrow array for anything else, and a
    Python value for a constant. Integers have bounds, which may be wider than the values.
    """

    __slots__ = ("_high", "_listed", "_low", "data", "kind")

    def __init__(self, kind: Kind, data: Any, low: int | None = None, high: int | None = None):
        self.kind = kind
        self.data = data
        self._low = low
        self._high = high
        self._listed: list[Any] | None = None

    @property
    def constant(self) -> bool:
        """Whether it is one value for all elements."""
        return not isinstance(self.data, (np.ndarray, pa.Array))

    def bounds(self) -> tuple[int, int]:
        """A lower and an upper bound of integers."""
        if self._low is None or self._high is None:
            self.tighten()
        assert self._low is not None
        assert self._high is not None
        return self._low, self._high

    def tighten(self) -> None:
        """Make the bounds the lowest and highest value."""
        if self.constant:
            self._low = self._high = self.data
        elif len(self.data) == 0:
            self._low = self._high = 0
        else:
            self._low, self._high = int(self.data.min()), int(self.data.max())

    def at(self, mask: Mask) -> Values:
        """The values where ``mask`` is true."""
        if self.constant:
            return self
        if isinstance(self.data, np.ndarray):
            return Values(self.kind, self.data[mask], self._low, self._high)
        return Values(self.kind, self.data.filter(pa.array(mask)))

    def integers(self) -> Values:
        """The values as integers, which bools are in arithmetic. Raises Inexact for other kinds, and
        for a constant beyond 64 bits."""
        if self.kind == "int":
            if self.constant:
                _long(self.data)
            return self
        if self.kind != "bool":
            raise Inexact
        data = int(self.data) if self.constant else self.data.astype(np.int64)
        return Values("int", data, 0, 1)

    def floats(self) -> Any:
        """The data as floats, as Python converts operands of float arithmetic. Raises Inexact if
        they are not numbers."""
        if self.kind == "float":
            return self.data
        if self.kind not in ("int", "bool"):
            raise Inexact
        return float(self.data) if self.constant else self.data.astype(np.float64)

    def array(self, count: int) -> Any:
        """The values as an array; a constant is repeated ``count`` times."""
        if not self.constant:
            return self.data
        if self.kind == "int":
            return np.full(count, _long(self.data), dtype=np.int64)
        if self.kind in ("float", "bool"):
            return np.full(count, self.data)
        if self.kind == "str":
            return pa.repeat(pa.scalar(self.data, pa.string()), count)
        if self.kind == "none":
            return pa.nulls(count)
        raise Inexact

    def distinct(self, count: int) -> tuple[list[int], NDArray[np.intp]] | None:
        """The values, each once, and the place of each element's among them, if they are integers
        of far fewer values than ``count``, the number of elements; else None."""
        if self.kind != "int":
            return None
        low, high = self.bounds()
        if high - low >= count // 4:
            return None
        numbers = self.data - low
        found = np.zeros(high - low + 1, dtype=np.bool_)
        found[numbers] = True
        return (np.flatnonzero(found) + low).tolist(), (np.cumsum(found) - 1)[numbers]

    def taken(self, places: NDArray[np.intp]) -> Values:
        """The values at ``places``."""
        if isinstance(self.data, np.ndarray):
            return Values(self.kind, self.data[places], self._low, self._high)
        return Values(self.kind, self.data.take(pa.array(places)))

    def listed(self) -> Any:
        """The values as Python objects; a constant is repeated without end."""
        if self.constant:
            return repeat(self.data)
        if isinstance(self.data, np.ndarray):
            return self.data.tolist()
        if self._listed is None:  # decimals and times take a microsecond each
            self._listed = python_values(self.data)
        return self._listed


def _long(value: int) -> int:
    if not LEAST <= value <= MOST:
        raise Inexact
    return value


class Run:
    """A run of elements, with the expressions evaluated over it so far.

    ``column`` gives a column by its index, ``accumulated`` a field of the accumulator.
    """

    def __init__(
        self,
        count: int,
        column: Callable[[int], Values],
        accumulated: Callable[[int], Values] | None = None,
    ) -> None:
        self.count = count
        self._column = column
        self._accumulated = accumulated
        self._computed: dict[int, Values] = {}
        self._branches: dict[int, tuple[Mask, Run, Run]] = {}
        self._kept: list[Expression] = []

    def values(self, expression: Expression) -> Values:
        """The values of an expression. Raises one of ``NOT_EXACT`` if they could differ from
        Python's."""
        known = self._computed.get(id(expression))
        if known is None:
            known = self._computed[id(expression)] = self._compute(expression)
            self._kept.append(expression)  # so that its id is not reused
        return known

    def array(self, expression: Expression) -> Any:
        """The values of an expression as an array."""
        return self.values(expression).array(self.count)

    def mask(self, condition: Expression) -> Mask:
        """Return a mask of the elements for which a condition is true."""
        values = self.values(condition)
        truths: Mask = (_truth(values) if values.kind != "bool" else values).array(self.count)
        return truths

    def accumulating(self, accumulated: Callable[[int], Values]) -> Run:
        """The same elements, each with the accumulator that it is added to."""
        return Run(self.count, self._column, accumulated)

    def check(self, steps: Sequence[Step]) -> None:
        """Evaluate all steps, so that Inexact is raised if one of them could raise an error in
        Python. Steps that depend on the accumulator are skipped if it is not known."""
        hidden = folds if self._accumulated is None else _never
        for path, operation in steps:
            if path and self._computes_everywhere(operation):
                continue
            run = self
            for condition, truth in path:
                if not hidden(condition):
                    _, then, otherwise = run._split(condition)
                    run = then if truth else otherwise
            if run.count == 0:
                continue
            parts = [operation] if not hidden(operation) else parts_of(operation)
            for part in parts:
                if not hidden(part):
                    run.values(part)

    def where(self, mask: Mask) -> Run:
        """The elements where ``mask`` is true, as a run."""
        count = int(np.count_nonzero(mask))
        if count == self.count:
            return self
        accumulated = self._accumulated
        part = Run(
            count,
            lambda number: self._column(number).at(mask),
            None if accumulated is None else lambda number: accumulated(number).at(mask),
        )
        part._computed = _Part(self._computed, mask)
        return part

    def _compute(self, expression: Expression) -> Values:
        if isinstance(expression, Column):
            return self._column(expression.number)
        if isinstance(expression, Constant):
            return Values(expression.kind, expression.value)
        if isinstance(expression, Accumulated):
            assert self._accumulated is not None
            return self._accumulated(expression.number)
        if isinstance(expression, Choice):
            return self._choice(expression)
        if isinstance(expression, Operation) and expression.name == RAISE:
            raise Inexact  # the function is called, and raises its exception for the first element
        arguments = [self.values(argument) for argument in expression.arguments]
        if isinstance(expression, Call):
            return self._called(expression, arguments)
        with np.errstate(all="ignore"):
            return _KERNELS[expression.name](*arguments)

    def _computes_everywhere(self, expression: Expression) -> bool:
        """Evaluate a cheap ``expression``, which cannot raise an error, for all elements: that is
        faster than selecting some of them. False if it is not cheap, or not exact."""
        if not is_cheap(expression):
            return False
        try:
            self.values(expression)
        except Inexact:
            return False
        return True

    def _choice(self, choice: Choice) -> Values:
        if all(map(self._computes_everywhere, (choice.then, choice.otherwise))):
            then, otherwise = self.values(choice.then), self.values(choice.otherwise)
            if then.kind == otherwise.kind and not isinstance(then.array(0), pa.Array):
                mask = self.mask(choice.condition)
                data = np.where(mask, then.array(self.count), otherwise.array(self.count))
                return Values(then.kind, data)
        mask, then_run, other_run = self._split(choice.condition)
        if then_run is self or other_run.count == 0:
            return self.values(choice.then)
        if other_run is self or then_run.count == 0:
            return self.values(choice.otherwise)
        then, otherwise = then_run.values(choice.then), other_run.values(choice.otherwise)
        if then.kind != otherwise.kind:
            raise Inexact
        first, second = then.array(then_run.count), otherwise.array(other_run.count)
        if isinstance(first, np.ndarray):
            joined = np.empty(self.count, dtype=first.dtype)
            joined[mask] = first
            joined[~mask] = second
            return Values(then.kind, joined)
        if second.type != first.type:
            raise Inexact
        places = np.empty(self.count, dtype=np.int64)
        places[mask] = np.arange(then_run.count)
        places[~mask] = np.arange(then_run.count, self.count)
        return Values(then.kind, pa.concat_arrays([first, second]).take(pa.array(places)))

    def _split(self, condition: Expression) -> tuple[Mask, Run, Run]:
        known = self._branches.get(id(condition))
        if known is None:
            mask = self.mask(condition)
            known = self._branches[id(condition)] = mask, self.where(mask), self.where(~mask)
        return known

    def _called(self, call: Call, arguments: list[Values]) -> Values:
        for argument in arguments:
            passed = argument.kind in ("opaque", "none") and not argument.constant
            if passed and (argument.kind == "none" or argument.data.null_count):
                raise Inexact
        varying = [argument for argument in arguments if not argument.constant]
        few = varying[0].distinct(self.count) if len(varying) == 1 else None
        if few is None:
            lists = [argument.listed() for argument in arguments]
        else:  # a call for each number in place of one for each element
            lists = [each.listed() if each.constant else few[0] for each in arguments]
        try:
            if not varying:
                results = [call.function(*map(next, lists))] * self.count
            else:
                results = list(map(call.function, *lists))
        except Exception:
            raise Inexact from None
        made = _objects(results) if call.kind == "object" else of_python(results)
        return made if few is None else made.taken(few[1])


def _objects(values: list[Any]) -> Values:
    data = np.empty(len(values), dtype=object)
    data[:] = values
    return Values("object", data)


def _never(expression: Expression) -> bool:
    return False


_CHEAP = {"+", "-", "*", "&", "|", "^", "<", "<=", ">", ">=", "==", "!=", "float", "truth"}


@lru_cache(maxsize=4096)
def is_cheap(expression: Expression) -> bool:
    """Whether ``expression`` is one of numbers that cannot raise an error and that NumPy computes
    quickly."""
    if isinstance(expression, (Operation, Choice)):
        known = isinstance(expression, Choice) or expression.name in _CHEAP
        return known and all(map(is_cheap, parts_of(expression)))
    return isinstance(expression, (Column, Constant)) and expression.kind in NUMBERS


class _Part(dict[int, Values]):
    """The expressions evaluated over a part of a run; reuses those evaluated over the whole."""

    def __init__(self, whole: dict[int, Values], mask: Mask) -> None:
        super().__init__()
        self._whole = whole
        self._mask = mask

    def get(self, key: int, default: Any = None) -> Any:
        known = super().get(key)
        if known is None:
            whole = self._whole.get(key)
            if whole is None:
                return default
            known = self[key] = whole.at(self._mask)
        return known


# ---------------------------------------------------------------------- columns


def kind_of(kind: pa.DataType) -> Kind:
    """The kind of the values of an Arrow column."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_integer(kind):
        return "int"
    if pa.types.is_floating(kind):
        return "float"
    if pa.types.is_boolean(kind):
        return "bool"
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return "str"
    return "opaque"


def of_arrow(column: pa.Array) -> Values:
    """A column as values. Raises Inexact if it has nulls, unless its kind is opaque."""
    kind = kind_of(column.type)
    if kind == "opaque":
        return Values(kind, plain(column))
    if nulls(column):
        raise Inexact
    if kind == "str":
        return Values(kind, plain(column))
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    data = column.to_numpy(zero_copy_only=False)
    if kind == "int":
        if column.type == pa.uint64() and len(data) and int(data.max()) > MOST:
            raise Inexact
        return Values(kind, data.astype(np.int64, copy=False))
    if kind == "float":
        data = data.astype(np.float64, copy=False)
    return Values(kind, data)


def nulls(column: pa.Array) -> bool:
    """Whether ``column``, or its dictionary, has a null."""
    if column.null_count:
        return True
    return pa.types.is_dictionary(column.type) and bool(column.dictionary.null_count)


def plain(column: pa.Array) -> pa.Array:
    """A column without a dictionary, and with large strings as strings."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return column.cast(pa.string()) if pa.types.is_large_string(column.type) else column


def of_python(values: list[Any]) -> Values:
    """A list of Python values as values. Raises Inexact unless all have the same type, and fit."""
    kinds = set(map(type, values))
    if kinds <= {int}:
        try:
            return Values("int", np.array(values, dtype=np.int64))
        except OverflowError:
            raise Inexact from None
    if kinds == {float}:
        return Values("float", np.array(values, dtype=np.float64))
    if kinds == {bool}:
        return Values("bool", np.array(values, dtype=np.bool_))
    if kinds == {str}:
        try:
            return Values("str", pa.array(values, pa.string()))
        except (pa.ArrowException, UnicodeEncodeError):
            raise Inexact from None
    raise Inexact


def to_arrow(data: Any) -> pa.Array:
    """An array of values as an Arrow column."""
    return pa.array(data) if isinstance(data, np.ndarray) else data


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
            return _float(function(_finite_size(a), _finite_size(b)))
        a, b = a.integers(), b.integers()
        low, high = _within(a, b, bounds)
        return Values("int", function(a.data, b.data), low, high)

    return computed


def _float(data: Any) -> Values:
    return Values("float", data if isinstance(data, np.ndarray) else float(data))


def _finite_size(a: Values) -> Any:
    try:
        return a.floats()
    except OverflowError:
        raise Inexact from None


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
    divisor = _finite_size(b)
    if _has_zero(divisor):
        raise Inexact
    return _float(function(_finite_size(a), divisor))


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
    return a if a.kind == "float" else _float(_finite_size(a))


def _truth(a: Values) -> Values:
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
            return Values("bool", compare(_finite_size(a), _finite_size(b)))
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

_KERNELS: dict[str, Callable[..., Values]] = {
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
    "int": _to_int,
    "float": _to_float,
    "truth": _truth,
    "len": _text_length,
}
