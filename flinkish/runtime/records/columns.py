"""Converts Python values to Arrow columns, with strict checks: an error names the value that does
not fit.

pyarrow alone would truncate 1.5 to 1 in a column of integers, and accept a number as a time.
"""

from __future__ import annotations

import dataclasses
import datetime
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from functools import cached_property
from itertools import accumulate, chain
from typing import Any

import numpy as np
import pyarrow as pa

from flinkish.api.errors import UnfitElementError, shown
from flinkish.runtime.records.rows import RowColumns
from flinkish.runtime.records.user_code import user_code_of


class Misfit(Exception):
    """The value at ``position`` of a column is not of the column's type. Internal:
    ``ElementColumns`` turns it into an UnfitElementError, which names the sink."""

    def __init__(self, position: int, value: object, wanted: str, field: str = "") -> None:
        super().__init__(position, value, wanted, field)
        self.position, self.value, self.wanted, self.field = position, value, wanted, field

    def within(self, field: str, position: int) -> Misfit:
        """This error for an outer column, in whose field ``field`` the value is."""
        path = f"{field}.{self.field}" if self.field else field
        return type(self)(position, self.value, self.wanted, path)

    def __str__(self) -> str:
        return f"its {self.field} {shown(self.value)} is not of type {self.wanted}"


class MissingField(Misfit):
    """The value at ``position`` has named fields, but not the column's name, ``wanted``."""

    def __str__(self) -> str:
        path = f"{self.field}.{self.wanted}" if self.field else self.wanted
        return f"it has no field {path!r}"


class ColumnWriter(ABC):
    """Creates columns of one type."""

    def __init__(self, kind: pa.DataType) -> None:
        self._kind = kind

    @abstractmethod
    def array(self, values: Sequence[Any]) -> pa.Array:
        """``values`` as a column, None as null. Raises Misfit if one does not fit."""


class BasicColumnWriter(ColumnWriter):
    """Creates columns of numbers, texts, times and other values without parts."""

    def __init__(self, kind: pa.DataType) -> None:
        super().__init__(kind)
        self._exact, self._accepts = _accepted(kind)

    def array(self, values: Sequence[Any]) -> pa.Array:
        if not self._exact.issuperset(map(type, values)):
            self._check(values)
            if pa.types.is_string(self._kind):
                values = [value.name if isinstance(value, Enum) else value for value in values]
        try:
            return pa.array(values, type=self._kind)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            for position, value in enumerate(values):
                try:
                    pa.array([value], type=self._kind)
                except (pa.ArrowException, TypeError, ValueError, OverflowError):
                    raise Misfit(position, value, str(self._kind)) from None
            raise

    def _check(self, values: Sequence[Any]) -> None:
        for position, value in enumerate(values):
            if value is not None and not self._accepts(value):
                raise Misfit(position, value, str(self._kind))


class StructColumnWriter(ColumnWriter):
    """Creates columns of elements with fields: tuples, Rows, dicts and dataclasses."""

    def __init__(self, kind: pa.StructType) -> None:
        super().__init__(kind)
        self.fields = FieldsWriter(pa.schema(list(kind)))

    def array(self, values: Sequence[Any]) -> pa.Array:
        missing = np.fromiter((value is None for value in values), bool, len(values))
        nothing = (None,) * len(self._kind)
        columns = self.fields.columns([nothing if value is None else value for value in values])
        return pa.StructArray.from_arrays(columns, fields=list(self._kind), mask=pa.array(missing))


class FieldsWriter:
    """Creates a column for each field; ``whole``: one column of the elements themselves."""

    def __init__(self, schema: pa.Schema, whole: bool = False) -> None:
        self._whole = whole
        self._names = schema.names
        self._writers = [column_writer(field.type) for field in schema]

    def columns(self, values: Sequence[Any]) -> list[pa.Array]:
        """A column for each field of ``values``."""
        columns = []
        for name, writer, column in zip(self._names, self._writers, self._split(values)):
            try:
                columns.append(writer.array(column))
            except Misfit as misfit:
                raise misfit.within(name, misfit.position) from None
        return columns

    def _split(self, values: Sequence[Any]) -> Iterable[Sequence[Any]]:
        """The values of each field."""
        if self._whole:
            return [values]
        if not values:
            return [()] * len(self._names)
        kinds = set(map(type, values))
        if len(kinds) == 1:
            columns = self._of_kind(kinds.pop(), values)
            if columns is not None:
                return columns
        return zip(*[self._of(value, position) for position, value in enumerate(values)])

    def _of_kind(self, kind: type[Any], values: Sequence[Any]) -> Iterable[Sequence[Any]] | None:
        """The values of each field of elements all of ``kind``; None if each must be inspected."""
        names = self._names_of(kind)
        if issubclass(kind, tuple):
            if names is not None and tuple(names) != tuple(self._names):
                if not set(self._names).issubset(names):
                    return None
                return [
                    [value[place] for value in values] for place in map(names.index, self._names)
                ]
            known = kind is tuple or bool(getattr(kind, "_fields", ()))
            if known and set(map(len, values)) == {len(self._names)}:
                return zip(*map(tuple.__iter__, values))
        elif names is not None and set(self._names).issubset(names):
            return [[getattr(value, name) for value in values] for name in self._names]
        return None

    def _names_of(self, value: Any) -> Sequence[str] | None:
        """The names of the fields of a value, or of all values of a class. None if fields are
        matched by position, also if the names of the value or of the columns are only ``f0``,
        ``f1`` and so on."""
        kind = value if isinstance(value, type) else type(value)
        if issubclass(kind, tuple):
            names = getattr(value, "_fields", None) or getattr(value, "__fields__", None)
            if not isinstance(names, (tuple, list)) or _are_numbered(names):
                return None
            return None if _are_numbered(self._names) else names
        if dataclasses.is_dataclass(kind):
            return [field.name for field in dataclasses.fields(kind)]
        return list(value) if isinstance(value, Mapping) else None

    def _of(self, value: Any, position: int) -> Sequence[Any]:
        names = self._names_of(value)
        fields: Sequence[Any]
        if names is not None:
            missing = next((name for name in self._names if name not in names), None)
            if missing is not None:
                raise MissingField(position, value, missing)
            if isinstance(value, tuple):
                return [tuple.__getitem__(value, names.index(name)) for name in self._names]
            if isinstance(value, Mapping):
                return [value[name] for name in self._names]
            return [getattr(value, name) for name in self._names]
        fields = value if isinstance(value, (tuple, list)) else (value,)
        if len(fields) != len(self._names):
            wanted = f"a row of {len(self._names)} fields, {', '.join(self._names)}"
            raise Misfit(position, value, wanted)
        return fields


def _are_numbered(names: Sequence[str]) -> bool:
    return all(name == f"f{place}" for place, name in enumerate(names))


class ListColumnWriter(ColumnWriter):
    """Creates columns of lists, tuples and arrays."""

    def __init__(self, kind: pa.ListType) -> None:
        super().__init__(kind)
        self._items = column_writer(kind.value_type)

    def array(self, values: Sequence[Any]) -> pa.Array:
        for position, value in enumerate(values):
            if value is not None and (
                isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable)
            ):
                raise Misfit(position, value, str(self._kind))
        lists = [() if value is None else tuple(value) for value in values]
        offsets = _offsets(lists)
        items = _within(self._items, list(chain.from_iterable(lists)), offsets, "element")
        return pa.ListArray.from_arrays(
            pa.array(offsets, pa.int32()), items, type=self._kind, mask=_missing(values)
        )


class MapColumnWriter(ColumnWriter):
    """Creates columns of dicts."""

    def __init__(self, kind: pa.MapType) -> None:
        super().__init__(kind)
        self._keys, self._items = column_writer(kind.key_type), column_writer(kind.item_type)

    def array(self, values: Sequence[Any]) -> pa.Array:
        for position, value in enumerate(values):
            if value is not None and not isinstance(value, Mapping):
                raise Misfit(position, value, str(self._kind))
        maps: list[Mapping[Any, Any]] = [{} if value is None else value for value in values]
        offsets = _offsets(maps)
        keys = _within(self._keys, list(chain.from_iterable(maps)), offsets, "key")
        contents = list(chain.from_iterable(entries.values() for entries in maps))
        items = _within(self._items, contents, offsets, "value")
        return pa.MapArray.from_arrays(
            pa.array(offsets, pa.int32()), keys, items, type=self._kind, mask=_missing(values)
        )


def column_writer(kind: pa.DataType) -> ColumnWriter:
    """The writer of columns of type ``kind``."""
    if pa.types.is_struct(kind):
        return StructColumnWriter(kind)
    if pa.types.is_map(kind):
        return MapColumnWriter(kind)
    if pa.types.is_list(kind):
        return ListColumnWriter(kind)
    return BasicColumnWriter(kind)


def _offsets(parts: Sequence[Any]) -> list[int]:
    return [0, *accumulate(map(len, parts))]


def _missing(values: Sequence[Any]) -> pa.Array | None:
    return pa.array([value is None for value in values]) if None in values else None


def _within(writer: ColumnWriter, items: list[Any], offsets: list[int], part: str) -> pa.Array:
    try:
        return writer.array(items)
    except Misfit as misfit:
        owner = int(np.searchsorted(offsets, misfit.position, side="right")) - 1
        raise misfit.within(part, owner) from None


_Accepts = Callable[[Any], bool]


def _accepted(kind: pa.DataType) -> tuple[frozenset[type[Any]], _Accepts]:
    """The Python types that always fit a column's type, and a test for values of any other."""
    exact, accepts = next(
        ((exact, accepts) for is_of, exact, accepts in _ACCEPTED if is_of(kind)), _ANYTHING
    )
    return frozenset((*exact, type(None))), accepts


def _is_whole(value: Any) -> bool:
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    return whole or (isinstance(value, (float, np.floating)) and float(value).is_integer())


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, Decimal, np.number)) and not isinstance(value, bool)


def _is_date(value: Any) -> bool:
    return isinstance(value, datetime.date) and not isinstance(value, datetime.datetime)


def _instances(*kinds: type[Any]) -> _Accepts:
    return lambda value: isinstance(value, kinds)


_ANYTHING: tuple[tuple[type[Any], ...], _Accepts] = ((), lambda value: True)

_ACCEPTED: tuple[tuple[Callable[[pa.DataType], bool], tuple[type[Any], ...], _Accepts], ...] = (
    (pa.types.is_integer, (int,), _is_whole),
    (pa.types.is_floating, (float, int), _is_number),
    (pa.types.is_decimal, (Decimal, int), _instances(Decimal, int)),
    (pa.types.is_boolean, (bool,), _instances(bool, np.bool_)),
    (pa.types.is_string, (str,), _instances(str, Enum)),
    (pa.types.is_binary, (bytes, bytearray), _instances(bytes, bytearray, memoryview)),
    (pa.types.is_timestamp, (datetime.datetime,), _instances(datetime.datetime, np.datetime64)),
    (pa.types.is_date, (datetime.date,), _is_date),
    (pa.types.is_duration, (datetime.timedelta,), _instances(datetime.timedelta, np.timedelta64)),
)


@dataclass(frozen=True)
class ElementColumns:
    """Converts the elements of a sink to columns; ``sink`` is its name, for errors. ``whole``: the
    elements have no fields and are one column themselves."""

    sink: str
    schema: pa.Schema
    whole: bool = False

    def of(self, values: Sequence[Any]) -> RowColumns:
        """``values`` as columns. Raises UnfitElementError for the first that does not fit."""
        if isinstance(values, RowColumns):
            # Rows of a table, and results of traced functions, are columns already
            columns = self._columns_of(values)
            if columns is not None and [column.type for column in columns] == self.schema.types:
                return RowColumns(self._batch(columns))
        with user_code_of(self.sink, lambda: values):
            try:
                return RowColumns(self._batch(self._writer.columns(values)))
            except Misfit as misfit:
                raise self._error(values[misfit.position], misfit) from None

    def _columns_of(self, values: RowColumns) -> list[pa.Array] | None:
        """The columns of ``values``, in the schema's order; None if each must be inspected."""
        shape, wanted = values.shape, self.schema.names
        if shape.kind is None or self.whole:
            return values.batch.columns if shape.kind is None and self.whole else None
        if not shape.flat:
            return None
        names = list(shape.names)
        if shape.kind is tuple or names == wanted:
            return list(values.batch.columns)
        if _are_numbered(names) or (_are_numbered(wanted) and issubclass(shape.kind, tuple)):
            return list(values.batch.columns) if len(names) == len(wanted) else None
        if not set(wanted).issubset(names):
            return None
        return [values.batch.column(names.index(name)) for name in wanted]

    @cached_property
    def _writer(self) -> FieldsWriter:
        return FieldsWriter(self.schema, self.whole)

    def _batch(self, columns: Sequence[pa.Array]) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def _error(self, element: Any, misfit: Misfit) -> UnfitElementError:
        if isinstance(misfit, MissingField):
            return UnfitElementError(
                f"the element {shown(element)} does not fit the schema: {misfit}. Elements with names are"
                " written by name: give the element the field, if only with None, or name the column of"
                " the schema as the element does.",
                self.sink,
            )
        if misfit.field:
            return UnfitElementError(
                f"the element {shown(element)} does not fit the schema: {misfit}. Map the"
                " elements to the type of the field, or declare another type with returns(Types...) or"
                " a schema.",
                self.sink,
            )
        names = self.schema.names
        return UnfitElementError(
            f"the element {shown(element)} does not fit the schema, which has {len(names)} fields:"
            f" {', '.join(names)}. Map the elements to tuples of those fields.",
            self.sink,
        )
