"""Files that the commands ``atlas`` and ``azure`` read and write, with a document, event or row in each line."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from flinkish.api.connectors.file_source import FileSource
from flinkish.api.connectors.row_format import TextLineInputFormat
from flinkish.api.environment.environment import StreamExecutionEnvironment
from flinkish.api.errors import IllegalArgumentError
from flinkish.api.eventtime.watermarks import WatermarkStrategy
from flinkish.api.streams.data_stream import DataStream


def lines_of(environment: StreamExecutionEnvironment, name: str, path: str) -> DataStream[str]:
    """The lines of a file, or of the files of a directory."""
    files = FileSource.forRecordStreamFormat(TextLineInputFormat(), path).build()
    return environment.fromSource(files, WatermarkStrategy.noWatermarks(), name)


@dataclass
class Lines:
    """Writes elements, one line each, encoded by ``encode``."""

    file: TextIO
    encode: Callable[[Any], str]

    @staticmethod
    def to(path: str | None, encode: Callable[[Any], str]) -> Lines:
        """Lines that are written to a new file, or to standard output."""
        return Lines(sys.stdout if path is None else open(path, "w", encoding="utf-8"), encode)

    def __call__(self, elements: list[Any], batch: int) -> None:
        for element in elements:
            self.file.write(f"{self.encode(element)}\n")
        self.file.flush()


def read_text(path: str, encoding: str = "utf-8") -> str:
    """The text of a file. Raises IllegalArgumentError if it cannot be read."""
    try:
        return Path(path).read_text(encoding=encoding)
    except (OSError, UnicodeDecodeError) as error:
        raise IllegalArgumentError(f"the file {path} cannot be read: {error}.") from None


def read_rows(
    path: str, encoding: str = "utf-8", decode: Callable[[Any], Any] = lambda row: row
) -> list[Any]:
    """The rows of a JSON array, or of a file with one JSON value per line, each decoded by ``decode``. Raises
    IllegalArgumentError for a file that has none."""
    text = read_text(path, encoding)
    try:
        if text.lstrip().startswith("["):
            return [decode(row) for row in json.loads(text)]
        return [decode(json.loads(row)) for row in text.splitlines() if row.strip()]
    except ValueError as error:
        raise IllegalArgumentError(f"the file {path} has no rows in JSON: {error}.") from None
