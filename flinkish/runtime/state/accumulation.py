"""Checks that reduce and aggregate functions do not return None.

A function without a ``return`` returns None. In Flink, None means that there is no accumulator yet,
so all elements so far would be dropped silently.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flinkish.api.errors import UnfitElementError, shown
from flinkish.api.functions.functions import AggregateFunction


def added(function: AggregateFunction[Any, Any, Any], value: Any, accumulator: Any) -> Any:
    """``function.add``. Raises UnfitElementError if it returns None."""
    result = function.add(value, accumulator)
    if result is None:
        check_no_accumulator(function, "add")
    return result


def merged(function: AggregateFunction[Any, Any, Any], a: Any, b: Any) -> Any:
    """``function.merge``. Raises UnfitElementError if it returns None."""
    result = function.merge(a, b)
    if result is None:
        check_no_accumulator(function, "merge")
    return result


def check_no_accumulator(function: AggregateFunction[Any, Any, Any], method: str) -> None:
    """Called when ``method`` returned None: raises UnfitElementError if accumulators differ."""
    if function.createAccumulator() is not None:
        raise UnfitElementError(
            f"{type(function).__name__}.{method} returned None, but must return the accumulator, or"
            " all elements so far would be lost. Write 'return accumulator' at its end."
        )


def reduced(call: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    """``call(a, b)``. Raises UnfitElementError if it returns None."""
    result = call(a, b)
    if result is None:
        check_no_reduction(a, b)
    return result


def check_no_reduction(a: Any, b: Any) -> None:
    """Called when a reduction is None: raises UnfitElementError, unless ``a`` or ``b`` is None."""
    if a is not None and b is not None:
        raise UnfitElementError(
            f"the reduce function returned None for {shown(a)} and {shown(b)}, but must return their"
            " reduction, or all elements so far would be lost. Write 'return' before the result."
        )
