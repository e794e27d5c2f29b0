"""Takes a window function as it comes to one form: ``call(key, window, context, elements, out)``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from flinkish.api.callables import positional_arity, takes
from flinkish.api.errors import InvalidProgramError, shown
from flinkish.api.functions import Collector
from flinkish.api.window_functions import (
    AllWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowContext,
    WindowFunction,
)

WindowCall: TypeAlias = Callable[[Any, Any, WindowContext[Any], Iterable[Any], Collector[Any]], Any]


def process_call(function: Any) -> WindowCall:
    """Of ``process(...)`` on keyed windows."""
    call: Any = function.process if isinstance(function, ProcessWindowFunction) else function
    if _writes("process", call, 3, "a ProcessWindowFunction or f(key, context, elements[, out])"):
        return lambda key, window, context, elements, out: call(key, context, elements, out)
    return lambda key, window, context, elements, out: call(key, context, elements)


def apply_call(function: Any) -> WindowCall:
    """Of ``apply(...)`` on keyed windows."""
    call: Any = function.apply if isinstance(function, WindowFunction) else function
    if _writes("apply", call, 3, "a WindowFunction or f(key, window, elements[, out])"):
        return lambda key, window, context, elements, out: call(key, window, elements, out)
    return lambda key, window, context, elements, out: call(key, window, elements)


def process_all_call(function: Any) -> WindowCall:
    """Of ``process(...)`` on ``windowAll``."""
    call: Any = function.process if isinstance(function, ProcessAllWindowFunction) else function
    if _writes("process", call, 2, "a ProcessAllWindowFunction or f(context, elements[, out])"):
        return lambda key, window, context, elements, out: call(context, elements, out)
    return lambda key, window, context, elements, out: call(context, elements)


def apply_all_call(function: Any) -> WindowCall:
    """Of ``apply(...)`` on ``windowAll``."""
    call: Any = function.apply if isinstance(function, AllWindowFunction) else function
    if _writes("apply", call, 2, "an AllWindowFunction or f(window, elements[, out])"):
        return lambda key, window, context, elements, out: call(window, elements, out)
    return lambda key, window, context, elements, out: call(window, elements)


def window_function_call(function: Any) -> WindowCall:
    """Of the function after ``reduce`` or ``aggregate``: a plain callable gets the context."""
    if isinstance(function, WindowFunction):
        return apply_call(function)
    return process_call(function)


def all_window_function_call(function: Any) -> WindowCall:
    """The same on ``windowAll``."""
    if isinstance(function, AllWindowFunction):
        return apply_all_call(function)
    return process_all_call(function)


def _writes(method: str, call: Any, arguments: int, wanted: str) -> bool:
    """Whether ``call`` takes ``out`` after its ``arguments``."""
    if callable(call) and not isinstance(call, type):
        if takes(call, arguments):
            return False
        if takes(call, arguments + 1):
            return True
        reason = f"it takes {positional_arity(call)} arguments"
    else:
        reason = "it is not a function"
    raise InvalidProgramError(f"{method}: {shown(call)} will not do, as {reason}. Pass {wanted}.")
