"""Normalises a user function, a function class or a plain callable, to a callable, with checks."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from flinkish.api.errors import InvalidProgramError, UnfitElementError, shown
from flinkish.api.functions.functions import (
    FilterFunction,
    FilterLike,
    FlatMapFunction,
    Function,
    KeySelector,
    MapFunction,
    MapLike,
    Partitioner,
    ReduceFunction,
    ReduceLike,
    RichFunction,
    methods_are_declared_by,
)
from flinkish.api.type_variables import R, T
from flinkish.api.types.fields import checked_field, field_getter


def function_of(function: object) -> Function | None:
    """``function`` if it is one of flinkish's function classes.

    Raises InvalidProgramError if it has an ``open`` that would never be called.
    """
    if not isinstance(function, Function):
        return None
    if callable(getattr(type(function), "open", None)) and not isinstance(function, RichFunction):
        name = type(function).__name__
        raise InvalidProgramError(
            f"{name}: only a rich function is opened. Derive {name} from the Rich form of its class,"
            " such as RichMapFunction, or from RichFunction too."
        )
    return function


def check_methods(function: Function) -> None:
    """Raises InvalidProgramError if a method of ``function`` takes other parameters than the method
    that it implements, or yields although that returns one result."""
    kind = type(function)
    for base in kind.__mro__:
        if not methods_are_declared_by(base):
            continue
        for name, given in vars(base).items():
            own = getattr(kind, name, None)
            if inspect.isfunction(given) and own is not given and not name.startswith("_"):
                _check_method(function, name, given)


def _check_method(function: Function, name: str, given: Callable[..., Any]) -> None:
    method, parameters = getattr(function, name), list(inspect.signature(given).parameters)[1:]
    subject = f"{type(function).__name__}.{name}"
    # Window functions may omit the last parameter, out, and return their results
    may_do_without = name in _MAY_DO_WITHOUT_OUT and takes(method, len(parameters) - 1)
    if not takes(method, len(parameters)) and not may_do_without:
        raise InvalidProgramError(
            f"{subject} cannot be called with {', '.join(parameters)}. Write"
            f" def {name}(self, {', '.join(parameters)})."
        )
    if "Iterable" not in given.__annotations__.get("return", ""):
        one_result(subject, method)


_MAY_DO_WITHOUT_OUT = ("process", "apply", "coGroup")


def one_result(
    subject: str,
    function: Callable[..., Any],
    fix: str = "use an operator for any number of results, such as flatMap or process",
) -> None:
    """Raises InvalidProgramError if ``function`` yields, as it must return one result."""
    if inspect.isgeneratorfunction(function):
        raise InvalidProgramError(
            f"{subject}: {named(function)} yields, but must return one result. Return it, or {fix}."
        )


def checked_callable(
    method: str, function: Any, wanted: str, *arguments: int
) -> Callable[..., Any]:
    """``function``. Raises InvalidProgramError, which names ``wanted``, unless it can be called with
    one of those numbers of ``arguments``."""
    if not callable(function):
        raise InvalidProgramError(
            f"{method}: {shown(function)} of type {type(function).__name__} is not a function. Pass"
            f" {wanted}."
        )
    if isinstance(function, type) and issubclass(function, Function):
        raise InvalidProgramError(
            f"{method}: {function.__name__} is a class. Pass an instance: {function.__name__}()."
        )
    checked: Callable[..., Any] = function
    if not any(takes(checked, number) for number in arguments):
        raise InvalidProgramError(
            f"{method}: {named(checked)} cannot be called with {' or '.join(map(str, arguments))}"
            f" argument{'' if arguments[-1] == 1 else 's'}. Pass {wanted}."
        )
    return checked


def named(function: Any) -> str:
    """A function as an error names it: by its name, and the file and line where it is written."""
    function = inspect.unwrap(function)
    code = getattr(function, "__code__", None)
    if not isinstance(code, types.CodeType):
        return shown(function)
    name = "the lambda" if code.co_name == "<lambda>" else function.__qualname__
    return f"{name} in {code.co_filename}, line {code.co_firstlineno},"


def _with_one_result(
    method: str, function: Any, wanted: str, *arguments: int
) -> Callable[..., Any]:
    checked = checked_callable(method, function, wanted, *arguments)
    one_result(method, checked)
    return checked


def map_call(function: MapLike[T, R]) -> Callable[[T], R]:
    """A MapFunction or callable as a callable."""
    if isinstance(function, MapFunction):
        return function.map
    return _with_one_result("map", function, "a MapFunction or f(value)", 1)


def filter_call(function: FilterLike[T]) -> Callable[[T], bool]:
    """A FilterFunction or callable as a callable."""
    if isinstance(function, FilterFunction):
        return function.filter
    return _with_one_result("filter", function, "a FilterFunction or f(value)", 1)


def flat_map_calls(
    function: Any,
) -> tuple[Callable[[Any, Any], Any] | None, Callable[[Any], Iterable[Any]] | None]:
    """``(call, None)`` if the function takes a collector, ``(None, iterate)`` if it does not."""
    if isinstance(function, FlatMapFunction):
        return function.flatMap, None
    checked = checked_callable(
        "flatMap", function, "a FlatMapFunction, f(value) or f(value, out)", 1, 2
    )
    if positional_arity(checked) == 2:
        return checked, None
    return None, checked


def key_call(selector: Any, method: str = "keyBy") -> Callable[[Any], Any]:
    """A KeySelector, callable, field name or position as a callable."""
    if isinstance(selector, KeySelector):
        return selector.getKey
    if isinstance(selector, (str, int)):
        return field_getter(checked_field(method, selector))
    return _with_one_result(method, selector, "a KeySelector, f(value), or the name of a field", 1)


def partition_call(partitioner: Any) -> Callable[[Any, int], int]:
    """A Partitioner or callable as a callable."""
    if isinstance(partitioner, Partitioner):
        return partitioner.partition
    return checked_callable(
        "partitionCustom", partitioner, "a Partitioner or f(key, numPartitions)", 2
    )


def reduce_call(function: ReduceLike[T], method: str = "reduce") -> Callable[[T, T], T]:
    """A ReduceFunction or callable as a callable."""
    if isinstance(function, ReduceFunction):
        return function.reduce
    return _with_one_result(method, function, "a ReduceFunction or f(a, b)", 2)


def positional_arity(function: Callable[..., Any]) -> int:
    """The number of positional parameters of ``function`` without default; 1 if unknown."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 1
    return sum(
        p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty
        for p in parameters
    )


def takes(function: Callable[..., Any], arguments: int) -> bool:
    """Whether ``function`` can be called with that many arguments; True if unknown."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return True
    try:
        signature.bind(*(None,) * arguments)
    except TypeError:
        return False
    return True


_COMES_APART = (str, bytes, bytearray, tuple, Mapping)


def results_of(
    returned: Any, function: str = "the function", tuples: bool = False, wrote: bool = False
) -> Iterable[Any]:
    """The results of a function that returned ``returned``; None stands for no results.

    ``tuples``: a tuple is a sequence of results, not a single one. ``wrote``: the function may have
    written to ``out``, so a list of None, as a lambda with ``[out.collect(1), out.collect(2)]``
    returns, means no further results.

    Raises UnfitElementError for a single value, including texts, dicts and other values that would
    be taken apart by iteration.
    """
    if returned is None:
        return ()
    if wrote and type(returned) in (list, tuple) and returned.count(None) == len(returned):
        return ()
    kind = type(returned)
    results: Iterable[Any] = returned
    if kind is list or kind is types.GeneratorType or (tuples and kind is tuple):
        return results
    if isinstance(returned, _COMES_APART) or not isinstance(returned, Iterable):
        raise UnfitElementError(
            f"{function} returned {shown(returned)} of type {type(returned).__name__}, but must"
            " return its results as a list, yield them, or write them to out. For one result return"
            " a list of it: [result]."
        )
    return results
