"""Savepoints on Spark: taken while a job runs and as it stops, and gone on from, also across the engines."""

from __future__ import annotations

import os
import shutil
import signal
import threading

import pytest

import flinkish as fl
from flinkish.spark.savepoint import JobSavepoints
from tests.savepoint_jobs import Run, gone_on, stopped
from tests.spark.waiting import wait_for

pytestmark = pytest.mark.recovery

PARTS = ["totals", "sliding", "sessions", "twice", "priced", "matched"]
COUNT = 150


def environment(spark, parallelism, checkpoint, perBatch=15):
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment(spark).setParallelism(parallelism)
    env.enableCheckpointing(str(checkpoint)).getConfig().setElementsPerBatch(perBatch)
    return env.setMaxParallelism(2 * parallelism)


def local(parallelism=1):
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    env.setParallelism(parallelism).getConfig().setElementsPerBatch(15)
    return env


def never_stopped(parts):
    run, env = Run(), local()
    run.build(env, parts, COUNT)
    env.execute()
    return run.sorted


def go_on_once_stopping(run, client):
    """Let the job that ``run`` holds go on as soon as it knows that it is to stop."""

    def waits():
        wait_for(client._stopping.is_set)
        run.goOn.set()

    threading.Thread(target=waits, daemon=True).start()


@pytest.mark.slow("three jobs of three stages, and a savepoint of each kind")
def test_a_job_goes_on_with_another_parallelism_on_either_engine(spark, tmp_path):
    run, env = Run(), environment(spark, 2, tmp_path / "first")
    run.build(env, PARTS, COUNT, holdAt=60)
    client = env.executeAsync("numbers")
    assert run.reached.wait(60)
    assert client.triggerSavepoint(f"{tmp_path}/triggered") == f"{tmp_path}/triggered"
    assert client.getJobStatus() is fl.JobStatus.RUNNING
    go_on_once_stopping(run, client)
    assert client.stopWithSavepoint(f"{tmp_path}/stopped") == f"{tmp_path}/stopped"
    assert client.getJobStatus() is fl.JobStatus.CANCELED
    with pytest.raises(fl.IllegalStateError, match="has ended"):
        client.triggerSavepoint(f"{tmp_path}/later")
    for file in (tmp_path / "stopped").rglob("*"):
        assert not file.is_file() or str(tmp_path).encode() not in file.read_bytes()
    shutil.move(tmp_path / "stopped", tmp_path / "moved")
    shutil.rmtree(tmp_path / "first")
    expected = never_stopped(PARTS)
    on_local = gone_on(local(5), PARTS, COUNT, f"{tmp_path}/moved")
    assert sorted(map(repr, [*run.results, *on_local])) == expected
    env = environment(spark, 3, tmp_path / "second")
    on_spark = gone_on(env, PARTS, COUNT, f"{tmp_path}/moved")
    assert sorted(map(repr, [*run.results, *on_spark])) == expected
    again = gone_on(local(2), PARTS, COUNT, f"{tmp_path}/triggered")
    # What came between the two savepoints comes again
    assert len(again) >= len(on_local)
    assert not set(map(repr, again)) - set(expected)


@pytest.mark.rotating("two jobs of two stages; the one above goes on on either engine too")
def test_a_savepoint_of_local_execution_goes_on_on_spark_and_back(spark, tmp_path):
    parts = ["totals", "sessions", "priced"]
    first = stopped(local(), parts, COUNT, 40, f"{tmp_path}/1")
    env = environment(spark, 4, tmp_path / "checkpoint").setSavepoint(f"{tmp_path}/1")
    second = stopped(env, parts, COUNT, 20, f"{tmp_path}/2")
    third = gone_on(local(), parts, COUNT, f"{tmp_path}/2")
    assert sorted(map(repr, [*first, *second, *third])) == never_stopped(parts)


@pytest.mark.rotating("three starts of a job")
def test_a_checkpoint_that_began_from_a_savepoint_goes_before_it(spark, tmp_path):
    first = stopped(local(), ["totals"], COUNT, 40, f"{tmp_path}/savepoint")
    env = environment(spark, 2, tmp_path / "checkpoint").setSavepoint(f"{tmp_path}/savepoint")
    run = Run()
    run.build(env, ["totals"], COUNT, holdAt=1)
    client = env.executeAsync()
    assert run.reached.wait(60)
    go_on_once_stopping(run, client)
    client.stopWithSavepoint()
    shutil.rmtree(tmp_path / "savepoint")
    third = gone_on(
        environment(spark, 2, tmp_path / "checkpoint"), ["totals"], COUNT, f"{tmp_path}/savepoint"
    )
    assert sorted(map(repr, [*first, *run.results, *third])) == never_stopped(["totals"])


def test_damage_and_lost_state_are_named_before_anything_runs(spark, tmp_path):
    stopped(local(), ["totals"], COUNT, 40, f"{tmp_path}/savepoint")
    env = environment(spark, 2, tmp_path / "1")
    with pytest.raises(fl.IncompatibleCheckpointError, match=r"\(totals\) .* is gone"):
        gone_on(env, ["sessions"], COUNT, f"{tmp_path}/savepoint")
    file = next((tmp_path / "savepoint" / "state").glob("*.parquet"))
    content = bytearray(file.read_bytes())
    content[len(content) // 4] ^= 1
    for damaged in (content, content[: len(content) // 2]):
        file.write_bytes(damaged)
        env = environment(spark, 2, tmp_path / "2")
        with pytest.raises(fl.CorruptCheckpointError, match=file.name):
            gone_on(env, ["totals"], COUNT, f"{tmp_path}/savepoint")
    file.unlink()
    with pytest.raises(fl.CorruptCheckpointError, match=rf"{file.name} .* is missing"):
        gone_on(environment(spark, 2, tmp_path / "3"), ["totals"], COUNT, f"{tmp_path}/savepoint")


@pytest.mark.rotating("four starts of a job")
def test_a_worker_that_is_killed_as_a_savepoint_is_written_or_read_is_told(
    spark, tmp_path, monkeypatch
):
    def killed(*given):
        os.kill(os.getpid(), signal.SIGKILL)
        yield from ()

    ended = pytest.raises(fl.JobExecutionError, match="Python processes has ended without a word")
    run = Run()
    env = environment(spark, 2, tmp_path / "first")
    run.build(env, ["totals"], COUNT, holdAt=40)
    client = env.executeAsync()
    assert run.reached.wait(60)
    go_on_once_stopping(run, client)
    with monkeypatch.context() as patch, ended:
        patch.setattr("flinkish.spark.savepoint.captured_rows", killed)
        client.stopWithSavepoint(f"{tmp_path}/lost")
    assert client.getJobStatus() is fl.JobStatus.CANCELED
    with pytest.raises(fl.FlinkishError, match="lost"):
        gone_on(environment(spark, 2, tmp_path / "new"), ["totals"], COUNT, f"{tmp_path}/lost")
    # Its checkpoint is as good as before
    second = stopped(
        environment(spark, 2, tmp_path / "first"), ["totals"], COUNT, 20, f"{tmp_path}/savepoint"
    )
    with monkeypatch.context() as patch, ended:
        patch.setattr("flinkish.spark.savepoint.control_lines", killed)
        gone_on(environment(spark, 3, tmp_path / "2"), ["totals"], COUNT, f"{tmp_path}/savepoint")
    # What was brought of the savepoint does not count
    third = gone_on(
        environment(spark, 3, tmp_path / "2"), ["totals"], COUNT, f"{tmp_path}/savepoint"
    )
    assert sorted(map(repr, [*run.results, *second, *third])) == never_stopped(["totals"])


@pytest.mark.rotating("a separate job")
def test_a_job_that_ends_before_its_savepoint_is_asked_for_says_so(spark, tmp_path, monkeypatch):
    run = Run()
    env = environment(spark, 2, tmp_path / "checkpoint")
    run.build(env, ["totals"], 10)
    checked = JobSavepoints.checkedDirectory

    def slowly(self, method, directory):
        client.getJobExecutionResult()
        return checked(self, method, directory)

    monkeypatch.setattr(JobSavepoints, "checkedDirectory", slowly)
    client = env.executeAsync()
    with pytest.raises(
        fl.IllegalStateError, match=r"has ended \(FINISHED\), and wrote no savepoint"
    ):
        client.stopWithSavepoint(f"{tmp_path}/savepoint")
    assert not (tmp_path / "savepoint").exists()


@pytest.mark.rotating("two jobs, and a savepoint")
def test_files_go_on_in_the_directory_of_the_sink(spark, tmp_path):
    def job(env, results):
        numbers = env.fromSequence(0, 39).uid("numbers")
        sums = numbers.keyBy(lambda n: n % 2).reduce(lambda a, b: a + b).uid("sums")
        sums.sinkTo(fl.FileSink.forText(f"{tmp_path}/out"))
        sums.forEachBatch(lambda values, batch: results.extend(values))
        return env

    first: list[int] = []
    client = job(environment(spark, 2, tmp_path / "1", perBatch=4), first).executeAsync()
    client.stopWithSavepoint(f"{tmp_path}/savepoint")
    second: list[int] = []
    env = environment(spark, 1, tmp_path / "2", perBatch=40).setSavepoint(f"{tmp_path}/savepoint")
    job(env, second).execute()
    lines = [
        int(line) for f in (tmp_path / "out").rglob("part-*") for line in f.read_text().split()
    ]
    assert sorted(lines) == sorted([*first, *second])
    assert len(lines) == 40
