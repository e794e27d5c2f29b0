"""The text format, in which each line is a record."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from flinkish.runtime.formats.base import FileFormat, FileSplit, ReadResult
from flinkish.runtime.formats.lines import LineBlock, is_utf8, line_blocks
from flinkish.runtime.records.records import untimed

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
