"""Jobs over Spark Connect: the driver is a server in another process, with no file of this one."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

import flinkish as fl
from flinkish.spark.session.drivers import driver_of

pytestmark = [
    pytest.mark.connect,
    pytest.mark.slow("a server writes the files of a checkpoint, each with a job of Spark's"),
]

LATE = fl.OutputTag("late")


@dataclass(frozen=True)
class Click:
    user: str
    at: int


CLICKS = [Click("ab"[number % 2], number * 100) for number in range(60)] + [Click("a", 0)]


def clicks(env):
    strategy = fl.WatermarkStrategy.forBoundedOutOfOrderness(0).withTimestampAssigner(
        lambda click, _: click.at
    )
    return env.fromCollection(CLICKS).assignTimestampsAndWatermarks(strategy)


def counted(env):
    """Count in windows of two seconds."""
    return (
        clicks(env)
        .map(lambda click: (click.user, 1))
        .keyBy(lambda pair: pair[0])
        .window(fl.TumblingEventTimeWindows.of(2000))
        .reduce(lambda one, other: (one[0], one[1] + other[1]))
    )


class Gaps(fl.KeyedProcessFunction):
    """Counts the elements of a key, which a timer tells; late ones are beside."""

    def open(self, context):
        self.count = self.getRuntimeContext().getState(fl.ValueStateDescriptor("count"))

    def processElement(self, click, ctx, out):
        if click.at <= ctx.timerService().currentWatermark():
            ctx.output(LATE, click.at)
            return
        self.count.update((self.count.value() or 0) + 1)
        ctx.timerService().registerEventTimeTimer(10_000)

    def onTimer(self, timestamp, ctx, out):
        out.collect((ctx.getCurrentKey(), self.count.value(), timestamp))


@pytest.fixture
def touched(server):
    """The files of the server's that this process opens or makes."""
    found, watching = [], [True]

    def hook(event, arguments):
        if watching[0] and event in {"open", "os.mkdir", "os.listdir", "os.scandir", "os.rename"}:
            path = str(arguments[0])
            if path.startswith(str(server.directory)) and not path.endswith("server.log"):
                found.append((event, path))

    sys.addaudithook(hook)
    yield found
    watching[0] = False


@pytest.mark.parametrize("mode", ["STREAMING", "BATCH"])
def test_windows_have_the_results_of_a_local_run(env, mode, touched, server):
    local = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    expected = sorted(counted(local).executeAndCollect())
    env.setRuntimeMode(fl.RuntimeExecutionMode[mode])
    before = len(server.log())
    assert sorted(counted(env).executeAndCollect()) == expected
    assert not re.findall("PATH_NOT_FOUND|FileNotFoundException", server.log()[before:])
    assert len(expected) == 6
    assert not touched, "what a server has, this process does not see"
    assert not list(server.directory.glob("flinkish-*")), "what is temporary is removed"


@pytest.mark.parametrize(
    "setting", [None, "spark.sql.scripting.enabled", "spark.sql.runSQLOnFiles"]
)
def test_files_are_looked_for_without_an_error(remote, there, server, setting):
    (there / "a\\b'c`d e").mkdir()
    (there / "12").write_text("line")
    driver = driver_of(remote)
    before = len(server.log())
    if setting is not None:
        remote.conf.set(setting, "false")
    try:
        found = ["12", "[0-9]*", "1?", "a\\\\b'c`d e"]
        assert [driver.isMissing(f"{there.as_uri()}/{name}") for name in found] == [False] * 4
        assert [driver.isMissing(f"file:{there}/{name}") for name in ("x", "[a-c]?*x")] == [
            True
        ] * 2
        assert driver.plainPathsAreLocal()
    finally:
        if setting is not None:
            remote.conf.unset(setting)
    if setting is None:
        assert "Exception" not in server.log()[before:]


def test_state_timers_side_outputs_and_sources_of_the_server(env, server, tmp_path):
    here = server.directory / "lines"
    here.mkdir()
    (here / "one.csv").write_text("a,100\nb,200\na,300\n")
    path = (server.directory / "out").as_uri()
    strategy = fl.WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(
        lambda click, _: click.at
    )
    gaps = (
        env.fromSource(
            fl.FileSource.forCsv(here.as_uri(), "user string, at long"), strategy, "files"
        )
        .keyBy(lambda click: click.user)
        .process(Gaps())
    )
    results, late, numbers = [], [], []
    gaps.forEachBatch(lambda values, batch: results.extend(values))
    gaps.getSideOutput(LATE).forEachBatch(lambda values, batch: late.extend(values))
    sequence = env.fromSequence(1, 5)
    sequence.forEachBatch(lambda values, batch: numbers.extend(values))
    sequence.map(str).sinkTo(fl.FileSink.forText(path))
    env.execute()
    assert sorted(results) == [("a", 2, 10_000), ("b", 1, 10_000)]
    assert late == []
    assert sorted(numbers) == [1, 2, 3, 4, 5]
    written = [
        line
        for file in Path(server.directory, "out").rglob("part-*")
        for line in file.read_text().split()
    ]
    assert sorted(written) == ["1", "2", "3", "4", "5"]


def test_an_error_of_a_function_names_its_operator_and_its_line(env):
    def broken(number):
        return 1 // (number - 2)

    env.fromElements(1, 2, 3).keyBy(lambda number: 0).map(broken).name("division").print()
    with pytest.raises(fl.UserFunctionError, match="division") as caught:
        env.execute()
    notes = "\n".join(caught.value.__notes__)
    assert "return 1 // (number - 2)" in notes
    assert "ZeroDivisionError" in notes


def test_an_error_of_a_sink_at_the_client_ends_the_job(env):
    def refuse(values, batch):
        raise ValueError(f"no {values[0]}")

    env.fromElements(7).forEachBatch(refuse).name("refusing")
    with pytest.raises(fl.UserFunctionError, match="no 7"):
        env.execute()


def test_a_job_becomes_a_dataframe_and_begins_from_one(env, remote, server):
    rows = remote.createDataFrame([("a", 1), ("b", 2), ("a", 3)], "user string, amount long")
    sums = env.fromDataFrame(rows).keyBy(lambda row: row.user).sum("amount")
    frame = sums.toDataFrame("user string, amount long")
    path = (server.directory / "frame").as_uri()
    query = frame.writeStream.format("parquet").option("path", path)
    started = query.option("checkpointLocation", f"{path}-checkpoint").start()
    started.processAllAvailable()
    started.stop()
    found = sorted((row.user, row.amount) for row in remote.read.parquet(path).collect())
    assert found == [("a", 1), ("a", 4), ("b", 2)]
