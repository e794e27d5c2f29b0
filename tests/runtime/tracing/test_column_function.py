"""A function that runs as columns gives what it gives element by element, or nothing."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flinkish.runtime.tracing.column_function import ColumnFunction
from tests.runtime.tracing.random_functions import (
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
        assert results is truths is integers is None
        return
    outcomes["columns" if results is not None else "elements"] += 1
    if results is not None:
        assert [exactly(result) for result in results] == [exactly(value) for value in expected]
        assert results.batch.num_rows == len(rows)
    if truths is not None:
        assert truths.tolist() == [bool(value) for value in expected]
    if integers is not None:
        assert [exactly(i) for i in integers.tolist()] == [exactly(value) for value in expected]


def check_functions(seed, count):
    random, outcomes = Random(seed), Counter()
    for _ in range(count):
        source, rows = random_function(random), random_rows(random)
        try:
            check(source, rows, outcomes)
        except Exception as error:
            raise AssertionError(f"{source}\n{list(rows)}\n{error!r}") from error
    return outcomes


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32))
def test_results_equal_those_of_each_element(seed):
    outcomes = check_functions(seed, 100)
    assert outcomes["columns"] > 30
    assert outcomes["raised"] > 5


@pytest.mark.thorough("tens of thousands of functions")
@pytest.mark.slow("tens of thousands of functions")
@settings(max_examples=400, deadline=None)
@given(st.integers(0, 2**32))
def test_results_of_many_functions_equal_those_of_each_element(seed):
    check_functions(seed, 100)
