"""The details of a job on Spark."""

from __future__ import annotations

import threading
from contextlib import suppress

import pytest

import flinkish as fl
from flinkish.api.connectors.source import CollectionSource
from flinkish.api.display.progress_bar import progress_line
from flinkish.api.execution.read_progress import ReadProgress, SourceBacklog
from flinkish.deployment.status import job_details
from tests.spark.waiting import wait_for

AT = fl.WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(lambda e, t: e[1])
FINAL = 2**63 - 1


def failing(value):
    if value == 3:
        raise ValueError("three <script>alert(1)</script>")
    return value


def windows(env, directory=None):
    env.getConfig().setElementsPerBatch(5)
    if directory is not None:
        env.enableCheckpointing(str(directory))
    data = [(f"k{i % 3}", i) for i in range(15)]
    source = env.fromCollection(data).assignTimestampsAndWatermarks(AT)
    windowed = source.keyBy(lambda e: e[0]).window(fl.TumblingEventTimeWindows.of(5))
    return windowed.reduce(lambda a, b: b).name("windows").uid("windows")


def test_a_job_that_ended_knows_its_graph_its_batches_and_its_records(env, tmp_path, monkeypatch):
    windows(env, tmp_path / "checkpoint").forEachBatch(lambda values, batch: None)
    client = env.executeAsync("seen")
    client.getJobExecutionResult()
    details = client.getJobDetails()
    assert (details.jid, details.name) == (client.getJobID(), "seen")
    assert details.status is fl.JobStatus.FINISHED
    assert details.startTime < (details.endTime or 0) <= details.now
    source, window, sink = details.vertices
    assert source.name == "Source: Collection Source -> Timestamps/Watermarks"
    assert (source.isSource, window.name, sink.isSink) == (True, "windows", True)
    assert (source.numRecordsIn, source.numRecordsOut) == (15, 15)
    assert (window.numRecordsIn, window.numRecordsOut) == (15, 9)
    assert sink.numRecordsIn == 9
    assert sum(window.keyGroups.values()) == 15
    assert 0 < window.busyShare <= 1
    assert window.currentWatermark == FINAL
    assert [(e.source, e.target, e.shipStrategy, e.records) for e in details.edges] == [
        (source.id, window.id, "HASH", 15),
        (window.id, sink.id, "FORWARD", 9),
    ]
    assert [read.currentWatermark for read in window.operators[0].inputs] == [FINAL]
    read = [batch for batch in details.batches if batch.recordsIn]
    assert [batch.recordsIn for batch in read] == [5, 5, 5]
    assert sum(batch.recordsOut for batch in details.batches) == 9
    assert {"addBatch", "walCommit", "queryPlanning", "stages", "sinks"} <= set(read[0].phases)
    assert read[0].phases["stages"] <= read[0].phases["addBatch"] <= read[0].duration
    assert details.checkpoint.completed == len(details.batches)
    assert details.checkpoint.restored is None
    assert details.checkpoint.latest == details.batches[-1]
    assert source.source is not None
    assert source.source.endOffset
    # No clock shows a time before the end of the job
    monkeypatch.setattr(job_details, "clock", lambda: details.startTime - 1)
    details = client.getJobDetails()
    assert details.now == details.endTime >= details.startTime


def test_after_a_restart_the_history_goes_on_and_the_error_is_told(env, tmp_path):
    checkpoint = tmp_path / "checkpoint"
    env.getConfig().setElementsPerBatch(2)
    env.enableCheckpointing(str(checkpoint))
    mapped = env.fromCollection([1, 2, 3, 4]).map(failing).name("careful").uid("careful")
    mapped.forEachBatch(lambda values, batch: None)
    client = env.executeAsync()
    with pytest.raises(fl.UserFunctionError):
        client.getJobExecutionResult()
    (failed,) = client.getJobDetails().exceptions
    assert (failed.type, failed.operator, failed.element) == ("UserFunctionError", "careful", "3")
    assert "three <script>" in failed.message
    assert "in failing" in failed.trace
    first = client.getJobDetails().batches
    assert [batch.id for batch in first] == [0]

    again = env.fromCollection([1, 2, 3, 4]).map(lambda n: n).name("careful").uid("careful")
    again.forEachBatch(lambda values, batch: None)
    client = env.executeAsync()
    client.getJobExecutionResult()
    details = client.getJobDetails()
    assert details.batches[0] == first[0]
    assert [batch.id for batch in details.batches][:2] == [0, 1]
    assert details.checkpoint.restored == 0
    assert details.exceptions == (failed,)


@pytest.fixture(
    params=["local", pytest.param("spark", marks=pytest.mark.rotating("runs many batches"))]
)
def either(request):
    """An environment of local execution, or with every eighth commit on Spark."""
    session = request.getfixturevalue("spark") if request.param == "spark" else None
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment(session)
    return env.setLocalExecution(session is None).setParallelism(2).setMaxParallelism(4)


def test_it_says_which_input_holds_the_watermark_back_and_since_when(either):
    env = either
    fast = env.fromSource(fl.DataGeneratorSource(lambda n: ("k", n * 1_000), elementsPerSecond=20))
    slow = env.fromSource(
        fl.DataGeneratorSource(lambda n: ("k", 5), elementsPerSecond=20), None, "stuck"
    )
    streams = [stream.assignTimestampsAndWatermarks(AT) for stream in (fast, slow)]
    joined = streams[0].union(streams[1]).keyBy(lambda e: e[0])
    counted = joined.window(fl.TumblingEventTimeWindows.of(1_000)).reduce(max).name("windows")
    counted.map(lambda e: e).keyBy(lambda e: e[0]).reduce(max).name("later").forEachBatch(
        lambda values, batch: None
    )
    client = env.executeAsync()
    try:

        def batches():
            return [b for b in client.getJobDetails().batches if b.recordsIn]

        wait_for(lambda: len(batches()) >= 3)
        details = client.getJobDetails()
        operators = {o.metrics.name: o for o in details.operators.values()}
        held, ahead = operators["windows"].inputs
        assert (held.name, held.currentWatermark) == ("Source: stuck", 4)
        assert (held.holdsBack, held.idle) == (True, False)
        assert not ahead.holdsBack
        assert (ahead.currentWatermark or 0) > 4
        assert held.since < ahead.since <= details.now
        for name in ("windows", "later"):
            hold = operators[name].heldBackBy
            assert hold is not None
            assert (hold.operator, hold.split) == ("Source: stuck", None)
            assert (hold.currentWatermark, hold.since) == (4, held.since)
    finally:
        client.cancel()


def test_splits_are_told_apart(either):
    env = either
    env.getConfig().setElementsPerBatch(3)
    elements = [("a", 10), ("b", 30), ("a", 20)]
    source = CollectionSource(elements).withSplits(lambda e: e[0])
    keyed = env.fromSource(source, AT).keyBy(lambda e: e[0])
    keyed.reduce(max).name("highest").forEachBatch(lambda values, batch: None)
    client = env.executeAsync()
    client.getJobExecutionResult()
    (assigner,) = (
        operator
        for operator in client.getJobDetails().operators.values()
        if any(read.isSplit for read in operator.inputs)
    )
    assert {read.name for read in assigner.inputs if read.isSplit} == {"a", "b"}


@pytest.mark.recovery
@pytest.mark.slow("eight batches of Spark, in two runs")
def test_a_job_of_files_says_how_many_it_has_read_also_after_a_restart(env, tmp_path):
    """In lines of progress, of which one comes before the batch's own commit: so it tells of the batches before it."""
    (tmp_path / "in").mkdir()
    for number in range(8):
        (tmp_path / "in" / f"{number}.txt").write_text(f"{number}\n" * 10)
    source = fl.FileSource.forLines(str(tmp_path / "in")).withFilesPerBatch(1)
    fail = True

    def run():
        lines = {}

        def written(values, batch):
            if fail and batch == 3:
                raise OSError("killed")
            assert known.wait(30)
            before = client.getJobDetails().completedBatches

            def told():
                lines[batch] = progress_line(client.getJobDetails())
                return not before or f"files {batch}/8" in lines[batch]

            wait_for(told, seconds=30)

        known = threading.Event()
        env.enableCheckpointing(str(tmp_path / "checkpoint"))
        env.fromSource(source, None, "lines").uid("lines").forEachBatch(written)
        client = env.executeAsync("lines")
        known.set()
        with suppress(fl.UserFunctionError):
            client.getJobExecutionResult()
        return client.getJobDetails(), lines

    details, lines = run()
    assert ", files 2/8, about " in lines[2]
    # Batch 3 was planned, and has not been read
    assert details.vertices[0].source.backlog == SourceBacklog(
        ReadProgress(3, 8, "files"), pendingBytes=100
    )
    fail = False
    details, lines = run()
    assert "first batch" in lines[3]
    assert ", files 5/8, about " in lines[5]
    assert details.vertices[0].source.backlog == SourceBacklog(
        ReadProgress(8, 8, "files", before=3), pendingBytes=0
    )
