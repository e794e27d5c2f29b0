"""Opens sources as streaming DataFrames, each with a decoder that turns its rows into records.

flinkish plans what a batch reads of numbers, Kafka and users' sources, and of collections and files
if they and the checkpoint are on file systems of this machine: rows hold descriptors, and the
workers read the data. A source with a single step is planned when the job starts, and its
descriptors are files for Spark's text source. A source with more steps is planned while the job
runs, by ``PlannedSource``.

Spark reads the rest: files on other file systems or with unknown options, sockets, and streaming
DataFrames. If the checkpoint is on another file system, collections are first written there as tables.
"""

from __future__ import annotations

import copy
import json
import math
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial, singledispatchmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

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
from flinkish.api.errors import IllegalArgumentError, NotSupportedError, shown
from flinkish.api.time.elements import MAX_TIMESTAMP
from flinkish.api.types.table_schema import table_schema
from flinkish.deployment.vertex_plans import shipped_source
from flinkish.graph.job_graph import JobGraph
from flinkish.runtime.formats.base import FileFormat
from flinkish.runtime.formats.file_formats import check_dead_letters, file_format
from flinkish.runtime.formats.rows_of_lines import RowsOfLines
from flinkish.runtime.kafka.client import confluent_kafka
from flinkish.runtime.kafka.planner import KafkaPlanner
from flinkish.runtime.kafka.reader import KafkaReader
from flinkish.runtime.records.frames import NO_MARKS, Frame, encode_frame
from flinkish.runtime.records.rows import RowColumns
from flinkish.runtime.sources.alignment import AlignedReading, SourceAlignment
from flinkish.runtime.sources.planners import (
    FilePlanner,
    FramePlanner,
    NumberPlanner,
    RatedNumberPlanner,
    SourcePlanner,
    Step,
    is_pattern,
)
from flinkish.runtime.sources.tables import count_of, records_of
from flinkish.runtime.sources.user_sources import ELEMENTS_A_FRAME, FrameFiles, UserSourcePlanner
from flinkish.spark.checkpoint.file_systems import file_system
from flinkish.spark.checkpoint.storage import (
    CheckpointStorage,
    Directory,
    noted_watermarks,
    write_whole,
)
from flinkish.spark.connect.directories import local_path
from flinkish.spark.session.drivers import driver_of
from flinkish.spark.session.temporary_directories import TemporaryDirectory
from flinkish.spark.sources.decoding import (
    DESCRIPTOR,
    PART,
    ArrowDecoder,
    ArrowFrameDecoder,
    FilePieceDecoder,
    FrameDecoder,
    FramePieceDecoder,
    KafkaPieceDecoder,
    LinesDecoder,
    NumberPieceDecoder,
    PartDecoder,
    RowDecoder,
    SingleColumnDecoder,
    UserSourceDecoder,
)
from flinkish.spark.sources.plan_log import PlanLog
from flinkish.spark.sources.planned_source import planned_stream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


_POLL_SECONDS = 0.01

NUMBERS_A_BATCH = 1_000_000

MOST_BATCHES = 64
"""The maximum number of batches of a sequence, which is read in batches of a million."""

EVERY_AGE = "36500d"
"""The maximum age of files; Spark's default skips files a week older than the newest."""

_STRICT = {
    "csv": {"mode": "FAILFAST", "escape": '"', "enforceSchema": "false"},
    "json": {"mode": "FAILFAST"},
}
"""Malformed records are errors, CSV doubles a quote within quotes (RFC 4180), and a header with
other names than those of the schema is an error too."""

InMemory = CollectionSource[Any] | TableSource

_FRAMES = f"{PART} long, frame binary"


@dataclass(frozen=True)
class SourceStream:
    """A streaming DataFrame and its decoder. ``whole``: one batch reads all of it.

    ``path``: the path of its files, if Spark decides how many of them a batch reads.
    ``endsItself``: its rows signal the end of a bounded source. ``planner`` and ``plan``: its
    planner, and the directory of the log from which a savepoint gets its position; without a log the
    position is in Spark's offsets.
    """

    dataframe: DataFrame
    decoder: ArrowDecoder
    whole: bool
    path: str | None = None
    endsItself: bool = False
    planner: SourcePlanner | None = None
    plan: str | None = None


@dataclass(eq=False, repr=False)
class SourceReader:
    """Opens the sources of one job. ``batch``: all are bounded, and are opened as static
    DataFrames. ``alignments``: the watermark alignment of sources, by uid. ``positions``: where
    sources restored from a savepoint begin, by uid."""

    session: SparkSession
    storage: CheckpointStorage
    config: ExecutionConfig
    batch: bool = False
    alignments: Mapping[str, SourceAlignment] = field(default_factory=dict)
    positions: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._local = self.storage.local
        self._elementsPerBatch = self.config.elementsPerBatch
        # A batch is read in as many tasks as run keyed operators.
        self._tasks = int(self.session.conf.get("spark.sql.shuffle.partitions") or 1)

    def streams(self, graph: JobGraph) -> dict[str, SourceStream]:
        return {vertex.uid: self.streamOf(vertex.source, vertex.uid) for vertex in graph.sources}

    @singledispatchmethod
    def streamOf(self, source: Source[Any], uid: str) -> SourceStream:
        name = type(source).__name__
        if not source.isUsers:
            raise NotSupportedError(
                f"{name} is not a source that flinkish can read on Spark. Write its read(position), or"
                " read with Spark and pass the DataFrame to env.fromDataFrame(...)."
            )
        remote = self._local is None and self.batch
        if remote:
            # Read in this process, and sent to the server with the plan of the query
            directory = TemporaryDirectory()
            frames = FrameFiles(str(directory.path))
        else:
            frames = self._frame_files(name, f"sources/{uid}/frames")
        planner = UserSourcePlanner(
            name=name,
            source=shipped_source(source),
            frames=frames,
            perBatch=self._elementsPerBatch,
            parallelism=self._tasks,
            elementsHidden=self.config.elementsHiddenInErrors,
        )
        if not remote:
            return self._planned(planner, UserSourceDecoder(frames), uid, whole=False)
        try:
            return self._read_here(planner, frames)
        finally:
            directory.remove()

    def _read_here(self, planner: UserSourcePlanner, frames: FrameFiles) -> SourceStream:
        """All elements of a user's source, as rows."""
        pieces = (piece for step in _steps_to_the_end(planner) for piece in step.pieces[1:])
        rows = [(part, frames.content(*piece)) for part, piece in enumerate(pieces)]
        frame = self.session.createDataFrame(rows, _FRAMES)
        return SourceStream(frame.repartition(self._tasks), FrameDecoder(), True)

    def _frame_files(self, name: str, directory: str) -> FrameFiles:
        """The files of a user's source in the checkpoint, on a file system that its planner and the
        workers reach without Spark."""
        if self._local is not None:
            return FrameFiles(str(self._local / directory))
        there = local_path(self.storage.path)
        if there is not None:
            # The server's path, as the planner runs there; its workers need the same path
            return FrameFiles(str(there / directory))
        try:
            files, path = file_system(self.session, self.storage.child(directory))
            files.create_dir(path)
        except (NotSupportedError, OSError) as error:
            raise NotSupportedError(
                f"{name}: what a source of your own gives is kept in the checkpoint at {self.storage.path},"
                f" which Python processes cannot write: {error}. Pass enableCheckpointing(directory) a"
                " directory on a mount that all machines have, or a URI such as s3a://bucket/path that pyarrow"
                " reaches too: with the keys of Spark's settings spark.hadoop.fs.s3a.*, or with what it finds"
                " in the environment of the processes."
            ) from None
        return FrameFiles(path, files)

    @streamOf.register(CollectionSource)
    @streamOf.register(TableSource)
    def _in_memory(self, source: InMemory, uid: str) -> SourceStream:
        first = min(self._first(uid, 0), count_of(source))
        count = count_of(source) - first
        a_batch = max(min(self._elementsPerBatch or count, count), 1)
        local = self._local
        if local is None and self.batch:
            frame = self.session.createDataFrame(list(_frames(source, 0, count)), _FRAMES)
            return SourceStream(frame.repartition(self._tasks), FrameDecoder(), True)
        if local is None:
            return self._collection_table(source, first, a_batch, uid)
        directory = local / "sources" / uid
        index, frames = str(directory / "index"), str(directory / "frames")
        if not self._written(f"sources/{uid}"):
            # A job that was killed while writing has left it.
            shutil.rmtree(directory, ignore_errors=True)
            _write_frames(source, a_batch, index, frames, first)
            self._finish(f"sources/{uid}")
        planner = FramePlanner(index, self._tasks)
        return self._planned(planner, FramePieceDecoder(frames), uid, whole=a_batch >= count)

    def _first(self, uid: str, first: int) -> int:
        """The position at which a source of numbers or of a collection begins."""
        position = self.positions.get(uid)
        return first if position is None else int(position.get("next", first))

    def _check_no_position(self, uid: str, name: str) -> None:
        """Raises NotSupportedError if a source that Spark reads has to begin at a position."""
        if uid in self.positions:
            raise NotSupportedError(
                f"{name}: the savepoint has its position, but here Spark reads it from its beginning, as"
                f" the checkpoint at {self.storage.path} or the files are not on this machine's file"
                " system, or need Spark's reader. Use a local checkpoint directory, or give the source a"
                " new uid(...) with allowNonRestoredState=True to read it from its beginning."
            )

    @streamOf.register
    def _sequence(self, source: NumberSequenceSource, uid: str) -> SourceStream:
        return self._numbers(source.start, source.end, uid, None)

    @streamOf.register
    def _generator(self, source: DataGeneratorSource, uid: str) -> SourceStream:  # type: ignore[type-arg]
        if source.count is not None and source.elementsPerSecond is None:
            return self._numbers(0, source.count - 1, uid, source.generator)
        last = (MAX_TIMESTAMP if source.count is None else source.count) - 1
        planner = RatedNumberPlanner(self._first(uid, 0), last, source.rate, self._tasks)
        return self._planned(planner, NumberPieceDecoder(source.generator), uid, whole=False)

    @streamOf.register
    def _dataframe(self, source: DataFrameSource, uid: str) -> SourceStream:
        frame = source.dataframe
        rows = RowDecoder(tuple(frame.columns), source.timestamp)
        if frame.isStreaming:
            return SourceStream(frame, rows, False)
        if self.batch:
            return SourceStream(frame, rows, True)
        name = f"sources/{uid}"
        if self.positions.get(uid, {}).get("ended"):
            return self._numbers(0, -1, uid, None)
        if not self._written(name):
            self._write(name, frame.mapInArrow(_arrow_frames, _FRAMES), True)
            self._finish(name)
        return self._materialised(name, ArrowFrameDecoder(rows), None)

    @streamOf.register
    def _files(self, source: FileSource, uid: str) -> SourceStream:  # type: ignore[type-arg]
        """Turns Spark's errors about a missing path or an invalid schema into one sentence."""
        from pyspark.errors import AnalysisException, ParseException

        try:
            return self._files_of(source, uid)
        except ParseException as error:
            said = str(error).strip().splitlines()[0]
            raise IllegalArgumentError(
                f"FileSource of {source.path}: the schema {shown(source.schema)} cannot be read: {said} Give columns"
                ' and their types, such as "user STRING, at BIGINT", or a StructType.'
            ) from None
        except AnalysisException as error:
            if error.getCondition() != "PATH_NOT_FOUND":
                raise
            raise _nowhere(source) from None

    @streamOf.register
    def _kafka(self, source: KafkaSource, uid: str) -> SourceStream:  # type: ignore[type-arg]
        confluent_kafka("KafkaSource")
        zone = self.session.conf.get("spark.sql.session.timeZone") or "UTC"
        planner = KafkaPlanner(source, self._elementsPerBatch, self._tasks)
        decoder = KafkaPieceDecoder(KafkaReader(source, zone))
        return self._planned(planner, decoder, uid, whole=False)

    def _files_of(self, source: FileSource[Any], uid: str) -> SourceStream:
        local = Directory(self.session, source.path).local
        schema = _parsed(source.schema)
        zone = self.session.conf.get("spark.sql.session.timeZone") or "UTC"
        format_ = file_format(source, None if schema is None else table_schema(schema), zone)
        check_dead_letters(source, format_)
        if local is not None and _has_partition_columns(str(local), schema):
            format_ = None
        elif format_ is not None and self._local is not None and local is not None:
            return self._planned_files(source, str(local), format_, uid)
        check_dead_letters(source, None)
        self._check_no_position(uid, f"FileSource of {source.path}")
        return self._files_of_spark(source, format_)

    def _planned_files(
        self, source: FileSource[Any], path: str, format_: FileFormat, uid: str
    ) -> SourceStream:
        if not is_pattern(path) and not os.path.exists(path):
            raise _nowhere(source)
        planner = FilePlanner(source, path, format_.splits, self._tasks)
        if uid in self.positions:
            planner.begin(self.positions[uid])
        whole = source.bounded and source.filesPerBatch is None
        directory = Path(str(self._local), "sources", uid)
        if whole and not (directory / "descriptors").exists():
            whole = not (directory / "plan").exists() and planner.isOneStep
        return self._planned(planner, FilePieceDecoder(format_), uid, whole)

    def _planned(
        self, planner: SourcePlanner, decoder: ArrowDecoder, uid: str, whole: bool
    ) -> SourceStream:
        if uid in self.positions:
            planner.begin(self.positions[uid])
        if self._local is None and self.batch:
            return self._planned_rows(planner, decoder)
        if self._local is None:
            stream = planned_stream(self.session, planner, None, uid)
            return SourceStream(stream, decoder, False, endsItself=True, planner=planner)
        directory = self._local / "sources" / uid
        log = str(directory / "plan")
        if not whole and not self.batch:
            mayRead = None
            if uid in self.alignments:
                noted = partial(noted_watermarks, self._local)
                mayRead = AlignedReading(self.alignments[uid], noted)
            stream = planned_stream(self.session, planner, log, uid, mayRead)
            return SourceStream(stream, decoder, False, endsItself=True, planner=planner, plan=log)
        unplanned = copy.deepcopy(planner)
        _plan_now(planner, PlanLog(log), directory / "descriptors", toTheEnd=self.batch)
        descriptors = self._reading().text(self.storage.child(f"sources/{uid}/descriptors"))
        frame = descriptors.select(DESCRIPTOR)
        return SourceStream(frame, decoder, True, endsItself=True, planner=unplanned, plan=log)

    def _planned_rows(self, planner: SourcePlanner, decoder: ArrowDecoder) -> SourceStream:
        """All steps of a planner, as rows sent to the server with the query's plan."""
        from pyspark.sql import functions as F

        tasks = (
            task
            for number, step in enumerate(_steps_to_the_end(planner), start=1)
            for task in planner.descriptors(step, firstPart=number << 32)
        )
        rows = list(enumerate(map("\n".join, tasks)))
        frame = self.session.createDataFrame(rows, f"task int, {DESCRIPTOR} string")
        lines = F.explode(F.split(DESCRIPTOR, "\n")).alias(DESCRIPTOR)
        frame = frame.repartition(max(len(rows), 1), "task").select(lines)
        return SourceStream(frame, decoder, True, endsItself=True)

    def _files_of_spark(self, source: FileSource[Any], format_: FileFormat | None) -> SourceStream:
        if source.schema is None:
            return self._in_order(self._lines(source), SingleColumnDecoder("value"), source)
        reader = self._reader(source).format(source.format).schema(source.schema)
        options = {**_STRICT.get(source.format, {}), **source.options}
        stream = reader.options(**options).load(self._directory_or_pattern(source.path))
        if isinstance(format_, RowsOfLines) and not source.options:
            return self._in_order(self._lines(source), LinesDecoder(format_, source.path), source)
        return self._in_order(stream, RowDecoder(tuple(stream.columns)), source)

    def _in_order(
        self, stream: DataFrame, decoder: ArrowDecoder, source: FileSource[Any]
    ) -> SourceStream:
        """Rows of files that Spark reads, ordered by time, path and place in the file."""
        from pyspark.sql import functions as F

        changed = F.unix_millis("_metadata.file_modification_time") * (1 << 20)
        path = F.pmod(F.hash("_metadata.file_path"), F.lit(1 << 10)) * (1 << 10)
        block = F.least(F.col("_metadata.file_block_start") / (1 << 20), F.lit((1 << 10) - 1))
        part = (changed + path + block.cast("long")).alias(PART)
        ordered = stream.select(part, *(F.col(f"`{name}`") for name in stream.columns))
        return SourceStream(ordered, PartDecoder(decoder), False, source.path)

    def _lines(self, source: FileSource[Any]) -> DataFrame:
        reader = self._reader(source).options(**source.options if source.format == "text" else {})
        lines: DataFrame = reader.text(self._directory_or_pattern(source.path))
        return lines

    def _directory_or_pattern(self, path: str) -> str:
        """``path`` for Spark's streaming reader, which accepts a single file only as a pattern."""
        is_file = not is_pattern(path) and driver_of(self.session).isFile(path)
        return f"{path[:-1]}[{path[-1]}]" if is_file else path

    def _reading(self) -> Any:
        return self.session.read if self.batch else self.session.readStream

    def _reader(self, source: FileSource[Any]) -> Any:
        reader = self._reading()
        if self.batch:
            return reader
        if source.filesPerBatch is not None:
            # Spark accepts only one of the two limits
            reader = reader.option("maxFilesPerTrigger", source.filesPerBatch)
        else:
            reader = reader.option("maxBytesPerTrigger", source.bytesPerBatch)
        age = EVERY_AGE if source.maxFileAge is None else f"{source.maxFileAge}ms"
        return reader.option("maxFileAge", age)

    @streamOf.register
    def _socket(self, source: SocketSource, uid: str) -> SourceStream:
        reader = self.session.readStream.format("socket")
        stream = reader.option("host", source.host).option("port", source.port).load()
        return SourceStream(stream, SingleColumnDecoder("value"), False)

    def _numbers(
        self, first: int, last: int, uid: str, generator: Callable[[int], Any] | None
    ) -> SourceStream:
        first = self._first(uid, first)
        count = max(last - first + 1, 0)
        wanted = self._elementsPerBatch or max(NUMBERS_A_BATCH, math.ceil(count / MOST_BATCHES))
        a_batch = max(min(wanted, count), 1)
        planner = NumberPlanner(first, last, a_batch, self._tasks)
        return self._planned(planner, NumberPieceDecoder(generator), uid, whole=a_batch >= count)

    # For checkpoints on other file systems: a collection is written to the checkpoint as a table,
    # which Spark reads.

    def _collection_table(
        self, source: InMemory, first: int, a_batch: int, uid: str
    ) -> SourceStream:
        count = count_of(source) - first
        name = f"sources/{uid}"
        rows_a_batch = math.ceil(a_batch / ELEMENTS_A_FRAME)
        # Every batch but the last has as many files as a throttled source reads in one
        rows_a_file = math.ceil(rows_a_batch / self._tasks)
        if not self._written(name):
            for start in range(0, max(count, 1), a_batch):
                end = min(start + a_batch, count)
                frames = list(_frames(source, first + start, first + end))
                frame = self.session.createDataFrame(frames, _FRAMES).coalesce(1)
                self._write(name, frame, start == 0, rows_a_file)
            self._finish(name)
        files_a_batch = math.ceil(rows_a_batch / rows_a_file) if a_batch < count else None
        return self._materialised(name, FrameDecoder(), files_a_batch)

    def _materialised(
        self, name: str, decoder: ArrowDecoder, filesABatch: int | None
    ) -> SourceStream:
        reader = self._reading().schema(_FRAMES)
        if filesABatch is not None:
            reader = reader.option("maxFilesPerTrigger", filesABatch)
        stream = reader.parquet(self.storage.child(name))
        return SourceStream(stream, decoder, filesABatch is None, self.storage.child(name))

    def _written(self, name: str) -> bool:
        return self.storage.readText(f"{name}-written") is not None

    def _finish(self, name: str) -> None:
        self.storage.writeText(f"{name}-written", "written")

    def _write(self, name: str, frame: DataFrame, first: bool, rowsAFile: int = 0) -> None:
        # The first write replaces the files of a job that was killed while writing.
        writer = frame.write.mode("overwrite" if first else "append")
        writer.option("maxRecordsPerFile", rowsAFile).parquet(self.storage.child(name))


def reads_planned(graph: JobGraph) -> bool:
    """Whether a job in BATCH mode reads the plan of its sources from the checkpoint."""
    return any(not isinstance(vertex.head.content, DataFrameSource) for vertex in graph.sources)


def check_aligned(streams: Mapping[str, SourceStream], aligned: Iterable[str]) -> None:
    """Raises NotSupportedError if Spark plans the batches of a source with watermark alignment."""
    for uid in aligned:
        stream = streams[uid]
        if stream.whole or stream.plan is not None:
            continue
        if stream.planner is not None:
            raise NotSupportedError(
                f"withWatermarkAlignment: the watermarks that the source {uid} waits for are stored in the"
                " checkpoint, which must be on a file system of this machine. Pass enableCheckpointing(directory)"
                " a path, such as one on a mount that all machines have, or leave the alignment out: elements"
                " that are ahead then wait in state, and results are the same."
            )
        raise NotSupportedError(
            f"withWatermarkAlignment: Spark decides what a batch reads of the source {uid}, so it cannot"
            " wait for others. Leave the alignment out: elements that are ahead then wait in state, and"
            " results are the same. To keep that state small, limit what a batch reads of it, by an"
            " option of Spark's reader, such as maxOffsetsPerTrigger for Kafka."
        )


def _nowhere(source: FileSource[Any]) -> IllegalArgumentError:
    return IllegalArgumentError(
        f"FileSource of {source.path}: there is no such file or directory. Fix the path; a directory to be"
        " monitored must exist before the job starts."
    )


def _plan_now(
    planner: SourcePlanner, log: PlanLog, directory: Path, toTheEnd: bool = False
) -> None:
    """Plan all existing input as one step, or all steps ``toTheEnd`` of the source, and write the
    descriptors into ``directory``, one file for each task. A job that is restarted after its end
    plans the input that has come since."""
    planner.restore(*log.restored())
    if not toTheEnd:
        planner.freeze()
        step = planner.plan()
        if step is not None:
            log.append(step, planner.backlog())
    elif not log.ended:
        for step in _steps_to_the_end(planner):
            log.append(step, planner.backlog())
    for number in range(1, log.latest + 1):
        tasks = planner.descriptors(log.read(number), firstPart=number << 32)
        for task, descriptors in enumerate(tasks):
            file = directory / f"{number:06d}-{task:06d}.txt"
            if not file.exists():
                write_whole(file, "".join(f"{descriptor}\n" for descriptor in descriptors))


def _steps_to_the_end(planner: SourcePlanner) -> Iterator[Step]:
    """The remaining steps of a bounded source."""
    last = False
    while not last:
        step = planner.plan()
        if step is None:
            time.sleep(_POLL_SECONDS)
        else:
            yield step
            last = step.last


def _parsed(schema: str | StructType | None) -> StructType | None:
    from pyspark.sql.types import StructType

    if not isinstance(schema, str):
        return schema
    parsed = StructType.fromDDL(schema)
    # A single type, such as "long", is a schema of one column for Spark.
    return parsed if isinstance(parsed, StructType) else StructType().add("value", parsed)


def _has_partition_columns(path: str, schema: StructType | None) -> bool:
    """Whether directory names, such as ``year=2024``, hold columns of ``schema``."""
    if schema is None or is_pattern(path) or not os.path.isdir(path):
        return False
    with os.scandir(path) as entries:
        found = [e for e in entries if "=" in e.name and e.is_dir()]
    names = {e.name.partition("=")[0] for e in found}
    return not names.isdisjoint(schema.fieldNames()) or any(
        _has_partition_columns(e.path, schema) for e in found[:1]
    )


def _write_frames(source: InMemory, a_batch: int, index: str, frames: str, first: int = 0) -> None:
    """Write the elements from ``first`` on as frames, and an index with a line for those of each batch."""
    count = count_of(source) - first
    os.makedirs(os.path.dirname(index), exist_ok=True)
    lines = []
    with open(frames, "wb") as file:
        for start in range(0, max(count, 1), a_batch):
            places = []
            end = min(start + a_batch, count)
            for _, frame in _frames(source, first + start, first + end):
                places.append((file.tell(), len(frame)))
                file.write(frame)
            elements = first + end
            lines.append(json.dumps({"frames": places, "elements": elements}) + "\n")
        file.flush()
        os.fsync(file.fileno())
    write_whole(Path(index), "".join(lines))


def _frames(source: InMemory, start: int, end: int) -> Iterator[tuple[int, bytes]]:
    for first in range(start, end, ELEMENTS_A_FRAME):
        records = records_of(source, first, min(first + ELEMENTS_A_FRAME, end))
        yield first, encode_frame(Frame(records, NO_MARKS), "Collection Source", stored=True)


def _arrow_frames(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    from pyspark import TaskContext

    context = TaskContext.get()
    part = (context.partitionId() if context else 0) << 32
    for batch in batches:
        data = RowColumns(batch).toBytes()
        yield pa.RecordBatch.from_pydict({PART: pa.array([part], pa.int64()), "frame": [data]})
        part += 1
