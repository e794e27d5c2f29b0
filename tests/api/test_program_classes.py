"""Names of the classes of a program, found again in another process."""

from __future__ import annotations

import enum
import pickle
import subprocess
import sys
import threading
from collections import namedtuple
from types import ModuleType
from typing import Any

import cloudpickle
import pytest

from flinkish.api.errors import IncompatibleCheckpointError, InvalidProgramError
from flinkish.api.program_classes import (
    ClassName,
    ProgramClasses,
    ShippedClasses,
    current_classes,
)
from flinkish.api.stored_values import as_text, of_text, pickled, unpickled

DEFINITIONS = """
import enum, threading
from collections import namedtuple
from dataclasses import dataclass
from decimal import Decimal
from numpy import ndarray

class Color(enum.Enum):
    RED = 1

class Outer:
    class Inner(enum.Enum):
        A = 1

Dot = namedtuple("Point", "x")
Spot = namedtuple("Point", "x y")

class Locked:
    lock = threading.Lock()

class Large:
    data = bytes(2 << 20)

class _Private:
    pass
"""


@pytest.fixture
def main(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The main module, as of a script."""
    module = ModuleType("__main__")
    exec(DEFINITIONS, vars(module))
    monkeypatch.setitem(sys.modules, "__main__", module)
    return module


def shipped(classes: ProgramClasses) -> ShippedClasses:
    """The classes as a worker has them. Here its main module is the program's, which it does not look at."""
    sent: ShippedClasses = cloudpickle.loads(cloudpickle.dumps(classes))
    assert type(sent) is ShippedClasses
    assert type(cloudpickle.loads(cloudpickle.dumps(sent))) is ShippedClasses
    return sent


def local_enum() -> Any:
    class Local(enum.Enum):
        A = 1

    return Local


def test_a_class_goes_by_the_name_that_its_module_holds_it_by(main: Any) -> None:
    main._12 = main.Dot  # as a notebook does with what it has shown
    named = {
        kind: str(ProgramClasses().nameOf(kind))
        for kind in (main.Color, main.Outer.Inner, main.Dot, main.Spot, main._Private)
    }
    assert [name.removesuffix(" of the main script") for name in named.values()] == [
        "Color",
        "Outer.Inner",
        "Dot",
        "Spot",
        "_Private",
    ]
    values = [main.Color.RED, main.Outer.Inner.A, main.Dot(1), main.Spot(1, 2), main.Color]
    data = pickled(values)
    assert b"cloudpickle" not in data
    back = unpickled(data)
    assert back == values
    assert list(map(type, back)) == list(map(type, values))


def test_an_older_class_counts_as_the_newest(main: Any) -> None:
    old = main.Color
    exec(DEFINITIONS, vars(main))
    assert main.Color is not old
    assert unpickled(pickled([old.RED, main.Color.RED])) == [main.Color.RED] * 2
    for elements in ([old.RED, main.Color.RED], [main.Color.RED, old.RED]):
        for classes in (ProgramClasses.of([elements]), shipped(ProgramClasses.of([elements]))):
            with classes.current():
                assert unpickled(pickled(elements)) == [main.Color.RED] * 2


def test_a_job_keeps_the_classes_that_it_began_with(main: Any) -> None:
    old = main.Color
    with ProgramClasses.of([[old.RED]]).current():
        exec(DEFINITIONS, vars(main))
        assert unpickled(pickled(old.RED)) is old.RED
    assert unpickled(pickled(old.RED)) is main.Color.RED


def test_a_worker_has_the_classes_of_the_job_and_of_the_main_module(main: Any) -> None:
    local = local_enum()
    sent = shipped(ProgramClasses.of([lambda: (local, main.Dot)]))
    found = {
        name: sent.find(ClassName("__main__", name))
        for name in ("Color", "Outer", "Outer.Inner", "Dot", "Spot", "_Private")
    }
    assert found["Color"] is main.Color
    assert found["Outer.Inner"] is main.Outer.Inner
    assert sent.find(ClassName(__name__, "local_enum.<locals>.Local")) is local
    with sent.current():
        for value in (main.Outer.Inner.A, main.Spot(1, 2), local.A):
            back = unpickled(pickled(value))
            assert (type(back), back) == (type(value), value)


@pytest.mark.parametrize("name", ["Locked", "Large", "Decimal", "Nothing"])
def test_what_cannot_go_along_is_refused(name: str, main: Any) -> None:
    sent = shipped(ProgramClasses.of([lambda: main.Dot]))
    with pytest.raises(IncompatibleCheckpointError, match=f"class {name} of the main script"):
        sent.find(ClassName("__main__", name))


def test_what_fails_to_pickle_does_not_keep_the_rest_from_going(main: Any) -> None:
    lock = threading.Lock()
    classes = ProgramClasses.of([lambda: lock, lambda: (main.Color, main.Locked)])
    assert shipped(classes).find(ClassName("__main__", "Color")) is main.Color


def test_a_class_that_was_moved_is_found_where_it_is_imported(main: Any) -> None:
    data = pickled(main.Dot(1))
    main.Dot = Moved
    back = unpickled(data)
    assert type(back) is Moved
    with shipped(ProgramClasses.of([])).current():
        assert type(unpickled(data)) is Moved
    data = pickled(main.Outer.Inner.A)
    main.Outer = MovedOuter
    for classes in (ProgramClasses(), shipped(ProgramClasses.of([]))):
        with classes.current():
            assert unpickled(data) is MovedOuter.Inner.A


class MovedOuter:
    class Inner(enum.Enum):
        __qualname__ = "Outer.Inner"
        A = 1


Moved = namedtuple("Moved", "x")


def test_a_local_class_is_that_of_the_job_that_reads() -> None:
    first, second = local_enum(), local_enum()
    with ProgramClasses.of([first]).current():
        data = pickled(first.A)
    for classes in (ProgramClasses.of([second]), shipped(ProgramClasses.of([second]))):
        with classes.current():
            assert unpickled(data) is second.A
    with pytest.raises(IncompatibleCheckpointError, match=r"local_enum\.<locals>\.Local"):
        unpickled(data)


def test_two_local_classes_of_one_name_are_not_stored() -> None:
    first, second = local_enum(), local_enum()
    both = ProgramClasses.of([first, second])
    for classes in (both, shipped(both)):
        with classes.current():
            with pytest.raises(InvalidProgramError, match="two classes of the job are called"):
                pickled(first.A)
            # Elements may hold them: no one compares those with others of another run
            assert of_text(as_text(first.A)) is first.A


def test_what_an_earlier_version_stored_by_value_is_of_the_program(main: Any) -> None:
    program = f"""
import sys, cloudpickle
exec({DEFINITIONS!r})
stored = [Color.RED, Outer.Inner.A, Outer, lambda: Color.RED, Dot(1)]
sys.stdout.buffer.write(cloudpickle.dumps(stored))
"""
    data = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout
    for classes in (ProgramClasses(), shipped(ProgramClasses.of([]))):
        with classes.current():
            color, inner, outer, function, dot = unpickled(data)
        assert (color, inner, outer) == (main.Color.RED, main.Outer.Inner.A, main.Outer)
        assert function() is main.Color.RED
        # Two classes were called so, and tuples are equal whatever their classes
        assert dot == main.Dot(1)
    del main.Color
    with pytest.raises(IncompatibleCheckpointError, match="class Color of the main script"):
        unpickled(data)


def test_threads_have_their_own_classes(main: Any) -> None:
    seen = []
    with ProgramClasses.of([]).current():
        here = current_classes()
        thread = threading.Thread(target=lambda: seen.append(current_classes()))
        thread.start()
        thread.join()
    assert seen[0] is not here


def test_a_pickle_names_no_module_of_flinkish(main: Any) -> None:
    assert b"flinkish." not in pickled(main.Color.RED)
    assert pickle.loads(pickled(main.Color.RED)) is main.Color.RED
