"""``SavepointReader`` and ``SavepointWriter`` on Spark: state is read, created and changed in parallel."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

import pyarrow as pa

from flinkish.api.environment.configuration import ExecutionConfig
from flinkish.api.pickled_functions import dumps
from flinkish.api.program_classes import ProgramClasses, use_classes
from flinkish.api.savepoint.queries import StateQuery
from flinkish.api.savepoint.writer import SavepointChanges
from flinkish.deployment.savepoint.changes import KeptStates, SavepointChange
from flinkish.deployment.savepoint.metadata import METADATA, STATE, entries_by_state
from flinkish.deployment.savepoint.reading import AnswerColumns, reading_of
from flinkish.runtime.metrics_totals import MetricsTotals
from flinkish.runtime.reports import decode_reports
from flinkish.runtime.savepoint.bootstrap import bootstrapped
from flinkish.runtime.savepoint.saved_state import arrow_batch, saved_states
from flinkish.runtime.task.plan import TaskSettings
from flinkish.runtime.task.stage import METRICS
from flinkish.spark.batch_stage import SAVED
from flinkish.spark.checkpoint.shared_directory import check_shared
from flinkish.spark.checkpoint.storage import CheckpointStorage
from flinkish.spark.savepoint import SCHEMA, SparkSavepoint, check_empty, read_state, summary
from flinkish.spark.session.drivers import driver_of
from flinkish.spark.session.session import SETTINGS_LOCK, batch_settings, default_parallelism
from flinkish.spark.sources.function import END_OF_INPUT
from flinkish.spark.sources.reader import SourceReader, reads_planned
from flinkish.spark.translation import translate

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_ANSWERS_A_BATCH = 10_000


def read_savepoint(session: SparkSession, directory: str, query: StateQuery) -> DataFrame:
    from pyspark.sql import functions as F

    savepoint = SparkSavepoint(session, directory)
    savepoint.check()
    reading = reading_of(query, savepoint.metadata, directory)
    columns = AnswerColumns.of(query, savepoint.metadata.names[query.uid])
    rows = read_state(session, savepoint.storage).filter(F.col("operator") == query.uid)
    if reading.grouped:
        rows = rows.repartition("keyGroup").sortWithinPartitions("keyGroup")
    payload = dumps((reading, columns, ProgramClasses.of([query])))
    return rows.mapInArrow(partial(_answers, payload), columns.ddl)


def _answers(payload: bytes, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Answers a query from rows of a savepoint, which are sorted by key group if the query needs
    that. ``payload``: the pickled (StateReading, AnswerColumns, ProgramClasses)."""
    reading, columns, classes = pickle.loads(payload)
    use_classes(classes)
    states = (saved for batch in batches for saved in saved_states(batch))
    answers = reading.rows(filter(reading.wants, states))
    while held := list(islice(answers, _ANSWERS_A_BATCH)):
        yield columns.batch(held)


# ---------------------------------------------------------------------- writing


def write_savepoint(
    session: SparkSession, config: ExecutionConfig, changes: SavepointChanges, directory: str
) -> None:
    target = CheckpointStorage(session, directory)
    check_empty("SavepointWriter.write", target, directory)
    existing = None if changes.existing is None else SparkSavepoint(session, changes.existing)
    if existing is not None:
        existing.check()
    change = SavepointChange(changes, None if existing is None else existing.metadata, config)
    settings = None
    if change.graph is not None:
        settings = change.settings(config.parallelism or default_parallelism(session))
    metrics = MetricsTotals()
    with ExitStack() as at_end:
        rows = None
        if existing is not None:
            kept = read_state(session, existing.storage)
            rows = kept.mapInArrow(partial(_kept, KeptStates(changes)), SCHEMA)
        if settings is not None:
            made = _bootstrapped(session, config, change, settings, metrics, at_end)
            rows = made if rows is None else rows.unionAll(made)
        assert rows is not None
        target.create()
        rows.write.mode("overwrite").parquet(target.child(STATE))
    files, counts = summary(session, target)
    metadata = change.metadata(settings, metrics.states, files, entries_by_state(counts))
    target.writeText(METADATA, metadata.asText())


def _bootstrapped(
    session: SparkSession,
    config: ExecutionConfig,
    change: SavepointChange,
    settings: TaskSettings,
    metrics: MetricsTotals,
    at_end: ExitStack,
) -> DataFrame:
    graph = change.graph
    assert graph is not None
    temporary = driver_of(session).temporaryPlace()
    at_end.callback(temporary.remove)
    storage = CheckpointStorage(session, temporary.uri)
    storage.create()
    if reads_planned(graph):
        check_shared(session, storage)
    at_end.enter_context(SETTINGS_LOCK)
    at_end.enter_context(batch_settings(session))
    sources = SourceReader(session, storage, config, batch=True).streams(graph)
    control = session.range(1).selectExpr(f"'{END_OF_INPUT}' AS value")
    at_end.enter_context(settings.classes.current())
    frames = translate(graph, sources, control, settings, {}).persist()
    at_end.callback(frames.unpersist)
    for row in frames.filter(frames["target"] == METRICS).select("frame").collect():
        reports, _ = decode_reports(bytes(row[0]))
        metrics.add(reports)
    saved = frames.filter(frames["target"] == SAVED).select("frame")
    return saved.mapInArrow(partial(_states_of_frames, settings.classes), SCHEMA)


def _kept(kept: KeptStates, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        states = [state for saved in saved_states(batch) if (state := kept.kept(saved))]
        if states:
            yield arrow_batch(states)


def _states_of_frames(
    classes: ProgramClasses, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Turns frames that carry state into rows of a savepoint, with the job's classes."""
    use_classes(classes)
    for batch in batches:
        for frame in batch.column("frame"):
            states = map(bootstrapped, pickle.loads(frame.as_py()))
            kept = [state for state in states if state is not None]
            if kept:
                yield arrow_batch(kept)
