"""Operators whose functions run over columns emit what they emit element by element."""

from __future__ import annotations

from random import Random
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from flinkish import OutputTag, ProcessFunction, RichMapFunction, WatermarkStrategy
from flinkish.api.functions.functions import MapFunction
from flinkish.runtime.columns.tracing.column_function import ColumnFunction
from flinkish.runtime.columns.tracing.column_runs import ColumnRuns
from flinkish.runtime.columns.tracing.emitting_function import (
    EmittingFunction,
    ProcessFunctionColumns,
)
from flinkish.runtime.records.records import NO_TIMESTAMP, Records
from flinkish.runtime.records.rows import RowColumns
from flinkish.testing import StreamTestHarness
from tests.column_counts import counted_runs
from tests.runtime.columns.tracing.random_functions import (
    SIDE,
    compiled,
    exactly,
    random_emitter,
    random_function,
    random_rows,
)


def emitted(build, rows, traced):
    """Return the output of a job that gets ``rows`` as columns, or its error."""

    def built(stream):
        config = stream.getExecutionEnvironment().getConfig()
        assert config.isFunctionTracingEnabled()
        if not traced:
            config.disableFunctionTracing()
        return build(stream)

    harness = StreamTestHarness(built)
    records = Records(rows.anew(), np.arange(len(rows), dtype=np.int64) * 1000)
    try:
        harness._inputs[0].output.emitRecords(records)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    harness.endInput()
    operators = harness._chain.operators.values()
    counts = [(operator.metrics.numRecordsIn, operator.output.emitted) for operator in operators]
    return counts, [
        (exactly(element.value), element.timestamp) if hasattr(element, "value") else str(element)
        for element in harness.getOutput()
    ]


def random_job(random):
    """A job of random functions."""
    kept, made, key = (compiled(random_function(random)) for _ in range(3))
    field = random.choice(["x", "i", "b", "s", "d"])
    assigner = random.choice(
        [lambda v, t: v.x * 1000 + t, lambda v, t: t + v.i, lambda v, t: v.w, lambda v, t: v.n]
    )
    strategy = WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(assigner)
    selector = random.choice([lambda v: v[field], lambda v: (v.x % 3, v[field]), key])

    def build(stream):
        timed = stream.assignTimestampsAndWatermarks(strategy)
        named = timed.filter(kept).keyBy(selector).map(lambda v: (v[field], v))
        return named.filter(lambda pair: pair[1].x > -50).map(lambda pair: made(pair[1]))

    return build


@pytest.mark.takes_columns("ColumnFunction")
@given(st.integers(0, 2**32))
@example(1)
def test_random_jobs_emit_the_same_with_and_without_tracing(seed):
    random = Random(seed)
    for _ in range(5):
        build, rows = random_job(random), random_rows(random, 12)
        assert emitted(build, rows, True) == emitted(build, rows, False)


def processed(stream, function):
    """The results of a process function, and those for its side output."""
    results = stream.process(function)
    return results.union(results.getSideOutput(SIDE))


EMITTERS = {
    "v": lambda stream, function: stream.flatMap(function),
    "v, out": lambda stream, function: stream.flatMap(function),
    "v, ctx, out": processed,
}


def emitter_job(function, build):
    def built(stream):
        timed = stream.assignTimestampsAndWatermarks(
            WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(lambda v, t: v.x + t)
        )
        return build(timed, function).filter(lambda pair: pair[1] != 3)

    return built


def check_emitters(seed, count):
    """Return the number of functions, of ``count``, that ran over columns."""
    random, followed = Random(seed), 0
    for _ in range(count):
        arguments = random.choice(list(EMITTERS))
        source, rows = random_emitter(random, arguments), random_rows(random, 12)
        build = emitter_job(compiled(source), EMITTERS[arguments])
        results = []

        def noted(*arguments, results=results):
            results.append(_emitted(*arguments))
            return results[-1]

        with mock.patch.object(EmittingFunction, "_emitted", noted):
            columns = emitted(build, rows, True)
        followed += any(result is not None for result in results)
        assert columns == emitted(build, rows, False), f"{source}\n{list(rows)}"
    return followed


_emitted = EmittingFunction._emitted


@given(st.integers(0, 2**32))
def test_functions_that_emit_any_number_of_results(seed):
    check_emitters(seed, 6)


@pytest.mark.takes_columns("FlatMapColumns", "ProcessFunctionColumns")
def test_functions_that_emit_any_number_of_results_run_over_columns():
    assert check_emitters(1, 25) > 1


class Routes(ProcessFunction):
    """Reads the times of its context and what it opened."""

    def open(self, context):
        self.limit = 1

    def processElement(self, value, ctx, out):
        if value.n > self.limit:
            timers = ctx.timerService()
            times = timers.currentWatermark(), timers.currentProcessingTime()
            out.collect((value.name, ctx.timestamp(), *times))


class SuperRoutes(Routes):
    def processElement(self, value, ctx, out):
        super().processElement(value, ctx, out)


def test_a_process_function_sees_the_times_of_its_elements():
    def build(stream):
        strategy = WatermarkStrategy.forMonotonousTimestamps()
        return stream.assignTimestampsAndWatermarks(
            strategy.withTimestampAssigner(lambda v, t: v.n * 10)
        ).process(Routes())

    with counted_runs() as runs:
        outcomes = [emitted(build, ROWS, traced) for traced in (True, False)]
    assert runs.taken["ProcessFunctionColumns"] == 1
    assert outcomes[0] == outcomes[1]
    assert len(outcomes[0][1]) > 2
    reason = ProcessFunctionColumns(SuperRoutes().processElement).reason
    assert str(reason).startswith("calls super (line")


def test_side_outputs_are_columns_too():
    def split(value, ctx, out):
        if value.n % 2:
            ctx.output(SIDE, (value.name, ctx.timestamp()))
            ctx.output(UNREAD, value.n)
        else:
            out.collect((value.name, value.n))

    with counted_runs() as runs:
        columns = emitted(lambda stream: processed(stream, split), ROWS, True)
    assert runs.taken["ProcessFunctionColumns"] == 1
    assert columns == emitted(lambda stream: processed(stream, split), ROWS, False)
    assert len(columns[1]) > 3
    for other in (
        lambda value, ctx, out: ctx.output("side", value.n),
        lambda value, ctx, out: ctx.output(SIDE, None),
        lambda value, ctx, out: out.collect(ctx.currentWatermark()),
    ):
        assert ProcessFunctionColumns(other).reason is not None
        errors = [emitted(lambda s, f=other: processed(s, f), ROWS, t) for t in (True, False)]
        assert errors[0] == errors[1]


def test_an_element_without_a_timestamp_has_none_in_the_context():
    columns = ProcessFunctionColumns(lambda v, ctx, out: out.collect((v.n, ctx.timestamp())))
    assert columns.process(Records(ROWS.anew(), np.array([1, 2, NO_TIMESTAMP])), 0, 0) is None
    assert columns.process(Records(ROWS.anew(), np.array([1, 2, 3])), 0, 0) is not None


class Twice(MapFunction):
    calls = 0

    def map(self, value):
        return (value.name, value.n * 2)


UNREAD = OutputTag("unread")

ROWS = RowColumns(pa.record_batch({"name": ["a", "b", "a"], "n": [1, 2, 3]}))


def test_a_chain_of_functions_stays_columns(monkeypatch):
    made = []
    monkeypatch.setattr(ColumnRuns, "due", lambda self, values=None: False)
    monkeypatch.setattr(RowColumns, "rows", lambda self: made.append(self))
    monkeypatch.setattr(RowColumns, "passing", lambda self: made.append(self))

    def build(stream):
        doubled = stream.map(Twice()).filter(lambda pair: pair[1] > 2)
        return doubled.map(lambda pair: pair[1] + 1)

    with pytest.raises(TypeError):  # of the sink, which is the first to want an object
        emitted_values(build)
    assert [values.batch.column(0).to_pylist() for values in made] == [[5, 7]]


def emitted_values(build):
    harness = StreamTestHarness(build)
    harness._inputs[0].output.emitRecords(Records(ROWS.anew(), np.zeros(3, dtype=np.int64)))
    return [record.value for record in harness.getOutput()]


def test_the_readers_of_what_was_made_share_no_object():
    def changed(value):
        value[1].append(1)
        return value

    rows = RowColumns(pa.record_batch({"name": ["a"], "list": [[0]]}))

    def build(stream):
        made = stream.map(lambda v: (v.name, v.list))
        return made.map(changed).union(made.map(changed))

    harness = StreamTestHarness(build)
    harness._inputs[0].output.emitRecords(Records(rows, np.zeros(1, dtype=np.int64)))
    assert [record.value for record in harness.getOutput()] == [("a", [0, 1]), ("a", [0, 1])]


def test_a_function_that_is_opened_reads_what_it_opened():
    class Scaled(RichMapFunction):
        def open(self, context):
            self.scale = 10

        def map(self, value):
            return value.n * self.scale

    assert emitted_values(lambda stream: stream.map(Scaled())) == [10, 20, 30]
    function = Scaled()
    assert ColumnFunction(function.map).results(ROWS) is None
    function.open(None)
    assert list(ColumnFunction(function.map).results(ROWS)) == [10, 20, 30]
