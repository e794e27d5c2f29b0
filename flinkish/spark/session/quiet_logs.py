"""Keeps off the screen what Spark and py4j log of a job, which the job's own error says in one sentence.

A session of our own has ``log4j2.properties``. In one that the user built, Spark's loggers and its bars of stages are
quiet as long as a job runs, and as they were afterwards.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


LOGGING = Path(__file__).with_name("log4j2.properties")
"""How a session of our own logs."""


def logging_is_set(javaOptions: str | None) -> bool:
    """Whether the JVM of a submitted program was told how to log: by the ``javaOptions`` of its driver, or in the
    directory of Spark's settings."""
    directory = os.environ.get("SPARK_CONF_DIR")
    names = ("log4j2.properties", "log4j2.xml", "log4j2.yaml", "log4j2.json")
    in_directory = directory and any(Path(directory, name).exists() for name in names)
    return bool(in_directory) or "log4j2.configurationFile" in (javaOptions or "")


_LOGGERS = (
    "org.apache.hadoop.util.Shell",
    "org.apache.spark.api.python",
    "org.apache.spark.executor",
    "org.apache.spark.scheduler",
    "org.apache.spark.sql.execution.adaptive",
    "org.apache.spark.sql.execution.datasources",
    "org.apache.spark.sql.execution.python",
    "org.apache.spark.sql.execution.streaming",
    "org.apache.spark.storage",
    "org.apache.spark.util",
    "org.apache.spark.TaskContextImpl",
)
"""Those of Spark, and of what it runs on, that tell of a batch that failed or was stopped."""


_AFTERWARDS_SECONDS = 5.0
"""Tasks and workers of a query that was stopped end, and log it, a little later."""


_CONFIGURATOR = "'org.apache.logging.log4j.core.config.Configurator', 'setLevel'"


_MANAGER = "'org.apache.logging.log4j.LogManager', 'getLogger'"


_STATE_LOGGER = (
    "org.apache.spark.sql.execution.python.streaming.TransformWithStateInPySparkStateServer"
)
"""Warns of every entry of a map state that is removed and was not there, as pages may be."""


_BAR_SECONDS = 0.2
"""Spark draws no bar of stages for half a second after it was told that all have ended."""


_NOT_RESTORED = dict.fromkeys(("ALL", "TRACE", "DEBUG", "INFO"), "WARN")
"""pyspark's default is INFO with a filter for WARN, which a logger that has a level of its own passes."""


class QuietLoggers:
    """Spark's loggers in the JVM of this process while jobs run, through Spark's SQL function
    ``reflect``. One for all sessions: they share the loggers."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._jobs = 0
        self._begun = 0
        """How many jobs have begun. A timer that an earlier one has set is out of date."""
        self._before: dict[str, str] = {}
        self._bars: threading.Event | None = None
        """Lets Spark draw its bars of stages again when it is set."""

    def begin(self, session: SparkSession) -> None:
        """Called when a job begins."""
        with self._lock:
            self._jobs += 1
            self._begun += 1
            if self._bars is None:
                self._bars = _without_bars()
            if not self._before:
                self._before = _silenced(session)

    def end(self, session: SparkSession) -> None:
        """Called when a job has ended: after the last the loggers have their levels again."""
        with self._lock:
            self._jobs -= 1
            if self._jobs:
                return
            begun = self._begun
        timer = threading.Timer(_AFTERWARDS_SECONDS, self._restore, (session, begun))
        timer.daemon = True
        timer.start()

    def _restore(self, session: SparkSession, begun: int) -> None:
        with self._lock:
            if self._jobs or self._begun != begun:
                return
            if self._bars is not None:
                self._bars.set()
                self._bars = None
            if self._before:
                calls = [
                    f"reflect({_CONFIGURATOR}, '{name}', '{level}')"
                    for name, level in self._before.items()
                ]
                # The session may have been stopped: the next one's jobs then see to it.
                with quiet_py4j():
                    if _asked(session, calls):
                        self._before = {}


def _silenced(session: SparkSession) -> dict[str, str]:
    calls = [
        f"reflect({_MANAGER}, '{name}'), reflect({_CONFIGURATOR}, '{name}', 'OFF')"
        for name in _LOGGERS
    ]
    said = _asked(session, calls)[::2]
    # As in "org.apache.spark.scheduler:WARN in 1dbd16a6"
    levels = (text.rpartition(":")[2].partition(" ")[0] for text in said)
    return {name: _NOT_RESTORED.get(level, level) for name, level in zip(_LOGGERS, levels)}


def _asked(session: SparkSession, calls: list[str]) -> list[str]:
    # FROM VALUES, since Spark then asks in the driver and without a job. A Spark with another logging,
    # or one that allows no reflect(), stays as loud as it is.
    try:
        row = session.sql(f"SELECT {', '.join(calls)} FROM VALUES (1)").collect()[0]
    except Exception:
        return []
    return [str(value) for value in row]


def _without_bars() -> threading.Event:
    """Keep Spark from drawing its bars of stages (``spark.ui.showConsoleProgress``), until the event is set.

    A bar that is stopped cannot be started again, so it is told again and again that all stages have ended.
    """
    from pyspark import SparkContext

    ended = threading.Event()

    def hold_back() -> None:
        # The bar has no public name. Without it, or without the JVM, nothing draws
        with quiet_py4j(), suppress(Exception):
            bar = SparkContext.getOrCreate()._jsc.sc().progressBar()
            while bar.isDefined() and not ended.wait(_BAR_SECONDS):
                bar.get().finishAll()

    threading.Thread(target=hold_back, name="flinkish bars", daemon=True).start()
    return ended


def quiet_state(session: SparkSession) -> None:
    """Silence the warnings of states in ``session`` for good, for a query whose end only its user knows."""
    _asked(session, [f"reflect({_CONFIGURATOR}, '{_STATE_LOGGER}', 'ERROR')"])


_QUIET = QuietLoggers()


@contextmanager
def quiet_loggers(session: SparkSession) -> Iterator[None]:
    """Spark's loggers are quiet inside, and where several jobs run, until the last has ended."""
    options = session.conf.get("spark.driver.extraJavaOptions", None)
    if LOGGING.as_uri() in (options or ""):
        yield
        return
    _QUIET.begin(session)
    try:
        yield
    finally:
        _QUIET.end(session)


class BatchAbortedError(Exception):
    """Raised to Spark in place of the error that ended a batch, which the job keeps."""


class _Py4jFilter(logging.Filter):
    """Drops what py4j logs of calls that ended because a job or the JVM did."""

    def filter(self, record: logging.LogRecord) -> bool:
        raised = record.exc_info[1] if record.exc_info else None
        # That the JVM is gone is raised wherever it is called, and so need not be logged.
        told = isinstance(raised, BatchAbortedError) or type(raised).__name__ == _NETWORK_ERROR
        of_ours = told or getattr(_thread, "quiet", False)
        return not (of_ours and "py4j" in record.pathname)


_NETWORK_ERROR = "Py4JNetworkError"


_thread = threading.local()


_FILTER = _Py4jFilter()


_PY4J_LOGGERS = ("", "py4j.clientserver", "py4j.java_gateway")
"""Some of its messages py4j gives to the root logger."""


def quiet_py4j_steps() -> None:
    """Let py4j log no steps of its calls and connections (INFO), unless the program has set a level for it."""
    logger = logging.getLogger("py4j")
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.WARNING)


@contextmanager
def quiet_py4j() -> Iterator[None]:
    """Let py4j log no traces of calls made here."""
    for name in _PY4J_LOGGERS:
        logging.getLogger(name).addFilter(_FILTER)
    before = getattr(_thread, "quiet", False)
    _thread.quiet = True
    try:
        yield
    finally:
        _thread.quiet = before
