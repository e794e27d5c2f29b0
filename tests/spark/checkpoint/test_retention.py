"""The checkpoint after the end of its job, and jobs that begin from an older batch of one."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import flinkish as fl
from flinkish.api.execution.client import JobStatus
from flinkish.spark.checkpoint.retention import CheckpointRetention
from flinkish.spark.checkpoint.storage import CheckpointStorage
from tests.spark.waiting import wait_for

RETENTION = fl.ExternalizedCheckpointRetention
RETAIN, DELETE, NONE = (
    RETENTION.RETAIN_ON_CANCELLATION,
    RETENTION.DELETE_ON_CANCELLATION,
    RETENTION.NO_EXTERNALIZED_CHECKPOINTS,
)


class Local:
    """The storage of a directory, without Spark."""

    def __init__(self, path):
        self.local = path
        self.path = path.as_uri()


@pytest.mark.parametrize(
    ("status", "removing"),
    [
        (JobStatus.FINISHED, {RETAIN, DELETE, NONE}),
        (JobStatus.CANCELED, {DELETE, NONE}),
        (JobStatus.FAILED, {NONE}),
    ],
)
@pytest.mark.parametrize("retention", [RETAIN, DELETE, NONE, None])
def test_a_directory_is_removed_as_in_flink(status, removing, retention, tmp_path):
    for goesOn in (True, False):
        directory = tmp_path / f"{goesOn}"
        (directory / "query").mkdir(parents=True)
        CheckpointRetention(None, Local(directory), retention).jobEnded(status, goesOn)
        assert directory.exists() == (goesOn or retention not in removing)


def test_what_could_not_be_removed_is_refused_as_the_job_starts():
    class Elsewhere(Local):
        local = None
        path = "nowhere://bucket/checkpoint"

        def __init__(self):
            pass

    CheckpointRetention(None, Elsewhere(), None)
    with pytest.raises(
        fl.NotSupportedError, match="nowhere://bucket/checkpoint could not be removed"
    ):
        CheckpointRetention(None, Elsewhere(), DELETE)


def test_it_is_set_by_flinks_methods_and_option():
    env = fl.StreamExecutionEnvironment()
    config = env.getCheckpointConfig()
    assert config.getExternalizedCheckpointRetention() is None
    assert config.isExternalizedCheckpointsEnabled()
    option = "execution.checkpointing.externalized-checkpoint-retention"
    env.configure(fl.Configuration({option: "NO_EXTERNALIZED_CHECKPOINTS"}))
    assert config.getExternalizedCheckpointRetention() is NONE
    assert not config.isExternalizedCheckpointsEnabled()
    config.setExternalizedCheckpointRetention(RETAIN)
    assert config.getExternalizedCheckpointRetention() is RETAIN
    with pytest.raises(fl.IllegalArgumentError, match="is none of ExternalizedCheckpointRetention"):
        config.setExternalizedCheckpointRetention("RETAIN")


# ---------------------------------------------------------------------- on Spark

COUNT = 60


def job(env, results, hold=None):
    numbers = env.fromSequence(0, COUNT - 1).uid("numbers")
    sums = numbers.keyBy(lambda n: n % 3).reduce(lambda a, b: a + b).uid("sums")

    def collect(values, batch):
        results.append(values)
        if hold is not None:
            hold(batch)

    sums.forEachBatch(collect)


def environment(spark, checkpoint, parallelism=2):
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment(spark).setParallelism(parallelism)
    env.enableCheckpointing(str(checkpoint)).getConfig().setElementsPerBatch(15)
    return env


@pytest.mark.recovery
@pytest.mark.slow("three jobs of four batches")
def test_a_job_begins_from_an_older_batch_of_a_checkpoint_that_was_retained(
    spark, tmp_path, caplog
):
    first: list[list[int]] = []
    env = environment(spark, tmp_path / "first")
    env.getCheckpointConfig().setExternalizedCheckpointRetention(RETAIN)
    reached, known = threading.Event(), threading.Event()

    def hold(batch):
        if batch == 3:
            reached.set()
            assert known.wait(120)
            wait_for(client._stopping.is_set)

    job(env, first, hold)
    client: Any = env.executeAsync()
    known.set()
    assert reached.wait(120)
    client.cancel()
    assert (tmp_path / "first" / "plan").exists()

    env = environment(spark, tmp_path / "second", 3).setSavepoint(f"{tmp_path}/first/chk-1")
    env.getCheckpointConfig().setExternalizedCheckpointRetention(RETAIN)
    second: list[list[int]] = []
    job(env, second)
    env.execute()
    # What came after batch 1 comes again, with state as it was then
    state = [sum(n for n in range(30) if n % 3 == key) for key in range(3)]
    expected = []
    for n in range(30, COUNT):
        state[n % 3] += n
        expected.append(state[n % 3])
    assert sorted(value for values in second for value in values) == sorted(expected)
    assert "the output of its batches 2 to" in caplog.text
    # It has come to its end
    assert not (tmp_path / "second").exists()

    for path, error, match in [
        ("first/chk-77", fl.CheckpointStorageError, "does not have the batch 77"),
        ("nowhere", fl.CorruptCheckpointError, "there is no savepoint"),
    ]:
        env = environment(spark, tmp_path / "third").setSavepoint(f"{tmp_path}/{path}")
        job(env, [])
        with pytest.raises(error, match=match):
            env.execute()
    env = environment(spark, tmp_path / "third").setSavepoint(f"{tmp_path}/first")
    env.fromSequence(0, 9).uid("numbers").keyBy(lambda n: n).reduce(max).uid("other").print()
    with pytest.raises(fl.IncompatibleCheckpointError, match="sums"):
        env.execute()
    assert CheckpointStorage(spark, f"{tmp_path}/first").lastBatch("query/commits") >= 2
