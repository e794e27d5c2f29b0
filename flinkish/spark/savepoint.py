"""Savepoints of jobs on Spark: written from the state of a committed batch, restored in the first
batch.

The state is read by Spark's state data source and written as Parquet, both in parallel and on any file
system. A job that begins from a savepoint finds the state among the lines of its control stream, a line for
each part and key group: Spark logs them with the first batch and removes them when it is committed. So a
crash loses nothing, and the savepoint is not needed again.
"""

from __future__ import annotations

import base64
import copy
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StringType, StructField, StructType

from flinkish.api.arguments import text
from flinkish.api.connectors.source import CollectionSource, SocketSource, Source
from flinkish.api.errors import CheckpointStorageError, FlinkishError, IllegalStateError
from flinkish.api.program_classes import ProgramClasses, current_classes, use_classes
from flinkish.deployment.savepoint.files import SavepointDirectory
from flinkish.deployment.savepoint.metadata import (
    METADATA,
    STATE,
    SavepointMetadata,
    SourcePosition,
    StateFile,
    damaged,
    entries_by_state,
)
from flinkish.deployment.savepoint.restore import KeyedStates, Restoration
from flinkish.deployment.vertex_plans import vertex_plan
from flinkish.graph.job_graph import JobGraph
from flinkish.runtime.savepoint.capture import captured
from flinkish.runtime.savepoint.saved_state import (
    KEYED,
    SEPARATOR,
    SavedState,
    arrow_batch,
    saved_states,
)
from flinkish.runtime.savepoint.saved_state import SCHEMA as ARROW_SCHEMA
from flinkish.runtime.task.plan import TaskSettings, key_groups
from flinkish.runtime.task.stage import DIRECTORY, decode_directory
from flinkish.spark.checkpoint.plan import CheckpointPlan
from flinkish.spark.checkpoint.storage import CheckpointStorage, Directory
from flinkish.spark.control import CONTROL
from flinkish.spark.frame_rows import sized
from flinkish.spark.placement import balanced_integers
from flinkish.spark.processor import PAGES
from flinkish.spark.sources.function import RESTORED
from flinkish.spark.sources.plan_log import PlanLog, last_step_read
from flinkish.spark.sources.planned_offset import PlannedOffset
from flinkish.spark.sources.reader import SourceStream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = from_arrow_schema(ARROW_SCHEMA)
_LINES = StructType([StructField("value", StringType())])

_LINES_A_FILE = 256
_BYTES_A_BATCH = 8 << 20
_ATTEMPTS = 3
_POLL_SECONDS = 0.1


@dataclass(eq=False, repr=False)
class JobSavepoints:
    """Writes the savepoints of a job. ``lastBatch``: the last one committed to the sinks too."""

    session: SparkSession
    storage: CheckpointStorage
    plan: CheckpointPlan
    graph: JobGraph
    settings: TaskSettings
    sources: Mapping[str, SourceStream]
    lastBatch: Callable[[], int | None]

    def checkedDirectory(self, method: str, directory: str) -> str:
        """``directory`` unchanged. Raises CheckpointStorageError if it is not empty."""
        target = Directory(self.session, text(f"{method}: savepointDirectory", directory))
        check_empty(method, target, directory)
        return directory

    def awaitBatch(self, running: Callable[[], bool]) -> bool:
        """Wait until a batch is committed; False if the job ended before."""
        while self.lastBatch() is None:
            if not running():
                return self.lastBatch() is not None
            time.sleep(_POLL_SECONDS)
        return True

    def write(self, directory: str, jobName: str) -> None:
        target = CheckpointStorage(self.session, directory)
        target.create()
        for attempt in range(1, _ATTEMPTS + 1):
            batch = self.lastBatch()
            if batch is None:
                raise IllegalStateError(
                    f"the savepoint {directory} was not written, as the job {jobName!r} ended before its"
                    " first batch was committed."
                )
            try:
                positions = self._positions(batch)
                if positions is not None:
                    self._write(target, batch, jobName, positions)
                    return
            except FlinkishError:
                raise
            except Exception:
                # If the job has run on meanwhile, the state of that batch may have been removed
                if attempt == _ATTEMPTS or self.lastBatch() == batch:
                    raise
        raise CheckpointStorageError(
            f"the savepoint {directory} was not written: the job committed so many batches meanwhile that"
            f" the positions of batch {batch} are no longer in the plan log. Try again, or use stopWithSavepoint."
        )

    def writeBatch(self, directory: str, batch: int, jobName: str) -> None:
        """Write a savepoint of a committed batch of a job that is not running."""
        target = CheckpointStorage(self.session, directory)
        target.create()
        positions = self._positions(batch)
        if positions is None:
            raise CheckpointStorageError(
                f"the checkpoint {self.storage.path} no longer has the positions of its sources after batch"
                f" {batch}. Begin from a later batch."
            )
        self._write(target, batch, jobName, positions)

    def _write(
        self,
        target: CheckpointStorage,
        batch: int,
        jobName: str,
        positions: Mapping[str, SourcePosition],
    ) -> None:
        self._rows(batch).write.mode("overwrite").parquet(target.child(STATE))
        files, counts = summary(self.session, target)
        metadata = SavepointMetadata.of(
            jobName=jobName,
            batch=batch + self.plan.firstBatch,
            graph=self.graph,
            settings=self.settings,
            states=self.plan.states,
            sources=positions,
            files=files,
            entries=entries_by_state(counts),
        )
        target.writeText(METADATA, metadata.asText())

    def _rows(self, batch: int) -> DataFrame:
        from pyspark.sql import functions as F

        pages = None
        for operator in range(self.graph.levels - 1):
            reader = self.session.read.format("statestore").option("operatorId", operator)
            reader = reader.option("stateVarName", PAGES).option("batchId", batch)
            of_stage = reader.load(self.storage.child("query")).select(
                F.lit(operator).alias("stage"),
                F.col("key.group").alias("group"),
                F.col("user_map_key.page").alias("page"),
                F.col("user_map_value.content").alias("content"),
            )
            pages = of_stage if pages is None else pages.unionAll(of_stage)
        if pages is None:
            return self.session.createDataFrame([], SCHEMA)
        own = pages.filter("group >= 0").sortWithinPartitions("stage", "group")
        settings = self.settings
        plans = [
            vertex_plan(vertex)
            for level in range(1, self.graph.levels)
            for vertex in self.graph.stage(level)
        ]
        firsts = {plan.uid: key_groups(plan.uid, plan.single, settings)[0] for plan in plans}
        integers = balanced_integers(settings.keyGroups, settings.parallelism)
        groups = {integer: group for group, integer in enumerate(integers)}
        rows = partial(captured_rows, groups, firsts, settings.classes)
        return own.mapInArrow(rows, SCHEMA)

    # ------------------------------------------------------------------ sources

    def _positions(self, batch: int) -> dict[str, SourcePosition] | None:
        """The positions of the sources after a batch; None if the plan log does not go back that far."""
        lines = self.storage.offsets(batch)
        planned = {found.source: found for line in lines if (found := PlannedOffset.of(line))}
        positions = {}
        for place, vertex in enumerate(self.graph.sources):
            source, stream = vertex.source, self.sources[vertex.uid]
            offset = lines[place] if len(lines) > place and lines[place] != "-" else None
            if stream.planner is None:
                positions[vertex.uid] = _position_of_spark(source, stream, offset)
                continue
            planner = copy.deepcopy(stream.planner)
            reached = planned.get(vertex.uid)
            if stream.plan is not None:
                number = reached.number if reached else 0
                if stream.whole and offset is not None:
                    # Not the last step that is planned: that may be of a run that was killed at once
                    log = Path(f"{self.storage.local}/query/sources/{place}")
                    number = last_step_read(log, offset)
                steps = PlanLog(stream.plan).restoredUpTo(number)
                if steps is None:
                    return None
                planner.restore(*steps)
            elif reached is not None and reached.whole is not None:
                planner.restore(reached.whole.snapshot, [])
            positions[vertex.uid] = SourcePosition(source.kind, planner.position())
        return positions


def check_empty(method: str, target: Directory, directory: str) -> None:
    """Raises CheckpointStorageError if the ``target`` of a savepoint, the ``directory``, is not empty."""
    if target.holds("*"):
        raise CheckpointStorageError(
            f"{method}: the savepoint directory {directory} is not empty. Pass a new directory for"
            " each savepoint."
        )


def _position_of_spark(
    source: Source[Any], stream: SourceStream, offset: str | None
) -> SourcePosition:
    """The position of a source that Spark reads: its end, if the first batch reads all of it."""
    if isinstance(source, SocketSource):
        return SourcePosition(source.kind, None)
    if not stream.whole:
        return SourcePosition(source.kind, None, offset)
    if isinstance(source, CollectionSource):
        return SourcePosition(source.kind, {"next": len(list(source.values))})
    return SourcePosition(source.kind, {"ended": True})


def captured_rows(
    keyGroups: Mapping[int, int],
    firsts: Mapping[str, int],
    classes: ProgramClasses,
    batches: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Turns the pages of key groups, in order, into rows of a savepoint. ``keyGroups``: the key
    groups, by the integers that represent them. ``firsts``: the first key group of each vertex.
    ``classes``: the classes of the job."""
    use_classes(classes)
    states = (
        state
        for group, pages in _groups_of_pages(keyGroups, batches)
        for uid, saved in decode_directory(pages.get(DIRECTORY)).items()
        for state in captured(uid, group, saved, pages, firsts.get(uid) == group)
    )
    yield from map(arrow_batch, sized(states, lambda s: len(s.content), _BYTES_A_BATCH))


def _groups_of_pages(
    keyGroups: Mapping[int, int], batches: Iterator[pa.RecordBatch]
) -> Iterator[tuple[int, dict[bytes, bytes]]]:
    names = ("stage", "group", "page", "content")
    rows = (row for b in batches for row in zip(*(b.column(name).to_pylist() for name in names)))
    for (_, integer), members in groupby(rows, key=itemgetter(0, 1)):
        yield keyGroups[integer], {page: content for _, _, page, content in members}


# ---------------------------------------------------------------------- reading


class SparkSavepoint:
    """A savepoint to restore. Raises CorruptCheckpointError if it is incomplete."""

    def __init__(self, session: SparkSession, directory: str) -> None:
        self._session = session
        self.storage = CheckpointStorage(session, directory)
        """The directory."""
        self.path = directory
        """The directory as the user wrote it."""
        local = self.storage.local
        if local is not None:
            self.metadata = SavepointDirectory("setSavepoint", str(local)).readMetadata()
        else:
            read = self.storage.readText(METADATA)
            self.metadata = SavepointMetadata.ofText(read, self.storage.child(METADATA))

    def check(self) -> None:
        """Raises CorruptCheckpointError, which names the file, if a row is not as written."""
        files, _ = summary(self._session, self.storage)
        self.metadata.checkFiles(files, self.path)

    def bring(
        self,
        graph: JobGraph,
        settings: TaskSettings,
        allowNonRestoredState: bool,
        storage: CheckpointStorage,
    ) -> None:
        """Check all files of the savepoint, and write the state for the job of ``graph`` as lines of the control
        stream of a new checkpoint, replacing the lines of an earlier attempt."""
        self.check()
        rows = read_state(self._session, self.storage)
        is_keyed = rows["table"].isin(*KEYED)
        others = [
            SavedState._make((*row[:5], bytes(row[5]))) for row in rows.filter(~is_keyed).collect()
        ]
        restoration = Restoration(
            self.metadata, others, graph, settings, allowNonRestoredState, self.path
        )
        keyed = rows.filter(is_keyed).mapInArrow(
            partial(control_lines, restoration.keyed, current_classes()), _LINES
        )
        tasks = [(_line(*part),) for part in restoration.tasks()]
        lines = keyed.unionAll(self._session.createDataFrame(tasks, _LINES)) if tasks else keyed
        writer = lines.write.mode("overwrite").option("maxRecordsPerFile", _LINES_A_FILE)
        writer.text(storage.child(CONTROL))


def control_lines(
    keyed: KeyedStates, classes: ProgramClasses, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Turns rows of keyed state into lines for the key groups of a new job, with its classes."""
    use_classes(classes)
    for batch in batches:
        for state in saved_states(batch):
            lines = [_line(*part) for part in keyed.parts([state])]
            if lines:
                yield pa.RecordBatch.from_arrays([pa.array(lines)], names=["value"])


def _line(uid: str, keyGroup: int, content: bytes) -> str:
    name, data = (base64.b64encode(part).decode() for part in (uid.encode(), content))
    return f"{RESTORED}{keyGroup} {name} {data}"


def read_state(session: SparkSession, storage: CheckpointStorage) -> DataFrame:
    return session.read.schema(SCHEMA).parquet(storage.child(STATE))


def summary(
    session: SparkSession, storage: CheckpointStorage
) -> tuple[dict[str, StateFile], Sequence[tuple[str, str, str, int]]]:
    """The number of complete rows in each file of state, and (operator, table, state, entries) of
    all rows. Raises CorruptCheckpointError, which names a file that cannot be read."""
    from pyspark.sql import functions as F

    *names, content = SavedState._fields
    text = F.encode(F.concat_ws(SEPARATOR, *names), "UTF-8")
    whole = F.crc32(F.concat(text, content)) == F.col("checksum")
    try:
        frame = read_state(session, storage).withColumn("file", F.col("_metadata.file_name"))
        rows = (
            frame.filter(whole)
            .groupBy("file", "operator", "table", "state")
            .agg(F.count("*"), F.sum("checksum"), F.sum("entries"))
            .collect()
        )
    except Exception as error:
        found = re.search(rf"/{STATE}/([^/\s\"',]+\.parquet)", str(error))
        if found is None:
            raise
        raise damaged(found.group(1), storage.path, "it cannot be read") from None
    files: dict[str, StateFile] = {}
    for file, _, _, _, number, checksum, _ in rows:
        known = files.get(file, StateFile(0, 0))
        files[file] = StateFile(known.rows + number, known.checksum + checksum)
    return files, [(row[1], row[2], row[3], row[6]) for row in rows]
