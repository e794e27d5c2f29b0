"""What a job makes of Flink's settings for checkpoints."""

from __future__ import annotations

import time
import warnings

import pytest

import flinkish as fl
from flinkish.deployment.checkpointing import trigger_interval, warn_of_no_directory
from flinkish.graph.job_graph import JobGraph
from flinkish.graph.stream_graph import StreamGraph
from flinkish.pyflink.common import Configuration
from flinkish.pyflink.datastream import StreamExecutionEnvironment as PyFlinkEnvironment

MINUTE = 60_000


@pytest.fixture
def env():
    return fl.StreamExecutionEnvironment.getExecutionEnvironment()


def interval_of(env, bounded=False):
    count = 10 if bounded else 2**63 - 1
    source = fl.DataGeneratorSource(abs, count)
    env.fromSource(source, fl.WatermarkStrategy.noWatermarks(), "numbers").print()
    graph = JobGraph(StreamGraph.of(env._sinks))
    return trigger_interval(env.getConfig(), env.getCheckpointConfig(), graph)


def test_the_interval_of_checkpoints_is_that_of_batches_where_no_other_is_set(env):
    assert interval_of(env) == 0
    env.enableCheckpointing(MINUTE)
    assert interval_of(env) == MINUTE
    env.setTriggerInterval(5)
    assert interval_of(env) == 5
    env.setTriggerInterval(0)
    assert interval_of(env) == 0


def test_a_job_that_ends_does_not_wait_between_its_batches(env):
    assert interval_of(env.enableCheckpointing(MINUTE), bounded=True) == 0


@pytest.mark.parametrize(
    "set_directory",
    [
        lambda env: env.enableCheckpointing(MINUTE, checkpointStorage="/kept"),
        lambda env: env.enableCheckpointing("/kept").enableCheckpointing(MINUTE),
        lambda env: env.enableCheckpointing(checkpointStorage="/kept").enableCheckpointing(MINUTE),
        lambda env: env.enableCheckpointing(MINUTE).configure(
            fl.Configuration({"state.checkpoints.dir": "/kept"})
        ),
        lambda env: (
            env.enableCheckpointing(MINUTE).getCheckpointConfig().setCheckpointStorage("/kept")
        ),
    ],
)
def test_the_directory_comes_from_each_of_its_settings(env, set_directory):
    set_directory(env)
    checkpoints = env.getCheckpointConfig()
    assert (checkpoints.getCheckpointInterval(), checkpoints.getCheckpointStorage()) == (
        MINUTE,
        "/kept",
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_no_directory(checkpoints)


def test_without_a_directory_a_warning_says_what_to_write(env):
    with pytest.warns(
        UserWarning, match=r"enableCheckpointing\(60000\): .*nothing survives.*write"
    ):
        warn_of_no_directory(env.enableCheckpointing(MINUTE).getCheckpointConfig())


def test_who_asks_for_no_checkpoints_is_not_warned(env):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_no_directory(env.getCheckpointConfig())
        env.setLocalExecution().fromData(1).sinkTo(fl.DiscardingSink())
        env.execute()


@pytest.mark.parametrize("argument", [MINUTE, "/kept"])
def test_local_execution_keeps_no_checkpoints(env, argument):
    env.setLocalExecution().enableCheckpointing(argument)
    env.fromData(1).sinkTo(fl.DiscardingSink())
    began = time.monotonic()
    with pytest.warns(UserWarning, match="local execution keeps no checkpoints"):
        env.execute()
    assert time.monotonic() - began < 30


def test_pyflink_has_the_same_interval():
    env = PyFlinkEnvironment.get_execution_environment()
    env.enable_checkpointing(MINUTE)
    assert interval_of(env._core) == MINUTE
    configuration = Configuration().set_string("state.checkpoints.dir", "/kept")
    env.configure(configuration)
    assert env._core.getCheckpointConfig().getCheckpointStorage() == "/kept"
