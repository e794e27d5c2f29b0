"""Sources that wait for one another, in this process and on Spark."""

from __future__ import annotations

import pytest

import flinkish as fl
from flinkish.api.errors import InvalidProgramError, NotSupportedError


@pytest.fixture
def environment(environment):
    return environment.setParallelism(1)


def aligned(drift=20):
    strategy = fl.WatermarkStrategy.forMonotonousTimestamps()
    timed = strategy.withTimestampAssigner(lambda e, _: e[1])
    return timed.withWatermarkAlignment("clicks", drift, 1)


def files(path, name, times, per_file=5):
    directory = path / name
    directory.mkdir()
    times = list(times)
    for number, start in enumerate(range(0, len(times), per_file)):
        lines = "".join(f"{name},{time}\n" for time in times[start : start + per_file])
        (directory / f"{number:03}.txt").write_text(lines)
    source = fl.FileSource.forCsv(str(directory), "name STRING, at BIGINT")
    return source.withFilesPerBatch(1)


def run(environment, sources):
    """The highest time of each source when each batch ended."""
    streams = [environment.fromSource(source, aligned()) for source in sources]
    union = streams[0].union(*streams[1:])
    ahead, highest, seen = [], {}, []

    def note(values, batch):
        for name, time in values:
            seen.append((name, time))
            highest[name] = max(time, highest.get(name, -1))
        ahead.append(dict(highest))

    union.map(tuple).forEachBatch(note)
    environment.execute()
    return ahead, seen


class Ticks(fl.Source):
    def __init__(self, name, times):
        self.name, self.times = name, times

    def read(self, position):
        for number in range(position or 0, len(self.times)):
            yield (self.name, self.times[number]), number + 1


@pytest.mark.not_on("spark", reason="the next but one runs there")
def test_a_source_that_is_ahead_waits_until_the_others_follow(environment, tmp_path):
    """A file has 50 ms of the fast source, and 25 of the slow one: unaligned it is over in 4 batches."""
    fast, slow = range(0, 200, 10), range(0, 200, 1)
    sources = [files(tmp_path, "fast", fast), files(tmp_path, "slow", slow, 25)]
    ahead, seen = run(environment, sources)
    assert sorted(seen) == sorted([*(("fast", t) for t in fast), *(("slow", t) for t in slow)])
    apart = [batch["fast"] - batch["slow"] for batch in ahead if len(batch) == 2]
    # Up to a batch of the fast one beyond the drift of 20
    assert max(apart) <= 20 + 50
    assert len(ahead) >= 8


@pytest.mark.not_on("spark", reason="the next runs there")
def test_sources_of_ones_own_wait_too_and_the_end_of_one_frees_the_others(environment):
    environment.getConfig().setElementsPerBatch(5)
    fast, slow = range(0, 500, 10), range(0, 100, 5)
    ahead, seen = run(environment, [Ticks("fast", fast), Ticks("slow", slow)])
    assert len(seen) == 70
    until_the_end = [b for b in ahead if len(b) == 2 and b["slow"] < 90]
    assert until_the_end
    assert max(b["fast"] - b["slow"] for b in until_the_end) <= 20 + 50
    assert ahead[-1] == {"fast": 490, "slow": 95}


def test_files_and_a_source_of_ones_own_on_spark(env, tmp_path):
    """Unaligned the files are 72 ms ahead after two batches."""
    env.setParallelism(1).getConfig().setElementsPerBatch(5)
    fast, slow = range(0, 150, 10), range(0, 40, 2)
    ahead, seen = run(env, [files(tmp_path, "fast", fast), Ticks("slow", slow)])
    assert sorted(seen) == sorted([*(("fast", t) for t in fast), *(("slow", t) for t in slow)])
    until_the_end = [b for b in ahead if len(b) == 2 and b["slow"] < 30]
    assert until_the_end
    assert max(b["fast"] - b["slow"] for b in until_the_end) <= 20 + 50
    assert ahead[-1] == {"fast": 140, "slow": 38}


def test_a_strategy_that_is_behind_no_single_source_is_refused(environment):
    both = environment.fromCollection([("a", 1)]).union(environment.fromCollection([("b", 2)]))
    both.assignTimestampsAndWatermarks(aligned()).print()
    with pytest.raises(InvalidProgramError, match=r"Pass the strategy to fromSource"):
        environment.execute()


@pytest.mark.never_on(
    "spark",
    reason="Spark decides what a batch reads of a DataFrame",
    raises=NotSupportedError,
    match="maxOffsetsPerTrigger for Kafka",
)
@pytest.mark.not_on("local", reason="a DataFrame is Spark's")
def test_dataframes_wait_for_others(environment, spark):
    rows = spark.readStream.format("rate").load().selectExpr("'a' AS name", "value AS at")
    strategy = fl.WatermarkStrategy.forMonotonousTimestamps()
    timed = strategy.withTimestampAssigner(lambda r, _: r.at).withWatermarkAlignment("g", 1)
    environment.fromDataFrame(rows, watermarkStrategy=timed).print()
    environment.execute()
