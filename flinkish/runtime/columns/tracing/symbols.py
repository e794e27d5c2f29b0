"""Symbolic values, with which a traced function is called instead of elements and accumulators.

A symbol notes each operation on it as an expression. If Python needs its truth value, the trace
follows one outcome, and later the other. The symbol's own
attributes begin with ``_traced_``, as any other name may be that of a field.
"""

from __future__ import annotations

import datetime
import operator
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn
from zoneinfo import ZoneInfo

from flinkish.runtime.columns.tracing.expressions import (
    MIRRORED,
    NUMBERS,
    Constant,
    Expression,
    Kind,
    objects_of,
)
from flinkish.runtime.columns.tracing.record_classes import Record, is_position
from flinkish.runtime.columns.tracing.unsupported import CannotTell

if TYPE_CHECKING:
    from flinkish.runtime.columns.tracing.trace import Trace


_TEXT_METHODS: dict[str, Kind] = {
    **dict.fromkeys(("lower", "upper", "strip", "lstrip", "rstrip", "title", "capitalize"), "str"),
    **dict.fromkeys(("casefold", "swapcase", "replace", "removeprefix", "removesuffix"), "str"),
    **dict.fromkeys(("zfill", "ljust", "rjust", "center", "format"), "str"),
    **dict.fromkeys(("startswith", "endswith", "isdigit", "isalpha", "isalnum"), "bool"),
    **dict.fromkeys(("isnumeric", "isdecimal", "isspace", "isupper", "islower"), "bool"),
    **dict.fromkeys(("find", "rfind", "count"), "int"),
}
"""The methods of str that are called for each element, and the kind of their results."""

SPLITS = ("split", "rsplit", "splitlines")
"""The methods of str whose results a function may loop over."""

_DICT_METHODS = ("copy", "get", "items", "keys", "values")
"""The methods that only read a dict."""


_KINDS: dict[type[Any], Kind] = {
    int: "int",
    float: "float",
    bool: "bool",
    str: "str",
    type(None): "none",
}

IMMUTABLE = {
    *(*_KINDS, bytes, Decimal),
    *(datetime.date, datetime.datetime, datetime.time, datetime.timedelta),
    *(datetime.timezone, ZoneInfo),
}
"""The types of external constants that need no stand-in."""


def is_constant(value: Any) -> bool:
    """Whether ``value`` is of one of the ``IMMUTABLE`` types, or a tuple of such values."""
    if type(value) is tuple:
        return all(map(is_constant, value))
    return type(value) in IMMUTABLE


class Symbol:
    """A value that is not known when the function is traced."""

    __slots__ = ("_traced_expression", "_traced_trace")

    def __init__(self, trace: Trace, expression: Expression) -> None:
        self._traced_trace = trace
        self._traced_expression = expression

    @property
    def _traced_kind(self) -> Kind:
        return self._traced_expression.kind

    @property
    def _traced_named(self) -> str:
        return _NAMES[self._traced_kind]

    # ------------------------------------------------------------------ truth

    def __bool__(self) -> bool:
        if self._traced_kind == "opaque":
            self._traced_unsupported(
                "uses a value as a condition that is not a number, text or bool"
            )
        return self._traced_trace.decide(
            self._traced_trace.expressions.truth(self._traced_expression)
        )

    def __contains__(self, item: Any) -> bool:
        if self._traced_kind not in ("str", "unknown"):
            self._traced_unsupported(f"looks into {self._traced_named}")
        return self._traced_trace.decide(
            self._traced_call(operator.contains, "bool", item)._traced_expression
        )

    # ------------------------------------------------------------------ arithmetic

    def _traced_arithmetic(self, name: str, other: Any, reflected: bool) -> Any:
        if name == "%" and not reflected and self._traced_kind == "str":
            return self._traced_formatted(other)
        made = self._traced_trace.object_of(other)
        if made is not None:
            return made._traced_arithmetic(name, self, not reflected)
        if isinstance(other, (tuple, Record)):
            self._traced_unsupported(f"uses {name} on a value and a tuple")
        value = self._traced_trace.expression(other)
        first, second = (
            (value, self._traced_expression) if reflected else (self._traced_expression, value)
        )
        kind = self._traced_arithmetic_kind(name, first, second)
        if name == "**" or name in ("<<", ">>"):
            return self._traced_powered(name, kind, first, second)
        return self._traced_trace.noted(
            self._traced_trace.expressions.operation(name, kind, first, second)
        )

    def _traced_formatted(self, values: Any) -> Symbol:
        """``text % values``, which Python formats for each element."""
        if isinstance(values, Record) and issubclass(values._traced_unpacked()[0], tuple):
            values = values._traced_unpacked()[2]
        if isinstance(values, (list, dict, Record)):
            self._traced_unsupported("formats a text with an object")
        return self._traced_call(
            _formatted,
            "str",
            *map(self._traced_shown, values if type(values) is tuple else (values,)),
        )

    def _traced_shown(self, value: Any) -> Any:
        """``value``, which becomes a part of a text. Raises Unsupported if columns only hand it
        on."""
        expression = self._traced_trace.expression(value, anything=True)
        if expression.kind == "opaque" and self._traced_trace.object_of(value) is None:
            self._traced_unsupported(f"formats {_NAMES['opaque']}")
        return value

    def _traced_joined(self, texts: Any) -> Symbol:
        """``text.join(texts)``."""
        if not isinstance(texts, (tuple, list, Iterator)):
            self._traced_unsupported("joins something that is not a tuple or list")
        trace = self._traced_trace
        parts = [trace.expressions.constant("", "str")]
        for number, text in enumerate(texts):
            added = trace.expression(text)
            if added.kind not in ("str", "unknown"):
                self._traced_unsupported(f"joins {_NAMES[added.kind]}")
            parts += [self._traced_expression, added] if number else [added]
        return Symbol(trace, trace.concatenated(parts))

    def _traced_powered(
        self, name: str, kind: Kind, base: Expression, exponent: Expression
    ) -> Symbol:
        """A power or shift, which Python computes for each element."""
        function = {"**": operator.pow, "<<": operator.lshift, ">>": operator.rshift}[name]
        if name == "**" and kind == "int":
            fixed = exponent.value if isinstance(exponent, Constant) else -1
            if fixed < 0:
                self._traced_unsupported("raises an integer to a power that may be negative")
        return self._traced_trace.noted(
            self._traced_trace.expressions.call(function, kind, base, exponent)
        )

    def _traced_arithmetic_kind(self, name: str, first: Expression, second: Expression) -> Kind:
        kinds = {first.kind, second.kind}
        if "unknown" in kinds and "opaque" not in kinds:
            return "unknown"
        if kinds == {"str"} and name == "+":
            return "str"
        if not kinds <= set(NUMBERS):
            self._traced_unsupported(
                f"uses {name} on {_NAMES[first.kind]} and {_NAMES[second.kind]}"
            )
        if name in ("&", "|", "^", "<<", ">>"):
            if "float" in kinds:
                self._traced_unsupported(f"uses {name} on a float")
            return "bool" if kinds == {"bool"} and len(name) == 1 else "int"
        return "float" if "float" in kinds or name == "/" else "int"

    def _traced_compared(self, name: str, other: Any) -> Any:
        made = self._traced_trace.object_of(other)
        if made is not None:
            return made._traced_compared(MIRRORED[name], self)
        if isinstance(other, (tuple, Record)):
            if self._traced_trace.exploring and self._traced_kind == "unknown":
                raise CannotTell  # the value may be a tuple
            self._traced_unsupported("compares a value with a tuple")
        value = self._traced_trace.expression(other)
        kinds = {self._traced_kind, value.kind}
        comparable = kinds <= set(NUMBERS) or kinds == {"str"} or "unknown" in kinds
        if not comparable or "opaque" in kinds or "none" in kinds:
            self._traced_unsupported(f"compares {self._traced_named} and {_NAMES[value.kind]}")
        if name in ("==", "!=") and self is not other and self._traced_may_be(value):
            # A tuple compares its items by identity first, so a NaN equals itself
            name = f"{name} or same"
        compared = self._traced_trace.expressions.operation(
            name, "bool", self._traced_expression, value
        )
        return self._traced_trace.noted(compared)

    def _traced_may_be(self, other: Expression) -> bool:
        """Whether this value and ``other`` may be the same object."""
        return not objects_of(self._traced_expression).isdisjoint(objects_of(other))

    def _traced_unary(self, name: str) -> Symbol:
        kind = self._traced_kind
        if kind not in (*NUMBERS, "unknown"):
            self._traced_unsupported(f"uses {name} on {self._traced_named}")
        if name == "~" and kind == "float":
            self._traced_unsupported("uses ~ on a float")
        if name == "+" and kind != "bool":
            self._traced_trace.noted(self._traced_expression)
            return self  # the same object in Python too
        result: Kind = "int" if kind == "bool" else kind
        made = self._traced_trace.expressions.operation(
            f"unary {name}", result, self._traced_expression
        )
        return self._traced_trace.noted(made)

    def _traced_call(self, function: Callable[..., Any], kind: Kind, *arguments: Any) -> Symbol:
        values = [self._traced_trace.expression(argument, anything=True) for argument in arguments]
        return self._traced_trace.noted(
            self._traced_trace.expressions.call(function, kind, self._traced_expression, *values)
        )

    # ------------------------------------------------------------------ conversions

    def _traced_converted(self, kind: Kind) -> Symbol:
        """The value as int, float or str."""
        if self._traced_kind == kind:
            self._traced_trace.noted(self._traced_expression)  # None would raise an error
            return self  # the same object in Python too
        if self._traced_kind == "str" and kind in ("int", "float"):
            return self._traced_call(int if kind == "int" else float, kind)
        if self._traced_kind not in (*NUMBERS, "unknown"):
            self._traced_unsupported(f"converts {self._traced_named} to {kind}")
        if kind == "str":
            return self._traced_call(str, "str")
        return self._traced_trace.noted(
            self._traced_trace.expressions.operation(kind, kind, self._traced_expression)
        )

    def _traced_length(self) -> Symbol:
        if self._traced_kind not in ("str", "unknown"):
            self._traced_unsupported(f"takes the length of {self._traced_named}")
        return self._traced_trace.noted(
            self._traced_trace.expressions.operation("len", "int", self._traced_expression)
        )

    def __round__(self, digits: Any = None) -> Symbol:
        if self._traced_kind not in ("int", "float"):
            self._traced_unsupported(f"rounds {self._traced_named}")
        if digits is None:
            return self._traced_call(round, "int")
        return self._traced_call(round, self._traced_kind, digits)

    def __getitem__(self, key: Any) -> Symbol:
        if self._traced_kind == "unknown" and self._traced_trace.exploring:
            return self
        if self._traced_kind != "str" or not is_position(key):
            self._traced_unsupported(f"takes an item of {self._traced_named}")
        return self._traced_call(operator.getitem, "str", key)

    def __setitem__(self, key: Any, value: Any) -> None:
        if self._traced_kind == "unknown" and self._traced_trace.exploring:
            raise CannotTell  # the value may be a dict
        self._traced_unsupported("writes into a value")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if self._traced_kind == "str" and name in _TEXT_METHODS:
            return partial(self._traced_text_method, name)
        if self._traced_kind == "str" and name == "join":
            return self._traced_joined
        if self._traced_kind == "str" and name in SPLITS:
            return self._traced_trace.splitter(self, name)
        if self._traced_kind == "unknown" and self._traced_trace.exploring:
            return Attribute(self._traced_trace, self._traced_expression, name)
        raise self._traced_trace.unsupported(f"reads the attribute {name} of {self._traced_named}")

    def _traced_text_method(self, name: str, *arguments: Any) -> Symbol:
        if name == "format":
            arguments = tuple(map(self._traced_shown, arguments))
        return self._traced_call(getattr(str, name), _TEXT_METHODS[name], *arguments)

    # ------------------------------------------------------------------ unsupported operations

    def _traced_unsupported(self, reason: str) -> NoReturn:
        raise self._traced_trace.unsupported(reason)

    def __hash__(self) -> int:
        self._traced_unsupported("hashes a value")

    def __iter__(self) -> Iterator[Any]:
        if self._traced_trace.exploring:
            raise CannotTell
        self._traced_unsupported("iterates over a value")

    def __index__(self) -> int:
        self._traced_unsupported("uses a value as a position or count")

    def __format__(self, spec: str) -> str:
        return self._traced_trace.formatted(self, spec)

    def __repr__(self) -> str:
        return self._traced_trace.text_of("a value")

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        self._traced_unsupported("calls a value")


def _add_operators() -> None:
    def binary(name: str, reflected: bool) -> Any:
        return lambda self, other: self._traced_arithmetic(name, other, reflected)

    def comparison(name: str) -> Any:
        return lambda self, other: self._traced_compared(name, other)

    def unary(name: str) -> Any:
        return lambda self: self._traced_unary(name)

    names = {
        "add": "+",
        "sub": "-",
        "mul": "*",
        "truediv": "/",
        "floordiv": "//",
        "mod": "%",
        "pow": "**",
        "and": "&",
        "or": "|",
        "xor": "^",
        "lshift": "<<",
        "rshift": ">>",
    }
    for name, sign in names.items():
        setattr(Symbol, f"__{name}__", binary(sign, False))
        setattr(Symbol, f"__r{name}__", binary(sign, True))
    comparisons = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
    for name, sign in comparisons.items():
        setattr(Symbol, f"__{name}__", comparison(sign))
    for name, sign in {"neg": "-", "pos": "+", "invert": "~", "abs": "abs"}.items():
        setattr(Symbol, f"__{name}__", unary(sign))


_add_operators()


_NAMES: dict[Kind, str] = {
    "int": "an int",
    "float": "a float",
    "bool": "a bool",
    "str": "a text",
    "none": "None",
    "opaque": "a value that columns only hand on",
    "object": "a time or decimal",
    "unknown": "a value of one type or another",
}


def _formatted(text: str, *values: Any) -> str:
    return text % values


class Attribute(Symbol):
    """An attribute, or a method, of an element whose type is not known yet."""

    __slots__ = ("_traced_name",)

    def __init__(self, trace: Trace, expression: Expression, name: str) -> None:
        super().__init__(trace, expression)
        self._traced_name = name

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        name = self._traced_name
        if name in _TEXT_METHODS or name == "join":
            return Symbol(self._traced_trace, self._traced_expression)
        if name in SPLITS and self._traced_trace.rounds is not None:
            raise CannotTell
        others = (str, list, set)
        if name not in _DICT_METHODS and any(hasattr(kind, name) for kind in others):
            self._traced_unsupported(f"calls the method {name}()")
        raise CannotTell


class LoopedOver:
    """Stands for something that a function may do nothing with but loop over it. ``reason``: what it
    does otherwise. ``rounds`` begins a loop."""

    def __init__(self, trace: Trace, reason: str, rounds: Callable[[], Iterator[Any]]) -> None:
        self._traced_trace = trace
        self._traced_reason = reason
        self._traced_rounds = rounds

    def __iter__(self) -> Iterator[Any]:
        return self._traced_rounds()

    def _traced_unsupported(self, *arguments: Any) -> Any:
        raise self._traced_trace.unsupported(self._traced_reason)

    # No __len__, which would be asked for where a list is made of it
    __bool__ = __contains__ = __getitem__ = __hash__ = _traced_length = _traced_unsupported
    __eq__ = __ne__ = __add__ = __radd__ = __mul__ = __format__ = __repr__ = _traced_unsupported

    def __getattr__(self, name: str) -> Any:
        self._traced_unsupported()


def kind_of_constant(value: Any) -> Kind | None:
    """The kind of a Python value; None if it can only be passed on."""
    return _KINDS.get(type(value))
