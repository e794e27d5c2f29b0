"""A function that runs as columns gives what it gives element by element, or nothing."""

from __future__ import annotations

import datetime
import math
import uuid
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from operator import attrgetter, itemgetter
from random import Random
from typing import NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flinkish.api.functions.functions import MapFunction
from flinkish.api.types.fields import field_getter
from flinkish.api.types.row import Row
from flinkish.runtime.columns.tracing.column_function import ColumnFunction
from flinkish.runtime.records.frames import NO_MARKS, Frame, decode_frame, encode_frame
from flinkish.runtime.records.keys import ColumnKeys, KeyColumn, taken
from flinkish.runtime.records.records import Records, no_timestamps
from flinkish.runtime.records.rows import RowColumns, joined
from flinkish.runtime.records.shapes import VALUE, Shape
from tests.runtime.columns.tracing.random_functions import (
    DICTS,
    ROW,
    compiled,
    exactly,
    random_function,
    random_rows,
)


def check(source, rows, outcomes):
    function = compiled(source)
    traced = ColumnFunction(function)
    results, truths, integers = traced.results(rows), traced.truths(rows), traced.integers(rows)
    try:
        expected = [function(row) for row in rows]
    except Exception:
        outcomes["raised"] += 1
        assert (results, truths, integers) == (None, None, None)
        return
    outcomes["columns" if results is not None else "elements"] += 1
    if results is not None:
        assert [exactly(result) for result in results] == [exactly(value) for value in expected]
        assert results.batch.num_rows == len(rows)
    if truths is not None:
        assert truths.tolist() == [bool(value) for value in expected]
    if integers is not None:
        assert [exactly(i) for i in integers.tolist()] == [exactly(value) for value in expected]


def check_functions(seed, count, leaves=ROW):
    random, outcomes = Random(seed), Counter()
    for _ in range(count):
        source, rows = random_function(random, leaves), random_rows(random)
        if leaves is DICTS:
            names = tuple(rows.schema.names)
            rows = rows.shaped(Shape(dict, names, (VALUE,) * len(names)))
        try:
            check(source, rows, outcomes)
        except Exception as error:
            raise AssertionError(f"{source}\n{list(rows)}\n{error!r}") from error
    return outcomes


@pytest.mark.parametrize("leaves", [ROW, DICTS], ids=["rows", "dicts"])
@given(seed=st.integers(0, 2**32))
def test_results_equal_those_of_each_element(leaves, seed):
    check_functions(seed, 15, leaves)


@pytest.mark.takes_columns("ColumnFunction")
@pytest.mark.parametrize("leaves", [ROW, DICTS], ids=["rows", "dicts"])
def test_functions_run_over_columns_or_raise(leaves):
    outcomes = check_functions(1, 100, leaves)
    assert outcomes["columns"] > 20
    assert outcomes["raised"] > 5


@pytest.mark.takes_columns("ColumnFunction")
@pytest.mark.thorough("tens of thousands of functions")
@pytest.mark.slow("tens of thousands of functions")
@given(st.integers(0, 2**32))
def test_results_of_many_functions_equal_those_of_each_element(seed):
    check_functions(seed, 200)


# ---------------------------------------------------------------------- what is unsupported

COUNTS: list[object] = []
BERLIN = ZoneInfo("Europe/Berlin")
SETTINGS = {"limit": 3}


def shouted(text):
    return text.upper()


class Counting(MapFunction):
    def __init__(self):
        self.count = 0
        self.limit = 2

    def map(self, value):
        self.count += 1
        return value

    def limited(self, value):
        return (value.name, min(value.x, self.limit))


def looped(value):
    total = 0
    for part in value.name:
        total += len(part)
    return total


def halved(value):
    left = value.x
    while left > 1:
        left //= 2
    return left


def entered(value):
    with suppress(KeyError):
        return value.x


def outer(value):
    return logged(value)


def logged(value):
    COUNTS.append(value)
    return value


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda value: print(value), "calls print (line"),
        (lambda value: math.gcd(value.x, 2), "calls math.gcd (line"),
        (lambda value: uuid.uuid4().hex, "calls uuid.uuid4 (line"),
        (Counting().map, "writes the attribute self.count (line"),
        (looped, "iterates over a value (line"),
        (halved, "has a loop that is not over a tuple or list (line"),
        (entered, "enters a context (line"),
        (outer, "reads COUNTS.append"),
        (lambda value: SETTINGS["other"] + value.x, "KeyError: 'other' (line"),
        (lambda value: len(SETTINGS) + value.x, "uses SETTINGS, a dict (line"),
        (lambda value: [value.x], "returns a list, which can change"),
        (lambda value: {value.x: 1}, "hashes a value (line"),
        (lambda value: {}, "returns a dict that is empty or has other keys than plain names"),
        (lambda value: f"{value.x!r}", "converts a value to text (line"),
        (lambda value: f"{value.x}" == "1", "converts a value to text (line"),
        (lambda value: len(f"{value.x}"), "calls len with a formatted text (line"),
        (lambda value: shouted(f"{value.x}"), "calls shouted with a formatted text (line"),
        (lambda value: (lambda text: text.upper())(f"{value.x}"), "converts a value to text (line"),
        (lambda value: b"%d" % value.x, "may format a text with % (line"),
        (lambda value: (BERLIN.key % value.x, value.x), "may format a text with %"),
        (lambda value: "%s" % [value.x], "formats a text with an object (line"),
        (lambda value: ",".join(value.name), "joins something that is not a tuple or list (line"),
        (lambda value: ",".join([value.x]), "joins an int (line"),
        (
            lambda value: value.at + datetime.timedelta(value.x),
            "hands on a time or decimal that it makes",
        ),
        (lambda value: (yield value), "returns a generator, which can change"),
        (lambda value: max(value.x, 1, default=2), "calls max with default= (line"),
        (lambda value: sum(value.name), "calls sum of something that is not a tuple or list (line"),
        (lambda value: (lambda: COUNTS.append(value.x))(), "reads COUNTS.append of a list (line"),
        (lambda value: next(COUNTS for _ in (1, 2)), "uses COUNTS, a list"),
        (lambda value: value.x.__class__, "reads the attribute __class__ (line"),
        (repr, "is not a function of Python"),
        (lambda value: value.at.tzinfo, "reads tzinfo of a datetime (line"),
        (lambda value: value.at > value.x, "compares a datetime and another value (line"),
        (lambda value: value.name - 1, "uses - on a text and an int (line"),
    ],
)
def test_a_reason_names_the_line(function, reason):
    function = ColumnFunction(function)
    assert function.results(ROWS) is None
    assert reason in str(function.reason)


ROWS = RowColumns(
    pa.record_batch(
        {"name": ["a", "b", "c"], "x": [1, 5, -3], "at": [datetime.datetime(2020, 1, 1)] * 3}
    )
)


@pytest.mark.parametrize(
    "function",
    [
        lambda value: value.missing,
        lambda value: value["missing"],
        lambda value: value.x + value.name,
        lambda value: value.x // 0,
        lambda value: value.kind,
        lambda value: value.name % value.x,
        lambda value: -value.name,
    ],
)
def test_what_python_raises_is_not_computed(function):
    assert ColumnFunction(function).results(ROWS) is None
    with pytest.raises((AttributeError, KeyError, TypeError, ZeroDivisionError)):
        function(ROWS[0])


def test_fields_may_be_named_like_what_a_symbol_has():
    rows = RowColumns(
        pa.record_batch({"kind": [1, 2], "trace": [3, 4], "expression": [5, 6], "key": ["a", "b"]})
    )
    results = ColumnFunction(lambda v: (v.kind + 1, v.trace, v.expression % 4, v.key)).results(rows)
    assert list(results) == [(2, 3, 1, "a"), (3, 4, 2, "b")]


def test_external_constants_may_change():
    counting = Counting()
    function = ColumnFunction(counting.limited)
    assert list(function.results(ROWS)) == [("a", 1), ("b", 2), ("c", -3)]
    counting.limit = 4
    assert list(function.results(ROWS)) == [("a", 1), ("b", 4), ("c", -3)]


def test_what_keeps_changing_is_not_traced_for_ever():
    counting = Counting()
    function = ColumnFunction(counting.limited)
    for limit in range(60):
        counting.limit = limit
        results = function.results(ROWS)
    assert results is None
    assert function.reason == "has external constants that keep changing"


def test_columns_that_are_only_handed_on_may_have_nulls():
    rows = RowColumns(pa.record_batch({"x": [1, None], "y": [1, 2]}))
    assert list(ColumnFunction(lambda v: (v.x, v.y + 1)).results(rows)) == [(1, 2), (None, 3)]
    assert ColumnFunction(lambda v: int(v.x)).results(rows) is None
    assert ColumnFunction(lambda v: v.y if v.x is None else 0).results(rows) is None


@dataclass
class Changing:
    x: int
    y: float = 0.5

    def doubled(self):
        return self.x * 2


@dataclass
class Checked:
    x: int

    def __post_init__(self):
        assert self.x > 0


def test_dataclasses_are_made_and_read():
    made = ColumnFunction(lambda v: Changing(v.x)).results(ROWS)
    assert list(made.anew()) == [Changing(1), Changing(5), Changing(-3)]
    assert made.nested  # each reader gets separate objects
    assert list(ColumnFunction(lambda c: (c.doubled(), c.y)).results(made)) == [
        (2, 0.5),
        (10, 0.5),
        (-6, 0.5),
    ]
    assert ColumnFunction(lambda v: Checked(v.x)).results(ROWS) is None


def test_functions_follow_one_another_without_objects():
    pairs = ColumnFunction(lambda v: (v.name, (v.x, v.x * v.x))).results(ROWS)
    squares = ColumnFunction(lambda pair: pair[1][1]).results(pairs)
    assert list(squares) == [1, 25, 9]
    assert ColumnFunction(lambda square: square > 5).truths(squares).tolist() == [False, True, True]
    assert ColumnFunction(lambda pair: pair[0]).passed(pairs) == 0


def test_a_timestamp_assigner_sees_the_timestamp():
    function = ColumnFunction(lambda value, timestamp: value.x * 1000 + timestamp, 2)
    assert function.integers(ROWS, np.array([1, 2, 3])).tolist() == [1001, 5002, -2997]
    assert ColumnFunction(lambda value, timestamp: value.x / 2, 2).integers(ROWS) is None


def test_frames_carry_what_functions_made():
    pairs = ColumnFunction(lambda v: (v.name, Changing(v.x))).results(ROWS)
    frame = Frame(Records(pairs, no_timestamps(3)), NO_MARKS)
    received = decode_frame(encode_frame(frame, "op")).records.values
    assert isinstance(received, RowColumns)
    assert pairs is not None
    assert (
        list(received)
        == list(pairs)
        == [("a", Changing(1)), ("b", Changing(5)), ("c", Changing(-3))]
    )
    assert list(taken(received, np.array([2, 0]))) == [("c", Changing(-3)), ("a", Changing(1))]
    assert list(joined((pairs, received))) == [*pairs, *pairs]


@pytest.mark.parametrize(
    ("selector", "keys"),
    [
        (lambda v: v.x % 2, [1, 1, 1]),
        (lambda v: (v.name, v.x > 0), [("a", True), ("b", True), ("c", False)]),
        (lambda v: v.name.upper(), ["A", "B", "C"]),
        (itemgetter("x"), [1, 5, -3]),
        (itemgetter("x", "name"), [(1, "a"), (5, "b"), (-3, "c")]),
        (attrgetter("name"), ["a", "b", "c"]),
        (field_getter("name"), ["a", "b", "c"]),
        (field_getter(1), [1, 5, -3]),
    ],
)
def test_computed_keys_are_those_of_the_selector(selector, keys):
    found, hashes = KeyColumn(selector, "op", ColumnFunction(selector)).of(ROWS)
    expected, expected_hashes = KeyColumn(selector, "op").of(list(ROWS))
    assert [exactly(key) for key in found] == [exactly(key) for key in keys]
    assert list(expected) == keys
    assert hashes.tolist() == expected_hashes.tolist()


class Doubling:
    def of(self, row):
        return row.x * 2


@pytest.mark.parametrize(
    "getter",
    [
        itemgetter("x"),
        itemgetter("x", "name"),
        attrgetter("name"),
        field_getter("name"),
        field_getter(1),
        field_getter("*"),
        Doubling().of,
    ],
)
def test_an_external_getter_is_followed(getter):
    rows = RowColumns(pa.record_batch({"x": [1, 5], "name": ["a", "b"]}))
    traced = ColumnFunction(lambda row: (getter(row), 1))
    assert traced.reason is None
    results = traced.results(rows)
    assert results is not None
    assert list(results) == [(getter(row), 1) for row in rows]


def test_functions_in_a_tuple_are_followed():
    steps = (lambda row: row.x + 1, lambda row: row.name)
    named = (("sum", steps[0]), ("name", steps[1]))
    rows = RowColumns(pa.record_batch({"x": [1, 5], "name": ["a", "b"]}))
    listed = ColumnFunction(lambda row: tuple(step(row) for step in steps)).results(rows)
    assert list(listed) == [(2, "a"), (6, "b")]
    by_name = ColumnFunction(lambda row: {name: step(row) for name, step in named}).results(rows)
    assert list(by_name) == [{"sum": 2, "name": "a"}, {"sum": 6, "name": "b"}]


def test_a_row_is_read_as_a_dict():
    traced = ColumnFunction(lambda row: {name: value * 2 for name, value in row.asDict().items()})
    rows = RowColumns(pa.record_batch({"x": [1, 5], "y": [0.5, 2.0]}))
    assert list(traced.results(rows)) == [{"x": 2, "y": 1.0}, {"x": 10, "y": 4.0}]
    made = ColumnFunction(lambda row: Row(**{"z": 1, **row.asDict()})).results(rows)
    assert list(made) == [Row(z=1, x=1, y=0.5), Row(z=1, x=5, y=2.0)]


@pytest.mark.parametrize("getter", [attrgetter("__class__"), field_getter("a.b"), field_getter(0)])
def test_another_is_called(getter):
    rows = RowColumns(pa.record_batch({"x": [[1, 5], [3]]}))
    assert ColumnFunction(lambda row: getter(row[0])).results(rows) is None


FIRST = itemgetter(0)


def test_a_getter_may_look_at_a_formatted_text():
    """Which is known only when the function is called."""
    formatting = ColumnFunction(lambda row: FIRST(f"{row.name}!"))
    formatting.runs.checks = 0
    assert formatting.results(ROWS) is None
    assert "calls a getter with a formatted text" in formatting.reason


@pytest.mark.parametrize("selector", [lambda c: c.x, attrgetter("x"), field_getter("x")])
def test_a_key_that_is_a_column_stays_one(selector):
    pairs = ColumnFunction(lambda v: Changing(v.x)).results(ROWS)
    keys, _ = KeyColumn(selector, "op", ColumnFunction(selector)).of(pairs)
    assert isinstance(keys, ColumnKeys)
    assert list(keys) == [1, 5, -3]


# ---------------------------------------------------------------------- what is as in Python


def test_a_null_of_a_dictionary_is_none():
    """A key behind a shuffle is a dictionary in which the null is a value."""
    keys = pa.array(["a", None, "b"]).dictionary_encode(null_encoding="encode")
    values = RowColumns(pa.record_batch({"k": keys}))
    for function in (lambda v: v.k is None, lambda v: v.k + "z", lambda v: len(v.k)):
        assert ColumnFunction(function).results(values) is None
    whole = RowColumns(pa.record_batch({"k": pa.array(["a", "b"]).dictionary_encode()}))
    assert list(ColumnFunction(lambda v: v.k is None).results(whole)) == [False, False]


class Money(NamedTuple):
    amount: int

    @staticmethod
    def doubled(amount, times=2):
        return amount * times


def test_a_static_method_of_an_element_has_no_self():
    amounts = pa.RecordBatch.from_pydict({"amount": [1, 2]})
    values = RowColumns(amounts, Shape(Money, ("amount",), (VALUE,)))
    assert list(ColumnFunction(lambda v: v.doubled(v.amount + 1)).results(values)) == [4, 6]


def test_an_object_that_can_change_is_not_doubled():
    function = ColumnFunction(lambda v: (lambda made: (made, made))(Changing(v.x)))
    assert function.results(ROWS) is None
    assert function.reason == "returns a Changing twice, which can change"
    assert ColumnFunction(lambda v: (Changing(v.x), Changing(v.x))).results(ROWS) is not None


class Scaling:
    @staticmethod
    def scale(number):
        return number * 2

    def added(self, number):
        return number + 1

    def __call__(self, value):
        return self.scale(value.x) + self.added(value.x) + offset(value.x)


def offset(number, by=10):
    return number + by


def test_methods_and_defaults_may_change(monkeypatch):
    scaling = Scaling()
    function = ColumnFunction(scaling)

    def computed():
        assert list(function.results(ROWS)) == [scaling(value) for value in ROWS]

    computed()
    monkeypatch.setattr(Scaling, "scale", staticmethod(lambda number: number * 3))
    computed()
    monkeypatch.setattr(offset, "__defaults__", (20,))
    computed()
    monkeypatch.setattr(scaling, "added", lambda number: number - 1, raising=False)
    computed()


def test_a_converted_value_is_the_same_object():
    values = RowColumns(pa.record_batch({"f": [math.nan, 1.0]}))
    for source in (lambda v: +v.f in (v.f,), lambda v: float(v.f) in (v.f, 2.0)):
        assert list(ColumnFunction(source).results(values)) == [True, True]
