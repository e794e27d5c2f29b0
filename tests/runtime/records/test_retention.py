"""Functions known to retain nothing, whose results are those of the general way."""

from __future__ import annotations

import copy
import json

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flinkish.api.types.row import Row
from flinkish.runtime.records.copies import is_plain, keeps_nothing
from flinkish.runtime.records.rows import RowColumns
from flinkish.runtime.records.user_code import emitted, mapped

LIMIT = 3
SEEN: list[object] = []


def by_global(value):
    return value[0] > LIMIT


def loops(value):
    counts = {}
    for part in value:
        if part not in counts:
            counts[part] = 0
        counts[part] += 1
    return counts


def closing_over(limit):
    return lambda value: value[0] > limit


KEEPING_NOTHING = [
    lambda v: v,
    lambda v: (v[0], v[1] * 2, "a"),
    lambda v: [v, v],
    lambda v: {"key": v[0], "rest": [part + 1 for part in v]},
    lambda v: {str(part): part for part in v},
    lambda v: sorted(v, key=lambda part: -part),
    lambda v: sum(part for part in v),
    lambda v: f"{v[0]:>5} {v!r}",
    lambda v: v[0] if len(v) > 2 and v[1] is not None else -v[1],
    lambda v: v[1:],
    lambda v: (v, v),
    loops,
    by_global,
    closing_over(2),
    str,
    tuple,
    len,
]

KEEPING = [
    lambda v: SEEN.append(v) or v,  # type: ignore[func-returns-value]
    lambda v: SEEN,
    closing_over([1]),
    lambda v, seen=[]: seen.append(v) or seen,
    lambda v: by_global(v),
    lambda v: json.loads(v),
    lambda v: copy.copy(v),
    lambda v: v.__class__,
    SEEN.append,
    SEEN.__contains__,
    LIMIT.__add__,
    {}.setdefault,
    Row,
    exec,
    open,
    globals,
    type("Callable", (), {"__call__": lambda self, v: v})(),
]


def setting_a_global(value):
    global SEEN
    SEEN = [value]


def setting_a_variable_around():
    seen = None

    def set_it(value):
        nonlocal seen
        seen = value
        return value

    return set_it


def setting_it_from_within():
    seen = 1

    def outer(value):
        def inner(part):
            nonlocal seen
            seen = part

        inner(value)
        return value

    return outer


def a_variable_not_set_yet():
    def function(value):
        return later

    yield function
    later = []
    yield later


@pytest.mark.parametrize("function", [*KEEPING_NOTHING, str.upper, json.loads])
def test_functions_that_keep_nothing(function):
    assert keeps_nothing(function)


@pytest.mark.parametrize(
    "function",
    [
        *KEEPING,
        setting_a_global,
        setting_a_variable_around(),
        setting_it_from_within(),
        next(a_variable_not_set_yet()),
    ],
)
def test_functions_that_may_keep_something(function):
    assert not keeps_nothing(function)


def test_a_global_that_is_set_anew_is_looked_at_anew():
    scope = {"limit": 1}
    exec("def function(v): return limit", scope)
    assert keeps_nothing(scope["function"])
    scope["limit"] = []
    assert not keeps_nothing(scope["function"])
    scope["len"] = SEEN.append
    exec("def function(v): return len(v)", scope)
    assert not keeps_nothing(scope["function"])


@pytest.mark.parametrize(
    ("values", "plain"),
    [
        ([1, "a", None], True),
        (RowColumns(pa.RecordBatch.from_pydict({"a": [1], "b": [[1]]})), True),
        ([(1, "a"), (2, None)], False),
        ([Row(a=1), Row(a=2)], False),
        ([(1, [])], False),
        ([[1]], False),
        ([len], False),
        ([int], False),
        ([1, (1, 2)], False),
        ([type("Tuple", (tuple,), {})((1,))], False),
    ],
)
def test_plain_data(values, plain):
    assert is_plain(values) is plain


@given(
    st.sampled_from(KEEPING_NOTHING),
    st.lists(st.tuples(st.integers(), st.integers(), st.integers()), min_size=1),
)
def test_the_quick_way_gives_what_the_general_way_gives(function, values):
    results = mapped("Map", function, values)
    assert results == emitted("Map", function, values)
    changing = [id(result) for result in results if isinstance(result, (list, dict))]
    assert len(changing) == len(set(changing))
