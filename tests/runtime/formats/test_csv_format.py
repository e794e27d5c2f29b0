"""CSV: the quick ways and the line by line agree, and what is not strict CSV is malformed."""

from __future__ import annotations

import csv
import io
from functools import cache

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import flinkish as fl
from flinkish import MalformedRecord
from flinkish.api.types.table_schema import table_schema
from flinkish.runtime.formats.file_formats import file_format
from flinkish.runtime.formats.lines import LineBlock
from tests.runtime.formats.reading import ranges, read, whole

pytestmark = pytest.mark.usefixtures("spark")  # Spark parses the schemas

SCHEMA = "name string, count long, small int, share double, good boolean"
TYPES = "a tinyint, b float, c decimal(7,2), d date, e timestamp, f string"

TEXT = st.text(st.characters(codec="utf-8") | st.sampled_from('\r\n", \\'), max_size=6)
ROWS = st.lists(
    st.tuples(
        st.none() | TEXT,
        st.none() | st.integers(-(2**63), 2**63 - 1),
        st.none() | st.integers(-(2**31), 2**31 - 1),
        st.none() | st.floats(allow_nan=False, allow_infinity=False),
        st.none() | st.booleans(),
    ),
    max_size=12,
)
ODD = st.sampled_from(
    ["", "a", "1", "-7", "+7", " 7", "7 ", "0x1F", "1.5", "1e3", "NaN", "nan", "Inf", "inf", "true"]
    + [
        "TRUE",
        "tRuE",
        "false",
        '""',
        '"1"',
        '"a""b"',
        '"a"b',
        'a"b',
        '"',
        '"a,b"',
        "a\tb",
        "\u00e9",
    ]
    + ["128", "99999.995", "2024-02-29", "2024-2-9", "2023-02-29", "2024-02-29 12:30:15", "\x00"]
    + [
        "2024-02-29T12:30:15.5+01:00",
        "9999999999",
        "1,5",
        "0.005",
        "x",
        "NA",
        "\\",
        '"\\""',
        "'",
        "|",
    ]
)
LINES = st.lists(st.lists(ODD, min_size=1, max_size=3).map(",".join) | ODD, max_size=8)


@cache
def parsed(schema):
    return table_schema(schema)


def format_of(schema, **options):
    source = fl.FileSource.forCsv("in", schema, **options)
    found = file_format(source, parsed(schema))
    assert found is not None
    return found


def block_of(text: str | bytes):
    return LineBlock("a.csv", text if isinstance(text, bytes) else text.encode(), 0, 1)


def outcome(parts):
    rows, malformed = [], []
    for part in parts:
        if isinstance(part, MalformedRecord):
            malformed.append(part)
        else:
            rows.extend(map(repr, part.to_pylist()))
    return rows, malformed


def one(schema, line, **options):
    """The rows of a line, or why it is malformed."""
    rows, malformed = outcome(format_of(schema, **options).parts(block_of(line)))
    return malformed[0].reason if malformed else rows


def written(rows):
    out = io.StringIO()
    for row in rows:
        first, rest = row[0], row[1:]
        out.write("" if first is None else '"' + first.replace('"', '""') + '"')
        out.write(",")
        csv.writer(out, lineterminator="\n").writerow(
            ["" if v is None else str(v).lower() if isinstance(v, bool) else repr(v) for v in rest]
        )
    return out.getvalue()


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("csv") / "a.csv"


@given(rows=ROWS, cuts=st.lists(st.integers(0, 200), max_size=5))
def test_values_come_back_from_any_ranges(path, rows, cuts):
    path.write_text(written(rows), encoding="utf-8", newline="")
    for splits in ([whole(path)], ranges(path, cuts)):
        values, malformed = read(format_of(SCHEMA), *splits)
        assert [tuple(value) for value in values] == rows
        assert not malformed


OPTIONS = [{}, {"nullValue": "NA"}, {"escape": "\\"}, {"quote": "'"}, {"sep": "|"}, {"sep": "\t"}]


@given(
    LINES,
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from(["a string, b long", "a string, b double, c boolean", "a string", TYPES]),
    st.sampled_from(OPTIONS),
)
@example(["a,1", '"a"b,2'], "\n", "a string, b long", {})
def test_the_quick_ways_and_the_slow_one_agree(lines, end, schema, options):
    separator = options.get("sep", ",")
    block = block_of(end.join(line.replace(",", separator) for line in lines))
    chosen = format_of(schema, **options)
    fast, slow = chosen.fast(block), outcome(chosen.slow(block))
    if fast is not None:
        assert (list(map(repr, fast.to_pylist())), []) == slow
    assert outcome(chosen.parts(block)) == slow


@given(lines=LINES, cuts=st.lists(st.integers(0, 90), max_size=4))
def test_ranges_give_the_rows_and_the_malformed_lines_of_the_whole(path, lines, cuts):
    path.write_bytes("\n".join(lines).encode())
    chosen = format_of("a string, b int")
    rows, malformed = read(chosen, whole(path))
    parts, others = read(chosen, *ranges(path, cuts))
    assert parts == rows
    assert [(m.offset, m.raw, m.reason) for m in others] == [
        (m.offset, m.raw, m.reason) for m in malformed
    ]


def test_one_bad_line_of_many_is_found_and_the_others_are_rows():
    lines = [f"name{i},{i},1,0.5,true" for i in range(20_000)]
    lines[13_579] = '"a"b,1,1,0.5,true'
    rows, malformed = outcome(format_of(SCHEMA).parts(block_of("\n".join(lines))))
    assert len(rows) == 19_999
    assert [(bad.line, bad.text) for bad in malformed] == [(13_580, '"a"b,1,1,0.5,true')]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("a,x,2,3,true", "the column 'count': 'x' is no bigint"),
        ("a,1,2,3", "expected 5 fields, got 4"),
        ("a,1,2,3,true,more", "expected 5 fields, got 6"),
        ('"a,1,2,3,true', "the quote at character 1 is not closed"),
        ('"a"b,1,2,3,true', "the closing quote at character 3 is followed by 'b'"),
        ('"a" ,1,2,3,true', "the closing quote at character 3 is followed by ' '"),
        ("a,0x1F,2,3,true", "the column 'count': '0x1F' is no bigint"),
        ("a,1, 2,3,true", "the column 'small': ' 2' is no int"),
        ("a,1,1.5,3,true", "the column 'small': '1.5' is no int"),
        ("a,1,2147483648,3,true", "the column 'small': '2147483648' is no int"),
        ("a,1,2,1_000,true", "the column 'share': '1_000' is no double"),
        ("a,1,2,nan,true", "the column 'share': 'nan' is no double"),
        ("a,1,2,inf,true", "the column 'share': 'inf' is no double"),
        ("a,1,2,3,1", "the column 'good': '1' is no boolean"),
        ("a,1,2,3,yes", "the column 'good': 'yes' is no boolean"),
        (f"a,{'9' * 5_000},2,3,true", "is no bigint"),
        (b"caf\xe9,1,2,3,true", "it is not text in UTF-8"),
    ],
)
def test_what_is_malformed(line, reason):
    assert reason in one(SCHEMA, line)


@pytest.mark.parametrize(
    ("schema", "line", "value"),
    [
        ("a int, b int", "+5,007", (5, 7)),
        ("a boolean, b boolean", "TRUE,fAlse", (True, False)),
        ("a double, b double", " 1.5 ,-Infinity", (1.5, float("-inf"))),
        ("a double, b double", "0x1.8p1,1e400", (3.0, float("inf"))),
        ("a string, b string", 'a"b, "x" ', ('a"b', ' "x" ')),
        ("a string, b int", '"a,""b""",5', ('a,"b"', 5)),
        ("a string, b int", '"",""', ("", None)),
        ("a string, b string", "x\0y,é", ("x\0y", "é")),
    ],
)
def test_what_is_read(schema, line, value):
    (row,) = format_of(schema).slow(block_of(line))
    assert tuple(row.to_pylist()[0].values()) == value


def test_options():
    assert one("a string, b int", "NA;NA", sep=";", nullValue="NA") == ["{'a': None, 'b': None}"]
    assert one("a string, b string", '"";x', sep=";", nullValue="NA") == ["{'a': '', 'b': 'x'}"]
    assert one("a string, b string", "'x,y',z", quote="'") == ["{'a': 'x,y', 'b': 'z'}"]
    assert one("a string, b int", '"x\\"y\\\\z\\q",1', escape="\\") == [
        repr({"a": 'x"y\\z\\q', "b": 1})
    ]
    assert one("a string, b int", "x\t1", delimiter="\\t", MODE="failfast") == [
        "{'a': 'x', 'b': 1}"
    ]


@given(cut=st.integers(0, 40))
def test_a_header_is_no_row_of_any_range(path, cut):
    path.write_bytes(b"\xef\xbb\xbf\r\n  \r\nname,count\r\nada,1\r\nbob,x\r\n")
    chosen = format_of("name string, count int", header="true")
    values, malformed = read(chosen, whole(path))
    assert ([tuple(v) for v in values], [m.line for m in malformed]) == ([("ada", 1)], [5])
    if cut > 9:
        values, malformed = read(chosen, *ranges(path, [cut]))
        assert ([tuple(v) for v in values], [m.offset for m in malformed]) == ([("ada", 1)], [28])


@pytest.mark.parametrize(
    ("schema", "options"),
    [
        ("a int", {"mode": "PERMISSIVE"}),
        ("a int", {"comment": "#"}),
        ("a int", {"encoding": "ISO-8859-1"}),
        ("a int", {"sep": "::"}),
        ("a int", {"quote": ""}),
        ("a int", {"header": "maybe"}),
        ("a int", {"multiLine": "true"}),
        ("a date", {"dateFormat": "dd.MM.yyyy"}),
        ("a interval year to month", {}),
        ("a array<int>", {}),
        ("a int, _corrupt_record string", {}),
    ],
)
def test_what_is_not_known_is_left_to_spark(schema, options):
    assert file_format(fl.FileSource.forCsv("in", schema, **options), table_schema(schema)) is None


def test_columns_are_of_the_schema_where_there_are_no_rows():
    assert format_of(TYPES).fast(block_of("\n\n")).schema.field("c").type == pa.decimal128(7, 2)
