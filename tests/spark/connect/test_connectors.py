"""Sources and sinks over Spark Connect: what runs at the server, and what at the client."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

import flinkish as fl

pytestmark = [
    pytest.mark.connect,
    pytest.mark.slow("a server writes the files of a checkpoint, each with a job of Spark's"),
]

EVEN = fl.OutputTag("even")


@dataclass
class Delay:
    origin: str
    delay: int


class Numbers(fl.Source[int]):
    """A user-defined source, whose position is the next number."""

    def read(self, position):
        for number in range(position or 0, 10):
            yield number, number + 1


class Lines(fl.Sink[str], fl.SupportsCommitter[str]):
    """A user-defined sink: workers write drafts, which get their names at the client."""

    def __init__(self, directory):
        self.directory = directory

    def createWriter(self, context):
        name = f"{context.getBatchId()}-{context.getTaskInfo().getIndexOfThisSubtask()}"
        return DraftWriter(self.directory, name)

    def createCommitter(self, context):
        return Renaming(self.directory)


class DraftWriter(fl.CommittingSinkWriter[str, str]):
    def __init__(self, directory, name):
        self.name = name
        self.draft = Path(directory, f".{name}").open("w")  # noqa: SIM115 - closed by close()

    def write(self, element, context):
        self.draft.write(f"{element}\n")

    def flush(self, endOfInput):
        self.draft.flush()

    def prepareCommit(self):
        return [self.name]

    def close(self):
        self.draft.close()


class Renaming(fl.Committer[str]):
    def __init__(self, directory):
        self.directory = directory

    def commit(self, committables):
        for request in committables:
            name = request.getCommittable()
            Path(self.directory, f".{name}").rename(Path(self.directory, name))


def lines_of(directory, pattern):
    files = directory.glob(pattern)
    return sorted(line for file in files for line in file.read_text().splitlines())


class Halves(fl.ProcessFunction):
    """Odd numbers; even ones beside."""

    def processElement(self, value, ctx, out):
        if value % 2:
            out.collect(value)
        else:
            ctx.output(EVEN, value)


@pytest.mark.parametrize("mode", ["STREAMING", "BATCH"])
def test_sources_of_ones_own_and_all_sinks(env, mode, there, capsys):
    """In one job: a user-defined source and sink, side outputs, prints, batches as DataFrames and files of columns."""
    env.setRuntimeMode(fl.RuntimeExecutionMode[mode]).getConfig().setElementsPerBatch(4)
    env.enableCheckpointing((there / "checkpoint").as_uri())
    own = there / "own"
    own.mkdir()
    numbers = env.fromSource(Numbers(), fl.WatermarkStrategy.noWatermarks(), "numbers")
    odd = numbers.uid("numbers").process(Halves())
    odd.map(str).sinkTo(Lines(str(own)))
    odd.print("odd")
    even, counts = [], []
    odd.getSideOutput(EVEN).forEachBatch(lambda values, batch: even.extend(values))
    delays = env.fromCollection([Delay("JFK", 7), Delay("LGA", 3)])
    delays.sinkTo(fl.FileSink.forParquet((there / "table").as_uri()))
    delays.sinkTo(fl.FileSink.forCsv((there / "csv").as_uri(), "origin string, delay int"))

    def count(frame, batch):
        counts.append((frame.columns, frame.count()))

    delays.forEachBatchDataFrame(count)
    env.execute()
    assert lines_of(own, "[0-9]*") == ["1", "3", "5", "7", "9"]
    assert sorted(capsys.readouterr().out.split("\n"))[1:] == [f"odd> {n}" for n in (1, 3, 5, 7, 9)]
    assert sorted(even) == [0, 2, 4, 6, 8]
    assert lines_of(there, "csv/batch=*/part-*") == ["JFK,7", "LGA,3"]
    table = env._sparkSession.read.parquet((there / "table").as_uri()).collect()
    assert sorted((row.origin, row.delay) for row in table) == [("JFK", 7), ("LGA", 3)]
    assert {columns for columns, _ in ((tuple(c), n) for c, n in counts)} == {("origin", "delay")}
    assert sum(number for _, number in counts) == 2


def test_a_streaming_dataframe_and_a_directory_that_is_watched(env, remote, there):
    (there / "one.txt").write_text("a\nb\n")
    rows = remote.readStream.text(there.as_uri())
    lines = env.fromDataFrame(rows).map(lambda row: row.value)
    watched = env.fromSource(
        fl.FileSource.forLines(there.as_uri()).monitorContinuously(),
        fl.WatermarkStrategy.noWatermarks(),
        "watched",
    )
    with lines.union(watched).map(str.upper).executeAndCollect() as results:
        found = [next(results) for _ in range(4)]
        assert sorted(found) == ["A", "A", "B", "B"]
        (there / "two.txt").write_text("c\n")
        assert [next(results), next(results)] == ["C", "C"]


def test_watermark_alignment_is_refused_by_name(env):
    numbers = fl.DataGeneratorSource(int, 10, elementsPerSecond=5)
    strategy = fl.WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(lambda n, _: n)
    aligned = strategy.withWatermarkAlignment("group", fl.Duration.ofSeconds(1))
    env.fromSource(numbers, aligned, "numbers").print()
    with pytest.raises(
        fl.NotSupportedError, match=r"withWatermarkAlignment: .*DataGeneratorSource"
    ):
        env.execute()


def test_a_checkpoint_of_the_server_is_removed_when_its_job_is_cancelled(env, there):
    """And a batch of it is not profiled, which is said."""
    env.enableCheckpointing((there / "checkpoint").as_uri())
    retention = fl.ExternalizedCheckpointRetention.DELETE_ON_CANCELLATION
    env.getCheckpointConfig().setExternalizedCheckpointRetention(retention)
    env.fromSource(fl.DataGeneratorSource(int, elementsPerSecond=1)).print()
    client = env.executeAsync()
    with pytest.raises(fl.NotSupportedError, match="profileBatch: over Spark Connect"):
        client.profileBatch()
    assert (there / "checkpoint").exists()
    client.cancel()
    assert not (there / "checkpoint").exists()
