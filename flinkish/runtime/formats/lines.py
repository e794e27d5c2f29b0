"""Reads files in blocks of whole lines, with ranges cut as Hadoop's line reader cuts them.

A line ends with ``\\n``, ``\\r\\n`` or ``\\r``. A range has the lines that begin after its start,
up to and with the one that begins at its end; the first range has the first line too. So the ranges
of a file together have every line once, wherever the file is cut.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from flinkish.api.connectors.malformed_record import MalformedRecord
from flinkish.runtime.formats.base import FileFormat, FileSplit, ReadResult
from flinkish.runtime.formats.files import chunks, decompressed_chunks, opened
from flinkish.runtime.records.records import untimed

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_NEARBY = 1 << 16
NEWLINE = np.uint8(ord("\n"))
"""The byte that ends a line."""


class Line(NamedTuple):
    """A line without its end. ``number`` is None in a range that does not begin with the file."""

    raw: bytes
    offset: int
    number: int | None


@dataclass(frozen=True)
class LineBlock:
    """Whole lines of the file from ``offset`` on. ``line``: the number of the first."""

    path: str
    data: bytes
    offset: int
    line: int | None

    @cached_property
    def count(self) -> int:
        # bytes.count searches from one to the next, which takes five times as long for short lines
        ends = int(np.count_nonzero(np.frombuffer(self.data, np.uint8) == NEWLINE))
        if b"\r" in self.data:
            ends += self.data.count(b"\r") - self.data.count(b"\r\n")
        return ends + (not self.data.endswith((b"\n", b"\r")) and self.data != b"")

    def text(self) -> bytes:
        """The lines, each with ``\\n`` at its end; the last may have none."""
        if b"\r" not in self.data:
            return self.data
        return self.data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def valid(self) -> bool:
        return is_utf8(self.data)

    def halves(self) -> tuple[LineBlock, LineBlock] | None:
        """The block in two halves; None if it cannot be cut between two lines after its middle."""
        cut = _line_start_in(self.data, len(self.data) // 2, len(self.data))
        if cut is None or cut >= len(self.data):
            return None
        first = LineBlock(self.path, self.data[:cut], self.offset, self.line)
        number = None if self.line is None else self.line + first.count
        return first, LineBlock(self.path, self.data[cut:], self.offset + cut, number)

    def lines(self) -> Iterator[Line]:
        offset, number = self.offset, self.line
        for raw in self.data.splitlines(keepends=True):
            yield Line(raw.rstrip(b"\r\n"), offset, number)
            offset += len(raw)
            number = None if number is None else number + 1

    def malformed(self, line: Line, reason: str) -> MalformedRecord:
        """``line`` of this block as a record that does not fit."""
        return MalformedRecord(self.path, line.number, line.offset, line.raw, reason)


def line_blocks(split: FileSplit) -> Iterator[LineBlock]:
    """The lines of a range, in blocks of some megabytes."""
    decompressed = decompressed_chunks(split.path)
    if decompressed is not None:
        if split.start == 0:
            yield from blocks_of_lines(split.path, decompressed, 0, 1)
        return
    with opened(split.path) as file:
        start = 0 if split.start == 0 else _line_start_after(file, split.start, split.size)
        last = split.start + split.length
        end = split.size if last >= split.size else _line_start_after(file, last, split.size)
        file.seek(start)
        line = 1 if start == 0 else None
        yield from blocks_of_lines(split.path, chunks(file, end - start), start, line)


def blocks_of_lines(
    path: str, parts: Iterator[bytes], offset: int, line: int | None
) -> Iterator[LineBlock]:
    """Blocks of the lines in ``parts`` of a file from ``offset``; the first is ``line``."""
    pending: list[bytes] = []
    for part in parts:
        # A line of many parts is joined only once
        within_line = b"\n" not in part and b"\r" not in part
        if pending and within_line and not pending[-1].endswith(b"\r"):
            pending.append(part)
            continue
        data = b"".join([*pending, part])
        if offset == 0 and data.startswith(_BYTE_ORDER_MARK):
            data, offset = data[3:], 3
        cut = _end_of_lines(data)
        if cut:
            block = LineBlock(path, data[:cut], offset, line)
            yield block
            offset += cut
            line = None if line is None else line + block.count
        pending = [data[cut:]]
    rest = b"".join(pending)
    if rest:
        yield LineBlock(path, rest, offset, line)


def is_utf8(data: bytes) -> bool:
    if data.isascii():
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _end_of_lines(data: bytes) -> int:
    """The end of the last whole line of ``data``. After a final ``\r`` a ``\n`` may follow."""
    newline = data.rfind(b"\n")
    return max(newline, data.rfind(b"\r", newline + 1, max(len(data) - 1, 0))) + 1


def _line_start_after(file: object, position: int, size: int) -> int:
    """The first position after ``position`` at which a line begins."""
    file.seek(position)  # type: ignore[attr-defined]
    before = position
    data = b""
    while True:
        part = file.read(_NEARBY)  # type: ignore[attr-defined]
        data += part
        found = _line_start_in(data, 0, len(data) if part == b"" else None)
        if found is not None:
            return before + found
        if part == b"":
            return size
        if not data.endswith(b"\r"):
            before, data = before + len(data), b""
        else:
            before, data = before + len(data) - 1, b"\r"


def _line_start_in(data: bytes, position: int, end: int | None) -> int | None:
    """The first position after ``position`` at which a line begins; None if ``data`` does not show
    it. ``end`` is where the file ends, None if that is not known."""
    newline = data.find(b"\n", position)
    carriage = data.find(b"\r", position, len(data) if newline < 0 else newline)
    if carriage < 0:
        return None if newline < 0 else newline + 1
    if carriage + 1 == newline:
        return newline + 1
    if carriage + 1 < len(data) or end == len(data):
        return carriage + 1
    return None


MOST_LINES = 50_000


@dataclass(frozen=True)
class TextFormat(FileFormat):
    """Lines of UTF-8 files. A line in another encoding is malformed."""

    def read(self, split: FileSplit) -> Iterator[ReadResult]:
        for block in line_blocks(split):
            if block.valid():
                lines = block.text().decode().split("\n")
                if not lines[-1]:
                    lines.pop()
            else:
                lines = [line.raw.decode() for line in block.lines() if is_utf8(line.raw)]
            for start in range(0, len(lines), MOST_LINES):
                yield untimed(lines[start : start + MOST_LINES])
            if not block.valid():
                yield from _malformed(block)


def _malformed(block: LineBlock) -> Iterator[ReadResult]:
    for line in block.lines():
        if not is_utf8(line.raw):
            yield block.malformed(line, NOT_UTF8)


NOT_UTF8 = "it is not text in UTF-8"
