"""The metrics of jobs as samples, for OpenTelemetry, and in the text format of Prometheus.

They have the names of Flink's reporters, by which dashboards for Flink find them:
``flink_taskmanager_job_task_operator_numRecordsIn`` and so on. All are gauges, as in Flink's own
reporters: counters of user functions may count down.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from flinkish.api.execution.client import JobStatus
from flinkish.api.execution.details import JobDetails, OperatorDetails, VertexDetails
from flinkish.api.time.elements import MAX_TIMESTAMP
from flinkish.web.rest import job_metrics, operator_metrics, task_metrics

_JOB = "flink.jobmanager.job"
_TASK = "flink.taskmanager.job.task"
_OPERATOR = "flink.taskmanager.job.task.operator"


@dataclass(frozen=True)
class Sample:
    """A metric, its value, and its labels."""

    scope: str
    """The prefix of its name, such as ``flink.taskmanager.job.task``."""
    name: str
    labels: dict[str, str]
    value: float


def samples(jobs: Iterable[JobDetails]) -> Iterator[Sample]:
    """All metrics of all jobs."""
    for details in jobs:
        labels = {"job_id": details.jid, "job_name": details.name}
        for name, value in job_metrics(details).items():
            yield Sample(_JOB, name, labels, value)
        running = float(details.status is JobStatus.RUNNING)
        yield Sample(_JOB, "runningState", labels, running)
        written = details.outputWatermark
        if written is not None and written != MAX_TIMESTAMP:
            yield Sample(_JOB, "outputWatermarkLagMs", labels, details.now - written)
        for vertex in details.vertices:
            yield from _task(vertex, labels)
            for operator in vertex.operators:
                yield from _operator(vertex, operator, labels, details.now)


def _task(vertex: VertexDetails, job: dict[str, str]) -> Iterator[Sample]:
    labels = {**job, "task_id": vertex.id, "task_name": vertex.name, "subtask_index": "0"}
    for name, value in {**task_metrics(vertex), "skew": vertex.skew}.items():
        yield Sample(_TASK, name, labels, value)


def _operator(
    vertex: VertexDetails, operator: OperatorDetails, job: dict[str, str], now: int
) -> Iterator[Sample]:
    metrics = operator.metrics
    labels = {
        **job,
        "task_id": vertex.id,
        "task_name": vertex.name,
        "operator_id": metrics.uid,
        "operator_name": metrics.name,
        "subtask_index": "0",
    }
    values = {
        "currentInputWatermark": metrics.currentWatermark,
        "timers": metrics.timers,
        "stateEntries": metrics.stateEntries,
        "statePages": metrics.statePages,
        **operator_metrics(vertex, operator),
    }
    for name, value in values.items():
        if value is not None:
            yield Sample(_OPERATOR, name, labels, value)
    for group, state in operator.keyedState.items():
        of_group = {**labels, "key_group": str(group)}
        yield Sample(_OPERATOR, "keyGroupStateBytes", of_group, state.bytes)
        yield Sample(_OPERATOR, "keyGroupStateEntries", of_group, state.entries)
    for read in operator.inputs:
        of_input = {**labels, "split" if read.isSplit else "input": read.name}
        if read.currentWatermark is not None:
            yield Sample(_OPERATOR, "inputWatermark", of_input, read.currentWatermark)
        if read.lag is not None:
            yield Sample(_OPERATOR, "inputLagMs", of_input, read.lag)
        yield Sample(_OPERATOR, "inputIdle", of_input, read.idle)
        yield Sample(_OPERATOR, "inputHoldsBack", of_input, read.holdsBack)
        yield Sample(_OPERATOR, "inputUnchangedMs", of_input, max(now - read.since, 0))


CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_:]")


def exposition(jobs: Sequence[JobDetails]) -> str:
    """All metrics of all jobs, as Prometheus reads them."""
    # By labels, as user metrics whose names differ only in characters that Prometheus does not allow become one
    by_name: dict[str, dict[str, float]] = {}
    for sample in samples(jobs):
        name = _NOT_IN_NAMES.sub("_", f"{sample.scope}.{sample.name}")
        by_name.setdefault(name, {})[_labels(sample.labels)] = sample.value
    lines: list[str] = []
    for name, values in sorted(by_name.items()):
        lines.append(f"# TYPE {name} gauge")
        lines += [f"{name}{{{labels}}} {_value(value)}" for labels, value in values.items()]
    return "".join(f"{line}\n" for line in lines)


def _labels(labels: dict[str, str]) -> str:
    return ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _value(value: float) -> str:
    if isinstance(value, bool):
        return str(int(value))
    return repr(value) if isinstance(value, int) else f"{value:.17g}"
