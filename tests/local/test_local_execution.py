"""Local execution: what it needs, what it refuses, and how a job of it is stopped."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import warnings
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

import flinkish as fl


@pytest.fixture
def local():
    return fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()


@pytest.mark.slow("a separate program")
def test_it_needs_no_spark_and_the_import_no_library_that_loads_slowly():
    job = """
import sys
import flinkish as fl
slow = {"pandas", "pyspark", "pyarrow", "numpy", "importlib.metadata", "importlib.resources"}
assert not slow & sys.modules.keys()
env = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
numbers = env.fromSequence(1, 9).keyBy(lambda n: n % 2).reduce(lambda a, b: a + b)
assert len(list(numbers.executeAndCollect())) == 9
assert not [name for name in sys.modules if name.startswith(("pyspark", "py4j"))]
"""
    subprocess.run([sys.executable, "-c", job], check=True)


@pytest.mark.slow("a separate program")
def test_a_program_that_ends_cancels_the_job_that_it_did_not_await():
    program = """
import atexit
atexit.register(lambda: print(client.getJobStatus().name))
from flinkish import NumberSequenceSource, StreamExecutionEnvironment, WatermarkStrategy
env = StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
numbers = NumberSequenceSource(0, 2**40)
env.fromSource(numbers, WatermarkStrategy.noWatermarks(), "numbers").filter(lambda n: n < 0).print()
client = env.executeAsync()
"""
    ended = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert ended.stdout == "CANCELED\n"


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


def test_a_file_that_is_not_there_is_named(local):
    local.readTextFile("/no/such/file").print()
    with pytest.raises(fl.IllegalArgumentError, match="no file or directory /no/such/file"):
        local.execute()


def test_a_function_that_cannot_be_pickled_is_named(local):
    lock = threading.Lock()
    local.fromData(1).map(lambda n: (lock, n)[1]).name("locked").print()
    with pytest.raises(fl.InvalidProgramError, match="locked"):
        local.execute()


def test_there_is_no_checkpoint(local):
    local.fromSource(fl.DataGeneratorSource(lambda n: n)).forEachBatch(lambda values, batch: None)
    client = local.executeAsync()
    with pytest.raises(fl.IllegalStateError, match="runs locally"):
        client.stopWithSavepoint()
    client.cancel()


def test_a_job_knows_itself_as_on_spark(local):
    local.getConfig().setElementsPerBatch(2)
    at = fl.WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(lambda e, t: e[1])
    source = local.fromCollection([("a", 1), ("b", 2), ("a", 13)]).assignTimestampsAndWatermarks(at)
    windows = source.keyBy(lambda e: e[0]).window(fl.TumblingEventTimeWindows.of(10)).reduce(max)
    windows.name("windows").forEachBatch(lambda values, batch: None)
    client = local.executeAsync("seen")
    client.getJobExecutionResult()
    details = client.getJobDetails()
    assert (details.jid, details.name) == (client.getJobID(), "seen")
    assert (details.status, details.completedBatches) == (fl.JobStatus.FINISHED, 2)
    assert details.startTime <= (details.endTime or 0) <= details.now
    read, window, sink = details.vertices
    assert (read.isSource, window.name, sink.isSink) == (True, "windows", True)
    assert (read.numRecordsIn, window.numRecordsIn, sink.numRecordsIn) == (3, 3, 3)
    assert [(e.shipStrategy, e.records) for e in details.edges] == [("HASH", 3), ("FORWARD", 3)]
    assert read.source is not None
    assert read.source.endOffset == '{"element":3}'
    assert window.currentWatermark == 2**63 - 1
    (only,) = window.operators[0].inputs
    assert details.startTime <= only.since <= details.now
    assert [batch.recordsIn for batch in details.batches] == [2, 1]
    assert details.batches[0].stateBytes > details.batches[1].stateBytes > 0
    assert set(details.batches[0].phases) == {"stages", "sinks"}
    checkpoint = details.checkpoint
    assert (checkpoint.enabled, checkpoint.completed, checkpoint.latest) == (False, 0, None)


def test_a_job_that_failed_knows_where(local):
    local.fromData(1, 3).map(lambda n: 1 // (n - 3)).name("careful").print()
    client = local.executeAsync()
    with pytest.raises(fl.UserFunctionError):
        client.getJobExecutionResult()
    (failed,) = client.getJobDetails().exceptions
    assert (failed.type, failed.operator, failed.element) == ("UserFunctionError", "careful", "3")
    assert "test_local_execution.py" in failed.trace
    assert "1 // (n - 3)" in failed.trace
    assert "vertex.py" not in failed.trace


def test_a_preview_of_an_unbounded_stream_ends(local):
    numbers = local.fromSource(fl.DataGeneratorSource(lambda n: n, elementsPerSecond=100))
    first = numbers.preview(3)
    assert (first, first.isComplete) == ([0, 1, 2], False)
    silent = numbers.filter(lambda n: n < 0).preview(3, seconds=0.2)
    assert (silent, silent.isComplete) == ([], False)


def test_the_web_page_shows_it(local):
    web = local.enableWebUI()
    try:
        local.fromData(1).print()
        client = local.executeAsync("here")
        client.getJobExecutionResult()
        address = web.url.partition("#")[0]
        with urlopen(f"{address}api/jobs/{client.getJobID()}/details") as answer:
            told = json.load(answer)
        assert (told["name"], told["status"], told["completedBatches"]) == ("here", "FINISHED", 1)
        for path in ("checkpoints", "checkpoints/config"):
            with pytest.raises(HTTPError, match="404") as refused:
                urlopen(f"{address}api/jobs/{client.getJobID()}/{path}")
            assert b"runs locally" in refused.value.read()
    finally:
        web.close()
