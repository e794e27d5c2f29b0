"""Extracts result types from annotations and generic parameters of functions (Flink:
``TypeExtractor``).

If a type cannot be determined the result is None, and the stream has no type.
"""

from __future__ import annotations

import copyreg
import inspect
import sys
from functools import partial
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from typing_extensions import TypeAliasType

from flinkish.api.functions.functions import Collector
from flinkish.api.types.type_info import (
    _ITERABLES,
    _Type,
    type_of_annotation,
)

# ---------------------------------------------------------------------- functions


def returned_type(function: Any) -> _Type:
    """The return type of a plain callable, None if it is not annotated."""
    return type_of_annotation(_return_annotation(function))


def returned_item_type(function: Any) -> _Type:
    """The item type of the iterable that a plain callable returns, None if unknown."""
    annotation = _return_annotation(function)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is tuple and len(arguments) > 1 and arguments[1] is not Ellipsis:
        return None
    if origin in _ITERABLES and arguments:
        return type_of_annotation(arguments[0])
    return None


def collected_type(function: Any) -> _Type:
    """The type that a plain callable writes to its ``Collector``, the last of its parameters."""
    hints = _hints(function)
    hints.pop("return", None)
    annotation = next(reversed(hints.values()), None)
    if get_origin(annotation) is not Collector:
        return None
    return type_of_annotation(get_args(annotation)[0])


def generic_argument(function: object, base: type[Any], position: int, method: str = "") -> _Type:
    """The type argument for a parameter of the generic class ``base`` in ``function``'s class: for
    ``MapFunction[str, int]`` and position 1 it is Long.

    If the class has no type arguments, the return type of ``method`` is used.
    """
    argument = _argument_of(type(function), base, position)
    found = None if argument is None else type_of_annotation(argument)
    if found is None and method:
        return returned_type(getattr(function, method))
    return found


def _argument_of(function_class: Any, base: type[Any], position: int) -> Any:
    """The argument for ``base``'s parameter, also through intermediate generic classes."""
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
    """``annotation`` with its type variables replaced by the arguments ``given``."""
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
        function = getattr(function, "__call__", None)  # noqa: B004 - for its annotations
    try:
        return get_type_hints(function)
    except Exception:  # annotations may be anything, and may name classes missing at run time
        return {}


# ---------------------------------------------------------------------- pickling


def _reduced_alias(alias: TypeAliasType) -> str | tuple[Any, ...]:
    """How to unpickle an alias such as ``ProcessWindowFunction.Context``: Python would look for it
    in its module, but it is in a class there. A function of ``__main__``, such as one in a
    notebook, is pickled with its annotations."""
    for owner in vars(sys.modules[alias.__module__ or ""]).values():
        if isinstance(owner, type) and vars(owner).get(alias.__name__) is alias:
            return getattr, (owner, alias.__name__)
    return alias.__name__


copyreg.pickle(TypeAliasType, _reduced_alias)
