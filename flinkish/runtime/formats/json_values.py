"""Reads JSON texts as values of the types of a schema, by the rules of Spark's reader: RFC 8259,
but quotes may be single, and ``NaN`` and ``Infinity`` are numbers.
"""

from __future__ import annotations

import json
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from flinkish.api.errors import shown
from flinkish.api.types.table_schema import ColumnType
from flinkish.runtime.formats.text_values import (
    BooleanType,
    DecimalType,
    FloatType,
    IntegerType,
    NotOfType,
    StringType,
    TimestampType,
    ValueType,
    value_type,
)


class NotJson(ValueError):
    """A text is not JSON."""


@dataclass(frozen=True)
class JsonType(ABC):
    """A type that JSON is read as."""

    arrow: pa.DataType
    """The type of its column."""
    parsed: pa.DataType
    """The type that Arrow's reader is asked for; ``column`` converts the result."""
    direct: bool
    """Whether Arrow's reader can read the type."""

    def column(self, parsed: pa.Array) -> pa.Array | None:
        """The column from Arrow's result; None if its lines must be read one by one."""
        return None

    @abstractmethod
    def read(self, reader: JsonReader) -> Any:
        """Read the next value. Raises NotJson or NotOfType."""


@dataclass(frozen=True)
class JsonValue(JsonType):
    """A type without parts."""

    kind: ValueType

    def column(self, parsed: pa.Array) -> pa.Array | None:
        return parsed if self.kind.direct else self.kind.column(parsed)

    def read(self, reader: JsonReader) -> Any:
        first = reader.peek()
        start = reader.position
        if first in "\"'":
            text = reader.string()
            if isinstance(self.kind, StringType):
                return text
            if isinstance(self.kind, FloatType) and text in _NON_FINITE:
                return _NON_FINITE[text]
            if not isinstance(self.kind, (BooleanType, IntegerType, FloatType)):
                return self.kind.value(text)
            raise NotOfType(f"the text {shown(text)} is no {self.kind.name}")
        reader.skip()
        text = reader.text[start : reader.position]
        if text == "null":
            return None
        if isinstance(self.kind, StringType):
            return text
        if text in _NON_FINITE and isinstance(self.kind, FloatType):
            return _NON_FINITE[text]
        if isinstance(self.kind, BooleanType):
            fits = text in ("true", "false")
        elif isinstance(self.kind, (IntegerType, TimestampType)):
            fits = _INTEGER.fullmatch(text) is not None
        else:
            fits = isinstance(self.kind, (FloatType, DecimalType)) and first in "-0123456789"
        if not fits:
            raise NotOfType(f"{shown(text)[1:-1]} is no {self.kind.name}")
        return (
            self._instant(text) if isinstance(self.kind, TimestampType) else self.kind.value(text)
        )

    def _instant(self, text: str) -> Any:
        seconds = int(text) if len(text) < 20 else 1 << 63
        if abs(seconds) > _MOST_SECONDS:
            raise NotOfType(f"{text} is no {self.kind.name}")
        return seconds * 1_000_000


@dataclass(frozen=True)
class JsonObject(JsonType):
    """A struct. A missing field is None. Of two fields with one name, the last counts."""

    fields: tuple[str, ...]
    types: tuple[JsonType, ...]

    def columns(self, parsed: Sequence[pa.Array]) -> list[pa.Array] | None:
        """Return the columns of the fields; None if a line must be parsed individually."""
        columns = []
        for kind, part in zip(self.types, parsed):
            column = kind.column(part)
            if column is None:
                return None
            columns.append(column)
        return columns

    def column(self, parsed: pa.Array) -> pa.Array | None:
        columns = self.columns([parsed.field(i) for i in range(len(self.types))])
        if columns is None:
            return None
        fields = list(self.arrow)
        return pa.StructArray.from_arrays(columns, fields=fields, mask=parsed.is_null())

    def read(self, reader: JsonReader) -> Any:
        row = self.row(reader)
        return None if row is None else dict(zip(self.fields, row))

    def row(self, reader: JsonReader) -> tuple[Any, ...] | None:
        """The values of the fields; None for null."""
        if reader.peek() == "n":
            reader.null()
            return None
        row: list[Any] = [None] * len(self.fields)
        places = {name: place for place, name in enumerate(self.fields)}
        for name in reader.members("struct"):
            place = places.get(name)
            if place is None:
                reader.skip()
            else:
                row[place] = reader.within(name, self.types[place].read)
        return tuple(row)


@dataclass(frozen=True)
class JsonArray(JsonType):
    element: JsonType

    def column(self, parsed: pa.Array) -> pa.Array | None:
        values = self.element.column(parsed.values)
        if values is None or parsed.offset:
            return None
        missing = parsed.is_null() if parsed.null_count else None
        return pa.ListArray.from_arrays(parsed.offsets, values, type=self.arrow, mask=missing)

    def read(self, reader: JsonReader) -> Any:
        if reader.peek() == "n":
            return reader.null()
        return [self.element.read(reader) for _ in reader.elements()]


@dataclass(frozen=True)
class JsonMap(JsonType):
    """An object as a map, whose keys are read from the names."""

    key: ValueType
    item: JsonType

    def read(self, reader: JsonReader) -> Any:
        if reader.peek() == "n":
            return reader.null()
        entries: dict[Any, Any] = {}
        for name in reader.members("map"):
            entries[self.key.value(name)] = reader.within(name, self.item.read)
        return list(entries.items())


def json_type(kind: ColumnType, timeZone: str) -> JsonType | None:
    """The type that reads JSON values for a column type; None if flinkish has none."""
    if kind.name == "struct":
        return json_object(kind, timeZone)
    if kind.name == "array":
        part = json_type(kind.children[0], timeZone)
        if part is None:
            return None
        return JsonArray(pa.list_(part.arrow), pa.list_(part.parsed), part.direct, part)
    if kind.name == "map":
        key, value = kind.children
        item, name = json_type(value, timeZone), value_type(key, timeZone)
        if item is None or name is None:
            return None
        arrow = pa.map_(name.arrow, item.arrow)
        return JsonMap(arrow, arrow, False, name, item)
    read = value_type(kind, timeZone)
    if read is None:
        return None
    return JsonValue(read.arrow, read.arrow if read.direct else pa.string(), True, read)


def json_object(schema: ColumnType, timeZone: str) -> JsonObject | None:
    """The type that reads JSON objects with the fields of ``schema``; None if flinkish has none."""
    kinds = [json_type(kind, timeZone) for _, kind in schema.fields]
    known = tuple(kind for kind in kinds if kind is not None)
    names = tuple(schema.fieldNames)
    if len(set(names)) < len(names) or len(known) < len(kinds):
        return None
    arrow = pa.struct([(name, kind.arrow) for name, kind in zip(names, known)])
    parsed = pa.struct([(name, kind.parsed) for name, kind in zip(names, known)])
    direct = bool(names) and all(kind.direct for kind in known)
    return JsonObject(arrow, parsed, direct, names, known)


class JsonReader:
    """Reads a JSON text from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0

    def rows(self, root: JsonObject) -> list[tuple[Any, ...]]:
        """The rows of a text: an object, or those of an array. Raises NotJson or NotOfType."""
        whole, begin = self.peek() != "[", self.position
        rows = []
        for _ in [None] if whole else self.elements():
            row = root.row(self) if self.peek() == "{" else None
            if row is None:
                self.position = begin
                array = "" if whole else ", nor an array of JSON objects"
                raise NotJson(f"{shown(self._rest())} is no JSON object{array}")
            rows.append(row)
        if self.peek():
            more = "another record" if self.peek() in "{[" else "more"
            raise NotJson(f"{more} follows the record on its line: {shown(self._rest())}")
        return rows

    def peek(self) -> str:
        """The next character that is not blank; empty at the end."""
        found = _BLANKS.match(self.text, self.position)
        self.position = found.end() if found else self.position
        return self.text[self.position : self.position + 1]

    def string(self) -> str:
        """Read a text in quotes."""
        found = _STRING.match(self.text, self.position)
        if not found:
            raise NotJson(f"{shown(self._rest())} is no text in quotes with JSON's escapes")
        self.position = found.end()
        raw = found.group()
        body = raw[1:-1]
        if "\\" not in body:
            return body
        value: str = json.loads(f'"{_QUOTE.sub(_as_in_double_quotes, body)}"')
        try:
            value.encode()
        except UnicodeEncodeError:
            raise NotJson(f"{shown(raw)} holds half of a surrogate pair") from None
        return value

    def null(self) -> None:
        """Read the word ``null``; raises NotJson for any other value."""
        self.peek()
        start = self.position
        self.skip()
        if self.text[start : self.position] != "null":
            raise NotJson(f"{shown(self.text[start : self.position])} is no JSON")

    def members(self, what: str) -> Iterator[str]:
        """Iterates over the names in an object. The caller reads the value after each name."""
        self._begin("{", f"object, for a {what}")
        if self._accepted("}"):
            return
        while True:
            yield self._name()
            if self._accepted("}"):
                return
            self._expect(",")

    def elements(self) -> Iterator[None]:
        """Iterates once for each element of an array. The caller reads the element."""
        self._begin("[", "array")
        if self._accepted("]"):
            return
        while True:
            yield None
            if self._accepted("]"):
                return
            self._expect(",")

    def skip(self) -> None:
        """Skip a value, however deeply it is nested."""
        closing: list[str] = []
        while True:
            first = self.peek()
            if first == "{" or first == "[":
                self.position += 1
                closing.append("}" if first == "{" else "]")
                if not self._accepted(closing[-1]):
                    if closing[-1] == "}":
                        self._name()
                    continue
                closing.pop()
            elif first and first in "\"'":
                self.string()
            else:
                self._word()
            while closing:
                if self._accepted(closing[-1]):
                    closing.pop()
                    continue
                self._expect(",")
                if closing[-1] == "}":
                    self._name()
                break
            if not closing:
                return

    def within(self, name: str, read: Callable[[JsonReader], Any]) -> Any:
        """The value that ``read`` reads. If it does not fit, the error names the field."""
        try:
            return read(self)
        except NotOfType as misfit:
            raise NotOfType(f"the field {shown(name)}: {misfit}") from None

    def _name(self) -> str:
        """Read the name of a member."""
        if self.peek() not in ('"', "'"):
            raise NotJson(f"a name in quotes is missing at {shown(self._rest())}")
        name = self.string()
        self._expect(":")
        return name

    def _word(self) -> None:
        found = _WORD.match(self.text, self.position)
        if not found:
            raise NotJson(f"{shown(self._rest())} is no JSON value")
        self.position = found.end()

    def _begin(self, character: str, what: str) -> None:
        if self.peek() != character:
            raise NotOfType(f"{shown(self._rest())} is no {what}")
        self.position += 1

    def _accepted(self, character: str) -> bool:
        accepted = self.peek() == character
        self.position += accepted
        return accepted

    def _expect(self, character: str) -> None:
        if not self._accepted(character):
            raise NotJson(f"{shown(character)} is missing at {shown(self._rest())}")

    def _rest(self) -> str:
        rest = self.text[self.position : self.position + 40]
        return rest if len(rest) < 40 else f"{rest}..."


_BLANKS = re.compile(r"[ \t\r\n]*")
_ESCAPE = r"\\(?:[\"'\\/bfnrt]|u[0-9a-fA-F]{4})"
_STRING = re.compile(
    rf"\"[^\"\\\x00-\x1f]*(?:{_ESCAPE}[^\"\\\x00-\x1f]*)*\""
    rf"|'[^'\\\x00-\x1f]*(?:{_ESCAPE}[^'\\\x00-\x1f]*)*'"
)
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)")
_WORD = re.compile(
    r"(?:-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
    r"|true|false|null|NaN|[+-]?Infinity|[+-]INF)(?=[ \t\r\n,:\]}]|$)"
)
_NON_FINITE = {
    "NaN": math.nan,
    **dict.fromkeys(["Infinity", "+Infinity", "+INF"], math.inf),
    **dict.fromkeys(["-Infinity", "-INF"], -math.inf),
}
_MOST_SECONDS = 253_402_300_799
_QUOTE = re.compile(r"\\(.)|\"", re.DOTALL)


def _as_in_double_quotes(found: re.Match[str]) -> str:
    if found.group() == '"':
        return '\\"'
    return "'" if found.group(1) == "'" else found.group()
