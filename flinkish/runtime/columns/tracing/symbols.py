"""Symbolic values, with which a traced function is called instead of elements and accumulators.

A symbol notes each operation on it as an expression. If Python needs its truth value, the trace
follows one outcome, and later the other. The symbol's own
attributes begin with ``_traced_``, as any other name may be that of a field.
"""

from __future__ import annotations

import datetime
import keyword
import operator
from collections import namedtuple
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from inspect import getattr_static
from types import FunctionType, MemberDescriptorType
from typing import TYPE_CHECKING, Any, NoReturn
from zoneinfo import ZoneInfo

from flinkish.api.types.row import Row, row_type
from flinkish.runtime.columns.tracing.expressions import (
    MIRRORED,
    NUMBERS,
    Constant,
    Expression,
    Kind,
    objects_of,
)
from flinkish.runtime.columns.tracing.guards import is_data_descriptor
from flinkish.runtime.columns.tracing.texts import has_tokens
from flinkish.runtime.columns.tracing.unsupported import CannotTell
from flinkish.runtime.records.shapes import (
    VALUE,
    ConstantShape,
    Shape,
    is_mutable,
    positional_shape,
)

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
        """The kind of the value."""
        return self._traced_expression.kind

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
            self._traced_unsupported("looks into a value")
        return self._traced_trace.decide(
            self._traced_call(operator.contains, "bool", item)._traced_expression
        )

    # ------------------------------------------------------------------ arithmetic

    def _traced_arithmetic(self, name: str, other: Any, reflected: bool) -> Any:
        """An operation with two operands."""
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
        if name == "+" and kind == "str":
            name = "concat"
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
            self._traced_unsupported(f"formats {_shown('opaque')}")
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
                self._traced_unsupported(f"joins {_shown(added.kind)}")
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
                f"uses {name} on {_shown(first.kind)} and {_shown(second.kind)}"
            )
        if name in ("&", "|", "^", "<<", ">>"):
            if "float" in kinds:
                self._traced_unsupported(f"uses {name} on a float")
            return "bool" if kinds == {"bool"} and len(name) == 1 else "int"
        return "float" if "float" in kinds or name == "/" else "int"

    def _traced_compared(self, name: str, other: Any) -> Any:
        """A comparison."""
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
            self._traced_unsupported(
                f"compares {_shown(self._traced_kind)} and {_shown(value.kind)}"
            )
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
        """An operation with one operand."""
        kind = self._traced_kind
        if kind not in (*NUMBERS, "unknown"):
            self._traced_unsupported(f"uses {name} on {_shown(kind)}")
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
            self._traced_unsupported(f"converts {_shown(self._traced_kind)} to {kind}")
        if kind == "str":
            return self._traced_call(str, "str")
        return self._traced_trace.noted(
            self._traced_trace.expressions.operation(kind, kind, self._traced_expression)
        )

    def _traced_length(self) -> Symbol:
        """``len(value)``."""
        if self._traced_kind not in ("str", "unknown"):
            self._traced_unsupported(f"takes the length of {_shown(self._traced_kind)}")
        return self._traced_trace.noted(
            self._traced_trace.expressions.operation("len", "int", self._traced_expression)
        )

    def __round__(self, digits: Any = None) -> Symbol:
        if self._traced_kind not in ("int", "float"):
            self._traced_unsupported(f"rounds {_shown(self._traced_kind)}")
        if digits is None:
            return self._traced_call(round, "int")
        return self._traced_call(round, self._traced_kind, digits)

    def __getitem__(self, key: Any) -> Symbol:
        if self._traced_kind == "unknown" and self._traced_trace.exploring:
            return self
        if self._traced_kind != "str" or not _is_position(key):
            self._traced_unsupported(f"takes an item of {_shown(self._traced_kind)}")
        return self._traced_call(operator.getitem, "str", key)

    def __setitem__(self, key: Any, value: Any) -> None:
        if self._traced_kind == "unknown" and self._traced_trace.exploring:
            raise CannotTell  # the value may be a dict
        self._traced_unsupported("writes into a value")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if self._traced_kind == "str" and name in _TEXT_METHODS:
            return Method(self, name)
        if self._traced_kind == "str" and name == "join":
            return self._traced_joined
        if self._traced_kind == "str" and name in SPLITS:
            return self._traced_trace.splitter(self, name)
        if self._traced_kind == "unknown" and self._traced_trace.exploring:
            return Attribute(self._traced_trace, self._traced_expression, name)
        raise self._traced_trace.unsupported(
            f"reads the attribute {name} of {_shown(self._traced_kind)}"
        )

    def _traced_text_method(self, name: str, *arguments: Any) -> Symbol:
        """The result of a method of str."""
        if name == "format":
            arguments = tuple(map(self._traced_shown, arguments))
        return self._traced_call(getattr(str, name), _TEXT_METHODS[name], *arguments)

    # ------------------------------------------------------------------ unsupported operations

    def _traced_unsupported(self, reason: str) -> NoReturn:
        """Raise Unsupported, with the line of the function."""
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


def _shown(kind: Kind) -> str:
    return _NAMES[kind]


def _formatted(text: str, *values: Any) -> str:
    return text % values


def _is_position(key: Any) -> bool:
    if isinstance(key, slice):
        return all(type(part) in (int, type(None)) for part in (key.start, key.stop, key.step))
    return type(key) is int


class Method:
    """A bound method of a text."""

    __slots__ = ("_name", "_symbol")

    def __init__(self, symbol: Symbol, name: str) -> None:
        self._symbol = symbol
        self._name = name

    def __call__(self, *arguments: Any) -> Symbol:
        return self._symbol._traced_text_method(self._name, *arguments)


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


class Record:
    """A Row, NamedTuple or dataclass whose parts are symbols."""

    __slots__ = ("_traced_kind", "_traced_names", "_traced_parts", "_traced_trace")

    def __init__(
        self, trace: Trace, kind: type[Any], names: tuple[str, ...], parts: tuple[Any, ...]
    ) -> None:
        self._traced_trace = trace
        self._traced_kind = kind
        self._traced_names = names
        self._traced_parts = parts
        trace.guards.attributes(kind)

    def _traced_unpacked(self) -> tuple[type[Any], tuple[str, ...], tuple[Any, ...]]:
        """The class, the names of the parts, and the parts."""
        return self._traced_kind, self._traced_names, self._traced_parts

    def __getattr__(self, name: str) -> Any:
        kind, names = self._traced_kind, self._traced_names
        if name in names and self._traced_is_attribute(name):
            return self._traced_parts[names.index(name)]
        if kind is Row:
            if name == "getField":
                return self.__getitem__
            if name == "getArity":
                return self.__len__
            if name == "asDict":
                return lambda: dict(zip(names, self._traced_parts))
        elif not name.startswith("_"):
            member = getattr_static(kind, name, None)
            if isinstance(member, staticmethod):
                return self._traced_trace.callable_of(member.__func__)
            if isinstance(member, FunctionType):
                return self._traced_trace.bound(member, self)
            if type(member) is property and isinstance(member.fget, FunctionType):
                return self._traced_trace.bound(member.fget, self)()
        raise self._traced_trace.unsupported(f"reads {name} of a {kind.__name__}")

    def _traced_is_attribute(self, name: str) -> bool:
        if self._traced_kind is not Row:
            member = getattr_static(self._traced_kind, name, None)
            if issubclass(self._traced_kind, tuple):
                return isinstance(member, _TUPLE_FIELD)
            return isinstance(member, MemberDescriptorType) or not is_data_descriptor(member)
        usable = name.isidentifier() and not keyword.iskeyword(name) and name[0] != "_"
        return usable and name not in vars(Row) and name not in ("count", "index")

    def __getitem__(self, key: Any) -> Any:
        if self._traced_kind is Row and isinstance(key, str):
            if key in self._traced_names:
                return self._traced_parts[self._traced_names.index(key)]
            raise self._traced_trace.unsupported(
                f"reads the field {key!r}, which the rows do not have"
            )
        self._traced_needs_tuple("takes an item")
        if not _is_position(key):
            raise self._traced_trace.unsupported("takes an item by a value")
        return self._traced_parts[key]

    def __iter__(self) -> Iterator[Any]:
        self._traced_needs_tuple("iterates over")
        return iter(self._traced_parts)

    def __len__(self) -> int:
        self._traced_needs_tuple("takes the length of")
        return len(self._traced_parts)

    def __bool__(self) -> bool:
        if not issubclass(self._traced_kind, tuple) and (
            hasattr(self._traced_kind, "__bool__") or hasattr(self._traced_kind, "__len__")
        ):
            raise self._traced_trace.unsupported(
                f"uses a {self._traced_kind.__name__} as a condition"
            )
        return len(self._traced_parts) > 0 if issubclass(self._traced_kind, tuple) else True

    def __setitem__(self, key: Any, value: Any) -> None:
        raise self._traced_trace.unsupported(f"writes into a {self._traced_kind.__name__}")

    def _traced_needs_tuple(self, action: str) -> None:
        if not issubclass(self._traced_kind, tuple):
            raise self._traced_trace.unsupported(f"{action} a {self._traced_kind.__name__}")

    def _traced_compared(self, other: Any, compare: Callable[[Any, Any], Any]) -> Any:
        self._traced_needs_tuple("compares")
        if isinstance(other, Record):
            other._traced_needs_tuple("compares")
            other = other._traced_parts
        if type(other) is not tuple:
            raise self._traced_trace.unsupported(f"compares a {self._traced_kind.__name__}")
        return compare(self._traced_parts, other)

    def __eq__(self, other: object) -> Any:
        return self._traced_compared(other, operator.eq)

    def __ne__(self, other: object) -> Any:
        return self._traced_compared(other, operator.ne)

    def __lt__(self, other: Any) -> Any:
        return self._traced_compared(other, operator.lt)

    def __le__(self, other: Any) -> Any:
        return self._traced_compared(other, operator.le)

    def __gt__(self, other: Any) -> Any:
        return self._traced_compared(other, operator.gt)

    def __ge__(self, other: Any) -> Any:
        return self._traced_compared(other, operator.ge)

    def __hash__(self) -> int:
        raise self._traced_trace.unsupported(f"hashes a {self._traced_kind.__name__}")

    def __format__(self, spec: str) -> str:
        return self._traced_trace.text_of(f"a {self._traced_kind.__name__}")

    def __repr__(self) -> str:
        return self._traced_trace.text_of(f"a {self._traced_kind.__name__}")


class TracedDict(dict[str, Any]):
    """A dict with symbols that may be read and copied, and not changed."""

    __slots__ = ("_traced_trace",)

    def __init__(self, trace: Trace, items: Mapping[str, Any]) -> None:
        self._traced_trace = trace
        super().__init__(items)

    def _traced_unsupported(self, *arguments: Any, **named: Any) -> NoReturn:
        raise self._traced_trace.unsupported("writes into a dict that it did not make")

    __setitem__ = __delitem__ = __ior__ = _traced_unsupported
    clear = pop = popitem = setdefault = update = _traced_unsupported

    def __repr__(self) -> str:
        return self._traced_trace.text_of("a dict")

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return self._traced_trace.text_of("a dict")


class TracedList(list[Any]):
    """A list with symbols that may be read and copied, and not changed."""

    __slots__ = ("_traced_trace",)

    def __init__(self, trace: Trace, items: Iterable[Any]) -> None:
        self._traced_trace = trace
        super().__init__(items)

    def _traced_unsupported(self, *arguments: Any, **named: Any) -> NoReturn:
        raise self._traced_trace.unsupported("writes into a list that it did not make")

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _traced_unsupported
    append = clear = extend = insert = pop = remove = reverse = sort = _traced_unsupported


def kept(trace: Trace, value: Any, taken: list[Any] | None = None) -> Any:
    """Return ``value``, which a function hands over, in its current state: the function may change
    a dict or list later. ``taken``: the dicts and lists found in it so far."""
    taken = [] if taken is None else taken
    if isinstance(value, (dict, list)) and not took(value, taken):
        name = "dict" if isinstance(value, dict) else "list"
        raise trace.unsupported(f"hands over a {name} twice, which can change")
    if isinstance(value, dict):
        return TracedDict(trace, {name: kept(trace, part, taken) for name, part in value.items()})
    if isinstance(value, list):
        return TracedList(trace, [kept(trace, part, taken) for part in value])
    if has_tokens(value):
        return Symbol(trace, trace.expression(value))
    return tuple(kept(trace, part, taken) for part in value) if type(value) is tuple else value


def took(value: Any, taken: list[Any]) -> bool:
    """Add a mutable object to those that are ``taken``. False if it is among them: what changes one
    would change the other."""
    if any(value is other for other in taken):
        return False
    taken.append(value)
    return True


def own(value: Any) -> Any:
    """Copy ``value`` with its dicts and lists, so that a function may change them."""
    if isinstance(value, dict):
        return {name: own(part) for name, part in value.items()}
    if isinstance(value, list):
        return list(map(own, value))
    return tuple(map(own, value)) if type(value) is tuple else value


MOST_ITEMS = 8
"""Longer lists are not followed: such a list rather grows than has a place for each thing."""

_TUPLE_FIELD = type(namedtuple("_Tuple", "field").field)  # type: ignore[attr-defined]
"""The class of the descriptors of a NamedTuple's fields."""


def symbolic(trace: Trace, shape: Shape, parts: list[Symbol]) -> Any:
    """A symbolic value of ``shape`` with the columns ``parts``."""
    if shape.kind is None:
        return parts[0]
    if isinstance(shape, ConstantShape):
        return shape.value
    made: list[Any] = []
    start = 0
    for part in shape.parts:
        made.append(symbolic(trace, part, parts[start : start + part.width]))
        start += part.width
    if shape.kind is tuple:
        return tuple(made)
    if shape.kind is dict:
        return TracedDict(trace, dict(zip(shape.names, made)))
    if shape.kind is list:
        return TracedList(trace, made)
    return Record(trace, shape.kind, shape.names, tuple(made))


def taken_apart(
    trace: Trace, value: Any, taken: list[Any] | None = None, *, lists: bool = False
) -> tuple[Shape, list[Expression]]:
    """The shape of a returned value, and an expression for each of its columns. ``taken``: the
    mutable objects returned so far, of which none may be returned twice. ``lists``: it may be
    a list, or have lists in it."""
    taken = [] if taken is None else taken
    if isinstance(value, Record):
        kind, names, parts = value._traced_unpacked()
    elif type(value) is tuple:
        kind, names, parts = tuple, (), value
    elif isinstance(value, dict):
        keys = dict_names(value)
        if keys is None:
            raise trace.unsupported(
                "returns a dict that is empty or has other keys than plain names"
            )
        kind, names, parts = dict, keys, tuple(value.values())
    elif lists and isinstance(value, list) and 0 < len(value) <= MOST_ITEMS:
        kind, names, parts = list, (), tuple(value)
    elif isinstance(value, (list, Iterator)):
        raise trace.unsupported(f"returns a {type(value).__name__}, which can change")
    else:
        return VALUE, [trace.expression(value)]
    if is_mutable(kind) and not took(value, taken):
        raise trace.unsupported(f"returns a {kind.__name__} twice, which can change")
    if not parts:
        raise trace.unsupported("returns an empty tuple")
    shapes, expressions = [], []
    for part in parts:
        shape, inner = taken_apart(trace, part, taken, lists=lists)
        shapes.append(shape)
        expressions.extend(inner)
    if kind in (tuple, list):
        return positional_shape(kind, shapes), expressions
    return Shape(kind, names, tuple(shapes)), expressions


def dict_names(value: dict[Any, Any]) -> tuple[str, ...] | None:
    """The keys of ``value``; None unless they can be the names of columns."""
    for name in value:
        # A path to a part of a part has points
        if type(name) is not str or "." in name or not name.isprintable():
            return None
    return tuple(value) or None


def kind_of_constant(value: Any) -> Kind | None:
    """The kind of a Python value; None if it can only be passed on."""
    return _KINDS.get(type(value))


def rows_of(fields: tuple[str, ...]) -> type[Row]:
    """The class of Rows with the fields ``fields``."""
    return row_type(fields)
