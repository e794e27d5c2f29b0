"""The environment: settings, sources by type, listeners."""

from __future__ import annotations

import os
from contextlib import nullcontext

import pytest

import flinkish as fl
from flinkish import Types
from flinkish.api.environment.restart_strategies import RESTART_OPTIONS
from flinkish.api.environment.settings import EnvironmentSettings, usable_cores
from flinkish.api.errors import IllegalArgumentError, IllegalStateError, NotSupportedError
from flinkish.local.executor import LocalPipelineExecutor


@pytest.fixture
def env():
    return fl.StreamExecutionEnvironment()


def test_options_by_flinks_names(env):
    env.configure(
        fl.Configuration(
            {
                "parallelism.default": 3,
                "pipeline.max-parallelism": 12,
                "pipeline.name": "job",
                "pipeline.auto-watermark-interval": fl.Duration.ofMillis(50),
                "pipeline.global-job-parameters": {"limit": "5"},
                "pipeline.object-reuse": True,
                "pipeline.column-checks": 7,
                "pipeline.function-tracing": False,
                "pipeline.operator-chaining.enabled": False,
                "execution.buffer-timeout.interval": 0,
                "execution.runtime-mode": "STREAMING",
                "execution.savepoint.path": "/older",
                "execution.savepoint.ignore-unclaimed-state": False,
                "execution.state-recovery.path": "/savepoint",
                "execution.state-recovery.allow-repeated-output": True,
                "execution.state-recovery.ignore-unclaimed-state": True,
                "execution.checkpointing.dir": "/checkpoints",
                "execution.checkpointing.externalized-checkpoint-retention": (
                    "DELETE_ON_CANCELLATION"
                ),
                "execution.checkpointing.interval": 5_000,
                "state.checkpoints.dir": "/checkpoints",
                "execution.checkpointing.mode": "AT_LEAST_ONCE",
                "rest.port": 8081,
                **dict.fromkeys(RESTART_OPTIONS, 1),
                "restart-strategy.type": "off",
            }
        )
    )
    assert (env.getParallelism(), env.getMaxParallelism()) == (3, 12)
    assert env.getConfig().getAutoWatermarkInterval() == 50
    assert env.getConfig().getGlobalJobParameters() == {"limit": "5"}
    assert (env.getConfig().getParallelism(), env.getConfig().getMaxParallelism()) == (3, 12)
    assert env.getConfig().isObjectReuseEnabled()
    assert not env.getConfig().isFunctionTracingEnabled()
    assert not env.isChainingEnabled()
    assert env.getBufferTimeout() == 0
    assert env.getCheckpointConfig().getCheckpointStorage() == "/checkpoints"
    assert env.getDefaultSavepointDirectory() == "/checkpoints"
    retention = env.getCheckpointConfig().getExternalizedCheckpointRetention()
    assert retention is fl.ExternalizedCheckpointRetention.DELETE_ON_CANCELLATION
    begin = fl.SavepointRestoreSettings.forPath("/savepoint", True, allowRepeatedOutput=True)
    assert env.getSavepointRestoreSettings() == begin
    assert env.setSavepoint("/savepoint", True, True).getSavepointRestoreSettings() == begin
    assert env.getCheckpointInterval() == 5_000
    assert env.getCheckpointingConsistencyMode() is fl.CheckpointingMode.AT_LEAST_ONCE
    assert env.getConfig().getColumnChecks() == 7
    assert set(env.getConfiguration()) == set(fl.Configuration.OPTIONS)


def test_an_option_without_effect_is_refused():
    with pytest.raises(IllegalArgumentError, match=r"no option 'paralelism.default'.*pipeline"):
        fl.Configuration({"paralelism.default": 4})


def test_an_option_of_flinks_own_processes_says_that_it_has_no_effect(env, caplog):
    for option in ("taskmanager.numberOfTaskSlots", "state.backend.type", "metrics.reporters"):
        env.configure(fl.Configuration({option: 4}))
        assert f"The option {option} has no effect" in caplog.text


def test_a_job_has_the_name_of_the_configuration(env):
    env.configure(fl.Configuration({"pipeline.name": "Clicks"}))
    env.setLocalExecution()
    env.fromData(1).sinkTo(fl.DiscardingSink())
    assert env.execute().jobName == "Clicks"


def test_what_cannot_matter_is_accepted(env):
    assert env.setBufferTimeout(10).getBufferTimeout() == 10
    assert not env.disableOperatorChaining().isChainingEnabled()
    assert env.isChainingOfOperatorsWithDifferentMaxParallelismEnabled()
    assert env.enableChangelogStateBackend(True).isChangelogStateBackendEnabled() is True
    assert env.registerSlotSharingGroup("group") is env
    assert not env.isUnalignedCheckpointsEnabled()
    assert not env.isForceUnalignedCheckpoints()
    env.enableCheckpointing(1_000, fl.CheckpointingMode.EXACTLY_ONCE)
    assert env.getCheckpointInterval() == 1_000
    assert env.getCheckpointConfig().getCheckpointStorage() is None
    stream = env.fromElements(1).map(abs)
    for accepted in (
        stream.disableChaining(),
        stream.startNewChain(),
        stream.slotSharingGroup("group"),
        stream.setBufferTimeout(-1),
        stream.addMetricVariable("key", "value"),
        stream.enableAsyncState(),
        stream.forceNonParallel(),
    ):
        assert accepted is stream
    assert stream.getParallelism() == 1


def test_what_would_change_results_is_refused(env):
    with pytest.raises(NotSupportedError, match="flatMap"):
        env.socketTextStream("localhost", 1, ";")


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda env: env.setBufferTimeout(-2), "setBufferTimeout: -2 "),
        (lambda env: env.fromElements(1).setBufferTimeout(-2), "setBufferTimeout: -2 "),
        (lambda env: env.enableCheckpointing(0), "setCheckpointInterval: .* 0 ms"),
        (lambda env: env.setParallelism(0), "setParallelism: 0 "),
        (lambda env: env.setDefaultLocalParallelism(0), "setDefaultLocalParallelism: 0 "),
        (lambda env: env.fromElements(int), "fromElements: pass at least one element"),
    ],
)
def test_arguments_out_of_range_are_refused(env, call, says):
    with pytest.raises(IllegalArgumentError, match=says):
        call(env)


def test_local_environments_have_the_default_parallelism(monkeypatch):
    monkeypatch.setattr(EnvironmentSettings, "_defaultLocalParallelism", 2)
    local = fl.StreamExecutionEnvironment.createLocalEnvironment
    assert local().getParallelism() == 2
    assert local(5).getParallelism() == 5
    assert local(fl.Configuration({"pipeline.max-parallelism": 7})).getMaxParallelism() == 7
    fl.StreamExecutionEnvironment.setDefaultLocalParallelism(3)
    assert fl.StreamExecutionEnvironment.getDefaultLocalParallelism() == 3


def test_elements_with_their_type_first(env):
    assert env.fromElements(Types.SHORT(), 1, 2).getType() == Types.SHORT()
    assert env.fromData(float, 1, 2).getType() == Types.DOUBLE()
    assert env.fromData([1, 2], Types.INT()).getType() == Types.INT()
    assert env.fromData([1, 2]).getType() == Types.LONG()
    assert env.fromCollection(iter("ab"), str).getType() == Types.STRING()
    assert env.generateSequence(1, 2).getType() == Types.LONG()


def test_results_are_there_only_once_the_job_has_started(env):
    results = env.fromElements(1).collectAsync()
    with pytest.raises(IllegalStateError, match="executeAsync"):
        next(results)
    assert len(env.getTransformations()) == 1


class Listener(fl.JobListener):
    def __init__(self):
        self.seen = []

    def onJobSubmitted(self, jobClient, throwable):
        self.seen.append(("submitted", jobClient, throwable))

    def onJobExecuted(self, jobExecutionResult, throwable):
        self.seen.append(("executed", jobExecutionResult, throwable))


@pytest.mark.parametrize("start", ["execute", "executeAsync"])
def test_a_job_whose_start_is_interrupted_is_cancelled(start):
    class Interrupted(fl.JobListener):
        def onJobSubmitted(self, jobClient, throwable):
            clients.append(jobClient)
            raise KeyboardInterrupt

        def onJobExecuted(self, jobExecutionResult, throwable):
            raise AssertionError("the job has not ended")

    clients: list[fl.JobClient] = []
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    env.registerJobListener(Interrupted())
    numbers = fl.DataGeneratorSource(lambda n: n, elementsPerSecond=50)
    env.fromSource(numbers, None, "numbers").forEachBatch(lambda values, batch: None)
    with pytest.raises(KeyboardInterrupt):
        getattr(env, start)()
    clients[0].getJobExecutionResult(20)
    assert clients[0].getJobStatus() is fl.JobStatus.CANCELED


class Client:
    def getJobExecutionResult(self, timeout=None):
        return "result"

    def cancelledOnInterrupt(self):
        return nullcontext()


@pytest.mark.parametrize("error", [None, RuntimeError("no cluster")])
def test_listeners_are_told(env, monkeypatch, error):
    client = Client()

    class Executor:
        def executeAsync(self, environment, sinks, jobName):
            if error:
                raise error
            return client

    monkeypatch.setattr(fl.StreamExecutionEnvironment, "executorLoader", staticmethod(Executor))
    listener = Listener()
    env.registerJobListener(listener)
    assert env.getJobListeners() == [listener]
    env.fromElements(1).print()
    if error:
        with pytest.raises(RuntimeError):
            env.execute()
        assert [event[0::2] for event in listener.seen] == [("submitted", error)]
    else:
        env.execute()
        assert listener.seen == [("submitted", client, None), ("executed", "result", None)]
    env.clearJobListeners()
    assert env.getJobListeners() == []


def test_only_cores_that_the_process_may_use_count(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {3, 5}, raising=False)
    assert usable_cores() == 2
    monkeypatch.delattr(os, "sched_getaffinity")
    assert usable_cores() == 8


def test_the_interval_of_checkpoints_is_that_of_batches(env, caplog, monkeypatch):
    config = env.enableCheckpointing(60_000).getConfig()
    assert (config.triggerIntervalOf(True), config.triggerIntervalOf(False)) == (60_000, 0)
    env.setTriggerInterval(500)
    assert (config.triggerIntervalOf(True), config.triggerIntervalOf(False)) == (500, 500)
    monkeypatch.setattr(fl.StreamExecutionEnvironment, "executorLoader", LocalPipelineExecutor)
    env.fromData(1).sinkTo(fl.DiscardingSink())
    env.execute("Clicks")
    assert "Nothing of the job Clicks survives this program" in caplog.text
    assert "setCheckpointStorage(directory)" in caplog.text


@pytest.mark.parametrize("option", ["state.checkpoints.dir", "execution.checkpointing.dir"])
def test_a_job_whose_checkpoints_have_a_directory_does_not_warn(
    env, caplog, option, tmp_path, monkeypatch
):
    env.enableCheckpointing(60_000).configure(fl.Configuration({option: str(tmp_path)}))
    assert env.getCheckpointConfig().getCheckpointStorage() == str(tmp_path)
    monkeypatch.setattr(fl.StreamExecutionEnvironment, "executorLoader", LocalPipelineExecutor)
    env.fromData(1).sinkTo(fl.DiscardingSink())
    env.execute()
    assert caplog.text == ""


def test_local_execution_says_once_that_it_takes_no_checkpoints(env, caplog):
    env.setLocalExecution().enableCheckpointing("/proc/cannot-be-written")
    for _ in range(2):
        env.fromData(1).sinkTo(fl.DiscardingSink())
        env.execute()
    (message,) = caplog.messages
    assert message.startswith(
        "Local execution takes no checkpoints, and does not use /proc/cannot-be-written: "
    )
