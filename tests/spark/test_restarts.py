"""A job on Spark that failed runs again from its checkpoint, as its restart strategy allows."""

from __future__ import annotations

import json
import os
import signal
import urllib.request
from pathlib import Path

import pytest

import flinkish as fl
from tests.spark.waiting import wait_for
from tests.watched import drop

pytestmark = pytest.mark.recovery


def again(directory: Path, name: str) -> int:
    """Count a call, over all processes: how many there were."""
    for number in range(1, 100):
        try:
            (directory / f"{name}-{number}").touch(exist_ok=False)
        except FileExistsError:
            continue
        return number
    raise AssertionError(f"{name} was called 100 times")


class Count(fl.KeyedProcessFunction):
    """Counts by key, and ``fails`` on one element the first times it comes."""

    def __init__(self, directory, fails):
        self.directory = directory
        self.fails = fails

    def open(self, context):
        self.count = self.getRuntimeContext().getState(fl.ValueStateDescriptor("n", int))

    def processElement(self, value, ctx, out):
        self.count.update((self.count.value() or 0) + 1)
        if value == 12:
            self.fails(again(self.directory, "element"))
        ctx.timerService().registerEventTimeTimer(100)
        yield value, self.count.value()

    def onTimer(self, timestamp, ctx, out):
        yield "all", self.count.value()


def raises(times):
    def fails(call):
        if call <= times:
            raise ConnectionError("not now")

    return fails


def killed(call):
    if call == 1:
        os.kill(os.getpid(), signal.SIGKILL)


def counted(env, directory, fails):
    env.getConfig().setElementsPerBatch(5)
    return env.fromSequence(0, 19).keyBy(lambda n: n % 2).process(Count(directory, fails))


def is_whole(values):
    """Whether each element was counted once, and each key has its one timer."""
    counted = sorted(value for value in values if value[0] != "all")
    timers = [value for value in values if value[0] == "all"]
    return counted == [(n, n // 2 + 1) for n in range(20)] and timers == [("all", 10)] * 2


@pytest.mark.slow("starts the query three times")
def test_a_function_that_fails_twice_changes_no_result(env, tmp_path):
    env.setRestartStrategy(fl.RestartStrategies.fixedDelayRestart(2, 0))
    seen = []
    counted(env, tmp_path, raises(2)).forEachBatch(lambda values, batch: seen.extend(values))
    client = env.executeAsync("counts")
    result = client.getJobExecutionResult()
    assert is_whole(seen)
    assert result.numRestarts == 2
    (operator,) = (m for m in result.metrics.values() if m.numRecordsIn)
    assert operator.numRecordsIn == 20
    details = client.getJobDetails()
    assert (details.numRestarts, details.status) == (2, fl.JobStatus.FINISHED)
    assert [error.type for error in details.exceptions] == ["UserFunctionError"] * 2
    assert details.checkpoint.restored == 1
    assert [batch.id for batch in details.batches] == list(range(len(details.batches)))


@pytest.mark.rotating("starts the query twice, and a worker; a function that raises is above")
def test_a_worker_that_is_killed_changes_no_result(env, tmp_path):
    env.enableCheckpointing(str(tmp_path / "checkpoint"))
    env.configure(
        fl.Configuration(
            {"restart-strategy.type": "fixed-delay", "restart-strategy.fixed-delay.delay": 0}
        )
    )
    results = list(counted(env, tmp_path, killed).executeAndCollect())
    assert is_whole(results)


@pytest.mark.rotating(
    "starts the query three times; tests/local/test_local_restarts.py has the attempts"
)
def test_the_attempts_are_used_up_and_a_later_run_goes_on(env, tmp_path):
    env.enableCheckpointing(str(tmp_path / "checkpoint"))
    env.setRestartStrategy(fl.RestartStrategies.fixedDelayRestart(1, 0))
    seen = []
    counted(env, tmp_path, raises(2)).forEachBatch(lambda values, batch: seen.extend(values))
    client = env.executeAsync()
    with pytest.raises(fl.UserFunctionError, match="not now") as raised:
        client.getJobExecutionResult()
    assert "The job was restarted 1 time before." in raised.value.__notes__
    assert client.getJobStatus() is fl.JobStatus.FAILED
    assert client.getJobDetails().numRestarts == 1
    counted(env, tmp_path, raises(2)).forEachBatch(lambda values, batch: seen.extend(values))
    assert env.execute().numRestarts == 0
    assert is_whole(seen)


def test_a_sink_that_fails_gets_its_batch_again_and_collected_elements_come_once(env):
    env.setRestartStrategy(fl.RestartStrategies.failureRateRestart(3, 60_000, 0))
    env.getConfig().setElementsPerBatch(5)
    numbers = env.fromSequence(0, 9)
    collected = numbers.collectAsync()
    calls, written = [], []

    def sink(values, batch):
        calls.append(batch)
        if calls == [0, 1]:
            raise OSError("the disk")
        written.extend(values)

    numbers.forEachBatch(sink)
    assert env.execute().numRestarts == 1
    assert calls[:3] == [0, 1, 1]
    assert written == list(collected) == list(range(10))


def test_a_job_that_waits_for_its_restart_says_so_everywhere_and_can_be_cancelled(env, tmp_path):
    page = env.enableWebUI()
    env.setRestartStrategy(
        fl.RestartStrategies.exponentialDelayRestart(3_600_000, 3_600_000, 2.0, 1, 0.0)
    )
    counted(env, tmp_path, raises(9)).forEachBatch(lambda values, batch: None)
    client = env.executeAsync("waits")
    wait_for(lambda: client.getJobStatus() is fl.JobStatus.RESTARTING)
    address = f"{page.url.partition('#')[0]}api/jobs/{client.getJobID()}"

    def asked(path):
        with urllib.request.urlopen(f"{address}{path}") as answer:
            return json.load(answer)

    assert asked("")["state"] == "RESTARTING"
    assert asked("/metrics?get=numRestarts") == [{"id": "numRestarts", "value": "1"}]
    assert asked("/config")["execution-config"]["restart-strategy"].startswith(
        "Restart with exponential delay: starting at 3600000 ms"
    )
    (entry,) = asked("/exceptions")["exceptionHistory"]["entries"]
    assert entry["exceptionName"] == "UserFunctionError"
    client.cancel()
    assert client.getJobStatus() is fl.JobStatus.CANCELED
    client.getJobExecutionResult()
    page.close()


@pytest.mark.rotating("two jobs; the one above waits for its restart too")
def test_a_stop_while_the_restart_is_waited_for_keeps_the_checkpoint(env, tmp_path):
    env.enableCheckpointing(str(tmp_path / "checkpoint"))
    env.setRestartStrategy(fl.RestartStrategies.fixedDelayRestart(1, fl.Duration.ofHours(1)))
    seen = []
    counted(env, tmp_path, raises(1)).forEachBatch(lambda values, batch: seen.extend(values))
    client = env.executeAsync()
    wait_for(lambda: client.getJobStatus() is fl.JobStatus.RESTARTING)
    assert client.stopWithSavepoint() == str(tmp_path / "checkpoint")
    assert client.getJobStatus() is fl.JobStatus.CANCELED
    counted(env, tmp_path, raises(1)).forEachBatch(lambda values, batch: seen.extend(values))
    env.execute()
    assert is_whole(seen)


@pytest.mark.rotating("tests/local/test_local_restarts.py has it too")
def test_what_another_try_cannot_help_ends_the_job(env, tmp_path):
    env.setRestartStrategy(fl.RestartStrategies.fixedDelayRestart(9, 0))

    def refuse(value):
        again(tmp_path, "called")
        raise fl.InvalidProgramError("the pieces do not fit")

    env.fromElements(1).map(refuse).forEachBatch(lambda values, batch: None)
    client = env.executeAsync()
    with pytest.raises(fl.FlinkishError, match="do not fit"):
        client.getJobExecutionResult()
    assert client.getJobDetails().numRestarts == 0
    assert [file.name for file in tmp_path.iterdir()] == ["called-1"]


def test_a_job_that_cannot_be_planned_is_not_restarted(env, tmp_path):
    env.setRestartStrategy(fl.RestartStrategies.fixedDelayRestart(9, fl.Duration.ofHours(1)))
    env.fromSource(fl.FileSource.forLines(str(tmp_path / "missing"))).print()
    with pytest.raises(fl.IllegalArgumentError, match="missing"):
        env.execute()


class Flaky(fl.Source):
    def __init__(self, directory):
        self.directory = directory

    def read(self, position):
        for number in range(position or 0, 12):
            if number == 7 and again(self.directory, "source") < 3:
                raise ConnectionError("no line")
            yield number, number + 1


@pytest.mark.rotating("starts the query three times; tests/local/test_local_restarts.py has it too")
def test_a_source_that_fails_is_read_again_from_where_it_was(env, tmp_path):
    env.setRestartStrategy(fl.RestartStrategies.fixedDelayRestart(2, 0))
    assert list(env.fromSource(Flaky(tmp_path)).executeAndCollect()) == list(range(12))


@pytest.mark.rotating("runs an unbounded job, and starts it twice")
def test_an_unbounded_job_goes_on_with_its_timers(env, tmp_path):
    env.setRestartStrategy(fl.RestartStrategies.fixedDelayRestart(1, 0))

    class Later(fl.KeyedProcessFunction):
        def processElement(self, value, ctx, out):
            service = ctx.timerService()
            service.registerProcessingTimeTimer(service.currentProcessingTime() + 500)
            yield value

        def onTimer(self, timestamp, ctx, out):
            if again(tmp_path, "timer") == 1:
                raise ConnectionError("not now")
            yield "late"

    lines = tmp_path / "in"
    lines.mkdir()
    drop(lines, "a.txt", "a\n")
    source = fl.FileSource.forLines(str(lines)).monitorContinuously()
    seen = []
    stream = env.fromSource(source, fl.WatermarkStrategy.noWatermarks()).keyBy(lambda v: v)
    stream.process(Later()).forEachBatch(lambda values, batch: seen.extend(values))
    client = env.executeAsync()
    wait_for(lambda: "late" in seen)
    drop(lines, "b.txt", "b\n")
    wait_for(lambda: len(seen) == 4)
    client.cancel()
    assert seen == ["a", "late", "b", "late"]
    assert client.getJobDetails().numRestarts == 1
