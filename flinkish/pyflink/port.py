"""Ports a PyFlink job: ``python -m flinkish.pyflink.port job.py`` rewrites its imports and lists
what is left to do.

It needs libcst, which leaves the rest of the file unchanged: ``pip install 'flinkish[port]'``.
"""

from __future__ import annotations

import argparse
import datetime
import decimal
import importlib
import pathlib
import re
import sys
import threading
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider

from flinkish.api.absent import ANY_RECEIVER, absent_method, absent_tables, what_to_write
from flinkish.pyflink.absent import PYFLINK, is_absent, packages
from flinkish.pyflink.receivers import (
    OTHER,
    Absent,
    Receiver,
    Receivers,
    dotted,
    known,
    public_classes,
)

_OTHER = "pyflink"
_OURS = "flinkish.pyflink"

_MODULES = (
    "common",
    "common.typeinfo",
    "common.watermark_strategy",
    "datastream",
    "datastream.functions",
    "datastream.state",
    "datastream.window",
    "datastream.connectors",
    "datastream.connectors.file_system",
    "datastream.connectors.kafka",
)
"""The modules to search for a name that a module lacks."""

_VALUES = (str, bytes, int, float, list, tuple, dict, set, datetime.datetime, datetime.timedelta)
_OBJECTS = (decimal.Decimal, pathlib.Path, re.Match, threading.Event)
OF_PYTHON = {name for kind in (*_VALUES, *_OBJECTS) for name in dir(kind)}
"""The methods of Python's own values and objects, which a receiver that is not known may be."""


class Leftover(NamedTuple):
    """A line that was not rewritten, or that will raise when it runs, with the names that are missing."""

    line: int
    code: str
    reason: str


class Ported(NamedTuple):
    """A job with its imports rewritten, and what is left to do."""

    code: str
    leftovers: list[Leftover]


def ported(code: str) -> Ported:
    """``code`` with its imports of PyFlink rewritten, and what of it flinkish lacks, by line."""
    porter = _Porter(set(re.findall(r"\bdef (\w+)", code)))
    rewritten = MetadataWrapper(cst.parse_module(code)).visit(porter)
    left = [
        Leftover(line, ", ".join(names), reason) for (line, reason), names in porter.noted.items()
    ]
    return Ported(rewritten.code, sorted(left))


class _Porter(cst.CSTTransformer):
    METADATA_DEPENDENCIES = (PositionProvider,)

    def __init__(self, own: set[str]) -> None:
        super().__init__()
        self.noted: dict[tuple[int, str], dict[str, None]] = {}
        """The names that are left to port, by line and reason."""
        self._own = own
        """The functions and methods that the file itself defines."""
        self._receivers = Receivers()
        self._texts: dict[str, str] = {}
        self._of_star: dict[str, str] = {}
        """The modules of absent names that ``import *`` would have brought."""
        self._is_attribute = False
        self._rewrites_names = False

    # ------------------------------------------------------------------ imports

    def visit_ImportFrom(self, node: cst.ImportFrom) -> bool:
        return False  # so that names in an import do not count as uses of a module

    def visit_Import(self, node: cst.Import) -> bool:
        return False

    def leave_ImportFrom(
        self, original_node: cst.ImportFrom, updated_node: cst.ImportFrom
    ) -> cst.ImportFrom:
        module = "" if original_node.module is None else dotted(original_node.module) or ""
        ours = not original_node.relative and module.partition(".")[0] == _OTHER
        there = ours and self._is_there(module, original_node)
        if isinstance(original_node.names, cst.ImportStar):
            if there:
                self._import_all(module, original_node)
        else:
            for alias in original_node.names:
                name = dotted(alias.name) or ""
                found = self._imported(module, name, alias) if there else OTHER
                self._receivers.bind(alias.evaluated_alias or name, found)
        if not there:
            return updated_node
        return updated_node.with_changes(module=cst.parse_expression(_renamed(module)))

    def leave_Import(self, original_node: cst.Import, updated_node: cst.Import) -> cst.Import:
        names = []
        for alias, updated in zip(original_node.names, updated_node.names):
            module = dotted(alias.name) or ""
            bound = alias.evaluated_alias or module
            if module.partition(".")[0] == _OTHER and self._is_there(module, original_node):
                updated = updated.with_changes(name=cst.parse_expression(_renamed(module)))
                self._rewrites_names = self._rewrites_names or alias.asname is None
                self._receivers.bind(bound, self._module(module, alias))
            else:
                self._receivers.bind(bound.partition(".")[0], OTHER)
            names.append(updated)
        return updated_node.with_changes(names=names)

    def _is_there(self, module: str, node: cst.CSTNode) -> bool:
        try:
            importlib.import_module(_renamed(module))
        except ModuleNotFoundError:
            self._note(
                node,
                module,
                "flinkish has no such module. Look for its names in docs/port/pyflink.md.",
            )
            return False
        return True

    def _module(self, module: str, node: cst.CSTNode) -> Receiver:
        """A module that is imported as a whole."""
        below = _below(module)
        if below and is_absent(below):
            self._note(node, module, what_to_write(PYFLINK, packages(below), "*") or "")
            return Absent(below)
        return importlib.import_module(_renamed(module))

    def _import_all(self, module: str, node: cst.CSTNode) -> None:
        loaded = self._module(module, node)
        names = {} if isinstance(loaded, Absent) else vars(loaded)
        for name, value in names.items():
            self._receivers.bind(name, known(value))
        for owner in packages(_below(module)):
            for name in absent_tables()[PYFLINK.table].get(owner, ()):
                self._receivers.bind(name, Absent(owner))
                self._of_star[name] = module

    def _imported(self, module: str, name: str, node: cst.CSTNode) -> Receiver | None:
        """Return the receiver that ``from module import name`` imports."""
        below = _below(module)
        instead = what_to_write(PYFLINK, packages(below), name)
        if instead is not None:
            self._note(node, f"{module}.{name}", instead)
            return Absent(below)
        loaded = importlib.import_module(_renamed(module))
        if hasattr(loaded, name):
            return known(getattr(loaded, name))
        try:
            importlib.import_module(f"{_renamed(module)}.{name}")
        except ModuleNotFoundError:
            reason = f"flinkish has no such name.{_elsewhere(name)}"
            self._note(node, f"{module}.{name}", reason)
            return OTHER
        return self._module(f"{module}.{name}", node)

    # ------------------------------------------------------------------ names

    def visit_ClassDef(self, node: cst.ClassDef) -> None:
        self._receivers.bind(node.name.value, None)
        self._receivers.enter()

    def leave_ClassDef(
        self, original_node: cst.ClassDef, updated_node: cst.ClassDef
    ) -> cst.ClassDef:
        self._receivers.leave()
        return updated_node

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        self._receivers.bind(node.name.value, None)
        self._receivers.enter()

    def leave_FunctionDef(
        self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef
    ) -> cst.FunctionDef:
        self._receivers.leave(keep="self.")
        return updated_node

    def visit_Lambda(self, node: cst.Lambda) -> None:
        self._receivers.enter()

    def leave_Lambda(self, original_node: cst.Lambda, updated_node: cst.Lambda) -> cst.Lambda:
        self._receivers.leave()
        return updated_node

    def visit_Param(self, node: cst.Param) -> None:
        if node.name.value != "self":
            given = node.annotation
            receiver = None if given is None else self._receivers.annotated(given.annotation)
            self._receivers.bind(node.name.value, receiver)

    def leave_Assign(self, original_node: cst.Assign, updated_node: cst.Assign) -> cst.Assign:
        value = original_node.value
        for target in original_node.targets:
            self._receivers.assign(target.target, self._receivers.of(value))
            if isinstance(target.target, cst.Name):
                self._texts[target.target.value] = cst.Module([]).code_for_node(value)
        return updated_node

    def leave_AnnAssign(
        self, original_node: cst.AnnAssign, updated_node: cst.AnnAssign
    ) -> cst.AnnAssign:
        annotation = original_node.annotation.annotation
        self._receivers.assign(original_node.target, self._receivers.annotated(annotation))
        return updated_node

    def visit_For(self, node: cst.For) -> None:
        self._receivers.assign(node.target, None)

    def visit_CompFor(self, node: cst.CompFor) -> None:
        self._receivers.assign(node.target, None)

    def visit_With(self, node: cst.With) -> None:
        for item in node.items:
            if item.asname is not None:
                self._receivers.assign(item.asname.name, self._receivers.of(item.item))

    def visit_Attribute_attr(self, node: cst.Attribute) -> None:
        self._is_attribute = True

    def leave_Attribute_attr(self, node: cst.Attribute) -> None:
        self._is_attribute = False

    def visit_Name(self, node: cst.Name) -> None:
        if node.value in self._of_star and not self._is_attribute:
            module = self._of_star[node.value]
            self._imported(module, node.value, node)

    def leave_Attribute(
        self, original_node: cst.Attribute, updated_node: cst.Attribute
    ) -> cst.Attribute:
        """``pyflink.datastream.X`` after ``import pyflink.datastream``."""
        name = original_node.attr.value
        owner = self._receivers.of(original_node.value)
        if isinstance(owner, ModuleType) and name not in vars(owner):
            self._imported(owner.__name__.replace(_OURS, _OTHER, 1), name, original_node.attr)
        if name.startswith("_j_"):
            self._note(
                original_node.attr, name, what_to_write(PYFLINK, (ANY_RECEIVER,), name) or ""
            )
        value = updated_node.value
        if self._rewrites_names and isinstance(value, cst.Name) and value.value == _OTHER:
            return updated_node.with_changes(value=cst.parse_expression(_OURS))
        return updated_node

    # ------------------------------------------------------------------ calls

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.Call:
        function = original_node.func
        if isinstance(function, cst.Attribute):
            reason = self._missing(original_node, function)
            if reason is not None:
                self._note(function.attr, function.attr.value, reason)
        return updated_node

    def _missing(self, call: cst.Call, function: cst.Attribute) -> str | None:
        """Return the advice for a call of a method; None if it runs, or may."""
        name = function.attr.value
        receiver = self._receivers.of(function.value)
        if isinstance(receiver, type):
            reason = _missing_of(receiver, name)
        elif isinstance(receiver, Absent):
            owners = (f"{receiver.module.partition('.')[0]}.*", *packages(receiver.module))
            reason = what_to_write(PYFLINK, owners, name)
        elif receiver is None and name not in self._own:
            reason = _missing_everywhere(name)
        else:
            reason = None
        return reason and (self._of_statement(call, name) or reason)

    def _of_statement(self, call: cst.Call, name: str) -> str | None:
        """Return the advice for the statement of SQL that a call runs, if its text is in the
        file."""
        if "sql" not in name or not call.args:
            return None
        code = cst.Module([]).code_for_node(call.args[0].value)
        words = set(re.findall(r"\w+", self._texts.get(code, code).upper()))
        statements = absent_tables()[PYFLINK.table]["table.SQL"]
        return next((instead for word, instead in statements.items() if word in words), None)

    def _note(self, node: cst.CSTNode, code: str, reason: str) -> None:
        line = self.get_metadata(PositionProvider, node).start.line
        self.noted.setdefault((line, reason), {})[code] = None


def _missing_of(receiver: type, name: str) -> str | None:
    """Return the advice for a method of a class, or that it is missing; None if it exists."""
    error = absent_method(receiver, name, PYFLINK)
    if error is None and hasattr(receiver, name):
        return None
    return str(error or f"{receiver.__name__} has no such method.")


@cache
def _missing_everywhere(name: str) -> str | None:
    """Return the advice for a method that no class of flinkish has."""
    having = [receiver for receiver in public_classes().values() if hasattr(receiver, name)]
    if name in OF_PYTHON or not all(_missing_of(receiver, name) for receiver in having):
        return None
    table = absent_tables()[PYFLINK.table]
    classes = (owner for owner in table if not re.fullmatch(r"[a-z_.]+", owner))
    return what_to_write(PYFLINK, classes, name)


def _elsewhere(name: str) -> str:
    """The module that has a name which a job imports from another, as older releases allowed."""
    for module in _MODULES:
        if name in vars(importlib.import_module(f"{_OURS}.{module}")):
            return f" Write from {_OURS}.{module} import {name}."
    return ""


def _below(module: str) -> str:
    return module.removeprefix(_OTHER).removeprefix(".")


def _renamed(module: str) -> str:
    return _OURS + module.removeprefix(_OTHER)


def main(arguments: Sequence[str] | None = None) -> int:
    """Port the named files; returns 1 if something is left to do."""
    parser = argparse.ArgumentParser(prog="python -m flinkish.pyflink.port", description=__doc__)
    parser.add_argument("files", nargs="+", type=Path, metavar="job.py")
    parser.add_argument(
        "--output",
        type=Path,
        help="write into this directory; the files are changed in place without it",
    )
    given = parser.parse_args(arguments)
    left = False
    for file in given.files:
        try:
            result = ported(file.read_text("utf-8"))
        except (OSError, UnicodeDecodeError, cst.ParserSyntaxError) as error:
            print(f"{file}: it is left unchanged, as it cannot be read: {error}")
            left = True
            continue
        target = file if given.output is None else given.output / file.name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(result.code, "utf-8")
        for leftover in result.leftovers:
            print(f"{file}:{leftover.line}: {leftover.code}: {leftover.reason}")
            left = True
    return int(left)


if __name__ == "__main__":
    sys.exit(main())
