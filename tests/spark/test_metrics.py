"""The metrics of a job, while it runs and afterwards."""

from __future__ import annotations

import json
import logging

import pytest

import flinkish as fl
from tests.spark.waiting import wait_for


class Counting(fl.KeyedProcessFunction):
    def open(self, openContext):
        group = self.getRuntimeContext().getMetricGroup()
        self.odd = group.counter("odd")
        group.gauge("threshold", lambda: 7)

    def processElement(self, value, ctx, out):
        if value[1] % 2:
            self.odd.inc()
        ctx.timerService().registerEventTimeTimer(ctx.timestamp() + 100)
        out.collect(value)


STRATEGY = fl.WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(lambda e, t: e[1])


class Told(fl.RichMapFunction):
    """Tells where it runs, and counts in every kind of metric."""

    def open(self, openContext):
        group = self.getRuntimeContext().getMetricGroup().addGroup("told")
        self.histogram, self.meter = group.histogram("value"), group.meter("events")

    def map(self, value):
        self.histogram.update(value)
        self.meter.markEvent()
        task = self.getRuntimeContext().getTaskInfo()
        return task.getIndexOfThisSubtask(), task.getNumberOfParallelSubtasks()


class EachElement(fl.WatermarkGenerator):
    def onEvent(self, event, eventTimestamp, output):
        output.emitWatermark(fl.Watermark(eventTimestamp))

    def onPeriodicEmit(self, output):
        pass


def counting(env):
    data = [(f"k{i % 2}", i) for i in range(10)]
    source = env.fromCollection(data).assignTimestampsAndWatermarks(STRATEGY)
    counted = source.keyBy(lambda e: e[0]).process(Counting()).name("counting")
    windows = counted.keyBy(lambda e: e[0]).window(fl.TumblingEventTimeWindows.of(5))
    return windows.reduce(lambda a, b: a).name("windows")


def late(env):
    strategy = fl.WatermarkStrategy.forGenerator(lambda context: EachElement())
    stream = env.fromElements(("a", 1), ("a", 50), ("a", 2), ("a", 3))
    stream = stream.assignTimestampsAndWatermarks(strategy.withTimestampAssigner(lambda e, t: e[1]))
    windows = stream.keyBy(lambda e: e[0]).window(fl.TumblingEventTimeWindows.of(10))
    return windows.reduce(lambda a, b: a).name("late")


def counts(env):
    pairs = env.fromElements("a", "b", "c").map(lambda w: (w, 1)).keyBy(lambda p: p[0])
    return pairs.sum(1).name("counts")


@pytest.fixture(scope="module")
def measured(spark):
    """The client of one job of two batches, which has ended, what came of ``Told``, and what the job has logged."""
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment(spark)
    env.setParallelism(2).setMaxParallelism(4).getConfig().setElementsPerBatch(5)
    for build in (counting, late, counts):
        build(env).forEachBatch(lambda values, batch: None)
    seen = []
    told = env.fromCollection(range(10)).keyBy(lambda n: n).map(Told()).name("told")
    told.forEachBatch(lambda values, batch: seen.extend(values))
    log = logging.getLogger("flinkish")
    logged, log.handle = [], lambda record: logged.append(record.getMessage())
    try:
        client = env.executeAsync("measured")
        client.getJobExecutionResult()
    finally:
        del log.handle
    return client, seen, logged


def test_metrics_after_a_job(measured):
    client, *_ = measured
    result = client.getJobExecutionResult()
    assert client.getJobStatus() is fl.JobStatus.FINISHED
    assert result.jobName == "measured"
    assert result.getNetRuntime() > 0
    metrics = result.getMetrics()
    # The rate of "told" goes down while the clock goes on.
    later = client.getMetrics()
    assert metrics.keys() == later.keys()
    assert {n: m for n, m in metrics.items() if n != "told"} == {
        n: m for n, m in later.items() if n != "told"
    }
    counting = metrics["counting"]
    assert (counting.numRecordsIn, counting.numRecordsOut) == (10, 10)
    assert counting.currentWatermark == 2**63 - 1
    assert counting.timers == 0
    assert counting.user == {"odd": 5, "threshold": 7}
    assert metrics["windows"].numRecordsIn == 10
    assert metrics["windows"].numRecordsOut == 4


def test_task_information_and_metrics_of_all_tasks(measured):
    client, seen, _ = measured
    metrics = client.getMetrics()["told"].user
    assert set(seen) == {(0, 2), (1, 2)}
    assert 0 < metrics["told.events.rate"] < 10 / 0.1
    assert {name: value for name, value in metrics.items() if name != "told.events.rate"} == {
        "told.value": 10,
        "told.events": 10,
        "told.value.sum": 45,
        "told.value.min": 0,
        "told.value.max": 9,
    }


def test_late_records_that_are_dropped_are_counted(measured):
    client, _, logged = measured
    assert client.getMetrics()["late"].numLateRecordsDropped == 2
    (said,) = [message for message in logged if "late element" in message]
    assert said.startswith("measured: late has dropped 2 late elements. ")


def test_state_is_shown_in_entries_and_pages(measured):
    metrics = measured[0].getMetrics()["counts"]
    assert metrics.stateEntries == 3
    assert 1 <= metrics.statePages <= 3


def test_a_job_that_runs_shows_metrics_after_each_batch_and_keeps_its_interval(env):
    """Batches begin every second; with 20 elements a second each has work to do."""
    env.setTriggerInterval(fl.Time.seconds(1))
    numbers = env.fromSource(fl.DataGeneratorSource(lambda n: n, elementsPerSecond=20))
    sums = numbers.keyBy(lambda n: n % 2).reduce(max).name("highest")
    sums.forEachBatch(lambda values, batch: None)
    client = env.executeAsync()

    def counted():
        metrics = client.getMetrics().get("highest")
        return metrics.numRecordsIn if metrics else 0

    def batches():
        return client.getJobDetails().batches

    try:
        wait_for(counted)
        first = counted()
        wait_for(lambda: counted() > first and len(batches()) >= 4)
        assert client.getJobStatus() is fl.JobStatus.RUNNING
        assert client.getMetrics()["highest"].stateEntries == 2
    finally:
        client.cancel()
    assert client.getJobStatus() is fl.JobStatus.CANCELED
    assert client.getJobExecutionResult().jobName == "Flink Streaming Job"
    # In each interval one begins, at its start, or later where the batch before took longer.
    starts = sorted(batch.startTime for batch in batches())
    assert starts[3] - starts[1] > 1000


def test_the_plan_is_shown_without_running(env):
    counts = env.fromElements("a").map(lambda w: (w, 1)).keyBy(lambda p: p[0]).sum(1)
    counts.name("counts").print()
    nodes = json.loads(env.getExecutionPlan())["nodes"]
    assert [node["type"] for node in nodes][2] == "counts"
    assert "Stage 1 (after a shuffle)\n  counts" in env.explain()
