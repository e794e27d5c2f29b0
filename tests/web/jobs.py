"""Jobs to look at without Spark: clients that tell of details made here, with names that would be markup."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from flinkish.api.execution.client import JobClient, JobExecutionResult, JobStatus, OperatorMetrics
from flinkish.api.execution.details import (
    BatchDetails,
    BatchProfile,
    CheckpointDetails,
    EdgeDetails,
    ExceptionDetails,
    InputDetails,
    JobDetails,
    KeyGroupState,
    OperatorBatch,
    OperatorDetails,
    ProfiledKey,
    ProfiledStack,
    SourceDetails,
    VertexDetails,
    WatermarkHold,
    WorkerDetails,
)
from flinkish.api.execution.read_progress import ReadProgress, SourceBacklog

MARKUP = "<script>document.title='hacked'</script><img src=x onerror=\"document.title='hacked'\">"
_TASK = "WindowOperator.processRecords (flinkish/runtime/windowing/window_operator.py:90)"
FINAL = 2**63 - 1


def details(
    jid: str = "a1",
    status: JobStatus = JobStatus.RUNNING,
    name: str = "clicks by user",
    batches: int = 40,
    directory: str | None = "/data/checkpoint",
) -> JobDetails:
    """A job of two sources, one of which holds the watermark back, windows and a sink."""
    now = round(time.time() * 1000)
    stuck = now - 3_600_000
    metrics = OperatorMetrics(
        "w", "windows", 900, 90, 7, stuck, 12, 34, 5, {"clicks": 9.0}, openWindows=31
    )
    keyed = {0: KeyGroupState(30, 4, 65_000, 27), 1: KeyGroupState(4, 1, 5_000, 4)}
    inputs = (
        InputDetails("Source: slow", False, stuck, False, now - 90_000, True, 3_598_000),
        InputDetails(f"Source: {MARKUP}", False, now - 2_000, False, now - 500, False, 0),
        InputDetails("Source: gone", False, None, True, now - 400_000, False),
    )
    hold = WatermarkHold("Source: slow", None, stuck, now - 90_000)
    return JobDetails(
        jid,
        name,
        status,
        now - 100_000,
        None if status is JobStatus.RUNNING else now - 1_000,
        now,
        2,
        8,
        (
            _source("s0", "Source: slow -> Timestamps/Watermarks", 100, stuck),
            _source("s1", f"Source: {MARKUP}", 800, None),
            VertexDetails(
                "w",
                "windows -> Map",
                1,
                False,
                False,
                2,
                900,
                90,
                0.81,
                4_200,
                2.5,
                {0: 500, 1: 100, 2: 200, 3: 100},
                (
                    OperatorDetails(metrics, inputs, hold, keyedState=keyed),
                    OperatorDetails(OperatorMetrics("m", "Map", 90, 90, 0, stuck), (), hold),
                ),
            ),
            VertexDetails("k", "Print to Std. Out", 2, False, True, 1, 90, 0, 0.0, 0, 1.0, {}, ()),
        ),
        (
            EdgeDetails("s0", "w", "Timestamps/Watermarks", "HASH", 0, None, 100),
            EdgeDetails("s1", "w", f"Source: {MARKUP}", "HASH", 0, None, 800),
            EdgeDetails("w", "k", "Map", "FORWARD", 0, "late", 90),
        ),
        tuple(_batch(number, now) for number in range(batches)),
        CheckpointDetails(directory, batches, _batch(batches - 1, now) if batches else None, 3),
        (
            ExceptionDetails(
                now - 5_000, "UserFunctionError", f"Map: on {MARKUP}", "Map", MARKUP, f"in {MARKUP}"
            ),
        ),
        {"objectReuse": "false"},
        batches,
        operatorBatches={
            number: {"w": OperatorBatch(100, 9, 1, stuck, 12, 34, 2 * number, 70_000, 250)}
            for number in range(batches)
        },
        workers=(WorkerDetails("worker-1", 4711, 90 << 20, 120 << 20, 12.5, 3, batches),),
    )


def _source(uid: str, name: str, records: int, watermark: int | None) -> VertexDetails:
    names = name.split(" -> ")
    operators = [OperatorDetails(OperatorMetrics(uid, names[0], 0, records))]
    operators += [
        OperatorDetails(OperatorMetrics(f"{uid}.{n}", n, records, records, 0, watermark))
        for n in names[1:]
    ]
    backlog = SourceBacklog(ReadProgress(12, 40, "files"), records // 10, 3 << 20)
    source = SourceDetails(None, '{"step":3}', None, backlog)
    return VertexDetails(
        uid, name, 0, True, False, 2, records, records, 0.4, 900, 1.0, {}, tuple(operators), source
    )


def _batch(number: int, now: int) -> BatchDetails:
    phases = {
        "latestOffset": 20,
        "queryPlanning": 60,
        "walCommit": 30,
        "addBatch": 300 + 10 * (number % 7),
        "stages": 250 + 10 * (number % 7),
        "sinks": 40,
        "commitOffsets": 30,
    }
    took = 450 + 10 * (number % 7)
    if number == 0:  # the first batch is slow
        took, phases["stages"] = 30_000, 29_000
    # Started again before batch 12, and without a batch for a minute before batch 25
    began = now - 1_000 * (60 - number) - (60_000 if number < 25 else 0)
    return BatchDetails(
        number,
        began,
        took,
        phases,
        100,
        9,
        1,
        1.5,
        70_000,
        2 * number,
        90_000 * number,
        number >= 12,
    )


PROFILE = BatchProfile(
    39,
    1_767_225_600_000,
    2,
    (
        ProfiledStack("w", (_TASK, "Slow.reduce (jobs/clicks.py:12)"), 70),
        ProfiledStack("w", (_TASK, "Slow.reduce (jobs/clicks.py:12)", f"{MARKUP} (a.py:1)"), 20),
        ProfiledStack("w", (_TASK,), 10),
        ProfiledStack("s0", (_TASK, "parsed (jobs/clicks.py:3)"), 5),
    ),
    (ProfiledKey("w", 3, MARKUP, 700), ProfiledKey("w", 1, "'ada'", 20)),
)


class Client(JobClient):
    """A client that tells of ``details``, and notes what it is asked to do."""

    def __init__(self, told: JobDetails) -> None:
        self.told = told
        self.asked: list[str] = []

    def getJobID(self) -> str:
        return self.told.jid

    def getJobStatus(self) -> JobStatus:
        return self.told.status

    def getMetrics(self) -> dict[str, Any]:
        return {}

    def getJobDetails(self) -> JobDetails:
        return self.told

    def cancel(self) -> None:
        self.asked.append("cancel")
        self.told = details(self.told.jid, JobStatus.CANCELED)

    def stopWithSavepoint(self, savepointDirectory: str | None = None) -> str:
        self.asked.append("stop")
        self.told = details(self.told.jid, JobStatus.CANCELED)
        return savepointDirectory or "/data/checkpoint"

    def triggerSavepoint(self, savepointDirectory: str) -> str:
        self.asked.append("savepoint")
        return savepointDirectory

    def profileBatch(self) -> None:
        self.asked.append("profile")
        self.told = replace(self.told, profile=PROFILE)

    def getJobExecutionResult(self, timeout: float | None = None) -> JobExecutionResult:
        return JobExecutionResult(self.told.name, self.told.jid, 1, {})


def flights() -> JobDetails:
    """A job with plain names, for the pictures of the documentation."""
    told = details("5f1c0d2a7be94c3f", name="delays by airport")
    now = told.now
    event_time = now - 420_000
    first, second, windows, sink = told.vertices

    def named(
        vertex: VertexDetails, *names: str, watermark: int | None = event_time
    ) -> VertexDetails:
        operators = tuple(
            replace(
                operator,
                metrics=replace(operator.metrics, name=name, currentWatermark=watermark),
                inputs=tuple(
                    replace(read, name=_PLAIN.get(read.name, read.name))
                    for read in operator.inputs[:2]
                ),
                heldBackBy=operator.heldBackBy
                and replace(
                    operator.heldBackBy, operator="Source: weather", currentWatermark=watermark
                ),
            )
            for operator, name in zip(vertex.operators, names)
        )
        return replace(vertex, name=" -> ".join(names), operators=operators)

    names = {"s0": "Source: weather", "s1": "Source: flights", "w": "mean delay"}
    profile = replace(
        PROFILE,
        stacks=tuple(
            ProfiledStack(vertex, calls, samples)
            for vertex, calls, samples in (
                ("w", (_TASK, "MeanDelay.add (jobs/delays.py:21)"), 42),
                ("w", (_TASK, "MeanDelay.add (jobs/delays.py:21)", "hour_of (jobs/delays.py:9)"), 31),
                ("w", (_TASK, "MeanDelay.add (jobs/delays.py:21)", "hour_of (jobs/delays.py:9)", "strptime (lib/_strptime.py:309)"), 77),
                ("w", (_TASK, "MeanDelay.getResult (jobs/delays.py:27)"), 18),
                ("w", (_TASK, "Output.collect (flinkish/runtime/operators/output.py:88)"), 25),
                ("s1", ("MapOperator.processRecords (flinkish/runtime/operators/one_input.py:60)", "parsed (jobs/delays.py:4)"), 30),
            )
        ),
    )  # fmt: skip
    return replace(
        told,
        vertices=(
            named(first, names["s0"], "Timestamps/Watermarks", watermark=event_time - 900_000),
            named(second, names["s1"]),
            named(windows, names["w"], "Map", watermark=event_time - 900_000),
            replace(sink, name="Sink: delays.csv"),
        ),
        edges=tuple(
            replace(edge, operator=names[edge.source], sideOutput=None) for edge in told.edges
        ),
        exceptions=(),
        batches=tuple(
            replace(
                batch, inputLag=min(900_000, 30_000 * batch.id), recordsIn=80 + 37 * batch.id % 40
            )
            for batch in told.batches
        ),
        profile=profile,
    )


_PLAIN = {"Source: slow": "Source: weather", f"Source: {MARKUP}": "Source: flights"}
