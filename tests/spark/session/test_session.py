"""The session a job runs on: the active one, with its own settings again afterwards."""

from __future__ import annotations

import os
import sys
import time
from types import SimpleNamespace

import py4j
import pyspark
import pytest
from py4j.protocol import Py4JJavaError

import flinkish as fl
from flinkish.spark.session import session as sessions
from flinkish.spark.session.session import (
    JOB_SETTINGS,
    SHORT_HISTORY,
    default_parallelism,
    frame_settings,
    job_settings,
    row_settings,
    session_for,
)
from flinkish.spark.sinks.batch_sinks import BatchSinks
from tests.reliability.processes import tree_of

CHECKPOINT_FILES = "spark.sql.streaming.checkpointFileManagerClass"
WHOLE_STAGE, FACTORY = "spark.sql.codegen.wholeStage", "spark.sql.codegen.factoryMode"
LIMITS = {"MALLOC_MMAP_THRESHOLD_": "33554432", "MALLOC_TRIM_THRESHOLD_": "67108864"}


def on_worker(number):
    """Return a worker's view of its process: its Python, whether pyspark is that of the driver, and glibc's limits."""
    return (
        sys.executable,
        [os.path.realpath(package.__file__) for package in (pyspark, py4j)],
        {name: os.environ.get(name) for name in LIMITS},
    )


def factories_of(run):
    """How code is made in the sessions of the queries that ``run`` starts."""
    found = set()
    sink = BatchSinks.__call__

    def seen(self, frame, batchId):
        found.add(frame.sparkSession.conf.get(FACTORY))
        return sink(self, frame, batchId)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BatchSinks, "__call__", seen)
        run()
    return found


@pytest.fixture(scope="module")
def job(spark):
    """A job on the active session, whose settings differ: those before and after, and what it has
    seen."""
    names = [*JOB_SETTINGS, "spark.sql.shuffle.partitions"]
    own = {"spark.sql.session.timeZone": "Asia/Tokyo", "spark.sql.shuffle.partitions": "7"}
    before = {name: spark.conf.get(name, None) for name in names}
    seen = []
    try:
        for name, value in own.items():
            spark.conf.set(name, value)
        settings = {name: spark.conf.get(name, None) for name in names}
        env = fl.StreamExecutionEnvironment.getExecutionEnvironment()
        env.setParallelism(1).setMaxParallelism(1)
        stream = env.fromElements(1).keyBy(lambda n: n).map(on_worker)
        stream.forEachBatch(lambda values, batch: seen.extend(values))
        factories = factories_of(env.execute)
        afterwards = {name: spark.conf.get(name, None) for name in names}
    finally:
        for name, value in before.items():
            if value is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, value)
    [found] = seen
    return SimpleNamespace(
        settings=settings, afterwards=afterwards, worker=found, factories=factories
    )


def test_the_active_session_is_taken_and_keeps_its_settings(spark, job):
    """The settings that a query needs are there while it starts, and not longer."""
    assert job.afterwards == job.settings
    assert session_for(None) is spark


def test_workers_run_this_python_and_import_the_package_that_is_compiled_already(job):
    """From the archive that Spark puts on their path, each process would compile the package
    anew."""
    python, packages, _ = job.worker
    assert python == sys.executable
    assert packages == [os.path.realpath(package.__file__) for package in (pyspark, py4j)]


def test_workers_start_with_glibcs_upper_limits(job):
    """They then return memory that they have freed."""
    assert job.worker[2] == LIMITS


def test_a_session_of_our_own_has_a_stable_address_and_a_short_history(spark):
    configuration = spark.sparkContext.getConf()
    assert configuration.get("spark.driver.host") == "127.0.0.1"
    assert configuration.get("spark.driver.bindAddress") == "127.0.0.1"
    for name, most in SHORT_HISTORY.items():
        assert configuration.get(name) == most == "100"


@pytest.mark.parametrize(
    ("limit", "megabytes"), [("max\n", 2048), ("4294967296\n", 1024), ("6442450944\n", 1536)]
)
def test_the_driver_takes_a_quarter_of_the_memory_of_its_container(
    monkeypatch, tmp_path, limit, megabytes
):
    monkeypatch.setattr(os, "sysconf", {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 2 << 20}.get)
    (tmp_path / "memory.max").write_text(limit)
    limits = (tmp_path / "memory.max", tmp_path / "memory.limit_in_bytes")
    monkeypatch.setattr(sessions, "_MEMORY_LIMITS", limits)
    assert sessions._driver_megabytes() == megabytes


@pytest.mark.rotating("Spark obeys a setting that another test looks for")
def test_a_session_of_our_own_keeps_a_short_history(spark):
    for _ in range(120):
        spark.sql("VALUES 1").collect()
    kept = spark._jsparkSession.sharedState().statusStore()
    until = time.monotonic() + 10
    # Spark removes the oldest from time to time.
    while (count := kept.executionsCount()) > 110 and time.monotonic() < until:
        time.sleep(0.1)
    assert 50 < count <= 110


def test_a_local_checkpoint_is_committed_without_starting_processes(spark):
    """Elsewhere Spark's own way is the right one, and what the user chose is always."""
    with job_settings(spark, None, localCheckpoint=True):
        chosen = spark.conf.get(CHECKPOINT_FILES)
    assert spark.sparkContext._jvm.java.lang.Class.forName(chosen).getName() == chosen
    with job_settings(spark, None, localCheckpoint=False):
        assert spark.conf.get(CHECKPOINT_FILES, None) is None
    spark.conf.set(CHECKPOINT_FILES, "mine")
    try:
        with job_settings(spark, None, localCheckpoint=True):
            assert spark.conf.get(CHECKPOINT_FILES) == "mine"
        assert spark.conf.get(CHECKPOINT_FILES) == "mine"
    finally:
        spark.conf.unset(CHECKPOINT_FILES)
    assert spark.conf.get(CHECKPOINT_FILES, None) is None


def test_spark_makes_no_code_for_frames_and_what_a_user_set_stays(spark):
    def settings():
        return spark.conf.get(WHOLE_STAGE, None), spark.conf.get(FACTORY, None)

    with frame_settings(spark):
        assert settings() == ("false", "NO_CODEGEN")
        with row_settings(spark):
            assert settings() == (None, None)
        assert settings() == ("false", "NO_CODEGEN")
    assert settings() == (None, None)
    spark.conf.set(WHOLE_STAGE, "true")
    try:
        with frame_settings(spark), row_settings(spark):
            assert settings() == ("true", None)
        assert settings() == ("true", None)
    finally:
        spark.conf.unset(WHOLE_STAGE)


def test_a_query_makes_code_if_spark_has_a_row_for_each_element(env, tmp_path, job):
    """A frame that a batch gives to the sinks is of the session of its query."""
    assert job.factories == {"NO_CODEGEN"}
    (tmp_path / "1.txt").write_text("a\n")
    source = fl.FileSource.forLines(str(tmp_path), pathGlobFilter="*")
    env.fromSource(source).forEachBatch(lambda values, batch: None)
    assert factories_of(env.execute) == {"FALLBACK"}


PARTITIONS = "spark.sql.shuffle.partitions"


class Tasks(fl.RichMapFunction):
    def map(self, value):
        return self.getRuntimeContext().getTaskInfo().getNumberOfParallelSubtasks()


def test_without_a_setting_there_are_as_many_tasks_as_cores(spark):
    """As in a session that a user has built: Spark's default of 200 was nobody's choice."""
    session = spark.newSession()
    session.conf.unset(PARTITIONS)
    assert session.conf.get(PARTITIONS) == "200"
    cores = spark.sparkContext.defaultParallelism
    assert default_parallelism(session) == cores
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment(session)
    numbers = env.fromData(1, 2).keyBy(lambda n: n).reduce(max)
    assert numbers.map(Tasks()).executeAndCollect(2) == [cores, cores]
    assert session.conf.get(PARTITIONS, None) is None, "the session is as it was"


def test_shuffle_partitions_count_where_they_are_set(spark):
    session = spark.newSession()
    for given in ("3", "200"):
        session.conf.set(PARTITIONS, given)
        assert default_parallelism(session) == int(given)


def test_the_job_names_its_query_and_a_second_one_gets_a_number(spark):
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment(spark).setParallelism(1)
    clients = []
    try:
        for name in ("trains", "trains", " "):
            env.fromSource(fl.DataGeneratorSource(lambda n: n, elementsPerSecond=1)).print()
            clients.append(env.executeAsync(name))
        names = {query.name for query in spark.streams.active}
        assert {"trains", "trains (2)"} <= names
        assert len(clients) == 3, "a blank name is no name"
    finally:
        for client in clients:
            client.cancel()


def test_no_worker_can_print_a_trace_of_its_own(spark, job):
    """Not even of the process that looks for data sources of Python, which the JVM starts on its
    own."""
    assert job.worker
    with pytest.raises(Py4JJavaError, match="DATA_SOURCE_NOT_FOUND"):
        spark.read.format("a source that is not there").load()
    daemons = [p.command for p in tree_of(os.getpid()) if "lookup_data_sources" in p.command]
    assert daemons
    assert all("worker_daemon.py" in command for command in daemons)
    assert os.environ["PYSPARK_DRIVER_PYTHON"] == sys.executable
