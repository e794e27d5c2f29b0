"""``LineWriter``: converts elements of a ``FileSink`` to lines, in both engines."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from flinkish.api.connectors.row_format import Encoder, SimpleStringEncoder
from flinkish.api.errors import IllegalArgumentError, NotSupportedError, UnfitElementError, shown
from flinkish.runtime.formats.csv_lines import CsvLines
from flinkish.runtime.formats.json_lines import JsonLine, json_lines
from flinkish.runtime.records.rows import RowColumns
from flinkish.runtime.records.user_code import mapped, user_code_of, user_method_of

_NO_LINE = re.compile("\ufeff|.*?[\r\n]", re.DOTALL)
"""Matches a text that is not read as one line."""


@dataclass(frozen=True)
class LineWriter:
    """Writes elements as lines of ``format``: text, CSV or JSON. If the columns of the elements are
    known, ``columns`` are their names and elements come as columns. Times in other elements are
    written in ``timeZone``."""

    sink: str
    """The name of the sink, for errors."""
    format: str
    columns: tuple[str, ...] | None = None
    timeZone: str = "UTC"
    separator: str = ","
    header: bool = False
    encoder: Encoder[Any] | None = None
    """Encodes the elements if the format is text."""

    @property
    def head(self) -> str | None:
        """The header, the first line of each file; None if there is none."""
        return self._csv.header(self.columns) if self.header and self.columns else None

    def content(self, values: Sequence[Any]) -> bytes:
        """Elements as a part of a file. Raises UnfitElementError for one without a form."""
        if self.encoder is not None and type(self.encoder) is not SimpleStringEncoder:
            return self._encoded(self.encoder, values)
        lines = self.lines(values)
        whole = pa.ListArray.from_arrays(pa.array([0, len(lines)], pa.int32()), lines)
        text: bytes = pc.binary_join(whole, "\n")[0].as_buffer().to_pybytes()
        return text + b"\n"

    def lines(self, values: Sequence[Any]) -> pa.Array:
        """A line, perhaps with quoted line breaks, for each element. Raises UnfitElementError."""
        if self.columns is not None:
            assert isinstance(values, RowColumns)
            with user_method_of(self.sink, "writer"):
                try:
                    batch = values.batch
                    return (
                        json_lines(batch) if self.format == "json" else self._csv.ofColumns(batch)
                    )
                except UnfitElementError as error:
                    raise error.at(self.sink) from None
        if self.encoder is not None and type(self.encoder) is not SimpleStringEncoder:
            return pa.array([self._lines_of_encoder(values)], pa.string())
        lines = mapped(self.sink, self._line, values)
        try:
            return pa.array(lines, pa.string())
        except UnicodeEncodeError as error:
            culprit = next(v for v, line in zip(values, lines) if line == error.object)
            raise UnfitElementError(
                f"the element {shown(culprit)} holds text that UTF-8 cannot write, half of a surrogate"
                ' pair. Take it out with text.encode("utf-8", "replace").decode() before the sink.',
                self.sink,
            ) from None

    @cached_property
    def _csv(self) -> CsvLines:
        return CsvLines(self.separator)

    @cached_property
    def _line(self) -> Any:
        if self.format == "json":
            return JsonLine(self.timeZone)
        if self.format == "csv":
            return self._csv.ofElement
        return _line_of_text if self.encoder is None else str

    def _encoded(self, encoder: Encoder[Any], values: Sequence[Any]) -> bytes:
        stream = io.BytesIO()
        element: Any = None
        with user_code_of(self.sink, lambda: element):
            for element in values:
                returned = encoder.encode(element, stream)
                if returned is not None:
                    raise IllegalArgumentError(
                        f"{self.sink}: encode of {type(encoder).__name__} returned {shown(returned)}, which is"
                        " not written. Call stream.write(data) with bytes."
                    )
        return stream.getvalue()

    def _lines_of_encoder(self, values: Sequence[Any]) -> str:
        """The text of an encoder without the last line break, which Spark adds."""
        assert self.encoder is not None
        data = self._encoded(self.encoder, values)
        try:
            if data.endswith(b"\n"):
                return data[:-1].decode()
        except UnicodeDecodeError:
            pass
        raise NotSupportedError(
            f"{self.sink}: what {type(self.encoder).__name__} writes does not end with a line break, or is not"
            " UTF-8, and Spark writes this directory as lines of text. Write to a directory on this machine's"
            " file system, without a BucketAssigner, or let encode write whole lines."
        )


def _line_of_text(value: Any) -> str:
    text = str(value)
    if _NO_LINE.match(text):
        raise UnfitElementError(
            f"the element {shown(value)} has a line break in it, or begins with a byte order mark, and would"
            " not be read as one line. Write it with forCsv or forJson, or with"
            " forRowFormat(path, SimpleStringEncoder()) if what reads the files need not know."
        )
    return text
