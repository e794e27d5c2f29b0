"""Queries of ``$match``, and ``$jsonSchema``: what fits, as MongoDB's manual says."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import pytest

from flinkish import IllegalArgumentError
from flinkish.compat.atlas.expressions.compiler import Place
from flinkish.compat.atlas.json_schema import compile_schema
from flinkish.compat.atlas.queries import compile_query

DOCUMENT: dict[str, Any] = {
    "n": 5,
    "f": 2.5,
    "s": "Berlin",
    "null": None,
    "t": True,
    "tags": ["red", "blue"],
    "grades": [80, 92],
    "o": {"x": 1, "y": {"z": "deep"}},
    "items": [{"sku": "a", "qty": 5}, {"sku": "b", "qty": 15}],
    "when": datetime(2024, 1, 1, tzinfo=UTC),
    "empty": [],
}

QUERIES = [
    ({}, True),
    ({"n": 5}, True),
    ({"n": 5.0}, True),
    ({"t": 1}, False),
    ({"n": {"$eq": 5}, "s": "Berlin"}, True),
    ({"n": {"$ne": 5}}, False),
    ({"missing": {"$ne": 5}}, True),
    ({"n": {"$gt": 4, "$lt": 6}}, True),
    ({"n": {"$gte": 6}}, False),
    ({"s": {"$gt": 5}}, False),
    ({"n": {"$lt": "x"}}, False),
    ({"missing": {"$lt": 5}}, False),
    ({"when": {"$gte": datetime(2023, 12, 31)}}, True),
    ({"null": None}, True),
    ({"missing": None}, True),
    ({"missing": {"$exists": True}}, False),
    ({"null": {"$exists": True}}, True),
    ({"missing": {"$exists": False}}, True),
    ({"missing": {"$gte": None}}, True),
    ({"n": {"$in": [1, 5]}}, True),
    ({"s": {"$in": [re.compile("^Ber")]}}, True),
    ({"missing": {"$in": [None]}}, True),
    ({"n": {"$nin": [1, 5]}}, False),
    ({"missing": {"$nin": [1]}}, True),
    ({"tags": "red"}, True),
    ({"tags": ["red", "blue"]}, True),
    ({"tags": ["blue", "red"]}, False),
    ({"tags": {"$all": ["blue", "red"]}}, True),
    ({"tags": {"$all": ["green"]}}, False),
    ({"tags": {"$size": 2}}, True),
    ({"tags": {"$ne": "red"}}, False),
    ({"tags.0": "red"}, True),
    ({"tags.1": "red"}, False),
    ({"grades": {"$gt": 85, "$lt": 85}}, True),  # one element each
    ({"grades": {"$elemMatch": {"$gt": 85, "$lt": 90}}}, False),
    ({"grades": {"$elemMatch": {"$gte": 80, "$lt": 85}}}, True),
    ({"items": {"$elemMatch": {"sku": "a", "qty": {"$gt": 10}}}}, False),
    ({"items": {"$elemMatch": {"sku": "b", "qty": {"$gt": 10}}}}, True),
    ({"items.sku": "b"}, True),
    ({"items.qty": {"$gt": 10}}, True),
    ({"items.1.sku": "b"}, True),
    ({"items.none": None}, True),
    ({"o.y.z": "deep"}, True),
    ({"o": {"x": 1, "y": {"z": "deep"}}}, True),
    ({"o": {"y": {"z": "deep"}, "x": 1}}, False),
    ({"n.x": {"$exists": False}}, True),
    ({"n": {"$type": "int"}}, True),
    ({"n": {"$type": ["string", "number"]}}, True),
    ({"f": {"$type": 1}}, True),
    ({"tags": {"$type": "string"}}, True),
    ({"tags": {"$type": "array"}}, True),
    ({"null": {"$type": "null"}}, True),
    ({"s": {"$regex": "^ber", "$options": "i"}}, True),
    ({"s": re.compile("lin$")}, True),
    ({"s": {"$not": re.compile("^B")}}, False),
    ({"n": {"$not": {"$gt": 5}}}, True),
    ({"missing": {"$not": {"$gt": 5}}}, True),
    ({"n": {"$mod": [4, 1]}}, True),
    ({"n": {"$bitsAllSet": 5}}, True),
    ({"n": {"$bitsAnySet": [1]}}, False),
    ({"empty": {"$size": 0}}, True),
    ({"empty": None}, False),
    ({"$and": [{"n": 5}, {"s": "Berlin"}]}, True),
    ({"$or": [{"n": 1}, {"s": "Berlin"}]}, True),
    ({"$nor": [{"n": 1}, {"s": "Rome"}]}, True),
    ({"$expr": {"$gt": ["$n", "$f"]}}, True),
    ({"$expr": {"$eq": ["$s", "Rome"]}, "n": 5}, False),
    ({"$jsonSchema": {"required": ["n"], "properties": {"n": {"bsonType": "int"}}}}, True),
]


@pytest.mark.parametrize(("query", "fits"), QUERIES, ids=[str(q)[:60] for q, _ in QUERIES])
def test_query(query: Any, fits: bool) -> None:
    assert compile_query(query, Place("$match"))(DOCUMENT, {}) is fits


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"n": {"$gtt": 5}}, r"\$match\.n: there is no query operator \$gtt\. Did you mean .*\$gt"),
        ({"$orr": []}, r"there is no query operator \$orr\. Did you mean \$or"),
        ({"n": {"$in": 5}}, r"\$match\.n\.\$in: takes a list"),
        ({"$where": "1"}, "needs an index or JavaScript"),
        ({"n": {"$type": "strin"}}, "there is no type strin. Did you mean string"),
        ({"n": {"$regex": "("}}, "is no regular expression"),
        ({"$and": {"a": 1}}, "takes a list of one or more queries"),
    ],
)
def test_what_is_no_query_is_refused_with_its_place(query: Any, message: str) -> None:
    with pytest.raises(IllegalArgumentError, match=message):
        compile_query(query, Place("$match"))


SCHEMAS = [
    ({"required": ["missing"]}, "lacks the field missing"),
    ({"properties": {"n": {"bsonType": "string"}}}, "n: is of type int, not string"),
    ({"properties": {"n": {"minimum": 6}}}, "n: is below 6"),
    ({"properties": {"n": {"maximum": 5, "exclusiveMaximum": True}}}, "n: is not below 5"),
    ({"properties": {"f": {"multipleOf": 2}}}, "f: is no multiple of 2"),
    ({"properties": {"s": {"pattern": "^R"}}}, "s: does not match ^R"),
    ({"properties": {"s": {"maxLength": 3}}}, "s: has more than 3 characters"),
    ({"properties": {"s": {"enum": ["Rome"]}}}, "s: is none of ['Rome']"),
    ({"properties": {"tags": {"items": {"enum": ["red"]}}}}, "tags: [1]: is none of ['red']"),
    ({"properties": {"tags": {"minItems": 3}}}, "tags: has fewer than 3 elements"),
    ({"properties": {"o": {"required": ["x", "w"]}}}, "o: lacks the field w"),
    (
        {"properties": {"o": {"properties": {"x": {"type": "string"}}}}},
        "o: x: is of type int, not string",
    ),
    (
        {"properties": {"o": {"properties": {"x": {}}, "additionalProperties": False}}},
        "o: has the field y, which is not allowed",
    ),
    ({"not": {"required": ["n"]}}, "fits a schema that it must not"),
    ({"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, "fits none of its schemas"),
    ({"allOf": [{"required": ["n"]}, {"required": ["b"]}]}, "does not fit all of its schemas"),
    (
        {"oneOf": [{"required": ["n"]}, {"required": ["s"]}]},
        "does not fit exactly one of its schemas",
    ),
    ({"dependencies": {"n": ["m"]}}, "lacks the field m"),
    (
        {
            "bsonType": "object",
            "title": "all",
            "required": ["n", "s"],
            "properties": {
                "n": {"bsonType": ["int", "double"], "minimum": 0},
                "missing": {"bsonType": "int"},
            },
        },
        None,
    ),
    (
        {
            "properties": {
                "n": {"type": "number"},
                "t": {"type": "boolean"},
                "when": {"bsonType": "date"},
            }
        },
        None,
    ),
]


@pytest.mark.parametrize(("schema", "violation"), SCHEMAS, ids=[str(s)[:60] for s, _ in SCHEMAS])
def test_schema(schema: Any, violation: str | None) -> None:
    assert compile_schema(schema, Place("validator"))(DOCUMENT) == violation


def test_a_keyword_that_is_none_is_refused() -> None:
    with pytest.raises(
        IllegalArgumentError,
        match=r"there is no keyword of a schema requird\. Did you mean required",
    ):
        compile_schema({"requird": ["n"]}, Place("validator"))
