"""Writes sinks in this process, a batch at a time."""

from __future__ import annotations

import os
import pickle
import re
import shutil
import sys
import uuid
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from flinkish.api.connectors.file_sink import FileSink
from flinkish.api.connectors.sink import (
    ForEachBatchDataFrameSink,
    ForEachBatchSink,
    PrintSink,
    Sink,
)
from flinkish.api.display.progress_bar import clear_progress
from flinkish.api.errors import IncompatibleCheckpointError, NotSupportedError
from flinkish.api.functions.runtime_context import TaskInfo
from flinkish.deployment.sink_columns import line_writer, sink_columns
from flinkish.deployment.vertex_plans import shipped_sink
from flinkish.graph.stream_graph import StreamNode
from flinkish.runtime.attribute_changes import AttributeWarnings
from flinkish.runtime.batch_writers import batch_writer, is_written_in_batches
from flinkish.runtime.records.records import Records
from flinkish.runtime.records.rows import RowColumns
from flinkish.runtime.records.user_code import mapped, user_code_of
from flinkish.runtime.sinks.batch_writer import BatchWriter, SendCounts
from flinkish.runtime.sinks.buckets import BUCKET, by_bucket
from flinkish.runtime.sinks.user_sinks import BatchContext, commit, write


class LocalSink(ABC):
    """A sink that is open for writing."""

    @abstractmethod
    def write(self, runs: Sequence[Records], batchId: int) -> SendCounts | None:
        """Write the elements of a batch. Returns the counts of a sink that has any."""

    def close(self) -> None:
        """Called at the end of the job, also after an error."""


class PrintWriter(LocalSink):
    def __init__(self, sink: PrintSink, name: str) -> None:
        self._sink = sink
        self._name = name

    def write(self, runs: Sequence[Records], batchId: int) -> None:
        # Looked up now, as a test or notebook may have replaced the stream
        clear_progress()
        stream = sys.stderr if self._sink.standardError else sys.stdout
        prefix = f"{self._sink.identifier}> " if self._sink.identifier else ""
        lines = mapped(self._name, lambda value: f"{prefix}{value}\n", _values(runs))
        stream.write("".join(lines))
        stream.flush()


class BatchFunction(LocalSink):
    def __init__(self, sink: ForEachBatchSink[Any], name: str) -> None:
        self._sink = sink
        self._name = name

    def write(self, runs: Sequence[Records], batchId: int) -> None:
        values = _values(runs)
        with user_code_of(self._name, partial(list, values)):
            self._sink.function(values, batchId)


class FileWriter(LocalSink):
    """Writes a directory with a file for each batch."""

    def __init__(self, sink: FileSink[Any], node: StreamNode, goesOn: bool) -> None:
        name = node.name
        self._format = sink.format
        self._lines = line_writer(node)
        self._bucketed = sink.bucketAssigner is not None
        self._path = Path(sink.path.removeprefix("file://").removeprefix("file:"))
        unknown = bool(sink.options) if sink.format == "parquet" else self._lines is None
        if "://" in sink.path.removeprefix("file://") or unknown:
            known = "header, sep" if sink.format == "csv" else "(none)"
            raise NotSupportedError(
                f"{name}: local execution writes to this machine's files, and knows the options"
                f" {known} of a FileSink for {sink.format}. Leave setLocalExecution out, or the option."
            )
        sink_columns(node)
        if not goesOn and any(self._path.glob("batch=*")):
            raise IncompatibleCheckpointError(
                f"{name}: {sink.path} holds the output of another run. Give the sink a directory of"
                " its own, or remove that one."
            )

    def write(self, runs: Sequence[Records], batchId: int) -> None:
        directory = self._path / f"batch={batchId}"
        shutil.rmtree(directory, ignore_errors=True)
        if self._bucketed:
            for bucket, parts in by_bucket(runs).items():
                self._write_file(directory / f"{BUCKET}={_escaped(bucket)}", parts)
        else:
            self._write_file(directory, runs)

    def _write_file(self, directory: Path, runs: Sequence[Records]) -> None:
        directory.mkdir(parents=True)
        ending = "txt" if self._format == "text" else self._format
        unfinished = directory / f".part-00000.{ending}"
        if self._lines is None:
            batches = [run.values.batch for run in runs if isinstance(run.values, RowColumns)]
            pq.write_table(pa.Table.from_batches(batches), unfinished)
        else:
            head = self._lines.head
            with unfinished.open("wb") as file:
                file.write(b"" if head is None else f"{head}\n".encode())
                for run in runs:
                    file.write(self._lines.content(run.values))
        os.replace(unfinished, directory / f"part-00000.{ending}")


class UserSinkWriter(LocalSink):
    """A copy of a user's sink, written and committed batch by batch."""

    def __init__(self, sink: Sink[Any], name: str) -> None:
        self._sink = pickle.loads(shipped_sink(name, sink))
        self._name = name
        self._changes = AttributeWarnings()

    def write(self, runs: Sequence[Records], batchId: int) -> None:
        context = BatchContext(TaskInfo(self._name), batchId)
        written = write(self._name, self._sink, runs, context)
        self._changes.warn(written.changes)
        commit(self._name, self._sink, written.prepared, context)


def _escaped(bucket: str) -> str:
    """``bucket`` as part of a directory name, escaped as Hive and Spark do."""
    return _SPECIAL.sub(lambda found: f"%{ord(found[0]):02X}", bucket)


_SPECIAL = re.compile(r"""[\x00-\x1f"#%'*/:=?\\\x7f{}\[\]^]""")


def _values(runs: Sequence[Records]) -> list[Any]:
    return list(chain.from_iterable(run.values for run in runs))


def opened_sink(node: StreamNode, goesOn: bool) -> LocalSink | BatchWriter:
    """The sink of ``node``, open for writing. ``goesOn``: the job begins from a savepoint, so the
    output of the previous run exists."""
    sink = node.content
    assert isinstance(sink, Sink)
    if is_written_in_batches(sink):
        # A local job has no checkpoint, so each run counts as another job
        return batch_writer(sink, node.name, node.uid, uuid.uuid4().hex, "UTC")
    if isinstance(sink, FileSink):
        return FileWriter(sink, node, goesOn)
    if isinstance(sink, PrintSink):
        return PrintWriter(sink, node.name)
    if isinstance(sink, ForEachBatchSink):
        return BatchFunction(sink, node.name)
    if isinstance(sink, ForEachBatchDataFrameSink):
        raise NotSupportedError(
            "forEachBatchDataFrame: a DataFrame is Spark's, and this job runs without Spark. Leave"
            " setLocalExecution out, or call forEachBatch(function), which gets a list."
        )
    if sink.isUsers:
        return UserSinkWriter(sink, node.name)
    raise NotSupportedError(
        f"{type(sink).__name__} is not a sink that local execution can write. Use a FileSink, print(),"
        " or forEachBatch(function), or leave setLocalExecution out."
    )
