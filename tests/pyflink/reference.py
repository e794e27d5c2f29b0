"""PyFlink's public names, as ``pyflink_2_2_api.txt`` lists them, and those of the packages that flinkish lacks,
as ``pyflink_2_2_absent_packages.txt`` does.

``python -m tests.pyflink.reference FOLDER`` makes the lists of the folder ``pyflink`` of a release, which need
not be installed: it only reads the sources. Left out are what begins with ``_``, what takes Java's objects
(``j_...``).
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

REFERENCE = Path(__file__).with_name("pyflink_2_2_api.txt")
ABSENT_PACKAGES = Path(__file__).with_name("pyflink_2_2_absent_packages.txt")

_PACKAGES = ("common", "datastream", "metrics")
_INTERNAL = {"bin", "examples", "fn_execution", "tests"}
_OF_JAVA = re.compile(
    r"datastream\.(connectors\.(cassandra|elasticsearch|hybrid_source|jdbc|kinesis|pulsar|rabbitmq)"
    r"|formats\.(avro|csv|orc|parquet))"
)
"""Modules whose classes are listed without their methods."""
_LINE = re.compile(
    r"- (?P<kind>class|method|static|property|value|function) (?P<name>[\w.]+)(?P<given>\(.*\))?"
)


class PublicName(NamedTuple):
    """A public name of PyFlink: a class, a method, or a value of a module."""

    module: str
    kind: str
    name: str
    parameters: str | None

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


def public_names() -> list[PublicName]:
    """Read the names in the list."""
    names, module = [], ""
    for line in REFERENCE.read_text("utf-8").splitlines():
        if line.startswith("## "):
            module = line.removeprefix("## ")
        elif match := _LINE.fullmatch(line):
            names.append(PublicName(module, match["kind"], match["name"], match["given"]))
        else:
            assert not line, f"unreadable: {line}"
    return names


def absent_packages() -> dict[tuple[str, str], list[str]]:
    """The methods of each name of a module that flinkish lacks, by the module and the name."""
    names = {}
    for line in ABSENT_PACKAGES.read_text("utf-8").splitlines():
        (module, name), methods = line.partition(":")[0].split(), line.partition(":")[2]
        names[module, name] = methods.split()
    return names


def parameters_of(function: ast.FunctionDef) -> str | None:
    """``(size, offset=None)`` of a function, without self; None if it needs an object of Java's."""
    given = function.args
    names = [parameter.arg for parameter in given.posonlyargs + given.args]
    defaults = [None] * (len(names) - len(given.defaults)) + list(given.defaults)
    shown = [
        name if default is None else f"{name}={_plain(default)}"
        for name, default in zip(names, defaults)
        if name not in ("self", "cls")
    ]
    shown += [f"*{given.vararg.arg}"] if given.vararg else []
    shown += [f"**{given.kwarg.arg}"] if given.kwarg else []
    of_java = [part for part in shown if part.startswith(("j_", "_j_"))]
    if any("=" not in part for part in of_java):
        return None
    return f"({', '.join(part for part in shown if part not in of_java)})"


def _plain(default: ast.expr) -> str:
    try:
        return repr(eval(ast.unparse(default), {}))  # 60 * 1000 is 60000
    except NameError:
        return ast.unparse(default)


def listed(folder: Path) -> Iterator[str]:
    """The lines of the list."""
    for package in _PACKAGES:
        for file in sorted((folder / package).rglob("*.py")):
            parts = file.relative_to(folder).with_suffix("").parts
            module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            lines = [] if "tests" in parts else list(_of_module(file))
            if _OF_JAVA.fullmatch(module):
                lines = [line for line in lines if line.startswith("- class") and "." not in line]
            if lines:
                yield from ("", f"## {module}", *lines)


def _of_module(file: Path) -> Iterator[str]:
    tree = ast.parse(file.read_text("utf-8"))
    defined = set()
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            defined.add(node.name)
            yield from _of_class(node, node.name)
        elif isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            defined.add(node.name)
            yield f"- function {node.name}{parameters_of(node) or '()'}"
    for call in ast.walk(
        tree
    ):  # connectors has its classes from setattr(connectors, "FileSink", ...)
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "setattr":
            yield f"- value {ast.literal_eval(call.args[1])}"
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            yield from (
                f"- value {name}" for name in sorted(set(ast.literal_eval(node.value)) - defined)
            )


def _of_class(node: ast.ClassDef, path: str) -> Iterator[str]:
    yield f"- class {path}"
    for item in node.body:
        if isinstance(item, ast.ClassDef) and not item.name.startswith("_"):
            yield from _of_class(item, f"{path}.{item.name}")
        elif isinstance(item, ast.FunctionDef):
            yield from _of_method(item, path)
        elif isinstance(item, ast.Assign) and not ast.unparse(item.targets[0]).startswith("_"):
            yield f"- value {path}.{ast.unparse(item.targets[0])}"


def _of_method(item: ast.FunctionDef, path: str) -> Iterator[str]:
    decorators = {ast.unparse(decorator) for decorator in item.decorator_list}
    parameters = parameters_of(item)
    if item.name.startswith("_") and item.name != "__init__":
        return
    if "property" in decorators:
        yield f"- property {path}.{item.name}"
    elif parameters is not None:
        kind = "static" if "staticmethod" in decorators else "method"
        yield f"- {kind} {path}.{item.name}{parameters}"


def listed_absent(folder: Path) -> Iterator[str]:
    """The lines of the list of absent packages: module, name, and methods."""
    for file in sorted(folder.rglob("*.py")):
        parts = file.relative_to(folder).with_suffix("").parts
        if parts[0] in _PACKAGES or _INTERNAL & {*parts}:
            continue
        module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        methods: dict[str, list[str]] = {}
        for line in _of_module(file) if module else ():
            match = _LINE.fullmatch(line)
            assert match is not None, line
            name, _, method = match["name"].partition(".")
            found = methods.setdefault(name, [])
            found += [method.rpartition(".")[2]] if match["kind"] in ("method", "static") else []
        for name, found in methods.items():
            shown = dict.fromkeys(method for method in found if method[0] != "_")
            if not name.startswith("_"):
                yield f"{module} {name}: {' '.join(shown)}".strip()


if __name__ == "__main__":
    REFERENCE.write_text("\n".join(listed(Path(sys.argv[1]))).strip() + "\n", "utf-8")
    ABSENT_PACKAGES.write_text("\n".join(listed_absent(Path(sys.argv[1]))) + "\n", "utf-8")
