"""Copies at emission: an element keeps the value that it had when a function emitted it.

A function may emit an object and change it afterwards::

    def flatMap(self, value, out):
        self.row["n"] += 1
        out.collect(self.row)   # the same dict each time

Flink copies or serializes each element when it is emitted (``TypeSerializer.copy``), so such a
function works there. Operators here pass on runs of elements, later than the function emits them,
so without a copy all elements of a run would show the last change. A mutable element is therefore
copied when it is emitted, once for each reader. Immutable elements (numbers, texts, tuples of
these) need no copy; whether a type is mutable is determined once.

For the same reason state, windows and joins store and return copies: a batch may start from values
read from pages, so whether a change in place lasts would depend on where one batch ends and the
next begins.
"""

from __future__ import annotations

import builtins
import copy
import dataclasses
import datetime
import decimal
import enum
import fractions
import ipaddress
import json
import pathlib
import pickle
import re
import types
import uuid
import zoneinfo
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, TypeAlias

import numpy as np

from flinkish.api.bytecode import Does, steps, with_inner
from flinkish.runtime.records.rows import RowColumns

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
"""Types with immutable values. Enums and NumPy's scalars are added when they are first seen."""

_PARTS: dict[type[Any], _Parts | None] = {
    tuple: iter,
    frozenset: iter,
    list: None,
    dict: None,
    set: None,
    bytearray: None,
}
"""For an immutable container type, a function for the parts of a value; None: mutable."""


# Not issuperset(), which would first convert its argument to a set
_is_atom = ATOMS.__contains__

_NOT_PICKLED: set[type[Any]] = set()
"""Types that cannot be pickled, such as those of ``__main__`` in a worker."""


def immutable(value: Any) -> bool:
    """Whether neither ``value`` nor any part of it can change."""
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
    """Whether all ``values`` are ``immutable``; faster than checking each."""
    if isinstance(values, RowColumns):
        return not values.nested
    kinds = set(map(type, values))
    if kinds <= ATOMS:
        return True
    if kinds == {tuple}:
        return set(map(type, chain.from_iterable(values))) <= ATOMS or all(map(immutable, values))
    if all(map(_is_plain_tuple, kinds)):
        parts = chain.from_iterable(map(tuple.__iter__, values))
        if set(map(type, parts)) <= ATOMS:
            return True
    return all(map(immutable, values))


def copied(value: Any) -> Any:
    """A deep copy of ``value``, or ``value`` itself if it cannot change."""
    kind = type(value)
    if kind in ATOMS:
        return value
    if kind is tuple:  # the most common type besides atoms; immutable() takes longer
        for part in value:
            if type(part) not in ATOMS:
                break
        else:
            return value
    return value if immutable(value) else copied_mutable(value)


def handed_out(values: Sequence[Any]) -> Sequence[Any]:
    """Stored ``values`` for a function, which may change them: mutable values are copied."""
    return values if all_immutable(values) else copied_values(values)


def copied_mutable(value: Any) -> Any:
    """A deep copy of a mutable value; ``value`` itself if it can be neither pickled nor copied."""
    kind = type(value)
    if (kind is list or kind is set) and all(map(_is_atom, map(type, value))):
        return value.copy()
    if kind not in _NOT_PICKLED:
        try:
            made = _copied_dict(value, set()) if kind is dict else None
            return pickle.loads(pickle.dumps(value, 5)) if made is None else made
        except Exception:
            if kind.__module__ != "builtins":
                _NOT_PICKLED.add(kind)
    try:
        return copy.deepcopy(value)
    except Exception:
        return value


def _copied_dict(value: dict[Any, Any], copied: set[int]) -> dict[Any, Any] | None:
    """A copy of a dict of atoms and such dicts, as documents are: pickle takes several times as long for dates. None
    for another dict, or if two of those in it are one. ``copied``: the ids of those that have been copied."""
    if not all(map(_is_atom, map(type, value))) or id(value) in copied:
        return None
    copied.add(id(value))
    made = value.copy()
    for name, part in value.items():
        if type(part) not in ATOMS:
            inner = _copied_dict(part, copied) if type(part) is dict else None
            if inner is None:
                return None
            made[name] = inner
    return made


def copied_values(values: Sequence[Any]) -> Sequence[Any]:
    """``copied`` of each of ``values``."""
    if isinstance(values, RowColumns):
        return values.anew() if values.nested else values
    return [value if type(value) in ATOMS else copied(value) for value in values]


def _learn(kind: type[Any]) -> _Parts | None:
    parts = _parts_of(kind)
    if parts is _nothing:
        ATOMS.add(kind)
    _PARTS[kind] = parts
    return parts


def _parts_of(kind: type[Any]) -> _Parts | None:
    """A function for the parts of a value of ``kind``; None if such values can change."""
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
    """Whether ``kind`` is a tuple, Row or NamedTuple without further attributes."""
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
    """The values of an object's attributes, from its ``__dict__`` and its slots."""
    slots = chain.from_iterable(_slots(base) for base in type(value).__mro__)
    in_slots = [getattr(value, name) for name in slots if hasattr(value, name)]
    return [*getattr(value, "__dict__", {}).values(), *in_slots]


@lru_cache(maxsize=1024)
def _slots(kind: type[Any]) -> list[str]:
    return [name for name, member in vars(kind).items() if type(member) is _SLOT]


def _nothing(value: Any) -> Iterable[Any]:
    return ()


_SLOT = types.MemberDescriptorType

_OF_PYTHON = 1 << 9
"""The flag of a class defined in Python, whose instances have nothing but attributes."""

_PLAIN: set[Any] = {
    types.NoneType,
    bool,
    int,
    float,
    str,
    bytes,
    datetime.date,
    datetime.datetime,
    datetime.time,
    datetime.timedelta,
    decimal.Decimal,
    uuid.UUID,
}
"""Immutable types whose methods run no user code."""

_MAKERS: set[Any] = {
    *(abs, all, any, bool, bytes, chr, dict, divmod, enumerate, float, frozenset, int, len, list),
    *(max, min, ord, range, repr, reversed, round, set, sorted, str, sum, tuple, zip, json.loads),
}
"""Functions that keep no reference to their arguments and return a new object."""

_OPERATIONS = {
    *(Does.LOAD_VARIABLE, Does.STORE_VARIABLE, Does.LOAD_CONSTANT, Does.LOAD_ENCLOSING),
    *(Does.LOAD_ITEM, Does.STORE_ITEM, Does.DELETE_ITEM, Does.LOAD_SLICE, Does.OPERATE, Does.UNARY),
    *(Does.COMPARE, Does.IS, Does.CONTAINS, Does.FORMAT, Does.CONVERT, Does.BUILD_TEXT),
    *(Does.BUILD_TUPLE, Does.BUILD_LIST, Does.BUILD_SET, Does.BUILD_SLICE, Does.BUILD_DICT),
    *(Does.BUILD_DICT_OF_NAMES, Does.EXTEND, Does.UNPACK, Does.UNPACK_REST),
    *(Does.CALL, Does.CALL_WITH_NAMES, Does.CALL_UNPACKED, Does.INTRINSIC, Does.FUNCTION),
    *(Does.GENERATOR, Does.ITERATOR, Does.ITERATE, Does.END_LOOP, Does.JUMP, Does.JUMP_BACK),
    *(Does.RETURN, Does.YIELD, Does.POP, Does.RERAISE, Does.SHUFFLE, Does.PUSH_NULL),
}
"""The steps of functions that compute, and put what they make nowhere else."""


def keeps_nothing(function: Callable[..., Any]) -> bool:
    """Whether ``function``, called with plain data, certainly keeps no reference to its argument or
    result after it returns, so that no copy is needed.

    >>> keeps_nothing(lambda row: {"key": row.key, "words": row.text.split()})
    True
    >>> seen = []
    >>> keeps_nothing(lambda row: seen.append(row) or row)
    False
    """
    if isinstance(function, types.MethodDescriptorType):
        return function.__objclass__ in _PLAIN
    if not isinstance(function, types.FunctionType) or function is json.loads:
        return _is_maker(function)
    code = function.__code__
    names = _globals_read(code, frozenset(code.co_freevars))
    if names is None:
        return False
    held = (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
    return set(map(type, chain(held, _closed_over(function)))) <= _PLAIN and all(
        _is_harmless(_global(function, name)) for name in names
    )


def is_plain(values: Sequence[Any]) -> bool:
    """Whether ``values`` are rows of a table, or numbers, texts and the like. Tuples do not count:
    checking the parts of each would take longer than checking the results."""
    if isinstance(values, RowColumns):
        return not values.shape.ofClasses
    return set(map(type, values)) <= _PLAIN


@lru_cache(maxsize=1024)
def _globals_read(code: types.CodeType, free: frozenset[str]) -> frozenset[str] | None:
    """The globals that ``code`` reads; None if it may do more than compute a value. ``free``: the
    variables of enclosing functions, which ``code`` must not set."""
    names: set[str] = set()
    for each in with_inner(code):
        for step in steps(each):
            if step.does is Does.LOAD_GLOBAL:
                names.add(step.argument)
            elif step.does is Does.LOAD_ATTRIBUTE:
                if step.argument.startswith("_"):
                    return None
            elif step.does is Does.STORE_ENCLOSING:
                if step.argument in free:
                    return None
            elif step.does not in _OPERATIONS:
                return None
    return frozenset(names)


def _closed_over(function: types.FunctionType) -> list[Any]:
    """The values of the enclosing variables that ``function`` reads."""
    cells = function.__closure__ or ()
    return [_NOT_SET if cell == _EMPTY else cell.cell_contents for cell in cells]


def _global(function: types.FunctionType, name: str) -> Any:
    found = function.__globals__.get(name, _NOT_SET)
    return vars(builtins).get(name, _NOT_SET) if found is _NOT_SET else found


def _is_harmless(value: Any) -> bool:
    return type(value) in _PLAIN or _is_maker(value)


def _is_maker(function: Any) -> bool:
    kinds = (type, types.BuiltinFunctionType, types.FunctionType)
    return type(function) in kinds and function in _MAKERS


_NOT_SET: Any = object()

_EMPTY = types.CellType()
