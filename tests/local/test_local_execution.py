"""Local execution: what it needs, what it refuses, and how a job of it is stopped."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
import time
import warnings

import pytest

import flinkish as fl


@pytest.fixture
def local():
    return fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()


def test_it_needs_no_spark():
    job = """
import sys
import flinkish as fl
env = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
numbers = env.fromSequence(1, 9).keyBy(lambda n: n % 2).reduce(lambda a, b: a + b)
assert len(list(numbers.executeAndCollect())) == 9
assert not [name for name in sys.modules if name.startswith(("pyspark", "py4j"))]
"""
    subprocess.run([sys.executable, "-c", job], check=True)


def test_a_job_takes_milliseconds(local):
    list(local.fromData(1).executeAndCollect())
    began = time.monotonic()
    for _ in range(20):
        list(local.fromData(1, 2).keyBy(lambda n: n).reduce(max).executeAndCollect())
    assert (time.monotonic() - began) / 20 < 0.5


def test_functions_are_copies_as_on_spark(local):
    seen = []

    def noting(n):
        seen.append(n)
        return n

    local.fromData(1).map(noting).print()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        local.execute()
    assert seen == []
    assert any(isinstance(w.message, fl.ChangedAttributeWarning) for w in caught)


def test_functions_are_opened_once_and_closed(local, tmp_path):
    log = str(tmp_path / "log")

    class Noted(fl.RichMapFunction):
        def open(self, openContext):
            self.note("open")

        def map(self, value):
            return value

        def close(self):
            self.note("close")

        def note(self, what):
            with open(log, "a") as file:
                file.write(f"{what}\n")

    local.getConfig().setElementsPerBatch(1)
    list(local.fromData(1, 2, 3).map(Noted()).executeAndCollect())
    with open(log) as file:
        assert file.read().split() == ["open", "close"]


def test_a_socket_is_read_to_its_end(local):
    with socket.create_server(("localhost", 0)) as server:

        def serve():
            connection, _ = server.accept()
            with connection:
                connection.sendall(b"to be\r\nor not\n")

        threading.Thread(target=serve, daemon=True).start()
        lines = local.socketTextStream("localhost", server.getsockname()[1])
        assert list(lines.executeAndCollect()) == ["to be", "or not"]


def test_a_job_is_cancelled(local):
    local.fromSource(fl.DataGeneratorSource(lambda n: n, elementsPerSecond=10)).forEachBatch(
        lambda values, batch: None
    )
    client = local.executeAsync()
    assert client.getJobStatus() is fl.JobStatus.RUNNING
    client.cancel()
    assert client.getJobStatus() is fl.JobStatus.CANCELED


def test_a_second_run_into_a_directory_is_refused(local, tmp_path):
    for _ in range(1):
        local.fromData("a").sinkTo(fl.FileSink.forText(str(tmp_path / "out")))
        local.execute()
    local.fromData("a").sinkTo(fl.FileSink.forText(str(tmp_path / "out")))
    with pytest.raises(fl.IncompatibleCheckpointError, match="holds the output of another run"):
        local.execute()


@pytest.mark.parametrize(
    ("job", "said"),
    [
        (lambda env: env.fromData((1,)).toDataFrame(), "toDataFrame: a DataFrame is Spark's"),
        (
            lambda env: env.readTextFile("hdfs://there/a").print() and env.execute(),
            "need Spark's own reader",
        ),
    ],
)
def test_what_needs_spark_says_so(local, job, said):
    with pytest.raises(fl.NotSupportedError, match=said):
        job(local)


def test_a_file_that_is_not_there_is_named(local):
    local.readTextFile("/no/such/file").print()
    with pytest.raises(fl.IllegalArgumentError, match="no file or directory /no/such/file"):
        local.execute()


def test_a_function_that_cannot_be_pickled_is_named(local):
    lock = threading.Lock()
    local.fromData(1).map(lambda n: (lock, n)[1]).name("locked").print()
    with pytest.raises(fl.InvalidProgramError, match="locked"):
        local.execute()


def test_there_is_no_savepoint(local):
    local.fromSource(fl.DataGeneratorSource(lambda n: n)).forEachBatch(lambda values, batch: None)
    client = local.executeAsync()
    with pytest.raises(fl.IllegalStateError, match="runs locally"):
        client.stopWithSavepoint()
    client.cancel()
