"""Errors that a user sees when a job is wrong or a function raises."""

from __future__ import annotations

import linecache
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import flinkish as fl
from flinkish.api.errors import (
    IllegalArgumentError,
    IllegalStateError,
    InvalidProgramError,
    JavaNotFoundError,
    JobExecutionError,
    UnfitElementError,
    UnstableKeyError,
    UserFunctionError,
)
from flinkish.spark.failures import translated
from flinkish.spark.session.java import check_java


def worker_note(raised):
    return "\n".join(raised.value.__notes__)


def test_a_map_that_raises_names_the_operator_the_element_and_the_line(env):
    def divide(n):
        return 10 // (n - 3)

    stream = env.fromElements(1, 2, 3).map(divide).name("my division")
    with pytest.raises(
        UserFunctionError, match=r"my division: .*ZeroDivisionError.* element 3"
    ) as raised:
        list(stream.executeAndCollect())
    assert "return 10 // (n - 3)" in worker_note(raised)


def test_the_line_of_a_function_without_a_file_is_the_drivers(env, monkeypatch):
    """As in a notebook, whose cells the workers do not have."""
    source = "def divide(n):\n    return 10 // (n - 3)\n"
    monkeypatch.setitem(linecache.cache, "<dynamic-code>", (1, None, source.splitlines(True), ""))
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(source, "<dynamic-code>", "exec"), names)
    with pytest.raises(UserFunctionError) as raised:
        list(env.fromElements(3).map(names["divide"]).executeAndCollect())
    assert 'File "<dynamic-code>", line 2, in divide\n    return 10 // (n - 3)' in worker_note(
        raised
    )


def test_what_of_a_source_or_a_sink_cannot_be_pickled_is_named(env, tmp_path):
    lock = threading.Lock()

    class Locked(fl.Encoder):
        def encode(self, element, stream):
            stream.write(str(lock).encode())

    generator = fl.DataGeneratorSource(lambda n: (n, lock), 5)
    numbers = env.fromSource(generator, fl.WatermarkStrategy.noWatermarks(), "locked")
    with pytest.raises(InvalidProgramError, match=r"locked: its function the lambda .* pickled"):
        list(numbers.executeAndCollect())
    env.fromElements(1).sinkTo(fl.FileSink.forRowFormat(str(tmp_path / "out"), Locked()).build())
    with pytest.raises(InvalidProgramError, match=r"Writer: its encoder .*Locked cannot be"):
        env.execute()


def test_an_aggregate_that_raises_names_them_too(env):
    strategy = fl.WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(
        lambda e, t: e[1]
    )

    def reduce(a, b):
        raise ValueError("no sum")

    windows = (
        env.fromElements(("a", 1), ("a", 2))
        .assignTimestampsAndWatermarks(strategy)
        .keyBy(lambda e: e[0])
        .window(fl.TumblingEventTimeWindows.of(10))
    )
    with pytest.raises(
        UserFunctionError, match=r"ValueError: no sum.* element \('a', 2\)"
    ) as raised:
        list(windows.reduce(reduce).name("my windows").executeAndCollect())
    assert "my windows" in str(raised.value)
    assert 'raise ValueError("no sum")' in worker_note(raised)


def test_the_batch_of_an_error_is_not_committed(env, tmp_path):
    env.getConfig().setElementsPerBatch(2)
    sink = fl.FileSink.forText(str(tmp_path))
    env.fromElements(1, 2, 0, 4).map(lambda n: 4 // n).sinkTo(sink)
    with pytest.raises(UserFunctionError):
        env.execute()
    assert sorted(p.name for p in tmp_path.glob("batch=*")) == ["batch=0"]


def test_an_error_of_a_sink_function_names_it(env):
    def refuse(values, batch):
        raise OSError("disk full")

    env.fromElements(1).forEachBatch(refuse).name("my sink")
    with pytest.raises(UserFunctionError, match=r"my sink: .*disk full"):
        env.execute()


def test_a_function_that_cannot_be_pickled_is_named(env):
    lock = threading.Lock()
    stream = env.fromElements(1).map(lambda n: (lock, n)[1]).name("my locked map")
    with pytest.raises(
        InvalidProgramError, match=r"my locked map: .* cannot be pickled .*open\(\)"
    ):
        list(stream.executeAndCollect())


def test_a_missing_field_names_the_fields_there_are(env, spark):
    frame = spark.createDataFrame([("JFK", 7)], "origin string, delay int")
    stream = env.fromDataFrame(frame).map(lambda row: row.dealy)
    with pytest.raises(UserFunctionError, match="no field 'dealy'; its fields are origin, delay"):
        list(stream.executeAndCollect())


def test_a_missing_timestamp_column_is_refused_at_once(env, spark):
    frame = spark.createDataFrame([("JFK", 7)], "origin string, delay int")
    with pytest.raises(IllegalArgumentError, match=r"no column 'at' .* columns are origin, delay"):
        env.fromDataFrame(frame, timestamp="at")


def test_a_job_without_sinks_is_refused(env):
    env.fromElements(1).map(str)
    with pytest.raises(IllegalStateError, match="the job has no sinks"):
        env.execute()


def test_no_java_is_one_sentence(monkeypatch, tmp_path):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        JavaNotFoundError, match="needs Java 17 or newer, and there is none on the PATH"
    ):
        check_java()


def java_that_runs(script, monkeypatch, directory):
    """JAVA_HOME is ``directory``, with a java that is a shell script."""
    java = directory / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\n{script}\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(directory))


@pytest.mark.parametrize(("version", "shown"), [('"1.8.0_392"', "8"), ('"11.0.21"', "11")])
def test_an_old_java_is_one_sentence(monkeypatch, tmp_path, version, shown):
    java_that_runs(f"echo 'openjdk version {version}' >&2", monkeypatch, tmp_path)
    with pytest.raises(JavaNotFoundError, match=f"is Java {shown}: install Java 17"):
        check_java()


def test_a_java_that_does_not_start_is_quoted(monkeypatch, tmp_path):
    java_that_runs("echo \"Unrecognized VM option 'Xy'\" >&2; exit 1", monkeypatch, tmp_path)
    with pytest.raises(
        JavaNotFoundError, match=r"does not tell.*Unrecognized VM option 'Xy'.*JAVA_TOOL_OPTIONS"
    ):
        check_java()


def test_options_for_java_do_not_hide_its_version(monkeypatch, tmp_path):
    said = "echo 'Picked up JAVA_TOOL_OPTIONS: -Dx=y' >&2"
    version = "echo 'openjdk version \"17.0.15\" 2025-04-15' >&2"
    java_that_runs(f"{said}; {version}", monkeypatch, tmp_path)
    check_java()


@pytest.mark.slow("a separate program")
def test_without_java_a_job_says_so():
    program = (
        "import flinkish as fl\n"
        "fl.StreamExecutionEnvironment.getExecutionEnvironment().fromElements(1).executeAndCollect(1)"
    )
    root = str(Path(fl.__file__).parents[1])
    environment = {**os.environ, "JAVA_HOME": "/nowhere", "PYTHONPATH": root}
    ended = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (
        ended.stderr.strip()
        .splitlines()[-1]
        .startswith(
            "flinkish.api.errors.JavaNotFoundError: Spark needs Java 17 or newer, and there is none in"
        )
    )


def test_an_error_of_flinkish_shows_the_users_lines_only(env):
    class AsksForATimer(fl.ProcessFunction):
        def processElement(self, value, ctx, out):
            ctx.timerService().registerEventTimeTimer(value)

    with pytest.raises(IllegalStateError, match=r"Process: there are no timers here") as raised:
        list(env.fromElements(1).process(AsksForATimer()).executeAndCollect())
    note = worker_note(raised)
    assert "ctx.timerService().registerEventTimeTimer(value)" in note
    assert note.count('File "') == 1
    assert note.endswith("write a KeyedProcessFunction.")


@pytest.mark.parametrize(
    ("key", "error", "said"),
    [
        (lambda n: object(), UnstableKeyError, "cannot be hashed the same way in every process"),
        ("user", UnfitElementError, "user"),
    ],
    ids=["no stable hash", "no such field"],
)
def test_an_error_that_no_line_of_the_user_raised_has_no_traceback(env, key, error, said):
    stream = env.fromElements(1).map(lambda n: n).keyBy(key).sum(0)
    with pytest.raises(error, match=said) as raised:
        list(stream.executeAndCollect())
    assert not hasattr(raised.value, "__notes__")


def test_a_file_that_is_not_there_is_one_sentence(env, tmp_path):
    source = fl.FileSource.forCsv(str(tmp_path / "nowhere"), "user STRING")
    stream = env.fromSource(source, fl.WatermarkStrategy.noWatermarks(), "clicks")
    with pytest.raises(IllegalArgumentError, match=r"nowhere: there is no such file or directory"):
        list(stream.executeAndCollect())


def test_a_schema_that_spark_cannot_read_is_one_sentence(env, tmp_path):
    source = fl.FileSource.forCsv(str(tmp_path), "user VARCHAR")
    stream = env.fromSource(source, fl.WatermarkStrategy.noWatermarks(), "clicks")
    with pytest.raises(IllegalArgumentError, match=r"the schema .user VARCHAR. cannot .*length"):
        list(stream.executeAndCollect())


def test_workers_without_a_module_are_told_from_a_job_that_fails():
    text = """[STREAM_FAILED] Traceback (most recent call last):
  File "/lib/pyspark.zip/pyspark/serializers.py", line 483, in loads
    return cloudpickle.loads(obj, encoding=encoding)
  File "/lib/flinkish/runtime/record_writer.py", line 11, in <module>
    import numpy as np
ModuleNotFoundError: No module named 'numpy'
 SQLSTATE: XXKST"""
    error = translated(RuntimeError(text))
    assert isinstance(error, InvalidProgramError)
    assert "no module 'numpy'" in str(error)
    assert f"PYSPARK_PYTHON={sys.executable}" in str(error)


ENDED = "one of its Python processes has ended without a word"


def test_a_worker_that_was_killed_is_told_from_a_function_that_raises(env):
    stream = env.fromElements(1).map(lambda n: os.kill(os.getpid(), signal.SIGKILL))
    with pytest.raises(JobExecutionError, match=ENDED):
        list(stream.executeAndCollect())


@pytest.mark.parametrize("said", ["", "Broken pipe", "Stream closed", "Connection reset by peer"])
def test_the_planner_of_a_source_that_was_killed_is_told_too(said):
    text = f"[STREAM_FAILED] Query [id = a, runId = b] terminated with exception: {said} SQLSTATE: XXKST"
    assert ENDED in str(translated(RuntimeError(text)))


def test_a_python_that_does_not_connect_is_told_with_its_cause_and_what_to_set():
    text = """[STREAM_FAILED] Query terminated with exception: Job aborted due to stage failure:
org.apache.spark.SparkException: Python worker failed to connect back.
\tat org.apache.spark.api.python.PythonWorkerFactory.createSimpleWorker(PythonWorkerFactory.scala:301)
Caused by: java.net.SocketTimeoutException: Timed out while waiting for the Python worker to connect back
\tat org.apache.spark.api.python.PythonWorkerFactory.createSimpleWorker(PythonWorkerFactory.scala:250)"""
    error = translated(RuntimeError(text))
    assert isinstance(error, JobExecutionError)
    assert "(java.net.SocketTimeoutException: Timed out" in str(error)
    for setting in (f"PYSPARK_PYTHON={sys.executable}", "spark.python.unix.domain.socket.enabled"):
        assert setting in str(error)


def test_what_spark_says_of_another_error_is_kept():
    text = "[STREAM_FAILED] Query [id = a] terminated with exception: No space left SQLSTATE: XXKST"
    assert str(translated(RuntimeError(text))) == f"the job failed: {text}"
