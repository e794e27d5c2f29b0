"""``flinkish.api.bytecode``: what code does, in the same words for each version of Python."""

from __future__ import annotations

import re
from pathlib import Path

import flinkish
from flinkish.api.bytecode import (
    Does,
    attributes_read,
    position_of,
    step_at,
    steps,
    steps_without_handlers,
)

PACKAGE = Path(flinkish.__file__).parent


def done(function):
    return [
        (step.does, step.argument)
        for step in steps(function.__code__)
        if step.does is not Does.PUSH_NULL
    ]


def test_steps_are_those_of_the_source():
    def function(row, other):
        row.total = other["n"] % 2
        total = row.total
        return -total

    assert done(function) == [
        (Does.LOAD_VARIABLE, "other"),
        (Does.LOAD_CONSTANT, "n"),
        (Does.LOAD_ITEM, None),
        (Does.LOAD_CONSTANT, 2),
        (Does.OPERATE, "%"),
        (Does.LOAD_VARIABLE, "row"),
        (Does.STORE_ATTRIBUTE, "total"),
        (Does.LOAD_VARIABLE, "row"),
        (Does.LOAD_ATTRIBUTE, "total"),
        (Does.STORE_VARIABLE, "total"),
        (Does.LOAD_VARIABLE, "total"),
        (Does.UNARY, None),
        (Does.RETURN, None),
    ]


def test_what_a_version_of_python_joins_is_taken_apart():
    def function(a, b):
        a, b = b, a
        return 1

    assert [step.does for step in steps(function.__code__)].count(Does.LOAD_VARIABLE) == 2
    assert done(function)[-2:] == [(Does.LOAD_CONSTANT, 1), (Does.RETURN, None)]


def test_the_stack_is_even_at_the_end():
    def function(row, names):
        return {"a": row.name.upper(), "b": [f"{row.x:>5}", (names[0], -row.y == 3)]}

    found = steps(function.__code__)
    assert None not in [step.takes for step in found]
    assert sum(step.gives - (step.takes or 0) for step in found) == 0


def test_handlers_are_left_out():
    def function(text):
        try:
            return float(text)
        except ValueError:
            function.failed += 1  # type: ignore[attr-defined]
            return 0.0

    assert Does.STORE_ATTRIBUTE in {step.does for step in steps(function.__code__)}
    assert Does.STORE_ATTRIBUTE not in {
        step.does for step in steps_without_handlers(function.__code__)
    }


def test_a_step_is_found_by_its_offset():
    code = (lambda row: row.a.b).__code__
    (raised,) = [step for step in steps(code) if step.argument == "b"]
    assert step_at(code, raised.offset) is raised
    assert steps(code)[position_of(code, raised.offset)] is raised


def test_attributes_of_inner_functions_are_read_too():
    def function(row):
        return [part.size for part in row.parts]

    assert attributes_read(function.__code__) == {"size", "parts"}
    assert attributes_read(function.__code__, but=function.__code__) == set()


def test_no_other_module_knows_opcodes():
    pattern = re.compile(r"^\s*(import dis\b|from dis import)|\bopname\b|\bopmap\b", re.MULTILINE)
    knowing = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if pattern.search(path.read_text("utf-8"))
    }
    assert knowing == {"api/bytecode.py"}
