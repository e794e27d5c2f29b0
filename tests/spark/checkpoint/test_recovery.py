"""A job goes on where it stopped, and one that does not fit a checkpoint is refused.
Kills: ``tests/reliability``."""

from __future__ import annotations

import shutil

import pytest

import flinkish as fl
from flinkish.api.errors import IncompatibleCheckpointError, UserFunctionError
from tests.spark.waiting import wait_for


def job(env, checkpoint, build):
    env.enableCheckpointing(str(checkpoint))
    seen = []
    build(env.fromElements(("a", 1), ("b", 2), ("a", 3)).uid("numbers")).forEachBatch(
        lambda values, batch: seen.extend(values)
    )
    env.execute()
    return seen


def counted(stream):
    return stream.keyBy(lambda e: e[0]).sum(1)


def environment(spark):
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment(spark)
    return env.setParallelism(2).setMaxParallelism(4)


@pytest.fixture(scope="module")
def failed(spark, tmp_path_factory):
    """The checkpoint of a job that failed in its second batch, went on and ended, and what it gave then."""
    directory = tmp_path_factory.mktemp("failed")
    broken = directory / "broken"
    broken.touch()

    def fail(element):
        if element[1] == 3 and broken.exists():
            raise ValueError("not yet")
        return element

    def run():
        env = environment(spark)
        env.getConfig().setElementsPerBatch(2)
        return job(env, directory / "checkpoint", lambda stream: counted(stream.map(fail)))

    with pytest.raises(UserFunctionError, match="not yet"):
        run()
    broken.unlink()
    return directory / "checkpoint", run()


@pytest.fixture
def ended(failed):
    """The checkpoint of a job that has ended."""
    return failed[0]


def test_a_job_goes_on_after_an_error(failed):
    assert failed[1] == [("a", 4)]


def test_a_job_that_had_ended_has_nothing_more_to_do_with_the_parallelism_it_had(spark, ended):
    """It says no parallelism, and stateless operators are gone and new."""
    silent = fl.StreamExecutionEnvironment.getExecutionEnvironment(spark)
    silent.getConfig().setElementsPerBatch(2)
    assert job(silent, ended, lambda stream: counted(stream.filter(bool)).map(str)) == []


class Stamped(fl.KeyedProcessFunction):
    """Elements, with the clock they saw."""

    def processElement(self, value, ctx, out):
        out.collect((value, ctx.timerService().currentProcessingTime()))


@pytest.mark.recovery
def test_a_batch_that_is_run_again_sees_the_same_clock(env, tmp_path):
    env.getConfig().setElementsPerBatch(2)
    env.enableCheckpointing(str(tmp_path))
    runs = []

    def run():
        seen = {}
        runs.append(seen)

        def note(values, batch):
            seen[batch] = values
            if len(runs) == 1 and batch == 1:
                raise OSError("disk full")

        stamped = env.fromCollection(range(4)).uid("numbers").keyBy(lambda n: 0).process(Stamped())
        stamped.uid("stamped").forEachBatch(note)
        env.execute()

    with pytest.raises(UserFunctionError, match="disk full"):
        run()
    run()
    first, again = runs
    assert [number for number, _ in first[1]] == [2, 3]
    assert again[1] == first[1]
    assert first[0][0][1] < first[1][0][1], "each batch has a separate clock"


REFUSED = {
    r"had 1 stages after shuffles and has 0": lambda stream: stream,
    r"'Keyed Aggregation' with state \(KeyedReduce-\w+\), whose function was Sum\S+, is gone": (
        lambda stream: stream.keyBy(lambda e: e[0]).countWindow(2).reduce(lambda a, b: a)
    ),
    r"had 1 stages after shuffles and has 2": lambda stream: counted(counted(stream)),
    r"'Keyed Aggregation' .* is gone": lambda stream: counted(stream).uid("counts"),
}


def test_a_change_that_loses_state_is_refused_and_named(spark, ended):
    for message, change in REFUSED.items():
        with pytest.raises(IncompatibleCheckpointError, match=message):
            job(environment(spark), ended, change)


def test_other_key_groups_and_another_parallelism_are_refused(spark, ended):
    with pytest.raises(IncompatibleCheckpointError, match="maxParallelism was 4 and is 8"):
        job(environment(spark).setMaxParallelism(8), ended, counted)
    with pytest.raises(
        IncompatibleCheckpointError,
        match=r"parallelism was 2 and is 3, but it stays what it was: leave out env.setParallelism",
    ):
        job(environment(spark).setParallelism(3), ended, counted)


@pytest.mark.recovery
@pytest.mark.slow("runs eight batches, and starts a query twice")
def test_a_job_stopped_with_a_savepoint_reads_the_rest_afterwards(env, tmp_path):
    env.getConfig().setElementsPerBatch(20)
    env.enableCheckpointing(str(tmp_path))
    strategy = fl.WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(lambda e, t: e)

    def started():
        seen = []
        windows = (
            env.fromCollection(list(range(100)))
            .assignTimestampsAndWatermarks(strategy)
            .keyBy(lambda e: 0)
            .window(fl.TumblingEventTimeWindows.of(10))
        )
        windows.reduce(max).forEachBatch(lambda values, batch: seen.extend(values))
        return env.executeAsync(), seen

    client, before = started()
    wait_for(lambda: len(before) > 2)
    assert client.stopWithSavepoint() == str(tmp_path)
    assert client.getJobStatus() is fl.JobStatus.CANCELED
    assert len(before) < 10
    client, after = started()
    client.getJobExecutionResult()
    assert before + after == list(range(9, 100, 10))


def test_a_job_without_a_checkpoint_directory_has_no_savepoint(env):
    env.fromSource(fl.DataGeneratorSource(lambda n: n, elementsPerSecond=10)).print()
    client = env.executeAsync()
    with pytest.raises(fl.IllegalStateError, match="enableCheckpointing"):
        client.stopWithSavepoint()
    assert client.getJobStatus() is fl.JobStatus.RUNNING
    client.cancel()


@pytest.mark.recovery
def test_what_a_killed_start_left_of_a_source_is_replaced(env, tmp_path):
    """A job that was killed while it wrote its collection into the checkpoint begins anew."""
    assert len(job(env, tmp_path, counted)) == 3
    (tmp_path / "sources" / "numbers-written" / "text").unlink()
    for name in ("query", "control", "control-first"):
        shutil.rmtree(tmp_path / name)
    assert len(job(env, tmp_path, counted)) == 3


@pytest.mark.recovery
def test_state_is_there_after_a_changed_plan(env, tmp_path):
    """The second run has new input for the same operator, found by its uid behind other maps."""
    (tmp_path / "in").mkdir()
    source = fl.FileSource.forLines(str(tmp_path / "in"))

    def run(build):
        env.enableCheckpointing(str(tmp_path / "checkpoint"))
        seen = []
        lines = env.fromSource(source, None, "lines").uid("lines")
        build(lines).forEachBatch(lambda values, batch: seen.extend(values))
        env.execute()
        return seen

    def before(lines):
        return lines.map(lambda w: (w, 1)).keyBy(lambda p: p[0]).sum(1).uid("counts")

    def after(lines):
        words = lines.map(str.strip).filter(bool).map(lambda w: (w, 1))
        return words.keyBy(lambda p: p[0]).sum(1).uid("counts").map(lambda p: f"{p[0]}:{p[1]}")

    (tmp_path / "in" / "1.txt").write_text("a\nb\na\n")
    assert sorted(run(before)) == [("a", 1), ("a", 2), ("b", 1)]
    (tmp_path / "in" / "2.txt").write_text("a\n")
    assert run(after) == ["a:3"]
