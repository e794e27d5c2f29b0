"""The receivers of calls in a PyFlink job, as far as they follow from the job's text.

Imports, annotations and assignments give a variable its type, and the annotations of ``flinkish.pyflink``
give the type of what a method returns. Nothing of the job is run.
"""

from __future__ import annotations

import builtins
import importlib
import inspect
import pkgutil
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any, TypeGuard, TypeVar

import libcst as cst

import flinkish.pyflink
from flinkish.api.absent import AbsentNameError
from flinkish.pyflink.datastream import DataStream


@dataclass(frozen=True)
class Absent:
    """A name of a module of PyFlink that flinkish lacks, or what a call of it returns."""

    module: str


class Other:
    """Something of Python, or of another library."""


OTHER = Other()

Receiver = type | ModuleType | Absent | Other
"""A class of ``flinkish.pyflink``, or an object of it; a module of it; or none of these."""

_TO_STREAMS = {"to_append_stream", "to_changelog_stream", "to_data_stream", "to_retract_stream"}
"""The methods of the Table API that return a DataStream."""


@cache
def public_classes() -> dict[str, type]:
    """The classes of ``flinkish.pyflink`` by name."""
    found: dict[str, type] = {}
    for module in pkgutil.walk_packages(flinkish.pyflink.__path__, f"{flinkish.pyflink.__name__}."):
        if module.name not in (__name__, "flinkish.pyflink.port", "flinkish.pyflink.absent"):
            for name, value in vars(importlib.import_module(module.name)).items():
                if _is_ours(value) and value.__module__ == module.name:
                    found[name] = value
    return found


def dotted(node: cst.BaseExpression) -> str | None:
    """``a.b.c`` as text; None for any other expression."""
    if isinstance(node, cst.Name):
        return node.value
    if isinstance(node, cst.Attribute) and (owner := dotted(node.value)) is not None:
        return f"{owner}.{node.attr.value}"
    return None


class Receivers:
    """The receivers that the names of a job refer to; a name that is not known is not in it."""

    def __init__(self) -> None:
        self._names: dict[str, Receiver] = dict.fromkeys(vars(builtins), OTHER)
        self._outer: list[dict[str, Receiver]] = []

    def bind(self, name: str, receiver: Receiver | None) -> None:
        """Let ``name``, which may be dotted, refer to ``receiver``; None: to something unknown."""
        inner = f"{name}."
        for attribute in [known for known in self._names if known.startswith(inner)]:
            del self._names[attribute]
        self._names.pop(name, None)
        if receiver is not None:
            self._names[name] = receiver

    def assign(self, target: cst.BaseExpression, receiver: Receiver | None) -> None:
        """Bind the names of the target of an assignment."""
        if isinstance(target, (cst.Tuple, cst.List)):
            for element in target.elements:
                self.assign(element.value, None)
        elif (name := dotted(target)) is not None:
            self.bind(name, receiver)

    def enter(self) -> None:
        """Begin the body of a class or function, whose names are forgotten at its end."""
        self._outer.append(dict(self._names))

    def leave(self, keep: str = "") -> None:
        """End a body; names that begin with ``keep`` stay."""
        kept = {
            name: known for name, known in self._names.items() if keep and name.startswith(keep)
        }
        self._names = {**self._outer.pop(), **kept}

    def of(self, node: cst.BaseExpression) -> Receiver | None:
        """Return the receiver that an expression evaluates to; None if it is not known."""
        name = dotted(node)
        if name in self._names:
            return self._names[name]
        if isinstance(node, cst.Attribute):
            return _member(self.of(node.value), node.attr.value)
        if isinstance(node, cst.Call):
            if isinstance(node.func, cst.Attribute):
                receiver = self.of(node.func.value)
                if not isinstance(receiver, ModuleType):
                    return _returned(receiver, node.func.attr.value)
            return self.of(node.func)
        if isinstance(node, (cst.Name, cst.Subscript, cst.IfExp, cst.Await, cst.BinaryOperation)):
            return None
        return OTHER

    def annotated(self, annotation: cst.BaseExpression) -> Receiver | None:
        """Return the receiver for a variable with that annotation."""
        if isinstance(annotation, cst.SimpleString):
            try:
                annotation = cst.parse_expression(str(annotation.evaluated_value))
            except cst.ParserSyntaxError:  # a text of another tool
                return None
        return self.of(annotation)


def known(value: object) -> Receiver | None:
    """The receiver that a value of a module of ``flinkish.pyflink`` is; None for a function, as nothing
    is known of what it returns."""
    if _is_ours(value) or isinstance(value, ModuleType):
        return value
    return OTHER if isinstance(value, type) else None


def _is_ours(value: object) -> TypeGuard[type]:
    return isinstance(value, type) and value.__module__.startswith(flinkish.pyflink.__name__)


def _member(owner: Receiver | None, name: str) -> Receiver | None:
    """An attribute that is not called: a class, a module, or a member of an Enum."""
    if isinstance(owner, ModuleType):
        try:
            return known(getattr(owner, name, None))
        except AbsentNameError:
            return Absent(owner.__name__.removeprefix(f"{flinkish.pyflink.__name__}."))
    if isinstance(owner, type):
        found = inspect.getattr_static(owner, name, None)
        if isinstance(found, property):
            return _resolved(found.fget, owner)
        if name in ("core", "keyed_core"):  # of flinkish itself
            return OTHER
        if _is_ours(found):
            return found
        return type(found) if _is_ours(type(found)) else None
    return owner


def _returned(owner: Receiver | None, name: str) -> Receiver | None:
    """Return the receiver that a method returns."""
    if isinstance(owner, Absent):
        return DataStream if name in _TO_STREAMS else owner
    if not isinstance(owner, type):
        return owner
    found = inspect.getattr_static(owner, name, None)
    return found if _is_ours(found) else _resolved(getattr(found, "__func__", found), owner)


def _resolved(function: object, owner: type) -> Receiver | None:
    """Return the class named by the return annotation of ``function``."""
    annotation = str(getattr(function, "__annotations__", {}).get("return", "Any"))
    if annotation == "Self":
        return owner
    name, *parts = annotation.partition("[")[0].partition(" ")[0].split(".")
    value: object = public_classes().get(name)
    if value is None:
        named = getattr(function, "__globals__", {}).get(name)
        return None if named is Any or isinstance(named, TypeVar) else OTHER
    for part in parts:
        value = getattr(value, part, None)
    return value if _is_ours(value) else None
