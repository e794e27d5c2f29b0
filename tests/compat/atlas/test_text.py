"""Pipelines as texts: JSON, Extended JSON, and what is typed into mongosh."""

from __future__ import annotations

import math
import re
import uuid
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from flinkish import IllegalArgumentError
from flinkish.compat.atlas import Int64, ObjectId
from flinkish.compat.atlas.bson.values import DocumentError, Timestamp
from flinkish.compat.atlas.extended_json import decoded, encoded, line, parsed
from flinkish.compat.atlas.text import read_definition

NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)

VALUES = [
    ('"a\\n\\u0041\\x42"', "a\nAB"),
    ("'it\\'s'", "it's"),
    ("`x`", "x"),
    ("NumberInt(5)", 5),
    ('NumberLong("5")', Int64(5)),
    ("Int32(5)", 5),
    ("0x1F", 31),
    ("-1.5e2", -150.0),
    (".5", 0.5),
    ('NumberDecimal("1.10")', Decimal("1.10")),
    ('ISODate("2024-01-01T12:00:00Z")', NOON),
    ('new ISODate("2024-01-01T12:00:00.000+00:00")', NOON),
    ('new Date("2024-01-01T12:00:00Z")', NOON),
    ("new Date(1704110400000)", NOON),
    ("new Date(2024, 0, 1, 12)", NOON),
    ('ObjectId("507f1f77bcf86cd799439011")', ObjectId("507f1f77bcf86cd799439011")),
    ('UUID("00000000-0000-0000-0000-000000000001")', uuid.UUID(int=1)),
    ("Timestamp(5, 1)", Timestamp(5, 1)),
    ("/^a[/]b/i", re.compile("^a[/]b", re.IGNORECASE)),
    ("[1, 2,]", [1, 2]),
    ("{a: 1, 'b': {}, \"c\": [], d$: null,}", {"a": 1, "b": {}, "c": [], "d$": None}),
    ("[true, false, null, undefined, Infinity]", [True, False, None, None, math.inf]),
    ('{"$numberLong": "7"}', Int64(7)),
    ('{"$date": "2024-01-01T12:00:00Z"}', NOON),
    ('{"$date": {"$numberLong": "1704110400000"}}', NOON),
    ('"a" + "b"', "ab"),
]


@pytest.mark.parametrize(("text", "value"), VALUES, ids=[t for t, _ in VALUES])
def test_value(text: str, value: Any) -> None:
    (stage,) = read_definition(f"[{{$match: {{v: {text}}}}}]").stages
    found = stage["$match"]["v"]
    assert found == value
    assert type(found) is type(value)


def test_statements_of_mongosh() -> None:
    definition = read_definition(
        """
        // what comes in
        let size = NumberInt(10)   /* seconds */
        s = { $source: { connectionName: "in", timeField: { $toDate: "$ts" }, }, };
        const w = {$tumblingWindow: {interval: {size, unit: 'second'}, pipeline: [ {$count: 'n'} ]}}
        var base = [s, w], m = {$merge: {into: {connectionName: "out", db: "d", coll: "c"}}}
        db.results.drop()
        sp.listConnections()
        sp.createStreamProcessor("counts", [...base, m], {dlq: {connectionName: "dead", db: "d", coll: "q"}})
        sp.counts.start()
        """
    )
    assert [next(iter(stage)) for stage in definition.stages] == [
        "$source",
        "$tumblingWindow",
        "$merge",
    ]
    assert definition.stages[1]["$tumblingWindow"]["interval"] == {"size": 10, "unit": "second"}
    assert definition.options == {"dlq": {"connectionName": "dead", "db": "d", "coll": "q"}}
    assert definition.name == "counts"


@pytest.mark.parametrize(
    "text",
    [
        "let x = {}",
        "let part = [{{$match: {{a: 1}}}}]; x = {}; let unused = [{{$count: 'n'}}]; let n = [1]",
        "const name = 'p'\nvar x = {}\ndb.c.drop()\nsp.listConnections()",
    ],
)
def test_a_list_with_a_name_is_the_pipeline(text: str) -> None:
    stages = [{"$source": {"connectionName": "in"}}, {"$match": {"a": 2}}]
    assert read_definition(text.format(stages)).stages == stages


SCRIPT = "let s = {$source: {connectionName: 'in'}}\n"
ONLY = "Of a script for mongosh only values, names for them and calls of sp are read: "


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        (
            "print(s)",
            "line 2, column 1: there is no function print.*cut the statement of line 2 .*print",
        ),
        (
            "\nfor (const i of [1]) {\n}",
            "line 3, .*for begins a statement.*line 3 that .*'for .const i",
        ),
        ("function f(a) { return a }", "cut the statement of line 2"),
        ("db.c.find().forEach(d => print(d))", "cut the statement of line 2 .*db.c.find"),
        ("let x = f(1)", "column 9: there is no function f.*write the value itself there"),
        ("sp.process([s, {$match: {n: process.env.N}}])", "write the value itself there"),
        ("s.push(1)", "s.push is not known here.*write the value"),
        ("let t = [s]; t.push({$match: {}})", "t.push is not known here.*write the value"),
    ],
)
def test_what_of_a_script_is_not_read_says_what_to_cut(text: str, fix: str) -> None:
    with pytest.raises(IllegalArgumentError, match=fix) as caught:
        read_definition(SCRIPT + text)
    assert ONLY in str(caught.value)


def test_a_text_of_json_is_no_script() -> None:
    with pytest.raises(IllegalArgumentError) as caught:
        read_definition("[{$match: {a: b}}]")
    assert ONLY not in str(caught.value)


def test_stages_one_after_the_other() -> None:
    text = '{$source: {connectionName: "in"}},\n{$match: {a: 1}}'
    assert len(read_definition(text).stages) == 2


def test_a_document_with_a_pipeline() -> None:
    definition = read_definition(
        '{"name": "p", "pipeline": [{"$source": {"connectionName": "in"}}], "options": {"dlq": {"coll": "q"}}}'
    )
    assert (definition.name, definition.options["dlq"]) == ("p", {"coll": "q"})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[{$match: {a: }}]", "line 1, column 15: } is not expected here"),
        ("[\n  {$match: {a: b}}\n]", "line 2, column 16: the name b is not defined"),
        ("[{$match: {a: 1}]", "line 1, column 17: , is expected and ] found"),
        ("[{$match: {a: Foo(1)}}]", "there is no function Foo"),
        ('[{$match: {a: ObjectId("x")}}]', "ObjectId: .*24 hexadecimal digits"),
        ("let a = 5", "there is no list of stages"),
        ("sp.process([1", "the end of the text"),
        ("", "there is no list of stages"),
    ],
)
def test_what_is_no_pipeline_says_line_and_column(text: str, message: str) -> None:
    with pytest.raises(IllegalArgumentError, match=message):
        read_definition(text)


EVERYTHING: dict[str, Any] = {
    "i": 1,
    "l": 2**40,
    "f": 1.5,
    "whole": 2.0,
    "inf": math.inf,
    "dec": Decimal("1.10"),
    "s": "ü",
    "n": None,
    "b": True,
    "date": NOON,
    "old": datetime(1900, 1, 1, tzinfo=UTC),
    "id": ObjectId("507f1f77bcf86cd799439011"),
    "bin": b"\x00\x01",
    "uuid": uuid.UUID(int=7),
    "re": re.compile("a", re.IGNORECASE),
    "ts": Timestamp(1, 2),
    "list": [1, {"x": []}],
}


@pytest.mark.parametrize("canonical", [False, True])
def test_extended_json_comes_back(canonical: bool) -> None:
    assert parsed(line(EVERYTHING, canonical)) == EVERYTHING


def test_canonical_json_tells_types_apart() -> None:
    value = {"a": 1, "b": Int64(1), "c": 1.0}
    assert encoded(value, canonical=True) == {
        "a": {"$numberInt": "1"},
        "b": {"$numberLong": "1"},
        "c": {"$numberDouble": "1.0"},
    }
    assert type(decoded(encoded(value, canonical=True))["b"]) is Int64


def test_malformed_extended_json() -> None:
    with pytest.raises(IllegalArgumentError, match="is not Extended JSON"):
        decoded({"$oid": "x"})
    with pytest.raises(DocumentError, match="Failed to parse input document"):
        parsed("{")
