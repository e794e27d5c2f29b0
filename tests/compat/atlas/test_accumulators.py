"""Accumulators of ``$group``: in one go, and folded in two parts that are merged."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pytest

from flinkish import IllegalArgumentError
from flinkish.compat.atlas import Int64
from flinkish.compat.atlas.bson.values import DocumentError, type_name
from flinkish.compat.atlas.stages import GroupDocuments

ROWS: list[dict[str, Any]] = [
    {"v": 3, "s": "c", "o": {"a": 1}, "l": [1, 2]},
    {"v": 1, "s": "a", "o": {"b": 2}, "l": [2, 3]},
    {"s": "missing"},
    {"v": None, "s": "null", "o": None},
    {"v": 2.5, "s": "b", "o": {"a": 3}},
    {"v": "text", "s": "t"},
]

ACCUMULATED = [
    ({"$sum": "$v"}, 6.5),
    ({"$sum": 1}, 6),
    ({"$count": {}}, 6),
    ({"$avg": "$v"}, 6.5 / 3),
    ({"$avg": "$none"}, None),
    ({"$min": "$v"}, 1),
    ({"$max": "$v"}, "text"),  # a text is above all numbers
    ({"$max": "$none"}, None),
    ({"$first": "$v"}, 3),
    ({"$last": "$s"}, "t"),
    ({"$last": "$o"}, None),
    ({"$push": "$v"}, [3, 1, None, 2.5, "text"]),
    ({"$push": {"k": "$v"}}, [{"k": 3}, {"k": 1}, {}, {"k": None}, {"k": 2.5}, {"k": "text"}]),
    ({"$addToSet": {"$type": "$v"}}, ["int", "missing", "null", "double", "string"]),
    ({"$firstN": {"n": 3, "input": "$v"}}, [3, 1, None]),
    ({"$lastN": {"n": 2, "input": "$v"}}, [2.5, "text"]),
    ({"$minN": {"n": 2, "input": "$v"}}, [1, 2.5]),
    ({"$maxN": {"n": 2, "input": "$v"}}, ["text", 3]),
    ({"$top": {"sortBy": {"s": 1}, "output": "$v"}}, 1),
    ({"$top": {"sortBy": {"v": -1}, "output": ["$s", "$v"]}}, ["t", "text"]),
    ({"$topN": {"n": 2, "sortBy": {"s": 1}, "output": "$s"}}, ["a", "b"]),
    ({"$bottom": {"sortBy": {"s": 1}, "output": "$s"}}, "t"),
    ({"$bottomN": {"n": 2, "sortBy": {"s": 1}, "output": "$s"}}, ["null", "t"]),
    ({"$mergeObjects": "$o"}, {"a": 3, "b": 2}),
    (
        {"$stdDevPop": "$v"},
        math.sqrt(((3 - 13 / 6) ** 2 + (1 - 13 / 6) ** 2 + (2.5 - 13 / 6) ** 2) / 3),
    ),
    ({"$stdDevSamp": "$o.b"}, None),
    ({"$percentile": {"input": "$v", "p": [0.5, 1], "method": "approximate"}}, [2.5, 3.0]),
    ({"$median": {"input": "$v", "method": "approximate"}}, 2.5),
    ({"$concatArrays": "$l"}, [1, 2, 2, 3]),
    ({"$setUnion": "$l"}, [1, 2, 3]),
]


@pytest.mark.parametrize("cut", range(len(ROWS) + 1))
@pytest.mark.parametrize(
    ("field", "expected"), ACCUMULATED, ids=[str(f)[:50] for f, _ in ACCUMULATED]
)
def test_in_two_parts(field: Any, expected: Any, cut: int) -> None:
    group = GroupDocuments({"_id": None, "r": field}, "$group")
    parts = []
    for rows in (ROWS[:cut], ROWS[cut:]):
        state = group.createAccumulator()
        for row in rows:
            state = group.add(group.prepared(row, {}), state)
        parts.append(state)
    result = group.getResult(group.merge(*parts))["r"]
    if isinstance(expected, float):
        assert result == pytest.approx(expected, rel=1e-14)
    else:
        assert result == expected


SUMS = [
    ([0.1] * 10, 1.0, "double"),
    ([1, 2**31], 2**31 + 1, "long"),
    ([Int64(1), 2], 3, "long"),
    ([2**62, 2**62], float(2**63), "double"),
    ([2**53, 1, 0.5], float(2**53 + 2), "double"),
    ([1, Decimal("0.1"), 0.2], Decimal("1.3"), "decimal"),
    ([1e308, 1e308], math.inf, "double"),
    ([True, "x"], 0, "int"),
    ([1e16, 1.0, -1e16], 1.0, "double"),
]


@pytest.mark.parametrize(("values", "total", "kind"), SUMS)
def test_the_type_of_a_sum(values: list[Any], total: Any, kind: str) -> None:
    group = GroupDocuments({"_id": None, "r": {"$sum": "$v"}}, "$group")
    state = group.createAccumulator()
    for value in values:
        state = group.add(group.prepared({"v": value}, {}), state)
    result = group.getResult(state)["r"]
    assert (result, type_name(result)) == (total, kind)


KEYS = [
    ([1, 1.0, Decimal("1.0"), Int64(1)], 1),
    ([1, True, "1", None], 4),
    ([None, "missing"], 2),
    ([math.nan, math.nan], 1),
    ([{"a": 1}, {"a": 1.0}, {"a": 1, "b": 2}], 2),
    ([[1, 2], [1.0, 2], [2, 1]], 2),
    ([0.0, -0.0], 1),
]


@pytest.mark.parametrize(("values", "groups"), KEYS)
def test_equal_values_are_one_group(values: list[Any], groups: int) -> None:
    group = GroupDocuments({"_id": "$v"}, "$group")
    assert len({group.prepared({"v": value}, {})[0] for value in values}) == groups


def test_missing_and_null_are_one_group() -> None:
    group = GroupDocuments({"_id": "$v"}, "$group")
    assert group.prepared({}, {})[:2] == group.prepared({"v": None}, {})[:2] == (None, None)
    of_fields = GroupDocuments({"_id": {"v": "$v"}}, "$group")
    assert of_fields.prepared({}, {})[1] == {}
    assert of_fields.prepared({}, {})[0] != of_fields.prepared({"v": None}, {})[0]


def test_a_value_that_cannot_be_folded_is_an_error_of_the_document() -> None:
    group = GroupDocuments({"_id": None, "r": {"$mergeObjects": "$s"}}, "$group")
    with pytest.raises(DocumentError, match="requires an object, but found string"):
        group.prepared({"s": "x"}, {})


@pytest.mark.parametrize(
    ("specification", "message"),
    [
        ({"total": {"$sum": 1}}, "takes a document with _id"),
        (
            {"_id": None, "a": {"$summ": 1}},
            r"\$group\.a: there is no accumulator \$summ\. Did you mean \$sum",
        ),
        ({"_id": None, "a": 1}, "one accumulator"),
        ({"_id": None, "a.b": {"$sum": 1}}, "dots"),
        ({"_id": None, "a": {"$firstN": {"n": 0, "input": "$v"}}}, "whole number above 0"),
        ({"_id": None, "a": {"$top": {"output": "$v"}}}, "lacks sortBy"),
    ],
)
def test_what_is_no_group_is_refused_with_its_place(specification: Any, message: str) -> None:
    with pytest.raises(IllegalArgumentError, match=message):
        GroupDocuments(specification, "$group")
