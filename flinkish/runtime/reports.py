"""The reports that a task sends with each batch: an ``OperatorReport`` for each of its operators.

The driver cannot ask a worker for its metrics, so each task sends its reports along with its
output.
"""

from __future__ import annotations

import gc
import os
import pickle
import resource
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from flinkish.api.errors import elements_hidden
from flinkish.api.metrics import HistogramStatistics
from flinkish.api.time.elements import MIN_TIMESTAMP
from flinkish.runtime.attribute_changes import AttributeChange
from flinkish.runtime.columns.tracing.column_runs import RunReport
from flinkish.runtime.sinks.batch_writer import SendCounts

_NAME = 100

SOURCE_PART = -1
"""The key group in the reports of sinks and of a source's partitions, which have none."""


class InputReport(NamedTuple):
    """The watermark of one input of an operator, or of one split, and whether that is idle.
    ``name`` is the name of the input's gate, or the split as text."""

    name: str
    isSplit: bool
    watermark: int
    idle: bool
    lastTimestamp: int | None = None
    """The highest timestamp of the elements of a split in this batch; None if none came."""


def split_name(split: object, number: int) -> str:
    """A split as text to show; its number if elements, of which it may be part, are hidden."""
    if elements_hidden():
        return f"split {number + 1} (hidden)"
    text = str(split)
    return text if len(text) <= _NAME else f"{text[:_NAME]}..."


class EdgeReport(NamedTuple):
    """The records that a task wrote to an edge in this batch, and their highest timestamp."""

    target: str
    name: str
    records: int
    lastTimestamp: int = MIN_TIMESTAMP
    """The highest timestamp of the records; the minimum if none has one."""


class LogReport(NamedTuple):
    """A record that user code has logged. ``created`` is in seconds since the epoch."""

    operator: str
    logger: str
    level: int
    message: str
    created: float


class WorkerReport(NamedTuple):
    host: str
    process: int
    residentBytes: int
    peakBytes: int
    processorSeconds: float
    collections: int


_HOST = socket.gethostname()
_PAGE_BYTES = resource.getpagesize()

_WORKER_SECONDS = 1.0
"""The most seconds that a process's numbers are kept: reading them is expensive."""

_read: tuple[float, WorkerReport] | None = None


def this_worker() -> WorkerReport:
    """The report of this process, which may be up to a second old."""
    global _read
    now = time.monotonic()
    # The id is compared, as Spark forks workers from a process that may have read its own numbers
    if _read is None or now - _read[0] > _WORKER_SECONDS or _read[1].process != os.getpid():
        _read = now, _this_worker()
    return _read[1]


def _this_worker() -> WorkerReport:
    used = resource.getrusage(resource.RUSAGE_SELF)
    peak = used.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    try:
        resident = int(_STATUS.read_text().split()[1]) * _PAGE_BYTES
    except OSError:  # not on Linux
        resident = peak
    collections = sum(generation["collections"] for generation in gc.get_stats())
    seconds = used.ru_utime + used.ru_stime
    return WorkerReport(_HOST, os.getpid(), resident, peak, seconds, collections)


_STATUS = Path("/proc/self/statm")


class OperatorReport(NamedTuple):
    """The metrics of one operator in one key group and batch. ``numRecordsIn`` to
    ``numLateRecordsDropped`` count this batch only. ``watermark`` to ``nextProcessingTime``
    describe the operator after the batch."""

    uid: str
    name: str
    keyGroup: int
    numRecordsIn: int = 0
    numRecordsOut: int = 0
    numLateRecordsDropped: int = 0
    watermark: int = MIN_TIMESTAMP
    timers: int = 0
    stateEntries: int = 0
    statePages: int = 0
    nextProcessingTime: int | None = None
    userCounts: Mapping[str, float] = {}
    userGauges: Mapping[str, float] = {}
    userHistograms: Mapping[str, HistogramStatistics] = {}
    states: tuple[tuple[str, str, str], ...] = ()
    """The states that the operator's functions use: name, kind and type of each."""
    inputs: tuple[InputReport, ...] = ()
    """The inputs, if the operator is the vertex's first, and the splits it distinguishes."""
    edges: tuple[EdgeReport, ...] = ()
    """The edges from the vertex to others, if the vertex begins with the operator."""
    busyNanoseconds: int = 0
    """The working time of the vertex, if the vertex begins with the operator."""
    logs: tuple[LogReport, ...] = ()
    """What the functions of the vertex have logged, if the operator is its first."""
    userMeters: tuple[str, ...] = ()
    """The names in ``userCounts`` that are those of meters."""
    idle: bool = False
    """If splits are divided: whether all splits of the key group are idle, or it has none."""
    accumulators: tuple[tuple[str, str, bytes], ...] = ()
    """The name, the id and the pickled value of each accumulator that has changed."""
    columnRuns: tuple[RunReport, ...] = ()
    """The runs that functions processed over columns or by element, in this batch."""
    vertex: str = ""
    """The uid of the vertex. An operator after a union is chained into several vertices."""
    openWindows: int = 0
    """The number of windows with contents, counted for each key."""
    touchedPages: int = 0
    """The number of pages of the operator's state that were read or written in this batch."""
    touchedBytes: int = 0
    """The size of these pages in bytes."""
    stacks: tuple[tuple[tuple[str, ...], int], ...] = ()
    """The stacks sampled in the vertex, and the time (ms) in each, if the batch is profiled."""
    worker: WorkerReport | None = None
    """The process that the vertex ran in, if the vertex begins with the operator."""
    keys: tuple[tuple[str, int], ...] = ()
    """The keys with the most records, with their numbers, if the batch is profiled."""
    onlyNulls: bool = False
    """Whether all records that were emitted in this batch are None."""


RECORDS_SEND = "numRecordsSend"
"""Flink's name for the count of records that a sink has sent."""

SEND_ERRORS = "numRecordsSendErrors"
"""Flink's name for refused records; appended, a dot and the partition count its own."""

BACK_PRESSURED = "backPressuredTimeMs"
"""The name of the count of milliseconds that a sink has waited until it could send more."""


def sink_report(
    uid: str, name: str, counts: SendCounts, errors: Mapping[str, int] = MappingProxyType({})
) -> OperatorReport:
    """The report of a sink on a batch. ``errors`` is the number of refused records by partition."""
    found: dict[str, float] = {RECORDS_SEND: counts.sent}
    if counts.backPressuredMillis is not None:
        found[BACK_PRESSURED] = counts.backPressuredMillis
        found[SEND_ERRORS] = sum(errors.values())
    found |= {f"{SEND_ERRORS}.{partition}": count for partition, count in errors.items()}
    return OperatorReport(uid, name, SOURCE_PART, numRecordsIn=counts.received, userCounts=found)


def encode_reports(reports: list[OperatorReport], changes: Sequence[AttributeChange] = ()) -> bytes:
    """Reports, and the attributes that user functions have changed, as bytes."""
    return pickle.dumps((reports, list(changes)), protocol=5)


def decode_reports(data: bytes) -> tuple[list[OperatorReport], list[AttributeChange]]:
    reports, changes = pickle.loads(data)
    return reports, changes
