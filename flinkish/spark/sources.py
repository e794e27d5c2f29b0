"""Sources as streaming DataFrames, with what turns their rows into records.

Whatever is bounded and not in files yet (collections, numbers, static DataFrames) is written into
the checkpoint directory when the job starts: a restarted job reads what it read before, and Spark
ships it to the workers in parallel.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import singledispatchmethod
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from flinkish.api.connectors.file_source import FileSource
from flinkish.api.connectors.source import (
    CollectionSource,
    DataFrameSource,
    DataGeneratorSource,
    SequenceSource,
    SocketSource,
    Source,
)
from flinkish.api.errors import IllegalArgumentError, NotSupportedError, shown
from flinkish.runtime.element_copies import copied_values
from flinkish.runtime.elements import untimed
from flinkish.runtime.frames import NO_MARKS, Frame, encode_frame
from flinkish.runtime.row_columns import RowColumns
from flinkish.spark.arrow_decoding import (
    PART,
    ArrowDecoder,
    ArrowFrameDecoder,
    FrameDecoder,
    GeneratorDecoder,
    RangeDecoder,
    RowDecoder,
    SingleColumnDecoder,
)
from flinkish.spark.csv_lines import CsvLinesDecoder, csv_schema
from flinkish.spark.storage import CheckpointStorage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamReader

ELEMENTS_A_FRAME = 10_000

NUMBERS_A_BATCH = 1_000_000
MOST_BATCHES = 64
"""A sequence comes in batches of a million, or in so many batches if it is very long."""

PARTS_A_BATCH = 64

_STRICT = {"csv": {"mode": "FAILFAST", "escape": '"'}, "json": {"mode": "FAILFAST"}}
"""What does not fit the schema is an error, and CSV doubles a quote within quotes (RFC 4180)."""

_FRAMES = f"{PART} long, frame binary"
_RANGES = f"{PART} long, first long, last long"


@dataclass(frozen=True)
class SourceStream:
    """A streaming DataFrame and how to decode it. ``whole``: all of it comes in one batch.

    ``path``: where its files are, if it reads files.
    """

    dataframe: DataFrame
    decoder: ArrowDecoder
    whole: bool
    path: str | None = None


class SourceReader:
    """Opens the sources of one job."""

    def __init__(
        self, session: SparkSession, storage: CheckpointStorage, elementsPerBatch: int | None
    ) -> None:
        self._session = session
        self._storage = storage
        self._elementsPerBatch = elementsPerBatch
        # As many tasks read a batch as keyed operators run in.
        self._tasks = int(session.conf.get("spark.sql.shuffle.partitions") or 1)

    @singledispatchmethod
    def streamOf(self, source: Source[Any], uid: str) -> SourceStream:
        """The stream of ``source``, whose node has that uid."""
        raise NotSupportedError(
            f"{type(source).__name__} is not a source that flinkish can read on Spark. Read it with"
            " Spark and pass the DataFrame to env.fromDataFrame(...)."
        )

    @streamOf.register
    def _collection(self, source: CollectionSource, uid: str) -> SourceStream:  # type: ignore[type-arg]
        name = f"sources/{uid}"
        values = list(source.values)
        a_batch = max(min(self._elementsPerBatch or len(values), len(values)), 1)
        rows_a_batch = math.ceil(a_batch / ELEMENTS_A_FRAME)
        if not self._written(name):
            for start in range(0, max(len(values), 1), a_batch):
                frames = _frames(values[start : start + a_batch], start)
                self._write_batch(name, frames, _FRAMES, start == 0, rows_a_batch)
            self._finish(name)
        files_a_batch = self._files_a_batch(rows_a_batch) if a_batch < len(values) else None
        return self._materialised(name, _FRAMES, FrameDecoder(), files_a_batch)

    @streamOf.register
    def _sequence(self, source: SequenceSource, uid: str) -> SourceStream:
        return self._numbers(source.start, source.end, uid, RangeDecoder(None))

    @streamOf.register
    def _generator(self, source: DataGeneratorSource, uid: str) -> SourceStream:  # type: ignore[type-arg]
        if source.count is not None:
            return self._numbers(0, source.count - 1, uid, RangeDecoder(source.generator))
        rows = self._session.readStream.format("rate").option("rowsPerSecond", source.rate)
        stream = rows.load()
        return SourceStream(stream.select("value"), GeneratorDecoder(source.generator), False)

    @streamOf.register
    def _dataframe(self, source: DataFrameSource, uid: str) -> SourceStream:
        frame = source.dataframe
        rows = RowDecoder(tuple(frame.columns), source.timestamp)
        if frame.isStreaming:
            return SourceStream(frame, rows, False)
        name = f"sources/{uid}"
        if not self._written(name):
            self._write(name, frame.mapInArrow(_arrow_frames, _FRAMES), True)
            self._finish(name)
        return self._materialised(name, _FRAMES, ArrowFrameDecoder(rows), None)

    @streamOf.register
    def _files(self, source: FileSource, uid: str) -> SourceStream:  # type: ignore[type-arg]
        with _refused(source):
            return self._files_of(source)

    def _files_of(self, source: FileSource[Any]) -> SourceStream:
        if source.schema is None:
            lines = self._lines(source)
            return SourceStream(lines, SingleColumnDecoder("value"), False, source.path)
        reader = self._reader(source).format(source.format).schema(source.schema)
        options = {**_STRICT.get(source.format, {}), **source.options}
        stream = reader.options(**options).load(_directory_or_pattern(source.path))
        if source.format == "csv" and not source.options:
            schema = csv_schema(stream.schema)
            if schema is not None:
                lines = self._lines(source)
                return SourceStream(lines, CsvLinesDecoder(schema), False, source.path)
        return SourceStream(stream, RowDecoder(tuple(stream.columns)), False, source.path)

    def _lines(self, source: FileSource[Any]) -> DataFrame:
        reader = self._reader(source).options(**source.options if source.format == "text" else {})
        return reader.text(_directory_or_pattern(source.path)).select("value")

    def _reader(self, source: FileSource[Any]) -> DataStreamReader:
        reader = self._session.readStream
        if source.filesPerBatch is not None:
            reader = reader.option("maxFilesPerTrigger", source.filesPerBatch)
        return reader

    @streamOf.register
    def _socket(self, source: SocketSource, uid: str) -> SourceStream:
        reader = self._session.readStream.format("socket")
        stream = reader.option("host", source.host).option("port", source.port).load()
        return SourceStream(stream, SingleColumnDecoder("value"), False)

    def _numbers(self, first: int, last: int, uid: str, decoder: ArrowDecoder) -> SourceStream:
        name = f"sources/{uid}"
        count = last - first + 1
        wanted = self._elementsPerBatch or max(NUMBERS_A_BATCH, math.ceil(count / MOST_BATCHES))
        a_batch = max(min(wanted, count), 1)
        a_part = max(math.ceil(a_batch / PARTS_A_BATCH), ELEMENTS_A_FRAME)
        rows_a_batch = math.ceil(a_batch / a_part)
        if not self._written(name):
            for start in range(first, last + 1, a_batch):
                end = min(start + a_batch, last + 1)
                ranges = [
                    (part, part, min(part + a_part, end) - 1) for part in range(start, end, a_part)
                ]
                self._write_batch(name, ranges, _RANGES, start == first, rows_a_batch)
            self._finish(name)
        files_a_batch = self._files_a_batch(rows_a_batch) if a_batch < count else None
        return self._materialised(name, _RANGES, decoder, files_a_batch)

    def _materialised(
        self, name: str, schema: str, decoder: ArrowDecoder, filesABatch: int | None
    ) -> SourceStream:
        reader = self._session.readStream.schema(schema)
        if filesABatch is not None:
            reader = reader.option("maxFilesPerTrigger", filesABatch)
        stream = reader.parquet(self._storage.child(name))
        return SourceStream(stream, decoder, filesABatch is None, self._storage.child(name))

    def _written(self, name: str) -> bool:
        return self._storage.readText(f"{name}-written") is not None

    def _finish(self, name: str) -> None:
        self._storage.writeText(f"{name}-written", "written")

    def _write_batch(
        self, name: str, rows: list[Any], schema: str, first: bool, rowsABatch: int
    ) -> None:
        # Every batch but the last has as many files as a throttled source reads in one.
        rows_a_file = math.ceil(rowsABatch / self._tasks)
        frame = self._session.createDataFrame(rows, schema).coalesce(1)
        self._write(name, frame, first, rows_a_file)

    def _files_a_batch(self, rowsABatch: int) -> int:
        return math.ceil(rowsABatch / math.ceil(rowsABatch / self._tasks))

    def _write(self, name: str, frame: DataFrame, first: bool, rowsAFile: int = 0) -> None:
        # The first write replaces what a job that was killed while it wrote has left.
        self._storage.writeTable(name, frame, "overwrite" if first else "append", rowsAFile)


@contextmanager
def _refused(source: FileSource[Any]) -> Iterator[None]:
    """What Spark says of a path that is not there, or of a schema it cannot read, in one sentence."""
    from pyspark.errors import AnalysisException, ParseException

    name = f"FileSource of {source.path}"
    try:
        yield
    except ParseException as error:
        said = str(error).strip().splitlines()[0]
        raise IllegalArgumentError(
            f"{name}: the schema {shown(source.schema)} cannot be read: {said} Give columns and their"
            ' types, such as "user STRING, at BIGINT", or a StructType.'
        ) from None
    except AnalysisException as error:
        if error.getCondition() != "PATH_NOT_FOUND":
            raise
        raise IllegalArgumentError(
            f"{name}: there is no such file or directory. Mend the path; a directory that is to be"
            " watched must be there before the job starts."
        ) from None


def _directory_or_pattern(path: str) -> str:
    """``path`` as Spark's streaming reader takes it: a single file only as a pattern."""
    if os.path.isfile(path.removeprefix("file:")):
        return f"{path[:-1]}[{path[-1]}]"
    return path


def _frames(values: list[Any], start: int) -> list[tuple[int, bytes]]:
    return [
        (start + i, _encoded(values[i : i + ELEMENTS_A_FRAME]))
        for i in range(0, len(values), ELEMENTS_A_FRAME)
    ]


def _encoded(values: list[Any]) -> bytes:
    # In one pickle, an object that is in two elements would stay one
    values = list(copied_values(values))
    return encode_frame(Frame(untimed(values), NO_MARKS), "Collection Source", byValue=True)


def _arrow_frames(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    from pyspark import TaskContext

    context = TaskContext.get()
    part = (context.partitionId() if context else 0) << 32
    for batch in batches:
        data = RowColumns(batch).toBytes()
        yield pa.RecordBatch.from_pydict({PART: pa.array([part], pa.int64()), "frame": [data]})
        part += 1
