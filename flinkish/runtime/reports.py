"""What a task reports with each batch: an ``OperatorReport`` for each of its operators.

A worker cannot be asked for its metrics, so each task sends its reports along with its output.
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
"""Stands for the key group in the reports of a source's partitions."""


class InputReport(NamedTuple):
    """The watermark of one input of an operator, or of one split, and whether it is idle.

    ``name`` is the name of the input's gate, or the split as text.
    """

    name: str
    isSplit: bool
    watermark: int
    idle: bool


def split_name(split: object, number: int) -> str:
    """A split as text to show: its number if elements are hidden, as its text may be part of them."""
    if elements_hidden():
        return f"split {number + 1} (hidden)"
    text = str(split)
    return text if len(text) <= _NAME else f"{text[:_NAME]}..."


class EdgeReport(NamedTuple):
    """How many records a task wrote to an edge that leaves its vertex, in this batch."""

    target: str
    name: str
    records: int


class LogReport(NamedTuple):
    """What user code has logged, and when (s since the epoch)."""

    operator: str
    logger: str
    level: int
    message: str
    created: float


class WorkerReport(NamedTuple):
    """The process of a task."""

    host: str
    process: int
    residentBytes: int
    peakBytes: int
    processorSeconds: float
    collections: int


_HOST = socket.gethostname()
_PAGE_BYTES = resource.getpagesize()


_WORKER_SECONDS = 1.0
"""How old the numbers of a process may be: to read them costs as much as the rest of a small report."""

_read: tuple[float, WorkerReport] | None = None


def this_worker() -> WorkerReport:
    """This process, as it was up to a second ago."""
    global _read
    now = time.monotonic()
    # By its id, as Spark forks its workers from a process that has perhaps read its own
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
    """The metrics of one operator in one key group and batch.

    ``numRecordsIn`` to ``numLateRecordsDropped`` count this batch only; ``watermark`` to
    ``nextProcessingTime`` describe the operator after it.
    """

    uid: str
    name: str
    keyGroup: int
    numRecordsIn: int
    numRecordsOut: int
    numLateRecordsDropped: int
    watermark: int
    timers: int
    stateEntries: int
    statePages: int
    nextProcessingTime: int | None
    userCounts: dict[str, float]
    userGauges: dict[str, float]
    userHistograms: dict[str, HistogramStatistics]
    states: tuple[tuple[str, str, str], ...] = ()
    """The states that its functions use: name, kind and type of each."""
    inputs: tuple[InputReport, ...] = ()
    """Its inputs, if its vertex begins with it, and the splits that it distinguishes."""
    edges: tuple[EdgeReport, ...] = ()
    """The edges that leave its vertex, if the vertex begins with it."""
    busyNanoseconds: int = 0
    """How long its vertex worked, if the vertex begins with it."""
    logs: tuple[LogReport, ...] = ()
    """What the functions of its vertex have logged, if the vertex begins with it."""
    userMeters: tuple[str, ...] = ()
    """Which of ``userCounts`` are those of meters."""
    idle: bool = False
    """Whether all splits of its key group are idle, or there are none, where splits are divided over key groups."""
    accumulators: tuple[tuple[str, str, bytes], ...] = ()
    """The name, the id and, pickled, the value of each accumulator that has changed."""
    columnRuns: tuple[RunReport, ...] = ()
    """The runs that its functions took over columns or element by element, in this batch."""
    vertex: str = ""
    """The uid of its vertex: an operator behind a union is chained into several."""
    openWindows: int = 0
    """How many windows have contents, counted for each key."""
    touchedPages: int = 0
    """How many pages of its state were read or written in this batch."""
    touchedBytes: int = 0
    """The bytes in these pages."""
    stacks: tuple[tuple[tuple[str, ...], int], ...] = ()
    """The stacks sampled in its vertex, and the time (ms) in each, if the batch is profiled."""
    worker: WorkerReport | None = None
    """The process that its vertex ran in, if the vertex begins with it."""
    keys: tuple[tuple[str, int], ...] = ()
    """The keys of its key group with the most records, and how many, if the batch is profiled and it has keys."""


RECORDS_SEND = "numRecordsSend"
"""The name, Flink's, of the count of records that a sink has sent."""


SEND_ERRORS = "numRecordsSendErrors"
"""The name, Flink's, of the count of records that were refused; with a dot and a partition behind it, of those of the
partition."""

BACK_PRESSURED = "backPressuredTimeMs"
"""The name of the count of milliseconds for which a sink has waited until more could be sent."""


def sink_report(
    uid: str, name: str, counts: SendCounts, errors: Mapping[str, int] = MappingProxyType({})
) -> OperatorReport:
    """The report of a sink on a batch; ``errors`` has how many records were refused, by partition."""
    found: dict[str, float] = {RECORDS_SEND: counts.sent}
    if counts.backPressuredMillis is not None:
        found[BACK_PRESSURED] = counts.backPressuredMillis
        found[SEND_ERRORS] = sum(errors.values())
    found |= {f"{SEND_ERRORS}.{partition}": count for partition, count in errors.items()}
    return OperatorReport(
        uid,
        name,
        keyGroup=SOURCE_PART,
        numRecordsIn=counts.received,
        numRecordsOut=0,
        numLateRecordsDropped=0,
        watermark=MIN_TIMESTAMP,
        timers=0,
        stateEntries=0,
        statePages=0,
        nextProcessingTime=None,
        userCounts=found,
        userGauges={},
        userHistograms={},
    )


def encode_reports(reports: list[OperatorReport], changes: Sequence[AttributeChange] = ()) -> bytes:
    """Reports as bytes, with the attributes that user functions have changed."""
    content = [tuple(report) for report in reports], [tuple(change) for change in changes]
    return pickle.dumps(content, protocol=5)


def decode_reports(data: bytes) -> tuple[list[OperatorReport], list[AttributeChange]]:
    """The reports and changes that ``encode_reports`` encoded."""
    reports, changes = pickle.loads(data)
    return (
        [OperatorReport(*fields) for fields in reports],
        [AttributeChange(*fields) for fields in changes],
    )
