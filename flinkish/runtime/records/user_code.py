"""Errors of user functions: raised with the name of the operator and the element that caused them."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from flinkish.api.errors import FlinkishError, UnfitElementError, UserFunctionError
from flinkish.runtime.records.copies import ATOMS, copied


@contextmanager
def user_code_of(operator: str, element: Callable[[], object]) -> Iterator[None]:
    """Names ``operator`` and an element in an error of user code inside the block.

    It covers a whole run of elements: ``element()`` is called only after an error, and returns the
    element that was being processed. User functions are called in loops, never by ``map``, ``filter`` or
    a generator, which would take a StopIteration of theirs for the end of the run.
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
        raise UserFunctionError.of(operator, None, error, method) from error


def raise_named(operator: str, error: BaseException, element: Callable[[], object]) -> None:
    """Raise UserFunctionError with ``operator`` and ``element()``, caused by ``error``.

    Errors of flinkish and interrupts are raised unchanged; an UnfitElementError gets the operator.
    """
    if isinstance(error, UnfitElementError):
        raise error.at(operator) from None
    if isinstance(error, FlinkishError) or is_interrupt(error):
        raise error
    raise UserFunctionError.of(operator, element(), error) from error


def is_interrupt(error: BaseException) -> bool:
    """Whether ``error`` may be a Ctrl-C: only the main thread gets one, and a Spark worker gets none."""
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
    """The results of ``function`` for all values, each copied before the next call if it can change; an
    error names the value."""
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
    """The name of the module that this process was started with; empty if it was a file."""
    return getattr(getattr(sys.modules.get("__main__"), "__spec__", None), "name", None) or ""
