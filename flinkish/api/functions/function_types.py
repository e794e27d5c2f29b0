"""Reads types out of what a user has written anyway: annotations, generics, samples of elements.

What cannot be read gives None, and the stream stays without a type (Flink: ``TypeExtractor``).
"""

from __future__ import annotations

import inspect
from functools import partial
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from flinkish.api.functions.functions import Collector
from flinkish.api.types.type_info import (
    _ITERABLES,
    _Type,
    type_of_annotation,
)

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
