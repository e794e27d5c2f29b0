"""Writes elements as lines of CSV, by RFC 4180.

A text that is empty, begins or ends with a blank, or contains a separator, a quote or a line break
is put in quotes, and quotes in it are doubled. An empty field without quotes is None.
"""

from __future__ import annotations

import dataclasses
import datetime
import re
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flinkish.api.errors import InvalidProgramError, UnfitElementError, shown
from flinkish.runtime.formats.basic_texts import (
    basic_texts,
    bytes_text,
    decimal_text,
    double_text,
    duration_text,
    each,
    float_text,
    timestamp_text,
)


@dataclass(frozen=True)
class CsvLines:
    """Converts elements or columns to lines, with ``separator`` between the fields."""

    separator: str = ","

    def header(self, names: Sequence[str]) -> str:
        """The line with the names of the columns."""
        return self.separator.join(map(self._text, names))

    def ofElement(self, value: Any) -> str:
        """The line of an element without known columns. Raises UnfitElementError if it has none."""
        cells = [self._cell(name, field) for name, field in _fields(value)]
        if cells == [""]:
            raise self._alone(value)
        return self.separator.join(cells)

    def ofColumns(self, batch: pa.RecordBatch) -> pa.Array:
        """The lines of the rows of ``batch``. Raises UnfitElementError for an empty line."""
        cells = [self._cells(column) for column in batch.columns]
        if len(cells) == 1 and cells[0].null_count:
            raise self._alone(None, batch.schema.names[0])
        return pc.binary_join_element_wise(
            *cells, self.separator, null_handling="replace", null_replacement=""
        )

    def _cells(self, column: pa.Array) -> pa.Array:
        """The texts of a column, in quotes where needed, null for null."""
        texts = basic_texts(column)
        return texts if self._are_plain(column, texts) else each(texts, self._text)

    def _are_plain(self, column: pa.Array, texts: pa.Array) -> bool:
        """Whether none of the ``texts`` of ``column`` has to be in quotes."""
        numbers = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean)
        if self.separator in _BETWEEN_NUMBERS and any(kind(column.type) for kind in numbers):
            return True
        if texts.type == pa.string() and self._have_plain_bytes(texts):
            return True
        return not pc.any(pc.match_substring_regex(texts, self._not_plain)).as_py()

    def _have_plain_bytes(self, texts: pa.Array) -> bool:
        """Whether the bytes of ``texts`` show that all are plain, which takes a fraction of the time
        of a regular expression."""
        _, offsets, content = texts.buffers()
        if offsets is None or content is None:
            return False
        begin, count = texts.offset, len(texts)
        bounds = np.frombuffer(offsets, np.int32)[begin : begin + count + 1]
        lengths = np.diff(bounds)
        if np.count_nonzero(lengths) != count - texts.null_count:
            return False  # an empty text is in quotes
        within = content.slice(int(bounds[0]), int(bounds[-1] - bounds[0])).to_pybytes()
        if any(quoted in within for quoted in (b'"', b"\r", b"\n", self.separator.encode())):
            return False
        filled = lengths > 0
        found = np.frombuffer(content, np.uint8)
        first, last = found[bounds[:-1][filled]], found[bounds[1:][filled] - 1]
        return not ((first <= _BLANK) | (first == _MARK_BYTE) | (last <= _BLANK)).any()

    def _cell(self, name: str, value: Any) -> str:
        if value is None:
            return ""
        if isinstance(value, Enum):
            return self._text(value.name)
        for kinds, write in _WRITERS:
            if isinstance(value, kinds):
                return self._text(write(value))
        raise UnfitElementError(
            f"the field {name} is {shown(value)} of type {type(value).__name__}, for which CSV has no"
            " form. Map it to a text, such as str(value) or json.dumps(value), or write JSON or Parquet."
        )

    def _text(self, value: str) -> str:
        if self._special.search(value):
            return '"' + value.replace('"', '""') + '"'
        return value

    @cached_property
    def _not_plain(self) -> str:
        """Matches the texts that must be in quotes, such as one with a byte order mark."""
        return rf'["\r\n{re.escape(self.separator)}]|\A[\x00-\x20\x{{feff}}]|[\x00-\x20]\z|\A\z'

    @cached_property
    def _special(self) -> re.Pattern[str]:
        separator = re.escape(self.separator)
        return re.compile(rf'["\r\n{separator}]|\A[\x00-\x20\ufeff]|[\x00-\x20]\Z|\A\Z')

    def _alone(self, value: Any, name: str = "value") -> UnfitElementError:
        return UnfitElementError(
            f"the element {shown(value)} has only the column {name!r}, which is None, and an empty"
            " line is not a row of CSV. Filter such elements, write a second column, or write JSON"
            " or Parquet."
        )


_BETWEEN_NUMBERS = ",;|\t"
"""Separators that the text of no number contains."""

_BLANK = 0x20

_MARK_BYTE = 0xEF
"""The first byte of a byte order mark."""


def check_csv(schema: pa.Schema, sink: str) -> None:
    """Raises InvalidProgramError if CSV has no form for a column of ``schema``."""
    for field in schema:
        if pa.types.is_nested(field.type):
            raise InvalidProgramError(
                f"{sink}: the column {field.name!r} is of type {field.type}, for which CSV has no form. Write"
                " JSON or Parquet, or map the field to a text, such as json.dumps(value)."
            )


def _fields(value: Any) -> Iterator[tuple[str, Any]]:
    """The fields of an element, each with its name or its position."""
    if hasattr(value, "_fields"):
        return zip(value._fields, value)
    if isinstance(value, (tuple, list)):
        return ((str(place), field) for place, field in enumerate(value))
    if isinstance(value, Mapping):
        return ((str(name), field) for name, field in value.items())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return ((each.name, getattr(value, each.name)) for each in dataclasses.fields(value))
    return iter([("0", value)])


_WRITERS: tuple[tuple[type[Any] | tuple[type[Any], ...], Callable[[Any], str]], ...] = (
    (str, str),
    ((bool, np.bool_), lambda value: "true" if value else "false"),
    ((int, np.integer), lambda value: str(int(value))),
    (np.float32, float_text),
    ((float, np.floating), lambda value: double_text(float(value))),
    (Decimal, decimal_text),
    (datetime.datetime, timestamp_text),
    ((datetime.date, datetime.time), lambda value: value.isoformat()),
    (datetime.timedelta, duration_text),
    (np.datetime64, lambda value: timestamp_text(value.astype("datetime64[us]").item())),
    ((bytes, bytearray, memoryview), bytes_text),
    (uuid.UUID, str),
)
