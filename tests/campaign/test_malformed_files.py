"""Good files with a few bytes changed, drawn from a seed, against readers written here.

Whatever the change: a line that nobody touched gives its row, a changed one gives the row that its text
says or is a malformed record with its place, and no line is lost, doubled or moved.
"""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql.types import (
    BooleanType,
    DoubleType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from flinkish import FileSource, MalformedRecord
from flinkish.api.errors import FlinkishError, MalformedRecordError
from flinkish.api.types.table_schema import table_schema
from flinkish.runtime.formats.base import FileSplit
from flinkish.runtime.formats.file_formats import file_format

SEED = 12
FILES = 120
"""The number of changed files for each format; each has some thirty lines."""

SCHEMA = StructType(
    [
        StructField("id", LongType()),
        StructField("name", StringType()),
        StructField("amount", DoubleType()),
        StructField("paid", BooleanType()),
    ]
)
NAMES = SCHEMA.names
BLANKS = bytes(range(33))

Row = tuple[Any, ...]


# ---------------------------------------------------------------------- good files


def rows(draw: random.Random) -> list[Row]:
    words = ("ada", "bob", "Zoë", "", "two words", "a,b", 'a "b"', "NULL", "1e5", "0x1F", "\u2028")
    return [
        (
            draw.choice((None, draw.randrange(-(10**6), 10**6))),
            draw.choice((None, *words)),
            draw.choice((None, draw.uniform(-1e3, 1e3), float(draw.randrange(100)))),
            draw.choice((None, True, False)),
        )
        for _ in range(30)
    ]


def csv_file(contents: list[Row]) -> list[bytes]:
    return [csv_line(row).encode() for row in contents]


def csv_line(row: Row) -> str:
    def field(value: Any) -> str:
        if value is None:
            return ""
        if isinstance(value, bool):
            return str(value).lower()
        text = value if isinstance(value, str) else repr(value)
        quoted = any(c in text for c in ',"') or text == ""
        return '"' + text.replace('"', '""') + '"' if quoted else text

    return ",".join(map(field, row))


def json_file(contents: list[Row]) -> list[bytes]:
    return [json.dumps(dict(zip(NAMES, row)), ensure_ascii=False).encode() for row in contents]


def text_file(contents: list[Row]) -> list[bytes]:
    return [str(row[1]).replace("\u2028", " ").encode() for row in contents]


# ---------------------------------------------------------------------- changes


def changed(lines: list[bytes], draw: random.Random) -> list[bytes]:
    """``lines`` with one to three of them changed."""
    result = list(lines)
    for _ in range(draw.randrange(1, 4)):
        at = draw.randrange(len(result))
        result[at] = draw.choice(CHANGES)(result[at], draw)
    return [line for part in result for line in re.split(rb"\r\n|\r|\n", part)]


def place(line: bytes, draw: random.Random) -> int:
    return draw.randrange(len(line) + 1)


def cut(line: bytes, draw: random.Random) -> bytes:
    return line[: place(line, draw)]


def without_a_byte(line: bytes, draw: random.Random) -> bytes:
    at = place(line, draw)
    return line[:at] + line[at + 1 :]


def with_a_byte(line: bytes, draw: random.Random) -> bytes:
    at = place(line, draw)
    return line[:at] + bytes([draw.randrange(256)]) + line[at:]


def another_byte(line: bytes, draw: random.Random) -> bytes:
    at = place(line, draw)
    return line[:at] + bytes([draw.randrange(256)]) + line[at + 1 :]


def with_a_mark(line: bytes, draw: random.Random) -> bytes:
    at = place(line, draw)
    return line[:at] + draw.choice(MARKS) + line[at:]


def twice(line: bytes, draw: random.Random) -> bytes:
    return line + draw.choice((b"", b" ", b",", b"\n")) + line


def swapped(line: bytes, draw: random.Random) -> bytes:
    return re.sub(rb"\d+", draw.choice(NUMBERS), line, count=1)


MARKS = [
    b'"', b'""', b",", b"\t", b"{", b"}", b"[]", b":", b"\\", b"\\u12", b"\x00", b"\xff", b"\xed\xa0\x80",
    b"\xef\xbb\xbf", b"null", b"NaN", b"-", b"e", b" ", b"'", b"//", b"\xe2\x80\xa8",
]  # fmt: skip
NUMBERS = [
    b"0x1F", b"1e5", b"1_000", b"9223372036854775808", b"01", b"+1", b"1.", b".5", b"-", b"one", b"1 ",
    b"\xd9\xa1", b"Infinity", b"1d", b"1L", b"1e400", b"--1", b"0b1", b"true",
]  # fmt: skip
CHANGES: list[Callable[[bytes, random.Random], bytes]] = [
    cut, without_a_byte, with_a_byte, another_byte, with_a_mark, with_a_mark, twice, swapped, swapped,
]  # fmt: skip


# ---------------------------------------------------------------------- what a line says

NOT_SAID = object()
"""A line of which these simple readers do not say whether it is well formed."""


def said_by_text(line: bytes) -> Any:
    return [decoded] if (decoded := utf8(line)) is not None else None


def utf8(line: bytes) -> str | None:
    try:
        return line.decode()
    except UnicodeDecodeError:
        return None


def said_by_csv(line: bytes) -> Any:
    """The row of a line, None if it is none."""
    text = utf8(line)
    if text is None:
        return None
    quotes = re.fullmatch(
        r'(?:(?:"(?:[^"]|"")*"|[^",][^,]*|),)*(?:"(?:[^"]|"")*"|[^",][^,]*|)', text
    )
    if quotes is None:
        return None
    if re.search(r'(?:^|,)[^",]+"', text):
        return NOT_SAID  # a quote inside a plain field is text for some and an error for others
    if "\0" in text or "\r" in text:
        return NOT_SAID
    fields = [found[1] for found in re.finditer(r'(?:^|,)("(?:[^"]|"")*"|[^",][^,]*|)', text)]
    if len(fields) != len(NAMES):
        return None
    # Only a text can be empty
    fields = ["" if each == '""' and place != 1 else each for place, each in enumerate(fields)]
    return typed([None if each == "" else unquoted(each) for each in fields])


def unquoted(field: str) -> str:
    return field[1:-1].replace('""', '"') if field.startswith('"') else field


def records_of_csv(lines: list[bytes]) -> list[tuple[int, bytes]]:
    """Lines put together where a quoted text goes over their ends, each with the number of its first."""
    found, number = [], 0
    while number < len(lines):
        end = number + 1
        while end < len(lines) and is_open(b"\n".join(lines[number:end])):
            end += 1
        if is_open(b"\n".join(lines[number:end])):
            end = number + 1  # never closed
        found.append((number + 1, b"\n".join(lines[number:end])))
        number = end
    return found


def is_open(text: bytes) -> bool:
    """Whether a quoted text in it goes on behind its end."""
    inside, place, begins = False, 0, True
    while place < len(text):
        byte = text[place : place + 1]
        if inside and byte == b'"':
            if text[place + 1 : place + 2] == b'"':
                place += 1
            else:
                inside = False
        elif not inside:
            inside = begins and byte == b'"'
            begins = byte in b",\n"
        place += 1
    return inside


def typed(texts: list[str | None]) -> Any:
    identity, name, amount, paid = texts
    if identity is not None and not re.fullmatch(r"[+-]?\d+", identity, re.ASCII):
        return NOT_SAID if re.fullmatch(r"[+-]?\d+", identity) else None
    if identity is not None and not -(2**63) <= int(identity) < 2**63:
        return None
    if paid is not None and paid.lower() not in ("true", "false"):
        return None
    if amount is not None and not re.fullmatch(
        r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", amount, re.ASCII
    ):
        # Java takes more for a number: blanks around it, hexadecimal, a letter at the end
        return NOT_SAID if re.fullmatch(r"[\w.+\x00-\x20-]+", amount) else None
    return [
        (
            None if identity is None else int(identity),
            name,
            None if amount is None else float(amount),
            None if paid is None else paid.lower() == "true",
        )
    ]


def said_by_json(line: bytes) -> Any:
    text = utf8(line)
    if text is None:
        return None
    if "\\u" in text or "'" in text or "//" in text or "NaN" in text or "Infinity" in text:
        return NOT_SAID

    def refused(constant: str) -> Any:
        raise ValueError(constant)

    try:
        value = json.loads(text, parse_constant=refused)
    except (ValueError, RecursionError):
        # Blanks, BOM and control characters are taken more easily by some readers
        return NOT_SAID if any(c in text for c in "\ufeff\x00\t[") else None
    if not isinstance(value, dict):
        return NOT_SAID
    if text.count('":') != len(value):
        return NOT_SAID  # a name that comes twice
    identity, name, amount, paid = (value.get(field) for field in NAMES)
    fits = (
        (identity is None or (type(identity) is int and -(2**63) <= identity < 2**63))
        and (name is None or type(name) is str)
        and (amount is None or type(amount) in (int, float))
        and (paid is None or type(paid) is bool)
    )
    if not fits:
        return NOT_SAID if isinstance(name, (int, float, bool, dict, list)) else None
    return [(identity, name, None if amount is None else float(amount), paid)]


FORMATS = {
    "text": (FileSource("text", "/f"), None, text_file, said_by_text),
    "csv": (FileSource.forCsv("/f", SCHEMA), SCHEMA, csv_file, said_by_csv),
    "json": (FileSource.forJson("/f", SCHEMA), SCHEMA, json_file, said_by_json),
}


# ---------------------------------------------------------------------- the campaign


def read(reader: Any, path: str) -> tuple[list[Any], list[MalformedRecord]]:
    size = len(open(path, "rb").read())  # noqa: SIM115 - short files of a test
    good: list[Any] = []
    malformed: list[MalformedRecord] = []
    for result in reader.read(FileSplit(path, 0, size, size)):
        if isinstance(result, MalformedRecord):
            malformed.append(result)
        else:
            good.extend(v if isinstance(v, str) else tuple(v) for v in result.values)
    return good, malformed


def differences(
    lines: list[bytes], says: Callable[[bytes], Any], good: list[Any], bad: list[MalformedRecord]
) -> list[str]:
    """List the differences between the records read and the meaning of the lines."""
    found = []
    refused = {record.line: record for record in bad}
    if len(refused) != len(bad):
        found.append("a line is malformed twice")
    left = list(good)
    numbered = records_of_csv(lines) if says is said_by_csv else list(enumerate(lines, 1))
    for number, line in numbered:
        said = says(line)
        record = refused.pop(number, None)
        if record is not None:
            if record.raw != line:
                found.append(f"line {number} {line!r} is reported as {record.raw!r}")
            if said is not None and said is not NOT_SAID:
                found.append(f"line {number} {line!r} is refused: {record.reason}")
            continue
        if says is not said_by_text and not line.strip(BLANKS):
            continue  # a blank line is no record
        if not left:
            found.append(f"line {number} {line!r} is lost")
            break
        value = left.pop(0)
        if said is None:
            found.append(f"line {number} {line!r} is taken for {value!r}")
        elif said is not NOT_SAID and not same(value, said[0]):
            found.append(f"line {number} {line!r} gives {value!r}, not {said[0]!r}")
    if left:
        found.append(f"{left!r} are more than there is")
    if refused:
        found.append(f"{sorted(refused)} are no lines of the file")
    return found


def same(one: Any, other: Any) -> bool:
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float) and isinstance(other, float) and math.isnan(one):
        return math.isnan(other)
    return type(one) is type(other) and bool(one == other)


@pytest.mark.parametrize("name", FORMATS)
def test_no_change_of_a_file_loses_or_changes_a_row_silently(name, tmp_path):
    source, schema, write, says = FORMATS[name]
    reader = file_format(source, None if schema is None else table_schema(schema))
    assert reader is not None
    found = []
    for number in range(FILES):
        draw = random.Random(f"{SEED} {name} {number}")
        lines = changed(write(rows(draw)), draw)
        path = tmp_path / f"{number}.{name}"
        path.write_bytes(b"\n".join(lines) + b"\n")
        good, bad = read(reader, str(path))
        found += [f"file {number}: {text}" for text in differences(lines, says, good, bad)]
    assert found == []


def test_a_damaged_parquet_file_gives_its_rows_or_an_error(tmp_path):
    """Parquet has no place for a malformed record: a file fits as a whole, or the job fails by it."""
    reader = file_format(FileSource.forParquet("/f", SCHEMA), table_schema(SCHEMA))
    assert reader is not None
    kinds = [pa.int64(), pa.string(), pa.float64(), pa.bool_()]
    found: list[str] = []
    for number in range(FILES):
        draw = random.Random(f"{SEED} parquet {number}")
        contents = rows(draw)
        arrays = [pa.array(values, kind) for values, kind in zip(zip(*contents), kinds)]
        table = pa.table(arrays, names=NAMES)
        path = tmp_path / f"{number}.parquet"
        # With checksums of its pages, so that damage can be told at all
        pq.write_table(table, path, write_page_checksum=True)
        damaged = bytearray(path.read_bytes())
        if number % 3:
            damaged[draw.randrange(len(damaged))] ^= 1 << draw.randrange(8)
        else:
            del damaged[draw.randrange(len(damaged)) :]
        path.write_bytes(damaged)
        try:
            good, bad = read(reader, str(path))
        except FlinkishError as error:
            unnamed = [str(error)] if str(path) not in str(error) else []
        else:
            unnamed = [] if (good, bad) == (contents, []) else [f"file {number}: {len(good)} rows"]
        found += unnamed
    assert found == []


def test_each_malformed_record_is_an_error_that_names_its_place(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b"1,ada,1.5,true\none,bob,2.5,false\n")
    _, [record] = read(
        file_format(FileSource.forCsv("/f", SCHEMA), table_schema(SCHEMA)), str(path)
    )
    error = record.error("Source: a")
    assert isinstance(error, MalformedRecordError)
    assert f"line 2 of {path}" in str(error)
