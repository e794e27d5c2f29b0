"""The classes of which a trace can create and read objects: Row, NamedTuples and dataclasses."""

from __future__ import annotations

import dataclasses
import keyword
import operator
from collections import namedtuple
from collections.abc import Callable, Iterator
from functools import partialmethod
from inspect import getattr_static, signature
from types import FunctionType, MemberDescriptorType
from typing import TYPE_CHECKING, Any

from flinkish.api.types.row import Row
from flinkish.runtime.columns.tracing.guards import found_in_class, is_data_descriptor

if TYPE_CHECKING:
    from flinkish.runtime.columns.tracing.trace import Trace


def is_position(key: Any) -> bool:
    """Whether ``key`` is an int or a slice of ints."""
    if isinstance(key, slice):
        return all(type(part) in (int, type(None)) for part in (key.start, key.stop, key.step))
    return type(key) is int


_TUPLE_FIELD = type(namedtuple("_Tuple", "field").field)  # type: ignore[attr-defined]
"""The class of the descriptors of a NamedTuple's fields."""


class Record:
    """A Row, NamedTuple or dataclass whose parts are symbols."""

    __slots__ = ("_traced_kind", "_traced_names", "_traced_parts", "_traced_trace")

    def __init__(
        self, trace: Trace, kind: type[Any], names: tuple[str, ...], parts: tuple[Any, ...]
    ) -> None:
        self._traced_trace = trace
        self._traced_kind = kind
        self._traced_names = names
        self._traced_parts = parts
        trace.guards.attributes(kind)

    def _traced_unpacked(self) -> tuple[type[Any], tuple[str, ...], tuple[Any, ...]]:
        return self._traced_kind, self._traced_names, self._traced_parts

    def __getattr__(self, name: str) -> Any:
        kind, names = self._traced_kind, self._traced_names
        if name in names and self._traced_is_attribute(name):
            return self._traced_parts[names.index(name)]
        if kind is Row:
            if name == "getField":
                return self.__getitem__
            if name == "getArity":
                return self.__len__
            if name == "asDict":
                return lambda: dict(zip(names, self._traced_parts))
        elif not name.startswith("_"):
            member = getattr_static(kind, name, None)
            if isinstance(member, staticmethod):
                return self._traced_trace.callable_of(member.__func__)
            if isinstance(member, FunctionType):
                return self._traced_trace.bound(member, self)
            if type(member) is property and isinstance(member.fget, FunctionType):
                return self._traced_trace.bound(member.fget, self)()
        raise self._traced_trace.unsupported(f"reads {name} of a {kind.__name__}")

    def _traced_is_attribute(self, name: str) -> bool:
        if self._traced_kind is not Row:
            member = getattr_static(self._traced_kind, name, None)
            if issubclass(self._traced_kind, tuple):
                return isinstance(member, _TUPLE_FIELD)
            return isinstance(member, MemberDescriptorType) or not is_data_descriptor(member)
        usable = name.isidentifier() and not keyword.iskeyword(name) and name[0] != "_"
        return usable and name not in vars(Row) and name not in ("count", "index")

    def __getitem__(self, key: Any) -> Any:
        if self._traced_kind is Row and isinstance(key, str):
            if key in self._traced_names:
                return self._traced_parts[self._traced_names.index(key)]
            raise self._traced_trace.unsupported(
                f"reads the field {key!r}, which the rows do not have"
            )
        self._traced_needs_tuple("takes an item")
        if not is_position(key):
            raise self._traced_trace.unsupported("takes an item by a value")
        return self._traced_parts[key]

    def __iter__(self) -> Iterator[Any]:
        self._traced_needs_tuple("iterates over")
        return iter(self._traced_parts)

    def __len__(self) -> int:
        self._traced_needs_tuple("takes the length of")
        return len(self._traced_parts)

    def __bool__(self) -> bool:
        if not issubclass(self._traced_kind, tuple) and (
            hasattr(self._traced_kind, "__bool__") or hasattr(self._traced_kind, "__len__")
        ):
            raise self._traced_trace.unsupported(
                f"uses a {self._traced_kind.__name__} as a condition"
            )
        return len(self._traced_parts) > 0 if issubclass(self._traced_kind, tuple) else True

    def __setitem__(self, key: Any, value: Any) -> None:
        raise self._traced_trace.unsupported(f"writes into a {self._traced_kind.__name__}")

    def _traced_needs_tuple(self, action: str) -> None:
        if not issubclass(self._traced_kind, tuple):
            raise self._traced_trace.unsupported(f"{action} a {self._traced_kind.__name__}")

    def _traced_compared(self, compare: Callable[[Any, Any], Any], other: Any) -> Any:
        self._traced_needs_tuple("compares")
        if isinstance(other, Record):
            other._traced_needs_tuple("compares")
            other = other._traced_parts
        if type(other) is not tuple:
            raise self._traced_trace.unsupported(f"compares a {self._traced_kind.__name__}")
        return compare(self._traced_parts, other)

    def __hash__(self) -> int:
        raise self._traced_trace.unsupported(f"hashes a {self._traced_kind.__name__}")

    def __format__(self, spec: str) -> str:
        return self._traced_trace.text_of(f"a {self._traced_kind.__name__}")

    def __repr__(self) -> str:
        return self._traced_trace.text_of(f"a {self._traced_kind.__name__}")


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    _compare = partialmethod(Record._traced_compared, getattr(operator, _name))
    setattr(Record, f"__{_name}__", _compare)


def constructed(
    trace: Trace, kind: type[Any], arguments: tuple[Any, ...], named: dict[str, Any]
) -> Record | None:
    """A symbolic object of ``kind``; None if its constructor does more than keep the arguments."""
    if issubclass(kind, Row):
        return _row(trace, kind, arguments, named)
    if _is_named_tuple(kind):
        return _of_fields(trace, kind, kind._fields, kind.__new__, arguments, named)
    if _is_plain_dataclass(kind):
        fields = dataclasses.fields(kind)
        if any(field.default_factory is not dataclasses.MISSING for field in fields):
            return None
        names = tuple(field.name for field in fields)
        return _of_fields(trace, kind, names, kind.__init__, arguments, named)
    return None


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
    made_by: Any,
    arguments: tuple[Any, ...],
    named: dict[str, Any],
) -> Record:
    """A symbolic object, of which ``made_by`` sets the fields ``names`` to its arguments."""
    trace.guards.code(made_by)
    try:
        bound = signature(made_by).bind(None, *arguments, **named)
    except TypeError:
        raise trace.unsupported(
            f"makes a {kind.__name__} with other arguments than its fields"
        ) from None
    bound.apply_defaults()
    return Record(trace, kind, names, tuple(bound.arguments[name] for name in names))


def is_record_class(kind: type[Any]) -> bool:
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
