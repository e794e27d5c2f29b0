"""``ProgramLog``: the latest log records of the program, and of its functions in workers, for the page.

It sees records as they are created, and is not a handler: a handler at the root logger would keep
``logging.basicConfig`` from installing one, and would keep warnings from the terminal where there is no other.
"""

from __future__ import annotations

import itertools
import logging
import threading
import traceback
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

RECORDS_KEPT = 2_000

_MESSAGE = 4_000

_NOT_OF_USERS = ("py4j", "asyncio")


@dataclass(frozen=True)
class LogLine:
    """A log record."""

    number: int
    """Increases, so that a page can ask for records that it has not seen."""
    timestamp: int
    level: str
    logger: str
    message: str


class ProgramLog:
    """Keeps the last records of this process."""

    def __init__(self) -> None:
        self._lines: deque[LogLine] = deque(maxlen=RECORDS_KEPT)
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        _FACTORY.add(self)

    def close(self) -> None:
        """Stop keeping records."""
        _FACTORY.remove(self)

    def after(self, number: int) -> list[LogLine]:
        """The records after that of ``number``, the oldest first."""
        with self._lock:
            return [line for line in self._lines if line.number > number]

    def text(self) -> str:
        """All records, a line each."""
        return "".join(
            f"{_time(line.timestamp)} {line.level:8} {line.logger}: {line.message}\n"
            for line in self.after(0)
        )

    def keep(self, record: logging.LogRecord) -> None:
        """Keep a record that has just been created."""
        if str(record.name).partition(".")[0] not in _NOT_OF_USERS:
            message = _message(record)
            at, level = round(record.created * 1000), record.levelname
            with self._lock:
                self._lines.append(
                    LogLine(next(self._numbers), at, level, record.name, message[:_MESSAGE])
                )


class _Factory:
    """The factory of log records while any ``ProgramLog`` is open. There is one, as logs may be closed in any order."""

    def __init__(self) -> None:
        self._logs: tuple[ProgramLog, ...] = ()
        self._before: Callable[..., logging.LogRecord] | None = None
        """The factory that this one replaced, None while it is not installed."""
        self._lock = threading.Lock()

    def add(self, log: ProgramLog) -> None:
        with self._lock:
            self._logs = (*self._logs, log)
            if self._before is None:
                self._before = logging.getLogRecordFactory()
                logging.setLogRecordFactory(self)

    def remove(self, log: ProgramLog) -> None:
        with self._lock:
            self._logs = tuple(each for each in self._logs if each is not log)
            # A factory that was set since may call this one
            if not self._logs and logging.getLogRecordFactory() is self:
                logging.setLogRecordFactory(self._before or logging.LogRecord)
                self._before = None

    def __call__(self, *args: Any, **kwargs: Any) -> logging.LogRecord:
        record = (self._before or logging.LogRecord)(*args, **kwargs)
        for log in self._logs:
            log.keep(record)
        return record


_FACTORY = _Factory()


def _message(record: logging.LogRecord) -> str:
    try:
        message = record.getMessage()
    except Exception:  # the logger itself reports arguments that do not fit
        message = str(record.msg)
    if record.exc_info and record.exc_info[1] is not None:
        message += "\n" + "".join(traceback.format_exception(record.exc_info[1])).rstrip()
    return message


def _time(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000).isoformat(" ", "milliseconds")
