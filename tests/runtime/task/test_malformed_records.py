"""Records that a source cannot read go to its side output, or end the task."""

from __future__ import annotations

import cloudpickle
import pytest

from flinkish import FileSource, MalformedRecord, OutputTag, StreamExecutionEnvironment
from flinkish.api.connectors.sink import PrintSink
from flinkish.api.errors import IllegalArgumentError, InvalidProgramError, MalformedRecordError
from flinkish.api.eventtime.watermarks import WatermarkStrategy
from flinkish.api.plan.transformations import SinkTransformation
from flinkish.deployment.vertex_plans import vertex_plan
from flinkish.graph.job_graph import JobGraph
from flinkish.graph.stream_graph import StreamGraph
from flinkish.runtime.metrics_totals import MetricsTotals
from flinkish.runtime.records.frames import decode_frame
from flinkish.runtime.records.records import untimed
from flinkish.runtime.task import writer as record_writer
from flinkish.runtime.task.gates import Slice
from flinkish.runtime.task.plan import TaskSettings
from flinkish.runtime.task.vertex import MALFORMED_A_RUN, SourceTask

BAD = MalformedRecord("in/a.csv", 3, 12, b"x,\xff", "it is not text in UTF-8")
BROKEN = OutputTag[MalformedRecord]("broken")


def task_of(source, *, read=True, strategy=None):
    env = StreamExecutionEnvironment()
    stream = env.fromSource(source, strategy, "clicks")
    ends = [stream.map(str.upper), stream.getSideOutput(BROKEN).map(lambda bad: bad.line)]
    sinks = [
        SinkTransformation(f"Sink {i}", PrintSink(), end.getTransformation())
        for i, end in enumerate(ends[: 1 + read])
    ]
    graph = JobGraph(StreamGraph.of(sinks))
    (vertex,) = graph.sources
    task = SourceTask(
        cloudpickle.loads(cloudpickle.dumps(vertex_plan(vertex))),
        TaskSettings(1, 1, graph.levels, 200, 1),
    )
    names = {sink.uid: sink.head.name for sink in graph.sinks}
    task.open()
    task.begin(Slice(0, 0))
    return task, names


def found(rows, names):
    values = {}
    for row in rows:
        records = decode_frame(row.frame).records
        values.setdefault(names[row.target], []).extend(records.values)
    return values


@pytest.mark.parametrize("strategy", [None, WatermarkStrategy.forMonotonousTimestamps()])
def test_malformed_records_go_to_the_side_output(strategy):
    source = FileSource.forLines("in").withMalformedRecords(BROKEN)
    task, names = task_of(source, strategy=strategy)
    rows = [*task.process(untimed(["a"])), *task.malformed(BAD), *task.process(untimed(["b"]))]
    last, reports = task.finish()
    assert found([*rows, *last], names) == {"Sink 0": ["A", "B"], "Sink 1": [3]}
    metrics = MetricsTotals()
    metrics.add(reports)
    assert metrics.metrics()["Source: clicks"].user == {"numRecordsInErrors": 1}


def test_many_of_them_leave_before_the_end(monkeypatch):
    monkeypatch.setattr(record_writer, "RECORDS_A_FRAME", 100)
    task, names = task_of(FileSource.forLines("in").withMalformedRecords(BROKEN))
    rows = [row for _ in range(MALFORMED_A_RUN) for row in task.malformed(BAD)]
    assert len(found(rows, names)["Sink 1"]) == MALFORMED_A_RUN


def test_without_a_reader_they_are_counted_only():
    task, names = task_of(FileSource.forLines("in").withMalformedRecords(BROKEN), read=False)
    task.malformed(BAD)
    rows, reports = task.finish()
    assert found(rows, names).get("Sink 1") is None
    assert [r.userCounts for r in reports if r.name == "Source: clicks"] == [
        {"numRecordsInErrors": 1}
    ]


def test_without_a_tag_they_are_errors_and_are_not_counted():
    task, _ = task_of(FileSource.forLines("in"), read=False)
    with pytest.raises(MalformedRecordError) as caught:
        task.malformed(BAD)
    assert str(caught.value) == (
        r"Source: clicks: the record 'x,\\xff' at line 3 of in/a.csv does not fit: it is not text in"
        " UTF-8. Fix the file or the schema, or send such records to a side output with"
        " FileSource.withMalformedRecords(OutputTag)."
    )
    _, reports = task.finish()
    assert [(report.name, report.userCounts) for report in reports] == [
        ("Source: clicks", {}),
        ("Map", {}),
    ]


def test_a_record_without_a_line_is_named_by_its_byte():
    assert MalformedRecord("a", None, 12, b"x", "why").position == "byte 12 of a"


def test_mistakes():
    with pytest.raises(InvalidProgramError, match="withMalformedRecords: 'broken' of type str"):
        FileSource.forLines("in").withMalformedRecords("broken")
    with pytest.raises(IllegalArgumentError, match="a Parquet file fits its schema as a whole"):
        FileSource.forParquet("in", "a int").withMalformedRecords(BROKEN)
