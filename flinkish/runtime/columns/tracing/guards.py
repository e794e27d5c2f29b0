"""``Guards``: what a trace relies on. A trace treats the values and code that a function reads from
elsewhere as *external constants*, and has a guard on each.

Checking for a change calls no user code. What can be read only by such a call is not read at all.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from inspect import isclass
from types import CellType, FunctionType, MemberDescriptorType, ModuleType
from typing import Any, NamedTuple, TypeAlias

MISSING: Any = object()
"""Stands for a missing value."""


class ValueGuard(NamedTuple):
    """A guard on a value that the function read."""

    get: Callable[[Any, Any, Any], Any]
    owner: Any
    name: Any
    value: Any

    def changed(self) -> bool:
        """Whether the guard fails: there is another value now."""
        return self.get(self.owner, self.name, MISSING) is not self.value

    @property
    def ofCode(self) -> bool:
        return isinstance(self.owner, FunctionType)


class ClassGuard(NamedTuple):
    """A guard on a class of which the function read attributes, or attributes of its instances."""

    kind: type[Any]
    mro: tuple[type[Any], ...]
    members: tuple[tuple[Mapping[str, Any], tuple[str, ...], tuple[Any, ...]], ...]
    """For the class and each base that can change: its attributes, with their names and values when
    read."""

    def changed(self) -> bool:
        """Whether the guard fails: an attribute of the class or a base has been set, added or
        deleted."""
        return self.kind.__mro__ is not self.mro or any(
            tuple(now) != names or any(map(operator.is_not, now.values(), values))
            for now, names, values in self.members
        )


class ContentGuard(NamedTuple):
    """A guard on a set, list or dict that the function looks into, with its contents when read."""

    container: Any
    content: tuple[Any, ...]

    def changed(self) -> bool:
        """Whether the guard fails: the contents have changed."""
        now = content_of(self.container)
        return len(now) != len(self.content) or any(map(operator.is_not, now, self.content))


def content_of(container: Any) -> tuple[Any, ...]:
    """The contents of a set, list or dict: the keys, then the values, of a dict."""
    if isinstance(container, dict):
        return (*container.keys(), *container.values())
    return tuple(container)


Guard: TypeAlias = ValueGuard | ClassGuard | ContentGuard


class Guards:
    """Adds guards for what is read, one for each value."""

    def __init__(self) -> None:
        self._guards: dict[tuple[Any, ...], Guard] = {}

    def all(self) -> tuple[Guard, ...]:
        return tuple(self._guards.values())

    def value(self, get: Callable[[Any, Any, Any], Any], owner: Any, name: Any) -> Any:
        """Guard and return the value that ``get`` reads of ``owner``."""
        value = get(owner, name, MISSING)
        self._guards.setdefault((get, id(owner), name), ValueGuard(get, owner, name, value))
        return value

    def content(self, container: Any) -> tuple[Any, ...]:
        """Guard and return the contents of a set, list or dict."""
        content = content_of(container)
        self._guards.setdefault((content_of, id(container)), ContentGuard(container, content))
        return content

    def class_of(self, value: Any) -> type[Any]:
        """Guard and return the class of an object."""
        kind: type[Any] = self.value(_type_of, value, None)
        self.attributes(kind)
        return kind

    def attributes(self, kind: type[Any]) -> None:
        """Guard all attributes of a class."""
        if (kind,) in self._guards:
            return
        bases = [base for base in kind.__mro__ if _can_change(base)]
        members = tuple((vars(b), tuple(vars(b)), tuple(vars(b).values())) for b in bases)
        self._guards[(kind,)] = ClassGuard(kind, kind.__mro__, members)

    def member(self, kind: type[Any], attribute: str) -> Any:
        """Guard a class, and return its attribute without calling descriptors."""
        self.attributes(kind)
        return found_in_class(kind, attribute)

    def code(self, function: FunctionType) -> None:
        """Guard the code and the default values of a function."""
        for name in ("__code__", "__defaults__", "__kwdefaults__"):
            self.value(getattr, function, name)
        for name in function.__kwdefaults__ or ():
            self.value(dict.get, function.__kwdefaults__, name)


def _can_change(kind: type[Any]) -> bool:
    return bool(kind.__flags__ & _HEAP_TYPE) and not kind.__module__.startswith("flinkish.")


_HEAP_TYPE = 1 << 9


def _type_of(owner: Any, name: Any, missing: Any) -> Any:
    return type(owner)


def found_in_class(kind: type[Any], attribute: str, missing: Any = MISSING) -> Any:
    """An attribute of a class or its bases, without calling descriptors; ``missing`` if there is
    none."""
    for base in kind.__mro__:
        if attribute in vars(base):
            return vars(base)[attribute]
    return missing


def own_attribute(owner: Any, name: Any, missing: Any) -> Any:
    return getattr(owner, "__dict__", {}).get(name, missing)


def in_slot(owner: Any, name: Any, missing: Any) -> Any:
    slot = found_in_class(type(owner), name)
    return getattr(owner, name, missing) if isinstance(slot, MemberDescriptorType) else missing


def cell_contents(cell: Any, name: Any, missing: Any) -> Any:
    """The value of a variable of an enclosing function."""
    return missing if cell == CellType() else cell.cell_contents


def has_plain_attributes(value: Any) -> bool:
    """Whether reading an attribute of an object or class calls no code of its class except
    descriptors."""
    kind = type(value)
    usual = type if isclass(value) else ModuleType if isinstance(value, ModuleType) else object
    own = found_in_class(kind, "__getattribute__") is vars(usual)["__getattribute__"]
    return own and found_in_class(kind, "__getattr__") is MISSING


def is_data_descriptor(member: Any) -> bool:
    """Whether ``member`` of a class is called when the attribute is read, even if the object has
    its own."""
    return hasattr(type(member), "__set__") or hasattr(type(member), "__delete__")
