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
    Row,
    SlidingEventTimeWindows,
    StreamExecutionEnvironment,
    TumblingEventTimeWindows,
    ValueStateDescriptor,
    WatermarkGenerator,
    WatermarkStrategy,
)
from flinkish.api.errors import FlinkishError
from flinkish.runtime.columns.tracing import (
    column_runs,
    expression_run,
    kernels,
    stand_ins,
    trace,
)
from flinkish.runtime.columns.tracing.checks import chosen, same
from flinkish.runtime.columns.tracing.column_fold import ColumnFold, FoldPlan
from flinkish.runtime.columns.tracing.column_function import ColumnFunction, PairMap
from flinkish.runtime.columns.tracing.combining import Combination
from flinkish.runtime.columns.tracing.event_fold import EventFold
from flinkish.runtime.columns.tracing.expressions import Expressions
from flinkish.runtime.columns.tracing.values import Values
from flinkish.runtime.records.records import NO_TIMESTAMP, Records
from flinkish.runtime.records.rows import RowColumns
from flinkish.testing import StreamTestHarness
from tests.column_counts import counted_runs, forget_differences

NAN = float("nan")


@pytest.fixture(autouse=True)
def _forgotten():
    forget_differences()
    yield
    forget_differences()


def batch(**columns):
    return pa.RecordBatch.from_pydict(columns)


def emitted(build, batches, traces=True, checks=4, timed=True):
    """Return the output of a job for ``batches``, whose column t is the time."""

    def built(stream):
        config = stream.getExecutionEnvironment().getConfig()
        config.setColumnChecks(checks).allowNullKeys()
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
    right = expression_run.Run._compute

    def wrong(self, expression):
        computed = right(self, expression)
        if getattr(expression, "name", "") == "-":
            return Values(computed.kind, computed.array(self.count) + 1)
        return computed

    monkeypatch.setattr(expression_run.Run, "_compute", wrong)


ROWS = batch(k=["a", "b", "a"], n=[5, 6, 9], t=[1, 2, 3])


FLAGS = batch(
    k=["a", "b", "a", "b"], f=[True, None, False, None], n=[1, 2, None, 4], t=[1, 2, 3, 4]
)


def truths_are_handed_on(monkeypatch):
    """Undoes that the truth of a null is False."""
    right = Expressions.choice

    def choice(self, condition, then, otherwise):
        same = getattr(then, "value", 0) is True and getattr(otherwise, "value", 0) is False
        return condition if same else right(self, condition, then, otherwise)

    monkeypatch.setattr(Expressions, "choice", choice)


def nobody_tests_none(monkeypatch):
    """Undoes that a function which asks for None is not given nulls as columns."""
    monkeypatch.setattr(trace, "tests_none", lambda code: False)


def equal_is_never_the_same(monkeypatch):
    """Undoes that a NaN which may be the same object is left to Python."""
    monkeypatch.setitem(kernels.KERNELS, "== or same", kernels._EQUAL)


def timestamps_are_not_read(monkeypatch):
    """Undoes that asking whether there is a timestamp reads it."""
    monkeypatch.setattr(stand_ins, "read_timestamp", lambda trace, timestamp: timestamp)


def accumulators_become_none(monkeypatch):
    """Undoes that a fold whose accumulator may become None is left to the function."""
    monkeypatch.setattr(FoldPlan, "mayBecomeNone", lambda self, batch: False)


def texts_are_followed(monkeypatch):
    """Lets a text that % may format be loaded as a constant again, and not as a symbol."""
    monkeypatch.setattr(trace, "takes_remainders", lambda code: False)


def nothing_changes(monkeypatch):
    """Lets runs go without checking again what a function has read."""
    monkeypatch.setattr(trace.Traced, "changed", lambda self: False)
    monkeypatch.setattr(column_runs, "_SHARE", float("inf"))


@pytest.mark.parametrize(
    ("undo", "build"),
    [
        (truths_are_handed_on, lambda s: s.map(lambda r: bool(r.f))),
        (truths_are_handed_on, lambda s: s.flatMap(lambda r: [bool(r.f)])),
        (nobody_tests_none, lambda s: s.map(lambda r: 0 if r.n is None else 1)),
        (
            nobody_tests_none,
            lambda s: (
                s.keyBy("k")
                .window(TumblingEventTimeWindows.of(1000))
                .reduce(lambda p, q: q if q.n is None else p)
            ),
        ),
    ],
)
def test_a_rule_that_is_undone_is_seen(undo, build, monkeypatch, caplog):
    undo(monkeypatch)
    caught(build, [FLAGS], caplog)


def test_a_nan_that_is_the_same_object_is_seen(monkeypatch, caplog):
    equal_is_never_the_same(monkeypatch)
    numbers = batch(k=["a", "a"], x=[1.0, NAN], t=[1, 2])
    caught(lambda s: s.map(lambda r: max(r.x, 1.0) in (r.x,)), [numbers], caplog)


class Timed(KeyedProcessFunction):
    def open(self, context):
        self.seen = self.getRuntimeContext().getState(ValueStateDescriptor("seen", default=0))

    def processElement(self, value, ctx, out):
        seen = self.seen.value() + value.n
        self.seen.update(seen)
        out.collect((value.k, seen, ctx.timestamp() is None))


@pytest.mark.parametrize(
    "build",
    [
        lambda s: s.process(lambda r, ctx, out: out.collect(ctx.timestamp() is None)),
        lambda s: s.keyBy("k").process(Timed()),
    ],
)
def test_elements_without_timestamps_are_seen(build, monkeypatch, caplog):
    timestamps_are_not_read(monkeypatch)
    rows = batch(k=["a", "b"] * 1000, n=list(range(2000)), t=[1] * 2000)
    caught(build, [rows], caplog, timed=False)


class Newest(AggregateFunction):
    def createAccumulator(self):
        return 0

    def add(self, value, accumulator):
        return value.n

    def getResult(self, accumulator):
        return accumulator

    def merge(self, a, b):
        return b


def remainder_of_text(text):
    return lambda r: text % r.n


@pytest.mark.parametrize(
    ("undo", "build"),
    [
        (
            accumulators_become_none,
            lambda s: s.keyBy("k").window(TumblingEventTimeWindows.of(1000)).aggregate(Newest()),
        ),
        (texts_are_followed, lambda s: s.map(remainder_of_text("plain"))),
    ],
)
def test_an_error_that_columns_swallow_is_seen(undo, build, monkeypatch, caplog):
    undo(monkeypatch)
    emitted(build, [FLAGS], checks=0)
    with caplog.at_level(logging.WARNING, "flinkish.columns"), pytest.raises(FlinkishError):
        emitted(build, [FLAGS])
    assert "has left the columns" in caplog.text


def test_a_function_that_is_another_one_in_the_next_batch_is_seen(monkeypatch, caplog):
    nothing_changes(monkeypatch)

    class Factor:
        value = 1

    def results(checks, traces=True):
        Factor.value = 1
        caplog.clear()

        def build(stream):
            return stream.map(lambda r: r.n * Factor.value)

        class Growing:
            def __iter__(self):
                for factor in (1, 2):
                    Factor.value = factor
                    yield ROWS

        return emitted(build, Growing(), traces=traces, checks=checks)

    right = results(4, traces=False)
    assert results(0) != right
    with caplog.at_level(logging.WARNING, "flinkish.columns"):
        assert results(4) == right
    assert "has left the columns" in caplog.text


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


def test_a_wrong_join_of_what_was_kept_as_an_object_is_seen(monkeypatch):
    fold = ColumnFold(lambda p, q: p if p.x > q.x else q)
    values = RowColumns(batch(k=["a", "a"], t=[1, 1], x=[1.0, 2.0]))
    folded = fold.fold(values, np.zeros(2, dtype=np.intp), 1)
    (other,) = fold.accumulators(folded)
    kept = Row(k="a", t=1, x=7.0)
    assert fold.joined(folded.schema, kept, other) == kept
    monkeypatch.setattr(Combination, "joined", lambda self, one, other: list(other))
    assert fold.joined(folded.schema, kept, other) is None
    assert "where columns gave" in str(fold.runs.difference)
    forget_differences()


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
    assert runs.taken["PhaseFold"] == 3
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
    fold = EventFold(generator)  # whose first run is checked
    assert not fold.note(RowColumns(ROWS), np.array([3, 19, 4]))
    assert generator.highest == 8
    assert "where columns gave ([19], [], [])" in fold.runs.difference


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


def test_checks_take_a_hundredth_of_the_time(monkeypatch):
    clock = iter(np.arange(0, 100_000, 1.0))  # each look at the clock is a second later
    monkeypatch.setattr(
        "flinkish.runtime.columns.tracing.column_runs.time.perf_counter", lambda: next(clock)
    )
    runs = column_runs.ColumnRuns("ColumnFunction", len)
    plain, nulls = RowColumns(batch(n=[1, 2])), RowColumns(batch(n=[1, None]))
    checked = []
    for number in range(1_000):
        with runs.working():
            pass
        if runs.due(plain):
            checked.append(number)
            with runs.checking():
                pass
    assert checked[0] == 0
    assert checked[1:] == list(range(99, 1_000, 100))
    assert runs.due(nulls)


def test_no_function_is_called_without_checks(monkeypatch):
    def refusing(*_):
        raise AssertionError("checked")

    monkeypatch.setattr("flinkish.runtime.columns.tracing.traced_function.difference_of", refusing)
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
