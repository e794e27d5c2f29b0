"""Look-ups in external sets, lists and dicts, and in sets that a function writes; and what else
Python is asked for each element of a column."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from flinkish import Row
from flinkish.runtime.columns.tracing.checks import same
from flinkish.runtime.columns.tracing.column_function import ColumnFunction
from flinkish.runtime.columns.tracing.values import Values
from flinkish.runtime.records.rows import RowColumns

NEAR = {"OR", "ID", 3, 2.0, None}
LISTED = [1, 2.5, True, "7"]
PRICES = {"a": 3, "b": -1, 5: 0}
NAMES = {1: "one", 2: "two"}
LIMITS = {"most": 4, "word": "x"}

FOLLOWED: list[Callable[[Any], Any]] = [
    lambda row: row.name in NEAR,
    lambda row: (row.number in LISTED, row.real in LISTED, row.name not in LISTED),
    lambda row: row.number if row.number in NAMES else -row.number,
    lambda row: (
        row.name in {"OR", "a"},
        row.name not in {"b", 7, None},
        row.number in {(1, 2), 3},
    ),
    lambda row: (
        row.number if row.real in {1, 2, 3} else len([1 for n in (7, row.number) if n in {7}])
    ),
    lambda row: PRICES.get(row.name, 7) * 2,
    lambda row: NAMES.get(row.number, row.name),
    lambda row: row.number > LIMITS["most"] or LIMITS.get("word", "y") == row.name,
    lambda row: "a" in PRICES and row.number in PRICES,
    lambda row: (
        isinstance(row.number, int),
        isinstance(row.real, (int, str)),
        isinstance(row, Row),
    ),
    lambda row: isinstance(row.flag, int) and not isinstance(row.name, float),
    lambda row: sum(row.number * i for i in range(1, 4)),
    lambda row: sum(row.number + i for i in range(row.number)),
    lambda row: sum(range(row.number, 4)),
    lambda row: sum(i * i for i in range(4, row.number, -2)),
    lambda row: max([row.real, *(i / 2 for i in range(row.number // 2))]),
    lambda row: divmod(row.number, 3) + divmod(row.real, -0.5),
]
RAISING: list[Callable[[Any], Any]] = [
    lambda row: int(row.name) + 1,
    lambda row: float(row.name),
    lambda row: NAMES[row.number],
    lambda row: divmod(7, row.number),
]
"""Functions that raise for some elements, and then are called."""


def columns(elements: list[tuple[Any, ...]]) -> RowColumns:
    kinds = {"number": pa.int64(), "real": pa.float64(), "name": pa.string(), "flag": pa.bool_()}
    arrays = [pa.array(list(c), k) for c, k in zip(zip(*elements), kinds.values())]
    return RowColumns(pa.RecordBatch.from_arrays(arrays, names=list(kinds)))


ELEMENTS = st.lists(
    st.tuples(
        st.integers(-4, 8),
        st.sampled_from([0.0, -0.0, 1.0, 2.0, 2.5, -7.25]),
        st.sampled_from(["OR", "a", "b", "7", " 12 ", "1_0", "1e3", "x", ""]),
        st.booleans(),
    ),
    min_size=1,
    max_size=12,
)


@pytest.mark.takes_columns("ColumnFunction")
@pytest.mark.parametrize("number", range(len(FOLLOWED)))
@given(elements=ELEMENTS)
def test_columns_give_what_python_gives(number: int, elements: list[tuple[Any, ...]]) -> None:
    values = columns(elements)
    results = ColumnFunction(FOLLOWED[number]).results(values)
    assert results is not None
    assert same(results.rows(), list(map(FOLLOWED[number], values.rows())))


@pytest.mark.takes_columns("ColumnFunction")
@pytest.mark.parametrize("number", range(len(RAISING)))
@given(elements=ELEMENTS)
@example(elements=[(1, 1.0, "7", True), (2, 2.0, " 12 ", False)])
def test_what_raises_is_called(number: int, elements: list[tuple[Any, ...]]) -> None:
    values = columns(elements)
    results = ColumnFunction(RAISING[number]).results(values)
    try:
        expected = list(map(RAISING[number], values.rows()))
    except (ValueError, KeyError, ZeroDivisionError):
        assert results is None
    else:
        assert results is not None
        assert same(results.rows(), expected)


def _known(row: Any) -> Any:
    name = NAMES.get(row.number)
    return (row.number, "unknown" if name is None else name)


@pytest.mark.takes_columns("ColumnFunction")
@pytest.mark.parametrize("function", [_known, lambda row: NAMES.get(row.number) or row.name])
@given(elements=ELEMENTS)
@example(elements=[(1, 1.0, "a", True), (2, 1.0, "a", True)])
def test_a_dict_may_have_nothing_for_a_key(
    function: Callable[[Any], Any], elements: list[tuple[Any, ...]]
) -> None:
    values = columns(elements)
    results = ColumnFunction(function).results(values)
    assert (results is not None) == all(number in NAMES for number, *_ in elements)
    if results is not None:
        assert same(results.rows(), list(map(function, values.rows())))


def test_nulls_are_called() -> None:
    values = columns([(1, 1.0, None, True), (2, 2.0, "OR", False)])
    assert ColumnFunction(lambda row: isinstance(row.name, str)).results(values) is None
    assert ColumnFunction(lambda row: row.name in NEAR).results(values) is None


def test_a_changed_container_is_seen() -> None:
    known = {1}
    rates = {1: 2}
    values = columns([(1, 0.0, "", True), (2, 0.0, "", True)])
    function = ColumnFunction(lambda row: (row.number in known, rates.get(row.number, 0)))
    for change in (lambda: known.add(2), lambda: rates.update({1: 5}), lambda: known.remove(1)):
        results = function.results(values)
        assert results is not None
        assert results.rows() == [(n in known, rates.get(n, 0)) for n in (1, 2)]
        assert function.readsVariables(values)
        change()
    results = function.results(values)
    assert results is not None
    assert results.rows() == [(False, 5), (True, 0)]


def _both(row: Any) -> Any:
    numbers = range(row.number)
    return sum(numbers), sum(number * 2 for number in numbers)


def test_loops_of_many_rounds_are_called() -> None:
    function = ColumnFunction(_both)
    few, many = columns([(8, 1.0, "", True), (3, 1.0, "", True)]), columns([(9, 1.0, "", True)])
    results = function.results(few)
    assert results is not None
    assert results.rows() == [(28, 56), (3, 6)]
    assert function.results(many) is None
    assert function.results(few) is not None


def test_a_range_of_nothing_is_left_to_python() -> None:
    def unused(row: Any) -> Any:
        range(row.number)
        return row.real

    assert ColumnFunction(unused).results(columns([(1, 1.0, "", True)])) is not None
    assert ColumnFunction(unused).results(columns([(None, 1.0, "", True)])) is None


class Same(set[Any]):
    def __contains__(self, item: object) -> bool:
        return True


OWN = Same()
LARGE = set(range(1_001))
NESTED = {1: [2]}


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda row: row.number in OWN, "uses OWN, a Same (line"),
        (lambda row: row.number in LARGE, "looks into LARGE, which has more than 1000 (line"),
        (lambda row: row.number in NESTED, "looks into NESTED, which has more than numbers and"),
        (lambda row: NAMES.get(row.number, 0), "finds values of several types in NAMES (line"),
        (lambda row: [n for n in NAMES], "uses NAMES, a dict (line"),  # noqa: C416
        (lambda row: sum(row.number for _ in range(99)), "has a loop of more than 32 rounds (line"),
        (lambda row: sum(1 for _ in range(row.real)), "calls range with bounds that may not be"),
        (lambda row: sum(range(0, 9, row.number)), "calls range with a step that depends on"),
        (lambda row: 1 if range(row.number) else 2, "does more with a range of the element than"),
        (lambda row: range(row.number) == range(2), "does more with a range of the element than"),
        (lambda row: f"{range(row.number)}", "does more with a range of the element than"),
        (lambda row: isinstance(range(row.number), range), "calls isinstance (line"),
        (lambda row: len(range(row.number)), "does more with a range of the element than"),
        (lambda row: range(row.number)[0], "does more with a range of the element than"),
        (lambda row: range(row.number), "uses"),
    ],
)
def test_others_have_a_reason(function: Callable[[Any], Any], reason: str) -> None:
    traced = ColumnFunction(function)
    assert traced.results(columns([(1, 1.0, "", True)])) is None
    assert reason in str(traced.reason)


@pytest.mark.parametrize("lowest", [-(2**63), -1, 2**63 - 3])
def test_of_few_numbers_each_is_looked_up_once(lowest: int) -> None:
    numbers = [lowest + n % 3 for n in range(40) if n % 3 != 1]
    rows = RowColumns(pa.record_batch({"n": numbers}))
    names = {lowest: "lowest", lowest + 2: "highest"}  # and none between them, which would raise
    function = ColumnFunction(lambda row: (names[row.n], f"{row.n:>5}", row.n in names, row.n))
    function.runs.checks = 0
    found = function.results(rows)
    assert found is not None
    assert list(found) == [(names[n], f"{n:>5}", True, n) for n in numbers]
    found, places = Values("int", np.array(numbers)).distinct(len(numbers)) or ([], [])
    assert [found[place] for place in places] == numbers
    assert len(found) == 2
    assert Values("int", np.array([1, 2, 3])).distinct(3) is None
    assert Values("str", pa.array(["a"] * 9)).distinct(9) is None
