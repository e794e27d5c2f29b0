"""Lets jobs end in every way there is, one after the other, in a separate process; run by
``test_job_life.py``, which reads what it printed between one ``begin`` and the next.

``python job_life.py own|user directory``: on flinkish's session, or on one that the user has built.
"""

from __future__ import annotations

import faulthandler
import gc
import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import flinkish as fl
from tests.spark.waiting import wait_for

SESSION, DIRECTORY = sys.argv[1:]

# A part that hangs shows where, in what the test prints.
faulthandler.dump_traceback_later(480, exit=True)

keyed = [("a", 1), ("b", 2), ("a", 3)]


@contextmanager
def part(name):
    for stream in (sys.stdout, sys.stderr):
        print(f"begin {name}", file=stream, flush=True)
    said = {}
    try:
        yield said
    except BaseException as error:
        said.update(
            error=type(error).__name__, message=str(error), notes=getattr(error, "__notes__", [])
        )
    # What comes late is this one's too.
    await_tasks()
    print("said " + json.dumps(said), flush=True)


def await_tasks():
    """Wait until Spark runs no task, as it says something of those that it stopped; not if its JVM is gone."""
    from py4j.protocol import Py4JError
    from pyspark.sql import SparkSession

    with suppress(Py4JError, OSError):
        status = SparkSession.getActiveSession().sparkContext._jsc.sc().statusStore()
        wait_for(lambda: not sum(e.activeTasks() for e in executors(status)))


def executors(status):
    listed = status.executorList(True)
    return [listed.apply(number) for number in range(listed.size())]


def environment(session=None):
    return (
        fl.StreamExecutionEnvironment.getExecutionEnvironment(session)
        .setParallelism(2)
        .setMaxParallelism(2)
    )


class Unread(fl.KeyedStateBootstrapFunction):
    """Keeps nothing."""

    def processElement(self, value, ctx):
        pass


def slow(name):
    """A function that notes that it runs, and never ends."""

    def wait(value):
        Path(DIRECTORY, name).touch()
        threading.Event().wait()
        return value

    return wait


def await_file(name):
    wait_for(Path(DIRECTORY, name).exists)


def interrupt_after(running):
    """Send SIGINT once ``running()`` has returned and the program waits in flinkish."""

    def interrupt():
        running()
        wait_for(waits_in_flinkish)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()


def waits_in_flinkish():
    """Whether the main thread is in a method that waits, which flinkish has or has called."""
    frame = sys._current_frames()[threading.main_thread().ident or 0]
    if frame.f_code.co_name not in ("wait", "get"):
        return False
    while frame and frame.f_globals.get("__name__", "").partition(".")[0] != "flinkish":
        frame = frame.f_back
    return frame is not None


def processes(of):
    """The command lines of the processes below ``of``."""
    out = subprocess.run(["ps", "-eo", "pid=,ppid=,args="], capture_output=True, text=True).stdout
    below, found = {str(of)}, {}
    rows = [line.split(None, 2) for line in out.splitlines()]
    for _ in range(5):
        for pid, parent, *command in rows:
            if parent in below:
                below.add(pid)
                found[int(pid)] = "".join(command)
    return found


def lives(process):
    try:
        return bool(Path(f"/proc/{process}/cmdline").read_bytes())
    except (FileNotFoundError, ProcessLookupError):
        return False


# As many programs do, for what they log themselves
logging.basicConfig(level=logging.INFO)

if SESSION == "user":
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    SparkSession.builder.master("local[2]").config("spark.sql.shuffle.partitions", 2).getOrCreate()

# What Spark says when it starts is no job's.
environment().fromData(1).executeAndCollect(1)

with part("success"):
    env = environment()
    env.fromData(*keyed).keyBy(lambda e: e[0]).sum(1).print()
    env.execute()

with part("a long stage"):

    def two_seconds(value):
        time.sleep(2)
        return value

    env = environment()
    env.fromData(*keyed).keyBy(lambda e: e[0]).map(two_seconds).print()
    env.execute()

with part("toDataFrame"):
    columns = (
        environment().fromData(*keyed).keyBy(lambda e: e[0]).sum(1).toDataFrame("k string, n int")
    )
    query = columns.writeStream.format("memory").queryName("sums").start()
    query.processAllAvailable()
    query.stop()

with part("error in a worker"):
    list(
        environment()
        .fromData(*keyed)
        .keyBy(lambda e: e[0])
        .map(lambda e: e[1] // 0)
        .executeAndCollect()
    )

with part("error in a sink"):
    env = environment()
    env.fromData(1).forEachBatch(lambda values, batch: 1 // 0)
    env.execute()

with part("exit in a sink"):
    env = environment()
    env.fromData(1).forEachBatch(lambda values, batch: sys.exit(3))
    env.execute()

with part("cancel from a sink") as said:
    env = environment()
    started = threading.Event()

    def cancel_the_job(values, batch):
        started.wait()
        client.cancel()

    env.fromData(1).forEachBatch(cancel_the_job)
    client = env.executeAsync()
    started.set()
    client.getJobExecutionResult(60)
    said["status"] = client.getJobStatus().name

with part("cancel") as said:
    env = environment()
    env.fromData(*keyed).keyBy(lambda e: e[0]).map(slow("cancel")).print()
    client = env.executeAsync()
    await_file("cancel")
    client.cancel()
    said["status"] = client.getJobStatus().name

with part("savepoint") as said:
    env = environment()
    env.enableCheckpointing(f"{DIRECTORY}/checkpoint")
    batches = []
    numbers = env.fromSource(
        fl.DataGeneratorSource(lambda n: n, None, 10),
        fl.WatermarkStrategy.noWatermarks(),
        "numbers",
    )
    numbers.keyBy(lambda n: n % 2).map(lambda n: n).forEachBatch(
        lambda values, batch: batches.append(batch)
    )
    client = env.executeAsync()
    wait_for(lambda: len(batches) >= 2)
    said["checkpoint"] = client.stopWithSavepoint()
    said["status"] = client.getJobStatus().name
    said["mode"] = oct(os.stat(said["checkpoint"]).st_mode & 0o777)

with part("interrupt in a batch"):
    interrupt_after(lambda: await_file("interrupt"))
    env = environment()
    env.fromData(*keyed).keyBy(lambda e: e[0]).map(slow("interrupt")).print()
    env.execute()

with part("interrupt between batches") as said:
    given = threading.Event()
    interrupt_after(given.wait)
    os.mkdir(f"{DIRECTORY}/lines")
    Path(DIRECTORY, "lines", "first.txt").write_text("a\n")
    watched = fl.FileSource.forLines(f"{DIRECTORY}/lines").monitorContinuously()
    lines = environment().fromSource(watched, fl.WatermarkStrategy.noWatermarks(), "lines")
    results = lines.executeAndCollect()
    # As in a notebook, before every cell
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        for _ in results:
            given.set()
    finally:
        said["status"] = results._client.getJobStatus().name

with part("dropped") as said:
    results = (
        environment()
        .fromSource(
            fl.DataGeneratorSource(lambda n: n, None, 10), fl.WatermarkStrategy.noWatermarks(), "n"
        )
        .executeAndCollect()
    )
    next(results)
    client = results._client
    del results
    gc.collect()
    client.getJobExecutionResult(60)
    said["status"] = client.getJobStatus().name

with part("hidden") as said:
    env = environment()
    env.getConfig().hideElementsInErrors()
    list(env.fromData("my secret").keyBy(lambda e: e).map(int).executeAndCollect())

with part("no jvm") as said:
    from pyspark.sql import SparkSession

    there = SparkSession.getActiveSession()
    accounts = fl.OperatorTransformation.bootstrapWith(keyed).keyBy(lambda e: e[0])
    env = environment()
    env.fromData(*keyed).keyBy(lambda e: e[0]).map(slow("jvm")).print()
    client = env.executeAsync()
    await_file("jvm")
    before = processes(os.getpid())
    (jvm,) = [
        pid for pid, command in before.items() if "java" in command and "SparkSubmit" in command
    ]
    os.kill(jvm, signal.SIGKILL)
    try:
        client.getJobExecutionResult()
    except fl.JobExecutionError as error:
        said["result"] = str(error)
    client.cancel()
    uses = {
        "job": lambda: environment().fromData(1).executeAndCollect(1),
        "job in that session": lambda: environment(there).fromData(1).executeAndCollect(1),
        "toDataFrame": lambda: environment(there).fromData(1).toDataFrame("n long"),
        "SavepointReader": lambda: fl.SavepointReader.read(there, DIRECTORY).readTimers(
            "uid", keyType=str
        ),
        "SavepointWriter": lambda: (
            fl.SavepointWriter.newSavepoint(environment(there), 8)
            .withOperator("uid", accounts.transform(Unread()))
            .write(f"{DIRECTORY}/made")
        ),
    }
    said["next"] = {}
    for name, use in uses.items():
        try:
            use()
        except fl.JobExecutionError as error:
            said["next"][name] = str(error)
    workers = [pid for pid, command in before.items() if "pyspark" in command and pid != jvm]
    said["workers"] = len(workers)
    wait_for(lambda: not any(map(lives, workers)))
