"""A job in this process that failed goes on from its last batch."""

from __future__ import annotations

import pytest

import flinkish as fl
from tests.spark.waiting import wait_for

FAILED: dict[str, int] = {}


@pytest.fixture
def env():
    FAILED.clear()
    environment = fl.StreamExecutionEnvironment.getExecutionEnvironment()
    environment.setLocalExecution().setRestartStrategy(fl.RestartStrategies.fixedDelayRestart(3, 0))
    environment.getConfig().setElementsPerBatch(5)
    return environment


def fails(name, times):
    """Whether ``name`` is to fail now; functions are copies, so it counts in this module."""
    FAILED[name] = FAILED.get(name, 0) + 1
    return FAILED[name] <= times


class Count(fl.KeyedProcessFunction):
    def __init__(self, failures):
        self.failures = failures

    def open(self, context):
        self.count = self.getRuntimeContext().getState(fl.ValueStateDescriptor("n", int))

    def processElement(self, value, ctx, out):
        self.count.update((self.count.value() or 0) + 1)
        if value == 12 and fails("count", self.failures):
            raise ConnectionError("not now")
        ctx.timerService().registerEventTimeTimer(100)
        yield value, self.count.value()

    def onTimer(self, timestamp, ctx, out):
        yield "all", self.count.value()


def counted(env, failures):
    return env.fromSequence(0, 19).keyBy(lambda n: n % 2).process(Count(failures))


def test_what_the_failed_batch_did_is_undone(env):
    seen = []
    counted(env, 2).forEachBatch(lambda values, batch: seen.append((batch, values)))
    client = env.executeAsync()
    result = client.getJobExecutionResult()
    values = [value for _, batch in seen for value in batch]
    assert sorted(values[:20]) == [(n, n // 2 + 1) for n in range(20)]
    assert values[20:] == [("all", 10), ("all", 10)]
    assert [batch for batch, _ in seen] == [0, 1, 2, 3]
    assert (result.numRestarts, FAILED["count"]) == (2, 3)
    (operator,) = (m for m in result.metrics.values() if m.numRecordsIn)
    assert operator.numRecordsIn == 20
    details = client.getJobDetails()
    assert (details.numRestarts, len(details.exceptions)) == (2, 2)
    assert "not now" in details.exceptions[0].message


def test_the_attempts_are_used_up(env):
    seen = []
    counted(env, 4).forEachBatch(lambda values, batch: seen.extend(values))
    client = env.executeAsync()
    with pytest.raises(fl.UserFunctionError, match="not now") as raised:
        client.getJobExecutionResult()
    assert raised.value.__notes__ == ["The job was restarted 3 times before."]
    assert client.getJobStatus() is fl.JobStatus.FAILED
    assert client.getJobDetails().numRestarts == 3
    assert len(client.getJobDetails().exceptions) == 4
    assert len(seen) == 10


def test_a_sink_that_has_its_batch_does_not_get_it_again(env):
    first, second = [], []
    numbers = env.fromSequence(0, 9)

    def second_sink(values, batch):
        if batch == 1 and fails("sink", 1):
            raise OSError("the disk")
        second.extend(values)

    numbers.forEachBatch(lambda values, batch: first.extend(values))
    numbers.forEachBatch(second_sink)
    assert env.execute().numRestarts == 1
    assert first == second == list(range(10))


class Flaky(fl.Source):
    def read(self, position):
        for number in range(position or 0, 12):
            if number == 7 and fails("source", 2):
                raise ConnectionError("no line")
            yield number, number + 1


def test_a_source_is_read_again_from_where_it_was(env):
    assert list(env.fromSource(Flaky()).executeAndCollect()) == list(range(12))
    assert FAILED["source"] == 3


def test_a_job_that_waits_for_its_restart_says_so_and_can_be_cancelled(env):
    env.setRestartStrategy(fl.RestartStrategies.fixedDelayRestart(1, fl.Duration.ofHours(1)))
    counted(env, 1).forEachBatch(lambda values, batch: None)
    client = env.executeAsync()
    wait_for(lambda: client.getJobStatus() is fl.JobStatus.RESTARTING)
    assert client.getJobDetails().status is fl.JobStatus.RESTARTING
    assert not client.getJobStatus().isGloballyTerminalState()
    client.cancel()
    assert client.getJobStatus() is fl.JobStatus.CANCELED
    assert client.getJobStatus().isGloballyTerminalState()


def test_what_cannot_be_helped_ends_the_job_at_once(env):
    stream = env.fromElements(1).map(lambda n: n)

    def refuse(values, batch):
        fails("refused", 1)
        raise fl.InvalidProgramError("the pieces do not fit")

    stream.forEachBatch(refuse)
    client = env.executeAsync()
    with pytest.raises(fl.InvalidProgramError, match="do not fit"):
        client.getJobExecutionResult()
    assert (client.getJobDetails().numRestarts, FAILED["refused"]) == (0, 1)
