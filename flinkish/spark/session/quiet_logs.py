"""Keeps Spark's and py4j's logs about a job off the screen, as the job's own error says the same in
one sentence.

flinkish's own session has ``log4j2.properties``. In a session that the user built, Spark's loggers
and its progress bars are silenced while a job runs, and restored afterwards.
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
"""The log4j settings of flinkish's own session."""


def logging_is_set(javaOptions: str | None) -> bool:
    """Whether the user has configured the logging of a submitted program's JVM: by the
    ``javaOptions`` of its driver, or in the directory of Spark's settings."""
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
"""The loggers of Spark, and of its dependencies, that report a batch that failed or was stopped."""

_AFTERWARDS_SECONDS = 5.0
"""Tasks and workers of a stopped query end, and log that, a little later."""

_CONFIGURATOR = "'org.apache.logging.log4j.core.config.Configurator', 'setLevel'"

_MANAGER = "'org.apache.logging.log4j.LogManager', 'getLogger'"

_STATE_LOGGER = (
    "org.apache.spark.sql.execution.python.streaming.TransformWithStateInPySparkStateServer"
)
"""Warns when a missing entry of a map state is removed, which is normal for pages."""

_BAR_SECONDS = 0.2
"""Spark draws no progress bar for half a second after all stages have ended."""

_NOT_RESTORED = dict.fromkeys(("ALL", "TRACE", "DEBUG", "INFO"), "WARN")
"""pyspark's default is INFO, with a filter that loggers with their own level escape."""


class QuietLoggers:
    """Spark's loggers in the JVM of this process while jobs run, through Spark's SQL function
    ``reflect``. One for all sessions: they share the loggers."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._jobs = 0
        self._begun = 0
        """The number of jobs begun. A timer that an earlier job has set is out of date."""
        self._before: dict[str, str] = {}
        self._bars: threading.Event | None = None
        """When set, Spark draws its progress bars again."""

    def begin(self, session: SparkSession) -> None:
        with self._lock:
            self._jobs += 1
            self._begun += 1
            if self._bars is None:
                self._bars = _without_bars()
            if not self._before:
                self._before = _silenced(session)

    def end(self, session: SparkSession) -> None:
        """Called when a job has ended: after the last one the loggers get their levels back."""
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
                # The session may have been stopped: then a job of the next one restores them.
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
    # With FROM VALUES Spark evaluates it in the driver, without a job. A Spark with another logging
    # library, or one that allows no reflect(), logs as before.
    try:
        row = session.sql(f"SELECT {', '.join(calls)} FROM VALUES (1)").collect()[0]
    except Exception:
        return []
    return [str(value) for value in row]


def _without_bars() -> threading.Event:
    """Keep Spark from drawing progress bars (``spark.ui.showConsoleProgress``) until the event is
    set. A progress bar that is stopped cannot be started again, so it is notified repeatedly that
    all stages have ended."""
    from pyspark import SparkContext

    ended = threading.Event()

    def hold_back() -> None:
        # The progress bar has no public name. Without it, or without the JVM, nothing draws
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
    """Raised to Spark in place of the error that ended a batch; the job keeps that error."""


class _Py4jFilter(logging.Filter):
    """Drops py4j's logs about calls that ended because a job or the JVM ended."""

    def filter(self, record: logging.LogRecord) -> bool:
        raised = record.exc_info[1] if record.exc_info else None
        # Every call raises an error when the JVM is gone, so it need not be logged.
        told = isinstance(raised, BatchAbortedError) or type(raised).__name__ == _NETWORK_ERROR
        of_ours = told or getattr(_thread, "quiet", False)
        return not (of_ours and "py4j" in record.pathname)


_NETWORK_ERROR = "Py4JNetworkError"

_thread = threading.local()

_FILTER = _Py4jFilter()

_PY4J_LOGGERS = ("", "py4j.clientserver", "py4j.java_gateway")
"""py4j logs some of its messages to the root logger."""


def quiet_py4j_steps() -> None:
    """Keep py4j from logging its calls (INFO), unless the program has set a level for it."""
    logger = logging.getLogger("py4j")
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.WARNING)


@contextmanager
def quiet_py4j() -> Iterator[None]:
    """Keep py4j from logging traces of calls made inside the block."""
    for name in _PY4J_LOGGERS:
        logging.getLogger(name).addFilter(_FILTER)
    before = getattr(_thread, "quiet", False)
    _thread.quiet = True
    try:
        yield
    finally:
        _thread.quiet = before
