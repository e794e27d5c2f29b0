"""Errors of user functions, raised with the name of the operator and the element that caused them.

An error in flinkish's own code while an operator calls user functions becomes an ``InternalError``
instead.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from types import FrameType
from typing import Any, TypeVar

from flinkish.api.bytecode import LOOK_UPS, step_at
from flinkish.api.errors import FlinkishError, InternalError, UnfitElementError, UserFunctionError
from flinkish.runtime.records.copies import ATOMS, copied
from flinkish.runtime.records.none_results import none_note


@contextmanager
def user_code_of(operator: str, element: Callable[[], object]) -> Iterator[None]:
    """Names ``operator`` and an element in an error of user code inside the block.

    The block covers a whole run of elements: ``element()`` is called only after an error, and
    returns the element that was being processed. User functions are called in loops, never by
    ``map``, ``filter`` or a generator, for which a StopIteration from a user function would be the
    end of the run.
    """
    try:
        yield
    except BaseException as error:
        raise_named(operator, error, element)


@contextmanager
def user_method_of(operator: str, method: str) -> Iterator[None]:
    """Names the operator and the method in errors of a method that is called without an element."""
    try:
        yield
    except BaseException as error:
        if isinstance(error, FlinkishError) or is_interrupt(error):
            raise
        raise _named(operator, error, None, method) from error


def raise_named(operator: str, error: BaseException, element: Callable[[], object]) -> None:
    """Raise UserFunctionError with ``operator`` and ``element()``, caused by ``error``. Errors of
    flinkish and interrupts are raised unchanged; an UnfitElementError gets the operator."""
    if isinstance(error, UnfitElementError):
        raise error.at(operator) from None
    if isinstance(error, FlinkishError) or is_interrupt(error):
        raise error
    raise _named(operator, error, element) from error


def _named(
    operator: str,
    error: BaseException,
    element: Callable[[], object] | None,
    method: str | None = None,
) -> FlinkishError:
    internal = internal_error(operator, error)
    if internal is not None:
        return internal
    named = UserFunctionError.of(operator, element() if element else None, error, method)
    note = none_note(error)
    if note is not None:
        named.add_note(note)
    return named


def internal_error(operator: str, error: BaseException) -> InternalError | None:
    """``error`` as an InternalError, if flinkish's own code raised it and not a call there: the
    called function might be a user's that has no frame, like ``int``."""
    if isinstance(error, FlinkishError) or not isinstance(error, _FAULTS):
        return None
    trace = error.__traceback__
    if trace is None:
        return None
    while trace.tb_next is not None:
        trace = trace.tb_next
    if not _is_ours(trace.tb_frame):
        return None
    code = trace.tb_frame.f_code
    asserted = isinstance(error, AssertionError)
    if not asserted and step_at(code, trace.tb_lasti).does not in LOOK_UPS:
        return None
    module = trace.tb_frame.f_globals["__name__"]
    return InternalError.of(operator, error, f"{module}:{trace.tb_lineno} in {code.co_name}")


_FAULTS = (AssertionError, AttributeError, LookupError, NameError)


def _is_ours(frame: FrameType) -> bool:
    """Whether a frame is flinkish's; but ``api`` and ``pyflink`` look up users' fields."""
    room = str(frame.f_globals.get("__name__", "")).split(".")[:2]
    return room[0] == "flinkish" and room[-1] not in ("api", "pyflink")


_Method = TypeVar("_Method", bound=Callable[..., Any])


def naming_internal_errors(method: _Method) -> _Method:
    """Lets ``method`` raise InternalError for errors in flinkish's own code."""

    @wraps(method)
    def named(self: Any, *arguments: Any) -> Any:
        try:
            return method(self, *arguments)
        except Exception as error:
            internal = internal_error(self.name, error)
            if internal is None:
                raise
            raise internal from error

    return named  # type: ignore[return-value]


def is_interrupt(error: BaseException) -> bool:
    """Whether ``error`` may be a Ctrl-C, which only the main thread gets, and no Spark worker."""
    return (
        isinstance(error, KeyboardInterrupt)
        and threading.current_thread() is threading.main_thread()
        and not _program().startswith("pyspark.")
    )


def mapped(operator: str, function: Callable[[Any], Any], values: Sequence[Any]) -> list[Any]:
    """The results of ``function`` for all values; an error names the value."""
    results: list[Any] = []
    append = results.append
    with user_code_of(operator, lambda: values[len(results)]):
        for value in values:
            append(function(value))
    return results


def emitted(operator: str, function: Callable[[Any], Any], values: Sequence[Any]) -> list[Any]:
    """The results of ``function`` for all values, copied if mutable. An error names the value."""
    results: list[Any] = []
    append, atoms = results.append, ATOMS
    with user_code_of(operator, lambda: values[len(results)]):
        for value in values:
            result = function(value)
            kind = type(result)
            if kind is tuple:
                for part in result:
                    if type(part) not in atoms:
                        result = copied(result)
                        break
            elif kind not in atoms:
                result = copied(result)
            append(result)
    return results


def _program() -> str:
    """The name of the module with which this process was started; empty if it was a file."""
    return getattr(getattr(sys.modules.get("__main__"), "__spec__", None), "name", None) or ""
