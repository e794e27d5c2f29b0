"""The classes of which a trace can create and read objects: Row, NamedTuples and dataclasses."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any

from flinkish.api.types.row import Row
from flinkish.runtime.columns.tracing.guards import found_in_class
from flinkish.runtime.columns.tracing.symbols import Record

if TYPE_CHECKING:
    from flinkish.runtime.columns.tracing.trace import Trace


def constructed(
    trace: Trace, kind: type[Any], arguments: tuple[Any, ...], named: dict[str, Any]
) -> Record | None:
    """A symbolic object of ``kind``; None if its constructor does more than keep the arguments."""
    if issubclass(kind, Row):
        return _row(trace, kind, arguments, named)
    if _is_named_tuple(kind):
        names = kind._fields
        defaults = _defaults(trace, kind.__new__, names)
        return _of_fields(trace, kind, names, names, defaults, arguments, named)
    if _is_plain_dataclass(kind):
        fields = dataclasses.fields(kind)
        if any(field.default_factory is not dataclasses.MISSING for field in fields):
            return None
        names = tuple(field.name for field in fields)
        positional = tuple(field.name for field in fields if not field.kw_only)
        defaults = _defaults(trace, kind.__init__, positional)
        return _of_fields(trace, kind, names, positional, defaults, arguments, named)
    return None


def _defaults(trace: Trace, made_by: Any, positional: Sequence[str]) -> dict[str, Any]:
    """The default values of ``made_by``, the constructor of a class."""
    trace.guards.code(made_by)
    values = made_by.__defaults__ or ()
    defaults = dict(zip(positional[len(positional) - len(values) :], values))
    return {**defaults, **(made_by.__kwdefaults__ or {})}


def _row(trace: Trace, kind: Any, arguments: Any, named: Any) -> Record | None:
    names = kind._fields
    if kind is Row:
        if named and arguments:
            return None
        names = tuple(named) or tuple(f"f{number}" for number in range(len(arguments)))
        arguments = tuple(named.values()) or arguments
    elif named or kind.__name__ != "Row":
        return None
    return Record(trace, Row, names, arguments) if len(names) == len(arguments) else None


def _of_fields(
    trace: Trace,
    kind: type[Any],
    names: tuple[str, ...],
    positional: tuple[str, ...],
    defaults: dict[str, Any],
    arguments: tuple[Any, ...],
    named: dict[str, Any],
) -> Record | None:
    given = dict(zip(positional, arguments))
    values = {**defaults, **given, **named}
    if (
        len(arguments) > len(positional)
        or given.keys() & named.keys()
        or values.keys() != set(names)
    ):
        raise trace.unsupported(f"makes a {kind.__name__} with other arguments than its fields")
    return Record(trace, kind, names, tuple(values[name] for name in names))


def is_record_class(kind: type[Any]) -> bool:
    """Whether the tracer can create and read objects of ``kind``."""
    return kind is Row or _is_named_tuple(kind) or _is_plain_dataclass(kind)


def _is_named_tuple(kind: type[Any]) -> bool:
    """Whether ``kind`` is a NamedTuple whose objects are created, read and compared like tuples."""
    bases = [base for base in kind.__mro__ if base not in (object, tuple)]
    return (
        issubclass(kind, tuple)
        and hasattr(kind, "_fields")
        and hasattr(kind, "_field_defaults")
        and kind.__dictoffset__ == 0
        and all(_OWN.isdisjoint(vars(base)) for base in bases)
        and len(bases) == 1
        and _is_generated(kind.__new__)
        and _is_made_as_usual(kind)
    )


_OWN = {
    *("__init__", "__getitem__", "__iter__", "__len__", "__eq__", "__ne__", "__lt__", "__le__"),
    *("__gt__", "__ge__", "__getattr__", "__getattribute__", "__bool__", "__add__", "__hash__"),
    "__contains__",
}


def _is_plain_dataclass(kind: type[Any]) -> bool:
    """Whether ``kind`` is a dataclass with a generated constructor and plain attributes."""
    parameters = vars(kind).get("__dataclass_params__")
    if parameters is None or not parameters.init or issubclass(kind, tuple):
        return False
    bases = [base for base in kind.__mro__ if base is not object]
    plain = all(
        "__dataclass_fields__" in vars(base) or not vars(base).get("__slots__", 1) for base in bases
    )
    own = {"__post_init__", "__new__", "__getattr__", "__getattribute__", "__bool__", "__len__"}
    if not plain or any(not own.isdisjoint(vars(base)) for base in bases):
        return False
    sets = found_in_class(kind, "__setattr__") is not vars(object)["__setattr__"]
    if sets and not parameters.frozen:
        return False
    if not _is_generated(kind.__init__) or not _is_made_as_usual(kind):
        return False
    fields = kind.__dataclass_fields__.values()
    if any(getattr(f, "_field_type", None) is dataclasses._FIELD_INITVAR for f in fields):  # type: ignore[attr-defined]
        return False
    return all(
        field.init and not isinstance(found_in_class(kind, field.name), property)
        for field in dataclasses.fields(kind)
    )


def _is_generated(function: Any) -> bool:
    """Whether ``function`` is one that Python generates for a NamedTuple or dataclass."""
    return isinstance(function, FunctionType) and function.__code__.co_filename == "<string>"


def _is_made_as_usual(kind: type[Any]) -> bool:
    """Whether calling the class does nothing but create an object."""
    return found_in_class(type(kind), "__call__") is vars(type)["__call__"]
