"""Tracebacks of jobs show the frames of the program and one of flinkish.

An error of a user function in local execution would have forty frames of flinkish around it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from types import TracebackType
from typing import ParamSpec

from flinkish.api.errors import FlinkishError, InternalError, UserFunctionError
from flinkish.api.type_variables import R

P = ParamSpec("P")

FULL_TRACEBACKS = "FLINKISH_FULL_TRACEBACKS"
"""The environment variable with which tracebacks keep all frames, unless it is empty."""

_HIDDEN = ("flinkish", "contextlib", "functools")


def short_traceback(method: Callable[P, R]) -> Callable[P, R]:
    """Lets the errors of ``method``, which runs a job, show it as the only frame of flinkish."""

    @wraps(method)
    def shortening(*arguments: P.args, **named: P.kwargs) -> R:
        try:
            return method(*arguments, **named)
        except FlinkishError as error:
            shorten(error, above=1)
            raise

    return shortening


def shows_all_frames() -> bool:
    """Whether tracebacks keep all frames."""
    return bool(os.environ.get(FULL_TRACEBACKS))


def shorten(error: FlinkishError, above: int = 0) -> None:
    """Leave of the traceback of ``error`` the frame below the first ``above``, and those of the
    program. The traceback of an InternalError stays, as that of any other fault of flinkish."""
    if isinstance(error, InternalError) or shows_all_frames():
        return
    first, *rest = list(traces(error.__traceback__))[above:]
    error.__traceback__ = _joined([first, *filter(is_of_program, rest)])
    raised: BaseException | None = error
    while raised is not None and isinstance(error, UserFunctionError):
        raised = raised.__cause__ or raised.__context__
        if raised is not None:
            raised.__traceback__ = _joined(
                list(filter(is_of_program, traces(raised.__traceback__)))
            )


def is_of_program(trace: TracebackType) -> bool:
    """Whether a frame of a traceback is of the program, and not of flinkish or of its context managers."""
    return str(trace.tb_frame.f_globals.get("__name__")).partition(".")[0] not in _HIDDEN


def traces(trace: TracebackType | None) -> Iterator[TracebackType]:
    """The frames of a traceback, the outermost first."""
    while trace is not None:
        yield trace
        trace = trace.tb_next


def _joined(kept: Sequence[TracebackType]) -> TracebackType | None:
    joined = None
    for trace in reversed(kept):
        joined = TracebackType(joined, trace.tb_frame, trace.tb_lasti, trace.tb_lineno)
    return joined
