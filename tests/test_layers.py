"""Imports point one way, as ``MAY_IMPORT`` and docs/architecture.md say, and never in a circle; circles that exist for type
checkers alone are listed with their reasons."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from textwrap import dedent

import pytest

pytestmark = pytest.mark.slow("parses all modules")

PACKAGE = Path(__file__).parents[1] / "flinkish"

ROOMS_OF_MUTUAL_RECURSION = {"flinkish.api.streams"}
"""The folders whose classes make one another, as those of Flink do: a stream keyed is a
``KeyedStream``, and one of that processed is a ``DataStream``."""

MAY_IMPORT = {
    "api": {"api"},
    "cep": {"cep", "runtime", "api"},
    "cli": {"cli", "compat", "web", "spark", "deployment", "api"},
    "compat": {"compat", "runtime", "api"},
    "deployment": {"deployment", "graph", "runtime", "api"},
    "graph": {"graph", "api"},
    "local": {"local", "deployment", "graph", "runtime", "api"},
    "pyflink": {"pyflink", "runtime", "api"},
    "runtime": {"runtime", "api"},
    "spark": {"spark", "deployment", "runtime", "graph", "api"},
    "testing": {"testing", "runtime", "graph", "api"},
    "web": {"web", "api"},
}
"""The layers that each layer may import. The package itself, ``flinkish``, is above all."""

STREAMS = (
    "api.streams.connected_streams",
    "api.streams.data_stream",
    "api.streams.field_aggregations",
    "api.streams.interval_join",
    "api.streams.joined_streams",
    "api.streams.keyed_stream",
    "api.streams.partition_window",
    "api.streams.windowed_stream",
)

CIRCLES_FOR_TYPE_CHECKERS = {
    (
        "api.environment.environment",
        "api.execution.executor",
        "api.savepoint.bootstrap",
        "api.savepoint.reader",
        "api.savepoint.writer",
        *STREAMS,
    ): "Flink's: an environment creates streams and an executor, and a stream tells its environment",
    (
        "api.connectors.bulk_format",
        "api.connectors.file_sink",
        "api.connectors.file_source",
        "api.connectors.row_format",
    ): "a builder holds the source or sink that it builds, and their classes create builders",
    (
        "api.display.holds",
        "api.display.job_drawing",
        "api.display.notebook",
        "api.execution.client",
        "api.execution.details",
    ): "a client shows itself in a notebook, which draws it and its details",
    (
        "api.functions.adapt",
        "api.functions.functions",
        "api.functions.runtime_context",
        "api.functions.state",
    ): "Flink's: open() of a function gets a runtime context, which gives it states, which have functions",
    (
        "api.windowing.assigners",
        "api.windowing.triggers",
        "api.windowing.windows",
    ): "Flink's: an assigner names its windows and default trigger; windows merge by a callback, triggers check an assigner",
    (
        "pyflink.datastream.data_stream",
        "pyflink.datastream.stream_execution_environment",
    ): "PyFlink's: an environment creates streams, and a stream tells its environment",
    (
        "pyflink.datastream.functions",
        "pyflink.datastream.state",
        "pyflink.datastream.window",
    ): "PyFlink's: descriptors of states have functions, functions have contexts that give states",
    (
        "runtime.columns.tracing.externals",
        "runtime.columns.tracing.known_functions",
        "runtime.columns.tracing.objects",
        "runtime.columns.tracing.record_classes",
        "runtime.columns.tracing.symbolic_values",
        "runtime.columns.tracing.symbols",
        "runtime.columns.tracing.trace",
        "runtime.columns.tracing.words",
    ): "a trace creates symbols, and each symbol holds its trace",
    (
        "runtime.operators.base",
        "runtime.operators.contexts",
    ): "an operator calls user code under a context, which reads the operator",
}
"""The modules that import one another only where a type is named, and why. At run time each is in the order of its
layers and rooms, but for ``api/streams``."""

ROOM_CIRCLES_FOR_TYPE_CHECKERS = {
    (
        "api.display",
        "api.environment",
        "api.execution",
        "api.savepoint",
        "api.streams",
    ): "the first circle above, and a client shows itself in a notebook",
    (
        "api.functions",
        "api.windowing",
    ): "a window function names the windows that it gets",
}
"""The same by folder."""

KNOWS_SPARK = {"spark"}
"""The layers that may import pyspark; ``api`` may for type checkers only."""


PRIVATE_OF_SPARK = ("_jvm", "_jdf", "_jsc", "_jsparkSession", "sparkContext")


@dataclass(frozen=True)
class Import:
    """An import statement: ``names`` are the modules, ``members`` what is imported of one by its name."""

    line: int
    names: tuple[str, ...]
    members: tuple[str, ...]
    isForTypeCheckers: bool


@dataclass(frozen=True)
class Module:
    """The facts about a module that the tests need. Its syntax tree is not kept: a million objects slow down all that
    is run after."""

    imports: tuple[Import, ...]
    privateOfSpark: tuple[tuple[int, str], ...]
    """The lines with attributes of Spark that are private."""

    @staticmethod
    def of(source: str) -> Module:
        nodes = list(ast.walk(ast.parse(source)))
        for_type_checkers = set(_lines_for_type_checkers(nodes))
        return Module(
            tuple(
                Import(node.lineno, *_imported(node), node.lineno in for_type_checkers)
                for node in nodes
                if isinstance(node, (ast.Import, ast.ImportFrom))
            ),
            tuple(
                (node.lineno, node.attr)
                for node in nodes
                if isinstance(node, ast.Attribute) and node.attr in PRIVATE_OF_SPARK
            ),
        )


@cache
def module_of(file: Path) -> Module:
    return Module.of(file.read_text("utf-8"))


def violations(layer: str, module: Module, source: str, path: str) -> list[str]:
    """The lines of ``source``, that of ``module`` in ``layer``, that import what the layer may not."""
    lines = source.splitlines()
    return [
        f"{path}:{line}: {reason}: {lines[line - 1].strip()}"
        for line, reason in _reasons(layer, module)
    ]


def _reasons(layer: str, module: Module) -> Iterator[tuple[int, str]]:
    for found in module.imports:
        for name in found.names:
            root, _, rest = name.partition(".")
            if root == "flinkish" and rest.partition(".")[0] not in MAY_IMPORT[layer]:
                yield found.line, f"{layer} must not import {name}"
            if root == "pyspark" and layer not in KNOWS_SPARK:
                if layer != "api":
                    yield found.line, f"{layer} must not know Spark"
                elif not found.isForTypeCheckers:
                    yield found.line, "api may import pyspark under TYPE_CHECKING only"


def _imported(node: ast.Import | ast.ImportFrom) -> tuple[tuple[str, ...], tuple[str, ...]]:
    names = tuple(alias.name for alias in node.names)
    if isinstance(node, ast.Import):
        return names, ()
    members = tuple(f"{node.module}.{name}" for name in names)
    return (members if node.module == "flinkish" else (node.module or "",)), members


def _lines_for_type_checkers(nodes: Iterable[ast.AST]) -> Iterator[int]:
    for node in nodes:
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            for statement in node.body:
                yield from range(statement.lineno, (statement.end_lineno or 0) + 1)


@pytest.mark.parametrize("layer", MAY_IMPORT)
def test_a_layer_imports_only_what_lies_below_it(layer: str) -> None:
    files = sorted((PACKAGE / layer).rglob("*.py"))
    assert files, f"there is no flinkish/{layer}: has it moved?"
    found = [
        violation
        for file in files
        for violation in violations(
            layer, module_of(file), file.read_text("utf-8"), f"flinkish/{layer}/{file.name}"
        )
    ]
    assert not found, "\n".join(found)


def test_spark_is_used_by_its_public_means_only() -> None:
    """Managed platforms allow nothing else, and what is private changes without notice.

    What only holds back Spark's bars of stages may fail, and then draws them.
    """
    excepted = "flinkish/spark/session/quiet_logs.py", "_jsc"
    found = [
        f"{name}:{line}: {attribute}"
        for file in sorted(PACKAGE.rglob("*.py"))
        for name in [f"flinkish/{file.relative_to(PACKAGE)}"]
        for line, attribute in module_of(file).privateOfSpark
        if (name, attribute) != excepted
    ]
    assert not found, "\n".join(found)


ARRAYS = ("numpy", "pyarrow", "pandas", "flinkish.runtime.columns")


def test_what_operators_mean_is_said_without_columns() -> None:
    """A reader of Flink's operators meets no array; what computes over columns is in ``runtime/columns``."""
    found = [
        f"{file.relative_to(PACKAGE)}: {name}"
        for room in ("operators", "windowing")
        for file in sorted((PACKAGE / "runtime" / room).glob("*.py"))
        for each in module_of(file).imports
        for name in each.names
        if name.startswith(ARRAYS)
    ]
    assert not found


def test_every_package_is_a_layer() -> None:
    packages = {file.parent.name for file in PACKAGE.glob("*/__init__.py")}
    assert packages == set(MAY_IMPORT)


def test_only_the_top_of_the_package_lies_above_the_layers() -> None:
    modules = {file.name for file in PACKAGE.glob("*.py")}
    assert modules == {"__init__.py", "__main__.py"}


def import_graph(package: Path, type_checkers: bool = False) -> dict[str, set[str]]:
    """By module, what it imports of its package at run time, lazily too, and what it imports under
    TYPE_CHECKING if ``type_checkers``. ``__init__`` modules, which only collect names, are left out."""
    files = {
        ".".join(file.relative_to(package.parent).with_suffix("").parts): file
        for file in package.rglob("*.py")
        if file.name != "__init__.py"
    }
    return {
        module: {name for name in _modules_imported(file, type_checkers) if name in files}
        for module, file in files.items()
    }


def _modules_imported(file: Path, type_checkers: bool) -> Iterator[str]:
    for each in module_of(file).imports:
        if type_checkers or not each.isForTypeCheckers:
            yield from each.names
            yield from each.members


@cache
def graph_of_the_package(type_checkers: bool = False) -> dict[str, set[str]]:
    return import_graph(PACKAGE, type_checkers)


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """The groups of nodes that reach one another."""
    reached = {node: _reachable(graph, node) for node in graph}
    groups = {
        tuple(sorted(other for other in reached[node] if node in reached[other]))
        for node in graph
        if node in reached[node]
    }
    return [list(group) for group in sorted(groups)]


def _reachable(graph: dict[str, set[str]], start: str) -> set[str]:
    found: set[str] = set()
    open_ends = list(graph[start])
    while open_ends:
        node = open_ends.pop()
        if node not in found:
            found.add(node)
            open_ends.extend(graph.get(node, ()))
    return found


def _room(module: str) -> str:
    """The folder of a module; one that lies directly in a layer is a separate room."""
    folder = module.rpartition(".")[0]
    return module if folder.count(".") < 2 else folder


def _rooms(graph: dict[str, set[str]]) -> dict[str, set[str]]:
    rooms: dict[str, set[str]] = {_room(module): set() for module in graph}
    for module, imported in graph.items():
        rooms[_room(module)].update({_room(other) for other in imported} - {_room(module)})
    return rooms


def test_no_circle_of_imports_runs_inside_a_folder() -> None:
    found = [
        circle
        for circle in circles(graph_of_the_package())
        if {module.rpartition(".")[0] for module in circle} - ROOMS_OF_MUTUAL_RECURSION
    ]
    assert not found


def test_no_circle_of_imports_runs_across_folders() -> None:
    assert not circles(_rooms(graph_of_the_package()))


def _named(circle: tuple[str, ...]) -> list[str]:
    return [f"flinkish.{module}" for module in circle]


def test_circles_for_type_checkers_are_those_that_are_listed() -> None:
    found = circles(graph_of_the_package(type_checkers=True))
    assert found == sorted(map(_named, CIRCLES_FOR_TYPE_CHECKERS))
    assert all(CIRCLES_FOR_TYPE_CHECKERS.values())


def test_circles_of_folders_for_type_checkers_are_those_that_are_listed() -> None:
    found = circles(_rooms(graph_of_the_package(type_checkers=True)))
    assert found == sorted(map(_named, ROOM_CIRCLES_FOR_TYPE_CHECKERS))


def test_a_circle_is_found_also_where_an_import_is_lazy(tmp_path: Path) -> None:
    package = tmp_path / "p"
    package.mkdir()
    (package / "a.py").write_text("from p import b\n")
    (package / "b.py").write_text("def f():\n    from p.c import x\n")
    (package / "c.py").write_text("import p.a\nfrom p.d import y\n")
    typed = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from p.a import z\n"
    (package / "d.py").write_text(typed)
    assert circles(import_graph(package)) == [["p.a", "p.b", "p.c"]]
    assert circles(import_graph(package, type_checkers=True)) == [["p.a", "p.b", "p.c", "p.d"]]


@pytest.mark.parametrize(
    ("layer", "source", "named"),
    [
        ("api", "import os\nimport pyspark.sql", "2: api may import pyspark"),
        ("api", "def f():\n    from flinkish.runtime import timers", "2: api must not import"),
        ("api", "from flinkish import DataStream", "1: api must not import flinkish.DataStream"),
        ("runtime", "from flinkish.graph.job_plan import JobPlan", "1: runtime must not import"),
        ("runtime", "if TYPE_CHECKING:\n    import pyspark", "2: runtime must not know Spark"),
        (
            "testing",
            "import flinkish.spark.session.session",
            "1: testing must not import flinkish.spark",
        ),
    ],
)
def test_the_offending_line_is_named(layer: str, source: str, named: str) -> None:
    (violation,) = violations(layer, Module.of(source), source, "module.py")
    assert violation.startswith(f"module.py:{named}")
    assert violation.endswith(source.splitlines()[-1].strip())


def test_api_may_name_spark_types_for_type_checkers() -> None:
    source = dedent(
        """
        from typing import TYPE_CHECKING
        if TYPE_CHECKING:
            from pyspark.sql import (
                DataFrame,
            )
        """
    )
    assert violations("api", Module.of(source), source, "module.py") == []


ROOMS_OF_RUNTIME = (
    "records",
    "formats",
    "sources",
    "sinks",
    "kafka",
    "time",
    "state",
    "operators",
    "windowing",
    "columns",
    "savepoint",
    "task",
)
"""Each room may import those before it."""


@pytest.mark.parametrize("room", ROOMS_OF_RUNTIME)
def test_rooms_of_the_runtime_import_those_before_them(room: str) -> None:
    above = ROOMS_OF_RUNTIME[ROOMS_OF_RUNTIME.index(room) + 1 :]
    files = sorted((PACKAGE / "runtime" / room).rglob("*.py"))
    found = [
        f"{file.relative_to(PACKAGE)}: {name}"
        for file in files
        for each in module_of(file).imports
        for name in each.names
        if name.startswith(tuple(f"flinkish.runtime.{other}" for other in above))
    ]
    assert files
    assert not found, "\n".join(found)


def test_each_room_of_the_runtime_is_listed() -> None:
    rooms = {path.parent.name for path in (PACKAGE / "runtime").glob("*/__init__.py")}
    assert rooms == set(ROOMS_OF_RUNTIME)
