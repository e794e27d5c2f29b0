"""A job whose functions and classes are those of its main script: run in this process or on a cluster.

    python tests/cluster/clicks_job.py DIRECTORY [MASTER]

reads the files in DIRECTORY/input, one a batch, and writes DIRECTORY/sessions, DIRECTORY/totals and
DIRECTORY/batches. Where it runs on a master, it says its process id and waits for a line before it starts.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path

import flinkish as fl

QUIET = 40


@dataclass(frozen=True)
class Click:
    """An element."""

    user: str
    number: int
    at: int


@dataclass(frozen=True)
class Seen:
    """The state of a user."""

    clicks: int = 0
    latest: int = 0


class Sessions(fl.ProcessWindowFunction):
    """The numbers of the clicks of each session."""

    def process(self, key, context, clicks):
        window = context.window()
        numbers = sorted(click.number for click in clicks)
        yield {"user": key, "from": window.start, "to": window.end, "numbers": numbers}


class Totals(fl.KeyedProcessFunction):
    """The clicks of each user, said when none came for a while."""

    def open(self, openContext):
        self.seen = self.getRuntimeContext().getState(fl.ValueStateDescriptor("seen"))

    def processElement(self, click, ctx, out):
        seen = self.seen.value() or Seen()
        latest = max(seen.latest, click.at)
        self.seen.update(Seen(seen.clicks + 1, latest))
        ctx.timerService().registerEventTimeTimer(latest + QUIET)

    def onTimer(self, timestamp, ctx, out):
        seen = self.seen.value()
        if timestamp == seen.latest + QUIET:
            out.collect((ctx.getCurrentKey(), timestamp, seen.clicks))


def noted(directory):
    def note(values, batch):
        (directory / f"{batch}.json").write_text(json.dumps(sorted(values)))

    return note


def main(directory, master=None):
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment(master and session(master))
    if master is None:
        env.setLocalExecution()
    else:
        env.enableCheckpointing(os.environ.get("CHECKPOINT") or str(directory / "checkpoint"))
    env.setParallelism(2).setMaxParallelism(4)
    files = fl.FileSource.forCsv(str(directory / "input"), "user string, number long, at long")
    strategy = fl.WatermarkStrategy.forBoundedOutOfOrderness(20).withTimestampAssigner(
        lambda click, timestamp: click.at
    )
    clicks = (
        env.fromSource(files.withFilesPerBatch(1))
        .uid("files")
        .map(lambda row: Click(row.user, row.number, row.at))
        .assignTimestampsAndWatermarks(strategy)
        .keyBy(lambda click: click.user)
    )
    sessions = clicks.window(fl.EventTimeSessionWindows.withGap(15)).process(Sessions())
    sessions.sinkTo(fl.FileSink.forJson(str(directory / "sessions")))
    totals = clicks.process(Totals()).uid("totals")
    totals.sinkTo(fl.FileSink.forJson(str(directory / "totals")))
    (directory / "batches").mkdir(exist_ok=True)
    totals.keyBy(lambda total: total[0]).reduce(max).forEachBatch(noted(directory / "batches"))
    env.execute("clicks")


def session(master):
    from pyspark.sql import SparkSession

    return (
        SparkSession.builder.master(master)
        .config("spark.executor.memory", "512m")
        .config("spark.driver.memory", "1g")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
