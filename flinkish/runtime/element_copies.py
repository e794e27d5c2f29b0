"""Copies of elements: what leaves a user function is as it was then, whatever becomes of the object.

Operators hand on elements in runs, later than a function emits them, where Flink copies or serializes
each at once (``TypeSerializer.copy``). So what can change is copied when it is emitted, once for each
reader. What cannot change is handed on as it is; whether a type can is looked at once.
"""

from __future__ import annotations

import copy
import dataclasses
import datetime
import decimal
import enum
import fractions
import ipaddress
import pathlib
import pickle
import re
import types
import uuid
import zoneinfo
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any, TypeAlias

import numpy as np

from flinkish.runtime.row_columns import RowColumns

_Parts: TypeAlias = Callable[[Any], Iterable[Any]]

ATOMS: set[type[Any]] = {
    types.NoneType,
    types.EllipsisType,
    types.NotImplementedType,
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    range,
    type,
    datetime.date,
    datetime.datetime,
    datetime.time,
    datetime.timedelta,
    datetime.timezone,
    zoneinfo.ZoneInfo,
    decimal.Decimal,
    fractions.Fraction,
    uuid.UUID,
    ipaddress.IPv4Address,
    ipaddress.IPv6Address,
    ipaddress.IPv4Network,
    ipaddress.IPv6Network,
    pathlib.PurePosixPath,
    pathlib.PureWindowsPath,
    pathlib.PosixPath,
    re.Pattern,
    types.FunctionType,
    types.BuiltinFunctionType,
    types.ModuleType,
}
"""Types whose values have nothing that could change. Enums and NumPy's scalars join when they are met."""

_PARTS: dict[type[Any], _Parts | None] = {
    tuple: iter,
    frozenset: iter,
    list: None,
    dict: None,
    set: None,
    bytearray: None,
}
"""Of a type that cannot change itself, what else its values are made of; None: it can change."""

# issuperset() would make a set of its argument first
_is_atom = ATOMS.__contains__

_NOT_PICKLED: set[type[Any]] = set()
"""Types that ``pickle`` refuses, such as those of ``__main__`` in a worker."""


def immutable(value: Any) -> bool:
    """Whether nothing about ``value`` can change, all the way down."""
    kind = type(value)
    if kind in ATOMS:
        return True
    parts = _PARTS[kind] if kind in _PARTS else _learn(kind)
    if parts is None:
        return kind in ATOMS
    try:
        for part in parts(value):
            if type(part) not in ATOMS and not immutable(part):
                return False
    except RecursionError:
        return False
    return True


def all_immutable(values: Sequence[Any]) -> bool:
    """Whether nothing about any of ``values`` can change: quicker than asking for each."""
    if isinstance(values, RowColumns):
        return not values.nested
    kinds = set(map(type, values))
    if kinds <= ATOMS:
        return True
    if all(map(_is_plain_tuple, kinds)):
        parts = chain.from_iterable(map(tuple.__iter__, values))
        if set(map(type, parts)) <= ATOMS:
            return True
    return all(map(immutable, values))


def copied(value: Any) -> Any:
    """A copy that no change of ``value`` shows in; ``value`` itself if it cannot change."""
    return value if immutable(value) else copied_mutable(value)


def copied_mutable(value: Any) -> Any:
    """A copy of what can change; ``value`` itself if it can be neither pickled nor copied."""
    kind = type(value)
    if kind is list or kind is set:
        if all(map(_is_atom, map(type, value))):
            return value.copy()
    elif kind is dict and all(map(_is_atom, map(type, chain(value, value.values())))):
        return value.copy()
    if kind not in _NOT_PICKLED:
        try:
            return pickle.loads(pickle.dumps(value, 5))
        except Exception:
            if kind.__module__ != "builtins":
                _NOT_PICKLED.add(kind)
    try:
        return copy.deepcopy(value)
    except Exception:
        return value


def copied_values(values: Sequence[Any]) -> Sequence[Any]:
    """``copied`` of each."""
    if isinstance(values, RowColumns):
        return values.anew() if values.nested else values
    return [value if type(value) in ATOMS else copied(value) for value in values]


def copied_results(results: Iterable[Any]) -> list[Any]:
    """``copied`` of each of a function's results, at the moment at which a generator yields it."""
    if type(results) in (list, tuple) and all(map(_is_atom, map(type, results))):
        return list(results)
    return [result if type(result) in ATOMS else copied(result) for result in results]


def _learn(kind: type[Any]) -> _Parts | None:
    parts = _parts_of(kind)
    if parts is _nothing:
        ATOMS.add(kind)
    _PARTS[kind] = parts
    return parts


def _parts_of(kind: type[Any]) -> _Parts | None:
    """How to take values of ``kind`` apart; None if they can change."""
    if issubclass(kind, (enum.Enum, type)):
        return _nothing
    if issubclass(kind, np.generic):
        return None if issubclass(kind, (np.void, np.object_)) else _nothing
    if _is_plain_tuple(kind):
        return tuple.__iter__
    if _is_frozen_dataclass(kind):
        return _attributes
    return None


def _is_plain_tuple(kind: type[Any]) -> bool:
    """Whether ``kind`` is a tuple, Row or NamedTuple: without attributes of its own."""
    return issubclass(kind, tuple) and kind.__dictoffset__ == 0


def _is_frozen_dataclass(kind: type[Any]) -> bool:
    bases = [base for base in kind.__mro__ if base is not object]
    return (
        "__dataclass_params__" in vars(kind)
        and bool(kind.__dataclass_params__.frozen)
        and dataclasses.is_dataclass(kind)
        and all(base.__flags__ & _OF_PYTHON for base in bases)
    )


def _attributes(value: Any) -> Iterable[Any]:
    """What is in the attributes of an object, whether it has slots or not."""
    slots = chain.from_iterable(_slots(base) for base in type(value).__mro__)
    in_slots = [getattr(value, name) for name in slots if hasattr(value, name)]
    return [*getattr(value, "__dict__", {}).values(), *in_slots]


def _slots(kind: type[Any]) -> list[str]:
    return [name for name, member in vars(kind).items() if type(member) is _SLOT]


def _nothing(value: Any) -> Iterable[Any]:
    return ()


_SLOT = types.MemberDescriptorType
_OF_PYTHON = 1 << 9
"""Set in the flags of a class that Python code has made, whose values have attributes only."""
