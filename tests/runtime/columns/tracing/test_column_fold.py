"""Accumulators that are folded as columns are those of the general path, or there are none."""

from __future__ import annotations

from collections import Counter
from copy import deepcopy
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flinkish.api.functions.adapt import reduce_call
from flinkish.api.functions.aggregations import ComparableAggregator, SumAggregator
from flinkish.api.functions.functions import AggregateFunction
from flinkish.runtime.columns.tracing.column_fold import ColumnFold
from flinkish.runtime.records.rows import RowColumns
from flinkish.runtime.records.shapes import VALUE, Shape, tuple_shape
from tests.runtime.columns.tracing.random_functions import (
    Pair,
    compiled,
    exactly,
    random_aggregate,
    random_reduce,
    random_rows,
)


def accumulated(function, values, groups, accumulators):
    """The accumulators that the general path makes, begun with ``accumulators``."""
    found = list(accumulators)
    for value, group in zip(values, groups):
        so_far = found[group]
        if isinstance(function, AggregateFunction):
            so_far = function.createAccumulator() if so_far is None else so_far
            found[group] = function.add(value, so_far)
        else:
            found[group] = value if so_far is None else reduce_call(function)(so_far, value)
    return found


def groups_of(random, count):
    """A group for each of ``count`` values, none empty, and how many there are."""
    drawn = [random.randrange(3) for _ in range(count)]
    numbers = {group: number for number, group in enumerate(sorted(set(drawn)))}
    return np.array([numbers[group] for group in drawn], dtype=np.intp), len(numbers)


def check(function, values, random, outcomes):
    fold = ColumnFold(function)
    groups, count = groups_of(random, len(values))
    folded = fold.fold(values, groups, count)
    try:
        expected = accumulated(function, values, groups, [None] * count)
    except Exception:
        outcomes["raised"] += 1
        assert folded is None
        return
    outcomes["elements" if folded is None else "columns"] += 1
    if folded is None:
        return
    assert exactly(tuple(fold.accumulators(folded))) == exactly(tuple(expected))
    results = fold.results(folded)
    if results is not None and isinstance(function, AggregateFunction):
        wanted = tuple(map(function.getResult, expected))
        assert exactly(tuple(results)) == exactly(wanted)
    check_started(fold, function, values, groups, count, folded, expected, random, outcomes)
    if fold.plan(values).combination.exactInAnyGrouping:
        check_combined(fold, values, groups, count, expected, random, outcomes)


def check_started(fold, function, values, groups, count, folded, expected, random, outcomes):
    started = np.array([random.random() < 0.5 for _ in range(count)])
    begun = [deepcopy(e) if there else None for e, there in zip(expected, started)]
    again = fold.fold(values, groups, count, folded, None if started.all() else started)
    try:
        wanted = accumulated(function, values, groups, deepcopy(begun))
    except Exception:
        assert again is None
        return
    if again is not None:
        outcomes["started"] += 1
        assert exactly(tuple(fold.accumulators(again))) == exactly(tuple(wanted))
        check_after(fold, function, values, groups, begun, folded, started, random, outcomes)


def check_after(fold, function, values, groups, begun, start, started, random, outcomes):
    places = np.flatnonzero([random.random() < 0.4 for _ in values])
    after = fold.foldAfter(values, groups, len(begun), places, start, started)
    if after is not None:
        outcomes["after"] += 1
        found = fold.accumulators(after)
        for place, accumulator in zip(places.tolist(), found):
            end = place + 1
            wanted = accumulated(function, values[:end], groups[:end], deepcopy(begun))
            assert exactly(accumulator) == exactly(wanted[groups[place]])
        assert len(found) == len(places) + len(begun)


def check_combined(fold, values, groups, count, expected, random, outcomes):
    cut = random.randrange(1, len(values)) if len(values) > 1 else 0
    parts, numbers = [], []
    for start, end in ((0, cut), (cut, len(values))):
        if start < end:
            present, inner = np.unique(groups[start:end], return_inverse=True)
            parts.append(fold.fold(values[start:end], inner.astype(np.intp), len(present)))
            numbers.append(present)
    if any(part is None for part in parts):
        return
    together = pa.Table.from_batches(parts).combine_chunks().to_batches()[0]
    combined = fold.combine(together, np.concatenate(numbers), count)
    if combined is not None:
        outcomes["combined"] += 1
        assert exactly(tuple(fold.accumulators(combined))) == exactly(tuple(expected))
        check_joined(fold, parts, numbers, expected)


def check_joined(fold, parts, numbers, expected):
    """Two accumulators of a group become one as objects of Python, too."""
    known = [dict(zip(n.tolist(), fold.accumulators(part))) for n, part in zip(numbers, parts)]
    for group in known[0].keys() & known[-1].keys() if len(known) == 2 else ():
        made = fold.joined(parts[0].schema, known[0][group], known[1][group])
        assert exactly(made) == exactly(expected[group])


def check_aggregates(seed, count):
    random, outcomes = Random(seed), Counter()
    for _ in range(count):
        source, values = random_aggregate(random), random_rows(random, 12)
        described(source, values, lambda f, v: check(f, v, random, outcomes))
    return outcomes


def check_reduces(seed, count):
    random, outcomes = Random(seed), Counter()
    for _ in range(count):
        source, rows = random_reduce(random), random_rows(random, 12).batch
        names = [random.choice("xwipfgsdb"), random.choice("xwipfgsdbnt")]
        batch = pa.RecordBatch.from_arrays([rows[name] for name in names], ["first", "second"])
        values = RowColumns(batch, Shape(Pair, ("first", "second"), (VALUE, VALUE)))
        described(source, values, lambda f, v: check(f, v, random, outcomes))
    return outcomes


def described(source, values, checked):
    try:
        checked(compiled(source), values)
    except Exception as error:
        raise AssertionError(f"{source}\n{list(values)}\n{error!r}") from error


def check_aggregations(seed, count):
    random, outcomes = Random(seed), Counter()
    for _ in range(count):
        field = random.choice("xwifpgbsd")
        kind = random.choice(["sum", "min", "max", "minBy", "maxBy"])
        function = (
            SumAggregator(field)
            if kind == "sum"
            else ComparableAggregator(field, kind, random.random() < 0.5)
        )
        values = random_rows(random, 12)
        try:
            check(function, values, random, outcomes)
        except Exception as error:
            raise AssertionError(f"{kind} {field}\n{list(values)}\n{error!r}") from error
    return outcomes


SEEDS = st.integers(0, 2**32)


@given(SEEDS)
def test_aggregate_functions(seed):
    check_aggregates(seed, 4)


@given(SEEDS)
def test_reduce_functions(seed):
    check_reduces(seed, 4)


@given(SEEDS)
def test_sum_min_and_max(seed):
    check_aggregations(seed, 4)


def test_texts_that_are_joined_in_vain_are_not_folded():
    def reduce(one, other):
        one[1] + "."  # raises an error if it is None
        return one

    columns = [pa.array([1, 2]), pa.array([None, "b"])]
    values = RowColumns(pa.RecordBatch.from_arrays(columns, ["f0", "f1"]), tuple_shape([VALUE] * 2))
    fold = ColumnFold(reduce)
    fold.runs.checks = 0
    assert fold.fold(values, np.zeros(2, np.intp), 1) is None


@pytest.mark.slow("traces a hundred functions")
@pytest.mark.takes_columns("ColumnFold")
def test_functions_take_the_columns():
    aggregates = check_aggregates(1, 60)
    assert aggregates["columns"] > 5
    assert aggregates["started"] > 5
    assert aggregates["after"] > 5
    reduces = check_reduces(1, 60)
    assert reduces["columns"] > 10
    assert reduces["combined"] > 3
    aggregations = check_aggregations(1, 60)
    assert aggregations["columns"] > 20
    assert aggregations["combined"] > 10


@pytest.mark.thorough("tens of thousands of functions")
@pytest.mark.slow("tens of thousands of functions")
@given(SEEDS)
def test_many_folds(seed):
    check_aggregates(seed, 100)
    check_reduces(seed, 50)
    check_aggregations(seed, 50)
