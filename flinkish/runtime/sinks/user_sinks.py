"""Runs the writers and the committer of a user's sink for one batch."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from flinkish.api.connectors.sink import ForEachPartitionSink, Sink
from flinkish.api.connectors.sink_writer import (
    CommitRequest,
    CommitRequestState,
    CommitterInitContext,
    CommittingSinkWriter,
    SinkWriter,
    SinkWriterContext,
    SupportsCommitter,
    WriterInitContext,
)
from flinkish.api.errors import InvalidProgramError, JobExecutionError, shown
from flinkish.api.functions.runtime_context import TaskInfo
from flinkish.runtime.attribute_changes import AttributeChange, FunctionAttributes
from flinkish.runtime.closing import closed_at_end
from flinkish.runtime.records.records import Records, visible_timestamp
from flinkish.runtime.records.user_code import user_code_of, user_method_of

_LOG = logging.getLogger("flinkish")

MOST_RETRIES = 10
"""The number of times that a committer may ask to try again, as in Flink."""

_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0


@dataclass(frozen=True)
class BatchContext(WriterInitContext, CommitterInitContext):
    """The batch that a writer or committer is created for."""

    taskInfo: TaskInfo
    batchId: int

    def getTaskInfo(self) -> TaskInfo:
        return self.taskInfo

    def getBatchId(self) -> int:
        return self.batchId


class _ElementContext(SinkWriterContext):
    elementTimestamp: int

    def timestamp(self) -> int | None:
        return visible_timestamp(self.elementTimestamp)


class Written(NamedTuple):
    """The result of writing a batch in one subtask."""

    prepared: Collection[Any]
    """The committables, which are still to be committed."""
    changes: Sequence[AttributeChange]
    """The attributes that the writer changed in the sink, or in what that refers to."""


def write(name: str, sink: Sink[Any], runs: Iterable[Records], context: BatchContext) -> Written:
    of_sink = FunctionAttributes(name, sink)
    if isinstance(sink, ForEachPartitionSink):
        _call(name, sink, runs)
        return Written((), of_sink.changes())
    with user_method_of(name, "createWriter()"):
        writer = sink.createWriter(context)
    # The writer itself is created for the batch, so its own attributes may change
    kept = of_sink, FunctionAttributes(name, *type(writer).__mro__)
    prepared = _prepared(name, sink, writer, runs)
    return Written(prepared, list(dict.fromkeys(c for each in kept for c in each.changes())))


def _call(name: str, sink: ForEachPartitionSink[Any], runs: Iterable[Records]) -> None:
    """Call the function of ``forEachPartition``. An error names the last element taken."""
    last: list[Any] = [None]

    def elements() -> Iterator[Any]:
        for run in runs:
            for last[0] in run.values:
                yield last[0]

    with user_code_of(name, lambda: last[0]):
        sink.function(elements())


def _prepared(name: str, sink: Sink[Any], writer: Any, runs: Iterable[Records]) -> Collection[Any]:
    fix = "Let createWriter return one."
    kind = CommittingSinkWriter if isinstance(sink, SupportsCommitter) else SinkWriter
    if not isinstance(writer, kind):
        raise InvalidProgramError(
            f"{name}: createWriter returned {shown(writer)}, which is not a {kind.__name__}. {fix}"
        )
    with closed_at_end(_Closing(name, writer)):
        element = _ElementContext()
        value = None
        with user_code_of(name, lambda: value):
            for run in runs:
                for value, element.elementTimestamp in zip(run.values, run.timestamps.tolist()):
                    writer.write(value, element)
        with user_method_of(name, "flush()"):
            writer.flush(False)
        if not isinstance(writer, CommittingSinkWriter):
            return ()
        with user_method_of(name, "prepareCommit()"):
            return list(writer.prepareCommit())


def commit(name: str, sink: Sink[Any], committables: Iterable[Any], context: BatchContext) -> None:
    """Commit the committables of a batch. Raises JobExecutionError if one fails."""
    requests = [CommitRequest(committable) for committable in committables]
    if not isinstance(sink, SupportsCommitter) or not requests:
        return
    with user_method_of(name, "createCommitter()"):
        committer = sink.createCommitter(context)
    pause = _FIRST_PAUSE
    with closed_at_end(_Closing(name, committer)):
        while requests:
            with user_method_of(name, "commit()"):
                committer.commit(requests)
            for request in requests:
                _check(name, request)
            requests = [r for r in requests if r.state is CommitRequestState.RETRY]
            if requests:
                time.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
            for request in requests:
                request.tryAgain()


def _check(name: str, request: CommitRequest[Any]) -> None:
    committable = shown(request.getCommittable())
    if request.state is CommitRequestState.FAILED:
        raise JobExecutionError(
            f"{name}: {committable} was not committed: {shown(request.reason)}. The batch comes again"
            " when the job is started with the same enableCheckpointing(directory)."
        )
    if request.state is CommitRequestState.RETRY and request.getNumberOfRetries() >= MOST_RETRIES:
        raise JobExecutionError(
            f"{name}: {committable} was not committed in {MOST_RETRIES + 1} tries. The batch comes"
            " again when the job is started with the same enableCheckpointing(directory)."
        )
    if request.reason is not None:
        _LOG.warning("%s: %s is given up: %s", name, committable, shown(request.reason))


@dataclass(frozen=True)
class _Closing:
    name: str
    part: Any

    def close(self) -> None:
        with user_method_of(self.name, "close()"):
            self.part.close()
