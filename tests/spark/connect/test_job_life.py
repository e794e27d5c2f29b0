"""How jobs over Spark Connect stop, go on and start again."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest

import flinkish as fl
from tests.spark.waiting import wait_for

pytestmark = [
    pytest.mark.connect,
    pytest.mark.slow("a server writes the files of a checkpoint, each with a job of Spark's"),
]


class Count(fl.KeyedProcessFunction):
    """Counts by key."""

    def open(self, context):
        self.count = self.getRuntimeContext().getState(fl.ValueStateDescriptor("count"))

    def processElement(self, value, ctx, out):
        self.count.update((self.count.value() or 0) + 1)
        out.collect((value, self.count.value()))


class FailsOnce(fl.MapFunction):
    """Raises on one element until ``marker`` is there, which it makes."""

    def __init__(self, marker):
        self.marker = marker

    def map(self, value):
        if value[0] == 7 and not Path(self.marker).exists():
            Path(self.marker).touch()
            raise ConnectionError("not now")
        return value


def counted(env, count=None):
    """The numbers from 0, each with how many of its parity there were."""
    numbers = fl.DataGeneratorSource(lambda number: number, count, elementsPerSecond=50)
    stream = env.fromSource(numbers, fl.WatermarkStrategy.noWatermarks(), "numbers").uid("numbers")
    return stream.keyBy(lambda number: number % 2).process(Count()).uid("count").name("count")


def test_a_savepoint_is_taken_and_gone_on_from(env, there):
    env.enableCheckpointing((there / "first").as_uri())
    seen = []
    counted(env).forEachBatch(lambda values, batch: seen.extend(values))
    client = env.executeAsync("numbers")
    wait_for(lambda: seen)
    assert client.triggerSavepoint(f"{there}/triggered") == f"{there}/triggered"
    assert client.getJobStatus() is fl.JobStatus.RUNNING
    client.stopWithSavepoint(f"{there}/stopped")
    assert client.getJobStatus() is fl.JobStatus.CANCELED
    metrics = next(found for found in client.getMetrics().values() if found.name == "count")
    assert metrics.numRecordsIn == len(seen)

    env.enableCheckpointing((there / "second").as_uri()).setSavepoint(f"{there}/stopped")
    before = len(seen)
    counted(env).forEachBatch(lambda values, batch: seen.extend(values))
    client = env.executeAsync("numbers")
    wait_for(lambda: len(seen) > before)
    client.cancel()
    assert client.getJobStatus() is fl.JobStatus.CANCELED
    assert sorted(seen) == [(number, number // 2 + 1) for number in range(len(seen))]


def test_a_batch_that_was_not_delivered_is_finished_before_the_job_begins_elsewhere(env, there):
    """The server has committed it, and perhaps more, when the sink fails in this process."""
    seen = []

    def collect(values, batch):
        if len(seen) == 10 and not (there / "second").exists():
            raise OSError("the disk is full")
        seen.extend(values)

    def job(name, elements):
        env.enableCheckpointing((there / name).as_uri())
        env.getConfig().setElementsPerBatch(elements)
        numbers = env.fromSequence(0, 49).uid("numbers")
        numbers.keyBy(lambda number: number % 2).process(Count()).uid("count").forEachBatch(collect)
        env.execute("numbers")

    with pytest.raises(fl.UserFunctionError, match="the disk is full"):
        job("first", 10)
    (there / "second").mkdir()
    env.setSavepoint((there / "first").as_uri()).setParallelism(3)
    job("second", 7)
    assert sorted(seen) == [(number, number // 2 + 1) for number in range(50)]


def test_a_function_that_fails_is_run_again_from_the_checkpoint(env, there, server):
    before = len(server.log())
    env.enableCheckpointing(str(there / "checkpoint"))
    env.setRestartStrategy(fl.RestartStrategies.fixedDelayRestart(2, 0))
    seen = []
    marked = counted(env, count=20).map(FailsOnce(str(there / "failed")))
    marked.forEachBatch(lambda values, batch: seen.extend(values))
    result = env.execute()
    assert result.numRestarts == 1
    assert sorted(seen) == [(number, number // 2 + 1) for number in range(20)]
    assert "PATH_NOT_FOUND" not in server.log()[before:]


def test_an_interrupt_cancels_the_job(env, remote):
    seen = threading.Event()
    counted(env).forEachBatch(lambda values, batch: seen.set())

    def interrupt():
        seen.wait(120)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        env.execute("interrupted")
    wait_for(lambda: all(query.name != "interrupted" for query in remote.streams.active))


def test_an_interrupted_iterator_has_no_job_any_more(env, remote):
    with counted(env).executeAndCollect("collected") as results:
        next(results)
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            list(results)
    wait_for(lambda: all(query.name != "collected" for query in remote.streams.active))
