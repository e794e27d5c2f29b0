"""Savepoints built and changed without Spark, and jobs that begin from them."""

from __future__ import annotations

import pyarrow as pa
import pytest

import flinkish as fl
from tests.savepoint_jobs import gone_on, stopped

PRICES = [("a", 10), ("b", 20), ("c", 30)]
TOTAL = fl.ValueStateDescriptor("total", int)


def local(parallelism=1):
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    env.getConfig().setElementsPerBatch(15)
    return env.setParallelism(parallelism)


class Bootstrap(fl.KeyedStateBootstrapFunction):
    """A total and a timer for each key."""

    def open(self, openContext):
        self.total = self.getRuntimeContext().getState(TOTAL)

    def processElement(self, value, ctx):
        self.total.update((self.total.value() or 0) + value[1])
        ctx.timerService().registerEventTimeTimer(100 + value[1])
        ctx.timerService().registerProcessingTimeTimer(1)


class Totals(fl.KeyedProcessFunction):
    """Goes on with them."""

    def open(self, openContext):
        self.total = self.getRuntimeContext().getState(TOTAL)

    def processElement(self, value, ctx, out):
        self.total.update((self.total.value() or 0) + value[1])
        out.collect((value[0], self.total.value()))

    def onTimer(self, timestamp, ctx, out):
        if ctx.timeDomain() is fl.TimeDomain.EVENT_TIME:
            out.collect(("timer", timestamp, ctx.getCurrentKey(), self.total.value()))


def prices(data=PRICES, key=lambda value: value[0]):
    return fl.OperatorTransformation.bootstrapWith(data).keyBy(key).transform(Bootstrap())


def run_totals(env, elements):
    stream = env.fromCollection(elements).keyBy(lambda value: value[0]).process(Totals())
    return sorted(stream.uid("totals").executeAndCollect(), key=repr)


EXPECTED = sorted(
    [("a", 11), ("d", 4)]
    + [("timer", 110, "a", 11), ("timer", 120, "b", 20), ("timer", 130, "c", 30)],
    key=repr,
)


@pytest.mark.parametrize("made", [1, 3])
@pytest.mark.parametrize("run", [1, 4])
def test_a_job_begins_with_state_and_timers_made_of_a_collection(made, run, tmp_path):
    writer = fl.SavepointWriter.newSavepoint(local(made), 16)
    writer.withOperator(fl.OperatorIdentifier.forUid("totals"), prices()).write(f"{tmp_path}/s")
    env = local(run).setSavepoint(f"{tmp_path}/s")
    assert run_totals(env, [("a", 1), ("d", 4)]) == EXPECTED


def test_rows_of_a_table_are_elements(tmp_path):
    table = pa.table({"name": [name for name, _ in PRICES], "price": [p for _, p in PRICES]})
    for number, data in enumerate((table, table.to_pandas())):
        made = prices(data, lambda row: row.name)
        fl.SavepointWriter.newSavepoint().withOperator("totals", made).write(f"{tmp_path}/{number}")
        env = local(2).setSavepoint(f"{tmp_path}/{number}")
        assert run_totals(env, [("a", 1), ("d", 4)]) == EXPECTED


def test_what_is_written_can_be_read(tmp_path):
    fl.SavepointWriter.newSavepoint().withOperator("totals", prices()).write(f"{tmp_path}/s")
    reader = fl.SavepointReader.read(f"{tmp_path}/s")
    assert dict(reader.readKeyedState("totals", TOTAL)) == dict(PRICES)
    domains = [row.timeDomain for row in reader.readTimers("totals")]
    assert sorted(domains) == ["EVENT_TIME"] * 3 + ["PROCESSING_TIME"] * 3


def add(a, b):
    return a + b


WINDOWS = {
    "aligned": fl.TumblingEventTimeWindows.of(10),
    "sliding": fl.SlidingEventTimeWindows.of(20, 10),
    "session": fl.EventTimeSessionWindows.withGap(5),
    "general": fl.ProcessingTimeSessionWindows.withGap(10**9),
}


@pytest.mark.parametrize("kind", ["aligned", "sliding", "session"])
def test_open_windows_are_made_and_fire_in_the_job(kind, tmp_path):
    before, after = list(range(25)), list(range(22, 60))
    assigner = WINDOWS[kind]
    strategy = fl.WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(lambda n, t: n)

    def windows(numbers):
        timed = numbers.assignTimestampsAndWatermarks(strategy).keyBy(lambda n: n % 3)
        return timed.window(assigner).reduce(add).uid("windows").executeAndCollect()

    made = fl.OperatorTransformation.bootstrapWith(before).assignTimestamps(lambda n, t: n)
    made = made.keyBy(lambda n: n % 3).window(assigner).reduce(add)
    fl.SavepointWriter.newSavepoint(local(2), 8).withOperator("windows", made).write(
        f"{tmp_path}/s"
    )
    expected = sorted(windows(local().fromCollection([*before, *after])))
    for parallelism in (1, 4):
        env = local(parallelism).setSavepoint(f"{tmp_path}/s")
        assert sorted(windows(env.fromCollection(after))) == expected


class MakeList(fl.StateBootstrapFunction):
    def initializeState(self, context):
        store = context.getOperatorStateStore()
        self.kept = store.getListState(fl.ListStateDescriptor("kept", int))
        self.values = []

    def processElement(self, value, ctx):
        self.values.append(value)

    def snapshotState(self, context):
        self.kept.update(self.values)


class Summing(fl.MapFunction, fl.CheckpointedFunction):
    def initializeState(self, context):
        store = context.getOperatorStateStore()
        self.kept = store.getListState(fl.ListStateDescriptor("kept", int))
        self.values = list(self.kept.get())

    def snapshotState(self, context):
        self.kept.update(self.values)

    def map(self, value):
        self.values.append(value)
        return sum(self.values)


def test_lists_of_operator_state_are_made(tmp_path):
    made = fl.OperatorTransformation.bootstrapWith(range(1, 5)).transform(MakeList())
    fl.SavepointWriter.newSavepoint().withOperator("sums", made).write(f"{tmp_path}/s")
    assert list(fl.SavepointReader.read(f"{tmp_path}/s").readListState("sums", "kept")) == [
        (n,) for n in range(1, 5)
    ]
    env = local().setSavepoint(f"{tmp_path}/s")
    assert list(env.fromCollection([1]).map(Summing()).uid("sums").executeAndCollect()) == [11]


RULES = fl.MapStateDescriptor("rules", str, int)


class MakeRules(fl.BroadcastStateBootstrapFunction):
    def processElement(self, value, ctx):
        ctx.getBroadcastState(RULES).put(*value)


class Priced(fl.KeyedBroadcastProcessFunction):
    def processElement(self, value, context, out):
        out.collect((value, context.getBroadcastState(RULES).get(value)))

    def processBroadcastElement(self, value, context, out):
        pass


@pytest.mark.parametrize("parallelism", [1, 4])
def test_broadcast_state_is_made_for_all_tasks(parallelism, tmp_path):
    made = fl.OperatorTransformation.bootstrapWith(PRICES).transform(MakeRules())
    fl.SavepointWriter.newSavepoint().withOperator("priced", made).write(f"{tmp_path}/s")
    assert sorted(fl.SavepointReader.read(f"{tmp_path}/s").readBroadcastState("priced", RULES)) == (
        PRICES
    )
    env = local(parallelism).setSavepoint(f"{tmp_path}/s")
    rules = env.fromCollection([]).broadcast(RULES)
    names = env.fromCollection(["c", "b", "x", "a"]).keyBy(lambda name: name)
    priced = names.connect(rules).process(Priced()).uid("priced")
    assert sorted(priced.executeAndCollect()) == [*PRICES, ("x", None)]


# ---------------------------------------------------------------------- from an existing one

COUNT = 150


@pytest.fixture
def existing(tmp_path):
    stopped(local(2), ["totals", "sessions"], COUNT, 40, f"{tmp_path}/existing")
    return f"{tmp_path}/existing"


def test_an_operator_is_removed_and_a_job_without_it_begins(existing, tmp_path):
    before = gone_on(local(), ["sessions"], COUNT, existing, allowNonRestoredState=True)
    writer = fl.SavepointWriter.fromExistingSavepoint(existing).removeOperator("totals")
    writer.write(f"{tmp_path}/changed")
    assert before
    assert sorted(gone_on(local(3), ["sessions"], COUNT, f"{tmp_path}/changed")) == sorted(before)
    with pytest.raises(fl.IllegalArgumentError, match="no operator 'totals'"):
        fl.SavepointReader.read(f"{tmp_path}/changed").readTimers("totals")


def test_an_operator_gets_another_uid(existing, tmp_path):
    writer = fl.SavepointWriter.fromExistingSavepoint(existing)
    writer.changeOperatorIdentifier(
        fl.OperatorIdentifier.forUid("totals"), fl.OperatorIdentifier.forUid("all")
    ).write(f"{tmp_path}/changed")
    old = fl.SavepointReader.read(existing).readKeyedState("totals", TOTAL)
    new = fl.SavepointReader.read(f"{tmp_path}/changed").readKeyedState("all", TOTAL)
    assert sorted(new) == sorted(old)
    with pytest.raises(fl.IncompatibleCheckpointError, match=r"\(all\).*is gone"):
        gone_on(local(), ["totals", "sessions"], COUNT, f"{tmp_path}/changed")


class Replaced(fl.KeyedStateBootstrapFunction):
    def open(self, openContext):
        self.total = self.getRuntimeContext().getState(TOTAL)

    def processElement(self, value, ctx):
        self.total.update(value)


def test_an_operator_is_replaced_and_the_others_go_on(existing, tmp_path):
    made = fl.OperatorTransformation.bootstrapWith([1000] * 7 + [1001])
    made = made.keyBy(lambda n: n % 7).transform(Replaced())
    writer = fl.SavepointWriter.fromExistingSavepoint(existing)
    with pytest.raises(fl.IllegalArgumentError, match="two operators 'totals'"):
        writer.withOperator("totals", made).write(f"{tmp_path}/changed")
    writer.removeOperator("totals").removeOperator("totals")
    writer.withOperator("totals", made).write(f"{tmp_path}/changed")
    after = gone_on(local(3), ["totals", "sessions"], COUNT, f"{tmp_path}/changed")
    kept = gone_on(local(3), ["totals", "sessions"], COUNT, existing)
    assert len(kept) > COUNT - 45
    assert sorted(x for x in after if x[0] == "session") == sorted(
        x for x in kept if x[0] == "session"
    )
    first = {}
    for row in after:
        if row[0] == "total":
            first.setdefault(row[1], row[2])
    # The elements from 45 on are added to what was bootstrapped
    expected = {n % 7: n for n in range(51, 44, -1)}
    assert first == {
        key: value + {1000 % 7: 1000, 1001 % 7: 1001}.get(key, 0) for key, value in expected.items()
    }


def test_what_is_changed_may_be_configured(tmp_path):
    writer = fl.SavepointWriter.newSavepoint(local(), 32).withOperator("totals", prices())
    writer.withConfiguration("parallelism.default", 4).write(f"{tmp_path}/s")
    env = local(2).setSavepoint(f"{tmp_path}/s")
    assert run_totals(env, [("a", 1), ("d", 4)]) == EXPECTED


HELD = fl.ValueStateDescriptor("held")


class Holds(fl.KeyedStateBootstrapFunction):
    def open(self, openContext):
        self.held = self.getRuntimeContext().getState(HELD)

    def processElement(self, value, ctx):
        self.held.update(value[1])


def test_values_may_be_empty_and_of_any_class(tmp_path):
    values = {"a": {}, "b": [], "c": "", "d": 0, "e": pa.array([1, 2])}
    made = fl.OperatorTransformation.bootstrapWith(list(values.items())).keyBy(lambda v: v[0])
    fl.SavepointWriter.newSavepoint().withOperator("u", made.transform(Holds())).write(
        f"{tmp_path}/s"
    )
    read = dict(fl.SavepointReader.read(f"{tmp_path}/s").readKeyedState("u", HELD))
    assert read == values


def test_an_operator_may_be_renamed_twice(existing, tmp_path):
    writer = fl.SavepointWriter.fromExistingSavepoint(existing)
    writer.changeOperatorIdentifier("totals", "one").changeOperatorIdentifier("one", "two")
    writer.write(f"{tmp_path}/changed")
    assert list(fl.SavepointReader.read(f"{tmp_path}/changed").readTimers("two"))


class Misses(fl.KeyedStateBootstrapFunction):
    def processElement(self, value):
        pass


class Fails(Bootstrap):
    def processElement(self, value, ctx):
        raise ValueError("no price")


def test_errors_name_the_fix(existing, tmp_path):
    with pytest.raises(fl.IllegalArgumentError, match="would be empty"):
        fl.SavepointWriter.newSavepoint().write(f"{tmp_path}/s")
    with pytest.raises(fl.IllegalArgumentError, match="no operator 'nobody' to remove"):
        fl.SavepointWriter.fromExistingSavepoint(existing).removeOperator("nobody").write(
            f"{tmp_path}/s"
        )
    with pytest.raises(fl.CheckpointStorageError, match="is not empty"):
        fl.SavepointWriter.newSavepoint().withOperator("u", prices()).write(existing)
    failing = fl.OperatorTransformation.bootstrapWith(PRICES).keyBy(lambda v: v[0])
    with pytest.raises(fl.UserFunctionError, match="no price"):
        fl.SavepointWriter.newSavepoint().withOperator("u", failing.transform(Fails())).write(
            f"{tmp_path}/s"
        )
    unbounded = local().fromSource(fl.DataGeneratorSource(lambda n: n, 2**63 - 1, 10))
    endless = fl.OperatorTransformation.bootstrapWith(unbounded).keyBy(lambda n: n)
    with pytest.raises(fl.InvalidProgramError, match="has no end"):
        fl.SavepointWriter.newSavepoint().withOperator("u", endless.transform(Replaced())).write(
            f"{tmp_path}/s"
        )
    with pytest.raises(fl.InvalidProgramError, match=r"def processElement\(self, value, ctx\)"):
        failing.transform(Misses())
    with pytest.raises(fl.InvalidProgramError, match="no stream of elements"):
        fl.OperatorTransformation.bootstrapWith("text")


def test_a_stream_with_operators_of_its_own_is_run_to_its_end(tmp_path):
    """Only the operator whose state is made sees no time."""
    strategy = fl.WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(lambda n, t: n)
    sums = local().fromCollection(range(30)).assignTimestampsAndWatermarks(strategy)
    sums = sums.keyBy(lambda n: n % 2).window(fl.TumblingEventTimeWindows.of(10)).reduce(add)
    made = fl.OperatorTransformation.bootstrapWith(sums).keyBy(lambda n: n % 2)
    fl.SavepointWriter.newSavepoint().withOperator("u", made.transform(Replaced())).write(
        f"{tmp_path}/s"
    )
    read = fl.SavepointReader.read(f"{tmp_path}/s").readKeyedState("u", TOTAL)
    assert dict(read) == {0: 20 + 22 + 24 + 26 + 28, 1: 21 + 23 + 25 + 27 + 29}
