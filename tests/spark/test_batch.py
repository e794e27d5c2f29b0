"""RuntimeExecutionMode.BATCH, on Spark as one batch query and in this process: Flink's results of a batch job."""

from __future__ import annotations

import random
import threading
from collections import defaultdict

import pytest

import flinkish as fl
from flinkish.api.errors import InvalidProgramError
from tests.branches import results_of

BATCH = fl.RuntimeExecutionMode.BATCH
BY_TIME = fl.WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(lambda e, _: e[1])


@pytest.fixture
def batch(environment):
    """An environment in BATCH."""
    environment.getConfig().setElementsPerBatch(3)
    return environment.setRuntimeMode(BATCH)


EVENTS = [("b", 7), ("a", 3), ("a", 9), ("b", 1), ("a", 2), ("c", 5), ("b", 4), ("a", 8)]
"""Users and times, out of order."""

COUNTS = [("a", 4), ("b", 3), ("c", 1)]


def timed(environment, events=EVENTS):
    return environment.fromCollection(events).assignTimestampsAndWatermarks(BY_TIME)


def by_user(environment, events=EVENTS):
    return timed(environment, events).keyBy(lambda e: e[0])


def counted(environment):
    return timed(environment).map(lambda e: (e[0], 1)).keyBy(lambda e: e[0]).sum(1)


class Stamped(fl.ProcessFunction):
    def processElement(self, value, ctx, out):
        yield value, ctx.timestamp()


class Trace(fl.KeyedProcessFunction):
    """Tells what it sees, in order, with timers in both domains."""

    def processElement(self, value, ctx, out):
        service = ctx.timerService()
        yield ctx.getCurrentKey(), "element", value[1], service.currentWatermark()
        service.registerProcessingTimeTimer(service.currentProcessingTime() + 3_600_000)
        service.registerEventTimeTimer(value[1] + 100)

    def onTimer(self, timestamp, ctx, out):
        service = ctx.timerService()
        domain = ctx.timeDomain().name
        time = timestamp if domain == "EVENT_TIME" else None
        yield ctx.getCurrentKey(), domain, time, service.currentWatermark()
        service.registerEventTimeTimer(timestamp + 1)
        service.registerProcessingTimeTimer(timestamp + 1)


LATE = fl.OutputTag("late")


class Times(fl.AggregateFunction):
    def createAccumulator(self):
        return []

    def add(self, value, accumulator):
        return [*accumulator, value[1]]

    def getResult(self, accumulator):
        return accumulator

    def merge(self, a, b):
        return a + b


class WindowOf(fl.ProcessWindowFunction):
    def process(self, key, context, elements, out):
        (times,) = elements
        yield key, context.window().getStart(), times


ASSIGNERS = {
    "sessions": fl.EventTimeSessionWindows.withGap(3),
    "sliding": fl.SlidingEventTimeWindows.of(6, 3),
    "global": fl.GlobalWindows.createWithEndOfStreamTrigger(),
}


class Collected(fl.ProcessWindowFunction):
    def process(self, key, context, elements, out):
        yield key, [element[1] for element in elements]


def windows(environment, name, events=EVENTS):
    return by_user(environment, events).window(ASSIGNERS[name]).process(Collected())


def windows_of_the_clock(environment):
    assigner = fl.TumblingProcessingTimeWindows.of(fl.Duration.ofDays(9_000))
    return by_user(environment).window(assigner).process(Collected())


class Both(fl.KeyedCoProcessFunction):
    def processElement1(self, value, ctx, out):
        yield value[0], 1, value[1]

    def processElement2(self, value, ctx, out):
        yield value[0], 2, value[1]


LEFT = [("a", 5), ("a", 1), ("b", 3)]
RIGHT = [("b", 2), ("a", 4), ("a", 0)]
RULES = fl.MapStateDescriptor("rules", str, int)


class Known(fl.KeyedBroadcastProcessFunction):
    def processBroadcastElement(self, value, ctx, out):
        ctx.getBroadcastState(RULES).put(value[0], value[1])

    def processElement(self, value, ctx, out):
        yield value, ctx.getBroadcastState(RULES).get(value[0])


def with_rules(environment):
    rules = environment.fromCollection([("a", 10), ("b", 20)]).broadcast(RULES)
    return by_user(environment, LEFT).connect(rules).process(Known())


class Own(fl.Source):
    def read(self, position):
        for number in range(position or 0, 5):
            yield number, number + 1


def of_several_shuffles(environment, directory):
    """The sum of the numbers of sources of all kinds, and of the lines of the files in ``directory``."""
    union = (
        environment.fromSource(fl.FileSource.forLines(str(directory)).withFilesPerBatch(1))
        .map(int)
        .union(
            environment.fromSequence(100, 104),
            environment.fromSource(fl.DataGeneratorSource(lambda n: n + 200, 4)),
            environment.fromSource(Own()),
        )
    )
    totals = union.map(lambda n: (n % 3, n)).keyBy(lambda e: e[0]).sum(1)
    return totals.keyBy(lambda e: 0).reduce(lambda a, b: (0, a[1] + b[1]))


@pytest.fixture(scope="module", params=["local", "spark"])
def found(request, tmp_path_factory):
    """The output of the branches of one job in BATCH."""
    session = request.getfixturevalue("spark") if request.param == "spark" else None
    environment = fl.StreamExecutionEnvironment.getExecutionEnvironment(session)
    environment.setLocalExecution(request.param == "local").setParallelism(2).setMaxParallelism(4)
    environment.setRuntimeMode(BATCH).getConfig().setElementsPerBatch(3)
    lines = tmp_path_factory.mktemp("lines")
    for number in range(3):
        (lines / f"{number}.txt").write_text(f"{number}\n{number + 10}\n")
    tumbling = (
        by_user(environment)
        .window(fl.TumblingEventTimeWindows.of(5))
        .sideOutputLateData(LATE)
        .aggregate(Times(), WindowOf())
    )
    return results_of(
        environment,
        {
            "counts": counted,
            "stamped": lambda env: by_user(env).reduce(lambda a, b: a).process(Stamped()),
            "traced": lambda env: by_user(env).process(Trace()),
            "tumbling": lambda env: tumbling,
            "late": lambda env: tumbling.getSideOutput(LATE),
            **{name: lambda env, name=name: windows(env, name) for name in ASSIGNERS},
            "of the clock": windows_of_the_clock,
            "two inputs": lambda env: (
                by_user(env, LEFT).connect(by_user(env, RIGHT)).process(Both())
            ),
            "rules": with_rules,
            "shuffles": lambda env: of_several_shuffles(env, lines),
        },
    )


def test_a_rolling_aggregation_gives_its_last_result_only(found):
    assert sorted(found["counts"]) == COUNTS


def test_results_of_a_reduction_go_on_behind_all_time(found):
    assert sorted(found["stamped"]) == [
        (("a", 2), 2**63 - 1),
        (("b", 1), 2**63 - 1),
        (("c", 5), 2**63 - 1),
    ]


def test_a_key_has_its_elements_by_time_then_its_timers_of_both_kinds(found):
    by_key = defaultdict(list)
    elements = []
    for key, *told in found["traced"]:
        by_key[key].append(tuple(told))
        if told[0] == "element":
            elements.append(key)
    lowest, highest = -(2**63), 2**63 - 1
    for key, told in by_key.items():
        times = sorted(time for user, time in EVENTS if user == key)
        seen = [entry for entry in told if entry[0] != "PROCESSING_TIME"]
        assert seen == [
            *(("element", time, lowest) for time in times),
            *(("EVENT_TIME", time + 100, highest) for time in times),
        ]
        late = [entry for entry in told if entry[0] == "PROCESSING_TIME"]
        assert told[-len(late) :] == late
        assert set(late) == {("PROCESSING_TIME", None, highest)}
    assert sorted(by_key) == ["a", "b", "c"]
    changes = [key for key, before in zip(elements, [None, *elements]) if key != before]
    assert sorted(changes) == ["a", "b", "c"], "the elements of a key are not together"


def test_nothing_is_late(found):
    assert found["late"] == []
    assert sorted(found["tumbling"]) == [
        ("a", 0, [2, 3]),
        ("a", 5, [8, 9]),
        ("b", 0, [1, 4]),
        ("b", 5, [7]),
        ("c", 5, [5]),
    ]


@pytest.mark.parametrize("name", ASSIGNERS)
def test_windows_have_the_elements_of_a_stream_in_order(found, name):
    stream = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    in_order = windows(stream, name, sorted(EVENTS, key=lambda e: e[1]))
    assert sorted(found[name]) == sorted(in_order.executeAndCollect())


def test_windows_of_the_clock_fire_at_the_end(found):
    assert sorted(found["of the clock"]) == [("a", [2, 3, 8, 9]), ("b", [1, 4, 7]), ("c", [5])]


def test_two_inputs_are_in_one_order_and_what_is_broadcast_comes_first(found):
    by_key = defaultdict(list)
    for key, side, time in found["two inputs"]:
        by_key[key].append((side, time))
    assert by_key == {"a": [(2, 0), (1, 1), (2, 4), (1, 5)], "b": [(2, 2), (1, 3)]}
    assert sorted(found["rules"]) == [(("a", 1), 10), (("a", 5), 10), (("b", 3), 20)]


def test_several_shuffles_and_sources_of_all_kinds(found):
    every = [0, 10, 1, 11, 2, 12, *range(100, 105), *range(200, 204), *range(5)]
    assert found["shuffles"] == [(0, sum(every))]


def test_an_unbounded_source_is_named(batch):
    batch.fromSource(
        fl.DataGeneratorSource(lambda n: n, elementsPerSecond=1), None, "ticks"
    ).print()
    with pytest.raises(InvalidProgramError, match=r"Source: ticks has no end.*AUTOMATIC"):
        batch.execute()


def test_automatic_is_what_the_sources_allow(batch):
    batch.setRuntimeMode(fl.RuntimeExecutionMode.AUTOMATIC).getConfig().setElementsPerBatch(10)
    assert len(list(counted(batch).executeAndCollect())) == 3
    batch.configure(fl.Configuration({"execution.runtime-mode": "STREAMING"}))
    assert len(list(counted(batch).executeAndCollect())) == len(EVENTS)


def test_a_batch_that_failed_begins_anew(batch, tmp_path):
    batch.setRestartStrategy(fl.RestartStrategies.fixedDelayRestart(1, 0))
    stream = counted(batch)
    collected = stream.collectAsync()
    calls = []

    def sink(values, batch_id):
        calls.append(batch_id)
        if len(calls) == 1:
            raise OSError("the disk")

    stream.forEachBatch(sink)
    assert batch.execute().numRestarts == 1
    assert calls == [0, 0]
    assert sorted(collected) == COUNTS


def test_the_error_of_a_function_is_that_of_a_stream(batch):
    stream = timed(batch).keyBy(lambda e: e[0]).map(lambda e: 1 // (e[1] - 5)).name("careful")
    with pytest.raises(fl.UserFunctionError, match=r"careful: .*ZeroDivisionError.*\('c', 5\)"):
        list(stream.executeAndCollect())


def test_a_batch_on_spark_streams_nothing_and_leaves_the_session_as_it_was(env, spark, tmp_path):
    zone = spark.conf.get("spark.sql.session.timeZone")
    running = []
    env.setRuntimeMode(BATCH).enableCheckpointing(str(tmp_path / "none"))
    rows = spark.createDataFrame([("a", 1), ("b", 2), ("a", 3)], "user string, n int")
    totals = (
        env.fromDataFrame(rows)
        .keyBy(lambda r: r.user)
        .reduce(lambda a, b: fl.Row(user=a.user, n=a.n + b.n))
    )
    out = tmp_path / "out"
    totals.map(lambda r: f"{r.user} {r.n}").sinkTo(fl.FileSink.forText(str(out)))
    totals.forEachBatch(lambda values, batch: running.extend(spark.streams.active))
    client = env.executeAsync("totals")
    client.getJobExecutionResult()
    assert client.getJobStatus() is fl.JobStatus.FINISHED
    assert running == []
    assert not (tmp_path / "none").exists()
    assert sorted(spark.read.text(str(out)).collect()) == [("a 4", 0), ("b 2", 0)]
    assert spark.conf.get("spark.sql.session.timeZone") == zone
    with pytest.raises(fl.IllegalStateError, match="checkpoint"):
        client.stopWithSavepoint()


@pytest.mark.slow("runs a job until it is cancelled")
def test_a_batch_can_be_cancelled(env):
    def slow(n):
        threading.Event().wait()
        return n

    env.setRuntimeMode(BATCH)
    env.fromSequence(0, 9).map(slow).forEachBatch(lambda values, batch: None)
    client = env.executeAsync()
    client.cancel()
    assert client.getJobStatus() is fl.JobStatus.CANCELED


def test_tables_have_the_results_of_python(env, spark, tmp_path):
    """Columns go through windows and reductions as columns; rows of another order have one result."""
    random.seed(5)
    rows = [(f"u{random.randrange(20)}", random.randrange(1_000), n) for n in range(2_000)]
    path = str(tmp_path / "rows")
    spark.createDataFrame(rows, "user string, at long, n long").repartition(3).write.parquet(path)
    by_at = fl.WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(lambda r, _: r.at)

    env.setRuntimeMode(BATCH)
    source = fl.FileSource.forParquet(path, "user STRING, at BIGINT, n BIGINT")
    keyed = env.fromSource(source, by_at).keyBy(lambda r: r.user)
    found = results_of(
        env,
        {
            "windows": lambda env: keyed.window(fl.TumblingEventTimeWindows.of(100)).sum("n"),
            "totals": lambda env: keyed.sum("n"),
        },
    )
    expected = defaultdict(int)
    for user, at, n in rows:
        expected[user, at // 100] += n
    assert sorted((user, n) for user, _, n in found["windows"]) == sorted(
        (user, n) for (user, _), n in expected.items()
    )
    assert sorted((user, n) for user, _, n in found["totals"]) == sorted(
        (user, sum(n for u, _, n in rows if u == user)) for user in {u for u, _, _ in rows}
    )
