"""Names the operator and the element in whatever a user function raises."""

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
    """For a whole run of elements: ``element()`` is asked for the culprit only after an error.

    Functions are called in loops here, never by ``map`` or ``filter``: those, like every generator,
    would take a StopIteration for the end of the run.
    """
    try:
        yield
    except BaseException as error:
        raise_named(operator, error, element)


@contextmanager
def user_method_of(operator: str, method: str) -> Iterator[None]:
    """Names the operator and the method, for one that is called without an element."""
    try:
        yield
    except BaseException as error:
        if isinstance(error, FlinkishError) or is_interrupt(error):
            raise
        raise UserFunctionError.of(operator, None, error, method) from error


def raise_named(operator: str, error: BaseException, element: Callable[[], object]) -> None:
    """Raise ``error`` as a user function's, which names ``operator`` and ``element()``; an error of
    flinkish's own as it is, with the operator named, and an interrupt as it is."""
    if isinstance(error, UnfitElementError):
        raise error.at(operator) from None
    if isinstance(error, FlinkishError) or is_interrupt(error):
        raise error
    raise UserFunctionError.of(operator, element(), error) from error


def is_interrupt(error: BaseException) -> bool:
    """Whether ``error`` may be somebody's Ctrl-C: only the main thread gets one, and nobody sits at a
    Spark worker."""
    return (
        isinstance(error, KeyboardInterrupt)
        and threading.current_thread() is threading.main_thread()
        and not _program().startswith("pyspark.")
    )


def mapped(operator: str, function: Callable[[Any], Any], values: Sequence[Any]) -> list[Any]:
    """``function`` of every value; an error names the value."""
    results: list[Any] = []
    append = results.append
    with user_code_of(operator, lambda: values[len(results)]):
        for value in values:
            append(function(value))
    return results


def emitted(operator: str, function: Callable[[Any], Any], values: Sequence[Any]) -> list[Any]:
    """``function`` of every value, each result copied before the next call if it can change; an error
    names the value."""
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
    """The name of the module that this process was started with; empty where that was a file."""
    return getattr(getattr(sys.modules.get("__main__"), "__spec__", None), "name", None) or ""
