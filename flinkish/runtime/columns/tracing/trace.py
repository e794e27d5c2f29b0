"""``Trace``: follows a function with symbols for its arguments, through all of its branches.

Python runs a copy of the function with other globals and enclosing variables. These are replaced by
functions that understand symbols or are traced themselves, and by objects of which most uses are
unsupported.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from inspect import isclass
from itertools import islice
from types import CodeType, FrameType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any, NamedTuple
from zoneinfo import ZoneInfo

from flinkish.api.bytecode import Does, step_at, with_inner
from flinkish.runtime.columns.tracing.expressions import (
    PYTHON_TYPES,
    RAISE,
    Expression,
    Expressions,
    Step,
    columns_read,
)
from flinkish.runtime.columns.tracing.externals import Container, External, Owner, getter_of
from flinkish.runtime.columns.tracing.guards import (
    MISSING,
    ContentGuard,
    Guard,
    Guards,
    ValueGuard,
    cell_contents,
)
from flinkish.runtime.columns.tracing.known_functions import MOST_PATHS, REPLACED, ManyRounds
from flinkish.runtime.columns.tracing.objects import CLASSES, Made, object_of
from flinkish.runtime.columns.tracing.patched_code import patched_code
from flinkish.runtime.columns.tracing.purity import (
    globals_read,
    has_texts,
    impurity,
    only_raises,
    takes_remainders,
    tests_none,
)
from flinkish.runtime.columns.tracing.record_classes import Record
from flinkish.runtime.columns.tracing.symbolic_values import own, taken_apart
from flinkish.runtime.columns.tracing.symbols import Symbol, is_constant, kind_of_constant
from flinkish.runtime.columns.tracing.texts import (
    hands_over,
    has_tokens,
    holds_tokens,
    parts_of_text,
    token,
)
from flinkish.runtime.columns.tracing.unsupported import CannotTell, Unsupported
from flinkish.runtime.records.shapes import Shape

if TYPE_CHECKING:
    from flinkish.runtime.columns.tracing.words import Rounds


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
    def traced(self) -> Traced:
        return self

    @property
    def reading(self) -> set[int]:
        """The indices of the columns that the function computes with or returns."""
        read = columns_read(*self.columns)
        for step in self.steps:
            read |= columns_read(*step.expressions)
        return read

    def changed(self) -> bool:
        return any(guard.changed() for guard in self.guards)

    @property
    def readsValues(self) -> bool:
        """Whether an external constant is a number, text or the like, which may change."""
        return any(map(_is_on_value, self.guards))

    @property
    def readsVariables(self) -> bool:
        """Whether such an external constant is a variable or attribute, which other code may
        write."""
        return any(
            _is_on_value(guard) and not getattr(guard, "ofCode", False) for guard in self.guards
        )


def _is_on_value(guard: Guard) -> bool:
    value = isinstance(guard, ValueGuard) and is_constant(guard.value)
    return value or isinstance(guard, ContentGuard)


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
        standIn: Callable[[Any], Any] | None = None,
        lists: bool = False,
    ) -> None:
        self.expressions = Expressions()
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
        self.rounds: Rounds | None = None
        """The loop over words; None if there can be none."""
        self._formatted: list[Expression] = []
        """The values that tokens stand for."""
        self._paths = 0

    def follow(self, function: Callable[..., Any], *arguments: Any, changing: Any = None) -> Traced:
        """Trace ``function`` for ``arguments``, which are symbols, and ``changing``, whose dicts
        and lists it may change. Raises Unsupported if it cannot be traced."""
        called = self.callable_of(function)
        return self.follow_all(
            lambda: called(*arguments, *(() if changing is None else (own(changing),)))
        )

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

    def follow_all(self, call: Callable[[], Any]) -> Traced:
        """Trace what ``call``, which calls functions of this trace, returns on each path through
        the branches. Raises Unsupported if it cannot be traced."""
        try:
            followed = self._follow(call)
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

    def _follow(self, call: Callable[[], Any]) -> tuple[Shape, list[Expression]] | None:
        """Return the function's result on the path decided so far and on all that branch off it;
        None if it raises an exception on each."""
        self._path = []
        try:
            result = call()
        except _Undecided as undecided:
            condition = undecided.condition
        except (Unsupported, CannotTell, RecursionError):
            raise
        except Exception as error:
            if isinstance(error, ManyRounds) or self._is_raised(error):
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
        one = self._follow(call)
        self._decided[id(condition)] = False
        other = self._follow(call)
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
        made = self.expressions
        parts = [
            self._formatted[part] if isinstance(part, int) else made.constant(part, "str")
            for part in parts_of_text(value)
        ]
        return self.concatenated(parts)

    def concatenated(self, texts: Sequence[Expression]) -> Expression:
        whole, *others = texts
        for text in others:
            made = self.expressions.operation("+", "str", whole, text)
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
        for frame in self._frames():
            return Unsupported(f"{reason} (line {frame.f_lineno})")
        return Unsupported(reason)

    def _frames(self) -> Iterator[FrameType]:
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            if id(frame.f_code) in self._codes:
                yield frame
            frame = frame.f_back

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
        if not self.asks(hands_over, otherwise=False) or has_tokens(spec):
            return self.text_of("a value")
        # Another function that is followed may look at what the innermost one returns
        called_by_another = len(list(islice(self._frames(), 2))) > 1
        known = symbol._traced_kind in PYTHON_TYPES or isinstance(symbol, Made) or self.exploring
        if called_by_another or not known:
            return self.text_of("a value")
        self._formatted.append(symbol._traced_call(format, "str", spec)._traced_expression)
        return token(len(self._formatted) - 1)

    def _followed(self) -> list[CodeType]:
        return [function.__code__ for function, _ in self._functions.values()]

    def asks(self, question: Callable[[CodeType, int], bool], *, otherwise: bool) -> bool:
        """Ask ``question`` about the innermost running function and its current position; return
        ``otherwise`` if none runs."""
        for frame in self._frames():
            return question(self._codes[id(frame.f_code)], frame.f_lasti)
        return otherwise

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

    def callable_of(self, function: Any) -> Any:
        """``function`` as a callable that takes symbols. Raises Unsupported if it cannot be
        traced."""
        if isinstance(function, MethodType):
            return self.bound(function.__func__, External(self, function.__self__, "self"))
        if isinstance(function, FunctionType):
            return self._patched(function)
        replaced = self.replacement(function)
        if replaced is not None:
            return lambda *arguments: replaced(self, *arguments)
        getter = getter_of(self, function)
        if getter is not None:
            return getter
        call = self.guards.member(self.guards.class_of(function), "__call__")
        if isinstance(call, FunctionType) and not isclass(function):
            return self.bound(call, External(self, function, "self"))
        raise Unsupported(f"is not a function of Python but {type(function).__name__}")

    def replacement(self, function: Any) -> Callable[..., Any] | None:
        """What is called in place of a function of Python; its first argument is the trace."""
        known = isinstance(function, (type, types.BuiltinFunctionType))
        return REPLACED.get(function) if known else None

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
        replaced = patched_code(code, self._literal)
        originals = zip(with_inner(replaced), with_inner(code))
        self._codes.update((id(one), original) for one, original in originals)
        self.guards.code(function)
        namespace: dict[str, Any] = {"__builtins__": {}, "__name__": function.__module__}
        held, named = function.__defaults__, function.__kwdefaults__ or {}
        if not is_constant((*(held or ()), *named.values())):
            line = code.co_firstlineno
            raise Unsupported(f"has a default value that can change (line {line})")
        cells = tuple(types.CellType() for _ in function.__closure__ or ())
        patched = FunctionType(
            replaced, namespace, function.__name__, held and self.constant(held), cells
        )
        if named:
            patched.__kwdefaults__ = {name: self.constant(named[name]) for name in named}
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

    def known(self, value: Any, name: str) -> Any:
        """The stand-in for ``value``, which the function reads as ``name``."""
        if is_constant(value):
            return self.constant(value)
        if isinstance(value, (Symbol, Record)):
            return value
        if type(value) is tuple:
            return tuple(self.known(part, name) for part in value)
        special = None if self._stand_in is None else self._stand_in(value)
        if special is None:
            special = getter_of(self, value)
        if special is None and type(value) in (set, frozenset, list, dict):
            special = self.standIns.get(id(value))
            if special is None:
                special = self.standIns[id(value)] = Container(self, value, name)
        return External(self, value, name) if special is None else special


def _name_of(value: Any) -> str:
    if isinstance(value, External):
        return f"{value._traced_name}, a {type(value._traced_object).__name__}"
    return f"an object of type {type(value).__name__}"
