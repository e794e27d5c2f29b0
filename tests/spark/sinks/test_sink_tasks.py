"""The work of a task on the rows of a batch for the sinks that workers write; no Spark runs."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from itertools import chain

import pyarrow as pa
import pytest

import flinkish as fl
from flinkish.graph.job_graph import JobGraph
from flinkish.graph.stream_graph import StreamGraph
from flinkish.runtime.records.frames import NO_MARKS, Frame, encode_frame
from flinkish.runtime.records.records import untimed
from flinkish.runtime.task.gates import FrameRow
from flinkish.runtime.task.plan import Subtask
from flinkish.spark.frame_rows import arrow_batch
from flinkish.spark.sinks.jdbc_tasks import JdbcTasks
from flinkish.spark.sinks.sink_tasks import Part, WriteFunction


def row(target: str, gate: int, part: int, sequence: int, *values: object) -> FrameRow:
    data = encode_frame(Frame(untimed(list(values)), NO_MARKS), "test")
    return FrameRow(2, target, 0, gate, part, sequence, 0, data)


def seen(parts: Iterable[Part], subtask: Subtask) -> bytes:
    return pickle.dumps(
        [(p.gate, p.slice, list(chain.from_iterable(run.values for run in p.runs))) for p in parts]
    )


def skips(parts: Iterable[Part], subtask: Subtask) -> bytes:
    return pickle.dumps([part.slice for part in parts])


def written(function: WriteFunction, *batches: pa.RecordBatch) -> list[tuple[str, bytes]]:
    found = [batch.to_pylist() for batch in function(iter(batches))]
    return [(each["target"], each["frame"]) for each in chain.from_iterable(found)]


ROWS = (
    row("a", 0, 1, 0, 1, 2),
    row("a", 0, 1, 1, 3),
    row("a", 0, 4, 0, 4),
    row("a", 1, 4, 0, 5),
    row("b", 0, 0, 0, 6),
    row("c", 0, 0, 0, 7),
)


@pytest.mark.parametrize("cut", range(len(ROWS) + 1))
def test_a_task_gets_the_parts_of_its_sink_in_order_and_leaves_the_rest(cut: int) -> None:
    batches = [arrow_batch(part) for part in (ROWS[:cut], ROWS[cut:]) if part]
    found = written(WriteFunction({"a": seen, "c": skips}, False), *batches)
    assert [target for target, _ in found] == ["a", "b", "c"]
    assert pickle.loads(found[0][1]) == [(0, 1, [1, 2, 3]), (0, 4, [4]), (1, 4, [5])]
    assert found[1][1] == ROWS[4].frame
    assert pickle.loads(found[2][1]) == [0]


def test_what_is_written_already_is_dropped() -> None:
    found = written(WriteFunction({"a": None, "b": None}, False), arrow_batch(ROWS))
    assert [target for target, _ in found] == ["c"]


def test_all_rows_have_one_schema_whatever_spark_knows_of_nulls() -> None:
    batch = arrow_batch(ROWS)
    known = pa.schema([field.with_nullable(field.name != "clock") for field in batch.schema])
    found = list(WriteFunction({"a": seen}, False)(iter([batch.cast(known)])))
    assert {each.schema for each in found} == {batch.schema}
    assert len(found) == 3


def tasks_of(exactly_once: bool, keyed: bool) -> JdbcTasks:
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment()
    stream = env.fromSequence(1, 2).map(lambda n: n)
    if keyed:
        stream = stream.keyBy(lambda n: n).reduce(max)
    builder = fl.JdbcSink.builder().withQueryStatement("INSERT INTO t VALUES (?)", print)
    options = fl.JdbcConnectionOptions("jdbc:postgresql://localhost/shop")
    build = builder.buildExactlyOnce if exactly_once else builder.buildAtLeastOnce
    stream.sinkTo(build(options))
    (vertex,) = JobGraph(StreamGraph.of(env.getTransformations())).sinks
    return JdbcTasks(vertex, "job", 4)


@pytest.mark.parametrize(
    ("exactly_once", "keyed", "tasks"), [(True, True, 4), (True, False, 1), (False, False, 4)]
)
def test_one_task_writes_what_comes_straight_from_a_source_exactly_once(
    exactly_once: bool, keyed: bool, tasks: int
) -> None:
    assert tasks_of(exactly_once, keyed).parallelism == tasks
