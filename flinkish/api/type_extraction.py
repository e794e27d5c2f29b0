"""Reads types out of what a user has written anyway: annotations, generics, samples of elements.

What cannot be read gives None, and the stream stays without a type (Flink: ``TypeExtractor``).
"""

from __future__ import annotations

import collections.abc
import dataclasses
import inspect
import types
from collections.abc import Iterable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from functools import partial
from itertools import islice
from typing import Annotated, Any, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints
from typing import is_typeddict as is_typed_dict

from flinkish.api.functions import Collector
from flinkish.api.row import Row
from flinkish.api.types import TypeInformation, Types

SAMPLES = 1_000
"""So many elements of a collection are looked at."""

_Type: TypeAlias = "TypeInformation[Any] | None"

_BASIC: dict[Any, TypeInformation[Any]] = {
    str: Types.STRING(),
    bool: Types.BOOLEAN(),
    int: Types.LONG(),
    float: Types.DOUBLE(),
    bytes: Types.PRIMITIVE_ARRAY(Types.BYTE()),
    Decimal: Types.BIG_DEC(),
    datetime: Types.SQL_TIMESTAMP(),
    date: Types.SQL_DATE(),
    time: Types.SQL_TIME(),
    timedelta: Types.DURATION(),
}

_NOTHING: TypeInformation[Any] = TypeInformation("Nothing")
"""The type of what is None in all samples so far: every other type takes its place."""

_LISTS = (list, collections.abc.Sequence, collections.abc.MutableSequence)
_MAPS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)
_ITERABLES = (
    *_LISTS,
    tuple,
    set,
    frozenset,
    collections.abc.Iterable,
    collections.abc.Iterator,
    collections.abc.Generator,
    collections.abc.Collection,
    collections.abc.Set,
)


# ---------------------------------------------------------------------- annotations


def type_of_annotation(annotation: Any, within: tuple[type[Any], ...] = ()) -> _Type:
    """The type that ``annotation`` stands for. ``within``: the classes it was found in, as a class
    whose fields are of the class itself has no end.

    >>> print(type_of_annotation(dict[str, int | None]))
    Map<String, Long>
    """
    if isinstance(annotation, TypeInformation):
        return annotation
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return type_of_annotation(arguments[0], within)
    if origin in (Union, types.UnionType):
        parts = [part for part in arguments if part is not type(None)]
        return type_of_annotation(parts[0], within) if len(parts) == 1 else None
    if origin is not None:
        return _type_of_generic(origin, arguments, within)
    if not isinstance(annotation, type):
        return None
    return _BASIC.get(annotation) or _type_of_class(annotation, within)


def _type_of_generic(
    origin: Any, arguments: tuple[Any, ...], within: tuple[type[Any], ...]
) -> _Type:
    if origin is tuple:
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return Types.OBJECT_ARRAY(_known(arguments[0], within))
        return Types.TUPLE([_known(argument, within) for argument in arguments])
    if origin in _LISTS:
        return Types.LIST(_known(arguments[0], within))
    if origin in _MAPS:
        return Types.MAP(_known(arguments[0], within), _known(arguments[1], within))
    # The fields of a generic dataclass or NamedTuple have type variables for types.
    return _type_of_class(origin, within)


def _type_of_class(annotation: Any, within: tuple[type[Any], ...]) -> _Type:
    if not isinstance(annotation, type) or annotation in within:
        return None
    if issubclass(annotation, Enum):
        return Types.ENUM(annotation)
    if dataclasses.is_dataclass(annotation):
        names = tuple(field.name for field in dataclasses.fields(annotation))
        return _type_with_fields("Dataclass", annotation, names, annotation, within)
    if issubclass(annotation, tuple) and hasattr(annotation, "_fields"):
        names = tuple(annotation._fields)
        return _type_with_fields("NamedTuple", annotation, names, annotation, within)
    if is_typed_dict(annotation):
        return _type_with_fields("Row", annotation, tuple(annotation.__annotations__), None, within)
    return None


def _type_with_fields(
    kind: str,
    annotated: type[Any],
    names: tuple[str, ...],
    typeClass: type[Any] | None,
    within: tuple[type[Any], ...],
) -> TypeInformation[Any]:
    try:
        hints = get_type_hints(annotated)
    except Exception:  # names that are there for type checkers only, and whatever else there is
        hints = {}
    children = tuple(_known(hints.get(name), (*within, annotated)) for name in names)
    return TypeInformation(kind, children, names, typeClass)


def _known(annotation: Any, within: tuple[type[Any], ...]) -> TypeInformation[Any]:
    return type_of_annotation(annotation, within) or Types.PICKLED_BYTE_ARRAY()


# ---------------------------------------------------------------------- functions


def returned_type(function: Any) -> _Type:
    """The type of what a plain callable returns, if it says so."""
    return type_of_annotation(_return_annotation(function))


def returned_item_type(function: Any) -> _Type:
    """The type of an item of the iterable that a plain callable returns."""
    annotation = _return_annotation(function)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is tuple and len(arguments) > 1 and arguments[1] is not Ellipsis:
        return None
    if origin in _ITERABLES and arguments:
        return type_of_annotation(arguments[0])
    return None


def collected_type(function: Any) -> _Type:
    """The type of what a plain callable writes to its ``Collector``, the last of its parameters."""
    hints = _hints(function)
    hints.pop("return", None)
    annotation = next(reversed(hints.values()), None)
    if get_origin(annotation) is not Collector:
        return None
    return type_of_annotation(get_args(annotation)[0])


def generic_argument(function: object, base: type[Any], position: int, method: str = "") -> _Type:
    """The type that ``function``'s class gives for a parameter of ``base``, of which it is an
    instance: that of ``MapFunction[str, int]`` at position 1 is Long. ``method`` names one whose
    result is of that type too, in case the class leaves the parameters out."""
    argument = _argument_of(type(function), base, position)
    found = None if argument is None else type_of_annotation(argument)
    if found is None and method:
        return returned_type(getattr(function, method))
    return found


def _argument_of(function_class: Any, base: type[Any], position: int) -> Any:
    """What stands in the place of ``base``'s parameter, through classes between that pass their
    own parameters on."""
    for alias in getattr(function_class, "__orig_bases__", ()):
        origin, arguments = get_origin(alias), get_args(alias)
        if origin is base:
            return arguments[position] if position < len(arguments) else None
        if isinstance(origin, type) and issubclass(origin, base):
            given = dict(zip(getattr(origin, "__parameters__", ()), arguments))
            return _substituted(_argument_of(origin, base, position), given)
    for parent in function_class.__bases__:
        if parent is not base and issubclass(parent, base):
            return _argument_of(parent, base, position)
    return None


def _substituted(annotation: Any, given: dict[Any, Any]) -> Any:
    """``annotation`` with what was given for its type variables."""
    if isinstance(annotation, TypeVar):
        return given.get(annotation, annotation)
    parameters = getattr(annotation, "__parameters__", ())
    if not parameters:
        return annotation
    return annotation[tuple(given.get(parameter, parameter) for parameter in parameters)]


def _return_annotation(function: Any) -> Any:
    if isinstance(function, type):
        return function
    return _hints(function).get("return")


def _hints(function: Any) -> dict[str, Any]:
    if isinstance(function, partial):
        return _hints(function.func)
    if not inspect.isroutine(function):
        function = getattr(function, "__call__", None)  # noqa: B004 - its annotations are wanted
    try:
        return get_type_hints(function)
    except Exception:  # annotations may be of any kind, and name what is not there at run time
        return {}


# ---------------------------------------------------------------------- samples


def type_of_samples(values: Iterable[Any]) -> _Type:
    """The type of the first so many of ``values``, if they are all of one.

    >>> print(type_of_samples([("JFK", 7), ("LGA", None)]))
    Tuple<String, Long>
    """
    found = _merged_samples(values)
    return None if found is None else _settled(found)


def _merged_samples(values: Iterable[Any]) -> _Type:
    found: _Type = _NOTHING
    for value in islice(values, SAMPLES):
        found = _merged(found, _known_value(value))
        if found is None:
            return None
    return found


def _settled(found: TypeInformation[Any]) -> TypeInformation[Any]:
    """``found`` without fields that were None in all samples: those are of any type."""
    if found == _NOTHING:
        return Types.PICKLED_BYTE_ARRAY()
    return dataclasses.replace(found, children=tuple(map(_settled, found.children)))


def _type_of_value(value: Any) -> _Type:
    kind = type(value)
    if kind is int:
        return Types.LONG() if -(2**63) <= value < 2**63 else Types.BIG_INT()
    if kind is tuple:
        return Types.TUPLE([_known_value(part) for part in value])
    if isinstance(value, Row):
        return Types.ROW_NAMED(value.getFieldNames(), [_known_value(part) for part in value])
    if kind is list:
        element = _merged_samples(value)
        return None if element is None else Types.LIST(element)
    if kind is dict:
        key, item = _merged_samples(value), _merged_samples(value.values())
        return None if key is None or item is None else Types.MAP(key, item)
    return type_of_annotation(kind)


def _known_value(value: Any) -> TypeInformation[Any]:
    if value is None:
        return _NOTHING
    return _type_of_value(value) or Types.PICKLED_BYTE_ARRAY()


_WIDENINGS: dict[frozenset[str], TypeInformation[Any]] = {
    frozenset(("Long", "Double")): Types.DOUBLE(),
    frozenset(("Long", "BigInteger")): Types.BIG_INT(),
}


def _merged(one: _Type, other: _Type) -> _Type:
    """The type of elements of both types."""
    if one is None or other is None:
        return None
    if one == other or other == _NOTHING:
        return one
    if one == _NOTHING:
        return other
    if (one.kind, one.fields, one.typeClass) == (other.kind, other.fields, other.typeClass):
        if len(one.children) != len(other.children):
            return None
        children = tuple(
            _merged(a, b) or Types.PICKLED_BYTE_ARRAY()
            for a, b in zip(one.children, other.children)
        )
        return dataclasses.replace(one, children=children) if children else None
    return _WIDENINGS.get(frozenset((one.kind, other.kind)))
