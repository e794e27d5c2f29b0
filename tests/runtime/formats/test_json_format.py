"""JSON: Arrow's way and the line by line agree, and what is not one record a line is malformed."""

from __future__ import annotations

import json
import math
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

import flinkish as fl
from flinkish import MalformedRecord
from flinkish.api.types.table_schema import table_schema
from flinkish.runtime.formats.file_formats import file_format
from flinkish.runtime.formats.lines import LineBlock
from tests.runtime.formats.reading import ranges, read, whole

pytestmark = pytest.mark.usefixtures("spark")  # Spark parses the schemas

SCHEMA = "a string, b long, c double"
NESTED = (
    "a string, s struct<x: int, d: date>, l array<struct<t: timestamp>>, n array<int>,"
    " p decimal(7,2), g boolean"
)

VALUES = st.sampled_from(
    ['"x"', "1", "1.5", "01", "NaN", "Infinity", "Inf", "null", "true", "-0", "1e400", '"1"', "{}"]
    + ["[]", "[1]", "[null]", '{"x":1}', '{"x":1,"x":2}', '{"x":"a"}', '{"d":"2024-02-29"}', '""']
    + ['[{"t":"2024-02-29T12:30:15Z"}]', '[{"t":"2024-02-29 12:30:15.5"}, null]', '[{"t":5}]']
    + [
        '"\\ud800"',
        '"\\ud83d\\ude00"',
        '"é"',
        "'q'",
        '"a',
        "tru",
        '"\\u0000"',
        '"a\tb"',
        "12345678",
    ]
    + ['"2024-2-9"', "9223372036854775808", "0.005", '"0.005"', '{"y":[{"z":"}\\n{"}]}', "["]
)
NAMES = st.sampled_from(["a", "b", "c", "s", "l", "n", "p", "g", "other"])
OBJECTS = st.lists(st.tuples(NAMES, VALUES), max_size=4).map(
    lambda members: "{" + ",".join(f'"{name}":{value}' for name, value in members) + "}"
)
LINES = st.lists(
    OBJECTS
    | OBJECTS.map(lambda o: o + o)
    | OBJECTS.map(lambda o: o + " x")
    | OBJECTS.map(lambda o: f"[{o}, {o}]")
    | st.sampled_from(["", " ", "null", "5", "{", "}", '{"a":', '"x"}', "\ufeff{}", "[{},1]"]),
    max_size=6,
)


@cache
def parsed(schema):
    return table_schema(schema)


def format_of(schema, **options):
    found = file_format(fl.FileSource.forJson("in", schema, **options), parsed(schema))
    assert found is not None
    return found


def block_of(text: str | bytes):
    return LineBlock("a.json", text if isinstance(text, bytes) else text.encode(), 0, 1)


def outcome(parts):
    rows, malformed = [], []
    for part in parts:
        if isinstance(part, MalformedRecord):
            malformed.append(part)
        else:
            rows.extend(map(repr, part.to_pylist()))
    return rows, malformed


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("json") / "a.json"


@pytest.mark.parametrize("schema", [SCHEMA, NESTED], ids=["flat", "nested"])
def test_the_quick_way_and_the_slow_one_agree(schema):
    chosen = format_of(schema)

    @given(LINES, st.sampled_from(["\n", "\r\n"]))
    def agree(lines, end):
        block = block_of(end.join(lines))
        fast, slow = chosen.fast(block), outcome(chosen.slow(block))
        if fast is not None:
            assert (list(map(repr, fast.to_pylist())), []) == slow
        assert outcome(chosen.parts(block)) == slow

    agree()


@given(lines=LINES, cuts=st.lists(st.integers(0, 90), max_size=4))
def test_ranges_give_the_rows_and_the_malformed_lines_of_the_whole(path, lines, cuts):
    path.write_bytes("\n".join(lines).encode())
    chosen = format_of(SCHEMA)
    rows, malformed = read(chosen, whole(path))
    parts, others = read(chosen, *ranges(path, cuts))
    assert list(map(repr, parts)) == list(map(repr, rows))
    assert [(m.offset, m.reason) for m in others] == [(m.offset, m.reason) for m in malformed]


@given(
    st.lists(
        st.fixed_dictionaries(
            {},
            optional={
                "a": st.none() | st.text(st.characters(exclude_categories=("Cs",))),
                "b": st.none() | st.integers(-(2**63), 2**63 - 1),
                "c": st.none() | st.floats(allow_nan=False, allow_infinity=False),
                "d": st.none() | st.lists(st.integers(-9, 9)),
                "e": st.none() | st.dictionaries(st.text("ab"), st.integers(-9, 9)),
                "ignored": st.recursive(st.text("a{}\n"), st.lists, max_leaves=3),
            },
        ),
        max_size=6,
    ),
    st.booleans(),
)
def test_values_come_back(path, objects, escaped):
    lines = "".join(json.dumps(o, ensure_ascii=escaped) + "\n" for o in objects)
    path.write_bytes(lines.encode())
    for schema in (SCHEMA, f"{SCHEMA}, d array<int>", f"{SCHEMA}, e map<string, int>"):
        values, malformed = read(format_of(schema), whole(path))
        names = parsed(schema).fieldNames
        assert [tuple(v) for v in values] == [tuple(o.get(n) for n in names) for o in objects]
        assert not malformed


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"b":1}{"b":2}', "another record follows the record on its line: '{\"b\":2}'"),
        ('{"b":1} x', "more follows the record on its line: 'x'"),
        ('{"b":1},', "more follows the record on its line: ','"),
        ('{"b":01}', "'01}' is no JSON value"),
        ('{"b":1.5}', "the field 'b': 1.5 is no bigint"),
        ('{"b":"1"}', "the field 'b': the text '1' is no bigint"),
        ('{"b":9223372036854775808}', "is no bigint"),
        ('{"c":Inf}', "'Inf}' is no JSON value"),
        ('{"a":"\\ud800"}', "holds half of a surrogate pair"),
        ('{"a":"x\ty"}', "is no text in quotes with JSON's escapes"),
        ('{"a":"x', "is no text in quotes"),
        ('{"a":"x",}', "a name in quotes is missing at '}'"),
        ('{"b":1', "',' is missing at ''"),
        ("{b:1}", "a name in quotes is missing at 'b:1}'"),
        ("null", "'null' is no JSON object"),
        ('[{"b":1},null]', '[{"b":1},null]\' is no JSON object, nor an array of JSON objects'),
        (" [1]", "'[1]' is no JSON object, nor an array of JSON objects"),
        ('{"other":tru}', "'tru}' is no JSON value"),
        (b'{"a":"\xff"}', "it is not text in UTF-8"),
        ('{"a":"x\0"}', "is no text in quotes"),
    ],
)
def test_what_is_malformed(line, reason):
    rows, (malformed,) = outcome(format_of(SCHEMA).parts(block_of(line)))
    assert not rows
    assert reason in malformed.reason


@pytest.mark.parametrize(
    ("line", "rows"),
    [
        ('{"b":1,"b":2}', [(None, 2, None)]),
        ('{"b":1,"b":null}', [(None, None, None)]),
        ('[{"b":1},{"b":2}]', [(None, 1, None), (None, 2, None)]),
        ("[]", []),
        ("{'a':'it\\'s \"so\"'}", [('it\'s "so"', None, None)]),
        ('{"a":1.50,"c":-Infinity}', [("1.50", None, -math.inf)]),
        ('{"a":{"x": [1,  2]},"c":"+INF"}', [('{"x": [1,  2]}', None, math.inf)]),
        ('{"other":' + "[" * 5_000 + "]" * 5_000 + ',"b":1}', [(None, 1, None)]),
        ('{"c":1e400}', [(None, None, math.inf)]),
    ],
)
def test_what_is_read(line, rows):
    (batch,) = format_of(SCHEMA).parts(block_of(line))
    assert [tuple(row.values()) for row in batch.to_pylist()] == rows


def test_one_bad_line_of_many_is_found_and_the_others_are_rows():
    lines = [f'{{"a":"name","b":{i}}}' for i in range(20_000)]
    lines[13_579] += '{"b":0}'
    rows, malformed = outcome(format_of(SCHEMA).parts(block_of("\n".join(lines))))
    assert len(rows) == 19_999
    assert [bad.line for bad in malformed] == [13_580]


@pytest.mark.parametrize(
    ("schema", "options"),
    [
        ("a int", {"mode": "PERMISSIVE"}),
        ("a int", {"multiLine": "true"}),
        ("a date", {"dateFormat": "dd.MM.yyyy"}),
        ("a interval year to month", {}),
        ("a map<struct<b: int>, int>", {}),
        ("a int, _corrupt_record string", {}),
    ],
)
def test_what_is_not_known_is_left_to_spark(schema, options):
    source = fl.FileSource.forJson("in", schema, **options)
    assert file_format(source, table_schema(schema)) is None
