"""Functions that accumulate must give back what they have accumulated.

None in its place is what a function gives whose ``return`` was forgotten. Flink would begin anew, and drop
without a word all that had come before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flinkish.api.errors import UnfitElementError, shown
from flinkish.api.functions.functions import AggregateFunction


def added(function: AggregateFunction[Any, Any, Any], value: Any, accumulator: Any) -> Any:
    """The accumulator with ``value`` in it. Raises UnfitElementError for None."""
    result = function.add(value, accumulator)
    if result is None:
        check_no_accumulator(function, "add")
    return result


def merged(function: AggregateFunction[Any, Any, Any], a: Any, b: Any) -> Any:
    """The accumulator of both. Raises UnfitElementError for None."""
    result = function.merge(a, b)
    if result is None:
        check_no_accumulator(function, "merge")
    return result


def check_no_accumulator(function: AggregateFunction[Any, Any, Any], method: str) -> None:
    """Called when ``method`` has given None: raises UnfitElementError unless an empty accumulator is
    None too."""
    if function.createAccumulator() is not None:
        raise UnfitElementError(
            f"{type(function).__name__}.{method} returned None, but must return the accumulator, which"
            " createAccumulator begins with: what it has so far would be lost. Write"
            " 'return accumulator' at its end."
        )


def reduced(call: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    """``call(a, b)``. Raises UnfitElementError for None."""
    result = call(a, b)
    if result is None:
        check_no_reduction(a, b)
    return result


def check_no_reduction(a: Any, b: Any) -> None:
    """Called when the reduction of ``a`` and ``b`` is None: raises UnfitElementError unless one of them
    is."""
    if a is not None and b is not None:
        raise UnfitElementError(
            f"the reduce function returned None for {shown(a)} and {shown(b)}, but must return what it"
            " makes of them: what came so far would be lost. Return it."
        )
