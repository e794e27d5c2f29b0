"""The values of an expression in a run: NumPy or Arrow arrays of one kind, or a constant."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from itertools import repeat
from typing import Any, ParamSpec, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from flinkish.runtime.columns.tracing.expressions import Kind
from flinkish.runtime.records.rows import python_values

P = ParamSpec("P")
R = TypeVar("R")


class Inexact(Exception):
    """A result computed from the columns of this run could differ from Python's, so it deoptimizes:
    the function is called for each element of the run."""


NOT_EXACT = (Inexact, ArithmeticError, TypeError, ValueError, pa.ArrowException)
"""Exceptions that a kernel raises if its result could differ from Python's."""


def deoptimizing(function: Callable[P, R | None]) -> Callable[P, R | None]:
    """``function``, which returns None where it would raise one of ``NOT_EXACT``."""

    @wraps(function)
    def call(*arguments: P.args, **named: P.kwargs) -> R | None:
        try:
            return function(*arguments, **named)
        except NOT_EXACT:
            return None

    return call


Mask: TypeAlias = NDArray[np.bool_]

LEAST, MOST = -(2**63), 2**63 - 1


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
    """A list of Python values as values. Raises one of ``NOT_EXACT`` unless all have the same type,
    and fit."""
    kinds = set(map(type, values))
    if kinds <= {int}:
        return Values("int", np.array(values, dtype=np.int64))
    if kinds == {float}:
        return Values("float", np.array(values, dtype=np.float64))
    if kinds == {bool}:
        return Values("bool", np.array(values, dtype=np.bool_))
    if kinds == {str}:
        return Values("str", pa.array(values, pa.string()))
    raise Inexact


def to_arrow(data: Any) -> pa.Array:
    return pa.array(data) if isinstance(data, np.ndarray) else data


def objects(values: list[Any]) -> Values:
    """A list of Python objects as values, which only calls take."""
    data = np.empty(len(values), dtype=object)
    data[:] = values
    return Values("object", data)
