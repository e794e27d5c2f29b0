"""The jobs of tests/typing, which ``make lint`` checks with mypy --strict, leave nothing out."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest

import flinkish as fl
from flinkish.api.functions.functions import Function
from tests.api.flink_reference import CLASSES

FILES = sorted((Path(__file__).parents[1] / "typing").glob("*.py"))
TREES = [ast.parse(file.read_text("utf-8")) for file in FILES]
NODES = [node for tree in TREES for node in ast.walk(tree)]

FUNCTIONS = [
    name
    for name in (*fl.__all__, *fl._CLASHING)
    if inspect.isclass(getattr(fl, name)) and issubclass(getattr(fl, name), Function)
]

STREAMS = [
    *(kind for name, kind in CLASSES.items() if name.endswith(("Stream", "Streams"))),
    fl.SingleOutputStreamOperator,
    fl.IntervalJoined,
    fl.PartitionWindowedStream,
]


def bases() -> set[str]:
    """The names of the classes that classes of the files derive from."""
    found = [base for node in NODES if isinstance(node, ast.ClassDef) for base in node.bases]
    names = [base.value if isinstance(base, ast.Subscript) else base for base in found]
    return {name.id for name in names if isinstance(name, ast.Name)}


def called() -> set[str]:
    """The names of the methods that the files call."""
    functions = [node.func for node in NODES if isinstance(node, ast.Call)]
    return {function.attr for function in functions if isinstance(function, ast.Attribute)}


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_function_class_is_written_out(function):
    assert function in bases()


@pytest.mark.parametrize("stream", STREAMS, ids=lambda stream: stream.__name__)
def test_every_method_of_a_stream_is_called(stream):
    methods = {
        name
        for name, method in inspect.getmembers(stream, inspect.isfunction)
        if not name.startswith("_") and inspect.signature(method).return_annotation != "NoReturn"
    }
    assert methods - called() == set()


@pytest.mark.parametrize("name", ["every_function.py", "every_method.py"])
def test_nothing_is_ignored(name):
    """Elsewhere an ignored error may be the test: mypy complains of one that is not there."""
    [file] = [file for file in FILES if file.name == name]
    assert "type: ignore" not in file.read_text("utf-8")
