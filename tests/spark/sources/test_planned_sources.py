"""The batches that flinkish plans: orders, restarts after a crash, old files, endless numbers."""

from __future__ import annotations

import os
import random

import pyspark
import pytest

import flinkish as fl
from flinkish.api.errors import UserFunctionError
from tests.branches import results_of
from tests.spark.waiting import wait_for
from tests.watched import drop

LATE = fl.OutputTag("late")
PYSPARK = tuple(map(int, pyspark.__version__.split(".")[:2]))


def write(directory, name, changed, lines):
    directory.mkdir(exist_ok=True)
    drop(directory, name, "".join(f"{line}\n" for line in lines), changed)


def windows_of(env, directory, note, checkpoint):
    """Counts in windows of lines ``key time``, a file a batch, with what came too late."""
    env.enableCheckpointing(str(checkpoint))
    strategy = fl.WatermarkStrategy.forBoundedOutOfOrderness(5)
    source = fl.FileSource.forLines(str(directory)).withFilesPerBatch(1)
    counts = (
        env.fromSource(source, None, "lines")
        .map(lambda line: (line.split()[0], int(line.split()[1])))
        .assignTimestampsAndWatermarks(
            strategy.withTimestampAssigner(lambda element, _: element[1])
        )
        .keyBy(lambda element: element[0])
        .window(fl.TumblingEventTimeWindows.of(10))
        .sideOutputLateData(LATE)
        .process(
            lambda key, context, elements, out: out.collect(
                (key, context.window().getStart(), sorted(elements))
            )
        )
    )
    counts.forEachBatch(note)
    counts.getSideOutput(LATE).forEachBatch(
        lambda values, _: note([("late", v) for v in values], 0)
    )
    return env


@pytest.mark.recovery
@pytest.mark.slow("reads four files in a batch each, twice")
def test_a_planned_step_that_spark_has_not_logged_comes_again_alone(env, tmp_path):
    """The moment of a crash between the plan log and Spark's offset log."""
    choice = random.Random(5)
    for number in range(4):
        lines = [f"k{choice.randrange(2)} {number * 8 + choice.randrange(20)}" for _ in range(30)]
        write(tmp_path / "in", f"{number}.txt", 1000 + number, lines)
    undisturbed = []
    windows_of(
        env, tmp_path / "in", lambda values, _: undisturbed.extend(values), tmp_path / "whole"
    ).execute()
    assert any(value[0] == "late" for value in undisturbed)

    killed = []

    def note(values, batch):
        if batch >= 2 and not (tmp_path / "again").exists():
            raise OSError("killed")
        killed.extend(values)

    def run():
        windows_of(env, tmp_path / "in", note, tmp_path / "killed").execute()

    with pytest.raises(UserFunctionError, match="killed"):
        run()
    offsets = tmp_path / "killed" / "query" / "offsets"
    last = max(int(name) for name in os.listdir(offsets) if name.isdigit())
    assert last >= 2
    for name in (f"{last}", f".{last}.crc"):
        (offsets / name).unlink(missing_ok=True)
    (tmp_path / "again").touch()
    run()
    assert sorted(map(repr, killed)) == sorted(map(repr, undisturbed))


@pytest.mark.recovery
@pytest.mark.skipif(PYSPARK < (4, 2), reason="pyspark does not say where a source goes on")
@pytest.mark.rotating("four jobs whose checkpoints are written by Spark")
def test_elsewhere_a_checkpoint_and_a_savepoint_of_it_say_where_sources_are(elsewhere, jobs):
    """No file of this machine's is needed: Spark's own log has the steps."""

    def run(directory, read, broken=False, savepoint=None):
        env = fl.StreamExecutionEnvironment.getExecutionEnvironment(elsewhere).setParallelism(1)
        env.enableCheckpointing(f"/jobs/{directory}").getConfig().setElementsPerBatch(4)
        if savepoint:
            # So that the batch is still to be finished where it was planned
            env.setSavepoint(f"/jobs/{savepoint}", allowRepeatedOutput=True)
        rated = fl.DataGeneratorSource(lambda n: 100 + n, 5, 1000)
        numbers = env.fromSequence(0, 9).uid("numbers")
        stream = numbers.union(env.fromSource(rated, None, "rated").uid("rated"))

        def note(values, batch):
            if broken and batch == 2:
                raise OSError("broken")
            read[batch] = values

        stream.keyBy(lambda n: n // 100).reduce(max).uid("highest").forEachBatch(note)
        env.execute()

    first = {}
    with pytest.raises(UserFunctionError, match="broken"):
        run("planned", first, broken=True)
    assert not (jobs / "planned" / "sources").exists()
    moved, gone_on = {}, {}
    run("moved", moved, savepoint="planned")
    run("planned", gone_on)
    for later in (moved, gone_on):
        assert min(later) == 2
        found = [value for read in (first, later) for values in read.values() for value in values]
        assert sorted(found) == [*range(10), *range(100, 105)]
    again = {}
    run("planned", again)
    assert not any(again.values())


def files_of(directory, sizes, pause, form):
    """Files with so many lines, changed ``pause`` s after one another: what they have, in order."""
    lines = []
    for place, (name, count) in enumerate(sizes.items()):
        found = [f"{name}{form.format(i)}" for i in range(count)]
        write(directory, name, 1000 + place * pause, found)
        lines += found
    return lines


def windows_of_a_function(env):
    def run(ctx):
        for second in (1, 2, 11):
            ctx.collectWithTimestamp(("a", second), second * 1_000)
            ctx.emitWatermark(fl.Watermark(second * 1_000))

    keyed = env.addSource(run, bounded=True).keyBy(lambda e: e[0])
    return keyed.window(fl.TumblingEventTimeWindows.of(fl.Time.seconds(10))).sum(1)


@pytest.fixture(scope="module")
def read(spark, tmp_path_factory):
    """By name, what sources of one job have given, and what they should."""
    directory = tmp_path_factory.mktemp("sources")
    sizes = {"d": 3, "b": 4_000, "empty": 0, "a": 2}
    expected = {
        "files": files_of(directory / "files", sizes, 365 * 86_400, "{:0700}"),
        "spark's": files_of(
            directory / "spark's", {"old": 2, "large": 100_000, "new": 1}, 10**8, "{}"
        ),
        "small": [f"{n:03}" for n in sorted(range(300), key=lambda n: (-(n // 10), n))],
        "rated": [n * n for n in range(30)],
        "function": [("a", 3), ("a", 11)],
    }
    for number in range(300):
        write(directory / "small", f"{number:03}", 2000 - number // 10, [f"{number:03}"])
    sources = {
        "files": fl.FileSource.forLines(str(directory / "files")),
        "spark's": fl.FileSource.forLines(str(directory / "spark's"), pathGlobFilter="*"),
        "small": fl.FileSource.forLines(str(directory / "small")),
        "rated": fl.DataGeneratorSource(lambda n: n * n, 30, 100),
    }
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment(spark)
    branches = {n: lambda env, n=n: env.fromSource(sources[n], None, n) for n in sources}
    branches["function"] = windows_of_a_function
    found = results_of(env.setParallelism(2).setMaxParallelism(4), branches)
    return {name: (found[name], expected[name]) for name in branches}


def test_files_are_read_in_order_whatever_their_size(read):
    """Also where one is cut for two tasks, and where some are empty, old or new ones by far."""
    found, expected = read["files"]
    assert found == expected


def test_spark_reads_old_files_too_and_in_order_where_the_options_are_its_own(read):
    found, expected = read["spark's"]
    assert found == expected


def test_a_directory_of_many_small_files(read):
    found, expected = read["small"]
    assert found == expected


def test_a_generator_with_a_count_and_a_rate_ends(read):
    found, expected = read["rated"]
    assert found == expected


def test_a_source_function_ends_its_job(read):
    found, expected = read["function"]
    assert found == expected


def test_a_backlog_is_read_in_batches_of_a_size(env, tmp_path):
    """By flinkish, and by Spark where the options are its own."""
    expected = []
    for number in range(4):
        lines = [f"{number} {i}" for i in range(100)]
        write(tmp_path / "in", f"{number}", 1000 + number, lines)
        expected.append(lines)
    env.enableCheckpointing(str(tmp_path / "checkpoint"))

    def batches():
        seen = {"flinkish": [], "Spark": []}
        for reader, options in (("flinkish", {}), ("Spark", {"pathGlobFilter": "*"})):
            source = fl.FileSource.forLines(str(tmp_path / "in"), **options).withBytesPerBatch(1200)
            stream = env.fromSource(source, None, reader).uid(reader)
            stream.forEachBatch(lambda values, _, reader=reader: seen[reader].append(values))
        env.execute()
        return [[values for values in batches if values] for batches in seen.values()]

    assert batches() == [[[*expected[0], *expected[1]], [*expected[2], *expected[3]]]] * 2
    write(tmp_path / "in", "new", 2000, ["new"])
    assert batches() == [[["new"]]] * 2


@pytest.mark.recovery
@pytest.mark.rotating(
    "the planner of files is tested by itself, and a watched directory without a restart"
)
def test_files_that_come_while_it_runs_and_after_a_restart(env, tmp_path):
    env.enableCheckpointing(str(tmp_path / "checkpoint"))
    write(tmp_path / "in", "1", 3000, ["one"])

    def started(seen):
        source = fl.FileSource.forLines(str(tmp_path / "in")).monitorContinuously()
        env.fromSource(source).forEachBatch(lambda values, _: seen.extend(values))
        return env.executeAsync()

    before, after = [], []
    client = started(before)
    wait_for(lambda: before == ["one"])
    write(tmp_path / "in", "0", 1000, ["older, and later"])
    wait_for(lambda: before == ["one", "older, and later"])
    client.cancel()
    write(tmp_path / "in", "2", 2000, ["two"])
    client = started(after)
    wait_for(lambda: after[-1:] == ["two"])
    client.cancel()
    # The last batch before comes again if it was cancelled before it was committed.
    assert after in (["two"], ["older, and later", "two"])


@pytest.mark.recovery
@pytest.mark.rotating("numbers of two runs: their planner is tested by itself")
def test_endless_numbers_are_in_order_and_go_on_after_a_restart(env, tmp_path):
    env.enableCheckpointing(str(tmp_path))
    runs = []
    for _ in range(2):
        seen = []
        source = fl.DataGeneratorSource(lambda n: n, 2**63 - 1, 1000)
        env.fromSource(source).forEachBatch(lambda values, _, seen=seen: seen.extend(values))
        client = env.executeAsync()
        wait_for(lambda seen=seen: len(seen) > 500)
        client.cancel()
        runs.append(seen)
    first, second = runs
    assert first == list(range(len(first)))
    # A batch that was written and not committed comes again, as it was.
    assert second[0] <= len(first)
    assert second == list(range(second[0], second[0] + len(second)))


def test_on_with_a_query_of_the_users_own(env, tmp_path):
    """Every step and the end of the input come also where no job of flinkish drives the query."""
    for number in range(3):
        write(tmp_path / "in", str(number), number, [f"{number}"])
    env.enableCheckpointing(str(tmp_path / "planned"))
    source = fl.FileSource.forLines(str(tmp_path / "in")).withFilesPerBatch(1)
    sums = env.fromSource(source).map(int).keyBy(lambda n: 0).reduce(lambda a, b: a + b)
    rows = []
    query = (
        sums.toDataFrame("n long")
        .writeStream.foreachBatch(lambda frame, _: rows.append([r.n for r in frame.collect()]))
        .option("checkpointLocation", str(tmp_path / "query"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    steps = [[0], [1], [3]]
    # Before pyspark 4.2 a Python source that is read with availableNow gives one step a run
    assert [row for row in rows if row] == (steps if PYSPARK >= (4, 2) else steps[:1])
