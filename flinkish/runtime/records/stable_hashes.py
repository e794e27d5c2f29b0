"""The stable hash of a key: the same in every process, and the same for equal keys.

Python's ``hash()`` of a string differs from process to process, so one worker could not find the
state that another has written. The stable hash follows equality, across types too: equal keys
(``1 == 1.0 == True``, a datetime and a ``pandas.Timestamp``) are one entry of a dict, so they must
be in one key group. It is therefore chosen by the ``__eq__`` and ``__hash__`` of the key's type. A
subclass that inherits both hashes like its base; a type that overrides one is refused, unless it
is in the table below.
"""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import fractions
import struct
import uuid
import zlib
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flinkish.api.errors import UnstableKeyError
from flinkish.runtime.records.records import Hashes

_MIX = 0x9E3779B1
_MASK = 0xFFFFFFFF

HASH_OF_NONE = 0x6B7B1D3F

VERSION = 2
"""The version of the hashes, as checkpoints note it. Version 1 gave some equal keys different
hashes (``was_hashed_otherwise``)."""


def stable_hash(key: Any) -> int:
    """A 32-bit hash of ``key``, the same in every process and for every key that is equal to it.
    Raises UnstableKeyError for keys without one, such as objects that hash by identity."""
    kind: Any = type(key)
    if kind is str:
        return _of_text(key)
    if kind is int:
        return hash_of_integer(key)
    if kind is tuple:
        return _of_items(key)
    if key is None:
        return HASH_OF_NONE
    hashed = _BY_EQUALITY.get((kind.__eq__, kind.__hash__)) or _of_class(kind)
    if hashed is None:
        raise UnstableKeyError(key)
    return hashed(key)


def hash_of_integer(number: int) -> int:
    # Multiplying spreads neighbours; folding takes the high half into account
    folded = (number ^ (number >> 32)) & _MASK if -(2**63) <= number < 2**63 else hash(number)
    return (folded * _MIX ^ (folded >> 15)) & _MASK


def hashes_of_integers(numbers: NDArray[np.int64]) -> Hashes:
    folded = ((numbers ^ (numbers >> 32)) & _MASK).astype(np.uint64)
    return (folded * np.uint64(_MIX) ^ folded >> np.uint64(15)).astype(np.uint32)


def differs_from_itself(key: Any) -> bool:
    """Whether ``key`` or a part of it is not equal to itself, like NaN."""
    if type(key) in PLAIN_KEYS:
        return False
    if parts := _parts_of(key):
        return any(map(differs_from_itself, parts))
    try:
        return bool(key != key)
    except Exception:  # a broken __ne__ is reported elsewhere
        return False


PLAIN_KEYS = frozenset((str, int, bool, bytes, type(None)))
"""Types that need no check."""


def may_equal_others(key: Any) -> bool:
    """Whether ``key`` or a part of it derives from a type with a stable hash, but compares or hashes
    in its own way: it may be equal to a key that has another hash."""
    kind: Any = type(key)
    if kind is not tuple and _has_own_equality(kind):
        return True
    for part in key if kind is tuple else _parts_of(key):
        if type(part) not in PLAIN_KEYS and may_equal_others(part):
            return True
    return False


def _parts_of(key: Any) -> Sequence[Any]:
    """The keys that a tuple, frozenset or frozen dataclass consists of."""
    if isinstance(key, (tuple, frozenset)):
        return list(key)
    if _is_frozen_dataclass(type(key)):
        return [getattr(key, field.name) for field in dataclasses.fields(key)]
    return ()


def was_hashed_otherwise(key: Any) -> bool:
    """Whether ``stable_hash(key)`` was another before version 2 of the hashes."""
    if isinstance(key, enum.Enum):
        by_name = type(key).__eq__ is object.__eq__
        return not by_name and not isinstance(key, (str, int, float, bytes, tuple))
    if parts := _parts_of(key):
        return any(map(was_hashed_otherwise, parts))
    if isinstance(key, (datetime.date, datetime.time, datetime.timedelta)):
        if type(key) is datetime.datetime and key.tzinfo is not None:
            return bool(key.fold) or key.utcoffset() is None
        zoned = type(key) is datetime.time and key.tzinfo is not None
        return zoned or type(key).__module__ != "datetime"
    return False


# ---------------------------------------------------------------------- by type


def _of_text(key: str) -> int:
    return zlib.crc32(str.encode(key, "utf-8", "surrogatepass"))


def _of_items(items: Iterable[Any]) -> int:
    result = 0x811C9DC5
    for item in items:
        result = ((result ^ stable_hash(item)) * 0x01000193 + 0x7F4A7C15) & _MASK
    return result


def _of_number(number: Any) -> int:
    if number != number:
        raise UnstableKeyError(number)
    if isinstance(number, complex):
        if number.imag:
            return zlib.crc32(struct.pack(">q", hash(number)), 6)
        number = number.real
    try:
        if number == int(number):
            return hash_of_integer(int(number))
    except (OverflowError, ValueError):  # infinities
        return zlib.crc32(str(float(number)).encode(), 5)
    # hash() of a number depends only on its value, never on the process
    return zlib.crc32(struct.pack(">q", hash(number)), 6)


def _of_member(key: enum.Enum) -> int:
    return zlib.crc32(f"{type(key).__qualname__}.{key.name}".encode())


def _of_date(key: datetime.date) -> int:
    return zlib.crc32(repr(datetime.date(key.year, key.month, key.day)).encode(), 4)


def _of_datetime(key: datetime.datetime) -> int:
    # Without its fold, which counts neither in the equality of two times of one zone nor in hash()
    local = datetime.datetime(
        *(key.year, key.month, key.day, key.hour, key.minute, key.second, key.microsecond),
        tzinfo=key.tzinfo,
    )
    offset, local = local.utcoffset(), local.replace(tzinfo=None)
    if offset is None:
        return zlib.crc32(repr(local).encode(), 4)
    try:
        # Datetimes with an offset are equal if they are the same instant, whatever their zone
        return zlib.crc32(f"{(local - offset).isoformat()}+00:00".encode(), 3)
    except OverflowError:  # in UTC it is before the year 1 or after 9999
        return zlib.crc32(repr(local - datetime.datetime.min - offset).encode(), 3)


def _of_time(key: datetime.time) -> int:
    local = datetime.time(key.hour, key.minute, key.second, key.microsecond, key.tzinfo)
    offset, local = local.utcoffset(), local.replace(tzinfo=None)
    if offset is None:
        return zlib.crc32(repr(local).encode(), 4)
    # As in their equality, times of two days stay apart: 23:30-01:00 is 24:30 in UTC
    seconds = (local.hour * 60 + local.minute) * 60 + local.second
    seconds -= offset.days * 86_400 + offset.seconds
    return zlib.crc32(struct.pack(">qq", seconds, local.microsecond), 7)


def _of_timedelta(key: datetime.timedelta) -> int:
    plain = datetime.timedelta(key.days, key.seconds, key.microseconds)
    return zlib.crc32(repr(plain).encode(), 4)


def _of_nanoseconds(key: Any) -> int:
    return zlib.crc32(struct.pack(">q", key.value), 8)


_NUMPY_INTEGERS = (
    *(np.bool_, np.byte, np.short, np.intc, np.int_, np.longlong),
    *(np.ubyte, np.ushort, np.uintc, np.uint, np.ulonglong),
)
"""Narrow floats are not accepted: NumPy rounds what it compares them with, so that float32(0.1)
equals both 0.1 and 0.10000000149011612."""

_Hash = Callable[[Any], int]

_OF_TYPES: tuple[tuple[_Hash, tuple[type, ...]], ...] = (
    (_of_text, (str, np.str_)),
    (lambda key: hash_of_integer(int(key)), (int, *_NUMPY_INTEGERS)),
    (_of_number, (float, np.float64, decimal.Decimal, fractions.Fraction, complex)),
    (lambda key: zlib.crc32(key, 1), (bytes, np.bytes_)),
    (_of_items, (tuple,)),
    (lambda key: sum(map(stable_hash, key)) & _MASK, (frozenset,)),
    (_of_member, (enum.Enum, enum.Flag)),
    (lambda key: zlib.crc32(key.bytes, 2), (uuid.UUID,)),
    (_of_date, (datetime.date,)),
    (_of_datetime, (datetime.datetime,)),
    (_of_time, (datetime.time,)),
    (_of_timedelta, (datetime.timedelta,)),
)


def _by_equality(types: Iterable[tuple[_Hash, tuple[type, ...]]]) -> dict[Any, _Hash]:
    return {(kind.__eq__, kind.__hash__): hashed for hashed, kinds in types for kind in kinds}


_BY_EQUALITY = _by_equality(_OF_TYPES)

_BASES = (np.generic, *(kind for _, kinds in _OF_TYPES for kind in kinds))


@lru_cache(maxsize=1024)
def _has_own_equality(kind: Any) -> bool:
    if (kind.__eq__, kind.__hash__) in _BY_EQUALITY:
        return False
    return (issubclass(kind, _BASES) or _is_frozen_dataclass(kind)) and _of_class(kind) is None


@lru_cache(maxsize=1024)
def _of_class(kind: Any) -> _Hash | None:
    """The hash of the instances of a class that is in no table; None if they have none."""
    if issubclass(kind, (datetime.datetime, datetime.timedelta)):
        return _of_pandas().get((kind.__eq__, kind.__hash__))
    if not _is_frozen_dataclass(kind) or not _has_generated_equality(kind):
        return None
    names = [field.name for field in dataclasses.fields(kind) if field.compare]
    return lambda key: _of_items([getattr(key, name) for name in names])


@lru_cache(maxsize=1)
def _of_pandas() -> dict[Any, _Hash]:
    import pandas as pd  # a worker that has met no such key need not load it

    def of_timestamp(key: pd.Timestamp) -> int:
        if key.nanosecond:
            return _of_nanoseconds(key)
        # Made of a time that the clocks left out, it keeps that until it is converted
        return _of_datetime((key if key.tz is None else key.tz_convert(key.tz)).to_pydatetime())

    def of_timedelta(key: pd.Timedelta) -> int:
        return _of_nanoseconds(key) if key.nanoseconds else _of_timedelta(key)

    return _by_equality(((of_timestamp, (pd.Timestamp,)), (of_timedelta, (pd.Timedelta,))))


def _is_frozen_dataclass(kind: type) -> bool:
    parameters = getattr(kind, "__dataclass_params__", None)
    return parameters is not None and parameters.frozen and parameters.eq


def _has_generated_equality(kind: Any) -> bool:
    """Whether the ``__eq__`` and ``__hash__`` of a dataclass are those that ``dataclass`` writes."""
    fields = [
        (field.name, object, dataclasses.field(compare=field.compare, hash=field.hash))
        for field in dataclasses.fields(kind)
    ]
    generated: Any = dataclasses.make_dataclass("Generated", fields, frozen=True)
    return all(
        _instructions(getattr(kind, method)) == _instructions(getattr(generated, method))
        for method in ("__eq__", "__hash__")
    )


def _instructions(function: Any) -> object:
    code = getattr(function, "__code__", None)
    return code and (code.co_code, code.co_names, code.co_consts)
