"""Functions keep the name of their file when they are pickled, whatever cloudpickle does with it."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType
from typing import Any

import cloudpickle
import pytest

import flinkish
from flinkish.api.pickled_functions import dumps
from flinkish.runtime.records.frames import NO_MARKS, Frame, decode_frame, encode_frame
from flinkish.runtime.records.records import Records, no_timestamps


def nested(value: Any) -> Callable[[], list[int]]:
    def inner() -> list[int]:
        return [(lambda: n)() for n in value]

    return inner


FUNCTIONS = {
    "lambda": lambda value: value + 1,
    "comprehension": lambda values: {n: [n + 1 for n in values] for n in values},
    "generator": lambda values: (n for n in values),
    "nested": nested,
    "closure": nested([1, 2]),
}


def codes(code: CodeType) -> Iterator[CodeType]:
    """The code, and that of the functions in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes(constant)


@pytest.fixture(params=["as installed", "3.1.3"])
def version(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    table = cloudpickle.Pickler.dispatch_table
    reduce = table[CodeType]

    def without_file(code: CodeType) -> Any:
        return reduce(code.replace(co_filename="<dynamic-code>"))

    if request.param == "3.1.3":
        monkeypatch.setitem(table, CodeType, without_file)


@pytest.mark.usefixtures("version")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_and_those_in_them_keep_their_file(name: str) -> None:
    function = FUNCTIONS[name]
    function.__module__ = "__main__"  # by value, as those of a script
    loaded = pickle.loads(dumps(function))
    assert loaded.__code__ is not function.__code__
    assert {code.co_filename for code in codes(loaded.__code__)} == {__file__}
    assert loaded.__code__ == function.__code__


@pytest.mark.usefixtures("version")
def test_so_do_functions_that_are_elements() -> None:
    function = FUNCTIONS["lambda"]
    function.__module__ = "__main__"
    data = encode_frame(Frame(Records([function], no_timestamps(1)), NO_MARKS), "map")
    (loaded,) = decode_frame(data).records.values
    assert loaded.__code__.co_filename == __file__


def test_nothing_else_pickles_functions() -> None:
    root = Path(flinkish.__file__).parent
    found = {f.relative_to(root).as_posix() for f in root.rglob("*.py") if _DUMPS in f.read_text()}
    # pyspark's own, for the class of the processor and bytes
    assert found == {"spark/translation.py"}


_DUMPS = "cloudpickle.dumps("
