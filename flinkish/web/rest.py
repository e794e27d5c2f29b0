"""The documents of Flink's REST interface, built from ``JobDetails``, with Flink's names.

What flinkish does not have (task managers, slots, bytes) is left out, or is zero where clients of Flink need it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from flinkish.api.display.holds import is_held, waits_for
from flinkish.api.display.job_drawing import PHASES, read_so_far, recent_rate
from flinkish.api.execution.client import JobStatus
from flinkish.api.execution.details import (
    BatchDetails,
    ExceptionDetails,
    JobDetails,
    OperatorDetails,
    VertexDetails,
)

_MOST_BATCHES = 600
"""The number of batches that a job keeps."""

_ELSEWHERE = ("batches", "operatorBatches", "profile", "workers")
"""The parts of the details of a job that have separate documents."""

_STATES = (
    "created",
    "scheduled",
    "deploying",
    "running",
    "finished",
    "canceling",
    "canceled",
    "failed",
    "reconciling",
    "initializing",
)


def config(version: str) -> dict[str, Any]:
    """``/config``."""
    return {
        "refresh-interval": 1000,
        "timezone-name": time.tzname[0],
        "timezone-offset": -time.timezone * 1000,
        "flink-version": f"flinkish {version}",
        "flink-revision": "",
        "features": {"web-submit": False, "web-cancel": True, "web-history": False},
    }


def overview(jobs: Sequence[JobDetails], version: str) -> dict[str, Any]:
    """``/overview``."""
    states = [job.status for job in jobs]
    return {
        "taskmanagers": 0,
        "slots-total": 0,
        "slots-available": 0,
        "jobs-running": sum(not state.isGloballyTerminalState() for state in states),
        "jobs-finished": states.count(JobStatus.FINISHED),
        "jobs-cancelled": states.count(JobStatus.CANCELED),
        "jobs-failed": states.count(JobStatus.FAILED),
        "flink-version": f"flinkish {version}",
        "flink-commit": "",
    }


def jobs_overview(jobs: Sequence[JobDetails]) -> dict[str, Any]:
    """``/jobs/overview``."""
    return {
        "jobs": [
            {
                "jid": job.jid,
                "name": job.name,
                "state": job.status.value,
                "start-time": job.startTime,
                "end-time": _end(job),
                "duration": _duration(job),
                "last-modification": job.endTime or job.startTime,
                "tasks": {**_tasks(job), "total": sum(v.parallelism for v in job.vertices)},
            }
            for job in jobs
        ]
    }


def job(details: JobDetails) -> dict[str, Any]:
    """``/jobs/:jobid``."""
    changed = details.endTime or details.startTime
    return {
        "jid": details.jid,
        "name": details.name,
        "isStoppable": details.checkpoint.directory is not None,
        "state": details.status.value,
        "job-type": "STREAMING",
        "start-time": details.startTime,
        "end-time": _end(details),
        "duration": _duration(details),
        "maxParallelism": details.maxParallelism,
        "now": details.now,
        "timestamps": {"CREATED": details.startTime, details.status.value: changed},
        "vertices": [_vertex(details, vertex) for vertex in details.vertices],
        "status-counts": {state.upper(): count for state, count in _tasks(details).items()},
        "plan": plan(details)["plan"],
    }


def plan(details: JobDetails) -> dict[str, Any]:
    """``/jobs/:jobid/plan``."""
    nodes = [
        {
            "id": vertex.id,
            "parallelism": vertex.parallelism,
            "operator": "",
            "operator_strategy": "",
            "description": vertex.name,
            "inputs": [
                {
                    "num": number,
                    "id": edge.source,
                    "ship_strategy": edge.shipStrategy,
                    "exchange": "blocking" if edge.shipStrategy != "FORWARD" else "pipelined",
                }
                for number, edge in enumerate(e for e in details.edges if e.target == vertex.id)
            ],
            "optimizer_properties": {},
        }
        for vertex in reversed(details.vertices)
    ]
    return {"plan": {"jid": details.jid, "name": details.name, "type": "STREAMING", "nodes": nodes}}


def vertex(details: JobDetails, found: VertexDetails) -> dict[str, Any]:
    """``/jobs/:jobid/vertices/:vertexid``, with one subtask: the tasks of a vertex are reported as one."""
    return {
        "id": found.id,
        "name": found.name,
        "parallelism": found.parallelism,
        "maxParallelism": details.maxParallelism,
        "now": details.now,
        "subtasks": [
            {
                "subtask": 0,
                "status": details.status.value,
                "attempt": 0,
                "endpoint": "(driver)",
                "start-time": details.startTime,
                "end-time": _end(details),
                "duration": _duration(details),
                "metrics": _io(found),
            }
        ],
    }


def watermarks(found: VertexDetails) -> list[dict[str, str]]:
    """``/jobs/:jobid/vertices/:vertexid/watermarks``."""
    return [
        {"id": f"{number}.currentInputWatermark", "value": str(operator.metrics.currentWatermark)}
        for number, operator in enumerate(found.operators)
        if operator.metrics.currentWatermark is not None
    ][-1:]


def job_metrics(details: JobDetails) -> dict[str, float]:
    """The metrics of ``/jobs/:jobid/metrics``."""
    latest = details.checkpoint.latest
    return {
        "uptime": _duration(details),
        "runningTime": _duration(details),
        "numRestarts": details.numRestarts,
        "fullRestarts": details.numRestarts,
        "numberOfCompletedCheckpoints": details.checkpoint.completed,
        "numberOfFailedCheckpoints": _failures(details),
        "numberOfInProgressCheckpoints": 0,
        "totalNumberOfCheckpoints": details.checkpoint.completed,
        "lastCheckpointDuration": 0 if latest is None else _checkpoint_duration(latest),
        "lastCheckpointSize": 0 if latest is None else latest.stateBytes,
    }


def vertex_metrics(found: VertexDetails) -> dict[str, float]:
    """The metrics of ``/jobs/:jobid/vertices/:vertexid/metrics``."""
    values = {f"0.{name}": value for name, value in task_metrics(found).items()}
    values["0.accumulateBusyTimeMs"] = found.busyMillis
    if found.currentWatermark is not None:
        values["0.currentInputWatermark"] = found.currentWatermark
    for operator in found.operators:
        metrics, name = operator.metrics, operator.metrics.name.replace(" ", "_")
        own = {
            "currentOutputWatermark": metrics.currentWatermark,
            **operator_metrics(found, operator),
        }
        values.update({f"0.{name}.{k}": v for k, v in own.items() if v is not None})
    return values


def task_metrics(vertex: VertexDetails) -> dict[str, float]:
    """The metrics of the tasks of a vertex, which are reported as one."""
    busy, waited = vertex.busyShare * 1000, vertex.backPressureShare * 1000
    return {
        "numRecordsIn": vertex.numRecordsIn,
        "numRecordsOut": vertex.numRecordsOut,
        "busyTimeMsPerSecond": busy,
        "idleTimeMsPerSecond": 1000 - busy - waited,
        "backPressuredTimeMsPerSecond": waited,
    }


def operator_metrics(vertex: VertexDetails, operator: OperatorDetails) -> dict[str, float | None]:
    """The metrics of an operator, of its functions, and of what it has not read yet."""
    metrics = operator.metrics
    return {
        "numRecordsIn": metrics.numRecordsIn,
        "numRecordsOut": metrics.numRecordsOut,
        "numLateRecordsDropped": metrics.numLateRecordsDropped,
        "openWindows": metrics.openWindows,
        "numRunsOverColumns": sum(f.runsOverColumns for f in metrics.functions),
        "numRunsElementByElement": sum(f.runsElementByElement for f in metrics.functions),
        "numFunctionsLeftColumns": len(metrics.leftColumns),
        **_pending(vertex, operator),
        **metrics.user,
    }


def _pending(vertex: VertexDetails, operator: OperatorDetails) -> dict[str, float | None]:
    """The input that a source has not read yet."""
    if vertex.source is None or operator is not vertex.operators[0]:
        return {}
    backlog = vertex.source.backlog
    return {"pendingRecords": backlog.pendingRecords, "pendingBytes": backlog.pendingBytes}


def selected(values: dict[str, float], names: str | None) -> list[dict[str, str]]:
    """Metrics as Flink lists them: all names, or the requested ones with their values."""
    if names is None:
        return [{"id": name} for name in values]
    return [{"id": n, "value": str(values[n])} for n in names.split(",") if n in values]


def checkpoints(details: JobDetails) -> dict[str, Any]:
    """``/jobs/:jobid/checkpoints``: each batch is a checkpoint. Raises LookupError, as Flink answers, if the
    job takes none."""
    _check_checkpointed(details)
    found, failed = details.checkpoint, _failures(details)
    durations = [_checkpoint_duration(batch) for batch in details.batches]
    sizes = [batch.stateBytes for batch in details.batches]
    return {
        "counts": {
            "restored": int(found.restored is not None),
            "total": found.completed + failed,
            "in_progress": 0,
            "completed": found.completed,
            "failed": failed,
        },
        "summary": {
            "state_size": _summary(sizes),
            "end_to_end_duration": _summary(durations),
        },
        "latest": {
            "completed": None if found.latest is None else _checkpoint(found.latest),
            "savepoint": None,
            "failed": None,
            "restored": None
            if found.restored is None
            else {
                "id": found.restored,
                "restore_timestamp": details.startTime,
                "is_savepoint": False,
                "external_path": found.directory,
            },
        },
        "history": [_checkpoint(batch) for batch in reversed(details.batches[-100:])],
    }


def checkpoint_config(details: JobDetails) -> dict[str, Any]:
    """``/jobs/:jobid/checkpoints/config``."""
    _check_checkpointed(details)
    return {
        "mode": "exactly_once",
        "interval": 0,
        "timeout": 0,
        "min_pause": 0,
        "max_concurrent": 1,
        "externalization": {
            "enabled": details.checkpoint.directory is not None,
            "delete_on_cancellation": details.checkpoint.directory is None,
        },
        "state_backend": "RocksDB",
        "checkpoint_storage": details.checkpoint.directory or "",
    }


def _check_checkpointed(details: JobDetails) -> None:
    if not details.checkpoint.enabled:
        raise LookupError(f"the job {details.jid} runs locally, and takes no checkpoints")


def exceptions(details: JobDetails) -> dict[str, Any]:
    """``/jobs/:jobid/exceptions``."""
    last = details.exceptions[0] if details.exceptions else None
    return {
        "root-exception": None if last is None else _trace(last),
        "timestamp": None if last is None else last.timestamp,
        "all-exceptions": [],
        "truncated": False,
        "exceptionHistory": {
            "entries": [
                {
                    "exceptionName": error.type,
                    "stacktrace": _trace(error),
                    "timestamp": error.timestamp,
                    "taskName": error.operator,
                    "concurrentExceptions": [],
                }
                for error in details.exceptions
            ],
            "truncated": False,
        },
    }


def job_config(details: JobDetails) -> dict[str, Any]:
    """``/jobs/:jobid/config``."""
    return {
        "jid": details.jid,
        "name": details.name,
        "execution-config": {
            "restart-strategy": details.restartStrategy,
            "job-parallelism": details.parallelism,
            "object-reuse-mode": details.settings.get("objectReuse") == "true",
            "user-config": dict(details.settings),
        },
    }


def everything(details: JobDetails) -> dict[str, Any]:
    """``/jobs/:jobid/details``, which Flink does not have: everything but the batches."""
    found = details.checkpoint
    return {
        **{name: value for name, value in vars(details).items() if name not in _ELSEWHERE},
        "status": details.status.value,
        "duration": _duration(details),
        "vertices": [_whole_vertex(details, vertex) for vertex in details.vertices],
        "outputWatermark": details.outputWatermark,
        "waitsFor": waits_for(details),
        "edges": [vars(edge) for edge in details.edges],
        "checkpoint": {**vars(found), "latest": found.latest and vars(found.latest)},
        "exceptions": [vars(error) for error in details.exceptions],
        "phases": PHASES,
        "recordsPerSecond": recent_rate(details),
        "read": read_so_far(details),
    }


def _whole_vertex(details: JobDetails, found: VertexDetails) -> dict[str, Any]:
    document = {**asdict(found), "currentWatermark": found.currentWatermark}
    for operator, told in zip(found.operators, document["operators"]):
        told["isHeld"] = is_held(details, operator)
    return document


def operator_batches(details: JobDetails, uid: str) -> list[dict[str, Any]]:
    """``/jobs/:jobid/operators/:uid/batches``, which Flink does not have: the work of an operator
    in each of the last batches. Raises LookupError if there is no such operator."""
    if uid not in details.operators:
        raise LookupError(f"the job {details.jid} has no operator {uid}")
    return [
        {"id": number, **vars(operators[uid])}
        for number, operators in details.operatorBatches.items()
        if uid in operators
    ]


class EncodedBatches:
    """The batches of a job as JSON. Encoding all of them for each request would take too long, so each is encoded
    once."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[BatchDetails, str]] = {}

    def of(self, batches: Sequence[BatchDetails]) -> str:
        """``batches`` as a list."""
        texts = []
        for batch in batches:
            known = self._known.get(batch.id)
            # By identity, as a batch that is recorded again is another object
            if known is None or known[0] is not batch:
                known = (batch, json.dumps(vars(batch), separators=(",", ":")))
                self._known[batch.id] = known
            texts.append(known[1])
        if len(self._known) > 2 * _MOST_BATCHES:
            self._known = {batch.id: self._known[batch.id] for batch in batches}
        return f"[{','.join(texts)}]"


def _vertex(details: JobDetails, found: VertexDetails) -> dict[str, Any]:
    return {
        "id": found.id,
        "slotSharingGroupId": "",
        "name": found.name,
        "maxParallelism": details.maxParallelism,
        "parallelism": found.parallelism,
        "status": details.status.value,
        "start-time": details.startTime,
        "end-time": _end(details),
        "duration": _duration(details),
        "tasks": {
            state.upper(): found.parallelism if state == details.status.value.lower() else 0
            for state in _STATES
        },
        "metrics": _io(found),
    }


def _io(found: VertexDetails) -> dict[str, Any]:
    return {
        "read-bytes": 0,
        "read-bytes-complete": False,
        "write-bytes": 0,
        "write-bytes-complete": False,
        "read-records": found.numRecordsIn,
        "read-records-complete": True,
        "write-records": found.numRecordsOut,
        "write-records-complete": True,
        "accumulated-backpressured-time": 0,
        "accumulated-idle-time": 0,
        "accumulated-busy-time": found.busyMillis,
    }


def _tasks(details: JobDetails) -> dict[str, int]:
    total = sum(vertex.parallelism for vertex in details.vertices)
    return {state: total if state == details.status.value.lower() else 0 for state in _STATES}


def _failures(details: JobDetails) -> int:
    """The number of failed batches of this run: each is a failed checkpoint."""
    return details.numRestarts + int(details.status is JobStatus.FAILED)


def _end(details: JobDetails) -> int:
    return -1 if details.endTime is None else details.endTime


def _duration(details: JobDetails) -> int:
    return (details.endTime or details.now) - details.startTime


def _checkpoint_duration(batch: BatchDetails) -> int:
    return batch.phases.get("walCommit", 0) + batch.phases.get("commitOffsets", 0)


def _checkpoint(batch: BatchDetails) -> dict[str, Any]:
    return {
        "id": batch.id,
        "status": "COMPLETED",
        "is_savepoint": False,
        "trigger_timestamp": batch.startTime,
        "latest_ack_timestamp": batch.startTime + batch.duration,
        "state_size": batch.stateBytes,
        "end_to_end_duration": _checkpoint_duration(batch),
        "checkpoint_type": "CHECKPOINT",
        "discarded": False,
    }


def _summary(values: Sequence[int]) -> dict[str, int]:
    return {
        "min": min(values, default=0),
        "max": max(values, default=0),
        "avg": round(sum(values) / len(values)) if values else 0,
    }


def _trace(error: ExceptionDetails) -> str:
    return f"{error.type}: {error.message}" + (f"\n{error.trace}" if error.trace else "")
