"""CSV, by RFC 4180: Arrow parses whole blocks, and what it would take too easily is looked at closely.

Three steps, from the quickest: Arrow reads the values; Arrow takes the fields apart and the values are
checked a column at a time; each line by itself, to name the one that does not fit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from flinkish.api.connectors.malformed_record import MalformedRecord
from flinkish.api.errors import shown
from flinkish.runtime.formats.base import FileSplit, ReadResult
from flinkish.runtime.formats.lines import NEWLINE, LineBlock, line_blocks
from flinkish.runtime.formats.rows_of_lines import Part, RowsOfLines
from flinkish.runtime.formats.text_format import NOT_UTF8
from flinkish.runtime.formats.text_values import FloatType, NotOfType, ValueType

_TRUE, _FALSE = ["true", "TRUE", "True"], ["false", "FALSE", "False"]
_BLANK_LINES = re.compile(rb"\n[\x00-\x20]*(?=\n|\Z)")
_BLANKS = bytes(range(33))


@dataclass(frozen=True)
class CsvFormat(RowsOfLines):
    """Files of CSV in UTF-8, a row a line. ``null`` is what stands for no value, as an empty field
    does."""

    names: tuple[str, ...]
    types: tuple[ValueType, ...]
    separator: str = ","
    quote: str = '"'
    escape: str = '"'
    null: str = ""
    header: bool = False

    def read(self, split: FileSplit) -> Iterator[ReadResult]:
        header = self.header and split.start == 0
        for block in line_blocks(split):
            if header:
                rest = _without_header(block)
                if rest is None:
                    continue
                header, block = False, rest
            yield from self.results(block)

    def fast(self, block: LineBlock) -> pa.RecordBatch | None:
        if not block.valid():
            return None
        text, lines = block.text(), block.count
        # Where a line of blanks is a row for Arrow. Other blank lines it leaves out, but counts none.
        if len(self.names) == 1 or self.separator <= " ":
            text, lines = _without_blank_lines(text)
        if not self._is_regular(text):
            return None
        rows = None if self._needs_checks(text) else self._parsed(text, lines, checked=False)
        if rows is not None:
            return rows
        return self._parsed(*_without_blank_lines(text), checked=True)

    def slow(self, block: LineBlock) -> Iterator[Part]:
        rows: list[tuple[Any, ...]] = []
        malformed: list[MalformedRecord] = []
        for line in block.lines():
            if line.raw.strip(_BLANKS):
                try:
                    rows.append(self._row(line.raw.decode()))
                except UnicodeDecodeError:
                    malformed.append(block.malformed(line, NOT_UTF8))
                except NotOfType as misfit:
                    malformed.append(block.malformed(line, str(misfit)))
        yield self._batch(rows)
        yield from malformed

    # ------------------------------------------------------------------ a block

    def _is_regular(self, text: bytes) -> bool:
        """Whether the quotes in ``text`` are those of quoted fields, so that there is but one way to
        take it apart."""
        quote = self.quote.encode()
        if quote not in text:
            return True
        if self.escape != self.quote and self.escape.encode() in text:
            return False
        if self.null != "" and quote + quote in text:
            return False
        data = np.frombuffer(text, np.uint8)
        quotes = np.flatnonzero(data == quote[0])
        if len(quotes) % 2:
            return False
        opening, closing = quotes[::2], quotes[1::2]
        padded = np.concatenate([[NEWLINE], data, [NEWLINE]])
        before, after = padded[opening], padded[closing + 2]
        doubled = np.zeros(len(opening) + 1, dtype=bool)
        if self.escape == self.quote:
            doubled[1:-1] = opening[1:] == closing[:-1] + 1
        separator = ord(self.separator)
        opens = (before == separator) | (before == NEWLINE) | doubled[:-1]
        closes = (after == separator) | (after == NEWLINE) | doubled[1:]
        return bool(opens.all() and closes.all())

    def _needs_checks(self, text: bytes) -> bool:
        """Whether Arrow may take a field for a number that is none: it skips blanks around it, and
        reads hexadecimal."""
        blank = b" " in text or (self.separator != "\t" and b"\t" in text)
        # A search for one byte is many times quicker than for two.
        return blank or (b"x" in text and b"0x" in text) or (b"X" in text and b"0X" in text)

    def _parsed(self, text: bytes, lines: int, checked: bool) -> pa.RecordBatch | None:
        if lines == 0:
            return self._batch([])
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
                ),
                csv.ConvertOptions(
                    check_utf8=False,
                    column_types=kinds,
                    null_values=list({"", self.null}),
                    true_values=_TRUE,
                    false_values=_FALSE,
                    strings_can_be_null=True,
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
        return pa.RecordBatch.from_arrays(columns, schema=self._schema())

    # ------------------------------------------------------------------ a line

    def _row(self, line: str) -> tuple[Any, ...]:
        fields = self._fields(line)
        if len(fields) != len(self.names):
            raise NotOfType(f"expected {len(self.names)} fields, got {len(fields)}")
        return tuple(map(self._value, self.names, self.types, fields))

    def _value(self, name: str, kind: ValueType, text: str | None) -> Any:
        if text is None or text == self.null:
            return None
        try:
            return kind.value(text)
        except NotOfType as misfit:
            raise NotOfType(f"the column {shown(name)}: {misfit}") from None

    def _fields(self, line: str) -> list[str | None]:
        """The fields of a line; None for an empty one without quotes."""
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

    def _batch(self, rows: list[tuple[Any, ...]]) -> pa.RecordBatch:
        columns = list(zip(*rows)) if rows else [()] * len(self.names)
        arrays = [pa.array(values, kind.arrow) for values, kind in zip(columns, self.types)]
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema())

    def _schema(self) -> pa.Schema:
        return pa.schema([(name, kind.arrow) for name, kind in zip(self.names, self.types)])


def _without_blank_lines(text: bytes) -> tuple[bytes, int]:
    """``text`` without blank lines, and how many there still are."""
    text = _BLANK_LINES.sub(b"", b"\n" + text)[1:]
    return text, text.count(b"\n") + (text != b"")


def _without_header(block: LineBlock) -> LineBlock | None:
    """``block`` behind its first line that is not blank, None if there is none."""
    for line in block.lines():
        if line.raw.strip(_BLANKS):
            end = line.offset - block.offset + len(line.raw)
            end += 2 if block.data.startswith(b"\r\n", end) else 1
            number = None if line.number is None else line.number + 1
            return LineBlock(block.path, block.data[end:], block.offset + end, number)
    return None


def _has_non_finite(values: pa.Array, kind: ValueType) -> bool:
    # Arrow reads nan and inf in letters of any case.
    return isinstance(kind, FloatType) and not pc.all(pc.is_finite(values), min_count=0).as_py()
