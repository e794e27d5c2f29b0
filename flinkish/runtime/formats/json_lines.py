"""Writes elements as lines of JSON: one by one if their type does not say the columns, and as
columns if it does. Each value has the same form in both, which readers need not know."""

from __future__ import annotations

import dataclasses
import datetime
import math
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from enum import Enum
from json.encoder import encode_basestring as quoted
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flinkish.api.errors import InvalidProgramError, UnfitElementError, shown
from flinkish.runtime.formats.basic_texts import (
    basic_texts,
    bytes_text,
    decimal_text,
    double_text,
    duration_text,
    each,
    timestamp_text,
)


class JsonLine:
    """``JsonLine(timeZone)(element)`` returns the line of an element. ``timeZone`` is the name of
    the zone that timestamps are written in."""

    def __init__(self, timeZone: str) -> None:
        self._zone = ZoneInfo(timeZone)

    def __call__(self, value: Any) -> str:
        """Raises UnfitElementError for a value that JSON has no form for."""
        kind = type(value)
        write = _WRITERS.get(kind)
        if write is not None:
            return write(value)
        if kind is list or kind is tuple:
            return self._list(value)
        if kind is dict:
            return self._object((_key(key), item) for key, item in value.items())
        return self._other(value)

    def _other(self, value: Any) -> str:
        # An Enum may also be a str or an int; a NamedTuple and a Row are tuples
        if isinstance(value, Enum):
            return quoted(value.name)
        if hasattr(value, "_fields"):
            return self._object(zip(value._fields, value))
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            names = [field.name for field in dataclasses.fields(value)]
            return self._object((name, getattr(value, name)) for name in names)
        if isinstance(value, datetime.datetime):
            return self._timestamp(value)
        if isinstance(value, (np.datetime64, np.timedelta64)) and isinstance(value.item(), int):
            raise UnfitElementError(
                f"{shown(value)} is beyond what Python's times hold, the years 1 to 9999 in"
                " microseconds. Map the elements to times in that range before the sink."
            )
        if isinstance(value, (np.generic, np.ndarray)):
            return self(value.tolist())
        if isinstance(value, Mapping):
            return self._object((_key(key), item) for key, item in value.items())
        if isinstance(value, (list, tuple, set, frozenset)):
            return self._list(value)
        for base, write in _WRITERS.items():
            if isinstance(value, base):
                return write(value)
        raise UnfitElementError(
            f"{shown(value)} of type {type(value).__name__} has no form in JSON. Map the elements to"
            " dicts, lists, texts, numbers, times, dataclasses, NamedTuples or Rows of these before"
            " the sink."
        )

    def _list(self, values: Iterable[Any]) -> str:
        return f"[{','.join([self(value) for value in values])}]"

    def _object(self, fields: Iterable[tuple[str, Any]]) -> str:
        return f"{{{','.join(f'{quoted(name)}:{self(value)}' for name, value in fields)}}}"

    def _timestamp(self, value: datetime.datetime) -> str:
        return f'"{timestamp_text(value, self._zone)}"'


def json_lines(batch: pa.RecordBatch) -> pa.Array:
    return _objects(batch.schema.names, batch.columns, batch.num_rows)


def check_json(schema: pa.Schema, sink: str) -> None:
    """Raises InvalidProgramError if JSON has no form for a column of ``schema``."""
    for field in schema:
        key = _unfit_key(field.type)
        if key is not None:
            raise InvalidProgramError(
                f"{sink}: the column {field.name!r} has a map with keys of type {key}, which cannot be"
                " names in JSON. Make the keys texts or numbers, or make the map a list of pairs."
            )


def _unfit_key(kind: pa.DataType) -> pa.DataType | None:
    if pa.types.is_map(kind) and pa.types.is_nested(kind.key_type):
        return kind.key_type
    parts = [kind.key_type, kind.item_type] if pa.types.is_map(kind) else []
    if pa.types.is_list(kind):
        parts = [kind.value_type]
    elif pa.types.is_struct(kind):
        parts = [part.type for part in kind]
    return next((key for part in parts if (key := _unfit_key(part)) is not None), None)


def _texts(column: pa.Array) -> pa.Array:
    """The values of a column in JSON, ``null`` for null."""
    kind = column.type
    if pa.types.is_struct(kind):
        names = [part.name for part in kind]
        texts = _objects(names, column.flatten(), len(column))
        texts = pc.if_else(column.is_valid(), texts, None)
    elif pa.types.is_map(kind) or pa.types.is_list(kind):
        texts = _lists(column)
    elif pa.types.is_floating(kind):
        plain = basic_texts(column)
        texts = pc.if_else(pc.is_finite(column), plain, _surrounded('"', plain, '"'))
    elif pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_decimal(kind):
        texts = basic_texts(column)
    else:
        texts = _quoted(basic_texts(column))
    return pc.fill_null(texts, "null")


def _objects(names: Sequence[str], columns: Sequence[pa.Array], count: int) -> pa.Array:
    parts: list[Any] = []
    for name, column in zip(names, columns):
        parts += [f"{',' if parts else '{'}{quoted(name)}:", _texts(column)]
    if not parts:
        return pa.array(["{}"] * count, pa.string())
    return pc.binary_join_element_wise(*parts, "}", "")


def _lists(column: pa.Array) -> pa.Array:
    bounds = column.offsets
    start, end = bounds[0].as_py(), bounds[-1].as_py()
    offsets = pc.subtract(bounds, bounds[0])
    if pa.types.is_map(column.type):
        names = _quoted(basic_texts(column.keys.slice(start, end - start)))
        items = _texts(column.items.slice(start, end - start))
        texts, begin, close = pc.binary_join_element_wise(names, items, ":"), "{", "}"
    else:
        texts, begin, close = _texts(column.values.slice(start, end - start)), "[", "]"
    joined = pc.binary_join(pa.ListArray.from_arrays(offsets, texts), ",")
    return pc.if_else(column.is_valid(), _surrounded(begin, joined, close), None)


def _quoted(texts: pa.Array) -> pa.Array:
    if pc.any(pc.match_substring_regex(texts, r'["\\\x00-\x1f]')).as_py():
        return each(texts, quoted)
    return _surrounded('"', texts, '"')


def _surrounded(before: str, texts: pa.Array, behind: str) -> pa.Array:
    return pc.binary_join_element_wise(before, texts, behind, "")


def _key(key: Any) -> str:
    if isinstance(key, Enum):
        return key.name
    if isinstance(key, str):
        return str(key)
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, int):
        return int.__repr__(key)
    if isinstance(key, float):
        return double_text(key)
    raise UnfitElementError(
        f"the key {shown(key)} of type {type(key).__name__} in a dict cannot be a name in JSON. Make"
        " the keys texts, numbers or Enums, or write a list of pairs, list(names.items())."
    )


def _float(value: float) -> str:
    return double_text(value) if math.isfinite(value) else f'"{double_text(value)}"'


def _decimal(value: Decimal) -> str:
    return decimal_text(value) if value.is_finite() else _float(float(value))


def _in_quotes(text: Callable[[Any], str]) -> Callable[[Any], str]:
    return lambda value: f'"{text(value)}"'


_WRITERS: dict[type[Any], Callable[[Any], str]] = {
    str: quoted,
    bool: lambda value: "true" if value else "false",
    int: int.__repr__,
    float: _float,
    type(None): lambda value: "null",
    Decimal: _decimal,
    bytes: _in_quotes(bytes_text),
    bytearray: _in_quotes(bytes_text),
    datetime.date: _in_quotes(datetime.date.isoformat),
    datetime.time: _in_quotes(datetime.time.isoformat),
    datetime.timedelta: _in_quotes(duration_text),
    uuid.UUID: _in_quotes(str),
}
