"""Finds where records of CSV begin: a quoted text may contain line breaks, so a line is not always
a record.

A quote opens a text only at the beginning of a field. If a text is never closed, its first line
counts as a record, which does not fit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from flinkish.runtime.formats.base import FileSplit
from flinkish.runtime.formats.files import chunks, decompressed_chunks, opened
from flinkish.runtime.formats.lines import NEWLINE, Line, LineBlock, blocks_of_lines

LONGEST_RECORD = 1 << 26
"""A quoted text that is not closed within this many bytes counts as never closed."""

_RETURN = np.uint8(ord("\r"))


class LineEnds(NamedTuple):
    """The ends of lines in a text, each as the position after it."""

    ofRecords: NDArray[np.intp]
    """The ends of lines that end a record."""
    within: int
    """The number of lines that end within a quoted text."""
    unclosed: int | None
    """The position of the record whose quoted text is not closed; None if there is none."""


@dataclass(frozen=True)
class CsvQuotes:
    """How texts are quoted: from a ``quote`` at the beginning of a field to a ``quote`` that is not
    doubled and has no ``escape`` before it."""

    separator: bytes
    quote: bytes
    escape: bytes

    def regular(self, data: bytes) -> NDArray[np.intp] | None:
        """The positions of all quotes in ``data``, if they certainly open and close texts by turns;
        None if that is not certain."""
        if self.escape != self.quote and self.escape in data:
            return None
        text = np.frombuffer(data, np.uint8)
        quotes = np.flatnonzero(text == self.quote[0])
        if len(quotes) % 2:
            return None
        opening, closing = quotes[::2], quotes[1::2]
        padded = np.concatenate([[NEWLINE], text, [NEWLINE]])
        before, after = padded[opening], padded[closing + 2]
        doubled = np.zeros(len(opening) + 1, dtype=bool)
        if self.escape == self.quote:
            doubled[1:-1] = opening[1:] == closing[:-1] + 1
        opens = self._is_border(before) | doubled[:-1]
        closes = self._is_border(after) | doubled[1:]
        return quotes if bool(opens.all() and closes.all()) else None

    def lineEnds(self, data: bytes) -> LineEnds:
        """The ends of lines in ``data``, which begins at the beginning of a record."""
        text = np.frombuffer(data, np.uint8)
        ends = np.flatnonzero(text == NEWLINE) + 1
        if b"\r" in data:
            returns = np.flatnonzero(text == _RETURN) + 1
            single = returns[np.append(text, np.uint8(0))[returns] != NEWLINE]
            ends = np.sort(np.concatenate([ends, single]))
        if self.quote not in data:
            return LineEnds(ends, 0, None)
        quotes, unclosed = self.regular(data), None
        if quotes is None:
            bounds: list[int] = []
            for found in self._quoted.finditer(data):
                bounds += found.span()
                if not found.group(1):
                    unclosed = found.start()
            quotes = np.array(bounds, np.intp)
        inside = np.searchsorted(quotes, ends - 1, side="right") % 2 == 1
        if unclosed is not None:
            begun = ends[~inside & (ends <= unclosed)]
            inside |= ends > unclosed
            unclosed = int(begun[-1]) if len(begun) else 0
        return LineEnds(ends[~inside], int(inside.sum()), unclosed)

    @cached_property
    def _quoted(self) -> re.Pattern[bytes]:
        """Matches quoted texts. The group is empty if the text is not closed."""
        border, quote, escape = map(re.escape, (self.separator + b"\r\n", self.quote, self.escape))
        if quote == escape:
            body = rb"[^%b]*(?:%b%b[^%b]*)*" % (quote, quote, quote, quote)
        else:
            plain = rb"[^%b%b]*" % (quote, escape)
            body = rb"%b(?:%b.%b)*" % (plain, escape, plain)
        return re.compile(rb"(?<![^%b])%b%b(%b|%b?\Z)" % (border, quote, body, quote, escape), re.S)

    def _is_border(self, found: NDArray[np.uint8]) -> NDArray[np.bool_]:
        borders = np.array([self.separator[0], NEWLINE, _RETURN], np.uint8)
        return np.isin(found, borders)


@dataclass(frozen=True)
class RecordBlock(LineBlock):
    """Whole records. Each counts as one line, even if it contains line breaks."""

    quotes: CsvQuotes = field(kw_only=True)

    @cached_property
    def ends(self) -> LineEnds:
        """The ends of the lines in the block."""
        return self.quotes.lineEnds(self.data)

    @property
    def simple(self) -> bool:
        """Whether every line is a record."""
        return self.ends.within == 0

    @cached_property
    def count(self) -> int:
        return len(self._bounds) - 1

    def text(self) -> bytes:
        return super().text() if self.simple else self.data

    def halves(self) -> tuple[LineBlock, LineBlock] | None:
        place = int(np.searchsorted(self._bounds, len(self.data) // 2, side="right"))
        first, rest = self.cut(int(self._bounds[min(place, self.count)]))
        return None if rest is None else (first, rest)

    def lines(self) -> Iterator[Line]:
        if self.simple:
            yield from super().lines()
            return
        number = self.line
        for start, end in zip(self._bounds[:-1].tolist(), self._bounds[1:].tolist()):
            raw = self.data[start:end]
            broken = b"\r\n" if raw.endswith(b"\r\n") else raw[-1:] if raw[-1:] in b"\r\n" else b""
            yield Line(raw.removesuffix(broken), self.offset + start, number)
            number = None if number is None else number + _line_breaks(raw)

    def between(self, after: int, last: int) -> RecordBlock:
        """The records that begin after the position ``after`` of the file, up to and with the
        position ``last``."""
        starts = self._bounds[:-1] + self.offset
        start, end = self._bounds[np.searchsorted(starts, [after, last], side="right")].tolist()
        if (start, end) == (0, len(self.data)):
            return self
        return self._part(start, end)

    def cut(self, place: int | None) -> tuple[RecordBlock, RecordBlock | None]:
        """The block up to ``place``, where a record begins, and the rest, None if empty."""
        if place is None or place >= len(self.data):
            return self, None
        return self._part(0, place), self._part(place, len(self.data))

    def _part(self, start: int, end: int) -> RecordBlock:
        line = None if self.line is None else self.line + _line_breaks(self.data[:start])
        offset = self.offset + start
        return RecordBlock(self.path, self.data[start:end], offset, line, quotes=self.quotes)

    @cached_property
    def _bounds(self) -> NDArray[np.intp]:
        """The positions at which the records begin, and at which the last one ends."""
        ends = self.ends.ofRecords
        size = len(self.data)
        rest = [] if size == 0 or (len(ends) and ends[-1] == size) else [size]
        return np.concatenate([[0], ends, rest]).astype(np.intp)


def record_blocks(split: FileSplit, quotes: CsvQuotes) -> Iterator[RecordBlock]:
    """The records of a range, in blocks of some megabytes: those that begin after its start, up to
    and with the one that begins at its end. For a range that is not at the beginning, all of the
    file before it is read too: there is no other way to know where records begin."""
    first = split.start if split.start else -1
    last = split.start + split.length
    last = split.size if last >= split.size else last
    decompressed = decompressed_chunks(split.path)
    if decompressed is not None:
        if split.start == 0:
            yield from _whole_records(blocks_of_lines(split.path, decompressed, 0, 1), quotes)
        return
    with opened(split.path) as file:
        lines = blocks_of_lines(split.path, chunks(file, split.size), 0, 1)
        for block in _whole_records(lines, quotes):
            if block.offset > last:
                return
            if block.offset + len(block.data) - 1 > first:
                part = block.between(first, last)
                if part.data:
                    yield part


def _whole_records(blocks: Iterator[LineBlock], quotes: CsvQuotes) -> Iterator[RecordBlock]:
    """The same lines in blocks that end with a record."""
    pending: RecordBlock | None = None
    for block in chain(blocks, (None,)):
        if block is not None:
            first, before = (block, b"") if pending is None else (pending, pending.data)
            data = before + block.data
            pending = RecordBlock(first.path, data, first.offset, first.line, quotes=quotes)
        while pending is not None:
            cut = pending.ends.unclosed
            if cut == 0:
                if block is not None and len(pending.data) <= LONGEST_RECORD:
                    break
                cut = _line_length(pending.data)
            whole, pending = pending.cut(cut)
            yield whole


def _line_length(data: bytes) -> int:
    """The length of the first line, with its end."""
    found = _LINE_BREAK.search(data)
    return found.end() if found else len(data)


def _line_breaks(data: bytes) -> int:
    return sum(1 for _ in _LINE_BREAK.finditer(data))


_LINE_BREAK = re.compile(rb"\r\n|\n|\r")
