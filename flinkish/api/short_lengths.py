"""A warning for a length of time given as an int under a second, which may have been meant as
seconds."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path

from flinkish.api.arguments import milliseconds
from flinkish.api.time.durations import TimeLike

_LOG = logging.getLogger("flinkish")

_SECOND = 1_000
_API = os.path.join(Path(__file__).parent, "")
_PACKAGE = os.path.join(Path(__file__).parents[1], "")

_told: set[tuple[str, int]] = set()


def length_of_user(subject: str, length: TimeLike) -> int:
    """``length`` in ms; raises IllegalArgumentError unless it is a length of time.

    Logs once for each line of a program that passes an int from 1 to 999, with both readings.
    """
    millis = milliseconds(subject, length)
    if isinstance(length, int) and 0 < millis < _SECOND:
        _warn(subject, millis)
    return millis


def _warn(subject: str, length: int) -> None:
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_API):
        frame = frame.f_back
    line = frame.f_code.co_filename, frame.f_lineno
    # A class of flinkish, such as one of PyFlink's names, has converted a Duration to an int
    if line[0].startswith(_PACKAGE) or line in _told:
        return
    _told.add(line)
    _LOG.warning(
        '%s is %d ms, as an int is milliseconds (File "%s", line %d). If you mean %d s, write Duration.ofSeconds(%d);'
        " if %d ms, Duration.ofMillis(%d).",
        subject,
        length,
        *line,
        *[length] * 4,
    )
