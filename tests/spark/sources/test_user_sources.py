"""Sources that a user writes, on Spark: restarts, kills, errors, and jobs without an end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pyspark
import pytest
from pyarrow import fs

import flinkish as fl
from flinkish.api.errors import UserFunctionError
from flinkish.spark.sources import reader
from tests.reliability.processes import tree_of
from tests.spark.sinks.test_user_sinks import Renamed, committed
from tests.spark.waiting import wait_for

PYSPARK = tuple(map(int, pyspark.__version__.split(".")[:2]))

JOB = Path(__file__).with_name("user_source_job.py")


class Numbers(fl.Source[int]):
    """Numbers up to 10; as long as there is the file ``broken`` no further than 7."""

    def __init__(self, broken):
        self.broken = broken

    def read(self, position):
        for number in range(position or 0, 10):
            if number == 7 and os.path.exists(self.broken):
                raise OSError("unplugged")
            yield number, number + 1


def test_it_goes_on_after_the_last_position(env, tmp_path):
    env.enableCheckpointing(str(tmp_path / "checkpoint")).getConfig().setElementsPerBatch(3)
    broken = tmp_path / "broken"
    broken.touch()
    runs = []

    def run():
        runs.append([])
        source = env.fromSource(Numbers(str(broken)), None, "numbers").uid("numbers")
        source.forEachBatch(lambda values, batch: runs[-1].append(values))
        env.execute()

    with pytest.raises(UserFunctionError, match=r"Numbers: .*OSError: unplugged in read\(\)"):
        run()
    broken.unlink()
    run()
    assert runs[0] == [[0, 1, 2], [3, 4, 5], [6]]
    assert runs[1] == [[7, 8, 9]]


@pytest.mark.recovery
@pytest.mark.skipif(PYSPARK < (4, 2), reason="pyspark does not say where a source goes on")
@pytest.mark.rotating("two jobs whose checkpoints are written by Spark")
def test_elsewhere_what_it_gave_is_in_the_checkpoint_too(elsewhere, jobs, tmp_path, monkeypatch):
    """Written and read by a file system of pyarrow's."""

    def place(session, uri):
        assert uri.startswith("/jobs/")
        return fs.LocalFileSystem(), f"{jobs.parent}/{jobs.name}{uri.removeprefix('/jobs')}"

    monkeypatch.setattr(reader, "file_system", place)
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment(elsewhere).setParallelism(1)
    env.enableCheckpointing("/jobs/with frames").getConfig().setElementsPerBatch(3)
    broken, out = tmp_path / "broken", tmp_path / "out"
    broken.touch()
    out.mkdir()

    def run():
        source = env.fromSource(Numbers(str(broken)), None, "numbers").uid("numbers")
        highest = source.keyBy(lambda n: 0).reduce(max).uid("highest")
        highest.sinkTo(Renamed(out)).uid("out")
        env.execute()

    with pytest.raises(UserFunctionError, match="unplugged"):
        run()
    broken.unlink()
    run()
    assert committed(out) == list(range(10))
    assert len(list((jobs / "with frames" / "sources" / "numbers" / "frames").iterdir())) == 4


class Clock(fl.Source[int]):
    """A number every millisecond, forever."""

    bounded = False

    def read(self, position):
        number = position or 0
        while True:
            yield fl.StreamRecord(number, number), number + 1
            number += 1
            time.sleep(0.001)


@pytest.mark.recovery
def test_a_source_without_an_end_is_stopped_and_goes_on(env, tmp_path):
    env.enableCheckpointing(str(tmp_path))
    seen = []

    def run(until):
        stream = env.fromSource(Clock(), None, "clock").uid("clock")
        stream.process(lambda value, ctx, out: out.collect((value, ctx.timestamp()))).forEachBatch(
            lambda values, batch: seen.extend(values)
        )
        client = env.executeAsync()
        wait_for(lambda: len(seen) > until)
        client.stopWithSavepoint()

    run(0)
    run(len(seen) + 100)
    assert seen == [(n, n) for n in range(len(seen))]


@pytest.mark.processes
@pytest.mark.rotating(
    "test_kill_loop.py kills a job with each commit, and a source goes on in test_recovery.py"
)
@pytest.mark.slow("starts Spark twice, in separate processes")
def test_a_killed_job_reads_and_writes_each_element_once(tmp_path):
    killed_and_gone_on(tmp_path, {**os.environ, "PYTHONPATH": str(JOB.parents[3])})


def killed_and_gone_on(directory, variables, size=5, *checkpoint):
    """Kill a job of ``user_source_job.py`` after its first batches of ``size``, and check what has come when it
    has gone on."""
    out, more = directory / "out", [str(size), *checkpoint] if checkpoint else []
    out.mkdir()
    command = [sys.executable, str(JOB), str(directory)]
    with (directory / "job.log").open("w") as log:
        killed = subprocess.Popen([*command, "0.1", *more], env=variables, stdout=log, stderr=log)
        try:
            few = max(10 // size, 1)
            wait_for(lambda: len(list(out.glob("[0-9]*"))) >= few or killed.poll() is not None, 500)
        finally:
            for process in tree_of(killed.pid):
                with suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGKILL)
            killed.wait()
    assert few <= len(list(out.glob("[0-9]*"))) < 60 // size, (directory / "job.log").read_text()
    ended = subprocess.run([*command, "0", *more], env=variables, capture_output=True, text=True)
    assert ended.stdout.splitlines()[-1:] == ["ended"], ended.stderr
    written = [int(line) for file in out.glob("[0-9]*") for line in file.read_text().split()]
    sums = dict.fromkeys(range(3), 0)
    expected = []
    for number in range(60):
        sums[number % 3] += number
        expected.append(sums[number % 3])
    assert sorted(written) == sorted(expected)
