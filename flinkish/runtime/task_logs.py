"""Brings the log records of user code from the workers to the driver, each with the name of its
operator.

The output of a worker's loggers is seldom read. So a handler keeps their records while a task works
and sends them with the task's reports, and the driver logs them again. A function that logs each
element must not fill the driver's memory, so a limited number is kept for each task and batch, and
the others are only counted.
"""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import FrameType

from flinkish.runtime.operators.base import StreamOperator
from flinkish.runtime.reports import LogReport

RECORDS_A_BATCH = 100
"""The most records of a task that are kept in a batch."""

_MESSAGE = 2_000

_NOT_OF_USERS = ("py4j", "pyspark")


class TaskLog(logging.Handler):
    """Keeps records logged while a task works. User code outside operators gets ``name``."""

    def __init__(self, name: str, level: int) -> None:
        super().__init__(level)
        self._name = name
        self._kept: list[LogReport] = []
        self._left_out = 0
        self._thread = 0

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Keep the records logged inside the block. If it raises, no report reaches the driver any
        more, so the kept records are printed to the worker's standard error.

        In local execution the job runs in a separate thread, so the records of the program's main thread are not the
        task's, and are printed as if the task had no handler."""
        self._thread = threading.get_ident()
        root = logging.getLogger()
        level = root.level
        wanted = min(level, self.level) if level else self.level
        # Setting a level visits all loggers, which may take longer than a small batch
        if wanted != level:
            root.setLevel(wanted)
        root.addHandler(self)
        try:
            yield
        except BaseException:
            for report in self.reports():
                print(f"{report.logger}: {_named(report)}", file=sys.stderr)
            raise
        finally:
            root.removeHandler(self)
            if wanted != level:
                root.setLevel(level)

    def emit(self, record: logging.LogRecord) -> None:
        if record.name.partition(".")[0] in _NOT_OF_USERS:
            return
        if record.thread == threading.main_thread().ident != self._thread:
            last = logging.lastResort
            if last is not None and record.levelno >= last.level and not _is_handled(record.name):
                last.handle(record)
            return
        if len(self._kept) >= RECORDS_A_BATCH:
            self._left_out += 1
            return
        try:
            message = self.format(record)
        except Exception as error:
            message = f"{record.msg!r}, whose arguments do not fit: {type(error).__name__}: {error}"
        operator = _operator_of(sys._getframe(1)) or self._name
        self._kept.append(
            LogReport(operator, record.name, record.levelno, message[:_MESSAGE], record.created)
        )

    def reports(self) -> tuple[LogReport, ...]:
        """The records kept since the last call."""
        kept, left_out = self._kept, self._left_out
        self._kept, self._left_out = [], 0
        if left_out:
            last = kept[-1]
            said = f"... and {left_out} more records of this task in this batch, which are left out"
            kept.append(last._replace(message=said))
        return tuple(kept)


def log_again(reports: Iterable[LogReport]) -> None:
    """Pass the records of workers to the driver's loggers of the same names."""
    for report in reports:
        logger = logging.getLogger(report.logger)
        if logger.isEnabledFor(report.level):
            record = logger.makeRecord(
                report.logger, report.level, "(worker)", 0, _named(report), (), None,
                extra={"operator": report.operator},
            )  # fmt: skip
            record.created = report.created
            logger.handle(record)


def log_unhandled(reports: Iterable[LogReport]) -> None:
    """Print the records of tasks in this process for which the program has no handler. As the task
    has a handler, Python has not printed them."""
    last = logging.lastResort
    for report in reports:
        if last is None or report.level < last.level:
            continue
        if not logging.getLogger(report.logger).hasHandlers():
            record = logging.LogRecord(
                report.logger, report.level, "(task)", 0, _named(report), (), None
            )
            last.handle(record)


def _is_handled(name: str) -> bool:
    """Whether the records of a logger go to a handler that is not that of a task."""
    logger: logging.Logger | None = logging.getLogger(name)
    while logger is not None:
        if not all(isinstance(handler, TaskLog) for handler in logger.handlers):
            return True
        logger = logger.parent if logger.propagate else None
    return False


def _named(report: LogReport) -> str:
    if report.message.startswith(f"{report.operator}: "):
        return report.message
    return f"[{report.operator}] {report.message}"


def _operator_of(frame: FrameType | None) -> str | None:
    """The operator whose function logs: the nearest on the stack. It is looked up only when
    something is logged, so a function that logs nothing costs nothing."""
    while frame is not None:
        caller = frame.f_locals.get("self")
        if isinstance(caller, StreamOperator):
            return caller.name
        frame = frame.f_back
    return None
