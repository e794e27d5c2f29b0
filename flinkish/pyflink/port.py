"""Ports a PyFlink job: ``python -m flinkish.pyflink.port job.py`` rewrites its imports and lists
what is left to do.

It needs libcst, which leaves the rest of the file unchanged: ``pip install 'flinkish[port]'``.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider

from flinkish.api.absent import AbsentNameError, absent_tables
from flinkish.pyflink.datastream import KeyedStream, WindowedStream

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

_TABLE = absent_tables()["pyflink"]
_CALLS = {
    name: instead
    for owner, names in _TABLE.items()
    if owner in ("StreamExecutionEnvironment", "DataStream")
    for name, instead in names.items()
    if not any(hasattr(stream, name) for stream in (KeyedStream, WindowedStream))
}
"""What to write instead of a method that the job calls."""


class Leftover(NamedTuple):
    """A line that was not rewritten, or that will raise when it runs."""

    line: int
    code: str
    reason: str


class Ported(NamedTuple):
    """A job with its imports rewritten, and what is left to do."""

    code: str
    leftovers: list[Leftover]


def ported(code: str) -> Ported:
    """``code`` with its imports of PyFlink rewritten."""
    rewriter = _ImportRewriter()
    module = MetadataWrapper(cst.parse_module(code)).visit(rewriter)
    return Ported(module.code, rewriter.leftovers)


class _ImportRewriter(cst.CSTTransformer):
    METADATA_DEPENDENCIES = (PositionProvider,)

    def __init__(self) -> None:
        super().__init__()
        self.leftovers: list[Leftover] = []
        self._rewrites_names = False

    def visit_ImportFrom(self, node: cst.ImportFrom) -> bool:
        return False  # so that names in an import do not count as uses of a module

    def visit_Import(self, node: cst.Import) -> bool:
        return False

    def leave_ImportFrom(
        self, original_node: cst.ImportFrom, updated_node: cst.ImportFrom
    ) -> cst.ImportFrom:
        module = "" if original_node.module is None else _dotted(original_node.module)
        if original_node.relative or not _is_of_pyflink(module):
            return updated_node
        if not self._is_there(module, original_node):
            return updated_node
        if not isinstance(original_node.names, cst.ImportStar):
            for alias in original_node.names:
                self._check_name(module, alias)
        return updated_node.with_changes(module=_expression(_renamed(module)))

    def leave_Import(self, original_node: cst.Import, updated_node: cst.Import) -> cst.Import:
        names = []
        for alias, updated in zip(original_node.names, updated_node.names):
            module = _dotted(alias.name)
            if _is_of_pyflink(module) and self._is_there(module, original_node):
                updated = updated.with_changes(name=_expression(_renamed(module)))
                self._rewrites_names = self._rewrites_names or alias.asname is None
            names.append(updated)
        return updated_node.with_changes(names=names)

    def leave_Attribute(
        self, original_node: cst.Attribute, updated_node: cst.Attribute
    ) -> cst.Attribute:
        """``pyflink.datastream.X`` after ``import pyflink.datastream``."""
        called = original_node.attr.value
        if called in _CALLS or called.startswith(("_j_", "get_java_")):
            self._note(original_node, called, _CALLS.get(called, _TABLE["java_gateway"]["*"]))
        value = updated_node.value
        if self._rewrites_names and isinstance(value, cst.Name) and value.value == _OTHER:
            return updated_node.with_changes(value=_expression(_OURS))
        return updated_node

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

    def _check_name(self, module: str, alias: cst.ImportAlias) -> None:
        name = _dotted(alias.name)
        try:
            found = getattr(importlib.import_module(_renamed(module)), name, None)
        except AbsentNameError as error:
            self._note(alias, f"{module}.{name}", str(error))
            return
        if found is None:
            try:
                importlib.import_module(f"{_renamed(module)}.{name}")
            except ModuleNotFoundError:
                self._note(
                    alias, f"{module}.{name}", f"flinkish has no such name.{_elsewhere(name)}"
                )
        elif (found.__doc__ or "").startswith("Not supported"):
            self._note(
                alias, f"{module}.{name}", "It is Java's, and raises an error with what to write."
            )

    def _note(self, node: cst.CSTNode, code: str, reason: str) -> None:
        line = self.get_metadata(PositionProvider, node).start.line
        self.leftovers.append(Leftover(line, code, reason))


def _elsewhere(name: str) -> str:
    """The module that has a name which a job imports from another, as older releases allowed."""
    for module in _MODULES:
        if name in vars(importlib.import_module(f"{_OURS}.{module}")):
            return f" Write from {_OURS}.{module} import {name}."
    return ""


def _is_of(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


def _is_of_pyflink(module: str) -> bool:
    return _is_of(module, _OTHER)


def _renamed(module: str) -> str:
    return _OURS + module.removeprefix(_OTHER)


def _dotted(node: cst.BaseExpression) -> str:
    if isinstance(node, cst.Attribute):
        return f"{_dotted(node.value)}.{node.attr.value}"
    assert isinstance(node, cst.Name)
    return node.value


def _expression(dotted: str) -> cst.BaseExpression:
    return cst.parse_expression(dotted)


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
