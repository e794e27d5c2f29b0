"""Elements as lines of JSON where their type does not say the columns: the values are those that Spark
writes where it does, so that what reads the lines need not know."""

from __future__ import annotations

import base64
import dataclasses
import datetime
import math
import uuid
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from enum import Enum
from json.encoder import encode_basestring as quoted
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np

from flinkish.api.errors import UnfitElementError, shown


class JsonLine:
    """``JsonLine(timeZone)(element)`` is its line. ``timeZone``: the name of the one that timestamps are
    written in."""

    def __init__(self, timeZone: str) -> None:
        self._zone = ZoneInfo(timeZone)

    def __call__(self, value: Any) -> str:
        """Raises UnfitElementError for what JSON has no form for."""
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
        # An Enum may be a str or an int besides, a NamedTuple and a Row are tuples
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
        if value.tzinfo is None:
            return f'"{value.isoformat(timespec="milliseconds")}"'
        text = value.astimezone(self._zone).isoformat(timespec="milliseconds")
        return f'"{text[:-6]}Z"' if text.endswith("+00:00") else f'"{text}"'


def _key(key: Any) -> str:
    if isinstance(key, Enum):
        return key.name
    if isinstance(key, str):
        return str(key)
    if isinstance(key, (bool, int, float)):
        return str(key).lower()
    raise UnfitElementError(
        f"the key {shown(key)} of type {type(key).__name__} in a dict cannot be a name in JSON. Make"
        " the keys texts, numbers or Enums, or write a list of pairs, list(names.items())."
    )


def _float(value: float) -> str:
    if math.isfinite(value):
        return float.__repr__(value)
    return '"NaN"' if value != value else '"Infinity"' if value > 0 else '"-Infinity"'


def _decimal(value: Decimal) -> str:
    return str(value) if value.is_finite() else _float(float(value))


def _duration(value: datetime.timedelta) -> str:
    sign = "-" if value < datetime.timedelta() else ""
    length = abs(value)
    minutes, seconds = divmod(length.seconds, 60)
    fraction = f".{length.microseconds:06}".rstrip("0") if length.microseconds else ""
    clock = f"{minutes // 60:02}:{minutes % 60:02}:{seconds:02}{fraction}"
    return f"\"INTERVAL '{sign}{length.days} {clock}' DAY TO SECOND\""


def _bytes(value: bytes | bytearray) -> str:
    return f'"{base64.b64encode(value).decode()}"'


_WRITERS: dict[type[Any], Callable[[Any], str]] = {
    str: quoted,
    bool: lambda value: "true" if value else "false",
    int: int.__repr__,
    float: _float,
    type(None): lambda value: "null",
    Decimal: _decimal,
    bytes: _bytes,
    bytearray: _bytes,
    datetime.date: lambda value: f'"{value.isoformat()}"',
    datetime.time: lambda value: f'"{value.isoformat()}"',
    datetime.timedelta: _duration,
    uuid.UUID: lambda value: f'"{value}"',
}
