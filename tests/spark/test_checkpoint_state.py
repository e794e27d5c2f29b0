"""A job that was killed in a batch begins elsewhere: its output comes once, or it is refused."""

from __future__ import annotations

import json
from collections import Counter

import pytest

import flinkish as fl
from tests.spark.sinks.test_user_sinks import Renamed, committed

COUNT = 24


def job(env, tmp_path, name, elements, refuses=lambda: False, files="files"):
    """Writes numbers to files, by a sink of the user's own and to the driver."""

    def refuse(values, batch):
        if batch == 1 and refuses():
            raise OSError("the disk is full")

    env.enableCheckpointing(str(tmp_path / name)).getConfig().setElementsPerBatch(elements)
    numbers = env.fromCollection(range(COUNT)).uid("numbers").keyBy(lambda n: n % 5)
    counted = numbers.map(lambda n: n).keyBy(lambda n: n % 3).reduce(max).uid("highest")
    counted.sinkTo(fl.FileSink.forJson(str(tmp_path / files)))
    counted.sinkTo(Renamed(tmp_path / files))
    counted.forEachBatch(refuse)
    return env


def environment(spark, parallelism):
    return fl.StreamExecutionEnvironment.getExecutionEnvironment(spark).setParallelism(parallelism)


def lines(directory):
    return Counter(
        json.loads(line)
        for file in directory.glob("batch=*/part-*")
        for line in file.read_text().splitlines()
    )


@pytest.mark.recovery
@pytest.mark.slow("four runs of a job: one that fails, and three that begin from its checkpoint")
def test_a_batch_that_was_written_in_part_is_finished_first(spark, tmp_path):
    for name in ("files", "again"):
        (tmp_path / name).mkdir()
    with pytest.raises(fl.UserFunctionError, match="the disk is full"):
        job(environment(spark, 2), tmp_path, "first", 8, lambda: True).execute()
    assert (tmp_path / "first/query/offsets/1").exists()
    assert not (tmp_path / "first/query/commits/1").exists()

    def begun(**options):
        return environment(spark, 3).setSavepoint(str(tmp_path / "first"), **options)

    # What was wrong is wrong still
    with pytest.raises(fl.JobExecutionError, match=r"the disk is full.* allowRepeatedOutput"):
        job(begun(), tmp_path, "second", 5, lambda: True).execute()
    stream = begun().fromCollection(range(COUNT)).uid("numbers").keyBy(lambda n: n % 5)
    stream = stream.map(lambda n: n).keyBy(lambda n: n % 3).reduce(max).uid("highest")
    with pytest.raises(fl.NotSupportedError, match=r"toDataFrame: .* only the job with its sinks"):
        stream.toDataFrame("n long")

    job(begun(allowRepeatedOutput=True), tmp_path, "third", 5, files="again").execute()
    assert lines(tmp_path / "again") == Counter(range(8, COUNT))

    job(begun(), tmp_path, "second", 5).execute()
    assert lines(tmp_path / "files") == Counter(range(COUNT))
    assert committed(tmp_path / "files") == list(range(COUNT))
    assert (tmp_path / "first/query/commits/1").exists()
    assert not (tmp_path / "first/query/offsets/2").exists()


@pytest.mark.recovery
@pytest.mark.slow("three runs of a job: one that fails in its first batch, and two that go on")
def test_files_that_came_since_are_read_by_the_run_that_begins_elsewhere(spark, tmp_path):
    """All files of a directory are one batch, also when the job is started again on its checkpoint."""

    def run(name, parallelism, savepoint=None, broken=False):
        def refuse(values, batch):
            if broken:
                raise OSError("the disk is full")

        env = environment(spark, parallelism).enableCheckpointing(str(tmp_path / name))
        if savepoint:
            env.setSavepoint(str(tmp_path / savepoint))
        numbers = env.fromSource(fl.FileSource.forLines(str(tmp_path / "in"))).uid("files")
        numbers = numbers.map(int).keyBy(lambda n: n % 3).reduce(max).uid("highest")
        numbers.sinkTo(fl.FileSink.forJson(str(tmp_path / "files")))
        numbers.forEachBatch(refuse)
        env.execute()

    (tmp_path / "in").mkdir()
    (tmp_path / "in/1.txt").write_text("1\n2\n3\n")
    with pytest.raises(fl.UserFunctionError):
        run("first", 2, broken=True)
    (tmp_path / "in/2.txt").write_text("4\n5\n6\n")
    run("second", 4, "first")
    assert lines(tmp_path / "files") == Counter(range(1, 7))
    (tmp_path / "in/3.txt").write_text("7\n")
    with pytest.raises(fl.UserFunctionError):
        run("second", 4, broken=True)
    (tmp_path / "in/4.txt").write_text("8\n")
    run("third", 1, "second")
    assert lines(tmp_path / "files") == Counter(range(1, 9))
