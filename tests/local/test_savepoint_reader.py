"""Savepoints looked into without Spark: every kind of state, by descriptors and by reader functions."""

from __future__ import annotations

import threading

import pytest

import flinkish as fl
from tests.savepoint_jobs import Priced, asked, stopped

COUNT = 150


def local(parallelism=1, perBatch=15):
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    env.setParallelism(parallelism).getConfig().setElementsPerBatch(perBatch)
    return env


@pytest.fixture(scope="module", params=[1, 4])
def savepoint(request, tmp_path_factory):
    """The savepoint of a job that has read the numbers below 45, with watermark 41."""
    directory = f"{tmp_path_factory.mktemp('reader')}/savepoint"
    parts = ["totals", "tumbling", "sliding", "sessions", "counted", "priced"]
    stopped(local(request.param), parts, COUNT, 40, directory)
    return fl.SavepointReader.read(directory)


SEEN = range(45)


def of_key(key, modulus=7):
    return [n for n in SEEN if n % modulus == key]


def test_a_value_state_is_a_row_for_each_key(savepoint):
    rows = list(
        savepoint.readKeyedState("totals", fl.ValueStateDescriptor("total", fl.Types.LONG()))
    )
    assert dict(rows) == {key: sum(of_key(key)) for key in range(7)}
    assert rows[0].getFieldNames() == ("key", "value")


def test_lists_and_maps_are_read_whole(savepoint):
    uid = fl.OperatorIdentifier.forUid("totals")
    seen = savepoint.readKeyedState(uid, fl.ListStateDescriptor("seen", fl.Types.LONG()))
    assert dict(seen) == {key: of_key(key) for key in range(7)}
    each = savepoint.readKeyedState(
        uid, fl.MapStateDescriptor("each", fl.Types.LONG(), fl.Types.LONG())
    )
    assert dict(each) == {key: {n % 5: n for n in of_key(key)} for key in range(7)}


def test_timers_are_rows(savepoint):
    timers = sorted((row.timestamp, row.key) for row in savepoint.readTimers("totals"))
    assert timers == [(n + 40, n % 7) for n in SEEN if n + 40 > 40]
    assert {(r.timeDomain, r.namespace) for r in savepoint.readTimers("totals")} == {
        ("EVENT_TIME", None)
    }


class ReadTotals(fl.KeyedStateReaderFunction):
    def open(self, openContext):
        context = self.getRuntimeContext()
        self.total = context.getState(fl.ValueStateDescriptor("total", fl.Types.LONG()))
        self.seen = context.getListState(fl.ListStateDescriptor("seen", fl.Types.LONG()))

    def readKey(self, key, ctx, out):
        timers = ctx.registeredEventTimeTimers()
        out.collect((key, self.total.value(), len(list(self.seen.get())), min(timers)))
        assert ctx.registeredProcessingTimeTimers() == set()


def test_a_reader_function_sees_all_state_of_a_key(savepoint):
    found = sorted(savepoint.readKeyedState("totals", ReadTotals()))
    expected = []
    for key in range(7):
        due = min(n + 40 for n in of_key(key) if n + 40 > 40)
        expected.append((key, sum(of_key(key)), len(of_key(key)), due))
    assert found == expected


def windows_of(numbers, size, slide=None):
    """(start, numbers) of windows that have not fired at watermark 41."""
    slide = slide or size
    for start in range(-size + slide, 60, slide):
        inside = [n for n in numbers if start <= n < start + size]
        if inside and start + size - 1 > 40:
            yield start, start + size, inside


def add(a, b):
    return a + b


def test_windows_of_reduce_give_the_value_so_far(savepoint):
    rows = savepoint.readWindowState("tumbling", add)
    expected = [
        (key, start, end, sum(inside))
        for key in range(4)
        for start, end, inside in windows_of(of_key(key, 4), 30)
    ]
    assert sorted(rows) == expected
    by_flinks_name = savepoint.window(fl.TumblingEventTimeWindows.of(30)).reduce("tumbling", add)
    assert sorted(by_flinks_name) == expected


def test_windows_without_aggregation_give_their_elements(savepoint):
    rows = savepoint.readWindowState("sliding")
    expected = [
        (key, start, end, inside)
        for key in range(4)
        for start, end, inside in windows_of(of_key(key, 4), 30, 10)
    ]
    assert sorted((k, s, e, sorted(v)) for k, s, e, v in rows) == sorted(expected)


class ReadWindows(fl.WindowReaderFunction):
    def readWindow(self, key, context, elements, out):
        window = context.getWindow()
        timers = context.registeredEventTimeTimers()
        yield key, window.start, window.end, list(elements), sorted(timers)


def test_sessions_are_the_open_ones_with_all_that_was_merged(savepoint):
    rows = savepoint.readWindowState("sessions", add, ReadWindows())
    expected = []
    for key in range(3):
        numbers = [n for n in SEEN if n % 11 < 6 and n % 3 == key]
        session = [numbers[-1]]
        for n in reversed(numbers[:-1]):
            if session[0] - n > 6:
                break
            session.insert(0, n)
        expected.append((key, session[0], session[-1] + 6, [sum(session)]))
    assert sorted(row[:4] for row in rows) == expected


class ReadCounts(fl.WindowReaderFunction):
    def open(self, openContext):
        pass

    def readWindow(self, key, context, elements, out):
        count = context.triggerState(fl.ReducingStateDescriptor("count", add, fl.Types.LONG()))
        out.collect((key, list(elements), count.get()))


def test_count_windows_give_the_state_of_their_trigger(savepoint):
    rows = sorted(savepoint.readWindowState("counted", add, ReadCounts()))
    expected = []
    for key in range(6):
        numbers = of_key(key, 6)
        left = numbers[len(numbers) - len(numbers) % 5 :]
        if left:
            expected.append((key, [sum(left)], len(left)))
    assert rows == expected


def test_broadcast_state_is_read_once(savepoint):
    rows = savepoint.readBroadcastState("priced", Priced.RULES)
    assert sorted(rows) == [(0, 0), (1, 100), (2, 200)]
    assert sorted(savepoint.readBroadcastState("priced", "rules")) == sorted(rows)
    assert list(savepoint.readBroadcastState("priced", "others")) == []


class Numbered(fl.MapFunction, fl.CheckpointedFunction):
    def initializeState(self, context):
        store = context.getOperatorStateStore()
        self.kept = store.getListState(fl.ListStateDescriptor("kept", int))
        self.union = store.getUnionListState(fl.ListStateDescriptor("union", int))
        self.values = list(self.kept.get())

    def snapshotState(self, context):
        self.kept.update(self.values)
        self.union.update([len(self.values)])

    def map(self, value):
        self.values.append(value)
        return value


def paused(env, build, directory):
    """Stop the job of ``build`` with a savepoint after its first batch."""
    reached, held = threading.Event(), threading.Event()

    def hold(values, batch):
        reached.set()
        held.wait(30)

    build(env).forEachBatch(hold)
    client = env.executeAsync()
    assert reached.wait(30)
    stopping = threading.Thread(target=client.stopWithSavepoint, args=(directory,))
    stopping.start()
    asked(client)
    held.set()
    stopping.join(30)
    return fl.SavepointReader.read(directory)


def test_lists_of_operator_state(tmp_path):
    reader = paused(
        local(perBatch=10),
        lambda env: env.fromSequence(0, 99).map(Numbered()).uid("numbered"),
        f"{tmp_path}/savepoint",
    )
    kept = reader.readListState("numbered", fl.ListStateDescriptor("kept", int))
    assert [row.value for row in kept] == list(range(10))
    assert list(reader.readUnionState("numbered", "union")) == [(10,)]
    with pytest.raises(fl.IncompatibleCheckpointError, match=r"'kept' is a list and not a union"):
        list(reader.readUnionState("numbered", "kept"))


class Average(fl.AggregateFunction):
    def createAccumulator(self):
        return (0, 0)

    def add(self, value, accumulator):
        return accumulator[0] + value, accumulator[1] + 1

    def getResult(self, accumulator):
        return accumulator[0] / accumulator[1]

    def merge(self, a, b):
        return a[0] + b[0], a[1] + b[1]


class Expiring(fl.KeyedProcessFunction):
    def open(self, context):
        lasting = fl.ValueStateDescriptor("lasting", int)
        lasting.enableTimeToLive(fl.StateTtlConfig.newBuilder(fl.Duration.ofHours(1)).build())
        brief = fl.ValueStateDescriptor("brief", int)
        brief.enableTimeToLive(fl.StateTtlConfig.newBuilder(fl.Duration.ofMillis(1)).build())
        runtime = self.getRuntimeContext()
        self.states = [runtime.getState(lasting), runtime.getState(brief)]
        self.average = runtime.getAggregatingState(
            fl.AggregatingStateDescriptor("average", Average())
        )

    def processElement(self, value, ctx, out):
        for state in self.states:
            state.update(value)
        self.average.add(value)
        out.collect(value)


def test_expired_state_is_left_out_and_aggregates_give_their_result(tmp_path):
    reader = paused(
        local(perBatch=10),
        lambda env: env.fromSequence(0, 99).keyBy(lambda n: n % 2).process(Expiring()).uid("u"),
        f"{tmp_path}/savepoint",
    )
    lasting, brief = fl.ValueStateDescriptor("lasting", int), fl.ValueStateDescriptor("brief", int)
    # Without a time to live, all values that are there
    assert sorted(reader.readKeyedState("u", lasting)) == [(0, 8), (1, 9)]
    lasting.enableTimeToLive(fl.StateTtlConfig.newBuilder(fl.Duration.ofHours(1)).build())
    brief.enableTimeToLive(fl.StateTtlConfig.newBuilder(fl.Duration.ofMillis(1)).build())
    assert sorted(reader.readKeyedState("u", lasting)) == [(0, 8), (1, 9)]
    assert list(reader.readKeyedState("u", brief)) == []
    average = fl.AggregatingStateDescriptor("average", Average())
    assert sorted(reader.readKeyedState("u", average)) == [(0, 4.0), (1, 5.0)]


AT = fl.WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(lambda row, at: row.at)


def test_windows_of_columns(tmp_path):
    """Rows of tables are kept as Arrow columns, folded or as they came."""
    (tmp_path / "in").mkdir()
    for file in range(3):
        rows = [f"{n % 7},{n},{n}" for n in range(file * 4000, file * 4000 + 4000)]
        (tmp_path / "in" / f"{file}.csv").write_text("\n".join(rows) + "\n")

    def job(env):
        source = fl.FileSource.forCsv(f"{tmp_path}/in", "k int, at bigint, v bigint")
        rows = env.fromSource(source.withFilesPerBatch(1)).uid("rows")
        keyed = rows.assignTimestampsAndWatermarks(AT).keyBy(lambda row: row.k)
        window = keyed.window(fl.TumblingEventTimeWindows.of(15000))
        window.reduce(larger).uid("folded").forEachBatch(lambda values, batch: None)
        listed = keyed.window(fl.TumblingEventTimeWindows.of(15000)).apply(
            lambda key, window, values: [sorted(row.v for row in values)]
        )
        listed.uid("listed").forEachBatch(lambda values, batch: None)
        early = fl.ContinuousEventTimeTrigger.of(fl.Duration.ofSeconds(9))
        early = keyed.window(fl.TumblingEventTimeWindows.of(15000)).trigger(early)
        for uid, window in (("early", early), ("evicted", early.evictor(fl.CountEvictor.of(9)))):
            of_keys = window.apply(lambda key, window, values: [key])
            of_keys.uid(uid).forEachBatch(lambda values, batch: None)
        gaps = keyed.window(fl.EventTimeSessionWindows.withGap(15)).reduce(larger)
        gaps.uid("gaps").forEachBatch(lambda values, batch: None)
        sessions = keyed.window(fl.EventTimeSessionWindows.withGap(15)).apply(
            lambda key, window, values: [sorted(row.v for row in values)]
        )
        sessions.uid("sessions").forEachBatch(lambda values, batch: None)
        return rows

    reader = paused(local(2), job, f"{tmp_path}/savepoint")
    found = {row.key: row for row in reader.readWindowState("folded", larger)}
    assert {key: row.value.v for key, row in found.items()} == {
        key: max(n for n in range(4000) if n % 7 == key) for key in range(7)
    }
    assert {(row.start, row.end) for row in found.values()} == {(0, 15000)}
    listed = {row.key: [v.at for v in row.value] for row in reader.readWindowState("listed")}
    assert listed == {key: [n for n in range(4000) if n % 7 == key] for key in range(7)}
    for uid in ("early", "evicted"):
        assert listed == {row.key: [v.at for v in row.value] for row in reader.readWindowState(uid)}
    gaps = {row.key: (row.start, row.end) for row in reader.readWindowState("gaps", larger)}
    assert gaps == {k: (k, max(n for n in range(4000) if n % 7 == k) + 15) for k in range(7)}
    sessions = {
        row.key: (row.start, row.end, [v.at for v in row.value])
        for row in reader.readWindowState("sessions")
    }
    assert sessions == {key: (*gaps[key], listed[key]) for key in range(7)}
    for uid in ("folded", "gaps"):
        with pytest.raises(fl.IllegalArgumentError, match=r"readWindowState\(uid, function\)"):
            list(reader.readWindowState(uid))


def larger(a, b):
    return a if a.v >= b.v else b


# ---------------------------------------------------------------------- what is refused


class Fails(fl.KeyedStateReaderFunction):
    def readKey(self, key, ctx, out):
        raise ValueError(f"no {key}")


def test_errors_name_the_operator_the_key_and_the_fix(savepoint, tmp_path):
    with pytest.raises(
        fl.IllegalArgumentError, match=r"no operator .nobody., only .*counted, .*priced"
    ):
        savepoint.readTimers("nobody")
    with pytest.raises(fl.UserFunctionError, match=r"KeyedProcess.*no \d"):
        list(savepoint.readKeyedState("totals", Fails()))
    with pytest.raises(fl.CorruptCheckpointError, match="there is no savepoint"):
        fl.SavepointReader.read(f"{tmp_path}").readTimers("totals")
    with pytest.raises(fl.IncompatibleCheckpointError, match="was a ValueState"):
        list(savepoint.readKeyedState("totals", fl.ListStateDescriptor("total")))
    with pytest.raises(fl.IllegalArgumentError, match="is a KeyedProcess, which keeps no windows"):
        savepoint.readWindowState("totals")
    with pytest.raises(fl.InvalidProgramError, match="KeyedStateReaderFunction"):
        savepoint.readKeyedState("totals", "total")
    with pytest.raises(fl.InvalidProgramError, match="neither a SparkSession"):
        fl.SavepointReader.read(object(), "directory")
