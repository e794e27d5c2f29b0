"""Columns check themselves: a fault in tracing ends in the function's own results and a warning."""

from __future__ import annotations

import logging

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from flinkish import (
    AggregateFunction,
    Configuration,
    FileSource,
    KeyedProcessFunction,
    SlidingEventTimeWindows,
    StreamExecutionEnvironment,
    TumblingEventTimeWindows,
    ValueStateDescriptor,
    WatermarkGenerator,
    WatermarkStrategy,
)
from flinkish.runtime.records.records import NO_TIMESTAMP, Records
from flinkish.runtime.records.rows import RowColumns
from flinkish.runtime.tracing import column_runs, kernels
from flinkish.runtime.tracing.checks import chosen, same
from flinkish.runtime.tracing.column_fold import ColumnFold
from flinkish.runtime.tracing.column_function import ColumnFunction
from flinkish.runtime.tracing.column_runs import counted_runs, forget_differences
from flinkish.runtime.tracing.event_fold import EventFold
from flinkish.runtime.tracing.pair_function import PairMap
from flinkish.testing import StreamTestHarness

NAN = float("nan")


@pytest.fixture(autouse=True)
def _forgotten():
    forget_differences()
    yield
    forget_differences()


def batch(**columns):
    return pa.RecordBatch.from_pydict(columns)


def emitted(build, batches, traces=True, checks=4, timed=True):
    """What a job emits of ``batches``, whose column t is the time."""

    def built(stream):
        config = stream.getExecutionEnvironment().getConfig().setColumnChecks(checks)
        if not traces:
            config.disableFunctionTracing()
        return build(stream)

    harness = StreamTestHarness(built)
    for part in batches:
        times = np.full(part.num_rows, NO_TIMESTAMP)
        if timed:
            times = part.column("t").to_numpy()
        harness._inputs[0].output.emitRecords(Records(RowColumns(part), times))
        for operator in harness._chain.operators.values():
            operator.onPeriodicEmit()
    harness.endInput()
    return [repr(element) for element in harness.getOutput() if hasattr(element, "value")]


def caught(build, batches, caplog, **settings):
    """Asserts that a fault is seen: the results are those of the function, and a warning says so. And that it is a
    fault: without checks the results differ."""
    right = sorted(emitted(build, batches, traces=False, **settings))
    assert sorted(emitted(build, batches, checks=0, **settings)) != right
    assert not caplog.records
    with caplog.at_level(logging.WARNING, "flinkish.columns"):
        assert sorted(emitted(build, batches, **settings)) == right
    (record,) = caplog.records
    message = record.getMessage()
    assert "has left the columns" in message
    return message


def faulty_minus(monkeypatch):
    """A kernel that computes something else than Python."""
    right = kernels.Run._compute

    def wrong(self, expression):
        computed = right(self, expression)
        if getattr(expression, "name", "") == "-":
            return kernels.Values(computed.kind, computed.array(self.count) + 1)
        return computed

    monkeypatch.setattr(kernels.Run, "_compute", wrong)


ROWS = batch(k=["a", "b", "a"], n=[5, 6, 9], t=[1, 2, 3])


@pytest.mark.parametrize(
    "build",
    [
        lambda s: s.map(lambda r: r.n - 1),
        lambda s: s.filter(lambda r: r.n - 1 > 5),
        lambda s: s.flatMap(lambda r, out: out.collect((r.n - 1, r.k))),
        lambda s: s.flatMap(lambda r: [r.n - 1, r.n]),
        lambda s: s.process(lambda r, ctx, out: out.collect(r.n - ctx.timestamp())),
        lambda s: s.keyBy(lambda r: r.n - 1).map(lambda r: r.n - 1),
        lambda s: s.assignTimestampsAndWatermarks(
            WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(
                lambda r, t: r.t * 1000 - 1
            )
        ),
    ],
)
def test_a_wrong_kernel_is_seen(build, monkeypatch, caplog):
    faulty_minus(monkeypatch)
    right = sorted(emitted(build, [ROWS], traces=False))
    assert sorted(emitted(build, [ROWS], checks=0)) != right
    with caplog.at_level(logging.WARNING, "flinkish.columns"):
        assert sorted(emitted(build, [ROWS])) == right
    assert caplog.records
    assert "test_checks.py, line" in caplog.records[0].getMessage()


class Sums(AggregateFunction):
    def createAccumulator(self):
        return (0, 0)

    def add(self, value, accumulator):
        return (accumulator[0] + (value.n - 1), accumulator[1] + 1)

    def getResult(self, accumulator):
        return accumulator[0] / accumulator[1]

    def merge(self, a, b):
        return (a[0] + b[0], a[1] + b[1])


WINDOWS = [TumblingEventTimeWindows.of(1000), SlidingEventTimeWindows.of(1000, 500)]


@pytest.mark.parametrize("windows", WINDOWS)
def test_a_wrong_fold_is_seen(windows, monkeypatch, caplog):
    faulty_minus(monkeypatch)
    message = caught(lambda s: s.keyBy("k").window(windows).aggregate(Sums()), [ROWS, ROWS], caplog)
    assert message.startswith("Sums (test_checks.py, line")
    assert "raises" not in message


@pytest.mark.parametrize("windows", WINDOWS)
def test_a_wrong_fold_of_a_large_group_is_seen(windows, monkeypatch, caplog):
    faulty_minus(monkeypatch)
    count = 10_000
    many = batch(k=["a"] * count, n=list(range(count)), t=[1] * count)
    caught(lambda s: s.keyBy("k").window(windows).aggregate(Sums()), [many], caplog)


REDUCED = [
    lambda s: s.keyBy("k").window(WINDOWS[0]).reduce(lambda p, q: p if p.x > q.x else q),
    lambda s: s.keyBy("k").window(WINDOWS[0]).min("x"),
    lambda s: s.keyBy("k").window(WINDOWS[1]).min("x"),
]


@pytest.mark.parametrize("build", REDUCED)
def test_a_wrong_join_of_reduced_parts_is_seen(build, monkeypatch, caplog):
    """Where one batch could not be folded as columns, and the next was."""
    monkeypatch.setattr(ColumnFold, "_joined", lambda self, folded, one, other: one)
    first = batch(k=["a"], t=[1], x=[NAN])
    caught(build, [first, batch(k=["a", "a"], t=[1, 1], x=[1.0, 2.0])], caplog)


@pytest.mark.parametrize("build", REDUCED)
def test_parts_that_cannot_be_joined_are_reduced_by_the_function(build, monkeypatch, caplog):
    def refusing(self, folded, one, other):
        raise AssertionError(f"{one!r} was not folded")

    monkeypatch.setattr(ColumnFold, "_joined", refusing)
    two = [batch(k=["a"], t=[1], x=[NAN]), batch(k=["a", "a"], t=[1, 1], x=[5.0, 1.0])]
    with pytest.raises(Exception, match="was not folded"):
        emitted(build, two, checks=0)
    with caplog.at_level(logging.WARNING, "flinkish.columns"):
        assert sorted(emitted(build, two)) == sorted(emitted(build, two, traces=False))
    (record,) = caplog.records
    assert "joining columns gave AssertionError" in record.getMessage()


def test_an_add_that_returns_none_is_refused_over_columns_too():
    class Last(AggregateFunction):
        def createAccumulator(self):
            return 0

        def add(self, value, accumulator):
            return value.n

        def getResult(self, accumulator):
            return accumulator

        def merge(self, a, b):
            return b

    rows = batch(k=["a", "a"], t=[1, 1], n=[1, None])
    with pytest.raises(Exception, match="returned None"):
        emitted(lambda s: s.keyBy("k").window(WINDOWS[0]).aggregate(Last()), [rows])


class Differences(KeyedProcessFunction):
    def open(self, openContext):
        self.last = self.getRuntimeContext().getState(ValueStateDescriptor("last", default=0))

    def processElement(self, value, ctx, out):
        self.last.update(self.last.value() + (value.n - 1))
        if value.n > 1990:
            out.collect((ctx.getCurrentKey(), self.last.value()))


def test_a_wrong_keyed_process_is_seen_and_its_state_is_as_before(monkeypatch, caplog):
    faulty_minus(monkeypatch)
    count = 2000
    rows = batch(k=["a", "b"] * (count // 2), n=list(range(count)), t=[1] * count)
    caught(lambda s: s.keyBy("k").process(Differences()), [rows, rows], caplog)


def test_a_keyed_process_that_agrees_keeps_its_state(caplog):
    count = 2000
    rows = batch(k=["a", "b"] * (count // 2), n=list(range(count)), t=[1] * count)
    build = lambda s: s.keyBy("k").process(Differences())  # noqa: E731
    with counted_runs() as runs:
        traced = emitted(build, [rows, rows, rows])
    assert runs.taken["ProcessFold"] == 3
    assert sorted(traced) == sorted(emitted(build, [rows, rows, rows], traces=False))
    assert not caplog.records


def test_a_wrong_generator_is_seen(monkeypatch):
    class Highest(WatermarkGenerator):
        def __init__(self):
            self.highest = 0

        def onEvent(self, event, eventTimestamp, output):
            self.highest = max(self.highest, eventTimestamp - 1)

        def onPeriodicEmit(self, output):
            pass

    generator = Highest()
    fold = EventFold(generator)
    assert fold.note(RowColumns(ROWS), np.array([3, 9, 4]))
    assert generator.highest == 8
    faulty_minus(monkeypatch)
    assert not fold.note(RowColumns(ROWS), np.array([3, 19, 4]))
    assert generator.highest == 8
    assert "where columns gave [19]" in fold.runs.difference


def test_a_wrong_pair_is_seen(monkeypatch):
    faulty_minus(monkeypatch)
    pairs = PairMap(lambda one, two: (one.n - 1, two.n))
    everyone = np.arange(3)
    assert pairs.results(RowColumns(ROWS), everyone, RowColumns(ROWS), everyone) is None
    assert "where columns gave (5, 5)" in pairs.runs.difference


# ---------------------------------------------------------------------- what leaves the columns


def test_a_function_that_has_left_the_columns_stays_away(monkeypatch):
    def minus(row):
        return row.n - 1

    with monkeypatch.context() as faulty:
        faulty_minus(faulty)
        first = ColumnFunction(minus)
        assert first.results(RowColumns(ROWS)) is None
    assert first.results(RowColumns(ROWS)) is None
    again = ColumnFunction(minus)
    assert again.results(RowColumns(ROWS)) is None
    assert again.runs.difference == first.runs.difference == again.reason
    assert "gives 4 for Row(k='a', n=5, t=1), where columns gave 5" in again.reason


def test_explain_says_that_a_function_has_left_the_columns(monkeypatch):
    def minus(row):
        return row.n - 1

    faulty_minus(monkeypatch)
    ColumnFunction(minus).results(RowColumns(ROWS))
    env = StreamExecutionEnvironment()
    env.fromElements(1).map(minus).print()
    assert "Map: element by element, as it gives 4 for Row(k='a', n=5, t=1)" in env.explain()


# ---------------------------------------------------------------------- which, and what is the same


@pytest.mark.parametrize(
    ("one", "other"),
    [(1, True), (1, 1.0), (0.0, -0.0), ((1,), [1]), ("1", 1), (None, False), ((1, NAN), (1, 2.0))],
)
def test_values_that_only_look_alike_differ(one, other):
    assert not same(one, other)
    assert same(one, one)
    assert same(other, other)


def test_rows_with_nulls_and_nan_are_chosen_before_others():
    count = 3000
    floats = np.ones(count)
    floats[1234] = NAN
    nulls = [None if place == 777 else place for place in range(count)]
    rows = RowColumns(batch(x=floats, n=nulls))
    places = chosen(rows, 4, 0)
    assert {1234, 777} <= set(places.tolist())
    assert set(chosen(RowColumns(batch(n=np.arange(count))), 4, 0).tolist()) >= {0, count - 1}
    assert chosen(rows, 4, 7).tolist() == chosen(rows, 4, 7).tolist()


def test_a_run_with_nulls_where_there_were_none_is_checked():
    runs = column_runs.ColumnRuns("ColumnFunction", len)
    plain, nulls = RowColumns(batch(n=[1, 2])), RowColumns(batch(n=[1, None]))
    due = [runs.due(2, plain) for _ in range(100)]
    assert sum(due) < 12
    assert all(due[:4])
    assert runs.due(2, nulls)


def test_no_function_is_called_without_checks(monkeypatch):
    def refusing(*_):
        raise AssertionError("checked")

    monkeypatch.setattr("flinkish.runtime.tracing.column_function.difference_of", refusing)
    assert len(emitted(lambda s: s.map(lambda r: r.n - 1), [ROWS], checks=0)) == 3


def test_the_metrics_of_a_job_count_runs_and_tell_what_left_the_columns(tmp_path, monkeypatch):
    pq.write_table(pa.Table.from_batches([ROWS]), tmp_path / "rows.parquet")

    def minus(row):
        return row.n - 1

    def functions_of_map():
        env = StreamExecutionEnvironment()
        env.setLocalExecution()
        env.configure(Configuration({"pipeline.column-checks": 2}))
        source = FileSource.forParquet(str(tmp_path), "k STRING, n BIGINT, t BIGINT")
        rows = env.fromSource(source, WatermarkStrategy.noWatermarks(), "rows")
        rows.map(minus).print()
        (found,) = env.execute().getMetrics()["Map"].functions
        return found

    found = functions_of_map()
    assert (found.runsOverColumns, found.runsElementByElement, found.difference) == (1, 0, None)
    assert found.function.endswith(f"line {minus.__code__.co_firstlineno})")
    faulty_minus(monkeypatch)
    found = functions_of_map()
    assert (found.runsOverColumns, found.runsElementByElement) == (0, 1)
    assert "where columns gave" in found.difference
