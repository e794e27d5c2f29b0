"""The job of the kill loop, and the process it runs in: ``python -m tests.reliability.killed_job``.

A line of standard input is a run, as JSON of ``Run``. The job runs until there is a file ``stop`` in the
run's directory; one that fails is started again on its checkpoint, as a supervisor would.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

import flinkish as fl
from flinkish.spark.session.drivers import driver_of
from flinkish.spark.session.quiet_logs import LOGGING
from flinkish.spark.session.session import session_for

OUT_OF_ORDER = 5
WINDOW = 50
LATENESS = 30
QUIET = 50
"""A key expires when no element came for so long, by their timestamps."""
TIME_TO_LIVE = 700

LATE = fl.OutputTag("late")


@dataclass(frozen=True)
class Run:
    """The input and output of a run of the job. ``chained``: the results of the windows go through a second stage with
    state."""

    directory: str
    filesPerBatch: int
    parallelism: int
    chained: bool


class Lifecycle(fl.KeyedProcessFunction):
    """Says for each element what the clock decides of it (twice: as it comes, by a state that lives for a
    while, and when its timer fires), and for each key when it expires in event time."""

    def open(self, openContext):
        context = self.getRuntimeContext()
        self.count = context.getState(fl.ValueStateDescriptor("count"))
        self.last = context.getState(fl.ValueStateDescriptor("last"))
        self.due = context.getMapState(fl.MapStateDescriptor("due"))
        recent = fl.ValueStateDescriptor("recent")
        recent.enableTimeToLive(fl.StateTtlConfig.newBuilder(TIME_TO_LIVE).build())
        self.recent = context.getState(recent)

    def processElement(self, value, ctx, out):
        self.count.update((self.count.value() or 0) + 1)
        self.last.update(max(self.last.value() or 0, ctx.timestamp()))
        timers = ctx.timerService()
        timers.registerEventTimeTimer(self.last.value() + QUIET)
        due = timers.currentProcessingTime() + 100 + value.id % 7 * 100
        timers.registerProcessingTimeTimer(due)
        self.due.put(due, [*(self.due.get(due) or []), value.id])
        self.recent.update((self.recent.value() or 0) + 1)
        out.collect(("recent", value.key, value.id, self.recent.value()))

    def onTimer(self, timestamp, ctx, out):
        if ctx.timeDomain() is fl.TimeDomain.PROCESSING_TIME:
            for number in self.due.get(timestamp):
                out.collect(("fired", ctx.getCurrentKey(), number))
            self.due.remove(timestamp)
        elif timestamp == self.last.value() + QUIET:
            out.collect(("expired", ctx.getCurrentKey(), timestamp, self.count.value()))
            self.count.clear()


class RunningTotals(fl.KeyedProcessFunction):
    """Passes results of windows on, each with how many elements its key's windows have had so far."""

    def open(self, openContext):
        self.sizes = self.getRuntimeContext().getMapState(fl.MapStateDescriptor("sizes"))

    def processElement(self, value, ctx, out):
        self.sizes.put(value[2], len(value[3]))
        out.collect((*value, sum(self.sizes.values())))


def contents(key, context, elements, out):
    out.collect(("window", key, context.window().getStart(), sorted(e.id for e in elements)))


@dataclass(frozen=True)
class BatchFiles:
    """A sink of the user's own that is idempotent by the batch id, and notes a batch that comes again
    with other elements than before."""

    directory: Path

    def __call__(self, values, batch):
        text = "".join(f"{json.dumps(value)}\n" for value in values)
        file = self.directory / f"{batch}.json"
        if file.exists() and file.read_text() != text:
            (self.directory / f"{batch}.differs-{time.time_ns()}").write_text(text)
        draft = self.directory / f".{batch}.draft"
        draft.write_text(text)
        draft.rename(file)


def started(run):
    directory = Path(run.directory)
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment()
    env.setParallelism(run.parallelism).setMaxParallelism(4)
    env.enableCheckpointing(str(directory / "checkpoint"))
    files = fl.FileSource.forCsv(str(directory / "input"), "key string, id long, at long")
    files = files.withFilesPerBatch(run.filesPerBatch).monitorContinuously()
    strategy = fl.WatermarkStrategy.forBoundedOutOfOrderness(OUT_OF_ORDER).withTimestampAssigner(
        lambda row, timestamp: row.at
    )
    timed = env.fromSource(files).uid("files").assignTimestampsAndWatermarks(strategy)
    keyed = timed.keyBy(lambda row: row.key)
    windows = (
        keyed.window(fl.TumblingEventTimeWindows.of(WINDOW))
        .allowedLateness(LATENESS)
        .sideOutputLateData(LATE)
        .process(contents)
    )
    late = windows.getSideOutput(LATE).map(lambda row: ("late", row.key, row.id, row.at))
    results = windows
    if run.chained:
        results = windows.keyBy(lambda result: result[1]).process(RunningTotals())
    results.union(late).sinkTo(fl.FileSink.forJson(str(directory / "windows")))
    lives = keyed.process(Lifecycle())
    expired = lives.filter(lambda life: life[0] == "expired")
    expired.sinkTo(fl.FileSink.forJson(str(directory / "expired")))
    clocked = lives.filter(lambda life: life[0] != "expired")
    clocked.forEachBatch(BatchFiles(directory / "clocked"))
    return env.executeAsync("killed again and again")


def run_to_the_end(run, session):
    """Run the job until a request to stop, through all its failures; False if there is no JVM."""
    directory = Path(run.directory)
    while True:
        try:
            client = started(run)
            while client.getJobStatus() is fl.JobStatus.RUNNING:
                if (directory / "stop").exists():
                    client.cancel()
                    return True
                time.sleep(0.02)
            client.getJobExecutionResult()
        except fl.FlinkishError as error:
            with (directory / "failures").open("a") as failures:
                failures.write(json.dumps([time.time(), type(error).__name__, str(error)]) + "\n")
            if driver_of(session).isGone():
                return False
            time.sleep(0.1)


def main(attempts):
    # Like flinkish's own session, with attempts for each task
    SparkSession.builder.master(f"local[2, {attempts}]").config("spark.driver.memory", "1g").config(
        "spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile={LOGGING.as_uri()}"
    ).config("spark.ui.enabled", "false").config("spark.driver.host", "127.0.0.1").getOrCreate()
    session = session_for(None)
    # Snapshots of the state after a few batches already, not after the usual ten
    session.conf.set("spark.sql.streaming.stateStore.minDeltasForSnapshot", "3")
    session.conf.set("spark.sql.streaming.stateStore.maintenanceInterval", "2s")
    print("ready", flush=True)
    for line in sys.stdin:
        if not run_to_the_end(Run(**json.loads(line)), session):
            sys.exit(1)
        print("stopped", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
