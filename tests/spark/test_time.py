"""Time on Spark: the clock without elements, a watermark for each split, process functions that look.

The rules are tested without Spark in tests/runtime; here Spark's batches, files and clock are.
"""

from __future__ import annotations

import json
import time

import pytest

import flinkish as fl
from flinkish.api.time.elements import MIN_TIMESTAMP
from flinkish.compat.stream_analytics import StreamAnalyticsMetrics, timestampBy
from flinkish.testing import StreamTestHarness
from tests.branches import results_of
from tests.runtime.time.test_processing_time import Heartbeat
from tests.runtime.time.test_time_seen import SeesTime
from tests.spark.waiting import wait_for
from tests.streams import values
from tests.watched import drop


def word_source(directory):
    directory.mkdir(exist_ok=True)
    return fl.FileSource.forLines(str(directory)).monitorContinuously()


def ticks(checkpoint):
    return sorted(p.name for p in (checkpoint / "control").glob("*.txt"))


class Collected(fl.ProcessWindowFunction):
    def process(self, key, context, elements, out):
        out.collect((key, len(list(elements))))


class Replayed:
    """A sink for ``forEachBatch`` that a batch which comes again after a restart does not double."""

    def __init__(self):
        self._batches = {}

    def __call__(self, values, batch):
        self._batches[batch] = values

    @property
    def values(self):
        return [value for batch in sorted(self._batches) for value in self._batches[batch]]


@pytest.mark.recovery
@pytest.mark.slow("waits for the clock, twice")
def test_the_clock_goes_on_without_elements_and_after_a_restart(env, tmp_path):
    """Ticks let timers fire; files of ticks that were heard are removed, and a restart goes without."""
    env.enableCheckpointing(str(tmp_path / "checkpoint"))
    source = word_source(tmp_path / "in")
    checkpoint = tmp_path / "checkpoint"
    windows, timeouts, beats = Replayed(), Replayed(), Replayed()

    def started():
        words = env.fromSource(source, None, "words").uid("words").map(lambda w: (w, 1, 0))
        keyed = words.keyBy(lambda e: e[0])
        second = fl.Time.seconds(1)
        sessions = keyed.window(fl.ProcessingTimeSessionWindows.withGap(second))
        sessions.process(Collected()).forEachBatch(windows)
        timeout = fl.ProcessingTimeoutTrigger.of(fl.CountTrigger.of(100), 700)
        everything = keyed.window(fl.GlobalWindows.create()).trigger(timeout)
        everything.process(Collected()).forEachBatch(timeouts)
        keyed.process(Slow()).forEachBatch(beats)
        return env.executeAsync()

    drop(tmp_path / "in", "1.txt", "a\nb\nb\n")
    client = started()
    wait_for(
        lambda: len(windows.values) == 2 and len(timeouts.values) == 2 and len(beats.values) >= 6
    )
    # It may stop in the middle of a batch, which then comes again.
    client.cancel()
    assert sorted(windows.values) == sorted(timeouts.values) == [("a", 1), ("b", 2)]
    assert len(ticks(checkpoint)) <= 3, "the files of ticks that were heard are gone"

    drop(tmp_path / "in", "2.txt", "b\n")
    before = len(beats.values)
    client = started()
    wait_for(
        lambda: (
            len(windows.values) == 3
            and len(timeouts.values) == 3
            and len(beats.values) >= before + 4
        )
    )
    client.cancel()
    assert windows.values[2:] == [("b", 1)]
    assert timeouts.values[2:] == [("b", 3)], "the contents of a global window stay"
    for key in "ab":
        numbers = [n for k, n in beats.values if k == key]
        assert numbers == list(range(1, len(numbers) + 1)), "each beat comes once, and they go on"
    assert len(ticks(checkpoint)) <= 3


class Slow(fl.KeyedProcessFunction):
    """Counts a beat every 500 ms, forever."""

    def open(self, openContext):
        self.count = self.getRuntimeContext().getState(fl.ValueStateDescriptor("count", default=0))

    def processElement(self, value, ctx, out):
        if self.count.value() == 0:
            self.onTimer(ctx.timerService().currentProcessingTime(), ctx, out)

    def onTimer(self, timestamp, ctx, out):
        self.count.update(self.count.value() + 1)
        ctx.timerService().registerProcessingTimeTimer(timestamp + 500)
        out.collect((ctx.getCurrentKey(), self.count.value()))


@pytest.mark.slow("waits for the clock")
def test_an_input_that_falls_idle_does_not_hold_windows_back(env, tmp_path):
    """Two watched directories, one of which has nothing new: the other's windows close."""
    strategy = fl.WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(
        lambda line, timestamp: int(line.split()[1])
    )

    def lines(name):
        source = word_source(tmp_path / name)
        drop(tmp_path / name, "1.txt", f"{name} 1\n")
        return env.fromSource(source, strategy.withIdleness(fl.Time.milliseconds(500)), name)

    seen = []
    keyed = lines("busy").union(lines("idle")).map(lambda line: (line.split()[0], 1, 0)).keyBy(0)
    windows = keyed.window(fl.TumblingEventTimeWindows.of(10)).process(Collected())
    windows.forEachBatch(lambda values, _: seen.extend(values))
    client = env.executeAsync()
    try:
        wait_for(lambda: client.getMetrics().get("TumblingEventTimeWindows"))
        assert seen == []
        drop(tmp_path / "busy", "2.txt", "busy 25\n")
        wait_for(lambda: len(seen) == 2)
        assert client.getJobStatus() is fl.JobStatus.RUNNING
    finally:
        client.cancel()
    assert sorted(seen) == [("busy", 1), ("idle", 1)]


ELEMENTS = list(range(25))
SEES_TIME = fl.WatermarkStrategy.forBoundedOutOfOrderness(4).withTimestampAssigner(lambda e, t: e)


def sees_time(stream):
    return stream.assignTimestampsAndWatermarks(SEES_TIME).process(SeesTime())


@pytest.fixture(scope="module")
def bounded(spark):
    """The output of a bounded job of three batches, and between which times of the clock it ran."""
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment(spark)
    env.setParallelism(2).setMaxParallelism(4).getConfig().setElementsPerBatch(10)
    numbers = env.fromCollection(ELEMENTS)
    keyed = numbers.map(lambda n: ("a", n, 0)).keyBy(lambda e: e[0])
    hours = fl.TumblingProcessingTimeWindows.of(fl.Time.days(1000))
    began = time.time_ns() // 1_000_000
    found = results_of(
        env,
        {
            "windows": lambda env: keyed.window(hours).process(Collected()),
            "beats": lambda env: keyed.process(Heartbeat()),
            "sees time": lambda env: sees_time(numbers),
        },
    )
    return found, began, time.time_ns() // 1_000_000


def test_a_bounded_job_with_processing_time_windows_ends_by_itself(bounded):
    """As in Flink: what the clock has not made due by then is not fired."""
    found, began, ended = bounded
    assert found["windows"] == []
    elements = [r for r in found["beats"] if r[1] == "element"]
    assert [r[2] for r in elements] == ELEMENTS
    assert all(began <= r[3] <= ended for r in elements)


def test_a_process_function_behind_a_source_sees_watermark_and_clock(bounded):
    found, began, ended = bounded
    seen = found["sees time"]
    harness = StreamTestHarness(sees_time)
    for number in range(3):
        for element in ELEMENTS[10 * number : 10 * number + 10]:
            harness.processElement(element)
        harness.setProcessingTime((number + 1) * 200)
    expected = values(harness)
    assert [r[:3] for r in seen] == [r[:3] for r in expected]
    assert {r[2] for r in seen} == {MIN_TIMESTAMP, 4, 14}
    assert all(began <= r[3] <= ended for r in seen)


def test_a_job_that_needs_no_clock_runs_no_empty_batches(env, tmp_path):
    env.enableCheckpointing(str(tmp_path / "checkpoint"))
    source = word_source(tmp_path / "in")
    drop(tmp_path / "in", "1.txt", "a\n")
    seen = []
    counts = env.fromSource(source).map(lambda w: (w, 1)).keyBy(lambda e: e[0]).sum(1)
    counts.forEachBatch(lambda values, _: seen.extend(values))
    client = env.executeAsync()
    wait_for(lambda: seen)
    batches = len(list((tmp_path / "checkpoint" / "query" / "commits").glob("[0-9]*")))
    with pytest.raises(TimeoutError):
        client.getJobExecutionResult(timeout=1)
    assert len(list((tmp_path / "checkpoint" / "query" / "commits").glob("[0-9]*"))) <= batches + 1
    client.cancel()
    assert all(
        json.loads(line.removeprefix("tick ")) is None
        for name in ticks(tmp_path / "checkpoint")
        for line in (tmp_path / "checkpoint" / "control" / name).read_text().splitlines()
        if line.startswith("tick")
    )


ROWS = "partition int, key string, at long"


class Sizes(fl.ProcessWindowFunction):
    def process(self, key, context, elements, out):
        out.collect((key, context.window().getStart(), len(list(elements))))


@pytest.mark.recovery
@pytest.mark.slow("starts a query twice, one of them after an error")
@pytest.mark.parametrize(
    "oneKeyGroup",
    [
        False,
        pytest.param(
            True, marks=pytest.mark.rotating("a checkpoint that was begun in one key group")
        ),
    ],
)
def test_each_split_of_a_source_has_a_watermark_and_keeps_it_after_a_restart(
    env, tmp_path, oneKeyGroup
):
    """Partition 1 is 1000 s behind partition 0, as if a consumer of Kafka had fallen behind there. A checkpoint
    that was begun with all splits in one key group goes on so."""
    (tmp_path / "in").mkdir()
    batches = [
        [(0, "a", 1_000_000 + 1000 * n) for n in range(5)] + [(1, "a", 1000 * n) for n in range(5)],
        [(1, "a", 1000 * n) for n in range(5, 10)]
        + [(0, "a", 1_000_500 + 1000 * n) for n in range(5)],
        [(1, "a", 1000 * n) for n in range(10, 15)],
    ]
    for number, rows in enumerate(batches):
        fields = ("partition", "key", "at")
        lines = "\n".join(json.dumps(dict(zip(fields, row))) for row in rows)
        drop(tmp_path / "in", f"{number}.json", lines + "\n", changed=1_000_000 + number)
    broken = tmp_path / "broken"
    broken.touch()
    path = str(broken)

    def fails_in_the_last_batch(row):
        import os

        if row.at == 14_000 and os.path.exists(path):
            raise ValueError("broken")
        return row

    def run(oneKeyGroup=False):
        env.enableCheckpointing(str(tmp_path / "checkpoint"))
        seen = []
        source = fl.FileSource.forJson(str(tmp_path / "in"), ROWS).withFilesPerBatch(1)
        strategy = fl.WatermarkStrategy.forMonotonousTimestamps()
        timed = strategy.withTimestampAssigner(lambda row, t: row.at)
        rows = env.fromSource(source.withSplits("partition"), timed, "rows")
        if oneKeyGroup:
            rows.setParallelism(1)
        windows = (
            rows.map(fails_in_the_last_batch)
            .keyBy(lambda row: row.key)
            .window(fl.TumblingEventTimeWindows.of(5000))
        )
        windows.process(Sizes()).forEachBatch(
            lambda values, batch: seen.extend((batch, *value) for value in values)
        )
        return seen

    seen = run(oneKeyGroup)
    with pytest.raises(fl.UserFunctionError, match="broken"):
        env.execute()
    assert seen == [(1, "a", 0, 5)]
    broken.unlink()
    again = run()
    metrics = env.execute().getMetrics()
    assert [row[1:] for row in again] == [
        ("a", 5000, 5),
        ("a", 10_000, 5),
        ("a", 1_000_000, 10),
    ]
    assert again[0][0] == 2, (
        "the watermarks of both splits were kept: the window fires in its batch"
    )
    assert sum(m.numLateRecordsDropped for m in metrics.values()) == 0


SPLIT_ROWS = [(n % 2, "a", 1000 * n if n % 2 else 1_000_000 + 1000 * n) for n in range(40)]


@pytest.fixture(scope="module")
def splits(spark):
    """The output and the metrics of a job on the splits of a DataFrame."""
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment(spark)
    env.setParallelism(2).setMaxParallelism(4)
    frame = spark.createDataFrame(SPLIT_ROWS, ROWS)
    timed = fl.WatermarkStrategy.forMonotonousTimestamps()
    strategy = fl.ArrivalTimeStrategy[fl.Row](
        timestampAssigner="at", arrivalTime="at", lateArrivalTolerance=5000
    )
    none = fl.WatermarkStrategy.noWatermarks()
    unordered = env.fromDataFrame(frame, "at", none, split="partition")
    by_key = env.fromDataFrame(frame, "at", timed, split="partition").keyBy("key")
    stamped = {
        "source": env.fromDataFrame(frame, "at", strategy, split="partition"),
        "later": timestampBy(unordered.filter(lambda row: row.key), "at", arrivalTime="at"),
        "as one": timestampBy(unordered.map(lambda row: row), "at", arrivalTime="at"),
    }
    streams = {
        name: stream.process(lambda row, ctx, out: out.collect((row.at, ctx.timestamp())))
        for name, stream in stamped.items()
    }
    streams["windows"] = by_key.window(fl.TumblingEventTimeWindows.of(100_000)).process(Sizes())
    seen = {name: [] for name in streams}
    for name, stream in streams.items():
        stream.forEachBatch(lambda values, batch, into=seen[name]: into.extend(values))
    return seen, env.execute().getMetrics()


def test_the_splits_of_a_dataframe(splits):
    seen, _ = splits
    assert seen["windows"] == [("a", 0, 20), ("a", 1_000_000, 20)]


def test_a_column_of_splits_that_is_not_there_is_refused(env, spark):
    frame = spark.createDataFrame(SPLIT_ROWS, ROWS)
    timed = fl.WatermarkStrategy.forMonotonousTimestamps()
    with pytest.raises(fl.IllegalArgumentError, match="no column 'shard' to tell the splits by"):
        env.fromDataFrame(frame, "at", timed, split="shard")


def test_the_splits_of_a_dataframe_are_input_partitions_of_an_arrival_time_strategy(splits):
    """Given at the source, and later on. Nothing is adjusted to the watermark of the other partition."""
    seen, found = splits
    metrics = StreamAnalyticsMetrics.of(found)
    for name in ("source", "later"):
        assert sorted(seen[name]) == sorted((at, at) for _, _, at in SPLIT_ROWS)
    assert metrics.OutOfOrderEvents == sum(at != stamp for at, stamp in seen["as one"]) > 0
