"""Reads CSV by RFC 4180. Arrow parses whole blocks, and values that it would wrongly accept are
checked.

There are three ways, from the fastest to the slowest: Arrow reads the values; Arrow separates the
fields, and the values are read column by column; each line is parsed individually, to name those
that do not fit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from flinkish.api.errors import MalformedRecordError, shown
from flinkish.runtime.formats.base import FileSplit, ReadResult
from flinkish.runtime.formats.csv_records import CsvQuotes, RecordBlock, record_blocks
from flinkish.runtime.formats.lines import LineBlock
from flinkish.runtime.formats.rows_of_lines import RowsOfLines
from flinkish.runtime.formats.text_values import (
    BytesType,
    FloatType,
    NotOfType,
    StringType,
    ValueType,
)
from flinkish.runtime.records.records import Records
from flinkish.runtime.records.rows import RowColumns

_TRUE, _FALSE = ["true", "TRUE", "True"], ["false", "FALSE", "False"]
_TEXT = StringType("string", pa.string())


@dataclass(frozen=True)
class CsvFormat(RowsOfLines):
    """CSV files in UTF-8, with one row a record. ``null`` and an empty field are no value."""

    names: tuple[str, ...]
    types: tuple[ValueType, ...]
    separator: str = ","
    quote: str = '"'
    escape: str = '"'
    null: str = ""
    header: bool = False
    byName: bool = True
    """Whether columns are found by the names in the header."""

    def read(self, split: FileSplit) -> Iterator[ReadResult]:
        inOrder = self._inOrderOf(split.path, split.size) if self.header else self
        header = self.header and split.start == 0
        for block in record_blocks(split, self._quotes):
            if header:
                rest = self._withoutHeader(block)
                if rest is None:
                    continue
                header, block = False, rest
            for result in inOrder.results(block):
                if isinstance(result, Records) and inOrder is not self:
                    assert isinstance(result.values, RowColumns)
                    columns = RowColumns(result.values.batch.select(self.names))
                    yield Records(columns, result.timestamps)
                else:
                    yield result

    def fast(self, block: LineBlock) -> pa.RecordBatch | None:
        if not block.valid():
            return None
        text, lines = block.text(), block.count
        long = isinstance(block, RecordBlock) and not block.simple
        if long:
            records = [line.raw for line in block.lines() if line.raw.strip(self.blanks)]
            text, lines = b"\n".join(records), len(records)
        # Here Arrow would read a line of blanks as a row. Otherwise a blank line makes the first
        # way fail
        elif len(self.names) == 1 or self.separator <= " ":
            text, lines = self._without_blank_lines(text)
        if not self._is_regular(text):
            return None
        rows = None if self._needs_checks(text) else self._parsed(text, lines, checked=False)
        if rows is not None:
            return rows
        if not long:
            text, lines = self._without_blank_lines(text)
        return self._parsed(text, lines, checked=True)

    # ------------------------------------------------------------------ a block

    def _is_regular(self, text: bytes) -> bool:
        """Whether all quotes in ``text`` enclose fields: fields are separated in only one way."""
        quote = self.quote.encode()
        if quote not in text:
            return True
        if self.null != "" and quote + quote in text:
            return False
        return self._quotes.regular(text) is not None

    def _needs_checks(self, text: bytes) -> bool:
        """Whether Arrow may read a number from a field that is not one: it ignores blanks around a
        number, and reads hexadecimal numbers."""
        blank = b" " in text or (self.separator != "\t" and b"\t" in text)
        # A search for one byte is many times faster than for two
        return blank or (b"x" in text and b"0x" in text) or (b"X" in text and b"0X" in text)

    def _parsed(self, text: bytes, lines: int, checked: bool) -> pa.RecordBatch | None:
        if lines == 0:
            return self.batch([])
        kinds = {
            name: pa.string() if checked or not kind.direct else kind.arrow
            for name, kind in zip(self.names, self.types)
        }
        try:
            table = csv.read_csv(
                pa.BufferReader(text),
                csv.ReadOptions(
                    column_names=self.names, use_threads=False, block_size=len(text) + 1
                ),
                csv.ParseOptions(
                    delimiter=self.separator,
                    quote_char=self.quote,
                    double_quote=self.escape == self.quote,
                    newlines_in_values=True,
                ),
                csv.ConvertOptions(
                    check_utf8=False,
                    column_types=kinds,
                    null_values=list({"", self.null}),
                    true_values=_TRUE,
                    false_values=_FALSE,
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=self.null != "",
                ),
            )
        except pa.ArrowInvalid:
            return None
        if table.num_rows != lines:
            return None
        batch = table.combine_chunks().to_batches()[0]
        columns = []
        for column, kind in zip(batch.columns, self.types):
            values = kind.column(column) if checked or not kind.direct else column
            if values is None or (not checked and _has_non_finite(values, kind)):
                return None
            columns.append(values)
        return pa.RecordBatch.from_arrays(columns, schema=self.schema())

    # ------------------------------------------------------------------ a line

    def rowsIn(self, line: str) -> Sequence[tuple[Any, ...]]:
        fields = self._fields(line)
        if len(fields) != len(self.names):
            raise NotOfType(f"expected {len(self.names)} fields, got {len(fields)}")
        return (tuple(map(self._value, self.names, self.types, fields)),)

    def _value(self, name: str, kind: ValueType, text: str | None) -> Any:
        if text is None or (
            text == self.null and (text or not isinstance(kind, (StringType, BytesType)))
        ):
            return None
        try:
            return kind.value(text)
        except NotOfType as misfit:
            raise NotOfType(f"the column {shown(name)}: {misfit}") from None

    def _fields(self, line: str) -> list[str | None]:
        """The fields of a line; None for an empty field without quotes."""
        if self.quote not in line:
            return [field or None for field in line.split(self.separator)]
        fields: list[str | None] = []
        position = 0
        while True:
            if line.startswith(self.quote, position):
                field, end = self._quoted(line, position)
                fields.append(field)
            else:
                end = line.find(self.separator, position)
                end = len(line) if end < 0 else end
                fields.append(line[position:end] or None)
            if end == len(line):
                return fields
            position = end + 1

    def _quoted(self, line: str, start: int) -> tuple[str, int]:
        """The quoted field that begins at ``start``, and where it ends."""
        parts: list[str] = []
        position = start + 1
        while True:
            end = line.find(self.quote, position)
            if self.escape != self.quote:
                escape = line.find(self.escape, position)
                if 0 <= escape < (len(line) if end < 0 else end):
                    following = line[escape + 1 : escape + 2]
                    plain = following in (self.quote, self.escape)
                    parts += [line[position:escape], "" if plain else self.escape, following]
                    position = escape + 2
                    continue
            if end < 0:
                raise NotOfType(f"the quote at character {start + 1} is not closed")
            parts.append(line[position:end])
            following = line[end + 1 : end + 2]
            if following == self.quote == self.escape:
                parts.append(self.quote)
                position = end + 2
                continue
            if following not in ("", self.separator):
                raise NotOfType(
                    f"the closing quote at character {end + 1} is followed by {shown(following)}"
                )
            return "".join(parts), end + 1

    # ------------------------------------------------------------------ blanks and the header

    @cached_property
    def _quotes(self) -> CsvQuotes:
        return CsvQuotes(self.separator.encode(), self.quote.encode(), self.escape.encode())

    @cached_property
    def blanks(self) -> bytes:
        return bytes(range(33)).replace(self.separator.encode(), b"")

    @cached_property
    def _blank_lines(self) -> re.Pattern[bytes]:
        return re.compile(rb"\n[%b]*(?=\n|\Z)" % re.escape(self.blanks))

    def _without_blank_lines(self, text: bytes) -> tuple[bytes, int]:
        """``text`` without blank lines, and how many lines it still has."""
        text = self._blank_lines.sub(b"", b"\n" + text)[1:]
        return text, text.count(b"\n") + (text != b"")

    def _withoutHeader(self, block: RecordBlock) -> RecordBlock | None:
        """``block`` without the header, its first line not blank; None if all are blank."""
        for line in block.lines():
            if line.raw.strip(self.blanks):
                return block.between(line.offset, block.offset + len(block.data))
        return None

    def _inOrderOf(self, path: str, size: int) -> CsvFormat:
        """The format with the columns in the order of the header of a file. Raises
        MalformedRecordError if the header does not name each column once."""
        if not self.byName:
            return self
        raw: bytes | None = None
        for block in record_blocks(FileSplit(path, 0, size, size), self._quotes):
            raw = next((line.raw for line in block.lines() if line.raw.strip(self.blanks)), None)
            if raw is not None:
                break
        if raw is None:
            return self
        try:
            found = [name or "" for name in self._fields(raw.decode())]
        except (UnicodeDecodeError, NotOfType) as error:
            raise MalformedRecordError(
                f"FileSource: the header of {path} cannot be read: {error}."
            ) from None
        known = {name.strip().lower(): name for name in self.names}
        exact = set(self.names) <= set(found) or len(known) < len(self.names)
        names = found if exact else [known.get(name.strip().lower(), name) for name in found]
        if any(names.count(name) != 1 for name in self.names):
            raise MalformedRecordError(
                f"FileSource: the header of {path} names the columns {', '.join(found)}, and the schema"
                f" has {', '.join(self.names)}, each of which must be there once. Name the columns of the"
                ' schema as the header does, or pass enforceSchema="true" to take them by their position.'
            )
        if names == list(self.names):
            return self
        kinds = dict(zip(self.names, self.types))
        # Columns that the schema does not have are read as text, and left out afterwards
        unique = [name if name in kinds else f"\0{place}" for place, name in enumerate(names)]
        types = [kinds.get(name, _TEXT) for name in names]
        return replace(self, names=tuple(unique), types=tuple(types), header=False)

    def schema(self) -> pa.Schema:
        return pa.schema([(name, kind.arrow) for name, kind in zip(self.names, self.types)])


def _has_non_finite(values: pa.Array, kind: ValueType) -> bool:
    # Arrow reads nan and inf in letters of any case
    return isinstance(kind, FloatType) and not pc.all(pc.is_finite(values), min_count=0).as_py()
