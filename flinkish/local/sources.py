"""Reads sources in this process, a batch at a time, with the planners and formats that read them on
Spark."""

from __future__ import annotations

import os
import pickle
import queue
import socket
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import unquote

from flinkish.api.connectors.file_source import FileSource
from flinkish.api.connectors.kafka.source import KafkaSource
from flinkish.api.connectors.source import (
    CollectionSource,
    DataFrameSource,
    DataGeneratorSource,
    NumberSequenceSource,
    SocketSource,
    Source,
)
from flinkish.api.connectors.table_source import TableSource
from flinkish.api.environment.configuration import ExecutionConfig
from flinkish.api.errors import IllegalArgumentError, JobExecutionError, NotSupportedError
from flinkish.api.execution.read_progress import UNKNOWN_BACKLOG, ReadProgress, SourceBacklog
from flinkish.api.stored_values import as_text, of_text
from flinkish.api.time.elements import MAX_TIMESTAMP
from flinkish.api.types.table_schema import table_schema
from flinkish.deployment.vertex_plans import shipped_source
from flinkish.runtime.formats.base import FileFormat, FileSplit, ReadResult
from flinkish.runtime.formats.file_formats import check_dead_letters, file_format
from flinkish.runtime.kafka.planner import ConsumerGroup, KafkaPlanner
from flinkish.runtime.kafka.reader import KafkaReader
from flinkish.runtime.records.frames import NO_MARKS, Frame, decode_frame, encode_frame
from flinkish.runtime.records.records import untimed
from flinkish.runtime.sources.planners import (
    FilePlanner,
    NumberPlanner,
    RatedNumberPlanner,
    SourcePlanner,
    Step,
    is_pattern,
)
from flinkish.runtime.sources.tables import count_of, number_records, records_of
from flinkish.runtime.sources.user_sources import (
    ELEMENTS_A_BATCH,
    ELEMENTS_A_FRAME,
    ReadAhead,
    frames_of,
    read_frame,
)
from flinkish.runtime.task.column_use import with_columns_used
from flinkish.runtime.task.plan import VertexPlan

NUMBERS_A_BATCH = 1_000_000


class LocalSource(ABC):
    """A source that is open for reading, in batches that can be read again."""

    ended: bool = False
    """Whether the source ends with the current batch."""

    position: str | None = None
    """The position of the source, as JSON; None if that is unknown."""

    @property
    def backlog(self) -> SourceBacklog:
        """The amount of the source that has been read, and the amount left, if that is known."""
        return UNKNOWN_BACKLOG

    def savedPosition(self) -> dict[str, Any] | None:
        """The position at which the source continues, for a savepoint; None if it is unknown."""
        return None

    def begin(self, position: Mapping[str, Any]) -> None:
        """Begin at a position from a savepoint."""

    def readFor(self, plan: VertexPlan, traces: bool) -> None:
        """Called before anything is read, with the plan of the source's task. ``traces``: whether functions are
        traced."""

    @abstractmethod
    def nextBatch(self) -> bool:
        """Advance to the next batch, and set ``ended``; False if there is no input now."""

    @abstractmethod
    def read(self) -> Iterator[ReadResult]:
        """The elements of the batch, from its beginning."""

    def reopen(self) -> None:
        """Called before the job continues after a failure, which may have been one of this
        source."""

    def batchEnded(self) -> None:
        """Called when the elements of the last batch have been processed and written."""

    def close(self) -> None:
        """Called at the end of the job, also after an error."""


class PlannedSource(LocalSource):
    """Reads the steps of a planner; ``read`` returns the records of a piece."""

    def __init__(self, planner: SourcePlanner, read: Callable[..., Iterator[ReadResult]]) -> None:
        self._planner = planner
        self._read = read
        self._steps = 0
        self._step: Step | None = None

    @property
    def backlog(self) -> SourceBacklog:
        return self._planner.backlog()

    def savedPosition(self) -> dict[str, Any]:
        return self._planner.position()

    def begin(self, position: Mapping[str, Any]) -> None:
        self._planner.begin(position)

    def nextBatch(self) -> bool:
        self._step = self._planner.plan()
        if self._step is None:
            return False
        self.ended = self._step.last
        self._steps += 1
        self.position = f'{{"step":{self._steps}}}'
        return True

    def read(self) -> Iterator[ReadResult]:
        assert self._step is not None
        pieces = [piece for task in self._planner.tasks(self._step) for piece in task]
        return (result for piece in pieces for result in self._read(*piece))


class FileRanges(PlannedSource):
    def __init__(self, planner: FilePlanner, format_: FileFormat) -> None:
        super().__init__(planner, lambda *piece: self._format.read(FileSplit(*piece)))
        self._format = format_

    def readFor(self, plan: VertexPlan, traces: bool) -> None:
        self._format = with_columns_used(self._format, plan, traces)


class KafkaPartitions(PlannedSource):
    def __init__(self, source: KafkaSource[Any], perBatch: int | None) -> None:
        self._reader = KafkaReader(source, "UTC")
        self._group = ConsumerGroup.of(source)
        super().__init__(KafkaPlanner(source, perBatch, 1), self._reader.read)

    def batchEnded(self) -> None:
        if self._group is not None and self._step is not None:
            self._group.commit(self._step)

    def close(self) -> None:
        self._reader.close()


class CollectionReader(LocalSource):
    """Reads the elements of a collection or table, ``perBatch`` of them in a batch, in the form
    that they have on Spark: elements of a collection are pickled copies."""

    def __init__(self, source: CollectionSource[Any] | TableSource, perBatch: int | None) -> None:
        self._source = source
        self._count = count_of(source)
        self._per_batch = perBatch or max(self._count, 1)
        self._start = self._end = self._begun = 0

    @property
    def backlog(self) -> SourceBacklog:
        progress = ReadProgress(self._end, self._count, "records", self._begun)
        return SourceBacklog(progress, self._count - self._end)

    def savedPosition(self) -> dict[str, Any]:
        return {"next": self._end}

    def begin(self, position: Mapping[str, Any]) -> None:
        self._end = self._begun = min(position["next"], self._count)

    def nextBatch(self) -> bool:
        self._start = self._end
        self._end = min(self._start + self._per_batch, self._count)
        self.ended = self._end == self._count
        self.position = f'{{"element":{self._end}}}'
        return True

    def read(self) -> Iterator[ReadResult]:
        end = self._end
        for first in range(self._start, end, ELEMENTS_A_FRAME):
            records = records_of(self._source, first, min(first + ELEMENTS_A_FRAME, end))
            if isinstance(self._source, CollectionSource):
                frame = Frame(records, NO_MARKS)
                records = decode_frame(
                    encode_frame(frame, "Collection Source", stored=True)
                ).records
            yield records


class SocketReader(LocalSource):
    """Reads the lines of a socket, which a thread receives. The source ends with the connection."""

    def __init__(self, source: SocketSource) -> None:
        self._name = f"{source.host}:{source.port}"
        try:
            self._socket = socket.create_connection((source.host, source.port))
        except OSError as error:
            raise JobExecutionError(
                f"socketTextStream: nobody listens at {self._name} ({error}). Start the server first."
            ) from error
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._batch: list[str] = []
        threading.Thread(target=self._receive, daemon=True).start()

    def _receive(self) -> None:
        with suppress(OSError), self._socket.makefile(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                self._lines.put(line.rstrip("\r\n"))
        self._lines.put(None)

    def nextBatch(self) -> bool:
        self._batch = lines = []
        with suppress(queue.Empty):
            while True:
                line = self._lines.get_nowait()
                if line is None:
                    self.ended = True
                    break
                lines.append(line)
        return bool(lines) or self.ended

    def read(self) -> Iterator[ReadResult]:
        return iter((untimed(list(self._batch)),))

    def close(self) -> None:
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


class UserSourceReader(LocalSource):
    def __init__(self, source: Source[Any], perBatch: int | None) -> None:
        self._name = type(source).__name__
        self._shipped = shipped_source(source)
        self._per_batch = perBatch or ELEMENTS_A_BATCH
        self._frames: list[bytes] = []
        self._had_ended = False
        self._reading = self._read_from(None)

    def savedPosition(self) -> dict[str, Any]:
        return {"position": as_text(self._next), "ended": self.ended}

    def begin(self, position: Mapping[str, Any]) -> None:
        self._reading.close()
        self._had_ended = position["ended"]
        if self._had_ended:
            self._next = of_text(position["position"])
        else:
            self._reading = self._read_from(of_text(position["position"]))

    def nextBatch(self) -> bool:
        if self._had_ended:
            self.ended = True
            return True
        portion = self._reading.take()
        if portion is None:
            return False
        self.ended, self._next = portion.last, portion.position
        self._frames = list(frames_of(self._name, portion))
        return True

    def read(self) -> Iterator[ReadResult]:
        return (result for data in self._frames for result in read_frame(decode_frame(data)))

    def reopen(self) -> None:
        if not self.ended:
            self._reading.close()
            self._reading = self._read_from(self._next)

    def _read_from(self, position: Any) -> ReadAhead:
        self._next = position
        return ReadAhead(self._name, pickle.loads(self._shipped), position, self._per_batch)

    def close(self) -> None:
        self._reading.close()


def opened_source(source: Source[Any], config: ExecutionConfig) -> LocalSource:
    perBatch = config.elementsPerBatch
    if isinstance(source, (CollectionSource, TableSource)):
        return CollectionReader(source, perBatch)
    if isinstance(source, NumberSequenceSource):
        return _numbers(source.start, source.end, perBatch, None)
    if isinstance(source, DataGeneratorSource):
        if source.count is not None and source.elementsPerSecond is None:
            return _numbers(0, source.count - 1, perBatch, source.generator)
        last = (MAX_TIMESTAMP if source.count is None else source.count) - 1
        planner = RatedNumberPlanner(0, last, source.rate, 1)
        return PlannedSource(planner, _numbers_of(source.generator))
    if isinstance(source, FileSource):
        return _files(source)
    if isinstance(source, KafkaSource):
        return KafkaPartitions(source, perBatch)
    if isinstance(source, SocketSource):
        return SocketReader(source)
    if isinstance(source, DataFrameSource):
        raise NotSupportedError(
            "fromDataFrame: a DataFrame is Spark's, and this job runs without Spark. Leave"
            " setLocalExecution out, or pass a table in memory: env.fromDataFrame(df.toArrow())."
        )
    if source.isUsers:
        return UserSourceReader(source, perBatch)
    raise NotSupportedError(
        f"{type(source).__name__} is not a source that local execution can read. Leave"
        " setLocalExecution out, so that the job runs on Spark, or read from a collection."
    )


def _files(source: FileSource[Any]) -> LocalSource:
    path = source.path
    if path.startswith("file:"):
        path = unquote("/" + path.removeprefix("file:").lstrip("/"))
    schema = None if source.schema is None else table_schema(source.schema)
    format_ = file_format(source, schema) if "://" not in path else None
    check_dead_letters(source, format_)
    if format_ is None or (schema is not None and _has_partitions(path, schema.fieldNames)):
        raise NotSupportedError(
            f"FileSource: the {source.format} files of {source.path} need Spark's own reader, for its"
            " options, types, file systems or partitioned directories. Leave setLocalExecution out."
        )
    if not is_pattern(path) and not os.path.exists(path):
        raise IllegalArgumentError(
            f"FileSource: there is no file or directory {source.path}. Create it, or fix the path."
        )
    planner = FilePlanner(source, path, format_.splits, parallelism=1)
    return FileRanges(planner, format_)


def _has_partitions(path: str, columns: Sequence[str]) -> bool:
    """Whether directory names, such as ``year=2024``, hold some of ``columns``."""
    return any(
        name.partition("=")[0] in columns
        for _, directories, _ in os.walk(path)
        for name in directories
        if "=" in name
    )


def _numbers(
    first: int, last: int, perBatch: int | None, generator: Callable[[int], Any] | None
) -> LocalSource:
    planner = NumberPlanner(first, last, perBatch or NUMBERS_A_BATCH, 1)
    return PlannedSource(planner, _numbers_of(generator))


def _numbers_of(generator: Callable[[int], Any] | None) -> Callable[..., Iterator[ReadResult]]:
    # A partial would count as the user's, with attributes that change
    return lambda first, last: number_records(generator, first, last)
