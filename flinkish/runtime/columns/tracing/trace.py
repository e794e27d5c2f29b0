"""``Trace``: follows a function with symbols for its arguments, through all of its branches.

Python runs a copy of the function with other globals and enclosing variables. These are replaced by
functions that understand symbols or are traced themselves, and by objects of which most uses are
unsupported.
"""

from __future__ import annotations

import math
import operator
import sys
import types
from collections.abc import (
    Callable,
    ItemsView,
    Iterator,
    KeysView,
    Mapping,
    Sequence,
    ValuesView,
)
from enum import Enum, EnumType
from inspect import isclass
from types import CodeType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple, Protocol
from zoneinfo import ZoneInfo

from flinkish.api.bytecode import Does, step_at, with_inner
from flinkish.api.functions.functions import RichFunction
from flinkish.runtime.columns.tracing.expressions import (
    NUMBERS,
    PYTHON_TYPES,
    RAISE,
    Expression,
    Expressions,
    Kind,
    columns_read,
)
from flinkish.runtime.columns.tracing.guards import (
    MISSING,
    ContentGuard,
    Guard,
    Guards,
    ValueGuard,
    cell_contents,
    class_attribute,
    found_in_class,
    has_plain_attributes,
    in_slot,
    is_data_descriptor,
    own_attribute,
)
from flinkish.runtime.columns.tracing.objects import (
    CLASSES,
    Made,
    made_by_class,
    maker_of,
    object_of,
)
from flinkish.runtime.columns.tracing.patched_code import TooManyConstants, patched_code
from flinkish.runtime.columns.tracing.purity import (
    globals_read,
    has_texts,
    impurity,
    only_raises,
    takes_remainders,
    tests_none,
)
from flinkish.runtime.columns.tracing.record_classes import constructed
from flinkish.runtime.columns.tracing.symbols import (
    Record,
    Symbol,
    is_constant,
    kept,
    kind_of_constant,
    own,
    taken_apart,
)
from flinkish.runtime.columns.tracing.texts import (
    hands_over,
    has_tokens,
    holds_tokens,
    parts_of_text,
    token,
)
from flinkish.runtime.columns.tracing.unsupported import CannotTell, Unsupported
from flinkish.runtime.records.shapes import Shape

MOST_PATHS = 32
"""A function with more paths through its branches is not traced."""

_MOST_ROUNDS = 8
"""The most rounds of a loop whose number of rounds depends on the element."""


class Step(NamedTuple):
    """An operation, and the outcomes of the conditions that lead to it."""

    path: tuple[tuple[Expression, bool], ...]
    operation: Expression

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """The operation and the conditions."""
        return (self.operation, *(condition for condition, _ in self.path))


class Traced(NamedTuple):
    """The trace of a function."""

    shape: Shape
    """The shape of the results."""
    columns: tuple[Expression, ...]
    """An expression for each column of the results."""
    guards: tuple[Guard, ...]
    """Those on external constants; the trace is valid until one fails."""
    testsNone: bool
    """Whether the function tests a value for None; then it may read any column."""
    steps: tuple[Step, ...]
    """All operations, even if their results are not used, as they may raise errors."""

    @property
    def reading(self) -> set[int]:
        """The indices of the columns that the function computes with or returns."""
        read = columns_read(*self.columns)
        for step in self.steps:
            read |= columns_read(*step.expressions)
        return read

    def changed(self) -> bool:
        """Whether a guard fails."""
        return any(guard.changed() for guard in self.guards)

    @property
    def readsValues(self) -> bool:
        """Whether an external constant is a number, text or the like, which may change."""
        return any(
            isinstance(guard, ContentGuard)
            or (isinstance(guard, ValueGuard) and is_constant(guard.value))
            for guard in self.guards
        )

    @property
    def readsVariables(self) -> bool:
        """Whether such an external constant is a variable or attribute, which other code may
        write."""
        return any(
            isinstance(guard, ContentGuard)
            or (isinstance(guard, ValueGuard) and not guard.ofCode and is_constant(guard.value))
            for guard in self.guards
        )


class Loop(Protocol):
    """The loop of a function that emits results for each word of a text."""

    current: int | None
    """The round that runs."""

    def splitter(self, symbol: Symbol, method: str) -> Callable[..., Any]:
        """The bound method ``method`` of the text ``symbol``, which splits it."""


class _Undecided(Exception):
    def __init__(self, condition: Expression) -> None:
        self.condition = condition


class Trace:
    """One trace of a function. ``exploring``: the types of its arguments are not known. ``standIn``
    returns the stand-in for an object that is an external constant; None: the
    default one. ``lists``: what the function returns may be a list, as accumulators may."""

    def __init__(
        self,
        exploring: bool = False,
        expressions: Expressions | None = None,
        standIn: Callable[[Any], Any] | None = None,
        lists: bool = False,
    ) -> None:
        self.expressions = expressions or Expressions()
        self.exploring = exploring
        self._stand_in = standIn
        self._lists = lists
        self._codes: dict[int, CodeType] = {}
        """The code of the functions followed, by the id of what runs in place of it: with the same
        steps at the same positions."""
        self._knows_texts = False
        """Whether an external constant is a plain text, with which % could format a symbol
        unnoticed."""
        self._functions: dict[int, tuple[Any, Any]] = {}
        self.standIns: dict[int, Any] = {}
        """The stand-ins for containers, on all paths the same, by the id of the container."""
        self.asksTypes = False
        """Whether a function tests the type of a value, which for None is another."""
        self.guards = Guards()
        self._decided: dict[int, bool] = {}
        self._path: list[tuple[Expression, bool]] = []
        self._steps: dict[tuple[Any, ...], Step] = {}
        self.rounds: Loop | None = None
        """The loop over words; None if there can be none."""
        self._formatted: list[Expression] = []
        """The values that tokens stand for."""
        self._paths = 0

    def follow(self, function: Callable[..., Any], *arguments: Any, changing: Any = None) -> Traced:
        """Trace ``function`` for ``arguments``, which are symbols, and ``changing``, whose dicts
        and lists it may change. Raises Unsupported if it cannot be traced."""
        called = self.callable_of(function)
        if changing is None:
            return self._traced(called, arguments)
        return self._traced(lambda *given: called(*given, own(changing)), arguments)

    def writing(
        self, function: FunctionType, owner: object, attributes: Mapping[str, Symbol]
    ) -> Callable[..., tuple[Any, ...]]:
        """``function``, a method of ``owner``, as a function that returns the values which it leaves in
        ``attributes``."""
        patched = self._patched(function, writes=True)

        def call(*arguments: Any) -> tuple[Any, ...]:
            writing = Owner(self, owner, "self", attributes)
            patched(writing, *arguments)
            return tuple(writing._traced_values.values())

        return call

    def follow_collected(self, function: Callable[..., Any], *arguments: Any) -> Traced:
        """Trace what ``function`` gives to a collector, its last argument. Raises Unsupported if it
        cannot be traced, or does not emit exactly one result."""
        called = self.callable_of(function)

        def call(*arguments: Any) -> Any:
            collected = Collected(self)
            if called(*arguments, collected) is not None:
                raise Unsupported("returns something")
            if len(collected) != 1:
                raise Unsupported("may emit no result, or several")
            return collected[0]

        return self._traced(call, arguments)

    def follow_all(self, call: Callable[[], Any]) -> Traced:
        """Trace what ``call``, which calls functions of this trace, returns on each path through
        the branches. Raises Unsupported if it cannot be traced."""
        return self._traced(call, ())

    def _traced(self, call: Any, arguments: Any) -> Traced:
        try:
            followed = self._follow(call, arguments)
        except RecursionError:
            raise Unsupported("calls itself too often") from None
        if followed is None:
            raise Unsupported("raises an exception for every element")
        shape, columns = followed
        codes = self._followed()
        if any(map(takes_remainders, codes)) and (self._knows_texts or any(map(has_texts, codes))):
            raise Unsupported("may format a text with %")
        testing = self.asksTypes or any(map(tests_none, codes))
        steps = tuple(self._steps.values())
        return Traced(shape, tuple(columns), self.guards.all(), testing, steps)

    def _follow(self, call: Any, arguments: Any) -> tuple[Shape, list[Expression]] | None:
        """Return the function's result on the path decided so far and on all that branch off it;
        None if it raises an exception on each."""
        self._path = []
        try:
            result = call(*arguments)
        except _Undecided as undecided:
            condition = undecided.condition
        except (Unsupported, CannotTell, RecursionError):
            raise
        except Exception as error:
            if isinstance(error, _ManyRounds) or self._is_raised(error):
                every = self.expressions.constant(True, "bool")
                self.noted(self.expressions.operation(RAISE, "bool", every))
                return None
            line = self._line_of(error)
            raise Unsupported(f"{type(error).__name__}: {error}{line}") from None
        else:
            return taken_apart(self, result, lists=self._lists)
        self._paths += 1
        if self._paths >= MOST_PATHS:
            raise Unsupported(f"has more than {MOST_PATHS} ways through its branches")
        self._decided[id(condition)] = True
        one = self._follow(call, arguments)
        self._decided[id(condition)] = False
        other = self._follow(call, arguments)
        del self._decided[id(condition)]
        if one is None or other is None:
            return one or other
        shape, then = one
        if shape != other[0]:
            raise Unsupported("returns values of different shapes")
        choice = self.expressions.choice
        return shape, [choice(condition, *pair) for pair in zip(then, other[1])]

    def decide(self, condition: Expression) -> bool:
        """The truth of ``condition`` on the current path."""
        decided = self._decided.get(id(condition))
        if decided is None:
            raise _Undecided(condition)
        if all(asked is not condition for asked, _ in self._path):
            self._path.append((condition, decided))
        return decided

    def noted(self, operation: Expression) -> Symbol:
        """The result of an operation, which is noted as a step of the current path."""
        key = (
            id(operation),
            *(id(condition) * (1 if truth else -1) for condition, truth in self._path),
        )
        if key not in self._steps:
            self._steps[key] = Step(tuple(self._path), operation)
        return Symbol(self, operation)

    def expression(self, value: Any, anything: bool = False) -> Expression:
        """The expression of a symbol or constant; ``anything``: also of a constant or slice without
        a kind. Raises Unsupported for other objects."""
        if isinstance(value, Symbol):
            if value._traced_kind == "object" and not anything:
                raise self.unsupported("hands on a time or decimal that it makes")
            return value._traced_expression
        if has_tokens(value):
            return self._text(value)
        kind = kind_of_constant(value)
        if kind is None:
            if not anything or not (is_constant(value) or isinstance(value, slice)):
                raise self.unsupported(f"uses {_name_of(value)}")
            kind = "opaque"
        return self.expressions.constant(value, kind)

    def object_of(self, value: Any) -> Made | None:
        """``value`` as an object that can be followed; None if it is none."""
        return object_of(self, value)

    def _text(self, value: str) -> Expression:
        """The expression of a text with tokens."""
        made = self.expressions
        parts = [
            self._formatted[part] if isinstance(part, int) else made.constant(part, "str")
            for part in parts_of_text(value)
        ]
        return self.concatenated(parts)

    def concatenated(self, texts: Sequence[Expression]) -> Expression:
        """The texts, one behind the other."""
        whole, *others = texts
        for text in others:
            made = self.expressions.operation("concat", "str", whole, text)
            whole = self.noted(made)._traced_expression
        return whole

    def splitter(self, symbol: Symbol, method: str) -> Any:
        """The bound method ``method`` of the text ``symbol``, which splits it."""
        if self.rounds is None:
            raise self.unsupported(f"calls the method {method}()")
        return self.rounds.splitter(symbol, method)

    # ------------------------------------------------------------------ reasons

    def unsupported(self, reason: str) -> Unsupported:
        """Unsupported, with the current line of the traced function."""
        frame = sys._getframe(1)
        while frame is not None:
            if id(frame.f_code) in self._codes:
                return Unsupported(f"{reason} (line {frame.f_lineno})")
            frame = frame.f_back  # type: ignore[assignment]
        return Unsupported(reason)

    def _line_of(self, error: Exception) -> str:
        line, step = "", error.__traceback__
        while step is not None:
            if id(step.tb_frame.f_code) in self._codes:
                line = f" (line {step.tb_lineno})"
            step = step.tb_next
        return line

    def _is_raised(self, error: Exception) -> bool:
        """Whether the function has raised ``error`` itself, and no operation on a symbol."""
        step = error.__traceback__
        assert step is not None
        while step.tb_next is not None:
            step = step.tb_next
        code = self._codes.get(id(step.tb_frame.f_code))
        return code is not None and step_at(code, step.tb_lasti).does is Does.RAISE

    def formatted(self, symbol: Symbol, spec: str) -> str:
        """The token of ``symbol`` formatted. Raises Unsupported unless the function only hands it
        over."""
        frame = self._current_frame()
        if frame is None or not self.asks(hands_over, otherwise=False) or has_tokens(spec):
            return self.text_of("a value")
        known = symbol._traced_kind in PYTHON_TYPES or isinstance(symbol, Made) or self.exploring
        if self._is_called_by_another(frame) or not known:
            return self.text_of("a value")
        self._formatted.append(symbol._traced_call(format, "str", spec)._traced_expression)
        return token(len(self._formatted) - 1)

    def _followed(self) -> list[CodeType]:
        """The code of each function that is followed."""
        return [function.__code__ for function, _ in self._functions.values()]

    def asks(self, question: Callable[[CodeType, int], bool], *, otherwise: bool) -> bool:
        """Ask ``question`` about the innermost running function and its current position; return
        ``otherwise`` if none runs."""
        frame = self._current_frame()
        if frame is None:
            return otherwise
        return question(self._codes[id(frame.f_code)], frame.f_lasti)

    def _current_frame(self) -> FrameType | None:
        """The innermost frame of the functions."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and id(frame.f_code) not in self._codes:
            frame = frame.f_back
        return frame

    def _is_called_by_another(self, frame: FrameType) -> bool:
        """Whether ``frame`` was called by another one of the function, which may look at what it
        returns."""
        caller = frame.f_back
        while caller is not None and id(caller.f_code) not in self._codes:
            caller = caller.f_back
        return caller is not None

    def text_of(self, named: str) -> str:
        """Stands for a symbol as text, in the message of an exception. Raises Unsupported
        elsewhere."""
        if not self.onlyRaises():
            raise self.unsupported(f"converts {named} to text")
        return ""

    def onlyRaises(self) -> bool:
        """Whether the function, from where it is, does nothing but raise an exception."""
        return self.asks(only_raises, otherwise=False)

    # ------------------------------------------------------------------ functions

    def callable_of(self, function: Any, name: str = "") -> Any:
        """``function`` as a callable that takes symbols. Raises Unsupported if it cannot be
        traced."""
        if isinstance(function, MethodType):
            return self.bound(function.__func__, External(self, function.__self__, "self"))
        if isinstance(function, FunctionType):
            return self._patched(function)
        replaced = _REPLACED.get(function) if _is_hashable(function) else None
        if replaced is not None:
            return lambda *arguments: replaced(self, *arguments)
        call = self.guards.member(self.guards.class_of(function), "__call__")
        if isinstance(call, FunctionType) and not isclass(function):
            return self.bound(call, External(self, function, "self"))
        raise Unsupported(
            f"is not a function of Python but {type(function).__name__} {name}".rstrip()
        )

    def bound(self, function: Any, owner: Any) -> Callable[..., Any]:
        """``function`` as a method of ``owner`` that takes symbols. Raises Unsupported if it cannot
        be traced."""
        if not isinstance(function, FunctionType):
            raise self.unsupported(f"calls {getattr(function, '__name__', 'a method')}")
        patched = self._patched(function)

        def call(*arguments: Any, **named: Any) -> Any:
            self.check_no_tokens(function.__name__, arguments, named)
            return patched(owner, *arguments, **named)

        return call

    def check_no_tokens(
        self, name: str, arguments: tuple[Any, ...], named: Mapping[str, Any]
    ) -> None:
        """Raises Unsupported if a formatted text is passed to ``name``, which may look at it."""
        if holds_tokens((*arguments, *named.values())):
            raise self.unsupported(f"calls {name} with a formatted text")

    def _patched(self, function: FunctionType, writes: bool = False) -> FunctionType:
        """A copy of ``function`` whose globals and enclosing variables are replaced by ``known``.
        ``writes``: ``function`` may write attributes."""
        known = self._functions.get(id(function))
        if known is not None:
            patched: FunctionType = known[1]
            return patched
        code = function.__code__
        impure = impurity(code, writes)
        if impure is not None:
            raise Unsupported(impure)
        try:
            replaced = patched_code(code, self._literal)
        except TooManyConstants:
            raise Unsupported("has too many constants") from None
        originals = zip(with_inner(replaced), with_inner(code))
        self._codes.update((id(one), original) for one, original in originals)
        self.guards.code(function)
        namespace: dict[str, Any] = {"__builtins__": {}, "__name__": function.__module__}
        held = self._held(function)
        cells = tuple(types.CellType() for _ in function.__closure__ or ())
        patched = FunctionType(replaced, namespace, function.__name__, held, cells)
        defaults = function.__kwdefaults__
        if defaults:
            if not all(map(is_constant, defaults.values())):
                raise Unsupported(
                    f"has a default value that can change (line {code.co_firstlineno})"
                )
            patched.__kwdefaults__ = {name: self.constant(defaults[name]) for name in defaults}
        self._functions[id(function)] = (function, patched)
        for cell, original, name in zip(cells, function.__closure__ or (), code.co_freevars):
            if original != types.CellType():
                held_there = self.guards.value(cell_contents, original, None)
                cell.cell_contents = self.known(held_there, name)
        for name in globals_read(code):
            value = self.guards.value(dict.get, function.__globals__, name)
            if value is MISSING:
                known_builtins: Any = getattr(function, "__builtins__")  # noqa: B009
                value = self.guards.value(dict.get, known_builtins, name)
            if value is not MISSING:
                namespace[name] = self.known(value, name)
        return patched

    def _literal(self, literal: str | frozenset[Any]) -> Any:
        """What a function loads in place of a literal of its code."""
        if isinstance(literal, str):
            return Symbol(self, self.expression(literal))
        return self.known(literal, "a set")

    def constant(self, value: Any) -> Any:
        """``value``; texts in it, and what has methods that return texts, become symbols if a traced
        function uses %, which could format them."""
        if type(value) is tuple:
            return tuple(map(self.constant, value))
        if type(value) in (str, bytes, ZoneInfo, *CLASSES):
            if type(value) not in (bytes, ZoneInfo) and any(
                map(takes_remainders, self._followed())
            ):
                made = self.object_of(value)
                return Symbol(self, self.expression(value)) if made is None else made
            self._knows_texts = True
        return value

    def _held(self, function: FunctionType) -> tuple[Any, ...] | None:
        defaults = function.__defaults__
        if defaults and not is_constant(tuple(defaults)):
            line = function.__code__.co_firstlineno
            raise Unsupported(f"has a default value that can change (line {line})")
        return None if defaults is None else self.constant(defaults)

    def known(self, value: Any, name: str) -> Any:
        """The stand-in for ``value``, which the function reads as ``name``."""
        if is_constant(value):
            return self.constant(value)
        if isinstance(value, (Symbol, Record)):
            return value
        if type(value) is tuple:
            return tuple(self.known(part, name) for part in value)
        special = None if self._stand_in is None else self._stand_in(value)
        if special is None and type(value) in (set, frozenset, list, dict):
            special = self.standIns.get(id(value))
            if special is None:
                special = self.standIns[id(value)] = _Container(self, value, name)
        return External(self, value, name) if special is None else special


class Collected(list[Any]):
    """A collector that keeps the results in a list."""

    def __init__(self, trace: Trace) -> None:
        super().__init__()
        self._trace = trace

    def collect(self, value: Any) -> None:
        self.append(kept(self._trace, value))


class External:
    """Stands for an external constant that is an object: a module, class or function, or the
    function's own object."""

    __slots__ = ("_traced_name", "_traced_object", "_traced_trace")

    def __init__(self, trace: Trace, value: Any, name: str) -> None:
        self._traced_trace = trace
        self._traced_object = value
        self._traced_name = name

    def __getattr__(self, attribute: str) -> Any:
        value, trace = self._traced_object, self._traced_trace
        name, guards = f"{self._traced_name}.{attribute}", trace.guards
        if isinstance(value, EnumType) and attribute in value.__members__:
            return trace.known(guards.value(_member, value, attribute), name)
        kind = guards.class_of(value)
        if isinstance(value, Enum) and _is_plain_part(value, attribute):
            return trace.known(guards.value(getattr, value, attribute), name)
        if not has_plain_attributes(value):
            raise trace.unsupported(f"reads {name} of a {kind.__name__}")
        described = guards.member(kind, attribute)
        if isinstance(described, types.MemberDescriptorType) and not isclass(value):
            return trace.known(self._traced_there(in_slot, attribute, name), name)
        if is_data_descriptor(described):
            raise trace.unsupported(f"reads the property {name}")
        if isinstance(value, ModuleType):
            return trace.known(self._traced_there(own_attribute, attribute, name), name)
        if isclass(value):
            return self._traced_of_class(attribute, name)
        if guards.value(own_attribute, value, attribute) is not MISSING:
            return trace.known(own_attribute(value, attribute, MISSING), name)
        if described is not MISSING and described is vars(RichFunction).get(attribute):
            raise trace.unsupported(f"calls {name}")
        if isinstance(described, FunctionType):
            return trace.bound(described, self)
        if isinstance(described, staticmethod):
            return trace.known(described.__func__, name)
        if is_constant(described):
            return trace.known(guards.value(class_attribute, kind, attribute), name)
        if trace.exploring and described is MISSING and isinstance(value, RichFunction):
            raise CannotTell  # ``open`` may set it
        raise trace.unsupported(f"reads {name}")

    def _traced_there(self, get: Callable[[Any, Any, Any], Any], attribute: str, name: str) -> Any:
        """What ``get`` reads of the object. Raises Unsupported if that is missing."""
        value = self._traced_trace.guards.value(get, self._traced_object, attribute)
        if value is MISSING:
            raise self._traced_trace.unsupported(f"reads {name}, which is not there")
        return value

    def _traced_of_class(self, attribute: str, name: str) -> Any:
        """The stand-in for an attribute of a class."""
        guards, kind = self._traced_trace.guards, self._traced_object
        member = guards.member(kind, attribute)
        if isinstance(member, staticmethod):
            return self._traced_trace.known(member.__func__, name)
        if is_constant(member):
            return self._traced_trace.known(guards.value(class_attribute, kind, attribute), name)
        maker = maker_of(self._traced_trace, kind, attribute)
        if maker is not None:
            return maker
        raise self._traced_trace.unsupported(f"reads {name}")

    def __setattr__(self, attribute: str, value: Any) -> None:
        if not attribute.startswith("_traced_"):
            name = f"{self._traced_name}.{attribute}"
            raise self._traced_trace.unsupported(f"writes the attribute {name}")
        super().__setattr__(attribute, value)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        value, trace = self._traced_object, self._traced_trace
        replaced = _REPLACED.get(value) if _is_hashable(value) else None
        if replaced not in (None, _dict, _tuple) or not isclass(value):
            trace.check_no_tokens(self._traced_name, arguments, named)
        if isclass(value) and value in CLASSES:
            return made_by_class(trace, value, arguments, named)
        if replaced is not None:
            takes = value is dict or (value in (min, max) and named.keys() == {"key"})
            if named and not takes:
                raise trace.unsupported(f"calls {self._traced_name} with {', '.join(named)}=")
            return replaced(trace, *arguments, **named)
        if isinstance(value, (FunctionType, MethodType)):
            try:
                return trace.callable_of(value)(*arguments, **named)
            except Unsupported as inner:
                raise Unsupported(
                    f"{trace.unsupported(f'calls {self._traced_name}')}, which {inner}"
                ) from None
        if isclass(value) and issubclass(value, Exception) and trace.onlyRaises():
            return Exception()
        if isclass(value):
            made = constructed(trace, value, arguments, named)
            if made is not None:
                return made
        raise trace.unsupported(f"calls {self._traced_name}")

    def _traced_unsupported(self, *arguments: Any) -> Any:
        raise self._traced_trace.unsupported(
            f"uses {self._traced_name}, a {type(self._traced_object).__name__}"
        )

    __bool__ = __contains__ = __getitem__ = __iter__ = __len__ = __hash__ = _traced_unsupported
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _traced_unsupported
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _traced_unsupported
    __format__ = __repr__ = __index__ = __setitem__ = _traced_unsupported


class _Container(External):
    """Stands for a set, list or dict that a function looks into, which Python does for each
    element."""

    __slots__ = ("_traced_found", "_traced_get", "_traced_item", "_traced_kinds")

    def __init__(self, trace: Trace, value: Any, name: str) -> None:
        super().__init__(trace, value, name)
        self._traced_get: Any = None
        self._traced_item: Any = None

    def _traced_look(self) -> None:
        """Note the contents, and copy the container. Raises Unsupported if it is too large or not
        constant."""
        if self._traced_get is not None:
            return
        trace, container = self._traced_trace, self._traced_object
        if len(container) > MOST_CONTENT:
            raise trace.unsupported(
                f"looks into {self._traced_name}, which has more than {MOST_CONTENT}"
            )
        content = trace.guards.content(container)
        if not all(map(is_constant, content)):
            raise trace.unsupported(
                f"looks into {self._traced_name}, which has more than numbers and texts"
            )
        copied = tuple(container) if isinstance(container, list) else type(container)(container)
        self._traced_found = copied.__contains__
        self._traced_item = copied.__getitem__ if isinstance(copied, dict) else None
        self._traced_kinds = {kind_of_constant(each) for each in content[len(container) :]}
        self._traced_get = getattr(copied, "get", len)

    def __contains__(self, item: Any) -> bool:
        self._traced_look()
        if is_constant(item):
            return bool(self._traced_found(item))
        return bool(self._traced_call(self._traced_found, "bool", item))

    def __getitem__(self, key: Any) -> Any:
        self._traced_needs_dict("takes an item of")
        if is_constant(key):
            return self._traced_trace.constant(self._traced_item(key))
        return self._traced_call(self._traced_item, self._traced_kind(), key)

    def __getattr__(self, attribute: str) -> Any:
        if attribute != "get" or not isinstance(self._traced_object, dict):
            return super().__getattr__(attribute)
        return self._traced_get_default

    def _traced_get_default(self, key: Any, default: Any = None) -> Any:
        self._traced_needs_dict("looks into")
        trace = self._traced_trace
        if is_constant(key) and is_constant(default):
            return trace.constant(self._traced_get(key, default))
        if default is None:
            return self[key]  # what is not there is not exact, and then the function is called
        kind = self._traced_kind(trace.expression(default).kind)
        return self._traced_call(self._traced_get, kind, key, default)

    def _traced_needs_dict(self, action: str) -> None:
        if not isinstance(self._traced_object, dict):
            raise self._traced_trace.unsupported(f"{action} {self._traced_name}")
        self._traced_look()

    def _traced_kind(self, *kinds: Kind) -> Kind:
        """The kind of all values that may be found. Raises Unsupported if they have several."""
        (kind, *others) = {*self._traced_kinds, *kinds} or {None}
        if others or kind in (None, "none"):
            raise self._traced_trace.unsupported(
                f"finds values of several types in {self._traced_name}"
            )
        return kind

    def _traced_call(self, function: Any, kind: Kind, *arguments: Any) -> Symbol:
        trace = self._traced_trace
        expressions = [trace.expression(argument) for argument in arguments]
        return trace.noted(trace.expressions.call(function, kind, *expressions))


MOST_CONTENT = 1_000
"""Larger containers are not traced, as each run has to check whether the contents have changed."""


class Owner(External):
    """Stands for the object of a method that writes some of its attributes."""

    __slots__ = ("_traced_values",)

    def __init__(self, trace: Trace, value: Any, name: str, written: Mapping[str, Any]) -> None:
        super().__init__(trace, value, name)
        self._traced_values = dict(written)

    def __getattr__(self, attribute: str) -> Any:
        if attribute in self._traced_values:
            return self._traced_values[attribute]
        return super().__getattr__(attribute)

    def __setattr__(self, attribute: str, value: Any) -> None:
        if not attribute.startswith("_traced_") and attribute in self._traced_values:
            self._traced_values[attribute] = value
        else:
            super().__setattr__(attribute, value)


def _member(owner: Any, name: Any, missing: Any) -> Any:
    """A member of an enumeration, as a getter for ``Guards.value``."""
    return owner.__members__.get(name, missing)


def _is_plain_part(member: Enum, attribute: str) -> bool:
    """Whether ``attribute`` is the name or the value of ``member``, as every enumeration has
    them."""
    return (
        attribute in ("name", "value")
        and found_in_class(type(member), attribute) is vars(Enum)[attribute]
    )


def _name_of(value: Any) -> str:
    if isinstance(value, External):
        return f"{value._traced_name}, a {type(value._traced_object).__name__}"
    return f"an object of type {type(value).__name__}"


# ---------------------------------------------------------------------- known functions


def _lowest(trace: Trace, *values: Any, key: Callable[[Any], Any] | None = None) -> Any:
    return _extreme(trace, "min", "<", values, key)


def _highest(trace: Trace, *values: Any, key: Callable[[Any], Any] | None = None) -> Any:
    return _extreme(trace, "max", ">", values, key)


def _extreme(
    trace: Trace,
    name: str,
    sign: str,
    values: Sequence[Any],
    key: Callable[[Any], Any] | None,
) -> Any:
    if len(values) == 1:
        values = tuple(_iterable(trace, name, values[0]))
    if not values:
        raise trace.unsupported(f"calls {name} without an argument")
    better = operator.lt if sign == "<" else operator.gt
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
    if not isinstance(values, (tuple, list, range, _Numbers, Record, Iterator, dict, *_VIEWS)):
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


def _converter(kind: Kind, convert: Callable[..., Any]) -> Callable[..., Any]:
    def converted(trace: Trace, *values: Any) -> Any:
        if len(values) == 1 and isinstance(values[0], Symbol):
            return values[0]._traced_converted(kind)
        return _native(trace, convert, values)

    return converted


def _native(trace: Trace, function: Callable[..., Any], values: Sequence[Any]) -> Any:
    if not all(map(is_constant, values)):
        raise trace.unsupported(f"calls {function.__name__}")
    return trace.constant(function(*values))


def _truth(trace: Trace, value: Any = False) -> bool:
    return bool(value)


def _absolute(trace: Trace, value: Any) -> Any:
    return abs(value)


def _rounded(trace: Trace, value: Any, digits: Any = None) -> Any:
    if not isinstance(value, Symbol):
        return _native(trace, round, (value, digits))
    return value.__round__(digits)


def _length(trace: Trace, value: Any) -> Any:
    return value._traced_length() if isinstance(value, (Symbol, _Numbers)) else len(value)


def _tuple(trace: Trace, values: Any = ()) -> tuple[Any, ...]:
    return tuple(_iterable(trace, "tuple", values))


def _list(trace: Trace, values: Any = ()) -> list[Any]:
    return list(_iterable(trace, "list", values))


def _dict(trace: Trace, values: Any = (), **named: Any) -> dict[Any, Any]:
    return dict(_iterable(trace, "dict", values), **named)


def _any(trace: Trace, values: Any) -> bool:
    return any(_iterable(trace, "any", values))


def _all(trace: Trace, values: Any) -> bool:
    return all(_iterable(trace, "all", values))


def _iterator(trace: Trace, values: Any) -> Iterator[Any]:
    return iter(_iterable(trace, "iter", values))


def _next(trace: Trace, values: Any, *default: Any) -> Any:
    if not isinstance(values, Iterator):
        raise trace.unsupported("calls next of something that is not an iterator")
    return next(values, *default)


def _mathematical(function: Callable[..., Any], kind: Kind) -> Callable[..., Any]:
    def called(trace: Trace, *values: Any) -> Any:
        if not any(isinstance(value, Symbol) for value in values):
            return _native(trace, function, values)
        expressions = [trace.expression(value) for value in values]
        if any(e.kind not in ("int", "float", "bool", "unknown") for e in expressions):
            raise trace.unsupported(f"calls {function.__name__} of something that is not a number")
        return trace.noted(trace.expressions.call(function, kind, *expressions))

    return called


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
        own = None if isinstance(value, (External, _Numbers)) else type(value)
    if own is None or len(classes) != (len(kinds) if type(kinds) is tuple else 1):
        raise trace.unsupported("calls isinstance")
    return issubclass(own, classes)


class _Numbers:
    """Stands for a ``range`` whose bounds depend on the element, in a loop. Each way through the
    branches has another number of rounds."""

    def __init__(self, trace: Trace, start: Any, stop: Any, step: int) -> None:
        self._traced_trace = trace
        self._traced_start = start
        self._traced_stop = stop
        self._traced_step = step

    def __iter__(self) -> Iterator[Any]:
        number = self._traced_start
        for _ in range(_MOST_ROUNDS):
            if not self._traced_has(number):
                return
            yield number
            number = number + self._traced_step
        if self._traced_has(number):
            raise _ManyRounds

    def _traced_unsupported(self, *others: Any) -> Any:
        raise self._traced_trace.unsupported(
            "does more with a range of the element than loop over it"
        )

    __bool__ = __eq__ = __hash__ = __repr__ = __format__ = _traced_unsupported
    __getitem__ = _traced_length = _traced_unsupported

    def _traced_has(self, number: Any) -> bool:
        return bool(
            number < self._traced_stop if self._traced_step > 0 else number > self._traced_stop
        )


class _ManyRounds(Exception):
    """An element has more than ``_MOST_ROUNDS`` rounds, and the function has to be called."""


def _range(trace: Trace, *bounds: Any) -> range | _Numbers:
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
        return _Numbers(trace, start, stop, step)
    made: range = _native(trace, range, bounds)
    if len(made) > MOST_PATHS:
        raise trace.unsupported(f"has a loop of more than {MOST_PATHS} rounds")
    return made


def _divided(trace: Trace, one: Any, other: Any) -> tuple[Any, Any]:
    return one // other, one % other


_MATH: dict[str, Kind] = {
    **dict.fromkeys(("sqrt", "log", "log2", "log10", "exp", "sin", "cos", "tan", "atan"), "float"),
    **dict.fromkeys(("asin", "acos", "atan2", "hypot", "fabs", "radians", "degrees"), "float"),
    **dict.fromkeys(("copysign", "pow", "fmod"), "float"),
    **dict.fromkeys(("floor", "ceil", "trunc"), "int"),
    **dict.fromkeys(("isnan", "isinf", "isfinite"), "bool"),
}

_REPLACED: dict[Any, Callable[..., Any]] = {
    min: _lowest,
    max: _highest,
    abs: _absolute,
    len: _length,
    bool: _truth,
    round: _rounded,
    sum: _sum,
    any: _any,
    all: _all,
    iter: _iterator,
    next: _next,
    tuple: _tuple,
    list: _list,
    dict: _dict,
    isinstance: _is_instance,
    range: _range,
    divmod: _divided,
    int: _converter("int", int),
    float: _converter("float", float),
    str: _converter("str", str),
    **{getattr(math, n): _mathematical(getattr(math, n), kind) for n, kind in _MATH.items()},
}
"""Replacements that understand symbols, by the function of Python."""


def _is_hashable(value: Any) -> bool:
    return isinstance(value, (type, types.BuiltinFunctionType))
