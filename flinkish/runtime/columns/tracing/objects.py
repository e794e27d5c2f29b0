"""Times, durations and decimals that a traced function reads or makes.

Python computes with them for each element. Columns hold the results: numbers, texts and bools.
Objects of the input may be handed on as well.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

from flinkish.runtime.columns.tracing.expressions import COMPARISONS, Expression, Kind
from flinkish.runtime.columns.tracing.symbols import Symbol
from flinkish.runtime.columns.tracing.unsupported import CannotTell

if TYPE_CHECKING:
    from flinkish.runtime.columns.tracing.trace import Trace

_Result: TypeAlias = "Kind | type[Any]"
"""The kind of a result, or the class of an object."""

CLASSES = (datetime, date, time, timedelta, Decimal)
"""The classes whose objects can be followed: those cannot change, and do the same for the same
arguments."""

_DATE_METHODS: dict[str, _Result] = {
    **dict.fromkeys(("weekday", "isoweekday", "toordinal"), "int"),
    **dict.fromkeys(("isoformat", "strftime", "ctime"), "str"),
}

_METHODS: dict[type[Any], dict[str, _Result]] = {
    datetime: {
        **_DATE_METHODS,
        "timestamp": "float",
        "date": date,
        "time": time,
        "replace": datetime,
        "astimezone": datetime,
    },
    date: {**_DATE_METHODS, "replace": date},
    time: {"isoformat": "str", "strftime": "str", "replace": time},
    timedelta: {"total_seconds": "float"},
    Decimal: {
        **dict.fromkeys(("quantize", "normalize", "to_integral_value", "copy_abs"), Decimal),
        **dict.fromkeys(("is_nan", "is_zero", "is_signed", "is_finite"), "bool"),
    },
}

_MAKERS: dict[tuple[type[Any], str], type[Any]] = {
    **{(datetime, name): datetime for name in ("fromtimestamp", "strptime", "utcfromtimestamp")},
    **{(kind, "fromisoformat"): kind for kind in (datetime, date, time)},
    **{(kind, "fromordinal"): kind for kind in (datetime, date)},
    (date, "fromtimestamp"): date,
    (datetime, "combine"): datetime,
}
"""The methods of classes that make an object."""

_NUMBERS = (int, float)

_KINDS: dict[type[Any], Kind] = {int: "int", float: "float"}

_SAMPLES: dict[type[Any] | None, Any] = {
    datetime: datetime(2000, 1, 2),
    date: date(2000, 1, 2),
    time: time(1),
    timedelta: timedelta(1),
    Decimal: Decimal(1),
    int: 1,
    float: 1.0,
}
"""Of each class an object. The class of a result depends on those of the operands alone."""


def _result_of(function: Callable[..., Any], *classes: type[Any] | None) -> _Result | None:
    """The class or kind of what ``function`` returns for objects of ``classes``; None if it does not
    take these, or returns something else."""
    try:
        made = function(*map(_SAMPLES.__getitem__, classes))
    except (KeyError, TypeError, AttributeError):
        return None
    return type(made) if type(made) in CLASSES else _KINDS.get(type(made))


_SIGNS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
}


def _equal(one: Decimal, other: Any) -> bool:
    if one.is_nan():
        raise ArithmeticError("in a tuple, a NaN equals itself")
    equal: bool = one == other
    return equal


def _unequal(one: Decimal, other: Any) -> bool:
    return not _equal(one, other)


_EQUALITIES: dict[str, Callable[[Any, Any], bool]] = {"==": _equal, "!=": _unequal}

_UNARY: dict[str, Callable[[Any], Any]] = {
    "-": operator.neg,
    "+": operator.pos,
    "abs": abs,
}

_PYTHON_CLASSES: dict[Kind, type[Any]] = {"int": int, "bool": int, "float": float}


class Made(Symbol):
    """An object of one of the ``CLASSES``."""

    __slots__ = ("_traced_class",)

    def __init__(self, trace: Trace, expression: Expression, made: type[Any]) -> None:
        super().__init__(trace, expression)
        self._traced_class = made

    @property
    def _traced_named(self) -> str:
        return f"a {self._traced_class.__name__}"

    def _traced_result(self, function: Callable[..., Any], result: _Result, *values: Any) -> Any:
        """Trace a call of ``function`` with ``values``."""
        return computed(self._traced_trace, function, result, values)

    def __bool__(self) -> bool:
        if self._traced_class in (timedelta, Decimal):
            return bool(self._traced_result(bool, "bool", self))
        return True

    def _traced_arithmetic(self, name: str, other: Any, reflected: bool) -> Any:
        pair = (other, self) if reflected else (self, other)
        first, second = map(self._traced_class_of, pair)
        function = _SIGNS.get(name)
        result = None if function is None else _result_of(function, first, second)
        if function is None or result is None:
            self._traced_unsupported(f"uses {name} on {self._traced_named} and another value")
        return self._traced_result(function, result, *pair)

    def _traced_compared(self, name: str, other: Any) -> Any:
        kind = self._traced_class_of(other)
        if kind is not self._traced_class and (
            self._traced_class is not Decimal or kind not in _NUMBERS
        ):
            self._traced_unsupported(f"compares {self._traced_named} and another value")
        function = _EQUALITIES.get(name) if self._traced_class is Decimal else None
        return self._traced_result(function or COMPARISONS[name], "bool", self, other)

    def _traced_unary(self, name: str) -> Any:
        if name not in _UNARY or self._traced_class not in (timedelta, Decimal):
            self._traced_unsupported(f"uses {name} on {self._traced_named}")
        return self._traced_result(_UNARY[name], self._traced_class, self)

    def _traced_class_of(self, value: Any) -> type[Any] | None:
        """The class of an operand; None: it is another one. Raises CannotTell if that depends on
        the input."""
        if isinstance(value, Made):
            return value._traced_class
        if isinstance(value, Symbol):
            if value._traced_kind == "unknown" and self._traced_trace.exploring:
                raise CannotTell
            return _PYTHON_CLASSES.get(value._traced_kind)
        return int if type(value) is bool else type(value)

    def _traced_converted(self, kind: Kind) -> Symbol:
        if kind != "str" and self._traced_class is not Decimal:
            self._traced_unsupported(f"converts {self._traced_named} to {kind}")
        function: Any = {"str": str, "int": int, "float": float}[kind]
        converted: Symbol = self._traced_result(function, kind, self)
        return converted

    def __round__(self, digits: Any = None) -> Any:
        if self._traced_class is not Decimal:
            self._traced_unsupported(f"rounds {self._traced_named}")
        if digits is None:
            return self._traced_result(round, "int", self)
        return self._traced_result(round, Decimal, self, digits)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        kind = self._traced_class
        attribute = None if name in _METHODS[kind] else _result_of(_getter(name), kind)
        if attribute is not None:
            return self._traced_result(_getter(name), attribute, self)
        result = _METHODS[kind].get(name)
        if result is None:
            self._traced_unsupported(f"reads {name} of a {kind.__name__}")
        return _caller(self._traced_trace, getattr(kind, name), result, self)


def _caller(
    trace: Trace, function: Callable[..., Any], result: _Result, *before: Any
) -> Callable[..., Any]:
    """``function``, which is called for each element, with ``before`` as its first arguments."""

    def call(*arguments: Any, **named: Any) -> Any:
        called = _with_names(function, tuple(named)) if named else function
        return computed(trace, called, result, (*before, *arguments, *named.values()))

    return call


def maker_of(trace: Trace, kind: Any, name: str) -> Callable[..., Any] | None:
    """The method ``name`` of the class ``kind``, if it makes an object that can be followed."""
    made = _MAKERS.get((kind, name)) if kind in CLASSES else None
    return None if made is None else _caller(trace, _method(kind, name), made)


def made_by_class(
    trace: Trace, kind: type[Any], arguments: tuple[Any, ...], named: Mapping[str, Any]
) -> Any:
    """Trace a call of ``kind``, one of the ``CLASSES``."""
    return _caller(trace, kind, kind)(*arguments, **named)


def computed(
    trace: Trace, function: Callable[..., Any], result: _Result, values: Iterable[Any]
) -> Any:
    """What ``function`` returns for ``values``; if none of them is a symbol, it is called. Raises
    Unsupported for values that are not numbers, texts, or objects that can be followed."""
    values = list(values)
    if not any(isinstance(value, Symbol) for value in values):
        return trace.constant(function(*values))
    expressions = [trace.expression(value, anything=True) for value in values]
    if any(
        expression.kind in ("none", "opaque") and not isinstance(value, Made)
        for expression, value in zip(expressions, values)
        if isinstance(value, Symbol)
    ):
        raise trace.unsupported("computes a time or decimal with another value")
    if isinstance(result, str):
        return trace.noted(trace.expressions.call(function, result, *expressions))
    made = trace.noted(trace.expressions.call(function, "object", *expressions))
    return Made(trace, made._traced_expression, result)


def object_of(trace: Trace, value: Any) -> Made | None:
    """``value`` with its class known, if it is an object of one of the ``CLASSES``."""
    if isinstance(value, Made):
        return value
    if type(value) not in CLASSES:
        return None
    return Made(trace, trace.expression(value, anything=True), type(value))


@lru_cache(maxsize=256)
def _getter(name: str) -> Callable[[Any], Any]:
    return operator.attrgetter(name)


@lru_cache(maxsize=256)
def _method(kind: type[Any], name: str) -> Callable[..., Any]:
    """The bound method of a class: one object, as equal expressions have one function."""
    method: Callable[..., Any] = getattr(kind, name)
    return method


@lru_cache(maxsize=256)
def _with_names(function: Callable[..., Any], names: tuple[str, ...]) -> Callable[..., Any]:
    """``function``, whose last arguments have these names."""
    return lambda *values: function(
        *values[: -len(names)], **dict(zip(names, values[-len(names) :]))
    )
