"""The job of the soak, and the process it runs in: ``python -m tests.reliability.soak_job``.

A line of standard input is a run, as JSON of ``Run``. The job runs until there is a file ``stop`` in the run's
directory, in which is the directory for a savepoint. Once a second it notes in ``health.jsonl`` how it is.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import flinkish as fl
from flinkish.spark.session.quiet_logs import LOGGING
from flinkish.spark.session.session import SHORT_HISTORY

OUT_OF_ORDER = 50
WINDOW = 1_000
CLOCKED = 10
"""Each so many-th element has a timer of the clock."""
DELAY = 1_000

LATE = fl.OutputTag("late")


@dataclass(frozen=True)
class Run:
    """A run of the job from ``savepoint``, if there is one, or from ``checkpoint``, if that has begun."""

    directory: str
    checkpoint: str
    savepoint: str | None
    parallelism: int


class Lifecycle(fl.KeyedProcessFunction):
    """Numbers the elements of each key, until none came for so long as a window is: then the key expires by a
    timer of event time, and begins with 1 again. Some elements have a timer of the clock besides."""

    def open(self, openContext):
        context = self.getRuntimeContext()
        self.count = context.getState(fl.ValueStateDescriptor("count"))
        self.quiet = context.getState(fl.ValueStateDescriptor("quiet"))
        self.due = context.getMapState(fl.MapStateDescriptor("due"))

    def processElement(self, row, ctx, out):
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        timers = ctx.timerService()
        earlier = self.quiet.value()
        if earlier is not None:
            timers.deleteEventTimeTimer(earlier)
        self.quiet.update(max(earlier or 0, row.at + WINDOW))
        timers.registerEventTimeTimer(self.quiet.value())
        if row.id % CLOCKED == 0:
            due = timers.currentProcessingTime() + DELAY
            timers.registerProcessingTimeTimer(due)
            self.due.put(due, [*(self.due.get(due) or []), row.id])
        out.collect(("counted", row.key, row.id, count))

    def onTimer(self, timestamp, ctx, out):
        if ctx.timeDomain() is fl.TimeDomain.PROCESSING_TIME:
            for number in self.due.get(timestamp):
                out.collect(("fired", ctx.getCurrentKey(), number))
            self.due.remove(timestamp)
        else:
            out.collect(("expired", ctx.getCurrentKey(), timestamp, self.count.value()))
            self.count.clear()
            self.quiet.clear()


class Contents(fl.ProcessWindowFunction):
    """The ids of a key in a window."""

    def process(self, key, context, rows):
        yield "window", key, context.window().start, sorted(row.id for row in rows)


def started(run: Run) -> fl.JobClient:
    directory = Path(run.directory)
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment()
    env.setParallelism(run.parallelism).setMaxParallelism(8)
    env.enableCheckpointing(run.checkpoint)
    env.setRestartStrategy(fl.RestartStrategies.fixedDelayRestart(1_000_000, 100))
    if run.savepoint is not None:
        env.setSavepoint(run.savepoint)
    files = fl.FileSource.forCsv(str(directory / "input"), "key string, id long, at long")
    strategy = fl.WatermarkStrategy.forBoundedOutOfOrderness(OUT_OF_ORDER).withTimestampAssigner(
        lambda row, timestamp: row.at
    )
    timed = env.fromSource(files.monitorContinuously(), strategy).uid("files")
    keyed = timed.keyBy(lambda row: row.key)
    lives = keyed.process(Lifecycle()).uid("lifecycle")
    lives.sinkTo(fl.FileSink.forJson(str(directory / "lives"))).uid("lives")
    windows = keyed.window(fl.TumblingEventTimeWindows.of(WINDOW)).sideOutputLateData(LATE)
    contents = windows.process(Contents()).uid("windows")
    late = contents.getSideOutput(LATE).map(lambda row: ("late", row.key, row.id)).uid("late")
    results = contents.union(late)
    results.sinkTo(fl.FileSink.forJson(str(directory / "windows"))).uid("results")
    return env.executeAsync("soak")


def started_at_last(run: Run) -> fl.JobClient:
    """The job, which may lose a worker while it is started, before there is a job to restart."""
    while True:
        try:
            return started(run)
        except Exception as error:
            with Path(run.directory, "failed-starts.jsonl").open("a") as lines:
                lines.write(json.dumps([type(error).__name__, str(error)[:500]]) + "\n")
            time.sleep(0.1)


# ---- how it is ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Health:
    """How the process is at a moment (s since the epoch). ``collected``: whether garbage was just collected, so
    that the objects of Python and the megabytes of the JVM's heap are what is in use."""

    at: float
    pid: int
    restarts: int
    collected: bool = False
    objects: int = 0
    threads: int = 0
    openFiles: int = 0
    heap: int = 0
    outsideHeap: int = 0
    jvmThreads: int = 0
    threadNames: tuple[str, ...] = ()


COLLECT_SECONDS = 30.0


class HealthLog:
    """Appends to ``health.jsonl``."""

    def __init__(self, session: SparkSession, file: Path) -> None:
        self._jvm: Any = session.sparkContext._jvm
        self._file = file
        self._noted = self._collected = 0.0

    def note(self, restarts: int) -> None:
        """Called again and again while the job runs."""
        now = time.time()
        if now >= self._collected + COLLECT_SECONDS:
            self._collected = self._noted = now
            self._write(self._full(now, restarts))
        elif now >= self._noted + 1:
            self._noted = now
            self._write(Health(now, os.getpid(), restarts))

    def _full(self, now: float, restarts: int) -> Health:
        gc.collect()
        self._jvm.java.lang.System.gc()
        beans = self._jvm.java.lang.management.ManagementFactory
        memory = beans.getMemoryMXBean()
        return Health(
            now,
            os.getpid(),
            restarts,
            True,
            len(gc.get_objects()),
            threading.active_count(),
            len(os.listdir("/proc/self/fd")),
            memory.getHeapMemoryUsage().getUsed() >> 20,
            memory.getNonHeapMemoryUsage().getUsed() >> 20,
            beans.getThreadMXBean().getThreadCount(),
            tuple(sorted(thread.name for thread in threading.enumerate())),
        )

    def _write(self, health: Health) -> None:
        with self._file.open("a") as lines:
            lines.write(json.dumps(asdict(health)) + "\n")


def run_until_stopped(run: Run, log: HealthLog) -> None:
    """Run the job until it is stopped with a savepoint; its error if it fails for good."""
    stop = Path(run.directory, "stop")
    client = started_at_last(run)
    while not stop.exists():
        if client.getJobStatus().isGloballyTerminalState():
            client.getJobExecutionResult()
            raise RuntimeError(f"the job has ended: {client.getJobStatus()}")
        log.note(client.getJobDetails().numRestarts)
        time.sleep(0.05)
    client.stopWithSavepoint(stop.read_text())
    log.note(client.getJobDetails().numRestarts)
    stop.unlink()


def main() -> None:
    # What the JVM prints goes there too: the answers have a separate pipe.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    cores = os.cpu_count() or 2
    # Like flinkish's own session, with a heap that is soon as large as it gets
    session = (
        SparkSession.builder.master(f"local[{cores}]")
        .config("spark.driver.memory", "512m")
        .config("spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile={LOGGING.as_uri()}")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.python.unix.domain.socket.enabled", "true")
        .config(map=SHORT_HISTORY)
        .getOrCreate()
    )
    log: HealthLog | None = None
    answers.write("ready\n")
    for line in sys.stdin:
        run = Run(**json.loads(line))
        log = log or HealthLog(session, Path(run.directory, "health.jsonl"))
        run_until_stopped(run, log)
        answers.write("stopped\n")


if __name__ == "__main__":
    main()
