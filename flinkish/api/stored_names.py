"""The names under which objects of flinkish's own classes are kept in state, frames and snapshots.

A pickle refers to a class by its module, so state could no longer be read once that module has
moved. Objects of the classes here are pickled as a call of ``flinkish._restored`` with a name that
never changes.
"""

from __future__ import annotations

import copyreg
import importlib
from collections.abc import Callable
from enum import Enum
from functools import partial
from typing import Any, TypeVar

C = TypeVar("C", bound=type)
F = TypeVar("F", bound=Callable[..., Any])

_CLASSES: dict[str, type] = {}
_MAKERS: dict[str, Callable[[tuple[Any, ...]], Any]] = {}


def stored_as(name: str) -> Callable[[C], C]:
    """Decorates a class whose objects are stored in state, under ``name``, which must never change
    nor be given to another class. Subclasses are not included. The name of a class of
    ``flinkish.compat.storm`` must begin with ``storm.``, by which its package is found, and
    likewise for the other systems."""

    def register(kind: C) -> C:
        if name in _CLASSES and _CLASSES[name].__qualname__ != kind.__qualname__:
            raise ValueError(f"two classes are stored as {name!r}: {_CLASSES[name]} and {kind}")
        _CLASSES[name] = kind

        def reduced_tuple(value: Any) -> tuple[Any, ...]:
            return restored, (name, *value)

        def reduced(value: Any) -> tuple[Any, ...]:
            made, arguments, *state = value.__reduce_ex__(4)
            # An object is created by copyreg.__newobj__(its class, ...), a member of an Enum by the
            # class
            given = arguments if made is kind else arguments[1:]
            return (restored, (name, *given), *state)

        def make(arguments: tuple[Any, ...]) -> Any:
            return kind(*arguments) if issubclass(kind, Enum) else kind.__new__(kind, *arguments)

        is_tuple = issubclass(kind, tuple)
        # State may have such a tuple for every element, so no method of the class is called
        _MAKERS[name] = partial(tuple.__new__, kind) if is_tuple else make
        copyreg.pickle(kind, reduced_tuple if is_tuple else reduced)
        return kind

    return register


def at_top_level(function: F) -> F:
    """Decorates a function that pickles refer to: it appears as a function of the package
    ``flinkish`` itself, so its module is not part of the name. ``flinkish/__init__.py`` must import
    it as ``_name``."""
    function.__module__ = "flinkish"
    function.__qualname__ = f"_{function.__name__}"
    function.__name__ = function.__qualname__
    return function


@at_top_level
def restored(name: str, *arguments: Any) -> Any:
    """An object of the class that is stored as ``name``."""
    if name not in _MAKERS:
        # A worker may restore an object of another system before it has imported that system.
        importlib.import_module(f"flinkish.compat.{name.partition('.')[0]}")
    return _MAKERS[name](arguments)


def stored_names() -> dict[str, type]:
    """All classes by the names under which they are stored."""
    return dict(_CLASSES)
