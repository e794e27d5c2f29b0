"""``TableResult``: the rows of a query, as an iterator or printed as a table."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator
from typing import Any

from flinkish.api.execution.client import CloseableIterator, JobClient
from flinkish.api.types.row import Row
from flinkish.table.casts import text_of
from flinkish.table.data_types import DataType
from flinkish.table.schema import ResolvedSchema

_OP = "op"
_WIDEST = 30
_INSERT = "+I"


class TableResult:
    """The result of a query (Flink: ``TableResult``). The job runs when the rows are first
    requested."""

    def __init__(self, schema: ResolvedSchema, run: Callable[[], CloseableIterator[Row]]) -> None:
        self._schema = schema
        self._run = run
        self._rows: CloseableIterator[Row] | None = None

    def collect(self) -> CloseableIterator[Row]:
        """An iterator over the rows, as they come."""
        if self._rows is None:
            self._rows = self._run()
        return self._rows

    def print(self) -> None:
        """Print the rows like Flink's clients: each with its kind of change, which is always
        ``+I``."""
        for line in self.lines():
            print(line)

    def lines(self) -> Iterator[str]:
        """The lines that ``print`` prints."""
        names, types = self._schema.names, self._schema.types
        widths = [max(_width(name), _column_width(kind)) for name, kind in zip(names, types)]
        widths = [min(width, max(_WIDEST, 0)) for width in widths]
        border = "+" + "+".join("-" * (width + 2) for width in [len(_OP), *widths]) + "+"
        yield border
        yield _line([_OP, *names], [len(_OP), *widths])
        yield border
        count = 0
        with self.collect() as rows:
            for row in rows:
                count += 1
                cells = (_text(value, kind) for value, kind in zip(row, types))
                yield _line([_INSERT, *cells], [len(_OP), *widths])
        if count:
            yield border
        yield f"{count or 'Empty'} {'set' if not count else 'row' if count == 1 else 'rows'}{' in set' if count else ''}"

    def wait(self) -> None:
        """Run the job to its end."""
        with self.collect() as rows:
            for _ in rows:
                pass

    await_ = wait

    def getResolvedSchema(self) -> ResolvedSchema:
        """The columns and their types."""
        return self._schema

    def getJobClient(self) -> JobClient | None:
        """None: the job of a query ends when its rows are collected."""
        return None


def _text(value: Any, kind: DataType) -> str:
    write = text_of(kind)
    if value is None or write is None:
        return "<NULL>" if value is None else str(value)
    return str(write(value))


def _width(text: str) -> int:
    """The width of a string, in columns of a terminal."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def _line(cells: list[str], widths: list[int]) -> str:
    return "| " + " | ".join(_padded(_cut(c, w), w) for c, w in zip(cells, widths)) + " |"


def _cut(text: str, width: int) -> str:
    text = text.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    if _width(text) <= width:
        return text
    kept = ""
    for letter in text:
        if _width(kept + letter) > width - 3:
            break
        kept += letter
    return f"{kept}..."


def _padded(text: str, width: int) -> str:
    return " " * (width - _width(text)) + text


_WIDTHS = {
    "TINYINT": 4,
    "SMALLINT": 6,
    "INT": 11,
    "BIGINT": 20,
    "BOOLEAN": 7,
    "DATE": 10,
    "CHAR": 0,
}


def _column_width(kind: DataType) -> int:
    known = _WIDTHS.get(kind.name)
    if known is not None and kind.name != "CHAR":
        return known
    if kind.isDecimal:
        return kind.precision + 2
    if kind.isTimestamp:
        return 19 + (kind.precision + 1 if kind.precision else 0)
    if kind.name == "TIME":
        return 8 + (kind.precision + 1 if kind.precision else 0)
    if kind.isText:
        return min(kind.precision, _WIDEST)
    return _WIDEST
