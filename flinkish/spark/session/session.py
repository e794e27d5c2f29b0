"""The SparkSession of a job: the caller's, the active one, or a new one with suitable settings."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from flinkish.api.display.progress_bar import phase
from flinkish.api.environment.settings import usable_cores
from flinkish.spark.session.artifacts import runs_in_driver
from flinkish.spark.session.class_archive import archive_options
from flinkish.spark.session.java import check_java
from flinkish.spark.session.quiet_logs import LOGGING, logging_is_set, quiet_py4j
from flinkish.spark.session.this_process import jvm_gone_error
from flinkish.spark.session.worker_python import quiet_python

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_STATE_STORE = "spark.sql.streaming.stateStore"

_SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"

TIME_ZONE = "spark.sql.session.timeZone"

JOB_SETTINGS = {
    f"{_STATE_STORE}.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    f"{_STATE_STORE}.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "50000",
    TIME_ZONE: "UTC",
    # A batch has few files: with the default of 4 MiB a file of 24 MiB is split 3 to 2, not in
    # halves.
    "spark.sql.files.openCostInBytes": "262144",
    # The simplified traceback leaves out the cause of our exception: the user's own.
    "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "false",
}
"""The settings that every query of flinkish needs, in any session."""

_FRAME_SETTINGS = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""With few rows in a task, generating code for them costs more than it saves: decision 0028."""

_CHECKPOINT_FILES = "spark.sql.streaming.checkpointFileManagerClass"

_WITHOUT_PROCESSES = (
    "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
)
"""On a local file system Spark's default starts several processes (chmod, readlink) for each file
that a batch commits: decision 0012."""


def session_for(sparkSession: SparkSession | None) -> SparkSession:
    """``sparkSession``, else the active session, else a new one: on the server of Spark Connect in
    ``SPARK_REMOTE``, on the master that spark-submit was given, or local. Raises JavaNotFoundError
    if there is no Java to start one with."""
    from pyspark.sql import SparkSession

    if sparkSession is not None:
        return sparkSession
    try:
        with quiet_py4j():
            active = SparkSession.getActiveSession()
    except OSError:
        raise jvm_gone_error() from None
    if active is not None:
        return active
    if _REMOTE in os.environ:
        return SparkSession.builder.getOrCreate()
    return _submitted_session() if _SUBMITTED in os.environ else _local_session()


SHORT_HISTORY: dict[str, bool | float | int | str | None] = {
    "spark.sql.ui.retainedExecutions": "100",
    "spark.ui.retainedJobs": "100",
    "spark.ui.retainedStages": "100",
}
"""The limits of what Spark keeps for its web page, which is off. With a thousand each, plans take
100 MB of the JVM's heap after half an hour of small batches (docs/reliability.md)."""

_ON_THIS_MACHINE: dict[str, bool | float | int | str | None] = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # A million rows of three columns reach Python in 0.7 s this way, and in 0.85 s over TCP.
    "spark.python.unix.domain.socket.enabled": "true",
    **SHORT_HISTORY,
}
"""The settings of a session with executors in the driver's JVM: no other machine listens."""


def _local_session() -> SparkSession:
    java = check_java()
    from pyspark.sql import SparkSession

    # Spark starts its Python workers with these: the same Python, with the same modules.
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = _module_path()
    # The machine's host name may not resolve, or change with the network.
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    cores = usable_cores()
    builder = (
        SparkSession.builder.master(f"local[{cores}]")
        .appName("flinkish")
        .config(_SHUFFLE_PARTITIONS, str(cores))
        .config("spark.driver.memory", f"{_driver_megabytes()}m")
        .config("spark.driver.extraJavaOptions", _java_options(java))
        .config(map=_ON_THIS_MACHINE)
    )
    # The JVM starts the process that looks for Python data sources with its own environment
    os.environ["PYSPARK_DRIVER_PYTHON"] = quiet_python(sys.executable)
    try:
        with phase("starting Spark"):
            return builder.getOrCreate()
    finally:
        os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable


def _module_path() -> str:
    """The places where this program finds its modules, as a ``PYTHONPATH``."""
    return os.pathsep.join(os.path.abspath(p or ".") for p in sys.path)


_REMOTE = "SPARK_REMOTE"
"""The variable with the address of a server for pyspark, as in ``sc://host:15002``."""

_SUBMITTED = "PYSPARK_GATEWAY_PORT"
"""The variable with which spark-submit passes the port of its JVM to a Python program."""


def _submitted_session() -> SparkSession:
    """The session that spark-submit configures, with flinkish's settings for the rest."""
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    # The settings of spark-submit are visible only now
    SparkContext._ensure_initialized()
    given = SparkConf()
    settings: dict[str, bool | float | int | str | None] = {}
    if runs_in_driver(given.get("spark.master")):
        settings = {**_ON_THIS_MACHINE, "spark.executorEnv.PYTHONPATH": _module_path()}
    if not logging_is_set(given.get("spark.driver.extraJavaOptions")):
        settings["spark.log.level"] = "ERROR"
    missing = {name: value for name, value in settings.items() if not given.contains(name)}
    return SparkSession.builder.config(map=missing).getOrCreate()


def _java_options(java: str) -> str:
    return " ".join(
        (
            # Evaluated here: executors import this module from an archive, whose path is relative.
            f"-Dlog4j2.configurationFile={LOGGING.as_uri()}",
            # Without its scheduler's thread, say, a JVM lives on in which no job ever ends.
            "-XX:+ExitOnOutOfMemoryError",
            *archive_options(java),
        )
    )


_MEMORY_LIMITS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)
"""The files with a container's memory limit, for both versions of control groups."""


def _driver_megabytes() -> int:
    """A quarter of the machine's or container's memory, 1 to 4 GiB: all of local Spark."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for limit in _MEMORY_LIMITS:
        # The file may be missing, or contain "max"
        with suppress(OSError, ValueError):
            memory = min(memory, int(limit.read_text()))
    return min(max(memory // 4 >> 20, 1024), 4096)


def default_parallelism(session: SparkSession) -> int:
    """The shuffle partitions set for the session, else as many as Spark has cores: Spark's default of 200 is meant
    for large batches, and each partition costs a task and a state store."""
    given = session.conf.get(_SHUFFLE_PARTITIONS, None)
    return int(given) if given is not None else _cores(session)


def _cores(session: SparkSession) -> int:
    """Spark's default parallelism: the number of partitions of a range, with any master."""
    from pyspark.sql import functions as F

    partitions = session.range(_MANY).select(F.spark_partition_id().alias("partition"))
    (highest,) = partitions.agg(F.max("partition")).collect()[0]
    return int(highest) + 1


_MANY = 1 << 16
"""More elements than there are cores."""


def job_settings(
    session: SparkSession, parallelism: int | None, localCheckpoint: bool
) -> AbstractContextManager[None]:
    """Set what queries need inside the block, and restore the session's own settings afterwards."""
    settings = _settings(parallelism)
    if localCheckpoint and session.conf.get(_CHECKPOINT_FILES, None) is None:
        settings[_CHECKPOINT_FILES] = _WITHOUT_PROCESSES
    return _with_settings(session, settings)


def frame_settings(session: SparkSession) -> AbstractContextManager[None]:
    """Set what a query of frames needs besides ``job_settings``, not what users have set."""
    unset = {n: v for n, v in _FRAME_SETTINGS.items() if session.conf.get(n, None) is None}
    return _with_settings(session, unset)


def row_settings(session: SparkSession) -> AbstractContextManager[None]:
    """Undo ``frame_settings`` inside the block, for a DataFrame of rows."""
    found = [n for n, v in _FRAME_SETTINGS.items() if session.conf.get(n, None) == v]
    return _with_settings(session, dict.fromkeys(found))


@contextmanager
def _with_settings(session: SparkSession, settings: Mapping[str, str | None]) -> Iterator[None]:
    """Give the session ``settings`` inside the block, where None unsets one."""
    before = {name: session.conf.get(name, None) for name in settings}
    try:
        _set(session, settings)
        yield
    finally:
        _set(session, before)


def _set(session: SparkSession, settings: Mapping[str, str | None]) -> None:
    for name, value in settings.items():
        if value is None:
            session.conf.unset(name)
        else:
            session.conf.set(name, value)


class _HeldSettings:
    """Counts the batch queries that need settings, and keeps those from before the first."""

    def __init__(self) -> None:
        self.queries = 0
        self.before: dict[str, str | None] = {}


_held: WeakKeyDictionary[SparkSession, _HeldSettings] = WeakKeyDictionary()

SETTINGS_LOCK = threading.RLock()
"""Held while settings of a session are changed for a while: to start a query, or around a batch query."""


@contextmanager
def batch_settings(session: SparkSession) -> Iterator[None]:
    """Set what batch queries need inside the block, and restore the session's own settings after
    the last of them: unlike a streaming query, a batch query does not run in a cloned session."""
    with SETTINGS_LOCK:
        held = _held.setdefault(session, _HeldSettings())
        held.queries += 1
        if held.queries == 1:
            settings = {n: v for n, v in JOB_SETTINGS.items() if not n.startswith(_STATE_STORE)}
            held.before = {name: session.conf.get(name, None) for name in settings}
            _set(session, settings)
    try:
        yield
    finally:
        with SETTINGS_LOCK:
            held.queries -= 1
            if not held.queries:
                _set(session, held.before)


def set_job_settings(session: SparkSession, parallelism: int | None) -> None:
    """Set what a query needs, permanently."""
    _set(session, _settings(parallelism))


def _settings(parallelism: int | None) -> dict[str, str]:
    shuffles = {} if parallelism is None else {_SHUFFLE_PARTITIONS: str(parallelism)}
    return {**JOB_SETTINGS, **shuffles}
