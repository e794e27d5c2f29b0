"""What a traced function calls in place of Python's functions: replacements that take symbols."""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable, ItemsView, Iterator, KeysView, Sequence, ValuesView
from functools import partial
from typing import TYPE_CHECKING, Any

from flinkish.runtime.columns.tracing.expressions import NUMBERS, PYTHON_TYPES, Kind
from flinkish.runtime.columns.tracing.externals import External
from flinkish.runtime.columns.tracing.objects import Made
from flinkish.runtime.columns.tracing.record_classes import Record
from flinkish.runtime.columns.tracing.symbols import LoopedOver, Symbol, is_constant
from flinkish.runtime.columns.tracing.unsupported import CannotTell

if TYPE_CHECKING:
    from flinkish.runtime.columns.tracing.trace import Trace

MOST_PATHS = 32
"""A function with more paths through its branches, or rounds of a loop, is not traced."""

_MOST_ROUNDS = 8
"""The most rounds of a loop whose number of rounds depends on the element."""


def _extreme(name: str, trace: Trace, *values: Any, key: Callable[[Any], Any] | None = None) -> Any:
    """``min`` or ``max``, the ``name``."""
    sign, better = ("<", operator.lt) if name == "min" else (">", operator.gt)
    if len(values) == 1:
        values = tuple(_iterable(trace, name, values[0]))
    if not values:
        raise trace.unsupported(f"calls {name} without an argument")
    if key is not None:
        keyed = [(key(value), value) for value in values]
        first_of_best = keyed[0]
        for candidate in keyed[1:]:
            if better(candidate[0], first_of_best[0]):
                first_of_best = candidate
        return first_of_best[1]
    best = values[0]
    for value in values[1:]:
        if isinstance(value, Made) or isinstance(best, Made):
            chooses = better(value, best)
        elif isinstance(value, Symbol) or isinstance(best, Symbol):
            first, second = trace.expression(value), trace.expression(best)
            chooses = _symbol(trace, value)._traced_compared(sign, best)
            if first.kind == second.kind:
                chosen = trace.expressions.choice(chooses._traced_expression, first, second)
                best = Symbol(trace, chosen)
                continue
        else:
            chooses = better(value, best)
        best = value if chooses else best
    return best


def _iterable(trace: Trace, name: str, values: Any) -> Any:
    if not isinstance(values, (tuple, list, range, LoopedOver, Record, Iterator, dict, *_VIEWS)):
        raise trace.unsupported(f"calls {name} of something that is not a tuple or list")
    return values


_VIEWS = (KeysView, ValuesView, ItemsView)
"""The types that the methods of a dict return."""


def _sum(trace: Trace, values: Any, start: Any = 0) -> Any:
    total = start
    for number, value in enumerate(_iterable(trace, "sum", values)):
        total = total + value
        kind = trace.expression(total).kind
        if kind not in (*NUMBERS, "unknown"):
            raise trace.unsupported("calls sum of values that are not numbers")
        # Python 3.12 sums floats with compensation, which kernels do not
        if number and kind == "float" and sys.version_info >= (3, 12):
            raise trace.unsupported("calls sum of several floats")
    return total


def _symbol(trace: Trace, value: Any) -> Symbol:
    return value if isinstance(value, Symbol) else Symbol(trace, trace.expression(value))


def _converted(kind: Kind, trace: Trace, *values: Any) -> Any:
    if len(values) == 1 and isinstance(values[0], Symbol):
        return values[0]._traced_converted(kind)
    return _native(trace, PYTHON_TYPES[kind], values)


def _native(trace: Trace, function: Callable[..., Any], values: Sequence[Any]) -> Any:
    if not all(map(is_constant, values)):
        raise trace.unsupported(f"calls {function.__name__}")
    return trace.constant(function(*values))


def _rounded(trace: Trace, value: Any, digits: Any = None) -> Any:
    if not isinstance(value, Symbol):
        return _native(trace, round, (value, digits))
    return value.__round__(digits)


def _length(trace: Trace, value: Any) -> Any:
    return value._traced_length() if isinstance(value, (Symbol, LoopedOver)) else len(value)


def _of_parts(function: Callable[..., Any], trace: Trace, values: Any = (), **named: Any) -> Any:
    """``function`` of Python for tuples and lists of symbols."""
    return function(_iterable(trace, function.__name__, values), **named)


def _next(trace: Trace, values: Any, *default: Any) -> Any:
    if not isinstance(values, Iterator):
        raise trace.unsupported("calls next of something that is not an iterator")
    return next(values, *default)


def _mathematical(function: Callable[..., Any], kind: Kind, trace: Trace, *values: Any) -> Any:
    if not any(isinstance(value, Symbol) for value in values):
        return _native(trace, function, values)
    expressions = [trace.expression(value) for value in values]
    if any(e.kind not in (*NUMBERS, "unknown") for e in expressions):
        raise trace.unsupported(f"calls {function.__name__} of something that is not a number")
    return trace.noted(trace.expressions.call(function, kind, *expressions))


def _is_instance(trace: Trace, value: Any, kinds: Any) -> bool:
    classes = tuple(
        kind._traced_object
        for kind in (kinds if type(kinds) is tuple else (kinds,))
        if isinstance(kind, External) and type(kind._traced_object) is type
    )
    if isinstance(value, Made):
        own: Any = value._traced_class
    elif isinstance(value, Symbol):
        own = PYTHON_TYPES.get(value._traced_kind)
        trace.asksTypes = True
        if trace.exploring and value._traced_kind == "unknown":
            raise CannotTell
    elif isinstance(value, Record):
        own = value._traced_kind
    else:
        own = None if isinstance(value, (External, LoopedOver)) else type(value)
    if own is None or len(classes) != (len(kinds) if type(kinds) is tuple else 1):
        raise trace.unsupported("calls isinstance")
    return issubclass(own, classes)


def _numbers(start: Any, stop: Any, step: int) -> Iterator[Any]:
    """The numbers of a ``range`` whose bounds depend on the element. Each way through the branches
    has another number of rounds."""
    number = start
    for _ in range(_MOST_ROUNDS):
        if not (number < stop if step > 0 else number > stop):
            return
        yield number
        number = number + step
    if number < stop if step > 0 else number > stop:
        raise ManyRounds


class ManyRounds(Exception):
    """An element has more than ``_MOST_ROUNDS`` rounds, and the function has to be called."""


def _range(trace: Trace, *bounds: Any) -> range | LoopedOver:
    if any(isinstance(bound, Symbol) for bound in bounds) and len(bounds) <= 3:
        start, stop, step = {1: (0, *bounds, 1), 2: (*bounds, 1)}.get(len(bounds), bounds)
        if type(step) is not int or not step:
            raise trace.unsupported("calls range with a step that depends on the element")
        kinds = {trace.expression(bound).kind for bound in (start, stop)}
        if trace.exploring and "unknown" in kinds:
            raise CannotTell
        if kinds != {"int"}:
            raise trace.unsupported("calls range with bounds that may not be integers")
        for bound in bounds:
            if isinstance(bound, Symbol):
                trace.noted(bound._traced_expression)  # None would raise an error
        reason = "does more with a range of the element than loop over it"
        return LoopedOver(trace, reason, partial(_numbers, start, stop, step))
    made: range = _native(trace, range, bounds)
    if len(made) > MOST_PATHS:
        raise trace.unsupported(f"has a loop of more than {MOST_PATHS} rounds")
    return made


def _divided(trace: Trace, one: Any, other: Any) -> tuple[Any, Any]:
    return one // other, one % other


_MATH: dict[Callable[..., Any], Kind] = {
    **dict.fromkeys((math.sqrt, math.log, math.log2, math.log10, math.exp), "float"),
    **dict.fromkeys((math.sin, math.cos, math.tan, math.asin, math.acos, math.atan), "float"),
    **dict.fromkeys((math.atan2, math.hypot, math.fabs, math.radians, math.degrees), "float"),
    **dict.fromkeys((math.copysign, math.pow, math.fmod), "float"),
    **dict.fromkeys((math.floor, math.ceil, math.trunc), "int"),
    **dict.fromkeys((math.isnan, math.isinf, math.isfinite), "bool"),
}

REPLACED: dict[Any, Callable[..., Any]] = {
    min: partial(_extreme, "min"),
    max: partial(_extreme, "max"),
    abs: lambda trace, value: abs(value),
    len: _length,
    bool: lambda trace, value=False: bool(value),
    round: _rounded,
    sum: _sum,
    next: _next,
    **{each: partial(_of_parts, each) for each in (any, all, iter, tuple, list, dict)},
    isinstance: _is_instance,
    range: _range,
    divmod: _divided,
    int: partial(_converted, "int"),
    float: partial(_converted, "float"),
    str: partial(_converted, "str"),
    **{f: partial(_mathematical, f, kind) for f, kind in _MATH.items()},
}
"""Replacements that understand symbols, by the function of Python."""
